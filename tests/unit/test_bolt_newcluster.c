/* SPDX-License-Identifier: Apache-2.0 */
/* The words of --initial-cluster: what is read from them, and what is refused. */
#include "bolt/newcluster.h"

#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "tests/unit/check.h"

static void test_good(void)
{
	AUTO(newcluster_free) struct newcluster *cluster = NULL;
	const struct newcluster_member *m;
	AUTO(free) char *urls = NULL;

	CHECK_EQ_STR(newcluster_parse("n1=http://127.0.0.2:32380,n2=https://[fd00::2]:2380,"
	                              "n1=http://127.0.0.1:32380",
	                              "tok", &cluster),
	             NULL);
	if (cluster == NULL)
		return;
	CHECK_EQ_INT(cluster->n_members, 2);
	m = newcluster_find(cluster, "n1");
	CHECK(m == &cluster->members[0] && m->id == 0xeaf8148a2a12e8bb);
	urls = newcluster_urls(m);
	CHECK_EQ_STR(urls, "http://127.0.0.2:32380,http://127.0.0.1:32380");
	CHECK(newcluster_find(cluster, "n3") == NULL);
	CHECK(newcluster_find_url(cluster, "http://127.0.0.1:32380") == m);
	CHECK(newcluster_find_url(cluster, "http://127.0.0.1:3238") == NULL);
	CHECK_EQ_STR(cluster->members[1].peer_urls[0], "https://[fd00::2]:2380");
}

static void test_bad(void)
{
	static const struct {
		const char *text;
		const char *why;
	} cases[] = {
	    {"", "'' is not NAME=PEER-URL"},
	    {"n1", "'n1' is not NAME=PEER-URL"},
	    {"=http://a:1", "'=http://a:1' is not NAME=PEER-URL"},
	    {"n1=http://a:1,", "'' is not NAME=PEER-URL"},
	    {"n1=http://a", "the peer URL of 'n1' has no port: 'http://a'"},
	    {"n1=http://a:1/x", "the peer URL of 'n1' has something behind the port: 'http://a:1/x'"},
	    {"n1=ftp://a:1", "the peer URL of 'n1'"},
	    {"n1=http://a:1,n2=http://a:1", "the peer URL 'http://a:1' is there twice"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct newcluster *cluster = NULL;
		AUTO(free) char *why = newcluster_parse(cases[i].text, "tok", &cluster);

		CHECK(cluster == NULL);
		if (!CHECK(why != NULL && strncmp(why, cases[i].why, strlen(cases[i].why)) == 0))
			(void) fprintf(stderr, "  '%s': %s\n", cases[i].text, why);
	}
}

static void test_many(void)
{
	AUTO(free) char *text = xstrdup("n=http://a:1");

	for (int i = 0; i < NEWCLUSTER_MEMBERS_MAX; i++) {
		AUTO(free) char *before = text;
		struct newcluster *cluster = NULL;
		AUTO(free) char *why = NULL;

		text = xasprintf("%s,n%d=http://a:%d", before, i, i + 2);
		why = newcluster_parse(text, "tok", &cluster);
		CHECK((why != NULL) == (i + 2 > NEWCLUSTER_MEMBERS_MAX));
		newcluster_free(cluster);
	}
}

int main(void)
{
	test_good();
	test_bad();
	test_many();
	return check_result();
}
