/* SPDX-License-Identifier: Apache-2.0 */
/* Which of two entries is newer, and what is said of it. The asking is in etcd_restore_kept. */
#include "cli/restore/restoring.h"

#include <stdlib.h>

#include "base/macro.h"
#include "base/mem.h"
#include "tests/unit/check.h"

static json_t *parse(const char *text)
{
	json_t *object = json_loads(text, 0, NULL);

	CHECK(object != NULL);
	return object;
}

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static void test_newer(void)
{
	static const char than[] = "{\"id\":\"x\",\"cluster_id\":\"c1\",\"timeline\":1,\"revision\":50,"
	                           "\"finished\":\"2026-11-21T20:30:00Z\"}";
	static const struct {
		const char *entry;
		bool is_newer;
	} cases[] = {
	    {"{'id':'y','cluster_id':'c1','timeline':1,'revision':51,'finished':'2026-11-21T20:29:00Z'"
	     "}",
	     true},
	    {"{'id':'y','cluster_id':'c1','timeline':1,'revision':50,'finished':'2026-11-21T20:31:00Z'"
	     "}",
	     false},
	    {"{'id':'y','cluster_id':'c1','timeline':2,'revision':40,'finished':'2026-11-21T20:31:00Z'"
	     "}",
	     true},
	    {"{'id':'y','cluster_id':'c2','timeline':1,'revision':90,'finished':'2026-11-21T20:29:00Z'"
	     "}",
	     false},
	    {"{'id':'x','cluster_id':'c1','timeline':1,'revision':60,'finished':'2026-11-21T20:31:00Z'"
	     "}",
	     false},
	    {"{}", false},
	};
	json_t *other = parse(than);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) char *text = xstrdup(cases[i].entry);
		json_t *entry;

		for (char *p = text; *p != '\0'; p++)
			*p = *p == '\'' ? '"' : *p;
		entry = parse(text);
		if (!CHECK_EQ_INT(restoreelsewhere_is_newer(entry, other), cases[i].is_newer))
			(void) fprintf(stderr, "  %s\n", text);
		json_decref(entry);
	}
	json_decref(other);
}

static void test_sentence(void)
{
	static const struct {
		const char *entry, *want;
	} cases[] = {
	    {"{\"id\":\"x\",\"revision\":50,\"finished\":\"2026-11-21T20:30:00Z\",\"node\":\"n2\","
	     "\"verified\":{\"hashkv\":\"n3\"}}",
	     "a newer one is known: s3:site/x, revision 50, of 2026-11-21T20:30:00Z, taken by n2, "
	     "confirmed by n3"},
	    {"{\"id\":\"x\",\"revision\":50,\"finished\":\"2026-11-21T20:30:00Z\",\"node\":null,"
	     "\"verified\":{\"hashkv\":null}}",
	     "a newer one is known: s3:site/x, revision 50, of 2026-11-21T20:30:00Z, not compared with "
	     "another member"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		json_t *entry = parse(cases[i].entry);
		AUTO(free) char *got = restoreelsewhere_sentence("s3:site/", entry);

		CHECK_EQ_STR(got, cases[i].want);
		json_decref(entry);
	}
}

/* What etcdwatch tells of other nodes. */
static void test_known(void)
{
#define NODE(node, id, finished)                            \
	"{\"job\":\"j\",\"node\":\"" node "\",\"newest\":\"" id \
	"\",\"finished\":\"2026-11-21T" finished                \
	"Z\",\"revision\":7,\"as_of\":\"2026-11-22T00:00:00Z\"}"
#define DOWN "{\"job\":\"j\",\"target\":\"etcd\",\"error\":\"no member answers\"}"
	static const struct {
		const char *objects;
		const char *node, *id, *reason; /* NULL: null */
	} cases[] = {
	    {"[]", NULL, NULL, NULL},
	    {"[" DOWN "]", NULL, NULL, "no member answers"},
	    {"[" NODE("n2", "x", "20:30:00") "," NODE("n3", "y", "20:31:00") "," NODE("n4", "z",
	                                                                              "20:29:00") "]",
	     "n3", "y", NULL},
	    {"[" NODE("n2", "x", "20:30:00") "," DOWN "]", "n2", "x", "no member answers"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		json_t *objects = parse(cases[i].objects);
		json_t *known = restoreelsewhere_known(objects);
		const json_t *newest = json_object_get(known, "newest");

		CHECK(json_is_null(newest) == (cases[i].node == NULL));
		CHECK_EQ_STR(text_of(newest, "node"), cases[i].node);
		CHECK_EQ_STR(text_of(newest, "id"), cases[i].id);
		CHECK_EQ_STR(text_of(known, "reason"), cases[i].reason);
		json_decref(known);
		json_decref(objects);
	}
	/* Its etcdwatch is not asked. */
	{
		json_t *known = restoreelsewhere_known(NULL);

		CHECK(json_is_null(json_object_get(known, "newest")));
		json_decref(known);
	}
}

int main(void)
{
	test_known();
	test_newer();
	test_sentence();
	return check_result();
}
