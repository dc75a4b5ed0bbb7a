/* SPDX-License-Identifier: Apache-2.0 */
/* Which connections are closed, and when; and that a crowd does not go in one second. */
#include "prism/balance.h"

#include "base/macro.h"
#include "base/mono.h"
#include "tests/unit/check.h"

static const char *drain_verdict_name(enum drain_verdict verdict)
{
	static const char *const names[] = {
	    [DRAIN_KEEP] = "keep", [DRAIN_IDLE] = "idle",       [DRAIN_HALF_CLOSED] = "half_closed",
	    [DRAIN_AGED] = "aged", [DRAIN_LEAVING] = "leaving", [DRAIN_DEADLINE] = "deadline",
	    [DRAIN_DEAD] = "dead",
	};

	return names[verdict];
}

#define S(n) ((n) *US_PER_S)
#define MINUTES(n) S(60 * (n))
#define FIRST 0
#define HALFWAY 32768
#define LAST 65535

/* As by default, but with an idle limit and an age limit. */
static const struct config_drain drain = {
    .idle_us = S(2), .spread_us = S(10), .deadline_us = MINUTES(5)};
static const struct config_limits limits = {
    .idle_us = MINUTES(30), .half_closed_us = MINUTES(1), .max_age_us = MINUTES(60)};
static const struct config_limits unlimited = {.half_closed_us = MINUTES(1)};

static void test_verdicts(void)
{
	static const struct {
		int64_t silent_us, age_us, leaving_us;
		bool half_closed;
		uint16_t place;
		const char *limited, *unlimited;
	} cases[] = {
	    {0, 0, -1, false, FIRST, "keep", "keep"},
	    {S(10), S(10), -1, false, FIRST, "keep", "keep"},

	    /* Idle. */
	    {MINUTES(30) - 1, MINUTES(30), -1, false, FIRST, "keep", "keep"},
	    {MINUTES(30), MINUTES(30), -1, false, FIRST, "idle", "keep"},
	    {MINUTES(3000), MINUTES(30), -1, false, LAST, "idle", "keep"},

	    /* Half closed: only when nothing moves. */
	    {MINUTES(1) - 1, MINUTES(30), -1, true, FIRST, "keep", "keep"},
	    {MINUTES(1), MINUTES(30), -1, true, FIRST, "half_closed", "half_closed"},
	    {0, MINUTES(30), -1, true, FIRST, "keep", "keep"},

	    /* Old: when it is silent, and by its place. */
	    {S(2), MINUTES(60) - 1, -1, false, FIRST, "keep", "keep"},
	    {S(2), MINUTES(60), -1, false, FIRST, "aged", "keep"},
	    {S(2) - 1, MINUTES(60), -1, false, FIRST, "keep", "keep"},
	    {0, MINUTES(6000), -1, false, FIRST, "keep", "keep"},
	    {S(2), MINUTES(66) - 1, -1, false, HALFWAY, "keep", "keep"},
	    {S(2), MINUTES(66), -1, false, HALFWAY, "aged", "keep"},
	    {S(2), MINUTES(71), -1, false, LAST, "keep", "keep"},
	    {S(2), MINUTES(72), -1, false, LAST, "aged", "keep"},

	    /* Leaving: idle ones at their turn. */
	    {S(2), S(9), 0, false, FIRST, "leaving", "leaving"},
	    {S(2) - 1, S(9), 0, false, FIRST, "keep", "keep"},
	    {0, S(9), S(200), false, FIRST, "keep", "keep"},
	    {S(2), S(9), S(5) - 1, false, HALFWAY, "keep", "keep"},
	    {S(2), S(9), S(5), false, HALFWAY, "leaving", "leaving"},
	    {S(9), S(9), S(9), false, LAST, "keep", "keep"},
	    {S(2), S(9), S(10), false, LAST, "leaving", "leaving"},
	    {S(2), S(9), S(200), false, LAST, "leaving", "leaving"},

	    /* Leaving: busy ones when the time is up, by their turn as well. */
	    {0, MINUTES(9), MINUTES(5) - 1, false, FIRST, "keep", "keep"},
	    {0, MINUTES(9), MINUTES(5), false, FIRST, "deadline", "deadline"},
	    {0, MINUTES(9), MINUTES(5), false, HALFWAY, "keep", "keep"},
	    {0, MINUTES(9), MINUTES(5) + S(5), false, HALFWAY, "deadline", "deadline"},
	    {0, MINUTES(9), MINUTES(5) + S(10), false, LAST, "deadline", "deadline"},
	    {MINUTES(90), MINUTES(90), MINUTES(9), true, LAST, "deadline", "deadline"},

	    /* What limits ask for holds while an upstream is left, too. */
	    {MINUTES(1), MINUTES(9), 1, true, LAST, "half_closed", "half_closed"},
	    {MINUTES(30), MINUTES(30), 1, false, LAST, "idle", "keep"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct drain_facts facts = {
		    .silent_us = cases[i].silent_us,
		    .age_us = cases[i].age_us,
		    .leaving_us = cases[i].leaving_us,
		    .half_closed = cases[i].half_closed,
		    .place = cases[i].place,
		};

		if (!CHECK_EQ_STR(drain_verdict_name(drain_judge(&facts, &drain, &limits)),
		                  cases[i].limited) ||
		    !CHECK_EQ_STR(drain_verdict_name(drain_judge(&facts, &drain, &unlimited)),
		                  cases[i].unlimited))
			(void) fprintf(stderr, "  in case %zu\n", i);
	}
}

/* 1,000 connections, idle or busy, asked once a second while their upstream is left: about as many
 * go in each second of the spread, and none is left behind it. */
static void test_crowd(void)
{
	static const struct {
		int64_t silent_us, begin_us;
	} crowds[] = {{S(5), 0}, {0, MINUTES(5)}};

	for (size_t i = 0; i < ARRAY_SIZE(crowds); i++) {
		unsigned gone = 0;

		for (int64_t s = 0; s <= 10; s++) {
			unsigned now = 0;

			for (unsigned c = 0; c < 1000; c++) {
				struct drain_facts facts = {.silent_us = crowds[i].silent_us,
				                            .leaving_us = crowds[i].begin_us + S(s),
				                            .place = (uint16_t) (c * 65536 / 1000)};

				now += drain_judge(&facts, &drain, &limits) != DRAIN_KEEP;
			}
			CHECK(now - gone <= 110);
			gone = now;
		}
		CHECK_EQ_INT(gone, 1000);
	}
}

/* Those of a dead upstream go whatever their turn is and however busy they look. */
static void test_dead(void)
{
	struct drain_facts facts = {.leaving_us = -1, .dead = true, .place = LAST};

	CHECK_EQ_STR(drain_verdict_name(drain_judge(&facts, &drain, &limits)), "dead");
}

/* Without a spread all go at once; the longest times that can be configured do not overflow. */
static void test_extremes(void)
{
	struct config_drain at_once = {.idle_us = 0, .spread_us = 0, .deadline_us = 0};
	struct config_drain days = {
	    .idle_us = 0, .spread_us = S(86400 * 7), .deadline_us = S(86400 * 7)};
	struct config_limits old = {.max_age_us = S(86400 * 365)};
	struct drain_facts facts = {.leaving_us = 0, .place = LAST};

	CHECK_EQ_INT(drain_judge(&facts, &at_once, &unlimited), DRAIN_DEADLINE);
	CHECK_EQ_INT(drain_judge(&facts, &days, &old), DRAIN_KEEP);
	facts.leaving_us = days.spread_us;
	CHECK_EQ_INT(drain_judge(&facts, &days, &old), DRAIN_LEAVING);
	facts.leaving_us = -1;
	facts.age_us = old.max_age_us * 6 / 5;
	CHECK_EQ_INT(drain_judge(&facts, &days, &old), DRAIN_AGED);
}

int main(void)
{
	test_verdicts();
	test_crowd();
	test_dead();
	test_extremes();
	return check_result();
}
