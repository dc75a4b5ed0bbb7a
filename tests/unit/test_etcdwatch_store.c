/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of snapshots: what is kept is found again, what is odd is told and left alone. */
#include "etcdwatch/store/store.h"
#include "etcdwatch/catalog/catalog.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/turn.h"

#define SHA "0000000000000000000000000000000000000000000000000000000000000000"
#define BODY "a snapshot"

static char directory[] = "/tmp/test_etcdwatch_store.XXXXXX";
static struct ev_loop *ev;

struct answer {
	unsigned n;
	int r;
	char reason[STORE_REASON_MAX];
};

static void done_cb(int r, const char *reason, void *userdata)
{
	struct answer *a = userdata;

	a->n++;
	a->r = r;
	(void) snprintf(a->reason, sizeof(a->reason), "%s", reason);
}

static int wait_for(struct answer *a)
{
	int64_t until_us = mono_now_us() + 10 * US_PER_S;

	while (a->n == 0 && mono_now_us() < until_us)
		turn_once(ev);
	CHECK_EQ_INT(a->n, 1);
	return a->r;
}

static char *path_of(const char *name)
{
	return xasprintf("%s/%s", directory, name);
}

static bool exists(const char *name)
{
	AUTO(free) char *path = path_of(name);

	return access(path, F_OK) == 0;
}

static void write_file(const char *name, const char *text)
{
	AUTO(free) char *path = path_of(name);

	CHECK_EQ_INT(file_write_atomic(path, text, strlen(text), 0600, FILE_VOLATILE), 0);
}

static struct catalog_entry *new_entry(const char *job, int64_t started_s, int64_t revision)
{
	struct catalog_entry *e = catalog_entry_new();

	free(e->job);
	e->job = xstrdup(job);
	free(e->member_name);
	e->member_name = xstrdup("m1");
	free(e->server_version);
	e->server_version = xstrdup("3.5.16");
	e->started_s = started_s;
	e->finished_s = started_s + 1;
	e->revision = revision;
	e->file_bytes = (int64_t) strlen(BODY);
	(void) snprintf(e->file_sha256, sizeof(e->file_sha256), SHA);
	(void) snprintf(e->db_sha256, sizeof(e->db_sha256), SHA);
	e->digest_verified = true;
	e->tree_verified = true;
	free(e->id);
	e->id = catalog_build_id(started_s, job, "m1", "m1", revision);
	free(e->file);
	e->file = catalog_file_name(e);
	return e;
}

static int scan(struct store *store)
{
	struct answer a = {0};

	store_scan(store, done_cb, &a);
	return wait_for(&a);
}

static int keep(struct store *store, const char *job, int64_t started_s, int64_t revision)
{
	AUTO(free) char *path = path_of(".taking-a-1.db");
	struct answer a = {0};

	write_file(".taking-a-1.db", BODY);
	store_keep(store, path, new_entry(job, started_s, revision), done_cb, &a);
	return wait_for(&a);
}

static int reject(struct store *store, int64_t started_s)
{
	AUTO(free) char *path = path_of(".taking-a-1.db");
	struct catalog_entry *e = new_entry("a", started_s, 1);
	struct answer a = {0};

	e->rejected = xstrdup("it is bad");
	write_file(".taking-a-1.db", BODY);
	store_reject(store, path, e, done_cb, &a);
	return wait_for(&a);
}

static void test_keep(struct disk *disk)
{
	struct store *store = store_new(disk, directory, "a", NULL);

	CHECK_EQ_INT(scan(store), 0);
	CHECK_EQ_INT(store_n(store), 0);
	CHECK_EQ_INT(keep(store, "a", 2000, 20), 0);
	CHECK_EQ_INT(keep(store, "a", 1000, 10), 0);
	CHECK_EQ_INT(store_n(store), 2);
	CHECK_EQ_INT(store_get(store, 0)->revision, 10); /* oldest first */
	CHECK_EQ_INT(store_get(store, 1)->revision, 20);
	CHECK(exists("19700101T003320Z-a-m1-r20.db") && exists("19700101T003320Z-a-m1-r20.json"));
	/* What has the name already is not written over. */
	CHECK_EQ_INT(keep(store, "a", 2000, 20), -EEXIST);
	store_free(store);

	/* And so the next process finds it. */
	store = store_new(disk, directory, "a", NULL);
	CHECK_EQ_INT(scan(store), 0);
	CHECK_EQ_INT(store_n(store), 2);
	CHECK_EQ_INT(store_n_odd(store), 0);
	store_free(store);
}

/* Where the directory is; that of the disk changes meanwhile, so only about. */
static void test_free_bytes(struct disk *disk)
{
	struct store *store = store_new(disk, directory, "a", NULL);
	struct statvfs fs;
	int64_t free_bytes;

	CHECK_EQ_INT(store_free_bytes(store), -1);
	CHECK_EQ_INT(scan(store), 0);
	CHECK_EQ_INT(statvfs(directory, &fs), 0);
	free_bytes = (int64_t) (fs.f_bavail * fs.f_frsize);
	CHECK(store_free_bytes(store) > 0 &&
	      llabs(store_free_bytes(store) - free_bytes) < free_bytes / 10);
	store_free(store);
}

/* What is kept is signed, again when its timeline changes; what another node has signed stays. */
static void test_signed(struct disk *disk)
{
	AUTO(free) char *key_path = path_of(".signing.key");
	AUTO(free) char *other_path = path_of(".other.key");
	AUTO(signature_key_free) struct signature_key *key = NULL, *other = NULL;
	const char *id = "19700101T013320Z-a-m1-r50";
	struct answer a = {0};
	struct store *store;

	CHECK_EQ_INT(signature_key_load_or_make(key_path, &key), 0);
	CHECK_EQ_INT(signature_key_load_or_make(other_path, &other), 0);
	store = store_new(disk, directory, "a", key);
	CHECK_EQ_INT(keep(store, "a", 5600, 50), 0);
	store_set_timeline(store, id, 2, done_cb, &a);
	CHECK_EQ_INT(wait_for(&a), 0);
	if (CHECK(store_find(store, id) != NULL)) {
		const struct catalog_entry *e = store_find(store, id);
		const char *const keys[] = {signature_key_public(key)};
		const struct trust trust = {.keys = keys, .n = 1};

		CHECK_EQ_INT(e->timeline, 2);
		CHECK_EQ_INT(trust_judge(e, &trust), TRUST_GOOD);
	}
	store_free(store);
	store = store_new(disk, directory, "a", other);
	a = (struct answer){0};
	store_set_timeline(store, id, 3, done_cb, &a);
	CHECK_EQ_INT(wait_for(&a), 0);
	CHECK(store_find(store, id) != NULL && store_find(store, id)->timeline == 2 &&
	      trust_judge(store_find(store, id), NULL) == TRUST_UNKNOWN);
	a = (struct answer){0};
	store_remove(store, &id, 1, done_cb, &a);
	CHECK_EQ_INT(wait_for(&a), 0);
	store_free(store);
	(void) unlink(key_path);
	(void) unlink(other_path);
}

/* An entry that could not be read any more does not take the place of one that can. */
static void test_unreadable(struct disk *disk)
{
	struct store *store = store_new(disk, directory, "a", NULL);
	const char *id = "19700101T013320Z-a-m1-r50";
	struct catalog_copy copy = {.target = (char[]){"far"}, .key = (char[]){"k"}, .at_s = 1};
	struct answer a = {0};

	CHECK_EQ_INT(keep(store, "a", 5600, 50), 0);
	store_set_timeline(store, id, INT64_C(1000000001), done_cb, &a);
	CHECK_EQ_INT(wait_for(&a), -ERANGE);
	CHECK(strstr(a.reason, "1000000001") != NULL);
	a = (struct answer){0};
	store_set_timeline(store, id, 0, done_cb, &a);
	CHECK_EQ_INT(wait_for(&a), -EINVAL);
	a = (struct answer){0};
	/* Without a digest. */
	store_record_copy(store, id, &copy, done_cb, &a);
	CHECK_EQ_INT(wait_for(&a), -EINVAL);
	store_free(store);
	store = store_new(disk, directory, "a", NULL);
	CHECK_EQ_INT(scan(store), 0);
	CHECK_EQ_INT(store_n_odd(store), 0);
	CHECK(store_find(store, id) != NULL && store_find(store, id)->timeline == 1);
	a = (struct answer){0};
	store_remove(store, &id, 1, done_cb, &a);
	CHECK_EQ_INT(wait_for(&a), 0);
	store_free(store);
}

static void test_leftovers(struct disk *disk)
{
	struct store *store = store_new(disk, directory, "a", NULL);

	write_file(".taking-a-4711.db", "half");
	write_file(".taking-a-4711.db.zst", "half packed");
	write_file("..taking-a-4711.db.zst.new", "half packed");
	write_file(".taking-a-b-4711.db", "another job's");
	CHECK_EQ_INT(scan(store), 0);
	CHECK(!exists(".taking-a-4711.db"));
	CHECK(!exists(".taking-a-4711.db.zst"));
	CHECK(!exists("..taking-a-4711.db.zst.new"));
	CHECK(exists(".taking-a-b-4711.db"));
	store_free(store);
}

static void test_odd(struct disk *disk)
{
	static const struct {
		const char *name, *text, *says;
	} cases[] = {
	    {"19700101T000000Z-a-m1-r1.json", "{\"version\":1", "is no JSON"},
	    {"19700101T000000Z-a-m1-r2.db.zst", "a file", "has no entry"},
	    {"19700101T003320Z-a-m1-r20.db", "longer than it should be", "by its entry 10"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct store *store = store_new(disk, directory, "a", NULL);

		write_file(cases[i].name, cases[i].text);
		CHECK_EQ_INT(scan(store), 0);
		if (CHECK_EQ_INT(store_n_odd(store), 1))
			CHECK(strstr(store_odd(store, 0), cases[i].says) != NULL);
		CHECK(exists(cases[i].name)); /* it is not ours to remove */
		if (strstr(cases[i].name, "r20") != NULL) {
			CHECK_EQ_INT(store_n(store), 1);
			write_file(cases[i].name, BODY);
		} else {
			AUTO(free) char *path = path_of(cases[i].name);

			(void) unlink(path);
		}
		store_free(store);
	}
}

static void test_other_job(struct disk *disk)
{
	struct store *store = store_new(disk, directory, "a-b", NULL);

	CHECK_EQ_INT(keep(store, "a-b", 3000, 30), 0);
	CHECK_EQ_INT(store_n(store), 1);
	store_free(store);
	store = store_new(disk, directory, "a", NULL);
	CHECK_EQ_INT(scan(store), 0);
	CHECK_EQ_INT(store_n(store), 2);
	CHECK_EQ_INT(store_n_odd(store), 0);
	store_free(store);
}

static void test_remove(struct disk *disk)
{
	struct store *store = store_new(disk, directory, "a", NULL);
	const char *id = "19700101T001640Z-a-m1-r10";
	struct answer a = {0};

	CHECK_EQ_INT(scan(store), 0);
	store_remove(store, &id, 1, done_cb, &a);
	CHECK_EQ_INT(wait_for(&a), 0);
	CHECK_EQ_INT(store_n(store), 1);
	CHECK(!exists("19700101T001640Z-a-m1-r10.db") && !exists("19700101T001640Z-a-m1-r10.json"));
	store_free(store);
}

static void test_reject(struct disk *disk)
{
	struct store *store = store_new(disk, directory, "a", NULL);

	CHECK_EQ_INT(scan(store), 0);
	for (int64_t s = 5000; s < 5005; s++)
		CHECK_EQ_INT(reject(store, s), 0);
	CHECK_EQ_INT(store_n(store), 1); /* none of them counts */
	CHECK_EQ_INT(store_n_rejected(store), STORE_REJECTED_MAX);
	CHECK(!exists("rejected/19700101T012321Z-a-m1-r1.db"));
	CHECK(!exists("rejected/19700101T012321Z-a-m1-r1.json"));
	CHECK(exists("rejected/19700101T012322Z-a-m1-r1.db"));
	CHECK(exists("rejected/19700101T012322Z-a-m1-r1.json"));
	store_free(store);
}

/* As run.c has it proven. */
static void promise_of(const char *name, const char *member_name, int64_t started_s,
                       int64_t revision, const char *sha256)
{
	struct catalog_entry *e = new_entry("a", started_s, revision);
	AUTO(free) char *text = NULL;

	free(e->id);
	e->id = catalog_build_id(started_s, "a", member_name, member_name, revision);
	free(e->file);
	e->file = catalog_file_name(e);
	(void) snprintf(e->file_sha256, sizeof(e->file_sha256), "%s", sha256);
	text = catalog_print(e);
	write_file(name, text);
	catalog_entry_free(e);
}

static void promise(const char *name, int64_t started_s, int64_t revision, const char *sha256)
{
	promise_of(name, "m1", started_s, revision, sha256);
}

/* What a crash left between the name of a snapshot and its entry. */
static void test_adopted(struct disk *disk)
{
	static const char body_sha256[] =
	    "4fd24382e6a60f42a9b4a85f8135fd29c109de63d8c604138b6817cdec77d3c0";
	struct store *store = store_new(disk, directory, "a", NULL);
	size_t before;

	CHECK_EQ_INT(scan(store), 0);
	before = store_n(store);
	/* One that is whole, one that is not what was taken, one that got no name any more. */
	promise(".19700101T023000Z-a-m1-r70.json", 9000, 70, body_sha256);
	write_file("19700101T023000Z-a-m1-r70.db", BODY);
	promise(".19700101T023001Z-a-m1-r71.json", 9001, 71, body_sha256);
	write_file("19700101T023001Z-a-m1-r71.db", "a snapshoT");
	promise(".19700101T023002Z-a-m1-r72.json", 9002, 72, body_sha256);
	CHECK_EQ_INT(scan(store), 0);
	CHECK_EQ_INT(store_n(store), before + 1);
	if (CHECK_EQ_INT(store_n_adopted(store), 1))
		CHECK_EQ_STR(store_adopted(store, 0), "19700101T023000Z-a-m1-r70");
	CHECK(store_find(store, "19700101T023000Z-a-m1-r70") != NULL);
	CHECK(store_find(store, "19700101T023001Z-a-m1-r71") == NULL);
	CHECK(!exists(".19700101T023000Z-a-m1-r70.json"));
	CHECK(!exists(".19700101T023002Z-a-m1-r72.json"));
	if (CHECK_EQ_INT(store_n_odd(store), 2))
		CHECK(strstr(store_odd(store, 1), "it is not what was taken") != NULL);
	CHECK(exists("19700101T023001Z-a-m1-r71.db")); /* nobody else's to remove */

	/* The other file is the first one again: then it counts. */
	write_file("19700101T023001Z-a-m1-r71.db", BODY);
	CHECK_EQ_INT(scan(store), 0);
	CHECK_EQ_INT(store_n(store), before + 2);
	CHECK_EQ_INT(store_n_odd(store), 0);
	CHECK_EQ_INT(scan(store), 0);
	CHECK_EQ_INT(store_n_adopted(store), 0);

	/* A node may be called so. */
	promise_of(".19700101T023003Z-a-m.db1-r73.json", "m.db1", 9003, 73, body_sha256);
	write_file("19700101T023003Z-a-m.db1-r73.db", BODY);
	CHECK_EQ_INT(scan(store), 0);
	if (CHECK_EQ_INT(store_n_adopted(store), 1))
		CHECK_EQ_STR(store_adopted(store, 0), "19700101T023003Z-a-m.db1-r73");
	store_free(store);
}

/* Calls that come at once are done one after the other. */
static void test_many(struct disk *disk)
{
	struct store *store = store_new(disk, directory, "a", NULL);
	AUTO(free) char *path = path_of(".taking-a-1.db");
	char target[] = "site", key[] = "k/x.db";
	const struct catalog_copy copy = {
	    .target = target, .key = key, .bytes = 10, .sha256 = SHA, .at_s = 10001};
	const char *id = "19700101T024640Z-a-m1-r80";
	struct answer kept = {0}, copied = {0}, again = {0}, removed = {0}, gone = {0};
	const struct catalog_entry *e;

	CHECK_EQ_INT(scan(store), 0);
	write_file(".taking-a-1.db", BODY);
	store_keep(store, path, new_entry("a", 10000, 80), done_cb, &kept);
	store_record_copy(store, id, &copy, done_cb, &copied);
	store_record_copy(store, id, &copy, done_cb, &again);
	CHECK_EQ_INT(wait_for(&again), 0);
	CHECK(kept.n == 1 && kept.r == 0 && copied.n == 1 && copied.r == 0);
	e = store_find(store, id);
	if (CHECK(e != NULL) && CHECK_EQ_INT(e->n_copies, 1)) {
		CHECK_EQ_STR(e->copies[0].key, key);
		CHECK_EQ_INT(e->copies[0].at_s, 10001);
	}
	store_remove(store, &id, 1, done_cb, &removed);
	store_record_copy(store, id, &copy, done_cb, &gone);
	CHECK_EQ_INT(wait_for(&gone), -ENOENT);
	CHECK_EQ_INT(removed.r, 0);
	CHECK(store_find(store, id) == NULL);
	CHECK(!exists("19700101T024640Z-a-m1-r80.json") && !exists(".19700101T024640Z-a-m1-r80.json"));
	store_free(store);
}

static void test_no_entry_no_file(struct disk *disk)
{
	struct store *store = store_new(disk, directory, "a", NULL);
	const char *entry = "19700101T015000Z-a-m1-r60.json";
	AUTO(free) char *in_the_way = path_of(entry);

	/* The entry cannot be written. */
	CHECK_EQ_INT(scan(store), 0);
	CHECK_EQ_INT(mkdir(in_the_way, 0700), 0);
	CHECK(keep(store, "a", 6600, 60) < 0);
	CHECK_EQ_INT(store_n(store), 1);
	CHECK(!exists("19700101T015000Z-a-m1-r60.db"));
	CHECK(!exists(".taking-a-1.db"));
	(void) rmdir(in_the_way);
	store_free(store);
}

int main(void)
{
	AUTO(free) char *clear = NULL;
	struct disk *disk = NULL;

	ev = ev_default_loop(0);
	if (mkdtemp(directory) == NULL || disk_new(ev, &disk) < 0)
		return 1;
	test_keep(disk);
	test_free_bytes(disk);
	test_signed(disk);
	test_unreadable(disk);
	test_leftovers(disk);
	test_odd(disk);
	test_other_job(disk);
	test_remove(disk);
	test_reject(disk);
	test_no_entry_no_file(disk);
	test_adopted(disk);
	test_many(disk);
	disk_free(disk);
	clear = xasprintf("rm -rf '%s'", directory);
	return system(clear) == 0 ? check_result() : 1;
}
