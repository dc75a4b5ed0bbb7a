/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Removes snapshots from a target, of each first the entry and then the snapshot itself; before, it
 * is written down (unfinished.h) what is to go.
 */

#include <ev.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "etcdwatch/config/config.h"
#include "etcdwatch/target/unfinished.h"

struct removal;

struct removal_options {
	struct ev_loop *ev;
	struct unfinished *unfinished;
	const struct config_target *target;
	const char *worker;                         /* borrowed until the end, like the others */
	const struct catalog_entry *const *entries; /* what of them is needed is copied */
	size_t n;
};

/* The handle is gone when this returns. r 0, or -errno with a sentence. */
typedef void (*removal_done_fn)(int r, const char *reason, size_t n_removed, void *userdata);

struct removal *removal_start(const struct removal_options *options, removal_done_fn done,
                              void *userdata);
/* done is not called; NULL is fine. Only when the disk is gone already. */
void removal_abandon(struct removal *removal);
