/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What etcd keeps in the bucket "key": one entry for each change of a user's key. The bolt key is
 * the revision: main (8 bytes, big-endian), '_', sub (8 bytes, big-endian), and 't' if the change
 * deleted the user's key. The value is a mvccpb.KeyValue, of which a deletion has the key only.
 *
 * `etcdutl snapshot restore --bump-revision` adds one entry with an empty value, whose user key is
 * therefore empty too; no client can write or read that key.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bolt/bolt.h"
#include "bolt/bytes.h"
#include "bolt/cursor.h"

#define MVCC_BUCKET "key"
#define MVCC_REV_BYTES 17
#define MVCC_REV_BYTES_MAX 18 /* with the mark of a deletion */

struct mvcc_rev {
	int64_t main;
	int64_t sub;
};

/* mvccpb.KeyValue; what it points to is borrowed from the bytes that it was read from. */
struct mvcc_kv {
	struct bytes key;
	int64_t create_revision;
	int64_t mod_revision;
	int64_t version;
	struct bytes value;
	int64_t lease; /* 0: none */
};

struct mvcc_entry {
	struct mvcc_rev rev;
	bool is_tombstone;
	struct mvcc_kv kv;
	const struct cursor_entry *raw; /* borrowed, see mvcc_read() */
};

/* NULL, or why these bytes are no revision. Pure. */
const char *mvcc_parse_rev(struct bytes key, struct mvcc_rev *ret_rev, bool *ret_is_tombstone);

/* NULL, or why these bytes are no KeyValue. Fields of other numbers are passed over. Pure. */
const char *mvcc_parse_kv(struct bytes value, struct mvcc_kv *ret_kv);

/* Reads an entry of the bucket, and checks that key and value say the same. What is read is good as
 * long as `raw` is, and borrows it. */
int mvcc_read(struct bolt *db, const struct cursor_entry *raw, struct mvcc_entry *ret_entry);

/* Writes a KeyValue as etcd does, byte for byte: its length. `buf` has room for key, value and
 * MVCC_KV_MORE_MAX bytes. */
#define MVCC_KV_MORE_MAX 96
size_t mvcc_format_kv(const struct mvcc_kv *kv, uint8_t *buf);

/* Writes the bolt key of a revision (without the mark), which sorts before all that follow it. */
struct bytes mvcc_format_rev(struct mvcc_rev rev, uint8_t buf[static MVCC_REV_BYTES]);

/* --- how far the file reaches --- */

struct mvcc_reach {
	int64_t last;      /* main revision of the last entry; 0: there is none */
	int64_t finished;  /* the last compaction that was carried out; -1: none */
	int64_t scheduled; /* the last one that was asked for; -1: none */
	/* What etcd, started on this file, calls its revision: a compaction may have removed the last
	 * entries, and an empty store begins with 1. */
	int64_t current;
	int64_t compacted; /* and what it calls compacted: nothing before can be read; -1: all can */
};

/* Looks at few pages. A file without the buckets of etcd is a fault. */
int mvcc_read_reach(struct bolt *db, struct mvcc_reach *ret_reach);

/*
 * 0 becomes the current revision; -ERANGE and a fault if the revision lies in the future or before
 * what was compacted.
 */
int mvcc_choose_revision(struct bolt *db, const struct mvcc_reach *reach, int64_t revision,
                         int64_t *ret_revision);

/*
 * The users' keys that are alive at one revision, in their order: what a Range at that revision
 * would have answered, without the values, which are read again when they are asked for. It takes
 * one pass over the bucket, and about 100 bytes of memory for each key that matches, and the key.
 */

struct view_key {
	struct bytes key; /* the view's */
	struct mvcc_rev rev;
	int64_t create_revision;
	int64_t version;
	int64_t lease;
	size_t value_len;
	uint32_t value_crc; /* CRC-32C, to compare */
};

/* Which keys. */
struct view_match {
	struct bytes key;
	bool is_prefix; /* all that begin so; else this one */
};

struct view;

/* `revision` as for mvcc_choose_revision(), -ERANGE too. The database is borrowed until
 * view_free().
 */
int view_new(struct bolt *db, int64_t revision, const struct view_match *match,
             struct view **ret_view);
void view_free(struct view *view);
DEFINE_AUTO(struct view, view_free);

int64_t view_revision(const struct view *view);
size_t view_count(const struct view *view);
const struct view_key *view_at(const struct view *view, size_t i);

/* The whole of key i, valid until the next call. */
int view_read(struct view *view, size_t i, struct mvcc_kv *ret_kv);
