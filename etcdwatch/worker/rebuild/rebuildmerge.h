/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A database and what was recorded behind it become a new database: each bucket is copied, behind
 * the last revision in "key" come the recorded ones, byte for byte as etcd would have written them,
 * and "lease" has the leases of that moment (leaseset.h). Users, roles, alarms and members are
 * those of the base: no watch tells of them.
 *
 * What was recorded of revisions that the base has as well must be the same in both: it shows that
 * they belong together.
 */

#include <stdint.h>

#include "bolt/bolt.h"
#include "etcdwatch/worker/rebuild/chains.h"
#include "etcdwatch/worker/common/problem.h"

/* What a member answered to HashKV, to hold against the result. */
struct rebuildmerge_hash {
	int64_t revision;
	int64_t compact_revision;
	uint32_t hash;
	uint64_t member_id;
};

/* The newest ones are kept. */
#define REBUILDMERGE_HASHES_MAX 2

struct rebuildmerge_request {
	struct bolt *base; /* borrowed, as all here */
	const struct bolt_fault *fault;
	const char *base_name;    /* for sentences */
	struct chainread *record; /* NULL: nothing is added */
	int64_t base_revision;    /* that etcd would start with on the base */
	int64_t base_compacted;   /* -1: never */
	int64_t revision;         /* up to which, base_revision or more */
	int fd;                   /* of the new file */
};

struct rebuildmerge_result {
	uint64_t n_bytes;                              /* of the database */
	uint64_t n_revisions, n_events, n_event_bytes; /* that were added */
	uint64_t n_same;                               /* recorded changes that the base has as well */
	int64_t wall_us; /* when the last revision that was added was seen; 0: none was */
	size_t n_leases;
	size_t n_unknown_leases;                                  /* whose keys are there, and stay */
	struct rebuildmerge_hash hashes[REBUILDMERGE_HASHES_MAX]; /* the newest is the first */
	size_t n_hashes;
};

/* Codes: FOREIGN, base and record do not belong together; DAMAGED; TREE, the base; and those of
 * writing. */
int rebuildmerge_run(const struct rebuildmerge_request *request, struct problem *problem,
                     struct rebuildmerge_result *ret_result);
