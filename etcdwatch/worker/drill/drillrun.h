/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A drill from beginning to end: fetch and unpack a snapshot, prove it, restore it with etcd's own
 * tool, start a real etcd on it where nobody can reach it, and compare what that etcd answers with
 * the catalogue and with the file. The process is in that etcd's network from then on (etcdrun.h),
 * and in the directory: it is good for nothing but to end.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "etcdwatch/catalog/catalog.h"
#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/drill/drillcompare.h"
#include "etcdwatch/worker/store/s3target.h"

/*
 * A place for files that are gone when the work is over, however it ends: what a killed process
 * left is removed by the next one that opens it. It is one directory, "etcd-drill", in one that the
 * caller names, which is made if it is not there and goes again if nothing else is in it. Nothing
 * else in there is ever touched. Only this user can look into it.
 */

#define WORKROOM_NAME "etcd-drill"

struct workroom;

/* Codes: BUSY, another process has it; DIRECTORY, others may write into `base`. */
int workroom_open(const char *base, struct problem *problem, struct workroom **ret_room);

/* Removes everything in it. */
void workroom_free(struct workroom *room);
DEFINE_AUTO(struct workroom, workroom_free);

const char *workroom_path(const struct workroom *room);

/* Removes what a killed process left. 0 also when there is nothing, and when somebody is at work.
 */
int workroom_clear(const char *base, struct problem *problem);

struct drillrun_request {
	const char *file;              /* or the key of an object */
	const struct s3target *target; /* where that object is; NULL: it is a file */
	/* What is known of it; NULL: nothing, so it is compared with itself. */
	const struct catalog_entry *entry;
	const char *const *identities; /* files; to decrypt */
	size_t n_identities;
	struct trust trust;  /* where keys are configured, the entry must be signed by one of them */
	bool only_encrypted; /* one that is not is refused: PLAIN */
	const char *etcd;    /* programs; NULL: found in the PATH */
	const char *etcdutl;
	const char *directory;  /* empty, and for this alone */
	uint64_t reserve_bytes; /* that stay free on its disk */
	int64_t deadline_us;
};

/*
 * 0 if all held. Codes of a problem: DIFFERS, the restored data are not what they should be; DIGEST
 * and TREE, the file is damaged; PLAIN, it is not encrypted; UNTRUSTED, its signature; START and
 * ASK, the restored etcd does not serve; NO_SPACE; NAMESPACE; and those of s3target.h, unpack.h,
 * etcdtool.h.
 */
int drillrun(const struct drillrun_request *request, struct drillreport *report,
             struct problem *problem);
