/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What must be the same: the catalogue's entry and the file; the file, the entry, and an etcd that
 * was restored from it. All checks of a kind are made, and the first that fails is the problem.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bolt/bolt.h"
#include "bolt/dbinfo.h"
#include "bolt/mvcc.h"
#include "bolt/keyset.h"
#include "bolt/snapshot.h"
#include "etcdwatch/catalog/catalog.h"
#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/drill/etcdask.h"

/*
 * Some of the users' keys in a snapshot: the first, the last, and some that a hash with a secret of
 * the moment picks, so that each time it is others. It takes one pass over the file and little
 * memory, however many keys there are. Keys that were deleted may be among them: a restored etcd
 * must not have them.
 */

#define SAMPLE_PICKED_MAX 16
#define SAMPLE_KEYS_MAX (SAMPLE_PICKED_MAX + 2)

struct sample;

struct sample_key {
	struct bytes key;    /* the sample's */
	struct mvcc_rev rev; /* of its newest entry */
	bool is_deleted;
};

/* As of `revision`, which the file reaches. Errors are told in the database's fault. */
int sample_draw(struct bolt *db, int64_t revision, const struct siphash *hash,
                struct sample **ret_sample);
void sample_free(struct sample *sample);
DEFINE_AUTO(struct sample, sample_free);

/* No two are the same key. */
size_t sample_count(const struct sample *sample);
const struct sample_key *sample_at(const struct sample *sample, size_t i);

/* There is the entry without a key that a raised revision leaves: counted as a key, and nobody can
 * read it. */
bool sample_has_empty_key(const struct sample *sample);

/* What the file has of a key that is not deleted. The cursor, which is one of bucket "key", owns
 * what ret_kv points to until it is used again. */
int sample_read(struct bolt *db, struct cursor *cursor, const struct sample_key *key,
                struct mvcc_kv *ret_kv);

/*
 * What a drill tells: a line {"phase": "..."} as each phase begins, and at the end which checks
 * were made, what each phase took, and which versions took part. docs/control.md has the fields.
 */

enum drillreport_phase {
	DRILLREPORT_FETCH,
	DRILLREPORT_UNPACK,
	DRILLREPORT_PROVE,
	DRILLREPORT_RESTORE,
	DRILLREPORT_START,
	DRILLREPORT_COMPARE,
	DRILLREPORT_N_PHASES,
};

struct drillreport;

struct drillreport *drillreport_new(void);
void drillreport_free(struct drillreport *report);
DEFINE_AUTO(struct drillreport, drillreport_free);

/* Ends the phase before. */
void drillreport_begin(struct drillreport *report, enum drillreport_phase phase);

/* One that has no number. */
void drillreport_passed(struct drillreport *report, const char *check);

/* "etcd": "3.5.16" */
void drillreport_version(struct drillreport *report, const char *of, const char *version);

/* All of it, as a new object: "checks", "phases", "versions", "took_ms". Ends the last phase. */
json_t *drillreport_json(struct drillreport *report);

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
 * - sample: the first key, the last, and some in between (drillcompare.h) are what the file has: value,
 *   version, lease and revisions; or are gone, if they were deleted.
 * - alarms: none. All data are there then, but etcd takes no writes; the code is ALARM.
 */
int drillcompare_etcd(struct drillreport *report, const struct drillcompare_facts *facts,
                      struct problem *problem);
