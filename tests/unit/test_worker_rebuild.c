/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Databases of past revisions: byte by byte what is in them, and all that is refused without
 * leaving anything. The world is one of made-up changes; that real etcd agrees is in
 * tests/netns/etcd_rebuild.sh. Which snapshot and chain they are made of is in
 * test_worker_rebuildpick.c, and whose leases stay in test_worker_leaseset.c.
 */
#include "etcdwatch/worker/rebuild/rebuild.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/resource.h>

#include "base/fileio.h"
#include "base/mono.h"
#include "bolt/bulk.h"
#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/catalog/catalog.h"
#include "etcdwatch/worker/rebuild/rebuildchoice.h"
#include "etcdwatch/worker/store/storeprogram.h"
#include "tests/unit/boltkv.h"
#include "tests/unit/check.h"
#include "tests/unit/entries.h"
#include "tests/unit/leasebucket.h"
#include "tests/unit/recordfile.h"
#include "tests/unit/scratch.h"

#define LAST 40
#define CLUSTER 0xc1

/* --- a world --- */

/* Revision 2 to LAST; each third has two changes, each fifth deletes. */
struct change {
	struct boltkv kv;
	char name[16];
	int64_t created, version;
};

static struct change changes[2 * LAST];
static size_t n_changes;

static void make_world(void)
{
	int64_t created[8] = {0}, version[8] = {0};

	for (int64_t rev = 2; rev <= LAST; rev++) {
		for (int64_t sub = 0; sub < (rev % 3 == 0 ? 2 : 1); sub++) {
			struct change *c = &changes[n_changes++];
			size_t k = (size_t) ((rev + 4 * sub) % 8);

			(void) snprintf(c->name, sizeof(c->name), "key-%zu", k);
			if (rev % 5 == 0 && version[k] > 0) {
				c->kv = boltkv_delete(rev, sub, c->name);
				version[k] = 0;
				continue;
			}
			created[k] = version[k] == 0 ? rev : created[k];
			c->created = created[k];
			c->version = ++version[k];
			c->kv =
			    boltkv_put(rev, sub, c->name, c->created, c->version, rev % 7 == 0 ? "" : "value");
			/* etcd leaves out what is empty. */
			if (rev % 7 == 0)
				c->kv.value_len -= 2;
		}
	}
}

static const struct change *change_at(int64_t revision)
{
	for (size_t i = 0; i < n_changes; i++) {
		if (changes[i].kv.main == revision)
			return &changes[i];
	}
	abort();
}

/* A snapshot of it, with one lease; up to `dropped` only the newest change of a key is there. */
static void make_snapshot(const char *path, int64_t revision)
{
	AUTO(close) int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	AUTO(bulk_free) struct bulk *bulk = bulk_new(fd, 4096);
	static const uint8_t id[8] = {0, 0, 0, 0, 0, 0, 0, 5}, lease[] = {8, 5, 16, 50};
	uint64_t n_bytes;

	CHECK_EQ_INT(bulk_begin(bulk, bytes_of_text("key")), 0);
	for (size_t i = 0; i < n_changes && changes[i].kv.main <= revision; i++) {
		struct boltfile_entry e = boltkv_entry(&changes[i].kv);

		CHECK_EQ_INT(
		    bulk_add(bulk, (struct bytes){e.key, e.key_len}, (struct bytes){e.value, e.value_len}),
		    0);
	}
	CHECK_EQ_INT(bulk_begin(bulk, bytes_of_text("lease")), 0);
	CHECK_EQ_INT(bulk_add(bulk, (struct bytes){id, 8}, (struct bytes){lease, 4}), 0);
	CHECK_EQ_INT(bulk_begin(bulk, bytes_of_text("meta")), 0);
	CHECK_EQ_INT(bulk_finish(bulk, &n_bytes), 0);
	CHECK_EQ_INT(snapshot_append_digest(fd, n_bytes), 0);
}

static void record_revision_at(struct recordfile *file, int64_t revision, int64_t wall_us)
{
	const struct change *c = change_at(revision);
	struct record_event events[2] = {{0}};
	size_t n = 0;

	for (; c < changes + n_changes && c->kv.main == revision; c++)
		events[n++] = (struct record_event){
		    .is_delete = c->kv.is_tombstone,
		    .key = bytes_of_text(c->name),
		    .create_revision = c->created,
		    .version = c->version,
		    .value = bytes_of_text(revision % 7 == 0 ? "" : "value"),
		};
	recordfile_add(file, &(struct record_frame){.type = RECORD_EVENTS,
	                                            .revision = revision,
	                                            .wall_us = wall_us,
	                                            .events = events,
	                                            .n_events = n});
}

static void record_revision(struct recordfile *file, int64_t revision)
{
	record_revision_at(file, revision, 1000000 * revision);
}

static void save_segment(struct recordfile *file, int64_t first, uint64_t sequence)
{
	struct record_header header = {
	    .sequence = sequence, .cluster_id = CLUSTER, .first_revision = first};
	char name[RECORD_NAME_MAX], path[128];

	(void) snprintf(path, sizeof(path), "record/%s", record_name(&header, name));
	recordfile_close(file, path);
}

/* Revisions 11 to 20 in one segment, then to 30 in one that is open; 33 to LAST in another chain.
 */
static void make_record(void)
{
	struct recordfile file;
	uint8_t digest[DIGEST_SHA256_BYTES];

	(void) scratch_shell("rm -rf record && mkdir record");
	recordfile_begin(&file, 11, 1, NULL);
	for (int64_t rev = 11; rev <= 20; rev++)
		record_revision(&file, rev);
	recordfile_end(&file, 20, digest);
	save_segment(&file, 11, 1);
	recordfile_begin(&file, 21, 2, digest);
	for (int64_t rev = 21; rev <= 25; rev++)
		record_revision(&file, rev);
	recordfile_end(&file, 25, digest);
	save_segment(&file, 21, 2);
	recordfile_begin(&file, 26, 3, digest);
	for (int64_t rev = 26; rev <= 30; rev++)
		record_revision(&file, rev);
	recordfile_progress(&file, 30, 31500000);
	recordfile_gap(&file, 31, 32);
	save_segment(&file, 26, 3);
	recordfile_begin(&file, 33, 4, NULL);
	for (int64_t rev = 33; rev <= LAST; rev++)
		record_revision(&file, rev);
	save_segment(&file, 33, 4);
}

/* --- rebuilding it --- */

static struct rebuild_result result;
static struct problem problem;
static unsigned long wanted_history;

static int rebuild_into(const char *output, const char *base, enum rebuild_to to, int64_t value)
{
	struct rebuild_request request = {
	    .base = {.name = base, .s3_prefix = ""},
	    .record = "record",
	    .to = to,
	    .revision = value,
	    .us = value,
	    .history = wanted_history,
	    .output = output,
	};

	source_free(TAKE_PTR(result.base));
	json_decref(result.history);
	result = (struct rebuild_result){0};
	problem = (struct problem){0};
	return rebuild_run(&request, &problem, &result);
}

static int rebuild(const char *base, enum rebuild_to to, int64_t value)
{
	(void) unlink("out.db");
	return rebuild_into("out.db", base, to, value);
}

/* What was made has just the changes up to there. */
static void check_made(int64_t revision)
{
	AUTO(snapshot_close) struct snapshot *s = NULL;
	AUTO(cursor_free) struct cursor *c = NULL;
	struct bolt_fault fault = {0};
	struct cursor_entry e;
	size_t n = 0;

	if (!CHECK_EQ_INT(snapshot_open("out.db", &fault, &s), 0))
		return;
	CHECK_EQ_INT(snapshot_check_digest(s), 0);
	CHECK_EQ_INT(cursor_open_named(snapshot_db(s), "key", &c), 0);
	while (cursor_next(c, &e) > 0 && n < n_changes) {
		struct boltfile_entry want = boltkv_entry(&changes[n++].kv);

		if (!CHECK(bytes_compare(e.key, (struct bytes){want.key, want.key_len}) == 0 &&
		           bytes_compare(e.value, (struct bytes){want.value, want.value_len}) == 0))
			(void) fprintf(stderr, "  change %zu of revision %" PRId64 "\n", n, revision);
	}
	CHECK(n > 0 && changes[n - 1].kv.main == revision &&
	      (n == n_changes || changes[n].kv.main == revision + 1));
	CHECK_EQ_STR(leasebucket_text(snapshot_db(s)), "5:50 ");
}

static void check_nothing_left(void)
{
	char list[256];

	CHECK_EQ_STR(scratch_list(".", list, sizeof(list)), "base.db later.db other.db record");
}

static void test_every_revision(void)
{
	for (int64_t rev = 15; rev <= 30; rev++) {
		if (!CHECK_EQ_INT(rebuild("./base.db", REBUILD_TO_REVISION, rev), 0)) {
			(void) fprintf(stderr, "  revision %" PRId64 ": %s\n", rev, problem.reason);
			continue;
		}
		check_made(rev);
		CHECK_EQ_INT((long long) result.merge.n_revisions, rev - 15);
		CHECK_EQ_INT(result.merge.wall_us, rev > 15 ? 1000000 * rev : 0);
		CHECK_EQ_INT(result.has_record, 1);
	}
	/* The base's own revisions that were recorded too are held against it. */
	CHECK(result.merge.n_same >= 5);
	CHECK_EQ_INT(rebuild("./later.db", REBUILD_TO_END, 0), 0);
	check_made(LAST);
}

static void test_times(void)
{
	CHECK_EQ_INT(rebuild("./base.db", REBUILD_TO_TIME, 22999999), 0);
	check_made(22);
	CHECK_EQ_INT(rebuild("./base.db", REBUILD_TO_TIME, 23000000), 0);
	check_made(23);
	CHECK_EQ_INT(rebuild("./base.db", REBUILD_TO_TIME, 31500000), 0); /* by its progress */
	check_made(30);
	CHECK_EQ_INT(rebuild("./base.db", REBUILD_TO_TIME, 31500001), -ENOENT);
	CHECK_EQ_STR(problem.code, "UNREACHABLE");
	CHECK(strstr(problem.reason, "revisions 11 to 30 (1970-01-01T00:00:11Z to "
	                             "1970-01-01T00:00:31Z), 33 to 40") != NULL);
	(void) unlink("out.db");
	check_nothing_left();
}

static void refused_time(int64_t us, const char *why)
{
	CHECK_EQ_INT(rebuild("./base.db", REBUILD_TO_TIME, us), -ENOENT);
	CHECK_EQ_STR(problem.code, "UNREACHABLE");
	if (!CHECK(strstr(problem.reason, why) != NULL))
		(void) fprintf(stderr, "  at %" PRId64 " it said: %s\n", us, problem.reason);
	check_nothing_left();
}

/* From 21 s to 100 s nothing was seen; the segment was closed in between, when etcdwatch was
 * started again. What had happened meanwhile came afterwards. */
static void test_outage(void)
{
	struct recordfile file;
	uint8_t digest[DIGEST_SHA256_BYTES];

	(void) scratch_shell("rm -rf record && mkdir record");
	recordfile_begin(&file, 11, 1, NULL);
	for (int64_t rev = 11; rev <= 20; rev++)
		record_revision(&file, rev);
	recordfile_progress(&file, 20, 21000000);
	record_writer_end(file.writer, 20, 90000000, digest);
	recordfile_flush(&file);
	save_segment(&file, 11, 1);
	refused_time(50000000, "it was at 1970-01-01T00:00:50Z");
	recordfile_begin(&file, 21, 2, digest);
	record_revision_at(&file, 21, 100000000);
	record_revision_at(&file, 22, 100000001);
	recordfile_progress(&file, 22, 200000000);
	save_segment(&file, 21, 2);
	refused_time(21000000, "revision 20 is the last before that, and 21 the first behind it");
	refused_time(50000000, "from 1970-01-01T00:00:21Z to 1970-01-01T00:01:40Z");
	CHECK_EQ_INT(rebuild("./base.db", REBUILD_TO_TIME, 20999999), 0);
	check_made(20);
	CHECK_EQ_INT(rebuild("./base.db", REBUILD_TO_TIME, 100000000), 0);
	check_made(21);
	/* Late progress shows that nothing has happened before. */
	CHECK_EQ_INT(rebuild("./base.db", REBUILD_TO_TIME, 150000000), 0);
	check_made(22);
	(void) unlink("out.db");
	make_record();
}

/* The clock was at 2000000000 s once, for a moment. What came afterwards is no later for that. */
static void test_clock_ahead(void)
{
	struct recordfile file;

	(void) scratch_shell("rm -rf record && mkdir record");
	recordfile_begin(&file, 11, 1, NULL);
	for (int64_t rev = 11; rev <= 20; rev++)
		record_revision(&file, rev);
	record_revision_at(&file, 21, INT64_C(2000000000000000));
	record_revision_at(&file, 22, 23000000);
	record_revision_at(&file, 23, 24000000);
	recordfile_progress(&file, 23, 25000000);
	save_segment(&file, 11, 1);
	refused_time(24500000, "first behind revision 20, and last behind revision 23");
	refused_time(23000000, "first behind revision 20, and last behind revision 22");
	refused_time(INT64_C(2000000000000000), "1970-01-01T00:00:25Z");
	CHECK_EQ_INT(rebuild("./base.db", REBUILD_TO_TIME, 19500000), 0);
	check_made(19);
	(void) unlink("out.db");
	make_record();
}

static void refused(const char *base, int64_t revision, const char *code, const char *why)
{
	CHECK(rebuild(base, REBUILD_TO_REVISION, revision) < 0);
	if (!CHECK_EQ_STR(problem.code, code) || !CHECK(strstr(problem.reason, why) != NULL))
		(void) fprintf(stderr, "  it said: %s\n", problem.reason);
	check_nothing_left();
}

static void test_refused(void)
{
	refused("./base.db", 14, "UNREACHABLE", "the nearest that can be had is 15;");
	refused("./base.db", 31, "UNREACHABLE", "the nearest that can be had is 30;");
	refused("./base.db", 33, "UNREACHABLE", "the nearest that can be had is 30;");
	refused("./later.db", 30, "UNREACHABLE", "the nearest that can be had is 35;");
	refused("./none.db", 20, "NOT_FOUND", "none.db");
	/* Of another cluster, which shows where both have something. */
	refused("./other.db", 20, "FOREIGN", "is something else in");
}

/* Nothing that is there is lost, but for an earlier run's file. */
static void test_there(void)
{
	CHECK_EQ_INT(rebuild("./base.db", REBUILD_TO_REVISION, 20), 0);
	CHECK_EQ_INT(rebuild_into("out.db", "./base.db", REBUILD_TO_REVISION, 20), 0);
	CHECK_EQ_INT(rebuild_into("out.db", "./base.db", REBUILD_TO_REVISION, 21), -EEXIST);
	CHECK(strstr(problem.reason, "is there already") != NULL);
	check_made(20);
	CHECK(scratch_shell("cp base.db kept.db && echo a letter >letter"));
	CHECK_EQ_INT(rebuild_into("base.db", "./base.db", REBUILD_TO_REVISION, 20), -EEXIST);
	CHECK(strstr(problem.reason, "is the snapshot to begin with") != NULL);
	CHECK_EQ_INT(rebuild_into("letter", "./base.db", REBUILD_TO_REVISION, 20), -EEXIST);
	CHECK(scratch_shell("cmp base.db kept.db && grep -q letter letter"));
	(void) scratch_shell("rm -f kept.db letter out.db");
}

/* What members told of their keys: the hash at 20 is right, but for what `wrong` changes. */
static void record_hash(struct recordfile *file, int64_t revision, uint32_t hash)
{
	recordfile_add(file, &(struct record_frame){.type = RECORD_HASH,
	                                            .revision = revision,
	                                            .compact_revision = -1,
	                                            .wall_us = 1000000 * revision,
	                                            .member_id = 0xa,
	                                            .hash = hash});
}

static void test_hashes(void)
{
	struct recordfile file;
	uint32_t hash;

	CHECK_EQ_INT(rebuild("./base.db", REBUILD_TO_REVISION, 20), 0);
	hash = result.content.hashkv.hash;
	(void) unlink("out.db");
	for (unsigned wrong = 0; wrong < 2; wrong++) {
		(void) scratch_shell("rm -rf record && mkdir record");
		recordfile_begin(&file, 11, 1, NULL);
		for (int64_t rev = 11; rev <= 25; rev++) {
			record_revision(&file, rev);
			/* It may be told later than what it is about. */
			if (rev == 22)
				record_hash(&file, 20, hash + wrong);
		}
		save_segment(&file, 11, 1);
		CHECK_EQ_INT(rebuild("./base.db", REBUILD_TO_REVISION, 19), 0);
		CHECK_EQ_INT((int) result.n_proven, 0);
		if (wrong) {
			(void) unlink("out.db");
			refused("./base.db", 20, "DIFFERS", "at revision 20 what was made has the HashKV");
			refused("./base.db", 25, "DIFFERS", "member a had");
			continue;
		}
		CHECK_EQ_INT(rebuild("./base.db", REBUILD_TO_REVISION, 20), 0);
		CHECK_EQ_INT((int) result.n_proven, 1);
	}
	make_record();
}

static int64_t history_number(const char *key)
{
	return json_integer_value(json_object_get(result.history, key));
}

/* etcd was rolled back to 15, and then 18 was another change. One of the two must be named. */
static void test_histories(void)
{
	struct recordfile file;
	struct change *other = &changes[change_at(18) - changes];
	uint32_t hash;

	(void) scratch_shell("rm -rf record && mkdir record");
	recordfile_begin(&file, 11, 1, NULL);
	for (int64_t rev = 11; rev <= 25; rev++)
		record_revision(&file, rev);
	recordfile_gap(&file, 26, 0);
	save_segment(&file, 11, 1);
	other->version++;
	recordfile_begin(&file, 16, 2, NULL);
	for (int64_t rev = 16; rev <= 22; rev++)
		record_revision(&file, rev);
	save_segment(&file, 16, 2);
	other->version--;

	refused("./base.db", 20, "HISTORY", "2 histories of etcd have revision 20: name one of them");
	CHECK_EQ_INT(rebuild("./base.db", REBUILD_TO_TIME, 20000000), -ENOTUNIQ);
	CHECK(strstr(problem.reason, "2 histories of etcd have that time") != NULL);
	wanted_history = 3;
	refused("./base.db", 20, "USAGE", "--history 3: 2 histories have revision 20");
	refused("./base.db", 24, "USAGE", "--history 3: 1 history has revision 24");
	wanted_history = 2;
	CHECK_EQ_INT(rebuild("./base.db", REBUILD_TO_REVISION, 20), 0);
	check_made(20);
	hash = result.content.hashkv.hash;
	CHECK_EQ_INT(history_number("history"), 2);
	CHECK_EQ_INT(history_number("first"), 11);
	CHECK_EQ_INT(history_number("last"), 25);
	CHECK_EQ_INT((int) result.n_histories, 2);
	CHECK_EQ_STR(json_string_value(json_object_get(result.history, "segment")),
	             "00000000000000c1-00000000000000000011-0000000001.rec");
	CHECK_EQ_INT(rebuild("./base.db", REBUILD_TO_TIME, 20000000), 0);
	check_made(20);
	CHECK_EQ_INT(rebuild("./base.db", REBUILD_TO_END, 0), 0);
	check_made(25);
	/* The newest one. */
	wanted_history = 1;
	CHECK_EQ_INT(rebuild("./base.db", REBUILD_TO_REVISION, 20), 0);
	CHECK_EQ_INT(history_number("first"), 16);
	CHECK(result.content.hashkv.hash != hash);
	/* At the end it is the default, and one alone need not be named. */
	wanted_history = 0;
	CHECK_EQ_INT(rebuild("./base.db", REBUILD_TO_END, 0), 0);
	CHECK_EQ_INT(result.content.reach.current, 22);
	CHECK_EQ_INT(rebuild("./base.db", REBUILD_TO_REVISION, 24), 0);
	check_made(24);
	CHECK_EQ_INT((int) result.n_histories, 1);
	(void) unlink("out.db");
	make_record();
}

/* A wrong byte in the middle: all before it can be had, nothing behind it. */
static void test_damage(void)
{
	CHECK(scratch_shell("f=$(ls record/*-0000000003.rec) && "
	                    "printf X | dd of=$f bs=1 seek=$(($(stat -c %%s $f) / 2)) conv=notrunc "
	                    "status=none"));
	refused("./base.db", 30, "UNREACHABLE", "the nearest that can be had is 2");
	CHECK(strstr(problem.reason, "-0000000003.rec") != NULL);
	CHECK_EQ_INT(rebuild("./base.db", REBUILD_TO_REVISION, 26), 0);
	check_made(26);
	(void) unlink("out.db");
	/* One whose header is wrong is as if it were missing, and said. */
	make_record();
	CHECK(scratch_shell("printf X | dd of=$(ls record/*-0000000002.rec) bs=1 seek=40 conv=notrunc "
	                    "status=none"));
	refused("./base.db", 28, "UNREACHABLE", "the nearest that can be had is 20;");
	CHECK(strstr(problem.reason, "-0000000002.rec") != NULL);
	CHECK_EQ_INT(rebuild("./base.db", REBUILD_TO_REVISION, 20), 0);
	(void) unlink("out.db");
	/* So is one that was emptied. */
	make_record();
	CHECK(scratch_shell("truncate -s 0 record/*-0000000002.rec"));
	refused("./base.db", 28, "UNREACHABLE", "the nearest that can be had is 20;");
	CHECK(strstr(problem.reason, "-0000000002.rec") != NULL);
	(void) unlink("out.db");
	/* In a segment that others follow it is found out as it is read. */
	make_record();
	CHECK(scratch_shell("f=$(ls record/*-0000000001.rec) && "
	                    "printf X | dd of=$f bs=1 seek=$(($(stat -c %%s $f) - 200)) conv=notrunc "
	                    "status=none"));
	refused("./base.db", 25, "DAMAGED", "-0000000001.rec");
	CHECK_EQ_INT(rebuild("./base.db", REBUILD_TO_TIME, 16000000), 0);
	check_made(16);
	CHECK_EQ_INT(rebuild("./base.db", REBUILD_TO_REVISION, 16), 0);
	check_made(16);
	(void) unlink("out.db");
	/* A segment that is missing parts what is around it. */
	make_record();
	CHECK(scratch_shell("rm record/*-0000000002.rec"));
	refused("./base.db", 28, "UNREACHABLE", "the nearest that can be had is 20;");
	/* So does one that is not the one that was there. */
	make_record();
	CHECK(scratch_shell("cp record/*-0000000002.rec saved && rm -r record"));
	CHECK_EQ_INT(changes[20].kv.main, 17);
	changes[20].version++;
	make_record();
	changes[20].version--;
	CHECK(scratch_shell("mv saved record/$(basename record/*-0000000002.rec)"));
	refused("./base.db", 24, "DAMAGED", "does not belong behind");
	make_record();
}

/* Told before it begins: what is needed, for what, and what is free. */
static void test_room(void)
{
	const uint64_t huge = UINT64_C(1) << 60;
	const struct rebuildroom rooms[] = {{.fetched_bytes = huge},
	                                    {.unpacked_bytes = huge},
	                                    {.base_bytes = huge},
	                                    {.record_bytes = huge}};
	const char *const parts[] = {"1152921504607 MB to fetch", "1152921504607 MB to fetch",
	                             ": 1152921504607 MB for the database",
	                             "1152921504607 MB for what was recorded"};

	for (size_t i = 0; i < ARRAY_SIZE(rooms); i++) {
		problem = (struct problem){0};
		CHECK_EQ_INT(rebuildroom_check(&rooms[i], "./made.db", &problem), -ENOSPC);
		CHECK_EQ_STR(problem.code, "NO_SPACE");
		if (!CHECK(strstr(problem.reason, "about 1152921504607 MB are needed") != NULL) ||
		    !CHECK(strstr(problem.reason, parts[i]) != NULL) ||
		    !CHECK(strstr(problem.reason, " MB are free in '.'") != NULL))
			(void) fprintf(stderr, "  %s\n", problem.reason);
	}
	CHECK_EQ_INT(rebuildroom_check(&(struct rebuildroom){.base_bytes = 1}, "made.db", &problem), 0);
}

/* What is recorded behind a revision, by whole segments. */
static void test_record_bytes(void)
{
	AUTO(chains_free) struct chains *chains = NULL;
	const struct chain *chain;
	uint64_t all, half;

	CHECK_EQ_INT(chains_read("record", &problem, &chains), 0);
	chain = chains_at(chains, 0);
	all = chains_bytes(chains, chain, chain->first, chain->last);
	half = chains_bytes(chains, chain, chain->last, chain->last);
	CHECK(half > 0 && half < all);
	CHECK_EQ_INT(chains_bytes(chains, chain, chain->first, chain->last + 100), (int64_t) all);
	CHECK(chains_bytes(chains, chain, chain->first, chain->first) < all);
}

/* While it is read for a time, too, which is by far the most that is read. */
static void check_time_given_up(void)
{
	AUTO(chains_free) struct chains *chains = NULL;
	AUTO(chainread_free) struct chainread *read = NULL;
	struct record_frame frame;
	const struct chain *chain;
	int64_t revision = -1;

	CHECK_EQ_INT(chains_read("record", &problem, &chains), 0);
	chain = chains_at(chains, 0);
	problem = (struct problem){0};
	(void) raise(SIGTERM);
	read = chainread_open(chains, chain, chain->first);
	CHECK_EQ_INT(chainread_next(read, &problem, &frame), -ECANCELED);
	problem = (struct problem){0};
	CHECK_EQ_INT(chains_revision_at(chains, chain, chain->last_us, &problem, &revision),
	             -ECANCELED);
	CHECK_EQ_STR(problem.code, "CANCELLED");
	/* Nor is what was read until then taken for all of it. */
	problem = (struct problem){0};
	CHECK_EQ_INT(chains_revision_at(chains, chain, chain->first_us - 1, &problem, &revision),
	             -ECANCELED);
	CHECK_EQ_INT(revision, -1);
}

/* Neither a disk that is full nor a signal leaves anything. */
static void test_given_up(void)
{
	const struct rlimit none = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
	const struct rlimit little = {.rlim_cur = 8192, .rlim_max = RLIM_INFINITY};

	(void) signal(SIGXFSZ, SIG_IGN);
	CHECK_EQ_INT(setrlimit(RLIMIT_FSIZE, &little), 0);
	refused("./base.db", 25, "NO_SPACE", "cannot write");
	CHECK_EQ_INT(setrlimit(RLIMIT_FSIZE, &none), 0);
	cancel_watch();
	check_time_given_up();
	refused("./base.db", 25, "CANCELLED", "cancelled");
}

/* --- a store that shows two entries under one name --- */

static void save_entry(const struct catalog_entry *entry, const char *path)
{
	AUTO(free) char *text = catalog_print(entry);

	CHECK_EQ_INT(file_write_atomic(path, text, strlen(text), 0600, FILE_VOLATILE), 0);
}

/* The code of the refusal, where the store shows `first` in its list and `second` by the id. */
static const char *choose_from(const char *first, const char *second, const char *id)
{
	AUTO(free)
	char *programs = xasprintf(
	    "{\"upload\": [\"/bin/false\", \"{key}\"], \"delete\": [\"/bin/false\", \"{key}\"],"
	    "\"download\": [\"/bin/sh\", \"-c\", \"case $1 in *.json) ;; *) exit 1;; esac; "
	    "if test -e seen; then cat %s; else touch seen; cat %s; fi\", \"sh\", \"{key}\"],"
	    "\"list\": [\"/bin/sh\", \"-c\", \"echo 900 %016x/%s.json\", \"sh\", \"{prefix}\"]}",
	    second, first, CLUSTER, id);
	struct s3 *s3 = NULL;
	const struct rebuild_request request = {
	    .record = "record", .to = REBUILD_TO_REVISION, .revision = 20, .output = "out.db"};
	struct source_request base = {
	    .name = "latest", .s3_prefix = "", .fetched = ".", .unpacked = "unpacked.db"};
	struct rebuildchoice choice = {0};

	problem = (struct problem){0};
	(void) unlink("seen");
	CHECK_EQ_INT(storeprogram_open(programs, &problem, &s3), 0);
	base.s3 = s3;
	CHECK(rebuildchoice_make(&request, &base, &problem, &choice) < 0);
	rebuildchoice_fini(&choice);
	s3_free(s3);
	return problem.code;
}

static void test_two_entries(void)
{
	AUTO(catalog_entry_free) struct catalog_entry *entry = entries_new("a", CLUSTER, 15, 15);
	AUTO(signature_key_free) struct signature_key *key = NULL;

	make_record();
	CHECK_EQ_INT(signature_key_load_or_make("key", &key), 0);
	save_entry(entry, "unsigned");
	trust_sign(entry, key);
	save_entry(entry, "listed");
	entry->file_sha256[0] = '1';
	trust_sign(entry, key);
	save_entry(entry, "other");
	/* The one that was listed is fetched; there is none. */
	CHECK_EQ_STR(choose_from("listed", "listed", entry->id), "S3_NOT_FOUND");
	CHECK_EQ_STR(choose_from("listed", "unsigned", entry->id), "UNTRUSTED");
	CHECK_EQ_STR(choose_from("listed", "other", entry->id), "MISMATCH");
	(void) scratch_shell("rm -f seen listed unsigned other key .1970*");
}

int main(void)
{
	scratch_enter();
	make_world();
	make_snapshot("base.db", 15);
	make_snapshot("later.db", 35);
	changes[14].kv.value[4] ^= 1;
	make_snapshot("other.db", 15);
	changes[14].kv.value[4] ^= 1;
	make_record();
	test_every_revision();
	test_times();
	test_outage();
	test_clock_ahead();
	test_refused();
	test_there();
	test_hashes();
	test_histories();
	test_damage();
	test_two_entries();
	test_room();
	test_record_bytes();
	test_given_up();
	source_free(result.base);
	json_decref(result.history);
	scratch_leave();
	return check_result();
}
