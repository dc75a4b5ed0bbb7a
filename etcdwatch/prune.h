/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which of a job's snapshots go now: what retain.c says of the catalogue. Pure, but for a line in
 * the log for each that goes.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "etcdwatch/config.h"
#include "etcdwatch/retain.h"
#include "etcdwatch/store.h"

struct prune_plan {
	const char **ids; /* borrowed from the store's entries; the array is the caller's to free */
	size_t n_ids;
	char frozen[RETAIN_TEXT_MAX]; /* why something stays that would go, or "" */
};

/* `corrupt`: the alarm stands, or nobody could be asked. */
void prune_plan(const struct store *store, const struct config_job *job, bool corrupt,
                struct prune_plan *ret_plan);
