/* SPDX-License-Identifier: Apache-2.0 */
/* "--name value" and "--name=value"; "--" ends the options. */
#include "etcdwatch/worker/common/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

static int usage(struct problem *problem, const char *what, const char *word)
{
	return problem_set(problem, -EINVAL, "USAGE", "%s: '%s'", what, word);
}

/* The entry that the word names, and the value behind its '=', or NULL. */
static const struct options_entry *find(const struct options_entry *entries, size_t n,
                                        const char *word, const char **ret_value)
{
	size_t len = strcspn(word, "=");

	for (size_t i = 0; i < n; i++) {
		if (strlen(entries[i].name) == len && strncmp(entries[i].name, word, len) == 0) {
			*ret_value = word[len] == '=' ? word + len + 1 : NULL;
			return &entries[i];
		}
	}
	return NULL;
}

static int add(struct options_list *list, const char *value, struct problem *problem)
{
	if (list->n == ARRAY_SIZE(list->values))
		return usage(problem, "given too often", value);
	list->values[list->n++] = value;
	return 0;
}

static int take(const struct options_entry *entry, const char *value, struct problem *problem)
{
	if (entry->list != NULL)
		return add(entry->list, value, problem);
	if (*entry->text != NULL)
		return usage(problem, "given twice", entry->name);
	*entry->text = value;
	return 0;
}

/* The option at argv[i]; returns how many words it took. */
static int take_option(char **argv, const struct options_entry *entries, size_t n_entries,
                       struct problem *problem)
{
	const char *value;
	const struct options_entry *entry = find(entries, n_entries, argv[0], &value);
	int words = 1, r;

	/* Not what stands behind its '=', which may be somebody's secret. */
	if (entry == NULL)
		return problem_set(problem, -EINVAL, "USAGE", "no such option: '%.*s'",
		                   (int) strcspn(argv[0], "="), argv[0]);
	if (entry->flag != NULL) {
		if (value != NULL)
			return usage(problem, "this option takes no value", entry->name);
		*entry->flag = true;
		return 1;
	}
	if (value == NULL) {
		value = argv[1];
		words = 2;
	}
	if (value == NULL)
		return usage(problem, "this option needs a value", entry->name);
	r = take(entry, value, problem);
	return r < 0 ? r : words;
}

int options_parse(int argc, char **argv, const struct options_entry *entries, size_t n_entries,
                  size_t min, size_t max, struct options_list *ret_rest, struct problem *problem)
{
	bool only_rest = false;
	int i = 1;

	*ret_rest = (struct options_list){.n = 0};
	while (i < argc) {
		int r = 1;

		if (!only_rest && strcmp(argv[i], "--") == 0)
			only_rest = true;
		else if (!only_rest && strncmp(argv[i], "--", 2) == 0)
			r = take_option(argv + i, entries, n_entries, problem);
		else if (add(ret_rest, argv[i], problem) < 0)
			r = -EINVAL;
		if (r < 0)
			return r;
		i += r;
	}
	if (ret_rest->n < min || ret_rest->n > max)
		return problem_set(problem, -EINVAL, "USAGE", "'%s' takes %zu to %zu names, not %zu",
		                   argv[0], min, max, ret_rest->n);
	return 0;
}

int options_number(const char *name, const char *text, unsigned long min, unsigned long max,
                   unsigned long *ret_number, struct problem *problem)
{
	unsigned long number;
	char *end = NULL;

	errno = 0;
	number = strtoul(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || number < min ||
	    number > max)
		return problem_set(problem, -EINVAL, "USAGE", "%s is '%s', and has to be %lu to %lu", name,
		                   text, min, max);
	*ret_number = number;
	return 0;
}
