/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which snapshots go: a pure function of what the catalogue says, for a directory and for a target
 * in S3 alike. There is no clock in it: what it keeps and what goes depends on the snapshots alone,
 * so that a wrong clock, or a node that slept for a month, deletes nothing.
 *
 *  - Only good snapshots count and only they go (catalog_is_good). What is not good is left alone.
 *  - Each line (job, cluster, timeline) is for itself: what a cluster wrote after it was restored
 *    does not push out what was before.
 *  - In each line stay: the newest, always; the last N; and the newest of each of the last N hours,
 *    days, weeks and months in which there are any, by the calendar of a time zone. Weeks begin on
 *    Monday. Newer means a higher revision.
 *  - Nothing goes while etcd's alarm CORRUPT stands, and nothing of a line in which the data
 *    suddenly shrank: a snapshot with at least 30 % fewer keys than the one before it. Those from
 *    before may be what somebody will want back, so it takes a word from the operator; more
 *    snapshots of what is left do not thaw it. Keys are counted and not bytes, because a database
 *    keeps its size when everything in it is deleted, and loses half of it in a defragmentation
 *    that deletes nothing.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "etcdwatch/catalog/catalog.h"
#include "etcdwatch/schedule/zone.h"

#define RETAIN_SHRINK_PERCENT 30
#define RETAIN_TEXT_MAX 640

/* How many of each; 0: none. */
struct retain_rules {
	unsigned last, hourly, daily, weekly, monthly;
};

/* The operator's word: in this line the data may be as small as it is from this revision on. */
struct retain_accepted {
	uint64_t cluster_id;
	int64_t timeline;
	int64_t revision;
};

struct retain_facts {
	bool corrupt; /* the alarm stands, or nobody could be asked */
	const struct retain_accepted *accepted;
	size_t n_accepted;
};

enum {
	RETAIN_LAST = 1 << 0,
	RETAIN_HOURLY = 1 << 1,
	RETAIN_DAILY = 1 << 2,
	RETAIN_WEEKLY = 1 << 3,
	RETAIN_MONTHLY = 1 << 4,
	RETAIN_NEWEST = 1 << 5, /* of its line */
	RETAIN_PINNED = 1 << 6,
	RETAIN_NOT_GOOD = 1 << 7,
	RETAIN_FROZEN = 1 << 8,
	RETAIN_WAITING = 1 << 9, /* set by prune_plan() */
};

struct retain_item {
	const struct catalog_entry *entry; /* borrowed */
	bool untrusted;                    /* it counts as one that is not good */
	bool pinned;                       /* in use just now: it counts, and does not go */
	unsigned kept;                     /* set by retain_decide(): for all of what; 0: it goes */
};

struct retain_result {
	size_t n_going;
	bool corrupt;
	/* Of all that shrank the latest: after has far fewer keys than before. NULL: none did. */
	const struct catalog_entry *before, *after;
};

void retain_decide(const struct retain_rules *rules, const struct zone *zone,
                   const struct retain_facts *facts, struct retain_item *items, size_t n,
                   struct retain_result *ret_result);

/* "last daily newest" */
const char *retain_describe(unsigned kept, char buf[static RETAIN_TEXT_MAX]);
/* What freezes everything while the members' data are in doubt. */
#define RETAIN_CORRUPT_TEXT                                                                      \
	"nothing is deleted while the alarm CORRUPT stands or cannot be asked for, or members hold " \
	"different data"
/* A sentence on what is frozen and why, or "". */
const char *retain_explain(const struct retain_result *result, char buf[static RETAIN_TEXT_MAX]);

/* --- prune --- */

/*
 * Which snapshots go now, of a directory or of a target: what retain.c says of the catalogue there.
 * Pure.
 *
 * What would go from a directory stays while a target has no copy of it: the newest
 * PRUNE_WAITING_MAX of these, and fewer where the disk needs the room.
 */

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
