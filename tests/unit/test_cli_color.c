/* SPDX-License-Identifier: Apache-2.0 */
/* When there are colours, and which words have them. */
#include "cli/common/table.h"

#include "base/mem.h"
#include "tests/unit/check.h"

static const struct {
	enum color_when when;
	bool is_terminal;
	const char *no_color, *term;
	bool want;
} cases[] = {
    {COLOR_AUTO, true, NULL, "xterm", true},  {COLOR_AUTO, true, NULL, NULL, true},
    {COLOR_AUTO, true, "", "xterm", true},    {COLOR_AUTO, true, "1", "xterm", false},
    {COLOR_AUTO, true, NULL, "dumb", false},  {COLOR_AUTO, false, NULL, "xterm", false},
    {COLOR_ALWAYS, false, "1", "dumb", true}, {COLOR_NEVER, true, NULL, "xterm", false},
};

static const struct table_column columns[] = {{"NAME", TABLE_LEFT}, {"STATE", TABLE_STATE}};

static void test_words(enum color_when when, const char *want)
{
	AUTO(table_free) struct table *table = table_new(columns, ARRAY_SIZE(columns));
	AUTO(free) char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	color_setup(when);
	table_cell(table, "ready");
	table_cell(table, "not_ready: a\033");
	table_cell(table, "ready");
	table_cell(table, "readying");
	table_print(table, out);
	color_print_state(out, "Warning: ");
	(void) fclose(out);
	CHECK_EQ_STR(text, want);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_EQ_INT(
		    color_is_wanted(cases[i].when, cases[i].is_terminal, cases[i].no_color, cases[i].term),
		    cases[i].want);
	test_words(COLOR_NEVER, "NAME   STATE\n"
	                        "ready  not_ready: a?\n"
	                        "ready  readying\n"
	                        "Warning: ");
	test_words(COLOR_ALWAYS, "NAME   STATE\n"
	                         "ready  \033[31mnot_ready: a?\033[0m\n"
	                         "ready  readying\n"
	                         "\033[33mWarning: \033[0m");
	return check_result();
}
