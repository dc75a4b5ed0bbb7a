/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Asks all endpoints again and again of which etcd cluster they are, lets clusterchoice.c choose,
 * and tells the etcd client, which believes no other cluster and holds all calls back until one is
 * chosen. A node that has lost its own cluster therefore confirms nothing and takes nothing.
 *
 * An id tells clusters apart that were made with different tokens or peer URLs, and no others:
 * `etcd --force-new-cluster` keeps it.
 */

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "etcd/etcd.h"

struct clusterid;

struct clusterid_callbacks {
	/* One was chosen, or another one. */
	void (*changed)(void *userdata);
	/* How long an owner may still answer that was confirmed just now. */
	int64_t (*fence_us)(void *userdata);
};

/* key_prefix: below it this node may read, if nothing else. remembered: what the process before
 * worked with, or 0. All pointers are borrowed until
 * clusterid_free(). */
struct clusterid *clusterid_new(struct ev_loop *ev, struct etcd *etcd, const char *key_prefix,
                                uint64_t remembered, const struct clusterid_callbacks *callbacks,
                                void *userdata);
void clusterid_free(struct clusterid *cluster);

/* 0: none is chosen yet. */
uint64_t clusterid_get(const struct clusterid *cluster);

/* Which endpoint is of another cluster, and what to do. False: none is, as far as is known. */
bool clusterid_warning(const struct clusterid *cluster, char *buf, size_t size);

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

struct clusterchoice {
	uint64_t id;             /* 0: none yet */
	int64_t others_since_us; /* only others answer, in each round since then; 0: not so */
};

/* heard: of all endpoints. is_complete: a round of questions has ended, and each endpoint has
 * answered or will not. Returns whether another cluster was chosen. */
bool clusterchoice_weigh(struct clusterchoice *choice, const struct etcd_heard *heard, size_t n,
                         bool is_complete, int64_t now_us, int64_t fence_us);
