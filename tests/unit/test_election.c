/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many worlds of the election (electionworld.h), in none of which two nodes answer for the address,
 * and somebody does in the end. Seeds are fixed; a failing one is printed and can be given as
 * argument.
 *
 * The same world with one rule of the protocol broken must violate the invariant, else the
 * simulation would prove nothing.
 */
#include "electionworld.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/macro.h"
#include "base/mono.h"
#include "tests/unit/check.h"

/* A broken rule shows in one of these worlds. */
#define SEEDS_MAX 1000

/* --- what must hold --- */

static const char *const fates[] = {
    [FATE_ORDINARY] = "ordinary",           [FATE_BACKUPS] = "backups",
    [FATE_QUICK_BACKUPS] = "quick backups", [FATE_UNEVEN] = "uneven windows",
    [FATE_CLUSTERS] = "clusters",           [FATE_FULL] = "a store that is full",
};

static void test_never_two(enum fate fate, uint64_t first_seed, uint64_t n_seeds)
{
	unsigned moves = 0, restores = 0, strange = 0;

	for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++) {
		struct electionworld_result r =
		    electionworld_run(seed, fate, MUTATION_NONE, 120 * US_PER_S);

		bool ok = CHECK_EQ_INT(r.overlap_us, 0);

		ok &= CHECK(r.owned_at_end);
		ok &= CHECK_EQ_INT(r.unsettled, 0);
		ok &= CHECK_EQ_INT(r.uncovered, 0);
		ok &= CHECK_EQ_INT(r.hasty_restores, 0);
		if (!ok)
			printf("that was %s, seed %" PRIu64 "\n", fates[fate], seed);
		moves += r.moves;
		restores += r.restores;
		strange += r.strange;
	}
	/* A world in which nothing happens proves nothing. */
	CHECK(moves > n_seeds * 5);
	CHECK(!electionworld_has_backups(fate) || restores > n_seeds);
	CHECK(fate != FATE_CLUSTERS || strange > n_seeds * 100);
	printf("%s: %" PRIu64 " worlds, %u moves, %u restores, %u requests to another cluster\n",
	       fates[fate], n_seeds, moves, restores, strange);
}

static void test_mutations_are_caught(void)
{
	static const struct {
		enum mutation mutation;
		enum fate fate;
		const char *name;
	} mutations[] = {
	    {MUTATION_SHORT_WORD, FATE_ORDINARY, "short word"},
	    {MUTATION_LATE_STAMP, FATE_ORDINARY, "late stamp"},
	    {MUTATION_NO_GUARD, FATE_ORDINARY, "no guard"},
	    {MUTATION_EAGER_WORD, FATE_ORDINARY, "eager word"},
	    {MUTATION_NO_FENCE, FATE_ORDINARY, "no fence"},
	    {MUTATION_DEAF, FATE_ORDINARY, "deaf"},
	    {MUTATION_SLEWED, FATE_ORDINARY, "slewed"},
	    {MUTATION_ANY_CLUSTER, FATE_CLUSTERS, "any cluster"},
	    {MUTATION_SIGNLESS, FATE_FULL, "signless"},
	    {MUTATION_TRUSTING, FATE_BACKUPS, "trusting"},
	    {MUTATION_TRUSTING, FATE_QUICK_BACKUPS, "trusting, quick"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(mutations); i++) {
		uint64_t seed = 1;

		while (seed < SEEDS_MAX &&
		       electionworld_run(seed, mutations[i].fate, mutations[i].mutation, 120 * US_PER_S)
		               .overlap_us == 0)
			seed++;
		printf("broken rule '%s': caught by seed %" PRIu64 "\n", mutations[i].name, seed);
		CHECK(seed < SEEDS_MAX);
	}
}

/* The trusting one may also end up with no owner at all, for as long as revisions lag behind. */
static void test_trust_ends_in_silence(void)
{
	uint64_t seed = 1;

	while (seed < SEEDS_MAX &&
	       electionworld_run(seed, FATE_BACKUPS, MUTATION_TRUSTING, 120 * US_PER_S).owned_at_end)
		seed++;
	printf("trusting: nobody owns it at the end of seed %" PRIu64 "\n", seed);
	CHECK(seed < SEEDS_MAX);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		for (size_t i = 0; i < ARRAY_SIZE(fates); i++)
			test_never_two((enum fate) i, strtoull(argv[1], NULL, 10),
			               argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
		return check_result();
	}
	test_never_two(FATE_ORDINARY, 1, 60);
	test_never_two(FATE_BACKUPS, 1, 40);
	test_never_two(FATE_QUICK_BACKUPS, 1, 40);
	test_never_two(FATE_UNEVEN, 1, 100);
	test_never_two(FATE_CLUSTERS, 1, 60);
	test_never_two(FATE_FULL, 1, 60);
	test_mutations_are_caught();
	test_trust_ends_in_silence();
	return check_result();
}
