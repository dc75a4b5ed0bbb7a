/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whether any snapshot may go. While members hold different data, or may, nobody knows whose
 * snapshots are the good ones.
 */

#include <stdbool.h>

#include "etcdwatch/cluster/view.h"

/* One for all jobs of a node, since all are of one cluster. Zeroed: none so far. */
struct doubt {
	/* What the watchdog has found; NULL: nobody watches. */
	bool (*data_differ)(const void *userdata);
	bool (*alarm_may_stand)(const void *userdata); /* CORRUPT, some seconds ago; or nobody knew */
	const void *userdata;                          /* borrowed */
	bool disagrees;       /* a member holds other data than the last snapshot that was compared */
	unsigned n_disagreed; /* snapshots of which that was so */
};

/* What the members said of a snapshot's data: one agreed with it, one did not. */
void doubt_note_proof(struct doubt *doubt, bool agreed, bool disagreed);

/* For what is told: without asking anybody, and only by what was found. */
bool doubt_was_found(const struct doubt *doubt);

/* By a fresh view of the cluster, and by what is known here. */
bool doubt_stands(const struct doubt *doubt, const struct view *view);

/*
 * -EACCES in words, to put behind "etcd" or a member's name: what is refused, as the server says
 * it, and what to do. A member that refuses is not one that does not answer. The caller frees the
 * text.
 */

char *denied_text(const char *said);
