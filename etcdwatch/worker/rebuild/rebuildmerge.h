/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A database and what was recorded behind it become a new database: each bucket is copied, behind
 * the last revision in "key" come the recorded ones, byte for byte as etcd would have written them,
 * and "lease" has the leases of that moment (rebuildmerge.h). Users, roles, alarms and members are
 * those of the base: no watch tells of them.
 *
 * What was recorded of revisions that the base has as well must be the same in both: it shows that
 * they belong together.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bolt/bolt.h"
#include "bolt/bulk.h"
#include "bolt/mvcc.h"
#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/rebuild/chains.h"

/*
 * The leases that a rebuilt database has. The changes of keys say which key hangs on which lease,
 * in the order of revisions; that a lease was granted or is gone is told beside them, with no
 * revision, and may come somewhat late. So the keys decide: a lease on which keys hang is there,
 * whoever says that it is gone, or its keys would stay for ever; one without keys is there if it
 * was granted and nobody has said more.
 *
 * Memory: 100 bytes a lease, and 16 to 32 for each key that has ever hung on one. Beyond
 * LEASESET_KEYS_MAX of such keys they are no longer counted, and no lease is taken for gone: one
 * too many ends by itself, by its TTL.
 */

#define LEASESET_KEYS_MAX ((size_t) 3 << 20)

struct leaseset;

struct leaseset *leaseset_new(size_t max_keys);
void leaseset_free(struct leaseset *set);
DEFINE_AUTO(struct leaseset, leaseset_free);

/* The next change of a key. */
void leaseset_see_key(struct leaseset *set, struct bytes key, bool is_tombstone, int64_t lease);

/* What is told beside them; ttl_s 0: it is gone. */
void leaseset_see_lease(struct leaseset *set, int64_t id, int64_t ttl_s);

/* On how many leases keys hang of which nothing else is known. */
size_t leaseset_count_unknown(const struct leaseset *set);

/* Only these may still be told: of which nothing was known. */
void leaseset_see_late(struct leaseset *set, int64_t id, int64_t ttl_s);

/* Adds them, in order, to the bucket that has begun. */
int leaseset_write(struct leaseset *set, struct bulk *bulk, size_t *ret_n);

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
