/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers against numbers, and a few keys byte by byte. */
#include "etcdwatch/worker/drill/drillcompare.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

/* --- sample --- */

/*
 * The picked ones are those with the least hashes. Entries come in the order of revisions: a key
 * that belongs to them does so from its first entry on, or is pushed out by others and never comes
 * back, so its newest entry is the last that came by.
 */

struct slot {
	struct sample_key key; /* its bytes are ours */
	uint64_t hash;
};

struct sample {
	struct slot picked[SAMPLE_PICKED_MAX];
	size_t n_picked;
	struct slot first, last; /* without bytes: there is none */
	const struct sample_key *all[SAMPLE_KEYS_MAX];
	size_t n;
	bool has_empty_key;
};

static void forget(struct slot *slot)
{
	free((void *) (uintptr_t) slot->key.key.data);
	*slot = (struct slot){.hash = 0};
}

static void remember(struct slot *slot, const struct mvcc_entry *e, uint64_t hash)
{
	struct bytes key = {.data = xmemdup(e->kv.key.data, e->kv.key.len), .len = e->kv.key.len};

	forget(slot);
	*slot = (struct slot){.key = {key, e->rev, e->is_tombstone}, .hash = hash};
}

static void renew(struct slot *slot, const struct mvcc_entry *e)
{
	slot->key.rev = e->rev;
	slot->key.is_deleted = e->is_tombstone;
}

/* `order`: whether a key is to come before (-1) or behind (1) the one that is there. */
static void consider_end(struct slot *slot, const struct mvcc_entry *e, int order)
{
	int found = slot->key.key.data != NULL ? bytes_compare(e->kv.key, slot->key.key) : order;

	if (found == 0)
		renew(slot, e);
	else if ((found < 0) == (order < 0))
		remember(slot, e, 0);
}

static struct slot *find_worst(struct sample *s)
{
	struct slot *worst = &s->picked[0];

	for (size_t i = 1; i < s->n_picked; i++) {
		if (s->picked[i].hash > worst->hash)
			worst = &s->picked[i];
	}
	return worst;
}

static void consider_picking(struct sample *s, const struct mvcc_entry *e, uint64_t hash)
{
	struct slot *worst = find_worst(s);

	if (s->n_picked == SAMPLE_PICKED_MAX && hash > worst->hash)
		return;
	for (size_t i = 0; i < s->n_picked; i++) {
		if (s->picked[i].hash == hash && bytes_compare(s->picked[i].key.key, e->kv.key) == 0) {
			renew(&s->picked[i], e);
			return;
		}
	}
	if (s->n_picked < SAMPLE_PICKED_MAX)
		remember(&s->picked[s->n_picked++], e, hash);
	else if (hash < worst->hash)
		remember(worst, e, hash);
}

static void consider(struct sample *s, const struct mvcc_entry *e, const struct siphash *hash)
{
	if (e->kv.key.len == 0) {
		s->has_empty_key = true;
		return;
	}
	consider_end(&s->first, e, -1);
	consider_end(&s->last, e, 1);
	consider_picking(s, e, siphash_of(hash, e->kv.key));
}

static void add(struct sample *s, const struct slot *slot)
{
	if (slot->key.key.data == NULL)
		return;
	for (size_t i = 0; i < s->n; i++) {
		if (bytes_compare(s->all[i]->key, slot->key.key) == 0)
			return;
	}
	s->all[s->n++] = &slot->key;
}

int sample_draw(struct bolt *db, int64_t revision, const struct siphash *hash,
                struct sample **ret_sample)
{
	AUTO(sample_free) struct sample *s = NEW0(struct sample);
	AUTO(cursor_free) struct cursor *c = NULL;
	struct cursor_entry raw;
	struct mvcc_entry e;
	int r;

	r = cursor_open_named(db, MVCC_BUCKET, &c);
	if (r < 0)
		return r;
	while ((r = cursor_next(c, &raw)) > 0) {
		r = mvcc_read(db, &raw, &e);
		if (r < 0)
			return r;
		if (e.rev.main > revision)
			break;
		consider(s, &e, hash);
	}
	if (r < 0)
		return r;
	add(s, &s->first);
	for (size_t i = 0; i < s->n_picked; i++)
		add(s, &s->picked[i]);
	add(s, &s->last);
	*ret_sample = TAKE_PTR(s);
	return 0;
}

void sample_free(struct sample *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->n_picked; i++)
		forget(&s->picked[i]);
	forget(&s->first);
	forget(&s->last);
	free(s);
}

size_t sample_count(const struct sample *s)
{
	return s->n;
}

const struct sample_key *sample_at(const struct sample *s, size_t i)
{
	return s->all[i];
}

bool sample_has_empty_key(const struct sample *s)
{
	return s->has_empty_key;
}

int sample_read(struct bolt *db, struct cursor *cursor, const struct sample_key *key,
                struct mvcc_kv *ret_kv)
{
	uint8_t buf[MVCC_REV_BYTES];
	struct cursor_entry raw;
	struct mvcc_entry e;
	int r;

	r = cursor_seek(cursor, mvcc_format_rev(key->rev, buf));
	if (r >= 0)
		r = cursor_next(cursor, &raw);
	if (r >= 0)
		r = r == 0 ? bolt_fail(db, BOLT_NO_PAGE, "an entry is gone that was there before")
		           : mvcc_read(db, &raw, &e);
	if (r < 0)
		return r;
	*ret_kv = e.kv;
	return 0;
}

/* --- drillreport --- */

/* Collects, as the drill goes on, what is one object at its end. */

static const char *const phase_names[] = {
    [DRILLREPORT_FETCH] = "fetch", [DRILLREPORT_UNPACK] = "unpack",
    [DRILLREPORT_PROVE] = "prove", [DRILLREPORT_RESTORE] = "restore",
    [DRILLREPORT_START] = "start", [DRILLREPORT_COMPARE] = "compare",
};

struct drillreport {
	int64_t began_us;
	enum drillreport_phase phase; /* DRILLREPORT_N_PHASES: none yet */
	int64_t phase_began_us;
	json_t *checks;
	json_t *phases; /* those that are over */
	json_t *versions;
};

struct drillreport *drillreport_new(void)
{
	struct drillreport *report = NEW0(struct drillreport);

	report->began_us = mono_now_us();
	report->phase = DRILLREPORT_N_PHASES;
	report->checks = json_array();
	report->phases = json_object();
	report->versions = json_object();
	return report;
}

void drillreport_free(struct drillreport *report)
{
	if (report == NULL)
		return;
	json_decref(report->checks);
	json_decref(report->phases);
	json_decref(report->versions);
	free(report);
}

static void end_phase(struct drillreport *report)
{
	int64_t now_us = mono_now_us();

	if (report->phase != DRILLREPORT_N_PHASES)
		(void) json_object_set_new(report->phases, phase_names[report->phase],
		                           json_integer((now_us - report->phase_began_us) / US_PER_MS));
	report->phase_began_us = now_us;
}

void drillreport_begin(struct drillreport *report, enum drillreport_phase phase)
{
	end_phase(report);
	report->phase = phase;
	result_line(json_pack("{s:s}", "phase", phase_names[phase]));
}

/*
 * One check. If the numbers differ, the problem is DIFFERS, and its sentence says what is how much
 * where: "live_keys is 12 in the snapshot, and 13 by the catalogue". 0, or -EBADMSG.
 */
static int drillreport_compare(struct drillreport *report, const char *check, const char *wanted_by,
                               int64_t wanted, const char *found_in, int64_t found,
                               struct problem *problem)
{
	(void) json_array_append_new(
	    report->checks, json_pack("{s:s, s:b, s:I, s:I}", "check", check, "ok", wanted == found,
	                              "wanted", (json_int_t) wanted, "found", (json_int_t) found));
	if (wanted == found)
		return 0;
	return problem_set(problem, -EBADMSG, "DIFFERS",
	                   "%s is %" PRId64 " in %s, and %" PRId64 " by %s", check, found, found_in,
	                   wanted, wanted_by);
}

void drillreport_passed(struct drillreport *report, const char *check)
{
	(void) json_array_append_new(report->checks, json_pack("{s:s, s:b}", "check", check, "ok", 1));
}

void drillreport_version(struct drillreport *report, const char *of, const char *version)
{
	(void) json_object_set_new(report->versions, of, jsonval_text(version));
}

json_t *drillreport_json(struct drillreport *report)
{
	end_phase(report);
	report->phase = DRILLREPORT_N_PHASES;
	return json_pack("{s:O, s:O, s:O, s:I}", "checks", report->checks, "phases", report->phases,
	                 "versions", report->versions, "took_ms",
	                 (json_int_t) ((mono_now_us() - report->began_us) / US_PER_MS));
}

/* --- drillcompare --- */

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
