/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A data directory of etcd, as it is found: is there one, whose is it, does etcd run on it, and
 * what of it would be moved aside. That is the directory itself; where something is mounted on it,
 * which cannot be renamed, it is the directory `member` in it, which is all that etcd keeps there.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "etcdwatch/worker/common/result.h"

struct datadir {
	char *path; /* without links */
	char *unit; /* what is moved aside and put in place: path, or path/member */
	bool is_mount;
	bool exists;
	bool has_unit;
	bool has_db;
	bool has_wal; /* member/wal is a directory here, not elsewhere by a link or an option */
	bool in_use;  /* etcd, or somebody else, has locked the database */
	uid_t uid;    /* of the unit, where there is one; else of what it will be in */
	gid_t gid;
	mode_t mode;     /* of the unit */
	uint64_t inode;  /* of the unit; 0: there is none */
	char *db;        /* path/member/snap/db */
	char *inner;     /* a data directory in it, when it is none itself; NULL */
	char *set_aside; /* the newest that an earlier restore put aside; NULL */
	uint64_t free_bytes;
	uint64_t db_bytes;
};

/* Only what cannot be looked at is an error: whether it will do is for the caller to say. */
int datadir_look(const char *path, struct problem *problem, struct datadir **ret_dir);
void datadir_free(struct datadir *dir);
DEFINE_AUTO(struct datadir, datadir_free);

/* "<unit>.before-restore-20261121T203000Z", or with a number behind it if that is taken; to be
 * freed. */
#define DATADIR_ASIDE ".before-restore-"
char *datadir_aside_name(const struct datadir *dir, int64_t now_s);
