/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers against numbers, and a few keys byte by byte. */
#include "etcdwatch/worker/drill/drillcompare.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "etcdwatch/worker/drill/sample.h"

#define CATALOGUE "the catalogue"
#define SNAPSHOT "the snapshot"
#define RESTORED "the restored etcd"

int drillcompare_file(struct drillreport *report, const struct catalog_entry *entry,
                      const struct snapshot_content *content, struct problem *problem)
{
	const struct {
		const char *check;
		int64_t wanted;
		int64_t found;
	} numbers[] = {
	    {"hash", entry->hash, content->hash},
	    {"revision", entry->revision, content->revision},
	    {"compact_revision", entry->compact_revision, content->hashkv.compact_revision},
	    {"total_key", entry->total_key, (int64_t) content->n_entries},
	    {"live_keys", entry->live_keys, (int64_t) content->hashkv.n_live},
	    {"db_bytes", entry->db_bytes, (int64_t) content->n_bytes},
	    {"hashkv_revision", entry->hashkv_revision, content->hashkv.revision},
	    {"hashkv", entry->hashkv, content->hashkv.hash},
	};
	int result = 0;

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		int r = drillreport_compare(report, numbers[i].check, CATALOGUE, numbers[i].wanted,
		                            SNAPSHOT, numbers[i].found, problem);

		if (r < 0)
			result = r;
	}
	return result;
}

/* --- revision and keys --- */

static int compare_counts(struct drillreport *report, const struct drillcompare_facts *f,
                          const struct sample *sample, struct problem *problem)
{
	const struct hashkv_result *h = &f->content->hashkv;
	int64_t wanted = (int64_t) h->n_live - sample_has_empty_key(sample);
	int64_t count, current, r_count;
	int r;

	r = etcdask_count(f->ask, h->revision, problem, &count, &current);
	if (r < 0)
		return r;
	if (current > h->revision && f->info->n_leases > 0)
		current = h->revision;
	r = drillreport_compare(report, "current_revision", SNAPSHOT, h->revision, RESTORED, current,
	                        problem);
	r_count =
	    drillreport_compare(report, "readable_keys", SNAPSHOT, wanted, RESTORED, count, problem);
	return r < 0 ? r : (int) r_count;
}

static int compare_hashkv(struct drillreport *report, const struct drillcompare_facts *f,
                          struct problem *problem)
{
	/* Of the catalogue too, as they were found to be the same before. */
	struct hashkv_result wanted = f->content->hashkv;
	struct etcdask_hash found;
	int r;

	r = etcdask_hashkv(f->ask, wanted.revision, problem, &found);
	if (r < 0)
		return r;
	if (found.compact_revision != wanted.compact_revision) {
		r = hashkv_compute_compacted(snapshot_db(f->snapshot), wanted.revision,
		                             found.compact_revision, &wanted);
		if (r < 0)
			return problem_set(problem, -EBADMSG, "DIFFERS",
			                   "the restored etcd was compacted at %" PRId64
			                   ", which does not fit the snapshot: %s",
			                   found.compact_revision, f->fault->what);
	}
	return drillreport_compare(report, "restored_hashkv", f->entry != NULL ? CATALOGUE : SNAPSHOT,
	                           wanted.hash, RESTORED, found.hash, problem);
}

/* --- the sample --- */

static bool is_same(const struct mvcc_kv *wanted, const struct etcdask_kv *found)
{
	return found->is_there && wanted->create_revision == found->create_revision &&
	       wanted->mod_revision == found->mod_revision && wanted->version == found->version &&
	       wanted->lease == found->lease && wanted->value.len == found->value_len &&
	       (found->value_len == 0 ||
	        memcmp(wanted->value.data, found->value, found->value_len) == 0);
}

/* 1 if it is what the file has, 0 if not. */
static int compare_key(const struct drillcompare_facts *f, struct cursor *cursor,
                       const struct sample_key *key, struct problem *problem)
{
	struct etcdask_kv found = {0};
	struct mvcc_kv wanted;
	bool same;
	int r;

	r = etcdask_get(f->ask, key->key, f->content->hashkv.revision, problem, &found);
	if (r < 0)
		return r;
	if (key->is_deleted) {
		same = !found.is_there;
	} else {
		r = sample_read(snapshot_db(f->snapshot), cursor, key, &wanted);
		same = r == 0 && is_same(&wanted, &found);
	}
	free(found.value);
	return r < 0 ? problem_set(problem, r, "TREE", "%s", f->fault->what) : same;
}

/* Of the keys' names nothing is told: they may be secret. */
static int compare_sample(struct drillreport *report, const struct drillcompare_facts *f,
                          const struct sample *sample, struct problem *problem)
{
	AUTO(cursor_free) struct cursor *cursor = NULL;
	int64_t n_same = 0;
	int r;

	r = cursor_open_named(snapshot_db(f->snapshot), MVCC_BUCKET, &cursor);
	if (r < 0)
		return problem_set(problem, r, "TREE", "%s", f->fault->what);
	for (size_t i = 0; i < sample_count(sample); i++) {
		r = compare_key(f, cursor, sample_at(sample, i), problem);
		if (r < 0)
			return r;
		n_same += r;
	}
	return drillreport_compare(report, "sample", SNAPSHOT, (int64_t) sample_count(sample), RESTORED,
	                           n_same, problem);
}

/* --- alarms --- */

static int compare_alarms(struct drillreport *report, const struct drillcompare_facts *f,
                          struct problem *problem)
{
	char first[ETCDASK_ALARM_MAX];
	size_t n;
	int r;

	r = etcdask_alarms(f->ask, problem, &n, first);
	if (r < 0)
		return r;
	if (n > 0)
		(void) problem_set(problem, -EBADMSG, "ALARM",
		                   "the alarm %s stands in the snapshot, and so in what is restored from "
		                   "it, which takes no writes before 'etcdctl alarm disarm'",
		                   first);
	return drillreport_compare(report, "alarms", SNAPSHOT, 0, RESTORED, (int64_t) n, problem);
}

/* --- all --- */

int drillcompare_etcd(struct drillreport *report, const struct drillcompare_facts *facts,
                      struct problem *problem)
{
	AUTO(sample_free) struct sample *sample = NULL;
	struct siphash hash = siphash_draw();
	int results[4], r;

	r = sample_draw(snapshot_db(facts->snapshot), facts->content->hashkv.revision, &hash, &sample);
	if (r < 0)
		return problem_set(problem, r, "TREE", "%s", facts->fault->what);
	results[0] = compare_counts(report, facts, sample, problem);
	results[1] = compare_hashkv(report, facts, problem);
	results[2] = compare_sample(report, facts, sample, problem);
	results[3] = compare_alarms(report, facts, problem);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(results); i++)
		r = results[i];
	return r;
}
