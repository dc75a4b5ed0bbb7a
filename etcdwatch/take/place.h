/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What one look at the cluster means for this node: how long it lets others go first, and which
 * member it takes a snapshot from. rank.c decides; this asks it in its own terms. Pure.
 */

#include <stdint.h>

#include "etcdwatch/cluster/view.h"

struct place {
	int64_t delay_us; /* who is no candidate waits behind all that are */
	/* Its own member if that is a candidate, else the best one. Without a quorum there is none, and
	 * whatever answers and is no learner must do. NULL: nothing does. */
	const struct view_member *source;
	const char *verdict; /* of its own member: "candidate", "behind", ..., "no member here" */
};

/* The view is borrowed as long as the place is used. */
void place_find(const struct view *view, const char *job, int64_t period_s,
                struct place *ret_place);
