/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Who takes the snapshot of a period, where one is elected: a pure function of what the members
 * said of themselves. Every node works it out for itself, from about the same facts, and waits for
 * as long as its place says before it claims the period; the claim in etcd decides (claim.h), so
 * two who see things differently do no harm, and one who should and does not is waited out.
 *
 *  - Candidates are voters that answered, follow the leader that most follow, and have applied
 *    nearly all that is committed: a snapshot of one that is behind would be older than it says.
 *  - Followers come first, then the leader, since a snapshot costs the one who sends it; last those
 *    for which the alarm CORRUPT stands, whose snapshot is better than none and will be compared.
 *  - Among equals the period decides, so that takers change: snapshots lie on all nodes, and the
 *    loss of one loses a part of them. Who is missing moves those behind up; the others keep their
 *    order.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANK_MEMBERS_MAX 64

/* How far applied may be behind what is committed anywhere, in raft entries. The answers are
 * fractions of a second apart, and a busy cluster commits some thousand a second. */
#define RANK_LAG_MAX 2000

/* A place's wait longer than that of the place before. Much longer than a claim takes. */
#define RANK_STEP_US INT64_C(5000000)

/* From the member list, and from the member's own Status. */
struct rank_member {
	uint64_t id;
	bool is_started; /* it has a name */
	bool is_learner;
	bool is_corrupt;    /* the alarm stands for it */
	bool answered;      /* what follows is known */
	uint64_t leader_id; /* whom it follows; 0: nobody */
	uint64_t committed; /* index in the raft log */
	uint64_t applied;
};

struct rank_facts {
	const struct rank_member *members; /* at most RANK_MEMBERS_MAX count */
	size_t n_members;
	uint64_t self_id; /* 0: none of them is this node's */
	bool self_fit;    /* else this node passes, and the others do not know */
	const char *job;
	int64_t period_s; /* when it was due */
};

enum rank_verdict {
	RANK_CANDIDATE,
	RANK_NOT_STARTED,
	RANK_LEARNER,
	RANK_SILENT,
	RANK_LEADERLESS, /* or it follows another leader than most */
	RANK_BEHIND,
	RANK_UNFIT, /* only for oneself */
};

struct rank_place {
	uint64_t id;
	enum rank_verdict verdict;
	int64_t delay_us; /* of a candidate, from when the period is due, or from a failure on */
};

/* Candidates in their order, then the others by id. */
struct rank_order {
	struct rank_place places[RANK_MEMBERS_MAX];
	size_t n;
	size_t n_candidates;
	uint64_t leader_id; /* whom most follow; 0: nobody */
};

void rank_decide(const struct rank_facts *facts, struct rank_order *ret_order);
/* NULL: it is none of them. */
const struct rank_place *rank_find(const struct rank_order *order, uint64_t id);
const char *rank_verdict_name(enum rank_verdict verdict); /* "candidate", "behind", ... */
