/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which etcd cluster this node works with, by what answers behind its endpoints. Pure.
 *
 *   A cluster is kept while any endpoint answers for it, with a quorum or without: one wrong
 *   endpoint does not silence the others.
 *   It is given up for another one, as after a restore, when endpoints have answered for others and
 *   none for it for as long as an owner that it confirmed may answer.
 *   A node that has none, or gives up its own, takes the cluster of more than half of its
 *   endpoints, or the one for which all answer that answer at all. Else it takes none.
 *
 * An answer counts for as long as such a fence, so that one that is lost does not.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "etcd/etcd.h"

struct clusterchoice {
	uint64_t id;             /* 0: none yet */
	int64_t others_since_us; /* only others answer, in each round since then; 0: not so */
};

/* heard: of all endpoints. is_complete: a round of questions has ended, and each endpoint has
 * answered or will not. Returns whether another cluster was chosen. */
bool clusterchoice_weigh(struct clusterchoice *choice, const struct etcd_heard *heard, size_t n,
                         bool is_complete, int64_t now_us, int64_t fence_us);
