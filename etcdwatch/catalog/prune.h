/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which snapshots go now, of a directory or of a target: what retain.c says of the catalogue there.
 * Pure.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "etcdwatch/catalog/retain.h"

struct prune_question {
	const struct catalog_entry *const *entries;
	size_t n;
	const struct retain_rules *rules;
	const struct zone *zone;
	bool corrupt; /* the alarm stands, or nobody could be asked */
	const struct retain_accepted *accepted;
	size_t n_accepted;
	const char *only_node; /* only what this node has taken goes; NULL: of any node */
};

struct prune_plan {
	struct retain_item *items; /* one for each entry, in their order; entries are borrowed */
	size_t n;
	size_t n_going;
	char frozen[RETAIN_TEXT_MAX]; /* why something stays that would go, or "" */
	char shrunk[RETAIN_TEXT_MAX]; /* the same, if nothing were in doubt */
	bool shrank;                  /* that is why, and this would be the word that thaws it: */
	struct retain_accepted word;
};

void prune_plan(const struct prune_question *question, struct prune_plan *ret_plan);
void prune_plan_fini(struct prune_plan *plan);
