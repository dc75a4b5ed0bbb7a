/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Clears away what this node has begun in a target and will never end, because the snapshot has
 * gone from here meanwhile, or was being removed there when the process ended: objects without an
 * entry and uploads in parts. Only what is in `unfinished` is touched, each with a line in the log.
 */

#include <ev.h>

#include "base/cleanup.h"
#include "etcdwatch/config/config.h"
#include "etcdwatch/store/store.h"
#include "etcdwatch/target/inventory.h"
#include "etcdwatch/target/unfinished.h"

struct tidy;

struct tidy_options {
	struct ev_loop *ev;
	const struct store *store;
	struct unfinished *unfinished;
	const struct config_job *job;
	const struct config_target *target;
	const char *worker;
	const struct inventory *there; /* all borrowed until the end */
	uint64_t cluster_id;           /* whose folder was looked at */
};

/* The handle is gone when this returns; r is 0 or -errno with a sentence. */
typedef void (*tidy_done_fn)(int r, const char *reason, void *userdata);

/* 0, and *ret_tidy is NULL when there is nothing to do: done is not called then. Or -errno: the
 * worker cannot be started. */
int tidy_start(const struct tidy_options *options, tidy_done_fn done, void *userdata,
               struct tidy **ret_tidy);
void tidy_free(struct tidy *tidy); /* done is not called; NULL is fine */
DEFINE_AUTO(struct tidy, tidy_free);
