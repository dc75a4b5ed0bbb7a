/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Clears out of a job's directory what need not be kept, as retention says, once it is known what
 * the operator has accepted. Or only finds out what would go, and why nothing does. What a target
 * has no copy of waits for it (retain.h), but for the room that the next snapshot and the job's
 * reserve need.
 */

#include <stdbool.h>

#include "base/cleanup.h"
#include "etcdwatch/store/accepted.h"
#include "etcdwatch/catalog/retain.h"
#include "etcdwatch/config/config.h"
#include "etcdwatch/store/store.h"

struct clearing;

struct clearing_options {
	struct accepted_of accepted;
	struct store *store;
	const struct config_job *job; /* borrowed until the end, like all of it */
	bool corrupt;                 /* the alarm stands, or nobody could be asked */
	bool only_look;
	bool one_more; /* there was no room for a snapshot: of what waits at least one goes */
};

struct clearing_result {
	int r; /* 0, or -errno: not all went */
	const char *reason;
	const struct prune_plan *plan; /* borrowed; of before */
};

/* The handle is gone when this returns. */
typedef void (*clearing_done_fn)(const struct clearing_result *result, void *userdata);

struct clearing *clearing_start(const struct clearing_options *options, clearing_done_fn done,
                                void *userdata);
/* True: it is over, without a word, as nothing is being removed yet. */
bool clearing_stop(struct clearing *clearing);
/* Only when the disk is gone, or before anything is removed; done is not called. NULL is fine. */
void clearing_abandon(struct clearing *clearing);
