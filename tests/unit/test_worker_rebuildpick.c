/* SPDX-License-Identifier: Apache-2.0 */
/* Which snapshot and which chain of what was recorded a past revision, or a time, is made of. */
#include "etcdwatch/worker/rebuildpick.h"

#include <errno.h>
#include <inttypes.h>

#include "base/macro.h"
#include "tests/unit/check.h"

static const struct chain pick_chains[] = {
    {.cluster_id = 1, .first = 101, .last = 200, .first_us = 1000, .last_us = 2000},
    {.cluster_id = 1, .first = 251, .last = 400, .first_us = 3000, .last_us = 4000},
    {.cluster_id = 2, .first = 120, .last = 300, .first_us = 5000, .last_us = 6000},
};

static const struct rebuildpick_base pick_bases[] = {
    {1, 1, 90}, {1, 1, 100}, {1, 1, 150}, {1, 1, 260}, {1, 1, 420}, {2, 1, 280},
};

static const struct {
	int64_t revision;
	int base; /* -1: refused */
	int chain;
	int64_t below, above;
} picks[] = {
    {90, 0, -1, 0, 0},      /* just a snapshot */
    {95, -1, 0, 90, 100},   /* before what was recorded */
    {100, 1, 0, 0, 0},      /* the chain begins right behind it */
    {149, 1, 0, 0, 0},      /* the newest before it */
    {150, 2, 0, 0, 0},      /* and at it */
    {200, 2, 0, 0, 0},      /* to the end of the chain */
    {201, -1, 0, 200, 260}, /* in the gap: the next chain needs a snapshot */
    {255, -1, 0, 200, 260}, /* recorded, but there is no snapshot to put it on */
    {270, 3, 1, 0, 0},      /* */
    {290, 5, 2, 0, 0},      /* both clusters have it: what was recorded last */
    {420, 4, -1, 0, 0},     /* */
    {421, -1, 0, 420, 0},   /* */
};

static void test_pick(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(picks); i++) {
		struct rebuildpick_nearest nearest = {0};
		struct rebuildpick pick = {0};
		int r = rebuildpick_revision(pick_bases, ARRAY_SIZE(pick_bases), pick_chains,
		                             ARRAY_SIZE(pick_chains), picks[i].revision, &pick, &nearest);
		bool ok = CHECK_EQ_INT(r, picks[i].base < 0 ? -ENOENT : 0);

		if (picks[i].base >= 0) {
			ok &= CHECK_EQ_INT((int) pick.base, picks[i].base);
			ok &= CHECK(pick.chain == (picks[i].chain < 0 ? NULL : &pick_chains[picks[i].chain]));
		}
		ok &= CHECK_EQ_INT(nearest.below, picks[i].below);
		ok &= CHECK_EQ_INT(nearest.above, picks[i].above);
		if (!ok)
			(void) fprintf(stderr, "  for revision %" PRId64 "\n", picks[i].revision);
	}
	CHECK(rebuildpick_time(pick_chains, 3, 999) == NULL);
	CHECK(rebuildpick_time(pick_chains, 3, 1000) == &pick_chains[0]);
	CHECK(rebuildpick_time(pick_chains, 3, 2000) == &pick_chains[0]);
	CHECK(rebuildpick_time(pick_chains, 3, 2001) == NULL); /* in the gap */
	CHECK(rebuildpick_time(pick_chains, 3, 6001) == NULL); /* not that far */
}

int main(void)
{
	test_pick();
	return check_result();
}
