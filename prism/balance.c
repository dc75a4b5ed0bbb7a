/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order in which upstreams are tried, and round-trip times in classes; balance.h has the rules.
 * An order is made in three steps: the usable ones in random order, a stable sort by rank and
 * connections (equals thus stay in random order), then the head of each group drawn anew.
 */
#include "prism/balance.h"

#include <assert.h>
#include <stddef.h>

#include "base/macro.h"
#include "base/mono.h"

#define GROWN_PART 8
#define SHRUNK_PART 2
#define SAMPLE_MAX_TIMES 4
/* But this much always counts, or a time of a few microseconds could not grow. */
#define SAMPLE_FLOOR_US (1 * US_PER_MS)
/* A class is left when the time is beyond its border by the border's fourth part. */
#define BORDER_MARGIN 4

static const int64_t rtt_border_us[] = {1 * US_PER_MS, 5 * US_PER_MS, 20 * US_PER_MS,
                                        100 * US_PER_MS};

/* --- the order --- */

/* George Marsaglia's xorshift with a multiplication behind it, 12-25-27 (Vigna, "An experimental
 * exploration of Marsaglia's xorshift generators, scrambled"). */
uint64_t balance_next(struct balance_random *random)
{
	uint64_t x = random->state;

	assert(x != 0);
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	random->state = x;
	return x * UINT64_C(2685821657736338717);
}

/* Below n, which is small: the bias is n / 2^32. */
static size_t draw(struct balance_random *random, size_t n)
{
	return (size_t) (((balance_next(random) >> 32) * n) >> 32);
}

static unsigned class_of(enum judge_state state)
{
	static const unsigned classes[JUDGE_N_STATES] = {
	    [JUDGE_READY] = 0,   [JUDGE_ALIVE] = 1,      [JUDGE_BUSY] = 2,
	    [JUDGE_UNKNOWN] = 3, [JUDGE_NOT_READY] = 4,  [JUDGE_DOWN] = 5,
	    [JUDGE_HUNG] = 6,    [JUDGE_UNVERIFIED] = 7, [JUDGE_UNTRUSTED] = 7,
	};

	assert(judge_is_usable(state));
	return classes[state];
}

static int compare_unsigned(unsigned a, unsigned b)
{
	return a < b ? -1 : a > b;
}

/* 0: of one group. */
static int compare_rank(const struct balance_candidate *a, const struct balance_candidate *b)
{
	if (a->drained != b->drained)
		return a->drained ? 1 : -1;
	if (class_of(a->state) != class_of(b->state))
		return compare_unsigned(class_of(a->state), class_of(b->state));
	if (a->suspected != b->suspected)
		return a->suspected ? 1 : -1;
	if (a->rtt_class != b->rtt_class)
		return compare_unsigned(a->rtt_class, b->rtt_class);
	if (a->local != b->local)
		return a->local ? -1 : 1;
	return 0;
}

static int compare(const struct balance_candidate *a, const struct balance_candidate *b)
{
	int order = compare_rank(a, b);

	return order != 0 ? order : compare_unsigned(a->connections, b->connections);
}

static size_t shuffle_usable(const struct balance_candidate *candidates, size_t n,
                             struct balance_random *random, size_t *ret_order)
{
	size_t n_order = 0;

	for (size_t i = 0; i < n; i++) {
		size_t at;

		if (!judge_is_usable(candidates[i].state))
			continue;
		at = draw(random, n_order + 1);
		ret_order[n_order] = i;
		ret_order[n_order++] = ret_order[at];
		ret_order[at] = i;
	}
	return n_order;
}

static void put_first(size_t *group, size_t at)
{
	size_t index = group[at];

	for (size_t i = at; i > 0; i--)
		group[i] = group[i - 1];
	group[0] = index;
}

/* False: it carries too much for a home, or has none. */
static bool put_home_first(const struct balance_candidate *candidates, size_t *group, size_t n)
{
	unsigned connections = 0;
	size_t home = 0;

	for (size_t i = 0; i < n; i++) {
		connections += candidates[group[i]].connections;
		if (candidates[group[i]].home > candidates[group[home]].home)
			home = i;
	}
	if (connections >= BALANCE_HOME || candidates[group[home]].home == 0)
		return false;
	put_first(group, home);
	return true;
}

/* Two of the group are drawn; the one with fewer connections goes to its head. The group is sorted
 * by connections and equals are in random order, so that is the one further ahead. */
static void draw_head(size_t *group, size_t n, struct balance_random *random)
{
	size_t a = draw(random, n), b = draw(random, n - 1);

	b += b >= a ? 1 : 0;
	put_first(group, MIN(a, b));
}

size_t balance_order(const struct balance_candidate *candidates, size_t n,
                     struct balance_random *random, size_t ret_order[static BALANCE_MAX])
{
	size_t n_order, end;

	assert(n <= BALANCE_MAX);
	n_order = shuffle_usable(candidates, n, random, ret_order);
	/* Insertion keeps equals as they are, and a handful is the rule. */
	for (size_t i = 1; i < n_order; i++) {
		size_t index = ret_order[i], at = i;

		for (; at > 0 && compare(&candidates[index], &candidates[ret_order[at - 1]]) < 0; at--)
			ret_order[at] = ret_order[at - 1];
		ret_order[at] = index;
	}
	for (size_t i = 0; i < n_order; i = end) {
		const struct balance_candidate *first = &candidates[ret_order[i]];

		for (end = i + 1; end < n_order; end++) {
			if (compare_rank(first, &candidates[ret_order[end]]) != 0)
				break;
		}
		if (end - i > 1 && !put_home_first(candidates, &ret_order[i], end - i))
			draw_head(&ret_order[i], end - i, random);
	}
	return n_order;
}

uint64_t balance_home(uint64_t node, const struct endpoint *upstream)
{
	struct balance_random random = {.state = node | 1};
	char text[ENDPOINT_TEXT_MAX];

	/* FNV-1a, and a step of the generator behind it, as its high bits mix badly. */
	(void) endpoint_format(upstream, text);
	random.state = balance_next(&random);
	for (const char *p = text; *p != '\0'; p++)
		random.state = (random.state ^ (uint64_t) (unsigned char) *p) * UINT64_C(1099511628211);
	random.state |= 1;
	return balance_next(&random) | 1;
}

/* --- round-trip times --- */

static unsigned rtt_class(int64_t us)
{
	unsigned class = 0;

	while (class < ARRAY_SIZE(rtt_border_us) && us >= rtt_border_us[class])
		class ++;
	return class;
}

void balance_rtt_add(struct balance_rtt *rtt, int64_t sample_us)
{
	int64_t upper_us, lower_us, difference_us;

	sample_us = MAX(sample_us, 1);
	if (rtt->smoothed_us == 0) {
		rtt->smoothed_us = sample_us;
		rtt->class = rtt_class(sample_us);
		return;
	}
	sample_us = MIN(sample_us, MAX(SAMPLE_MAX_TIMES * rtt->smoothed_us, SAMPLE_FLOOR_US));
	difference_us = sample_us - rtt->smoothed_us;
	rtt->smoothed_us += difference_us / (difference_us > 0 ? GROWN_PART : SHRUNK_PART);
	upper_us = rtt->class < ARRAY_SIZE(rtt_border_us) ? rtt_border_us[rtt->class] : INT64_MAX / 2;
	lower_us = rtt->class > 0 ? rtt_border_us[rtt->class - 1] : 0;
	if (rtt->smoothed_us >= upper_us + upper_us / BORDER_MARGIN ||
	    rtt->smoothed_us < lower_us - lower_us / BORDER_MARGIN)
		rtt->class = rtt_class(rtt->smoothed_us);
}

void balance_rtt_bound(struct balance_rtt *rtt, int64_t at_most_us)
{
	if (rtt->smoothed_us > at_most_us)
		balance_rtt_add(rtt, at_most_us);
}

/* --- when a connection goes, by how long it has been silent, old, and unwanted --- */

/* max_age is stretched by up to this part of it. */
#define AGE_JITTER_DIVISOR 5
#define PLACES 65536

/* The share of a time that belongs to a place. Times are weeks at most: the product fits. */
static int64_t share_us(int64_t us, uint16_t place)
{
	return us * place / PLACES;
}

enum drain_verdict drain_judge(const struct drain_facts *facts, const struct config_drain *drain,
                               const struct config_limits *limits)
{
	bool silent_now = facts->silent_us >= drain->idle_us;

	if (facts->dead)
		return DRAIN_DEAD;
	if (facts->leaving_us >= 0) {
		int64_t turn_us = share_us(drain->spread_us, facts->place);

		if (facts->leaving_us >= drain->deadline_us + turn_us)
			return DRAIN_DEADLINE;
		if (facts->leaving_us >= turn_us && silent_now)
			return DRAIN_LEAVING;
	}
	if (facts->half_closed && facts->silent_us >= limits->half_closed_us)
		return DRAIN_HALF_CLOSED;
	if (limits->idle_us > 0 && facts->silent_us >= limits->idle_us)
		return DRAIN_IDLE;
	if (limits->max_age_us > 0 && silent_now) {
		int64_t jitter_us = share_us(limits->max_age_us / AGE_JITTER_DIVISOR, facts->place);

		if (facts->age_us >= limits->max_age_us + jitter_us)
			return DRAIN_AGED;
	}
	return DRAIN_KEEP;
}
