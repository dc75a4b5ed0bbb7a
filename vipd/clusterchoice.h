/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which etcd cluster this node works with, by what answers behind its endpoints. Pure.
 *
 *   A cluster is kept while any endpoint answers for it, with a quorum or without: one wrong
 *   endpoint does not silence the others.
 *   It is given up for another one, as after a restore, when no endpoint has answered for it for as
 *   long as an owner that it confirmed may answer.
 *   A node that has none, or gives up its own, takes the cluster of more than half of its
 *   endpoints, or the one for which all answer that answer at all. Else it takes none.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clusterchoice_answer {
	uint64_t cluster_id; /* 0: no answer in this round */
	uint64_t member_id;  /* two endpoints may lead to one member, which counts once */
};

struct clusterchoice_input {
	const struct clusterchoice_answer *answers; /* one an endpoint */
	size_t n_answers;
	bool is_complete;  /* no answer is waited for any more */
	uint64_t mine;     /* 0: none yet */
	int64_t silent_us; /* since the first round in which no endpoint answered for it */
	int64_t fence_us;  /* how long an owner that it confirmed may answer */
};

/* A cluster's id; 0: none can be chosen yet. */
uint64_t clusterchoice(const struct clusterchoice_input *in);
