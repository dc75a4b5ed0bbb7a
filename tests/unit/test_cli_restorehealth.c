/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds of answers of three restored members, and the revision that each must have. */
#include "cli/restore/restorenodes.h"

#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "tests/unit/check.h"

#define CLUSTER 0xabcdef
#define N 3
#define SAID(revision) \
	"{\"healthy\": true, \"reason\": null, \"cluster_id\": \"abcdef\", \"revision\": " revision "}"

/* `before` and `after`: the revision that each must have. `first` is N: they are one cluster. */
static const struct {
	const char *said[N];
	int64_t before;
	size_t first;
	const char *why;
	int64_t after;
} cases[] = {
    {{SAID("7"), SAID("7"), SAID("7")}, 0, N, NULL, 7},
    /* Clients write: one member is ahead. */
    {{SAID("7"), SAID("9"), SAID("9")},
     0,
     0,
     "it is at revision 7, and another member was at 9",
     9},
    {{SAID("9"), SAID("11"), SAID("8")},
     9,
     2,
     "it is at revision 8, and another member was at 9",
     9},
    {{SAID("9"), SAID("12"), SAID("10")}, 9, N, NULL, 9},
    /* The revision counts from when all are healthy. */
    {{SAID("9"), "null", SAID("9")}, 0, 1, "it does not answer", 0},
    {{SAID("9"), SAID("9"),
      "{\"healthy\": false, \"reason\": \"no quorum\", \"cluster_id\": \"abcdef\", \"revision\": "
      "9}"},
     0,
     2,
     "it is not healthy: no quorum",
     0},
    {{"{\"healthy\": true, \"reason\": null, \"cluster_id\": \"abcde\", \"revision\": 9}",
      SAID("9"), SAID("9")},
     0,
     0,
     "it is in the cluster abcde, and not in abcdef",
     0},
    {{"{\"healthy\": true, \"reason\": null, \"cluster_id\": \"abcde\", \"revision\": 99}",
      SAID("9"), SAID("9")},
     9,
     0,
     "it is in the cluster abcde",
     9},
};

static void test_case(size_t number)
{
	json_t *owned[N];
	const json_t *said[N];
	int64_t revision = cases[number].before;
	AUTO(free) char *why = NULL;

	for (size_t i = 0; i < N; i++) {
		owned[i] = json_loads(cases[number].said[i], JSON_DECODE_ANY, NULL);
		CHECK(owned[i] != NULL);
		said[i] = json_is_null(owned[i]) ? NULL : owned[i];
	}
	CHECK_EQ_INT(restorehealth_judge(CLUSTER, said, N, &revision, &why), cases[number].first);
	CHECK_EQ_INT(revision, cases[number].after);
	CHECK((why != NULL) == (cases[number].why != NULL));
	if (why != NULL && !CHECK(strstr(why, cases[number].why) != NULL))
		(void) fprintf(stderr, "case %zu: %s\n", number, why);
	for (size_t i = 0; i < N; i++)
		json_decref(owned[i]);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		test_case(i);
	return check_result();
}
