/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a subcommand, and the sizes of parts: tables. */
#include "etcdwatch/worker/common/options.h"

#include <errno.h>

#include "base/macro.h"
#include "etcdwatch/worker/store/s3put.h"
#include "tests/unit/check.h"
#include "web/s3_upload.h"

#define WORDS_MAX 8

struct parsed {
	const char *text;
	struct options_list list;
	bool flag;
	int64_t number;
	struct options_list rest;
	struct problem problem;
};

static const struct options_entry texts[] = {
    OPTION("--text", TEXT, struct parsed, text),
    OPTION("--list", LIST, struct parsed, list),
};
static const struct options_entry others[] = {
    OPTION("--flag", FLAG, struct parsed, flag),
    OPTION_NUMBER("--n", struct parsed, number, 5, 10, 7),
};

static int parse(const char *const *words, size_t min, size_t max, struct parsed *p)
{
	const struct options_table tables[] = {{texts, ARRAY_SIZE(texts), p},
	                                       {others, ARRAY_SIZE(others), p}};
	char *argv[WORDS_MAX + 2] = {NULL};
	char copies[WORDS_MAX][32];
	static char name[] = "command";
	int argc = 1;

	*p = (struct parsed){0};
	argv[0] = name;
	for (; argc <= WORDS_MAX && words[argc - 1] != NULL; argc++) {
		(void) snprintf(copies[argc - 1], sizeof(copies[0]), "%s", words[argc - 1]);
		argv[argc] = copies[argc - 1];
	}
	return options_parse(argc, argv, tables, ARRAY_SIZE(tables), min, max, &p->rest, &p->problem);
}

static void test_good(void)
{
	static const char *const words[] = {"a",        "--list",  "1",  "--flag",
	                                    "--list=2", "--text=", "--", "--b"};
	struct parsed p;

	CHECK_EQ_INT(parse(words, 2, 2, &p), 0);
	CHECK(p.flag && p.list.n == 2 && p.rest.n == 2 && p.text != NULL);
	static const char *const value[] = {"--text", "--flag", "-x", NULL};
	CHECK_EQ_INT(parse(value, 0, 1, &p), 0);
	CHECK(!p.flag && p.rest.n == 1);
}

static void test_bad(void)
{
	static const struct {
		const char *const words[WORDS_MAX];
		const char *reason;
	} cases[] = {
	    {{"a", "--nix"}, "no such option: '--nix'"},
	    {{"a", "--tex"}, "no such option: '--tex'"},
	    {{"a", "--textual=1"}, "no such option: '--textual'"},
	    {{"a", "--text"}, "needs a value: '--text'"},
	    {{"a", "--text", "1", "--text", "2"}, "given twice: '--text'"},
	    {{"a", "--flag=1"}, "takes no value: '--flag'"},
	    {{"--flag"}, "takes 1 to 1 names, not 0"},
	    {{"a", "b"}, "takes 1 to 1 names, not 2"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct parsed p;

		CHECK_EQ_INT(parse(cases[i].words, 1, 1, &p), -EINVAL);
		CHECK_EQ_STR(p.problem.code, "USAGE");
		if (!CHECK(strstr(p.problem.reason, cases[i].reason) != NULL))
			(void) fprintf(stderr, "  '%s' lacks '%s'\n", p.problem.reason, cases[i].reason);
	}
}

static void test_numbers(void)
{
	static const char *const bad[] = {"",   "4",  "11",  "-5", "+5",  " 5",
	                                  "5 ", "5x", "0x5", "x",  "5.0", "99999999999999999999999"};
	static const char *const good[] = {"--n", "10", NULL}, *const first[] = {"--n=5", NULL};
	static const char *const twice[] = {"--n=5", "--n=6", NULL}, *const none[] = {NULL};
	struct parsed p;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		const char *const words[] = {"--n", bad[i], NULL};

		CHECK_EQ_INT(parse(words, 0, 0, &p), -EINVAL);
		CHECK_EQ_STR(p.problem.code, "USAGE");
		CHECK_EQ_INT(p.number, 7);
	}
	CHECK(parse(none, 0, 0, &p) == 0 && p.number == 7);
	CHECK(parse(good, 0, 0, &p) == 0 && p.number == 10);
	CHECK(parse(first, 0, 0, &p) == 0 && p.number == 5);
	CHECK_EQ_INT(parse(twice, 0, 0, &p), -EINVAL);
}

#define MIB ((uint64_t) 1 << 20)

static void test_part_sizes(void)
{
	static const struct {
		uint64_t n_bytes, wanted, size;
	} cases[] = {
	    {0, 0, 5 * MIB},
	    {100 * MIB, 16 * MIB, 16 * MIB},
	    {100 * MIB, 5 * MIB + 1, 6 * MIB},
	    {16000 * MIB - 1, 16 * MIB, 16 * MIB},
	    {16000 * MIB, 16 * MIB, 17 * MIB},
	    {1000000 * MIB, 16 * MIB, 1001 * MIB},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t size = s3put_part_size(cases[i].n_bytes, cases[i].wanted);

		CHECK_EQ_INT(size, cases[i].size);
		CHECK(size >= S3_PART_BYTES_MIN && size <= S3_PART_BYTES_MAX);
		CHECK((cases[i].n_bytes + size - 1) / size <= S3PUT_PARTS_MAX);
	}
}

int main(void)
{
	test_good();
	test_bad();
	test_numbers();
	test_part_sizes();
	return check_result();
}
