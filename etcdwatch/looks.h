/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A look at every target of some jobs, all at once. A target that does not answer in time is told,
 * and does not hold up the others' answers for longer.
 */

#include <ev.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "etcdwatch/job/job.h"
#include "etcdwatch/target/inventory.h"
#include "etcdwatch/target/target.h"

struct looks;

struct looks_item {
	struct job *job;
	struct target *target;
	struct inventory *there; /* NULL: it could not be looked at, and `reason` says why */
	char *reason;
};

/* The handle is gone when this returns, and the items with it. */
typedef void (*looks_done_fn)(const struct looks_item *items, size_t n, void *userdata);

/* NULL: none of the jobs has a target; done is not called then. The jobs are borrowed until the
 * end, the array is copied. */
struct looks *looks_start(struct job *const *jobs, size_t n_jobs, looks_done_fn done,
                          void *userdata);
void looks_free(struct looks *looks); /* done is not called; NULL is fine */
