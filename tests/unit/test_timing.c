/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol's arithmetic: the figures that are promised, and the two inequalities that the proof
 * rests on, over many values.
 */
#include "vipd/timing.h"

#include "base/macro.h"
#include "tests/unit/check.h"
#include "vipd/decide.h"

#define MS(n) (INT64_C(n) * US_PER_MS)

/* The lifetime acts this late at most (facts measured), and a renewal is on its way this long at
 * most before fence.c makes it again. */
#define KERNEL_LATE_US US_PER_S
#define TRANSIT_US MS(20)

/* What etcd answers to a request for one second: ceil(floor(3 x ticks / 2) x heartbeat). */
static int64_t etcd_min_ttl_s(int64_t election_ms, int64_t heartbeat_ms)
{
	int64_t ticks = election_ms / heartbeat_ms;

	return (3 * ticks / 2 * heartbeat_ms + 999) / 1000;
}

static void test_election_timeout(void)
{
	static const struct {
		int64_t election_ms, heartbeat_ms, want_ms;
	} cases[] = {
	    {1000, 100, 1000},   /* etcd's default */
	    {500, 50, 1000},     /* shorter ones count as the default */
	    {1300, 100, 1000},   /* cannot be told from it */
	    {2000, 100, 2000},   /* exact */
	    {2500, 250, 2666},   /* rounded up to whole seconds of TTL */
	    {5000, 100, 5333},   /* what the netns story uses */
	    {5000, 500, 5333},   /* the heartbeat does not matter */
	    {10000, 100, 10000}, /* */
	    {50000, 500, 50000}, /* etcd's maximum */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t ttl_s = etcd_min_ttl_s(cases[i].election_ms, cases[i].heartbeat_ms);

		if (!CHECK_EQ_INT(timing_election_timeout_us(ttl_s) / US_PER_MS, cases[i].want_ms))
			(void) fprintf(stderr, "election timeout %lld ms, TTL %lld s\n",
			               (long long) cases[i].election_ms, (long long) ttl_s);
	}
	/* Never taken for shorter than it is, but for what the default's own TTL covers, and what etcd
	 * itself rounds away: half a tick of TTL. */
	for (int64_t ms = 1400; ms <= 50000; ms += 100)
		CHECK(timing_election_timeout_us(etcd_min_ttl_s(ms, 100)) > (ms - 50) * US_PER_MS);
	/* No answer of any kind makes it nothing. */
	CHECK_EQ_INT(timing_election_timeout_us(0), US_PER_S);
	CHECK_EQ_INT(timing_election_timeout_us(-1), US_PER_S);
	/* Nor more than any etcd starts with. */
	CHECK_EQ_INT(timing_election_timeout_us(INT64_MAX), TIMING_ELECTION_MAX_US);
}

static void test_window(void)
{
	static const struct {
		const char *name;
		int64_t election_us;
		enum fence_kind kind;
		int64_t want_us;
	} cases[] = {
	    {"default, gate", MS(1000), FENCE_NFTABLES, MS(2500)},
	    {"default, lifetime", MS(1000), FENCE_LIFETIME, MS(5000)},
	    {"1.4 s, gate", MS(1400), FENCE_NFTABLES, MS(3500)},
	    {"2 s, gate", MS(2000), FENCE_NFTABLES, MS(5000)},
	    {"2 s, lifetime", MS(2000), FENCE_LIFETIME, MS(5000)},
	    {"5 s, gate", MS(5000), FENCE_NFTABLES, MS(12500)},
	    {"5 s, lifetime", MS(5000), FENCE_LIFETIME, MS(12500)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (!CHECK_EQ_INT(timing_window_auto_us(cases[i].election_us, cases[i].kind),
		                  cases[i].want_us))
			(void) fprintf(stderr, "case: %s\n", cases[i].name);
		/* The window that is chosen is one that is advised. */
		CHECK(timing_window_auto_us(cases[i].election_us, cases[i].kind) >=
		      timing_window_advised_us(cases[i].election_us));
	}
	CHECK_EQ_INT(timing_window_advised_us(TIMING_ELECTION_DEFAULT_US), TIMING_WINDOW_DEFAULT_US);
	CHECK_EQ_INT(timing_confirm_period_us(MS(3000)), MS(375));
	CHECK_EQ_INT(timing_overdue_us(MS(3000)), MS(750));
	CHECK_EQ_INT(timing_bound_us(MS(3000), MS(100)), MS(3100));
}

/* etcd's leader dies when a confirmation was just due. Its members stand for election no later than
 * 1.9 election timeouts afterwards (raft draws one timeout to one tick less than two, and ticks are
 * a tenth), and what was asked a moment before the new leader is there is asked again. What is left
 * is for the disks and round trips of a vote and of a confirmation. */
static void test_window_outlasts_a_vote(void)
{
	static const int64_t DISKS = MS(150);
	static const int64_t elections_us[] = {MS(1000), MS(1400), MS(2000), MS(5000), MS(50000)};

	for (size_t i = 0; i < ARRAY_SIZE(elections_us); i++) {
		int64_t window_us = timing_window_auto_us(elections_us[i], FENCE_NFTABLES);

		if (!CHECK(timing_confirm_period_us(window_us) + elections_us[i] * 19 / 10 +
		               DECIDE_URGENT_PACE_US + DISKS <
		           window_us))
			(void) fprintf(stderr, "election timeout: %lld us\n", (long long) elections_us[i]);
	}
}

static void test_worth_holding(void)
{
	static const struct {
		enum fence_kind kind;
		int64_t window_us, want_us;
	} cases[] = {
	    {FENCE_NFTABLES, MS(3000), MS(750)},   {FENCE_NFTABLES, MS(1500), MS(375)},
	    {FENCE_LIFETIME, MS(5000), MS(2250)},  {FENCE_LIFETIME, MS(3000), MS(2250)},
	    {FENCE_LIFETIME, MS(12500), MS(3125)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t worth_us = timing_worth_holding_us(cases[i].kind, cases[i].window_us);

		CHECK_EQ_INT(worth_us, cases[i].want_us);
		/* With so much left there is a lifetime to set. */
		CHECK(timing_lifetime_s(cases[i].kind, worth_us, 0) > 0);
	}
}

static void test_lifetime(void)
{
	static const struct {
		const char *name;
		enum fence_kind kind;
		int64_t left_us;
		uint32_t want_s;
	} cases[] = {
	    {"gate: a whole window", FENCE_NFTABLES, MS(3000), 4},
	    {"gate: a whole window and a bit", FENCE_NFTABLES, MS(3000) + 1, 5},
	    {"gate: less than a second", FENCE_NFTABLES, MS(1), 2},
	    {"gate: nothing left", FENCE_NFTABLES, 0, 0},
	    {"gate: past", FENCE_NFTABLES, MS(-1), 0},
	    {"gate: long past", FENCE_NFTABLES, MS(-5000), 0},
	    {"lifetime: a whole window", FENCE_LIFETIME, MS(5000), 3},
	    {"lifetime: the shortest", FENCE_LIFETIME, MS(2250), 1},
	    {"lifetime: just too short", FENCE_LIFETIME, MS(2250) - 1, 0},
	    {"lifetime: the slack alone", FENCE_LIFETIME, MS(1250), 0},
	    {"lifetime: nothing left", FENCE_LIFETIME, 0, 0},
	    {"lifetime: past", FENCE_LIFETIME, MS(-1), 0},
	    {"lifetime: long past", FENCE_LIFETIME, MS(-50000), 0},
	};
	const int64_t now_us = 77 * US_PER_S + 123;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (!CHECK_EQ_INT(timing_lifetime_s(cases[i].kind, now_us + cases[i].left_us, now_us),
		                  cases[i].want_s))
			(void) fprintf(stderr, "case: %s\n", cases[i].name);
	}
}

/* However much is left: alone the lifetime ends before the deadline, as late as the kernel may be;
 * behind the gate it never ends before the gate shuts, and does not stay for long after it. */
static void test_lifetime_is_a_fence(void)
{
	for (int64_t left_us = 1; left_us < 15 * US_PER_S; left_us += 997) {
		int64_t alone_us = timing_lifetime_s(FENCE_LIFETIME, left_us, 0) * US_PER_S;
		int64_t behind_us = timing_lifetime_s(FENCE_NFTABLES, left_us, 0) * US_PER_S;

		if (!CHECK(alone_us == 0 || alone_us + KERNEL_LATE_US + TRANSIT_US <= left_us) ||
		    !CHECK(behind_us >= left_us + US_PER_S) || !CHECK(behind_us < left_us + 2 * US_PER_S)) {
			(void) fprintf(stderr, "left: %lld us\n", (long long) left_us);
			return;
		}
	}
}

/* When a standby with clocks of these rates takes, in true time, which saw the beat at 0. */
static double taken_at(int64_t window_us, double rate, double raw_rate)
{
	struct mono_moment at = timing_take_at((struct mono_moment){0}, window_us, TIMING_LATE_US);

	return MAX((double) at.us / rate, (double) at.raw_us / raw_rate);
}

/*
 * The owner sent its last confirmation at 0 and its clock is as slow as it may be; the standby saw
 * the beat at the same instant, the earliest it can. In true time the owner's fence has acted
 * before the standby takes, however the standby's own clocks are off, as long as one of them is
 * right.
 */
static void test_take_outlasts_fence(void)
{
	static const int64_t windows_ms[] = {1000, 1500, 3000, 5000, 12500, 60000, 600000};
	static const struct {
		const char *name;
		double slew, hardware; /* of the standby, 1: as much as may be */
		double wrong;          /* what the kernel is wrong by of its hardware's frequency */
	} standbys[] = {
	    {"right", 0, 0, 0},
	    {"fast hardware", 0, 1, 0},
	    {"slewed to be fast", 1, 1, 0},
	    {"slewed to be slow", -1, 1, 0},
	    {"slow hardware", 0, -1, 0},
	    {"hardware of another frequency, set right by NTP", 0, 0, 0.04},
	    {"and slower", 0, 0, -0.04},
	};
	const double s = (double) TIMING_SLEW_PPM / 1e6, h = (double) TIMING_HARDWARE_PPM / 1e6;

	for (size_t i = 0; i < ARRAY_SIZE(windows_ms); i++) {
		int64_t window_us = windows_ms[i] * US_PER_MS;
		double owner_ends = (double) (window_us + TIMING_LATE_US) / (1 - h) / (1 - s);

		for (size_t j = 0; j < ARRAY_SIZE(standbys); j++) {
			double hardware = 1 + standbys[j].hardware * h;
			double taken = taken_at(window_us, hardware * (1 + standbys[j].slew * s),
			                        hardware * (1 + standbys[j].wrong));

			/* The margin is for schedulers: none of it is spent on clocks, up to second order. */
			if (!CHECK(taken - owner_ends >= 0.9 * (double) TIMING_MARGIN_US))
				(void) fprintf(stderr, "window: %lld ms, standby: %s\n", (long long) windows_ms[i],
				               standbys[j].name);
		}
		/* The same wait by a slewed clock alone would be too short. */
		CHECK(taken_at(window_us, (1 + h) * (1 + s), (1 + h) * (1 + s)) < owner_ends);
	}
}

/* What the kernel lets a rate be set to: a tick of 9000 to 11000 us (ADJ_TICK), 500 ppm
 * (ADJ_FREQUENCY), and 500 us a second (ADJ_ADJTIME). */
static void test_slew(void)
{
	CHECK(TIMING_SLEW_PPM >= (10000 - 9000) * 100 + 500 + 500);
}

static void test_take_at(void)
{
	struct mono_moment seen = {.us = MS(10000), .raw_us = MS(7000)};
	struct mono_moment at = timing_take_at(seen, MS(3000), MS(100));

	CHECK_EQ_INT(at.us, MS(10000) + 3465179);
	CHECK_EQ_INT(at.raw_us, MS(7000) + 3465179);
	CHECK_EQ_INT(timing_silent_at_us(MS(10000), MS(3000)), MS(13000));
	/* Power loss to the next owner in the default profile, from the last confirmation on. */
	CHECK(timing_take_at((struct mono_moment){0}, TIMING_WINDOW_DEFAULT_US, TIMING_LATE_US).us <
	      MS(2900));
}

static void test_over(void)
{
	static const struct {
		const char *name;
		struct mono_moment at, now;
		int64_t want_us;
	} cases[] = {
	    {"both go on", {1000, 100}, {900, 0}, 1000},
	    {"both have come", {1000, 100}, {1000, 100}, 1000},
	    {"both are over", {1000, 100}, {1500, 600}, 1000},
	    {"the raw one goes on", {1000, 100}, {1000, 80}, 1020},
	    {"it stood still for long", {1000, 100}, {99999, 80}, 99999 + 20},
	    {"the other one goes on", {1000, 100}, {980, 100}, 1000},
	    {"the raw one is far ahead", {1000, 100}, {980, 99999}, 1000},
	    {"never was another owner", {0, 0}, {980, 80}, 900},
	};
	struct mono_moment later =
	    timing_later((struct mono_moment){1, 20}, (struct mono_moment){10, 2});

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (!CHECK_EQ_INT(timing_over_us(cases[i].at, cases[i].now), cases[i].want_us))
			(void) fprintf(stderr, "case: %s\n", cases[i].name);
	}
	CHECK_EQ_INT(later.us, 10);
	CHECK_EQ_INT(later.raw_us, 20);
}

int main(void)
{
	test_election_timeout();
	test_window();
	test_window_outlasts_a_vote();
	test_worth_holding();
	test_lifetime();
	test_lifetime_is_a_fence();
	test_take_outlasts_fence();
	test_slew();
	test_take_at();
	test_over();
	return check_result();
}
