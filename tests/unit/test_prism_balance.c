/* SPDX-License-Identifier: Apache-2.0 */
/* Who is tried before whom, how evenly many nodes spread, and that classes do not flutter. */
#include "prism/balance.h"

#include <stdlib.h>

#include "base/macro.h"
#include "tests/unit/check.h"

#define CASE_MAX 8
#define N_SEEDS 200

#define R JUDGE_READY
#define A JUDGE_ALIVE
#define B JUDGE_BUSY
#define UNKNOWN JUDGE_UNKNOWN
#define NOT_READY JUDGE_NOT_READY
#define DOWN JUDGE_DOWN
#define HUNG JUDGE_HUNG
#define UNVERIFIED JUDGE_UNVERIFIED
#define UNTRUSTED JUDGE_UNTRUSTED

/* Candidates {state, rtt_class, local, drained, connections}; the order is one digit each, the same
 * for every seed. */
static void test_order(void)
{
	static const struct {
		const char *name;
		struct balance_candidate candidates[CASE_MAX];
		size_t n;
		const char *order;
	} cases[] = {
	    {"nobody", {{R, 0, false, false, 0, false, 0}}, 0, ""},
	    {"one alone", {{HUNG, 4, false, false, 9, false, 0}}, 1, "0"},
	    {"one alone, taken out", {{R, 0, false, true, 0, false, 0}}, 1, "0"},
	    {"all classes",
	     {{HUNG, 0, true, false, 0, false, 0},
	      {DOWN, 0, true, false, 0, false, 0},
	      {NOT_READY, 0, true, false, 0, false, 0},
	      {UNKNOWN, 0, true, false, 0, false, 0},
	      {B, 0, true, false, 0, false, 0},
	      {A, 0, true, false, 0, false, 0},
	      {R, 4, false, false, 99, false, 0}},
	     7,
	     "6543210"},
	    {"suspected: behind those of its class, however far, and before the next class",
	     {{A, 0, true, false, 0, false, 0},
	      {R, 0, true, false, 0, true, 0},
	      {R, 4, false, false, 9, false, 0}},
	     3,
	     "210"},
	    {"nothing is well: everything is dialled",
	     {{HUNG, 0, false, false, 0, false, 0},
	      {DOWN, 0, false, false, 0, false, 0},
	      {NOT_READY, 0, false, false, 0, false, 0}},
	     3,
	     "210"},
	    {"who is not who he should be is not",
	     {{UNTRUSTED, 0, true, false, 0, false, 0},
	      {HUNG, 4, false, true, 99, false, 0},
	      {UNVERIFIED, 0, true, false, 0, false, 0}},
	     3,
	     "1"},
	    {"and rather nobody",
	     {{UNTRUSTED, 0, true, false, 0, false, 0}, {UNVERIFIED, 0, true, false, 0, false, 0}},
	     2,
	     ""},
	    {"taken out: behind all others",
	     {{R, 0, true, true, 0, false, 0},
	      {HUNG, 4, false, false, 99, false, 0},
	      {DOWN, 0, false, true, 0, false, 0}},
	     3,
	     "102"},
	    {"near before far, however busy",
	     {{R, 2, false, false, 0, false, 0}, {R, 1, false, false, 99, false, 0}},
	     2,
	     "10"},
	    {"local before others of its RTT class",
	     {{R, 0, false, false, 0, false, 0}, {R, 0, true, false, 99, false, 0}},
	     2,
	     "10"},
	    {"but not before a nearer one",
	     {{R, 0, false, false, 99, false, 0}, {R, 1, true, false, 0, false, 0}},
	     2,
	     "01"},
	    {"nor before a better one",
	     {{A, 0, true, false, 0, false, 0}, {R, 3, false, false, 99, false, 0}},
	     2,
	     "10"},
	    {"of two the one with fewer connections",
	     {{R, 0, false, false, 2, false, 0}, {R, 0, false, false, 1, false, 0}},
	     2,
	     "10"},
	    {"of two, in every group",
	     {{A, 0, false, false, 2, false, 0},
	      {A, 0, false, false, 1, false, 0},
	      {R, 0, false, false, 8, false, 0},
	      {R, 0, false, false, 7, false, 0}},
	     4,
	     "3210"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
			struct balance_random random = {seed};
			size_t order[BALANCE_MAX];
			char text[CASE_MAX + 1] = "";
			size_t n = balance_order(cases[i].candidates, cases[i].n, &random, order);

			for (size_t k = 0; k < n; k++)
				text[k] = (char) ('0' + order[k]);
			if (!CHECK_EQ_STR(text, cases[i].order)) {
				(void) fprintf(stderr, "  in '%s'\n", cases[i].name);
				break;
			}
		}
	}
}

/* The most loaded of three is never first, the others are; behind the head fewest come first. */
static void test_two_choices(void)
{
	static const struct balance_candidate candidates[] = {{R, 0, false, false, 5, false, 0},
	                                                      {R, 0, false, false, 9, false, 0},
	                                                      {R, 0, false, false, 0, false, 0}};
	unsigned first[3] = {0};
	struct balance_random random = {42};

	for (unsigned i = 0; i < 3000; i++) {
		size_t order[BALANCE_MAX];

		CHECK_EQ_INT(balance_order(candidates, 3, &random, order), 3);
		first[order[0]]++;
		CHECK_EQ_INT(order[1], order[0] == 2 ? 0 : 2);
		CHECK_EQ_INT(order[2], 1);
	}
	CHECK_EQ_INT(first[1], 0);
	/* The least loaded is in two of three pairs. */
	CHECK(first[2] > 1850 && first[2] < 2150);
}

/* With few connections the first is home, whatever is carried where; with more it is drawn. */
static void test_home(void)
{
	struct balance_candidate candidates[] = {{R, 0, false, false, 0, false, 5},
	                                         {R, 0, false, false, 0, false, 9},
	                                         {R, 0, false, false, BALANCE_HOME - 1, false, 7},
	                                         {R, 1, false, false, 50, false, 99}};
	struct balance_random random = {42};
	size_t order[BALANCE_MAX];
	unsigned first[4] = {0};

	for (unsigned i = 0; i < 100; i++) {
		CHECK_EQ_INT(balance_order(candidates, 4, &random, order), 4);
		CHECK(order[0] == 1 && order[1] == 0 && order[2] == 2 && order[3] == 3);
	}
	candidates[1].connections = 1;
	for (unsigned i = 0; i < 300; i++) {
		CHECK_EQ_INT(balance_order(candidates, 4, &random, order), 4);
		first[order[0]]++;
	}
	CHECK(first[0] > 0 && first[1] > 0 && first[2] == 0 && first[3] == 0);
}

/* Many nodes have their homes evenly at three upstreams, and stay when one of them goes. */
static void test_homes_are_even(void)
{
	struct endpoint upstreams[3];
	unsigned homes[3] = {0};

	for (size_t k = 0; k < 3; k++) {
		char text[ENDPOINT_TEXT_MAX];

		(void) snprintf(text, sizeof(text), "10.0.0.1%zu:6443", k + 1);
		CHECK_EQ_INT(endpoint_parse(text, 0, &upstreams[k]), 0);
	}
	for (uint64_t node = 0; node < 3000; node++) {
		size_t home = 0;

		for (size_t k = 0; k < 3; k++) {
			CHECK(balance_home(node * 2, &upstreams[k]) != 0);
			if (balance_home(node * 2, &upstreams[k]) > balance_home(node * 2, &upstreams[home]))
				home = k;
		}
		homes[home]++;
	}
	for (size_t k = 0; k < 3; k++) {
		if (!CHECK(homes[k] > 900 && homes[k] < 1100))
			(void) fprintf(stderr, "  %u at %zu\n", homes[k], k);
	}
}

static void test_random_ties(void)
{
	static const struct balance_candidate candidates[] = {{R, 0, false, false, 3, false, 0},
	                                                      {R, 0, false, false, 3, false, 0},
	                                                      {R, 0, false, false, 3, false, 0}};
	unsigned at[3][3] = {{0}};
	struct balance_random random = {7};

	for (unsigned i = 0; i < 9000; i++) {
		size_t order[BALANCE_MAX];

		(void) balance_order(candidates, 3, &random, order);
		for (size_t k = 0; k < 3; k++)
			at[k][order[k]]++;
	}
	for (size_t k = 0; k < 3; k++) {
		for (size_t who = 0; who < 3; who++)
			CHECK(at[k][who] > 2800 && at[k][who] < 3200);
	}
}

/* All of many, once each. */
static void test_many(void)
{
	struct balance_candidate candidates[BALANCE_MAX] = {0};
	struct balance_random random = {3};
	size_t order[BALANCE_MAX];
	bool seen[BALANCE_MAX] = {false};

	for (unsigned i = 0; i < BALANCE_MAX; i++)
		candidates[i] = (struct balance_candidate){
		    .state = i % 2 == 0 ? R : DOWN, .rtt_class = i % 3, .connections = i % 5};
	CHECK_EQ_INT(balance_order(candidates, BALANCE_MAX, &random, order), BALANCE_MAX);
	for (size_t i = 0; i < BALANCE_MAX; i++) {
		CHECK(!seen[order[i]]);
		seen[order[i]] = true;
		CHECK_EQ_INT(candidates[order[i]].state, i < BALANCE_MAX / 2 ? R : DOWN);
	}
}

/* A cluster starts: 50 nodes, each with 20 connections to make to three alike API servers, each
 * knowing its own alone. Seeds as from getrandom(2). */
static void test_spread(void)
{
	uint64_t seed = 0x9e3779b97f4a7c15;

	for (unsigned cluster = 0; cluster < 20; cluster++) {
		unsigned total[3] = {0};

		for (unsigned node = 0; node < 50; node++) {
			struct balance_candidate candidates[3] = {{.state = R}, {.state = R}, {.state = R}};
			struct balance_random random;

			seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
			random.state = seed | 1;
			for (unsigned i = 0; i < 20; i++) {
				size_t order[BALANCE_MAX];

				(void) balance_order(candidates, 3, &random, order);
				candidates[order[0]].connections++;
				total[order[0]]++;
			}
			/* On each node as well: 20 are 6 or 7 each, give or take a few. */
			for (unsigned i = 0; i < 3; i++)
				CHECK(candidates[i].connections >= 4 && candidates[i].connections <= 9);
		}
		for (unsigned i = 0; i < 3; i++)
			CHECK(total[i] >= 1000 / 3 * 8 / 10 && total[i] <= 1000 / 3 * 12 / 10);
	}
}

/* Nodes that start in the same second with small seeds do not all choose the same. */
static void test_small_seeds(void)
{
	static const struct balance_candidate candidates[3] = {
	    {.state = R}, {.state = R}, {.state = R}};
	unsigned first[3] = {0};

	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct balance_random random = {seed << 32 | seed};
		size_t order[BALANCE_MAX];

		(void) balance_order(candidates, 3, &random, order);
		first[order[0]]++;
	}
	for (unsigned i = 0; i < 3; i++)
		CHECK(first[i] > 60 && first[i] < 140);
}

static void test_rtt_classes(void)
{
	static const struct {
		int64_t us;
		unsigned class;
	} cases[] = {
	    {-5, 0},   {0, 0},     {1, 0},     {999, 0},   {1000, 1},   {4999, 1},
	    {5000, 2}, {19999, 2}, {20000, 3}, {99999, 3}, {100000, 4}, {60000000, 4},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct balance_rtt rtt = {0};

		balance_rtt_add(&rtt, cases[i].us);
		CHECK_EQ_INT(rtt.class, cases[i].class);
		CHECK(rtt.smoothed_us > 0);
	}
}

/* Around a border it stays where it is, from whichever side it came. */
static void test_rtt_wanders(void)
{
	static const int64_t borders_us[] = {1000, 5000, 20000, 100000};

	for (size_t i = 0; i < ARRAY_SIZE(borders_us); i++) {
		struct balance_rtt below = {0}, above = {0};
		int64_t border_us = borders_us[i];

		balance_rtt_add(&below, border_us * 9 / 10);
		balance_rtt_add(&above, border_us * 11 / 10);
		for (unsigned k = 0; k < 1000; k++) {
			int64_t sample_us = border_us * (k % 7 < 4 ? 85 : 115) / 100;

			balance_rtt_add(&below, sample_us);
			balance_rtt_add(&above, sample_us);
			CHECK_EQ_INT(below.class, i);
			CHECK_EQ_INT(above.class, i + 1);
		}
		/* Clearly beyond, it goes. */
		for (unsigned k = 0; k < 50; k++) {
			balance_rtt_add(&below, border_us * 14 / 10);
			balance_rtt_add(&above, border_us * 6 / 10);
		}
		CHECK_EQ_INT(below.class, i + 1);
		CHECK_EQ_INT(above.class, i);
	}
}

static void test_rtt_outliers(void)
{
	struct balance_rtt rtt = {0};
	unsigned n;

	/* One answer after two seconds is no distance. */
	balance_rtt_add(&rtt, 800);
	balance_rtt_add(&rtt, 2000000);
	CHECK_EQ_INT(rtt.class, 0);
	/* A link that became slow is seen within a few. */
	for (n = 0; n < 30 && rtt.class < 4; n++)
		balance_rtt_add(&rtt, 200000);
	CHECK(n < 25);
	/* And one that became quick again, in fewer. */
	for (n = 0; n < 30 && rtt.class > 0; n++)
		balance_rtt_add(&rtt, 600);
	CHECK(n < 15);
	/* A first answer that was slow does not stick. */
	rtt = (struct balance_rtt){0};
	balance_rtt_add(&rtt, 50000);
	CHECK_EQ_INT(rtt.class, 3);
	for (n = 0; n < 30 && rtt.class > 0; n++)
		balance_rtt_add(&rtt, 400);
	CHECK(n < 10);
	/* However small, it can grow. */
	rtt = (struct balance_rtt){0};
	balance_rtt_add(&rtt, 0);
	for (n = 0; n < 50; n++)
		balance_rtt_add(&rtt, 30000);
	CHECK_EQ_INT(rtt.class, 3);
}

/* A slow handshake made it far, and nobody dials who is far: what it answers to probes tells. */
static void test_rtt_bound(void)
{
	struct balance_rtt rtt = {0};

	balance_rtt_bound(&rtt, 400);
	CHECK_EQ_INT(rtt.smoothed_us, 0);
	balance_rtt_add(&rtt, 30000);
	CHECK_EQ_INT(rtt.class, 3);
	balance_rtt_bound(&rtt, 40000);
	CHECK_EQ_INT(rtt.smoothed_us, 30000);
	for (int i = 0; i < 8; i++)
		balance_rtt_bound(&rtt, 400);
	CHECK_EQ_INT(rtt.class, 0);
	/* A slow answer does not make anybody far. */
	for (int i = 0; i < 100; i++)
		balance_rtt_bound(&rtt, 50000);
	CHECK_EQ_INT(rtt.class, 0);
}

int main(void)
{
	test_rtt_bound();
	test_order();
	test_two_choices();
	test_home();
	test_homes_are_even();
	test_random_ties();
	test_many();
	test_spread();
	test_small_seeds();
	test_rtt_classes();
	test_rtt_wanders();
	test_rtt_outliers();
	return check_result();
}
