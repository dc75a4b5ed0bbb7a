/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a target holds of a job, put together from the lines that `s3 list --read PATTERN` prints of
 * it. Pure. In a target a snapshot is two objects:
 *
 *	<prefix><cluster id>/<file>      the snapshot
 *	<prefix><cluster id>/<id>.json   its entry, which comes after it and goes before it
 *
 * So where there is an entry there is a whole snapshot; all the same nothing counts here unless
 * both are there, under the keys that the entry makes, and of the size that it says. A snapshot
 * without an entry is a stray: half of a copy that is being made, or what is left of one.
 */

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "etcdwatch/catalog/catalog.h"
#include "etcdwatch/catalog/listing.h"
#include "etcdwatch/config/config.h"

/* Of a job, whether they can be read or not: more are no snapshots of one cluster. */
#define INVENTORY_ENTRIES_MAX 10000

struct inventory;

/* The prefix of all keys of a cluster's snapshots, or of a snapshot or its entry; the caller frees
 * them. */
char *inventory_folder(const struct config_target *target, uint64_t cluster_id);
char *inventory_file_key(const struct config_target *target, const struct catalog_entry *entry);
char *inventory_entry_key(const struct config_target *target, const struct catalog_entry *entry);

/* target is borrowed, the job's name copied. */
struct inventory *inventory_new(const struct config_target *target, const char *job);
void inventory_free(struct inventory *inventory);
DEFINE_AUTO(struct inventory, inventory_free);

/* A line, in any order; what is no object of the job is passed over. */
void inventory_add(struct inventory *inventory, const json_t *line);
/* After the last line. */
void inventory_finish(struct inventory *inventory);
/* NULL, or why what was added is not all: nothing may be decided by it. */
const char *inventory_overfull(const struct inventory *inventory);

/* Whole snapshots, the oldest first. */
size_t inventory_n(const struct inventory *inventory);
const struct catalog_entry *const *inventory_entries(const struct inventory *inventory);
/* Those that a program may choose by the target's trust (catalog.h): the only ones that
 * anything is decided by. */
const struct catalog_entry *const *inventory_trusted(const struct inventory *inventory,
                                                     size_t *ret_n);
const bool *inventory_untrusted(const struct inventory *inventory); /* one for each entry */
const struct catalog_entry *inventory_find(const struct inventory *inventory, const char *id);

/* Keys of snapshots that no entry stands for. */
const struct names *inventory_strays(const struct inventory *inventory);
/* Sentences on entries that do not count. */
const struct names *inventory_odd(const struct inventory *inventory);

/* --- copies --- */

/*
 * Which snapshot goes to a target next, and as what. Pure.
 *
 *  - Only good snapshots are copied, the newest first.
 *  - One whose copy is recorded is not copied again: retention may have removed it there. But the
 *    newest of its line is, if the target has nothing of that line that is as new: somebody has
 *    emptied the bucket, or the configuration names another one.
 *  - The entry that goes to a target must say in which timeline the cluster was by what that target
 *    knows, as a node that took none while it was restored cannot tell by its own directory.
 */

/* `there`: what the target has; NULL: not known. */
struct copies_question {
	const struct catalog_entry *const *entries; /* on this node */
	size_t n;
	const char *target;
	const struct names *skipped; /* ids */
	const struct inventory *there;
	uint64_t there_of; /* the cluster that `there` is about */
};

/* NULL: none. */
const struct catalog_entry *copies_next(const struct copies_question *question);
size_t copies_count_lacking(const struct copies_question *question);

/* At least that of the entry itself. Entries of `there` that were begun later do not matter. */
int64_t copies_timeline(const struct inventory *there, const struct catalog_entry *entry);
