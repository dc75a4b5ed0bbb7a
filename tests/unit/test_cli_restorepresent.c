/* SPDX-License-Identifier: Apache-2.0 */
/* A plan of a snapshot's members, and the members that a node has in its database now. */
#include "cli/restore/restoreprepare.h"

#include <string.h>

#include "base/macro.h"
#include "tests/unit/check.h"

#define MEMBER(name, url) "{\"name\": \"" name "\", \"peer_urls\": [\"https://" url ":2380\"]}"
#define PLAN(name, url) name "=https://" url ":2380"

/* `want` is in the one text that is against it; NULL: nothing is. */
static const struct {
	const char *plan, *without, *present, *want;
} cases[] = {
    {PLAN("n1", "10.0.0.1"), NULL, "null", NULL},
    {PLAN("n1", "10.0.0.1"), NULL, "[]", NULL},
    {PLAN("n1", "10.0.0.1"), NULL, "[" MEMBER("n1", "10.0.0.1") "]", NULL},
    /* By its peer URL: a member that joined later may have no name there. */
    {PLAN("n1", "10.0.0.1"), NULL, "[" MEMBER("", "10.0.0.1") "]", NULL},
    {PLAN("n1", "10.0.0.1") "," PLAN("n2", "10.0.0.2"), NULL,
     "[" MEMBER("n1", "10.0.0.1") "," MEMBER("n9", "10.0.0.9") "," MEMBER("n2", "10.0.0.2") "]",
     "the member 'n9' at https://10.0.0.9:2380 is in the present cluster and not in the plan"},
    {PLAN("n1", "10.0.0.1") "," PLAN("n9", "10.0.0.2"), NULL,
     "[" MEMBER("n1", "10.0.0.1") "," MEMBER("n9", "10.0.0.9") "," MEMBER("n2", "10.0.0.2") "]",
     "'n9' at https://10.0.0.9:2380"},
    /* The same member twice, by etcd 3.4. */
    {PLAN("n1", "10.0.0.1") "," PLAN("n2", "10.0.0.2"), "n2",
     "[" MEMBER("n1", "10.0.0.1") "," MEMBER("n1", "10.0.0.1") "," MEMBER("n2", "10.0.0.2") "]",
     "stops 1 of the 2 members"},
    {PLAN("n1", "10.0.0.1") "," PLAN("n2", "10.0.0.2") "," PLAN("n3", "10.0.0.3"), "n3",
     "[" MEMBER("n1", "10.0.0.1") "," MEMBER("n2", "10.0.0.2") "," MEMBER("n3", "10.0.0.3") "]",
     NULL},
    /* Two of three take part in the plan, and one of two in the present cluster. */
    {PLAN("n1", "10.0.0.1") "," PLAN("n2", "10.0.0.2") "," PLAN("n3", "10.0.0.3"), "n3",
     "[" MEMBER("n1", "10.0.0.1") "," MEMBER("n3", "10.0.0.3") "]", "stops 1 of the 2 members"},
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(newcluster_free) struct newcluster *cluster = NULL;
		json_t *present = json_loads(cases[i].present, JSON_DECODE_ANY, NULL);
		struct texts without = {0}, against = {0};

		CHECK(present != NULL);
		CHECK(newcluster_parse(cases[i].plan, "tok", &cluster) == NULL);
		if (cases[i].without != NULL)
			texts_add(&without, "%s", cases[i].without);
		restorepresent_check(present, cluster, &without, &against);
		CHECK_EQ_INT(against.n, cases[i].want != NULL ? 1 : 0);
		if (!CHECK(against.n == 0 || strstr(against.items[0], cases[i].want) != NULL))
			(void) fprintf(stderr, "case %zu: %s\n", i, against.items[0]);
		json_decref(present);
		texts_fini(&without);
		texts_fini(&against);
	}
	return check_result();
}
