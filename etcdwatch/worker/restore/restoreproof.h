/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Proves a snapshot while etcd's tool restores from it: digest, tree, keys and HashKV, read by a
 * thread of its own, since both only read the file. Nothing may be put in place before
 * restoreproof_wait() has returned 0.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bolt/dbinfo.h"
#include "bolt/snapshot.h"
#include "etcdwatch/worker/common/problem.h"

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
