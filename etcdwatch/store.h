/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The directory of a job's snapshots, and what the catalogue says of it. All reading and writing is
 * done by the job's disk thread; what was found last is kept here, for the loop to look at. One
 * thing at a time: each call is over when `done` has been called.
 *
 * Order of writing: a snapshot gets its name first and then its entry, so an entry always stands
 * for a whole file; it loses its file first and then its entry. What a crash leaves in between is a
 * file without an entry, which is never removed, or an entry without a file, which is not counted.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "etcdwatch/catalog.h"
#include "etcdwatch/disk.h"

#define STORE_REJECTED_DIRECTORY "rejected"
#define STORE_REJECTED_MAX 3
#define STORE_REASON_MAX 512

struct store;

struct store *store_new(struct disk *disk, const char *directory, const char *job);
/* When the disk is gone. */
void store_free(struct store *store);
DEFINE_AUTO(struct store, store_free);

/* r 0, or -errno with a sentence. */
typedef void (*store_done_fn)(int r, const char *reason, void *userdata);

/* Removes what was left half taken, and reads the catalogue. */
void store_scan(struct store *store, store_done_fn done, void *userdata);

/* Gives the file at `path` the name that the entry says, and writes the entry, which is taken. If
 * that fails the file is gone, or has neither name nor entry. */
void store_keep(struct store *store, const char *path, struct catalog_entry *entry,
                store_done_fn done, void *userdata);
/* Puts it into rejected/; the entry, which is taken, says why. Of those only the newest stay. */
void store_reject(struct store *store, const char *path, struct catalog_entry *entry,
                  store_done_fn done, void *userdata);
/* Removes snapshots by their ids, which are copied. */
void store_remove(struct store *store, const char *const *ids, size_t n_ids, store_done_fn done,
                  void *userdata);

/* The job's entries whose file is there, the oldest first; as of the last call that was done. */
size_t store_n(const struct store *store);
const struct catalog_entry *store_get(const struct store *store, size_t i);
const struct catalog_entry *const *store_entries(const struct store *store);
/* Entries that cannot be read or have no file, and files without an entry; borrowed. */
size_t store_n_odd(const struct store *store);
const char *store_odd(const struct store *store, size_t i);
size_t store_n_rejected(const struct store *store);
