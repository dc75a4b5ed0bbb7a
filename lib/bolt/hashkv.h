/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * etcd's HashKV, computed from a file: equal to what a member answers (`etcdctl endpoint hashkv`)
 * for the same revision while it has the same compact revision. It covers the users' keys only, so
 * it is the same on all members; a snapshot whose HashKV another member confirms holds what the
 * cluster agreed on.
 *
 * The definition, read off etcd 3.4 to 3.6 and measured against 3.4.23, 3.5.16 and 3.5.30. With R
 * the revision asked for and C the last compaction, also one that is still under way: CRC-32C over
 * "key" and then over key and value of each entry of that bucket whose revision is at most R,
 * except (a) those up to C that are not the newest of their user's key up to R, or are a deletion;
 * but only if any user's key is alive at R; (b) a deletion at C itself. Server and file need not
 * agree how far a compaction has got: what it is about to remove does not count.
 *
 * To know for (a) which entries are the newest, the keys that changed after the last compaction
 * that was finished are read first, and remembered (keyset.h). They have room for HASHKV_KEYS_MAX
 * keys, in 12 MiB at the most; with more of them the file is read once more for each further such
 * part, and a bit is kept for each entry up to C.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bolt/bolt.h"
#include "bolt/mvcc.h"

#define HASHKV_KEYS_MAX ((size_t) 3 << 17)

struct hashkv_result {
	uint32_t hash;
	int64_t revision;
	int64_t compact_revision; /* -1: none. Hashes of different ones say nothing about each other */
	uint64_t n_live;          /* the users' keys that are alive at this revision */
};

/* `revision` as for mvcc_choose_revision(). Reads the whole bucket. The hash as it would be if a compaction at `compacted` had been asked for since: to compare with
 * a member that has gone on. -ERANGE and a fault if the file is ahead of that already. Only where
 * some key is alive at the revision: else what the member has removed by now would count. */
int hashkv_compute_compacted(struct bolt *db, int64_t revision, int64_t compacted,
                             struct hashkv_result *ret_result);

/* The same as it was before something raised the revision and marked all before it as compacted, as
 * a restore does: `reach` is that of the file from before. */
int hashkv_compute_before(struct bolt *db, const struct mvcc_reach *reach, int64_t revision,
                          struct hashkv_result *ret_result);

/* --- the same, for one who reads the entries anyway --- */

struct hashkv;

/* Reads what was said above. `reach` is copied, the revision one that mvcc_choose_revision() gave;
 * max_keys is HASHKV_KEYS_MAX except in tests. */
int hashkv_new(struct bolt *db, const struct mvcc_reach *reach, int64_t revision, size_t max_keys,
               struct hashkv **ret_hashkv);
void hashkv_free(struct hashkv *h);
DEFINE_AUTO(struct hashkv, hashkv_free);

/* To be given every entry of the bucket, in order and as a cursor returns them: it is hashed before
 * the cursor goes on from its page. It may end with the first one beyond the revision. */
void hashkv_add(struct hashkv *h, const struct mvcc_entry *entry);

void hashkv_finish(const struct hashkv *h, struct hashkv_result *ret_result);
