/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The catalogue's entries and each other: names of files, which cannot lead anywhere, the order,
 * timelines, copies. What they are as JSON is in test_etcdwatch_catalog_json.c.
 */
#include "etcdwatch/catalog/catalog.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>

#include "base/mem.h"
#include "tests/unit/catalogcase.h"

/* --- names --- */

static void test_ids(void)
{
	static const struct {
		const char *member, *want;
	} cases[] = {
	    {"cp-1", "20261121T203000Z-hourly-cp-1-r8123"},
	    {"cp-1.example.org", "20261121T203000Z-hourly-cp-1.example.org-r8123"},
	    {"../../etc/x", "20261121T203000Z-hourly-..-..-etc-x-r8123"},
	    {"a b\n\"$(reboot)", "20261121T203000Z-hourly-a-b----reboot--r8123"},
	    {"n\xc3\xb8"
	     "de",
	     "20261121T203000Z-hourly-n--de-r8123"},
	    {"", "20261121T203000Z-hourly-member-r8123"},
	    {"0123456789012345678901234567890123456789012345678901234567890123456789",
	     "20261121T203000Z-hourly-"
	     "012345678901234567890123456789012345678901234567890123456789012-r8123"},
	};
	static const char *const bad[] = {"",    ".",    "..",  "a",    "-x",
	                                  "2/x", "2\\x", "2 x", "2\nx", "2\xc3\xb8"};
	char longest[CATALOG_ID_MAX + 2];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free)
		char *id = catalog_build_id(1795293000, "hourly", cases[i].member, cases[i].member, 8123);
		AUTO(free)
		char *other = catalog_build_id(1795293000, "hourly", cases[i].member, "n/2", 8123);
		AUTO(free)
		char *want = xasprintf("%.*s-n-2-r8123", (int) (strrchr(id, '-') - id), id);

		CHECK_EQ_STR(id, cases[i].want);
		CHECK(catalog_id_is_good(id));
		CHECK_EQ_STR(other, want);
		CHECK(catalog_id_is_good(other));
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		if (!CHECK(!catalog_id_is_good(bad[i])))
			(void) fprintf(stderr, "  for '%s'\n", bad[i]);
	}
	memset(longest, '2', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	CHECK(!catalog_id_is_good(longest));
	CHECK(catalog_id_is_good(longest + 1));
}

static bool is_called(const char *pattern, const char *name)
{
	return fnmatch(pattern, name, 0) == 0;
}

/* What is not an entry by its name is not fetched from a target. */
static void test_pattern(void)
{
	static const char *const foreign[] = {"readme.json", "zzz.json", "2026-nightly.json",
	                                      "20261121T203000Z-hourly-n1-r1.db", "x/-.json"};
	AUTO(free) char *id = catalog_build_id(1795293000, "hourly", "cp-1", "[n]*?", 8123);
	AUTO(free) char *name = xasprintf("%s.json", id);
	AUTO(free) char *own = catalog_entry_pattern("hourly");
	AUTO(free) char *other = catalog_entry_pattern("weekly");
	AUTO(free) char *any = catalog_entry_pattern(NULL);

	CHECK(is_called(own, name));
	CHECK(!is_called(other, name));
	CHECK(is_called(any, name));
	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++)
		CHECK(!is_called(own, foreign[i]) && !is_called(any, foreign[i]));
}

static void test_file_names(void)
{
	static const char *const want[] = {"1.db",         "1.db.age",        "1.db.zst",
	                                   "1.db.zst.age", "1.db.tar",        "1.db.tar.age",
	                                   "1.db.tar.zst", "1.db.tar.zst.age"};

	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		struct catalog_entry e = {
		    .id = (char[]){"1"}, .zstd = (i & 2) != 0, .age = (i & 1) != 0, .n_extra = i >> 2};
		AUTO(free) char *name = catalog_file_name(&e);

		CHECK_EQ_STR(name, want[i]);
	}
}

/* --- entries and each other --- */

static int sign(int x)
{
	return (x > 0) - (x < 0);
}

static void test_order(void)
{
	/* Ascending; the first is the sample. */
	static const struct {
		const char *from, *to;
	} cases[] = {
	    {"\"hourly\"", "\"hourly\""},
	    {"2026-11-21T20:30:00Z", "2026-11-21T20:30:01Z"},
	    {"\"revision\": 8123", "\"revision\": 10000"},
	    {"\"timeline\": 2", "\"timeline\": 3"},
	    {"cdf818194e3a8c32", "ddf818194e3a8c32"},
	    {"\"hourly\"", "\"nightly\""},
	};
	struct catalog_entry *entries[ARRAY_SIZE(cases)];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) char *text = changed(cases[i].from, cases[i].to);

		entries[i] = parse(text);
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(cases); k++) {
			if (!CHECK_EQ_INT(sign(catalog_compare(entries[i], entries[k])),
			                  sign((int) i - (int) k)))
				(void) fprintf(stderr, "  of %zu and %zu\n", i, k);
		}
		CHECK_EQ_INT(catalog_same_line(entries[0], entries[i]), i < 3);
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		catalog_entry_free(entries[i]);
}

static void test_timeline(void)
{
	static const struct {
		struct {
			uint64_t cluster_id;
			int64_t timeline, revision;
			bool bad;
		} entries[4];
		size_t n;
		int64_t revision, want;
	} cases[] = {
	    {{{0}}, 0, 500, 1},
	    {{{7, 1, 400, false}}, 1, 500, 1},
	    {{{7, 1, 500, false}}, 1, 500, 1},
	    {{{7, 1, 501, false}}, 1, 500, 2},
	    {{{8, 4, 900, false}}, 1, 500, 1},
	    {{{7, 2, 400, false}, {7, 1, 900, false}}, 2, 500, 2},
	    {{{7, 1, 900, false}, {7, 2, 400, false}}, 2, 300, 3},
	    {{{7, 3, 400, false}, {7, 3, 600, false}, {7, 3, 450, false}}, 3, 500, 4},
	    {{{7, 1, 900, true}}, 1, 500, 1},
	    {{{7, 9, 900, true}, {7, 1, 400, false}}, 2, 500, 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct catalog_entry *entries[4] = {0};
		const struct catalog_entry *list[4];

		for (size_t k = 0; k < cases[i].n; k++) {
			entries[k] = parse(sample);
			entries[k]->cluster_id = cases[i].entries[k].cluster_id;
			entries[k]->timeline = cases[i].entries[k].timeline;
			entries[k]->revision = cases[i].entries[k].revision;
			entries[k]->tree_verified = !cases[i].entries[k].bad;
			list[k] = entries[k];
		}
		if (!CHECK_EQ_INT(catalog_next_timeline(list, cases[i].n, 7, cases[i].revision),
		                  cases[i].want))
			(void) fprintf(stderr, "  for case %zu\n", i);
		for (size_t k = 0; k < cases[i].n; k++)
			catalog_entry_free(entries[k]);
	}
}

static void test_copies(void)
{
	AUTO(catalog_entry_free) struct catalog_entry *e = parse(sample);
	char target[8] = "aws", key[] = "k";
	struct catalog_copy copy = {
	    .target = target, .key = key, .bytes = 5, .sha256 = SHA_B, .at_s = 9};

	CHECK(catalog_find_copy(e, "aws") == NULL);
	CHECK_EQ_INT(catalog_set_copy(e, &copy), 0);
	copy.bytes = 6;
	CHECK_EQ_INT(catalog_set_copy(e, &copy), 0);
	CHECK_EQ_INT(e->n_copies, 2);
	CHECK_EQ_INT(catalog_find_copy(e, "aws")->bytes, 6);
	CHECK_EQ_INT(catalog_find_copy(e, "minio")->bytes, 5000000);
	for (size_t i = e->n_copies; i < CATALOG_COPIES_MAX; i++) {
		(void) snprintf(target, sizeof(target), "t%zu", i);
		CHECK_EQ_INT(catalog_set_copy(e, &copy), 0);
	}
	CHECK_EQ_INT(catalog_set_copy(e, &copy), 0);
	(void) snprintf(target, sizeof(target), "more");
	CHECK_EQ_INT(catalog_set_copy(e, &copy), -E2BIG);
}

int main(void)
{
	test_ids();
	test_pattern();
	test_file_names();
	test_order();
	test_timeline();
	test_copies();
	return check_result();
}
