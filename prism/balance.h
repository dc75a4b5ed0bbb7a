/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * In which order upstreams are tried for one new connection. Pure. All that may be used are in the
 * order, the best first: health ranks and does not exclude, so that a wrong judgement costs a
 * connection attempt and never the cluster.
 *
 *   1. not taken out by the operator, 2. class: READY, ALIVE, BUSY, UNKNOWN, NOT_READY, DOWN, HUNG,
 *   and not suspected (judge.h) before suspected, 3. RTT class, 4. the API server of this node, 5.
 * of two drawn at random the one with fewer connections (Mitzenmacher, "The Power of Two Choices in
 * Randomized Load Balancing").
 *
 * Those that are alike in 1 to 4 are a group: its first is drawn by 5, so that one that has just
 * come back, with no connection yet, does not draw all new ones; its others follow, those with
 * fewer connections first and equals in random order.
 *
 * But while a group carries fewer than BALANCE_HOME connections, its first is the node's home among
 * them. An upstream that carries connections is probed five times as often as one that does not
 * (judge.h), so a node with a few connections, as most workers are, keeps them at one; each node
 * has a home of its own, which spreads the nodes instead. One that comes back is home again for new
 * connections.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/endpoint.h"
#include "prism/config.h"
#include "prism/judge.h"

#define BALANCE_MAX 128
#define BALANCE_HOME 6

struct balance_candidate {
	enum judge_state state;
	unsigned rtt_class;
	bool local;
	bool drained; /* by the operator, or no longer in any source */
	unsigned connections;
	bool suspected; /* judge.h */
	uint64_t home;  /* balance_home(); 0: none */
};

/* xorshift64*; the seed must not be 0. Own per node, so that nodes do not march in step. */
struct balance_random {
	uint64_t state;
};

/* n <= BALANCE_MAX. Writes indexes into `candidates`, the best first; returns how many. */
size_t balance_order(const struct balance_candidate *candidates, size_t n,
                     struct balance_random *random, size_t ret_order[static BALANCE_MAX]);

/* How much `node`, any number that is its own and stays the same, likes an upstream: its home is
 * the one that it likes best (rendezvous hashing: when one is added or removed, no other nodes move
 * than those of that one). Not 0. */
uint64_t balance_home(uint64_t node, const struct endpoint *upstream);

/*
 * Round-trip times in classes: 0 is below 1 ms, 1 below 5 ms, 2 below 20 ms, 3 below 100 ms, 4 the
 * rest. What is meant is how far away an upstream is, so a time that grew is believed slowly (an
 * eighth of the difference, as RFC 6298 does, and no sample counts for more than four times what is
 * known) and one that shrank quickly (half of it): one late answer, or a slow first one, must not
 * keep an upstream in a wrong class for minutes. A smoothed time that wanders around a border keeps
 * its class until it is a quarter beyond.
 */
struct balance_rtt {
	int64_t smoothed_us; /* 0: none measured yet, class 0 */
	unsigned class;
};

void balance_rtt_add(struct balance_rtt *rtt, int64_t sample_us);
/* It answered within this time, so it is no farther away. Whoever was found to be far away is not
 * dialled any more and would never be found to be near. */
void balance_rtt_bound(struct balance_rtt *rtt, int64_t at_most_us);

uint64_t balance_next(struct balance_random *random);

/*
 * Whether a connection is to be closed, and why. Pure; asked once a second for each. Busy ones are
 * left alone until a deadline, idle ones go one by one: each has its own place in the spread, so
 * that a thousand clients do not come back in the same second.
 *
 * The upstream is dead: all go at once. Its clients get no answer, and their nodes do not find it
 * at the same moment.
 *
 * The upstream is left:  an idle one goes from place / 65536 of drain.spread on, the first time
 * that it is silent for drain.idle; a busy one at drain.deadline, and the same share of
 * drain.spread later It is old:             from limits.max_age on, and up to a fifth later by its
 * place, the first time that it is silent for drain.idle It is idle:            silent for
 * limits.idle; for limits.half_closed when one side has ended
 */

enum drain_verdict {
	DRAIN_KEEP,
	DRAIN_IDLE,        /* silent for longer than limits.idle */
	DRAIN_HALF_CLOSED, /* one side has ended, and nothing moves */
	DRAIN_AGED,        /* older than limits.max_age, and silent at the moment */
	DRAIN_LEAVING,     /* its upstream is to be left, and it is silent at the moment */
	DRAIN_DEADLINE,    /* the same, and the time is up */
	DRAIN_DEAD,        /* its upstream is dead */
};

struct drain_facts {
	int64_t silent_us; /* since a byte went either way */
	int64_t age_us;
	int64_t leaving_us; /* since its upstream is to be left; -1: it is not */
	bool dead;          /* its upstream answers nothing any more */
	bool half_closed;
	uint16_t place; /* drawn when the connection came: its place in spreads and jitters */
};

enum drain_verdict drain_judge(const struct drain_facts *facts, const struct config_drain *drain,
                               const struct config_limits *limits);
