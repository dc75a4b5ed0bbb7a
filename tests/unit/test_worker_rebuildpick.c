/* SPDX-License-Identifier: Apache-2.0 */
/* Which histories have a past revision, and which snapshot and chain of the record it is made of.
 */
#include "etcdwatch/worker/rebuild/rebuildpick.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/macro.h"
#include "tests/unit/check.h"

#define NONE (-1)
#define S(s) ((s) *INT64_C(1000000))

struct world {
	struct chain chains[4];
	size_t n_chains;
	struct rebuildpick_base bases[8];
	size_t n_bases;
};

/* Chains of one history with a gap between them, then one of another cluster. */
static const struct world gap = {
    .chains = {{.cluster_id = 1, .first = 101, .last = 200, .first_us = 1000, .last_us = 2000},
               {.cluster_id = 1, .first = 251, .last = 400, .first_us = 3000, .last_us = 4000},
               {.cluster_id = 2, .first = 120, .last = 300, .first_us = 5000, .last_us = 6000}},
    .n_chains = 3,
    .bases = {{1, 1, 90, 0},
              {1, 1, 100, 0},
              {1, 1, 150, 0},
              {1, 1, 260, 0},
              {1, 1, 420, 0},
              {2, 1, 280, 0}},
    .n_bases = 6,
};

/* etcd was rolled back from 300 to 150, of which etcdwatch saw 151 to 400 the second time. */
static const struct world rollback = {
    .chains = {{.cluster_id = 1,
                .first = 101,
                .last = 300,
                .first_us = S(1000),
                .last_us = S(2000),
                .begins = true},
               {.cluster_id = 1,
                .first = 151,
                .last = 400,
                .first_us = S(3000),
                .last_us = S(4000),
                .begins = true}},
    .n_chains = 2,
    .bases = {{1, 1, 100, 1000}, {1, 1, 160, 1500}, {1, 2, 200, 3500}},
    .n_bases = 3,
};

/* etcd was rolled back, and was at the last recorded revision again when etcdwatch saw it. */
static const struct world unseen = {
    .chains = {{.cluster_id = 1,
                .first = 101,
                .last = 300,
                .first_us = S(1000),
                .last_us = S(2000),
                .begins = true},
               {.cluster_id = 1,
                .first = 301,
                .last = 400,
                .first_us = S(3000),
                .last_us = S(4000),
                .begins = true}},
    .n_chains = 2,
    .bases = {{1, 1, 300, 2000}, {1, 2, 120, 2500}, {1, 1, 110, 1100}},
    .n_bases = 3,
};

/* The old history was not recorded; one snapshot of it is there, and two of the new one. */
static const struct world restored = {
    .chains = {{.cluster_id = 2,
                .first = 80,
                .last = 200,
                .first_us = S(3000),
                .last_us = S(4000),
                .begins = true}},
    .n_chains = 1,
    .bases = {{1, 1, 90, 1000}, {2, 1, 90, 3200}, {2, 1, 79, 3000}, {1, 1, 60, 900}},
    .n_bases = 4,
};

struct want {
	int chain, base;
};

static const struct {
	const struct world *world;
	int64_t revision;
	struct want want[3]; /* the newest first */
	size_t n;
	int64_t below, above; /* if none has a snapshot */
} cases[] = {
    {&gap, 90, {{NONE, 0}}, 1, 0, 0},                 /* just a snapshot */
    {&gap, 95, {{0}}, 0, 90, 100},                    /* before what was recorded */
    {&gap, 100, {{0, 1}}, 1, 0, 0},                   /* the chain begins right behind it */
    {&gap, 119, {{0, 1}}, 1, 0, 0},                   /* the newest before it */
    {&gap, 150, {{2, NONE}, {0, 2}}, 2, 0, 0},        /* recorded twice, once on a snapshot */
    {&gap, 200, {{2, NONE}, {0, 2}}, 2, 0, 0},        /* to the end of the chain */
    {&gap, 201, {{2, NONE}}, 1, 200, 260},            /* in the gap */
    {&gap, 255, {{2, NONE}, {1, NONE}}, 2, 200, 260}, /* no snapshot to put it on */
    {&gap, 290, {{2, 5}, {1, 3}}, 2, 0, 0},           /* both clusters have it */
    {&gap, 420, {{NONE, 4}}, 1, 0, 0},                /* */
    {&gap, 421, {{0}}, 0, 420, 0},                    /* */
    {&rollback, 120, {{0, 0}}, 1, 0, 0},              /* before they part */
    {&rollback, 170, {{1, 1}, {0, 1}}, 2, 0, 0},      /* the snapshot is of the older one */
    {&rollback, 250, {{1, 2}, {0, 1}}, 2, 0, 0},      /* each has one */
    {&rollback, 350, {{1, 2}}, 1, 0, 0},              /* */
    {&unseen, 300, {{0, 0}}, 1, 0, 0},                /* */
    {&unseen, 301, {{1, NONE}}, 1, 300, 0},           /* a snapshot of the old history is none */
    {&unseen, 130, {{0, 2}}, 1, 0, 0},                /* by its time 120 is of another one */
    {&restored, 90, {{0, 1}, {NONE, 0}}, 2, 0, 0},    /* as the snapshot alone is, too */
    {&restored, 60, {{NONE, 3}}, 1, 0, 0},            /* */
    {&restored, 100, {{0, 1}}, 1, 0, 0},              /* */
};

static struct rebuildpick_world world_of(const struct world *w)
{
	return (struct rebuildpick_world){
	    .bases = w->bases, .n_bases = w->n_bases, .chains = w->chains, .n_chains = w->n_chains};
}

static bool is_wanted(const struct world *w, const struct rebuildpick *pick,
                      const struct want *want)
{
	const struct chain *chain = want->chain == NONE ? NULL : &w->chains[want->chain];
	bool ok = CHECK(pick->chain == chain);

	ok &= CHECK_EQ_INT(pick->has_base ? (int) pick->base : NONE, want->base);
	return ok;
}

static void test_pick(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct rebuildpick_world w = world_of(cases[i].world);
		struct rebuildpick picks[REBUILDPICK_HISTORIES_MAX];
		size_t n = rebuildpick_revision(&w, cases[i].revision, picks);
		bool ok = CHECK_EQ_INT((int) n, (int) cases[i].n), has_base = false;

		for (size_t k = 0; k < MIN(n, cases[i].n); k++) {
			ok &= is_wanted(cases[i].world, &picks[k], &cases[i].want[k]);
			has_base |= picks[k].has_base;
		}
		if (!has_base) {
			struct rebuildpick_nearest nearest = rebuildpick_nearest(&w, cases[i].revision);

			ok &= CHECK_EQ_INT(nearest.below, cases[i].below);
			ok &= CHECK_EQ_INT(nearest.above, cases[i].above);
		}
		if (!ok)
			(void) fprintf(stderr, "  for revision %" PRId64 ", case %zu\n", cases[i].revision, i);
	}
}

/* There are more than can be listed: the newest are. */
static void test_many(void)
{
	enum { N = REBUILDPICK_HISTORIES_MAX + 3 };
	struct rebuildpick picks[REBUILDPICK_HISTORIES_MAX];
	const struct chain *by_time[REBUILDPICK_HISTORIES_MAX];
	struct chain chains[N];
	struct rebuildpick_base bases[N];
	struct rebuildpick_world w = {.chains = chains, .n_chains = N};

	for (int i = 0; i < N; i++) {
		chains[i] = (struct chain){
		    .cluster_id = 1, .first = 10, .last = 20, .first_us = S(100), .last_us = S(200)};
		bases[i] = (struct rebuildpick_base){(uint64_t) i + 2, 1, 15, 300 + i};
	}
	CHECK_EQ_INT((int) rebuildpick_revision(&w, 15, picks), REBUILDPICK_HISTORIES_MAX);
	CHECK(picks[0].chain == &chains[N - 1]);
	CHECK_EQ_INT((int) rebuildpick_time(&w, S(150), by_time), REBUILDPICK_HISTORIES_MAX);
	CHECK(by_time[0] == &chains[N - 1]);
	w = (struct rebuildpick_world){.bases = bases, .n_bases = N, .chains = chains, .n_chains = 1};
	CHECK_EQ_INT((int) rebuildpick_revision(&w, 15, picks), REBUILDPICK_HISTORIES_MAX);
	for (int i = 0; i < REBUILDPICK_HISTORIES_MAX; i++)
		CHECK(picks[i].chain == NULL && (int) picks[i].base == N - 1 - i);
}

static void test_time(void)
{
	const struct chain *found[REBUILDPICK_HISTORIES_MAX];
	struct world back = gap;
	struct rebuildpick_world w = world_of(&gap);

	CHECK_EQ_INT((int) rebuildpick_time(&w, 999, found), 0);
	CHECK_EQ_INT((int) rebuildpick_time(&w, 1000, found), 1);
	CHECK(found[0] == &gap.chains[0]);
	CHECK_EQ_INT((int) rebuildpick_time(&w, 2000, found), 1);
	CHECK_EQ_INT((int) rebuildpick_time(&w, 2001, found), 0); /* in the gap */
	CHECK_EQ_INT((int) rebuildpick_time(&w, 6001, found), 0); /* not that far */
	/* The clock was set back. */
	back.chains[2].first_us = 3500;
	w = world_of(&back);
	CHECK_EQ_INT((int) rebuildpick_time(&w, 3700, found), 2);
	CHECK(found[0] == &back.chains[2] && found[1] == &back.chains[1]);
}

int main(void)
{
	test_pick();
	test_many();
	test_time();
	return check_result();
}
