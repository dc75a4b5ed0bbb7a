/* SPDX-License-Identifier: Apache-2.0 */
/* The member list in a database, and the one that etcd gave: what counts as a difference. */
#include "etcdwatch/take/proof.h"

#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "check.h"

#define URL "https://10.0.0."

static const struct catalog_member listed[] = {
    {.id = 0xa1, .name = (char[]){"n1"}, .peer_urls = (char[]){URL "1:2380"}},
    {.id = 0xa2,
     .name = (char[]){"n2"},
     .peer_urls = (char[]){URL "2:2380," URL "3:2380"},
     .learner = true},
    {.id = 0xa3, .name = NULL, .peer_urls = (char[]){URL "4:2380"}},
};

#define STORED(id, name, urls, learner) \
	"{'id': '" id "', 'name': '" name "', 'peer_urls': [" urls "], 'learner': " learner "}"
#define N1 STORED("a1", "n1", "'" URL "1:2380'", "false")
#define N2 STORED("a2", "", "'" URL "2:2380', '" URL "3:2380'", "true")
#define N3 STORED("a3", "", "'" URL "4:2380'", "false")

/* JSON with single quotes. */
static json_t *parse(const char *text)
{
	AUTO(free) char *copy = xstrdup(text);
	json_t *list;

	for (char *p = copy; *p != '\0'; p++)
		*p = *p == '\'' ? '"' : *p;
	list = json_loads(copy, JSON_DECODE_ANY, NULL);
	CHECK(list != NULL);
	return list;
}

static void test_differences(void)
{
	static const struct {
		const char *database;
		const char *text; /* NULL: none */
	} cases[] = {
	    {"[" N1 "," N2 "," N3 "]", NULL},
	    {"[" N3 "," N1 "," N2 "]", NULL},
	    /* The database does not say, or cannot be read. */
	    {"[]", NULL},
	    {"null", NULL},
	    {"[" STORED("a1", "n1", "'" URL "1:2380'", "true") "," N2 "," N3 "]",
	     "'n1' is a learner in the database and a voter in the member list"},
	    {"[" N1 "," STORED("a2", "n2", "'" URL "2:2380', '" URL "3:2380'", "false") "," N3 "]",
	     "'n2' is a voter in the database and a learner in the member list"},
	    {"[" N1 "," N2 "]", "'https://10.0.0.4:2380' is not in the database"},
	    {"[" N1 "," N2 "," N3 "," STORED("ff", "n9", "", "false") "]",
	     "the member ff is in the database alone"},
	    {"[" N1 "," STORED("a2", "n2", "'" URL "2:2380'", "true") "," N3 "]",
	     "'n2' has other peer URLs in the database"},
	    {"[" N1 "," STORED("a2", "n2", "'" URL "2:2380', '" URL "3:2381'", "true") "," N3 "]",
	     "'n2' has other peer URLs in the database"},
	    {"[" STORED("a1", "n1", "'" URL "1:2380'", "true") "," N2 "]",
	     "'n1' is a learner in the database and a voter in the member list; "
	     "'https://10.0.0.4:2380' is not in the database"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct catalog_entry entry = {.members = (struct catalog_member *) (uintptr_t) listed,
		                              .n_members = ARRAY_SIZE(listed)};
		json_t *database = parse(cases[i].database);
		AUTO(free) char *text = listdiff_text(database, &entry);
		AUTO(free) char *unlisted = NULL;

		if (cases[i].text == NULL ? !CHECK(text == NULL) : !CHECK_EQ_STR(text, cases[i].text))
			(void) fprintf(stderr, "  for %s\n", cases[i].database);
		entry.n_members = 0;
		unlisted = listdiff_text(database, &entry);
		CHECK(unlisted == NULL);
		json_decref(database);
	}
}

/* The entry holds no more. */
static void test_cut(void)
{
	static char name[] = "a-name-that-is-long", urls[] = "";
	struct catalog_member members[16];
	struct catalog_entry entry = {.members = members, .n_members = ARRAY_SIZE(members)};
	json_t *database = parse("[" N1 "]");
	AUTO(free) char *text = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		members[i] = (struct catalog_member){.id = i, .name = name, .peer_urls = urls};
	text = listdiff_text(database, &entry);
	CHECK(text != NULL && strlen(text) == CATALOG_TEXT_MAX);
	json_decref(database);
}

int main(void)
{
	test_differences();
	test_cut();
	return check_result();
}
