/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The directory of a job's snapshots, and what the catalogue says of it. All reading and writing is
 * done by the job's disk thread, one call after the other in the order in which they come; what was
 * found last is kept here, for the loop to look at. Each call is over when `done` has been called.
 *
 * A snapshot and its entry come and go such that an entry always stands for a whole file (leftover.h).
 * What a crash leaves in between is made good by the next scan. A file that nobody knows is told,
 * not counted, and never removed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "etcdwatch/catalog/catalog.h"
#include "etcdwatch/work/disk.h"
#include "web/signature.h"

#define STORE_REJECTED_MAX 3
#define STORE_REASON_MAX 512

struct store;

/* What is kept is signed by the key (catalog.h), which is borrowed; NULL: by none. */
struct store *store_new(struct disk *disk, const char *directory, const char *job,
                        const struct signature_key *key);
/* When the disk is gone. */
void store_free(struct store *store);
DEFINE_AUTO(struct store, store_free);

/* r 0, or -errno with a sentence. */
typedef void (*store_done_fn)(int r, const char *reason, void *userdata);

/* Removes what was left half taken, catalogues what a crash has kept from it (store_adopted()), and
 * reads the catalogue: so do the other calls, but they do not fail for that alone. */
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
/* That the snapshot has been copied; -ENOENT when it is gone. All is copied. */
void store_record_copy(struct store *store, const char *id, const struct catalog_copy *copy,
                       store_done_fn done, void *userdata);

/* That the cluster was in a later timeline than its entry says, which is signed again. An entry
 * that another node has signed stays as it is. */
void store_set_timeline(struct store *store, const char *id, int64_t timeline, store_done_fn done,
                        void *userdata);
/* What was good when it was taken and is no more goes into rejected/, with the reason. */
void store_set_aside(struct store *store, const char *id, const char *reason, store_done_fn done,
                     void *userdata);

/* False until the catalogue has been read once. */
bool store_is_read(const struct store *store);
/* The job's entries whose file is there, the oldest first; as of the last call that could read the
 * catalogue. */
size_t store_n(const struct store *store);
const struct catalog_entry *store_get(const struct store *store, size_t i);
const struct catalog_entry *store_find(const struct store *store, const char *id); /* or NULL */
const struct catalog_entry *const *store_entries(const struct store *store);
/* Entries that cannot be read or have no file, and files without an entry; borrowed. */
size_t store_n_odd(const struct store *store);
const char *store_odd(const struct store *store, size_t i);
/* Ids that the last scan has catalogued. */
size_t store_n_adopted(const struct store *store);
const char *store_adopted(const struct store *store, size_t i);
size_t store_n_rejected(const struct store *store);
/* That anybody may still write where the directory is, as of the last call; -1: not known. */
int64_t store_free_bytes(const struct store *store);
