/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the record knows of etcd's history, to compare with etcd after an interruption: a digest of
 * each of the last revisions, and keys that were written earlier and not since. A rollback of etcd
 * changes at least one of them, unless both histories did the same for that long. Pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "etcdwatch/record/segment.h"

/* The last revisions: as many as fit into both limits, but at least one. A watch sends them again.
 */
#define RECORDHISTORY_REVISIONS_MAX 1024
#define RECORDHISTORY_BYTES_MAX ((size_t) 4 << 20)
/* Keys: the older they are, the further apart are their revisions. Larger ones are not kept. */
#define RECORDHISTORY_KEYS_MAX 128
#define RECORDHISTORY_KEY_BYTES_MAX ((size_t) 1 << 10)
#define RECORDHISTORY_VALUE_BYTES_MAX ((size_t) 64 << 10)

struct recordhistory;

/* The last write of a key, up to the last revision. */
struct recordhistory_key {
	uint8_t *name;
	size_t name_len;
	int64_t revision;
	uint32_t sum; /* record_event_sum() of this put alone */
};

/* What a member answered to HashKV. A revision of 0: none is recorded. */
struct recordhistory_hash {
	int64_t revision;
	int64_t compact_revision;
	uint32_t hash;
};

struct recordhistory *recordhistory_new(void);
void recordhistory_free(struct recordhistory *history);
DEFINE_AUTO(struct recordhistory, recordhistory_free);

/* The next revision. If it does not follow the last one, all before it is forgotten. */
void recordhistory_add(struct recordhistory *history, int64_t revision,
                       const struct record_event *events, size_t n_events);
void recordhistory_set_hash(struct recordhistory *history, const struct recordhistory_hash *hash);

/* The first revision that can be compared; 0: none. */
int64_t recordhistory_first(const struct recordhistory *history);
int64_t recordhistory_last(const struct recordhistory *history);
/* Whether that revision, first to last, has these changes. has_been_compacted: a compaction at this
 * revision may have removed its deletions. */
bool recordhistory_fits(const struct recordhistory *history, int64_t revision,
                        const struct record_event *events, size_t n_events,
                        bool has_been_compacted);

/* In the order of their revisions; borrowed until the next change. */
size_t recordhistory_keys(const struct recordhistory *history,
                          const struct recordhistory_key **ret_keys);
struct recordhistory_hash recordhistory_hash(const struct recordhistory *history);
