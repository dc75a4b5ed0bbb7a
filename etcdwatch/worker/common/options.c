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

/* The entry that the word names, what it fills, and the value behind its '=', or NULL. */
static const struct options_entry *find(const struct options_table *tables, size_t n_tables,
                                        const char *word, char **ret_member, const char **ret_value)
{
	size_t len = strcspn(word, "=");

	for (const struct options_table *t = tables; t < tables + n_tables; t++) {
		for (const struct options_entry *e = t->entries; e < t->entries + t->n; e++) {
			if (strlen(e->name) != len || strncmp(e->name, word, len) != 0)
				continue;
			*ret_member = (char *) t->base + e->at;
			*ret_value = word[len] == '=' ? word + len + 1 : NULL;
			return e;
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

static int take_number(const struct options_entry *e, const char *text, int64_t *ret,
                       struct problem *problem)
{
	char *end = NULL;
	long number;

	errno = 0;
	number = strtol(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || number < e->min ||
	    number > e->max)
		return problem_set(problem, -EINVAL, "USAGE", "%s is '%s', and has to be %lld to %lld",
		                   e->name, text, (long long) e->min, (long long) e->max);
	*ret = number;
	return 0;
}

static int take(const struct options_entry *e, char *member, const char *value,
                struct problem *problem)
{
	const char **text = (const char **) (void *) member;

	switch (e->kind) {
	case OPTIONS_LIST:
		return add((struct options_list *) (void *) member, value, problem);
	case OPTIONS_NUMBER:
		if (*(int64_t *) (void *) member != e->initial)
			return usage(problem, "given twice", e->name);
		return take_number(e, value, (int64_t *) (void *) member, problem);
	case OPTIONS_TEXT:
		if (*text != NULL)
			return usage(problem, "given twice", e->name);
		*text = value;
		break;
	case OPTIONS_FLAG:
		break;
	}
	return 0;
}

/* The option at argv[0]; returns how many words it took. */
static int take_option(char **argv, const struct options_table *tables, size_t n_tables,
                       struct problem *problem)
{
	const char *value;
	char *member;
	const struct options_entry *entry = find(tables, n_tables, argv[0], &member, &value);
	int words = 1, r;

	/* Not what stands behind its '=', which may be somebody's secret. */
	if (entry == NULL)
		return problem_set(problem, -EINVAL, "USAGE", "no such option: '%.*s'",
		                   (int) strcspn(argv[0], "="), argv[0]);
	if (entry->kind == OPTIONS_FLAG) {
		if (value != NULL)
			return usage(problem, "this option takes no value", entry->name);
		*(bool *) member = true;
		return 1;
	}
	if (value == NULL) {
		value = argv[1];
		words = 2;
	}
	if (value == NULL)
		return usage(problem, "this option needs a value", entry->name);
	r = take(entry, member, value, problem);
	return r < 0 ? r : words;
}

static void set_numbers(const struct options_table *t)
{
	for (const struct options_entry *e = t->entries; e < t->entries + t->n; e++) {
		if (e->kind == OPTIONS_NUMBER)
			*(int64_t *) (void *) ((char *) t->base + e->at) = e->initial;
	}
}

int options_parse(int argc, char **argv, const struct options_table *tables, size_t n_tables,
                  size_t min, size_t max, struct options_list *ret_rest, struct problem *problem)
{
	bool only_rest = false;
	int i = 1;

	*ret_rest = (struct options_list){.n = 0};
	for (size_t k = 0; k < n_tables; k++)
		set_numbers(&tables[k]);
	while (i < argc) {
		int r = 1;

		if (!only_rest && strcmp(argv[i], "--") == 0)
			only_rest = true;
		else if (!only_rest && strncmp(argv[i], "--", 2) == 0)
			r = take_option(argv + i, tables, n_tables, problem);
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
