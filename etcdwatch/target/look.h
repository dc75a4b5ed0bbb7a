/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One look at what a target holds of a job: the worker lists it, inventory.c makes sense of it.
 */

#include <ev.h>
#include <stdint.h>

#include "etcdwatch/config/config.h"
#include "etcdwatch/target/inventory.h"

struct look;

struct look_options {
	struct ev_loop *ev;
	const char *worker;
	const struct config_target *target; /* borrowed until the end, like the rest */
	const char *job;
	uint64_t cluster_id; /* 0: of all clusters */
	int64_t limit_us;
};

/* The handle is gone when this returns. inventory: taken by the callee; NULL: there is none, and
 * `reason` says why, and `code` what the worker calls it, or "". */
typedef void (*look_done_fn)(struct inventory *inventory, const char *code, const char *reason,
                             void *userdata);

/* 0 or -errno: the worker cannot be started. */
int look_start(const struct look_options *options, look_done_fn done, void *userdata,
               struct look **ret_look);
void look_free(struct look *look); /* done is not called; NULL is fine */
DEFINE_AUTO(struct look, look_free);
