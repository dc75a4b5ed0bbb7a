/* SPDX-License-Identifier: Apache-2.0 */
#include "base/words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "tests/unit/check.h"

#define MAX_WORDS 4

static void test_split(void)
{
	static const struct {
		const char *line;
		int n;
		const char *words[MAX_WORDS];
	} cases[] = {
	    {"", 0, {NULL}},
	    {"   ", 0, {NULL}},
	    {"metrics", 1, {"metrics"}},
	    {"vip move 10.0.0.5", 3, {"vip", "move", "10.0.0.5"}},
	    {"  vip   move ", 2, {"vip", "move"}},
	    {"\"a b\" c", 2, {"a b", "c"}},
	    {"\"\"", 1, {""}},
	    {"\"a\\\"b\\\\c\"", 1, {"a\"b\\c"}},
	    {"a \"\" \"b\"", 3, {"a", "", "b"}},
	    {"a b c d", 4, {"a", "b", "c", "d"}},
	    {"\xc3\xa9t\xc3\xa9", 1, {"\xc3\xa9t\xc3\xa9"}},
	    {"a b c d e", -E2BIG, {NULL}},
	    {"a b c d \"", -E2BIG, {NULL}},
	    {"\"a", -EINVAL, {NULL}},
	    {"a\"b", -EINVAL, {NULL}},
	    {"\"a\"b", -EINVAL, {NULL}},
	    {"\"a\"\"b\"", -EINVAL, {NULL}},
	    {"a\\b", -EINVAL, {NULL}},
	    {"\"a\\nb\"", -EINVAL, {NULL}},
	    {"\"a\\", -EINVAL, {NULL}},
	    {"a\tb", -EINVAL, {NULL}},
	    {"a\r", -EINVAL, {NULL}},
	    {"\"a\x01\"", -EINVAL, {NULL}},
	    {"\x7f", -EINVAL, {NULL}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) char *line = xstrdup(cases[i].line);
		char *argv[MAX_WORDS];
		int n = words_split(line, argv, MAX_WORDS);

		if (!CHECK_EQ_INT(n, cases[i].n)) {
			(void) fprintf(stderr, "  in case '%s'\n", cases[i].line);
			continue;
		}
		for (int w = 0; w < n; w++)
			CHECK_EQ_STR(argv[w], cases[i].words[w]);
	}
}

static void test_join(void)
{
	static const char *const words[] = {"vip", "", "a b", "c\"d", "e\\f", "\xc3\xa9"};
	AUTO(free) char *line = NULL;
	AUTO(free) char *none = NULL;
	char *argv[ARRAY_SIZE(words)];

	CHECK_EQ_INT(words_join(words, ARRAY_SIZE(words), &line), 0);
	CHECK_EQ_STR(line, "vip \"\" \"a b\" \"c\\\"d\" \"e\\\\f\" \xc3\xa9");
	/* And back. */
	CHECK_EQ_INT(words_split(line, argv, ARRAY_SIZE(argv)), (int) ARRAY_SIZE(words));
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		CHECK_EQ_STR(argv[i], words[i]);

	CHECK_EQ_INT(words_join(NULL, 0, &none), 0);
	CHECK_EQ_STR(none, "");
	CHECK_EQ_INT(words_join((const char *const[]){"a\nb"}, 1, &line), -EINVAL);
}

int main(void)
{
	test_split();
	test_join();
	return check_result();
}
