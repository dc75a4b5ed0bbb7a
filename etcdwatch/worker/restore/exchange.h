/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A data directory is made beside the one that it replaces, on the same disk, and put in its place
 * in one step when it is whole. The old one is renamed and never written to or deleted: at every
 * moment, also after a power cut, it is whole, either where it was or under its new name.
 *
 *   <unit>.restoring/snapshot.db    what is restored from, when it had to be unpacked
 *   <unit>.restoring/new/           what etcd's tool makes
 *   <unit>.before-restore-<UTC>     the old one, afterwards
 *
 * The first directory is removed at the end, and what a killed process left in it by the next one.
 */

#include "base/cleanup.h"
#include "etcdwatch/worker/source/datadir.h"
#include "etcdwatch/worker/common/result.h"

struct exchange;

/* Makes <unit>.restoring, or takes what is there, for this process alone: -EBUSY when another one
 * is at work. The directory is borrowed. */
int exchange_open(const struct datadir *dir, struct problem *problem, struct exchange **ret);

/* What is in it stays. */
void exchange_close(struct exchange *x);
DEFINE_AUTO(struct exchange, exchange_close);

/* Borrowed. Whether it is there is for the caller to know. */
const char *exchange_work_path(const struct exchange *x);
const char *exchange_snapshot_path(const struct exchange *x);
const char *exchange_new_path(const struct exchange *x);

/* Removes what is in it: all, or all but the snapshot. */
int exchange_clear(struct exchange *x, bool keep_snapshot, struct problem *problem);

/* Removes it, with all that is in it. */
int exchange_remove(struct exchange *x, struct problem *problem);

/* Gives what the tool made the old one's owner and mode, and syncs it. Its inode tells it from the
 * old one from here on. */
int exchange_seal(struct exchange *x, struct problem *problem, uint64_t *ret_inode);

/*
 * Puts what was sealed in place; what was there gets the name `aside`, which must be free. When
 * this fails, all is as it was. -EBUSY when etcd has meanwhile been started on the old one.
 */
int exchange_commit(struct exchange *x, const char *aside, struct problem *problem);

/* The same for a restore that another process began; `inode` is the new directory's. May be
 * repeated, also after a process that was killed. etcd must not run. */
int exchange_put(struct exchange *x, uint64_t inode, const char *aside, struct problem *problem);

/* The way back, likewise; `old` is the inode of the old directory, 0: there was none. Returns 0
 * only when that one is in place again, and -ENOENT before any move where it is not found. */
int exchange_back(struct exchange *x, uint64_t inode, uint64_t old, const char *aside,
                  struct problem *problem);
