/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Which of the histories that have a revision is meant, and what the worker tells of them. */

#include <jansson.h>

#include "etcdwatch/worker/common/problem.h"
#include "etcdwatch/worker/rebuild/rebuildpick.h"

/* The newest; as a number it is the first. */
#define REBUILDHISTORY_LATEST 1

struct rebuildhistory_list {
	struct rebuildpick picks[REBUILDPICK_HISTORIES_MAX]; /* the newest first */
	size_t n;
	/* For the text: whose they are, and the snapshots' names. Borrowed. */
	const struct rebuildpick_world *world;
	const struct chains *chains;
	char *const *names; /* as many as there are bases; NULL: they are not known yet */
};

/* {"history":N, "cluster_id", "first", "last", "from", "until", "segment", "base"}: segment null:
 * it is not recorded; base null: there is no snapshot to begin with. */
json_t *rebuildhistory_json(const struct rebuildhistory_list *list, size_t i);

/*
 * Which one is meant. wanted: from 1 on; 0: none was named, which is right if there is one. `what`
 * they have, for sentences: "revision 90". HISTORY: it must be named, and the worker has printed a
 * line {"histories":[...]}; USAGE: there is none of that number. The list is not empty.
 */
int rebuildhistory_choose(const struct rebuildhistory_list *list, unsigned long wanted,
                          const char *what, struct problem *problem, size_t *ret_i);
