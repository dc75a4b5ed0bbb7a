/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The real election, decision, facts and policy of several nodes in one simulated world: a
 * linearizable store, a network that delays, loses and cuts, processes that are stopped and killed,
 * clocks that run at different speeds, fences that act as late as they may, kernels that refuse to
 * add, renew or remove. Each node has an endpoint at each member of the store, one of which may be
 * of a cluster that is not ours. The same seed is the same world.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/macro.h"

/* Which rule is broken. */
enum mutation {
	MUTATION_NONE,
	MUTATION_SHORT_WORD,  /* the record promises a shorter window than its owner uses */
	MUTATION_LATE_STAMP,  /* the fence counts from the answer, not from the sending */
	MUTATION_NO_GUARD,    /* the swap is not guarded by the beat */
	MUTATION_EAGER_WORD,  /* `released` is written although the address stays on */
	MUTATION_NO_FENCE,    /* nothing silences a process that is stopped */
	MUTATION_DEAF,        /* the kernel's refusal to remove is not heard */
	MUTATION_SLEWED,      /* the wait is counted by the clock that is slewed, and by no other */
	MUTATION_ANY_CLUSTER, /* an answer of another cluster is believed like any other */
	MUTATION_SIGNLESS,    /* a confirmation without a put leaves the beat as it was */
	MUTATION_TRUSTING,    /* revisions are believed to go forward, and are the only guard */
};

/* What else happens to the world. */
enum fate {
	FATE_ORDINARY,
	/* And the store is restored from a backup. That takes longer than any window: else whoever has
	 * just started could not know that there was more. */
	FATE_BACKUPS,
	/* The same in no time: but then nothing else may fail, for whoever has heard of nothing since
	 * the backup was made could not know that there was more. */
	FATE_QUICK_BACKUPS,
	/* Nodes are configured anew one after the other, so that one may have many times the window of
	 * another, and die often, and for long. */
	FATE_UNEVEN,
	/* One member is restored by itself, as another cluster, which answers like the others'; or all
	 * are, which takes longer than any window. */
	FATE_CLUSTERS,
	/* The store refuses puts at times, some of which it carries out all the same. */
	FATE_FULL,
};

struct electionworld_result {
	int64_t overlap_us;
	bool owned_at_end;
	unsigned moves;
	unsigned unsettled;
	unsigned uncovered;
	unsigned restores;
	unsigned hasty_restores; /* that were over sooner than their fate says */
	unsigned strange;        /* requests that another cluster carried out */
};

/* Does the store lose what it held, at times? */
static inline UNUSED bool electionworld_has_backups(enum fate fate)
{
	return fate == FATE_BACKUPS || fate == FATE_QUICK_BACKUPS || fate == FATE_CLUSTERS;
}

/* One world for so long, and some quiet time behind it. */
struct electionworld_result electionworld_run(uint64_t seed, enum fate fate, enum mutation mutation,
                                              int64_t duration_us);
