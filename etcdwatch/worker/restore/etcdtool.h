/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * etcd's own program for restoring: etcdutl, or before 3.5, etcdctl. What a data directory looks
 * like changes between versions of etcd, so only the program that belongs to a version writes one.
 *
 * Blocking: for the worker. Source of what which version can: etcd's release notes and its own
 * `snapshot restore --help`.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "etcdwatch/worker/common/result.h"

/* One restore writes the database twice; etcd advises against more than 8 GiB. */
#define ETCDTOOL_LIMIT_MS (30u * 60 * 1000)

enum etcdtool_kind {
	ETCDTOOL_ETCDUTL,
	ETCDTOOL_ETCDCTL,
};

struct etcdtool_info {
	enum etcdtool_kind kind;
	unsigned major;
	unsigned minor;
	unsigned patch;
	bool can_restore;         /* etcdctl of 3.6 and later cannot any more */
	bool can_bump;            /* --bump-revision with --mark-compacted: 3.4.27+, 3.5.10+ */
	bool can_skip_hash_check; /* --skip-hash-check: all that can restore */
};

struct etcdtool;

/*
 * `path` names the program; NULL: etcdutl, else etcdctl, whichever the PATH has and can restore.
 * It is asked for its version, unless `says` has the answer that it gave before (etcdtool_says);
 * to ask takes as long as to copy 10 MB. `says` needs a path.
 * Codes: ETCDTOOL_MISSING, there is none; ETCDTOOL, it does not work.
 */
int etcdtool_find(const char *path, const char *says, struct problem *problem,
                  struct etcdtool **ret_tool);
void etcdtool_free(struct etcdtool *tool);
DEFINE_AUTO(struct etcdtool, etcdtool_free);

const char *etcdtool_path(const struct etcdtool *tool);
const char *etcdtool_says(const struct etcdtool *tool); /* "etcdutl version: 3.5.16" */
const struct etcdtool_info *etcdtool_info(const struct etcdtool *tool);

/* The first executable of that name in the PATH, to be freed; NULL: there is none. */
char *etcdtool_look_up(const char *name);

/* What `PROGRAM version` prints: -EBADMSG if that is something else. Pure. */
int etcdtool_parse_version(const char *text, struct etcdtool_info *ret_info);

/* All borrowed. */
struct etcdtool_restore {
	const char *snapshot;
	const char *data_dir; /* must not be there */
	const char *name;
	const char *peer_urls;       /* of this member, with commas */
	const char *initial_cluster; /* "n1=https://10.0.0.1:2380,n2=..." */
	const char *token;
	bool skip_hash_check;   /* it is a database from a data directory */
	uint64_t bump_revision; /* 0: do not; else only if the program can */
	unsigned limit_ms;      /* 0: ETCDTOOL_LIMIT_MS */
};

/*
 * Runs `snapshot restore`, and tells how far the database is (result.h). What it left when it fails
 * is the caller's to remove. The code is ETCDTOOL, and the reason its own last words; CANCELLED by
 * a signal; USAGE if it cannot do what is asked for.
 */
int etcdtool_restore(const struct etcdtool *tool, const struct etcdtool_restore *restore,
                     struct problem *problem);
