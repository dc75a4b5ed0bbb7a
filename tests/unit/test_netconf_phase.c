/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The phases of a change: every move, and what becomes of a change that somebody
 * finds. The tables here are written from the promise, not from the module.
 */
#include "netconf/change/phase.h"

#include <errno.h>

#include "base/mono.h"
#include "check.h"

static void test_every_move(void)
{
	static const struct {
		enum phase from, to;
	} moves[] = {
	    {PHASE_PREPARED, PHASE_APPLYING},        {PHASE_APPLYING, PHASE_PROBING},
	    {PHASE_PROBING, PHASE_AWAITING},         {PHASE_AWAITING, PHASE_CONFIRMED},
	    {PHASE_ROLLING_BACK, PHASE_ROLLED_BACK}, {PHASE_ROLLING_BACK, PHASE_HALF_UNDONE},
	    {PHASE_HALF_UNDONE, PHASE_ROLLING_BACK},
	};

	for (enum phase from = PHASE_PREPARED; from < PHASES; from++) {
		for (enum phase to = PHASE_PREPARED; to < PHASES; to++) {
			/* From wherever it is not over, there is a way back. */
			bool want = from <= PHASE_AWAITING && to == PHASE_ROLLING_BACK;

			for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++)
				want = want || (moves[i].from == from && moves[i].to == to);
			CHECK_EQ_INT(phase_allows(from, to), want);
		}
	}
}

static void test_found(void)
{
	static const struct {
		enum phase phase;
		bool same_kernel;
		int64_t left_us;
		enum phase_found want;
	} cases[] = {
	    {PHASE_PREPARED, true, 1, PHASE_FOUND_UNDO},
	    {PHASE_APPLYING, true, 1, PHASE_FOUND_UNDO},
	    {PHASE_PROBING, true, 1, PHASE_FOUND_UNDO},
	    {PHASE_AWAITING, true, 1, PHASE_FOUND_WAIT},
	    {PHASE_AWAITING, true, 0, PHASE_FOUND_UNDO},
	    {PHASE_AWAITING, true, -1, PHASE_FOUND_UNDO},
	    {PHASE_CONFIRMED, true, -1, PHASE_FOUND_FINISH},
	    {PHASE_ROLLING_BACK, true, 1, PHASE_FOUND_UNDO},
	    /* The next start tries again. */
	    {PHASE_HALF_UNDONE, true, 0, PHASE_FOUND_UNDO},
	    {PHASE_HALF_UNDONE, true, -1, PHASE_FOUND_UNDO},
	    {PHASE_ROLLED_BACK, true, 1, PHASE_FOUND_OVER},
	    {PHASE_PREPARED, false, 1, PHASE_FOUND_VOID},
	    {PHASE_APPLYING, false, 1, PHASE_FOUND_VOID},
	    {PHASE_AWAITING, false, 1, PHASE_FOUND_VOID},
	    {PHASE_ROLLING_BACK, false, 1, PHASE_FOUND_VOID},
	    {PHASE_HALF_UNDONE, false, 1, PHASE_FOUND_VOID},
	    /* What was confirmed stays so over a loss of power. */
	    {PHASE_CONFIRMED, false, 1, PHASE_FOUND_FINISH},
	};
	const int64_t now_us = 100 * US_PER_S;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_EQ_INT(
		    phase_find(cases[i].phase, cases[i].same_kernel, now_us, now_us + cases[i].left_us),
		    cases[i].want);
}

static void test_stuck(void)
{
	for (enum phase phase = PHASE_PREPARED; phase < PHASES; phase++) {
		bool over = phase == PHASE_CONFIRMED || phase == PHASE_ROLLED_BACK;
		/* It waits for the operator, without a limit. */
		bool unwatched = over || phase == PHASE_HALF_UNDONE;

		CHECK_EQ_INT(phase_is_over(phase), over);
		CHECK_EQ_INT(phase_is_watched(phase), !unwatched);
		CHECK(!phase_is_stuck(phase, US_PER_S, US_PER_S));
		CHECK(!phase_is_stuck(phase, US_PER_S + PHASE_GRACE_US - 1, US_PER_S));
		CHECK_EQ_INT(phase_is_stuck(phase, US_PER_S + PHASE_GRACE_US, US_PER_S), !unwatched);
	}
}

static void test_names(void)
{
	enum phase phase = PHASES;

	for (enum phase p = PHASE_PREPARED; p < PHASES; p++) {
		CHECK_EQ_INT(phase_parse(phase_name(p), &phase), 0);
		CHECK_EQ_INT(phase, p);
	}
	CHECK_EQ_INT(phase_parse("confirm", &phase), -EINVAL);
}

int main(void)
{
	test_every_move();
	test_found();
	test_stuck();
	test_names();
	return check_result();
}
