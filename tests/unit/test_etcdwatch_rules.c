/* SPDX-License-Identifier: Apache-2.0 */
/* Holds docs/etcd.md to the table of rules: each has its row, word for word, and there are no
 * others. With an argument, "print", it prints the rows. Runs in the root of the source tree. */
#include "etcdwatch/rules/rules.h"

#include <stdlib.h>

#include "base/fileio.h"
#include "base/mem.h"
#include "tests/unit/check.h"

/* "30 s", "10 min" */
static char *time_text(unsigned s)
{
	if (s == 0)
		return xstrdup("at once");
	return s % 60 == 0 ? xasprintf("%u min", s / 60) : xasprintf("%u s", s);
}

static char *row_of(const struct rules_rule *rule)
{
	AUTO(free) char *after = time_text(rule->after_s);
	AUTO(free) char *hold = time_text(rule->hold_s);

	return xasprintf("\n| `%s` | %s | %s | %s | %s | %s |\n", rule->id,
	                 rules_severity_name(rule->severity), rule->when, after, hold, rule->to_do);
}

static unsigned count_rows(const char *page)
{
	unsigned n = 0;

	for (const char *p = strstr(page, "\n| `"); p != NULL; p = strstr(p + 1, "\n| `"))
		n++;
	return n;
}

int main(int argc, char **argv)
{
	AUTO(free) char *page = NULL;
	char *section, *next;
	size_t len;

	if (!CHECK_EQ_INT(file_read("docs/etcd.md", 1 << 20, &page, &len), 0))
		return 1;
	section = strstr(page, "\n## The rules\n");
	if (!CHECK(section != NULL))
		return 1;
	next = strstr(section + 1, "\n## ");
	if (next != NULL)
		*next = '\0';
	for (size_t i = 0; i < RULES_N; i++) {
		AUTO(free) char *row = row_of(&rules[i]);

		if (argc > 1 && strcmp(argv[1], "print") == 0)
			(void) fputs(row + 1, stdout);
		else if (!CHECK(strstr(section, row) != NULL))
			(void) fprintf(stderr, "  docs/etcd.md lacks%s", row);
	}
	if (argc == 1)
		CHECK_EQ_INT(count_rows(section), RULES_N);
	return check_result();
}
