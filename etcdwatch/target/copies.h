/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

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

#include "etcdwatch/target/inventory.h"

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
