/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What must be the same: the catalogue's entry and the file; the file, the entry, and an etcd that
 * was restored from it. All checks of a kind are made, and the first that fails is the problem.
 */

#include "bolt/dbinfo.h"
#include "bolt/snapshot.h"
#include "etcdwatch/catalog/catalog.h"
#include "etcdwatch/worker/drill/drillreport.h"
#include "etcdwatch/worker/drill/etcdask.h"
#include "etcdwatch/worker/common/problem.h"

int drillcompare_file(struct drillreport *report, const struct catalog_entry *entry,
                      const struct snapshot_content *content, struct problem *problem);

struct drillcompare_facts {
	const struct catalog_entry *entry; /* NULL: the file stands for it */
	struct snapshot *snapshot;
	struct bolt_fault *fault; /* of the snapshot */
	const struct snapshot_content *content;
	const struct dbinfo *info;
	const struct etcdask *ask;
};

/*
 * - revision: the store's is the snapshot's. It may be ahead when the snapshot has leases: one that
 *   has run out meanwhile has taken its keys with it, in a revision of its own.
 * - hashkv: etcd computes, at the snapshot's revision, what the catalogue has. Where the restored
 *   etcd has another compact revision than the catalogue, what the file has for that one.
 * - live_keys, at that revision.
 * - sample: the first key, the last, and some in between (sample.h) are what the file has: value,
 *   version, lease and revisions; or are gone, if they were deleted.
 * - alarms: none. All data are there then, but etcd takes no writes; the code is ALARM.
 */
int drillcompare_etcd(struct drillreport *report, const struct drillcompare_facts *facts,
                      struct problem *problem);
