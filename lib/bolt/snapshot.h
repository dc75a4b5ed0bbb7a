/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A snapshot of etcd as its Snapshot RPC sends it and `etcdctl snapshot save` writes it: a bbolt
 * database, followed by the SHA-256 of all of it. The length tells whether the digest is there: a
 * database has whole pages, so only with the digest does its length leave 32 over 512. A database
 * from a data directory has none, and may be longer than what is in use.
 *
 * A snapshot is worth something when three things hold:
 *   - the digest: these are the bytes that the member sent;
 *   - the tree: etcd can read them (walk.h), every key is a revision and every value belongs to it
 *     (mvcc.h), and both meta pages are good;
 *   - HashKV: they are what the cluster agreed on. That takes another member's word; here it is
 *     computed.
 * `etcdutl snapshot status` looks at the tree alone.
 *
 * Blocking: for the CLI and for worker threads. Memory: a few MiB, however large the file; more
 * only as hashkv.h and page.h say.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bolt/bolt.h"
#include "bolt/hashkv.h"
#include "bolt/mvcc.h"
#include "bolt/usage.h"
#include "bolt/walk.h"

#define SNAPSHOT_DIGEST_BYTES 32

struct snapshot;

/* Opens a regular file; `fault` is borrowed until snapshot_close(), and filled whenever a call here
 * fails. */
int snapshot_open(const char *path, struct bolt_fault *fault, struct snapshot **ret_snapshot);
void snapshot_close(struct snapshot *s);
DEFINE_AUTO(struct snapshot, snapshot_close);

/* For reading from it; closed with the snapshot. */
struct bolt *snapshot_db(struct snapshot *s);

/* Whether the file ends with a digest. */
bool snapshot_has_digest(const struct snapshot *s);

/* Reads the whole file: 0 if the digest fits, -EBADMSG if not, -ENODATA if there is none. */
int snapshot_check_digest(struct snapshot *s);

/*
 * The digest of a file while it is being written, so that little is left to read when it is whole.
 * `fault` is borrowed. snapshot_sum_add() reads what has come since, up to n_bytes;
 * snapshot_sum_check() reads the rest of a file of n_bytes, and returns as snapshot_check_digest().
 */
struct snapshot_sum;
struct snapshot_sum *snapshot_sum_new(struct bolt_fault *fault);
void snapshot_sum_free(struct snapshot_sum *sum);
DEFINE_AUTO(struct snapshot_sum, snapshot_sum_free);
int snapshot_sum_add(struct snapshot_sum *sum, int fd, uint64_t n_bytes);
int snapshot_sum_check(struct snapshot_sum *sum, int fd, uint64_t n_bytes);

/* Writes the digest of the database in the first n_bytes of `fd`, which are whole pages, behind
 * them: so that a file which bulk.h made is a snapshot. 0 or -errno. */
int snapshot_append_digest(int fd, uint64_t n_bytes);

struct snapshot_content {
	/* What `etcdctl snapshot status` of 3.4 and `etcdutl snapshot status` of 3.5 and later print.
	 * The hash covers the members too, so it differs between members. */
	uint32_t hash;
	int64_t revision;
	uint64_t n_entries; /* "total keys" up to 3.5: in all buckets */
	uint64_t n_bytes;   /* "total size": of the database without the digest */

	struct mvcc_reach reach;
	/* At the revision asked for. At the current one, its n_live is "total keys" from 3.6 on. */
	struct hashkv_result hashkv;
	struct walk_result pages;
};

/* The next check of the content also adds to `usage` each change of a key, with the bytes of key
 * and value. Borrowed; NULL: no more. */
void snapshot_count_usage(struct snapshot *s, struct usagetop *usage);

/*
 * Checks the tree and everything in it, in one pass, and computes HashKV at a revision (0: the
 * current one; see mvcc_choose_revision()), or does not, which saves up to half of the time. 0 or
 * -EBADMSG; -ERANGE; or an error of reading.
 */
#define SNAPSHOT_NO_HASHKV (-1)
int snapshot_check_content(struct snapshot *s, int64_t revision,
                           struct snapshot_content *ret_content);

/* The same for a database that was restored from a file of the reach `before`: HashKV is that of
 * hashkv_compute_before(), at the revision that the file had. */
int snapshot_check_restored(struct snapshot *s, const struct mvcc_reach *before,
                            struct snapshot_content *ret_content);
