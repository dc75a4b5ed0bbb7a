/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One snapshot goes to one target: the snapshot first, and then its entry, each read back by the
 * worker and found the same (etcdwatch/worker/store/s3put.h). Then it is recorded in the entry
 * here.
 */

#include <ev.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "etcdwatch/config/config.h"
#include "etcdwatch/store/store.h"
#include "etcdwatch/target/inventory.h"
#include "etcdwatch/target/unfinished.h"

struct copy;

enum copy_end {
	COPY_MADE,
	COPY_NOT_READ, /* the snapshot here is not to be had: says nothing of the target */
	COPY_DAMAGED,  /* the same, because it is not any more what was proven */
	COPY_FAILED,
};

struct copy_options {
	struct ev_loop *ev;
	struct store *store;
	struct unfinished *unfinished;
	const struct config_job *job;
	const struct config_target *target; /* all of these are borrowed until the end */
	const char *worker;
	const struct catalog_entry *entry; /* copied */
	const struct inventory *there;     /* looked at; NULL: not known */
};

/* The handle is gone when this returns. */
typedef void (*copy_done_fn)(enum copy_end end, const char *id, const char *reason, void *userdata);

struct copy *copy_start(const struct copy_options *options, copy_done_fn done, void *userdata);
/* Only when the disk is gone already: done is not called. NULL is fine. */
void copy_abandon(struct copy *copy);

const char *copy_id(const struct copy *copy);
const char *copy_state_name(const struct copy *copy);
struct target_sent {
	uint64_t bytes, of_bytes; /* 0 of 0: nothing is being sent */
	uint64_t bytes_per_s;     /* since the worker said so first; 0: not known yet */
};

/* How much of the snapshot has been sent, as far as the worker has said; 0 of 0 when it is not
 * being sent. */
struct target_sent copy_sent(const struct copy *copy);
