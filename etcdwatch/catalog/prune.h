/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which snapshots go now, of a directory or of a target: what retain.c says of the catalogue there.
 * Pure.
 *
 * What would go from a directory stays while a target has no copy of it: the newest
 * PRUNE_WAITING_MAX of these, and fewer where the disk needs the room.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "etcdwatch/catalog/retain.h"

#define PRUNE_WAITING_MAX 100

struct prune_question {
	const struct catalog_entry *const *entries;
	size_t n;
	const bool *untrusted; /* one for each entry: it neither counts nor goes; NULL: none is */
	const struct retain_rules *rules;
	const struct zone *zone;
	bool corrupt; /* the alarm stands, or nobody could be asked */
	const struct retain_accepted *accepted;
	size_t n_accepted;
	const char *only_node; /* only what this node has taken goes; NULL: of any node */
	/* That are to have a copy of what goes, and how many bytes have to go before the disk has room:
	 * what waits for a target goes for that, the oldest first, and with `one_more` at least one. */
	const char *const *targets;
	size_t n_targets;
	int64_t lacking_bytes;
	bool one_more;
};

struct prune_plan {
	struct retain_item *items; /* one for each entry, in their order; entries are borrowed */
	size_t n;
	size_t n_going;
	size_t n_waiting;             /* stay only because a target has no copy */
	size_t n_unsent;              /* go though a target has no copy */
	char frozen[RETAIN_TEXT_MAX]; /* why something stays that would go, or "" */
	char shrunk[RETAIN_TEXT_MAX]; /* the same, if nothing were in doubt */
	bool shrank;                  /* that is why, and this would be the word that thaws it: */
	struct retain_accepted word;
};

void prune_plan(const struct prune_question *question, struct prune_plan *ret_plan);
/* The first of the targets that has no copy of it; NULL: all have. */
const char *prune_find_lacking(const struct prune_question *question,
                               const struct catalog_entry *entry);
void prune_plan_fini(struct prune_plan *plan);
