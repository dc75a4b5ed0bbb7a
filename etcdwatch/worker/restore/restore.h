/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Carries a restore out: etcd's tool makes a data directory beside the old one, what it made is
 * read back and compared with the snapshot, and only then are the two exchanged (exchange.h). Until
 * that moment, and when anything fails, the old one is where it was.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bolt/dbinfo.h"
#include "bolt/newcluster.h"
#include "bolt/snapshot.h"
#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/restore/etcdtool.h"
#include "etcdwatch/worker/restore/exchange.h"
#include "etcdwatch/worker/source/datadir.h"

/*
 * Proves a snapshot while etcd's tool restores from it: digest, tree, keys and HashKV, read by a
 * thread of its own, since both only read the file. Nothing may be put in place before
 * restoreproof_wait() has returned 0.
 */

struct restoreproof;

/* The path is borrowed until restoreproof_free(). `may_lack_digest`: it may be a database from a
 * data directory. */
struct restoreproof *restoreproof_start(const char *path, bool may_lack_digest);

/* Waits for the end of the reading. The results are the proof's. Codes: DIGEST, TREE, READ. */
int restoreproof_wait(struct restoreproof *proof, struct problem *problem,
                      const struct snapshot_content **ret_content, const struct dbinfo **ret_info);

/* Waits as well. */
void restoreproof_free(struct restoreproof *proof);
DEFINE_AUTO(struct restoreproof, restoreproof_free);

/* All borrowed. */
struct restore_request {
	const struct datadir *dir;
	struct exchange *exchange;
	const struct etcdtool *tool;
	const char *snapshot;                 /* plain; it is proven while the tool works */
	const struct hashkv_result *expected; /* by the catalogue; NULL: it says nothing */
	const struct newcluster *cluster;
	const struct newcluster_member *self; /* which of its members is made */
	const char *peer_urls;                /* of that one */
	const char *initial_cluster;
	const char *token;
	bool skip_hash_check;
	uint64_t bump_revision; /* 0: none */
	int64_t now_s;          /* for the name of what is moved aside */
};

struct restore_result {
	char *set_aside; /* NULL: there was nothing; the caller frees it */
	uint64_t member_id;
	uint64_t cluster_id;
	int64_t revision; /* that etcd will start with */
	uint32_t hashkv;  /* of the snapshot's keys, found in what was made */
	int64_t hashkv_revision;
	uint64_t live_keys;
	uint64_t db_bytes;
	uint64_t inode; /* of the new data directory (exchange.h) */
};

/* Only makes it, so that another process can exchange the two later. */
int restore_make(const struct restore_request *request, struct problem *problem,
                 struct restore_result *ret_result);

int restore_run(const struct restore_request *request, struct problem *problem,
                struct restore_result *ret_result);
