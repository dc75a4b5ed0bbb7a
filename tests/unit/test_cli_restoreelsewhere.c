/* SPDX-License-Identifier: Apache-2.0 */
/* Which of two entries is newer, and what is said of it. The asking is in etcd_restore_kept. */
#include "cli/restore/restoreelsewhere.h"

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

int main(void)
{
	test_newer();
	test_sentence();
	return check_result();
}
