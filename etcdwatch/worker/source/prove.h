/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * `prove FILE [--revision R --compacted C]`: is this file a whole snapshot that etcd can be
 * restored from, and what is in it?
 *
 * Without options it checks digest, high-water mark and tree, and says what is there: "hash",
 * "revision", "compact_revision", "hashkv", "hashkv_revision", "total_key", "live_keys",
 * "db_bytes", and "digest" and "tree" as true; and what fills it, as the catalogue has it: "usage",
 * with "bytes" of keys and values of all revisions, the "largest" beginnings of keys, and how much
 * may be "missing" of each (usage.h); and "members" as the database lists them (prove.h),
 * null if that cannot be read.
 *
 * With both it checks nothing, and computes HashKV as a member has it that has come to revision R,
 * or further, and was compacted at C: "hashkv", "hashkv_revision", "compact_revision".
 *
 * Codes of a refusal: USAGE; DIGEST and TREE, the file is to blame; RANGE, the revision is not in
 * it; READ, it could not be read, which says nothing of the snapshot.
 */

#include <jansson.h>

#include "bolt/dbinfo.h"
#include "etcdwatch/worker/common/result.h"

/* The member list of a database as the worker's answers have it. */

/* A list of "id", in hexadecimal, "name", "peer_urls" and "learner". The caller frees it. */
json_t *membersjson_make(const struct dbinfo *info);

/* At revision 0: checks all. */
int prove_run(const char *path, int64_t revision, int64_t compacted, struct problem *problem,
              json_t **ret_fields);
