/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the databases that survived is chosen, and why. */
#include "cli/restore/rescuepick.h"

#include "base/macro.h"
#include "tests/unit/check.h"

#define NONE RESCUEPICK_NONE
#define CANDIDATES_MAX 3

/* sound, index, term, revision, cluster, WAL, its commit, writes */
#define OLD                              \
	{                                    \
		true, 100, 2, 80, 7, false, 0, 0 \
	}
#define NEW                              \
	{                                    \
		true, 120, 2, 95, 7, false, 0, 0 \
	}
#define BAD                            \
	{                                  \
		false, 0, 0, 0, 0, false, 0, 0 \
	}

static const struct {
	struct rescuepick_candidate candidates[CANDIDATES_MAX];
	size_t n;
	struct rescuepick want;
} cases[] = {
    {{OLD, NEW, OLD}, 3, {RESCUEPICK_HIGHEST_INDEX, 1, 0, NONE}},
    {{OLD}, 1, {RESCUEPICK_ONLY_SOUND_ONE, 0, NONE, NONE}},
    {{BAD, OLD, BAD}, 3, {RESCUEPICK_ONLY_SOUND_ONE, 1, NONE, NONE}},
    {{BAD, BAD}, 2, {RESCUEPICK_NO_SOUND_ONE, NONE, NONE, NONE}},
    {{NEW, NEW}, 2, {RESCUEPICK_ALL_EQUAL, 0, 1, NONE}},
    /* The index counts for more than term and revision. */
    {{{true, 100, 9, 99, 7, false, 0, 0}, NEW}, 2, {RESCUEPICK_HIGHEST_INDEX, 1, 0, NONE}},
    /* etcd 3.4 on a store that was restored and not written to: both say 1. */
    {{{true, 1, 0, 80, 0, false, 0, 0}, {true, 1, 0, 81, 0, false, 0, 0}},
     2,
     {RESCUEPICK_HIGHEST_REVISION, 1, 0, NONE}},
    {{{true, 9, 3, 80, 0, false, 0, 0}, {true, 9, 4, 80, 0, false, 0, 0}},
     2,
     {RESCUEPICK_HIGHEST_REVISION, 1, 0, NONE}},
    /* Clusters: one that is not known may be the same. */
    {{OLD, {true, 200, 2, 80, 8, false, 0, 0}}, 2, {RESCUEPICK_OTHER_CLUSTER, NONE, NONE, NONE}},
    {{OLD, {true, 200, 2, 80, 0, false, 0, 0}}, 2, {RESCUEPICK_HIGHEST_INDEX, 1, 0, NONE}},
    /* A WAL that has more than the best database. */
    {{{true, 90, 2, 70, 7, true, 130, 5}, NEW}, 2, {RESCUEPICK_HIGHEST_INDEX, 1, 0, 0}},
    {{{true, 90, 2, 70, 7, true, 120, 5}, NEW}, 2, {RESCUEPICK_HIGHEST_INDEX, 1, 0, NONE}},
    /* But nothing that matters. */
    {{{true, 90, 2, 70, 7, true, 130, 0}, NEW}, 2, {RESCUEPICK_HIGHEST_INDEX, 1, 0, NONE}},
    {{{false, 90, 2, 70, 7, true, 130, 5}, NEW}, 2, {RESCUEPICK_ONLY_SOUND_ONE, 1, NONE, NONE}},
    {{{true, 90, 2, 70, 7, true, 130, 5}, NEW, {true, 91, 2, 70, 7, true, 140, 5}},
     3,
     {RESCUEPICK_HIGHEST_INDEX, 1, 2, 2}},
    {{{true, 120, 2, 95, 7, true, 125, 3}}, 1, {RESCUEPICK_ONLY_SOUND_ONE, 0, NONE, 0}},
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rescuepick pick = rescuepick_choose(cases[i].candidates, cases[i].n);
		bool good = CHECK_EQ_INT(pick.reason, cases[i].want.reason);

		good &= CHECK(pick.best == cases[i].want.best);
		good &= CHECK(pick.second == cases[i].want.second);
		good &= CHECK(pick.by_wal == cases[i].want.by_wal);
		if (!good)
			(void) fprintf(stderr, "  case %zu\n", i);
	}
	return check_result();
}
