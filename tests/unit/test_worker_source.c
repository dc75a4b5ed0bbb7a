/* SPDX-License-Identifier: Apache-2.0 */
/* Which snapshot a name means, and everything for which one is refused; and what static pods say of
 * a data directory. What comes from S3, or is encrypted, is for the stories. */
#include "etcdwatch/worker/source/source.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/fileio.h"
#include "base/macro.h"
#include "etcdwatch/worker/restore/hostfacts.h"
#include "etcdwatch/worker/source/sourcefind.h"
#include "etcdwatch/worker/store/storeprogram.h"
#include "tests/unit/check.h"
#include "tests/unit/entries.h"
#include "tests/unit/scratch.h"

#define REAL "tests/bolt/etcd-3.5.db"
#define HOUR_S 3600
#define T0 INT64_C(1795293000)

static char real[PATH_MAX]; /* from the scratch directory */

/* In the directory of snapshots; takes the entry. Its file is not there, unless somebody makes it.
 */
static char *put_entry(struct catalog_entry *entry, const char *dir)
{
	AUTO(free) char *path = xasprintf("%s/%s.json", dir, entry->id);
	AUTO(free) char *text = catalog_print(entry);
	char *id = xstrdup(entry->id);

	CHECK_EQ_INT(file_write_atomic(path, text, strlen(text), 0600, FILE_VOLATILE), 0);
	catalog_entry_free(entry);
	return id;
}

static void reset(void)
{
	(void) scratch_shell("rm -rf * && mkdir -p snaps/rejected");
}

/* --- names --- */

/* The revision of the entry that is found, or what is refused. */
static int64_t find(const char *name, const char *job, struct problem *problem)
{
	const struct source_request request = {.name = name, .directory = "snaps", .job = job};
	struct sourcefound found = {0};
	int64_t revision = -1;

	*problem = (struct problem){0};
	if (sourcefind_local(&request, problem, &found) == 0)
		revision = found.entry != NULL ? found.entry->revision : 0;
	sourcefound_fini(&found);
	return revision;
}

static void test_latest(void)
{
	struct catalog_entry *entry;
	struct problem problem;

	reset();
	CHECK_EQ_INT(find("latest", NULL, &problem), -1);
	CHECK_EQ_STR(problem.code, "NOT_FOUND");
	free(put_entry(entries_new("a", 1, T0, 100), "snaps"));
	/* Taken later, by a clock that is wrong. */
	free(put_entry(entries_new("a", 1, T0 - HOUR_S, 120), "snaps"));
	CHECK_EQ_INT(find("latest", NULL, &problem), 120);
	/* What does not count. */
	entry = entries_new("a", 1, T0, 130);
	entry->tree_verified = false;
	free(put_entry(entry, "snaps"));
	free(put_entry(entries_new("a", 1, T0, 140), "snaps/rejected"));
	(void) scratch_shell("echo nonsense >snaps/2-x.json");
	CHECK_EQ_INT(find("latest", NULL, &problem), 120);
	/* The cluster was restored, and is another one since; its revision may be lower. */
	free(put_entry(entries_new("a", 2, T0 + HOUR_S, 50), "snaps"));
	CHECK_EQ_INT(find("latest", NULL, &problem), 50);
	/* Another job, in the same directory. */
	free(put_entry(entries_new("b", 2, T0 + 2 * HOUR_S, 70), "snaps"));
	CHECK_EQ_INT(find("latest", NULL, &problem), 70);
	CHECK_EQ_INT(find("latest", "a", &problem), 50);
	CHECK_EQ_INT(find("latest", "c", &problem), -1);
}

static void test_ids(void)
{
	AUTO(free) char *id = NULL, *rejected = NULL, *path = NULL, *other = NULL;
	AUTO(free) char *dotted_path = NULL;
	struct catalog_entry *dotted = entries_new("a", 1, T0, 120);
	struct problem problem;

	reset();
	free(dotted->id);
	dotted->id = catalog_build_id(T0, "a", "n.db1", "n.db1", 120);
	free(dotted->file);
	dotted->file = catalog_file_name(dotted);
	dotted_path = xasprintf("snaps/%s", dotted->file);
	free(put_entry(dotted, "snaps"));
	id = put_entry(entries_new("a", 1, T0, 100), "snaps");
	rejected = put_entry(entries_new("a", 1, T0, 110), "snaps/rejected");
	CHECK_EQ_INT(find(id, NULL, &problem), 100);
	CHECK_EQ_INT(find(rejected, NULL, &problem), 110);
	CHECK_EQ_INT(find("2026-none", NULL, &problem), -1);
	CHECK_EQ_STR(problem.code, "NOT_FOUND");
	CHECK_EQ_INT(find("none", NULL, &problem), -1);
	CHECK(strstr(problem.reason, "cannot be the id") != NULL);
	/* A file is a file, and has its entry beside it. */
	path = xasprintf("snaps/%s.db", id);
	scratch_make(path, 100, 1);
	CHECK_EQ_INT(find(path, NULL, &problem), 100);
	scratch_make("no-entry.db", 100, 1);
	CHECK_EQ_INT(find("no-entry.db", NULL, &problem), 0);
	/* Whatever its node is called. */
	scratch_make(dotted_path, 100, 1);
	CHECK_EQ_INT(find(dotted_path, NULL, &problem), 120);
	/* But not one that is about another file, or cannot be read: it may be about this one. */
	other = xasprintf("snaps/%s.db.zst", id);
	scratch_make(other, 100, 1);
	CHECK_EQ_INT(find(other, NULL, &problem), -1);
	CHECK_EQ_STR(problem.code, "MISMATCH");
	(void) scratch_shell("echo nonsense >snaps/%s.json", id);
	CHECK_EQ_INT(find(path, NULL, &problem), -1);
	CHECK_EQ_STR(problem.code, "MISMATCH");
	/* A data directory. */
	(void) scratch_shell("mkdir -p etcd/member/snap && touch etcd/member/snap/db");
	CHECK_EQ_INT(find("etcd", NULL, &problem), 0);
	CHECK_EQ_INT(find("./none", NULL, &problem), -1);
	CHECK_EQ_STR(problem.code, "NOT_FOUND");
}

/* An older entry, signed as it may be, that lies under the name of a newer one. */
static void test_moved(void)
{
	AUTO(free) char *id = NULL, *older = NULL;
	struct problem problem;

	reset();
	id = put_entry(entries_new("a", 1, T0, 100), "snaps");
	older = put_entry(entries_new("a", 1, T0 - HOUR_S, 50), "snaps");
	(void) scratch_shell("cp snaps/%s.json snaps/%s.json", older, id);
	CHECK_EQ_INT(find(id, NULL, &problem), -1);
	CHECK_EQ_STR(problem.code, "MISMATCH");
	CHECK_EQ_INT(find(older, NULL, &problem), 50);
	(void) scratch_shell("mv snaps/%s.json snaps/rejected", id);
	CHECK_EQ_INT(find(id, NULL, &problem), -1);
	CHECK_EQ_STR(problem.code, "MISMATCH");
}

/* The revision of the entry that is found by its id in the store below s/. */
static int64_t find_stored(struct s3 *s3, const char *prefix, const char *name,
                           struct problem *problem)
{
	const struct source_request request = {.name = name, .s3 = s3, .s3_prefix = prefix};
	struct sourcefound found = {0};
	int64_t revision = -1;

	*problem = (struct problem){0};
	if (sourcefind_s3(&request, problem, &found) == 0)
		revision = found.entry->revision;
	sourcefound_fini(&found);
	return revision;
}

#define STORED "s/p/0000000000000001"

static void test_moved_in_store(void)
{
	static const char programs[] =
	    "{\"upload\": [\"/bin/false\", \"{key}\"], \"delete\": [\"/bin/false\", \"{key}\"],"
	    "\"download\": [\"/bin/sh\", \"-c\", \"cat s/$1\", \"sh\", \"{key}\"],"
	    "\"list\": [\"/bin/sh\", \"-c\", \"cd s && find . -type f -printf '%s %P\\n'\", "
	    "\"sh\", \"{prefix}\"]}";
	AUTO(free) char *id = NULL, *older = NULL;
	struct problem problem = {0};
	struct s3 *s3 = NULL;

	reset();
	(void) scratch_shell("mkdir -p " STORED " s/p/0000000000000002");
	CHECK_EQ_INT(storeprogram_open(programs, &problem, &s3), 0);
	id = put_entry(entries_new("a", 1, T0, 100), STORED);
	older = put_entry(entries_new("a", 1, T0 - HOUR_S, 50), STORED);
	CHECK_EQ_INT(find_stored(s3, "p/", id, &problem), 100);
	CHECK_EQ_INT(find_stored(s3, "p/0000000000000001/", id, &problem), 100);
	(void) scratch_shell("cp " STORED "/%s.json " STORED "/%s.json", older, id);
	CHECK_EQ_INT(find_stored(s3, "p/", id, &problem), -1);
	CHECK_EQ_STR(problem.code, "MISMATCH");
	CHECK(strstr(problem.reason, older) != NULL);
	/* The entry of one cluster in the folder of another. */
	(void) scratch_shell("mv " STORED "/%s.json s/p/0000000000000002", older);
	CHECK_EQ_INT(find_stored(s3, "p/", older, &problem), -1);
	CHECK_EQ_STR(problem.code, "MISMATCH");
	CHECK(strstr(problem.reason, "not in its folder") != NULL);
	s3_free(s3);
}

/* --- what others write into the store --- */

/* Newer than the one entry that is ours, and then that. */
struct junk {
	size_t n;
	const char *before, *after; /* of the keys, around their number */
	const char *text;
	uint64_t n_bytes;
	char *key, *entry; /* ours */
	size_t n_reads;
};

static int junk_get(struct s3 *s3, const char *key, uint64_t offset UNUSED, s3_data_fn data,
                    void *userdata, struct s3_object *ret_object UNUSED)
{
	struct junk *junk = s3_store(s3);
	const char *text = strcmp(key, junk->key) == 0 ? junk->entry : junk->text;

	junk->n_reads++;
	return data(text, strlen(text), userdata);
}

static int junk_list(struct s3 *s3, const char *prefix UNUSED, uint64_t max UNUSED,
                     s3_listed_fn listed, void *userdata)
{
	const struct junk *junk = s3_store(s3);
	struct s3_listed one = {.key = junk->key, .etag = "", .modified = ""};
	int r = listed(&one, userdata);

	for (size_t i = 0; i < junk->n && r == 0; i++) {
		AUTO(free) char *key = xasprintf("%s%zu%s", junk->before, i, junk->after);

		one.key = key;
		one.n_bytes = junk->n_bytes;
		r = listed(&one, userdata);
	}
	return r;
}

static const struct s3_ops junk_ops = {.get = junk_get, .list = junk_list};

#define JUNK_FOLDER "p/0000000000000001/"
#define JUNK_NAME "20991231T235959Z-a-n1-r"

static void count_ours(const struct catalog_entry *entry, void *userdata)
{
	size_t *n = userdata;

	*n += entry->revision == 100;
}

static void test_junk(void)
{
	static const struct {
		size_t n;
		const char *before;
		uint64_t n_bytes;
		bool is_copy;
		int64_t revision;
		size_t n_reads;
	} cases[] = {
	    /* No keys of entries. */
	    {SOURCEFIND_KEYS_MAX, "p/" JUNK_NAME, 9, false, 100, 1},
	    {SOURCEFIND_KEYS_MAX, "p/x/" JUNK_NAME, 9, false, 100, 1},
	    {SOURCEFIND_KEYS_MAX, "p/x0000000000000001/" JUNK_NAME, 9, false, 100, 1},
	    {SOURCEFIND_KEYS_MAX, JUNK_FOLDER "20991231T235959Z-a-n+-r", 9, false, 100, 1},
	    {SOURCEFIND_KEYS_MAX, JUNK_FOLDER JUNK_NAME, CATALOG_ENTRY_BYTES_MAX + 1, false, 100, 1},
	    /* Keys of entries, which they are not. */
	    {1000, JUNK_FOLDER JUNK_NAME, 2, false, 100, 1001},
	    {SOURCEFIND_READS_MAX, JUNK_FOLDER JUNK_NAME, 2, false, -1, SOURCEFIND_READS_MAX},
	    /* Copies of an older one, which is signed as well. */
	    {1000, JUNK_FOLDER JUNK_NAME, 2, true, 100, 1001},
	};
	struct catalog_entry *entry = entries_new("a", 1, T0, 100);
	struct catalog_entry *older = entries_new("a", 1, T0 - HOUR_S, 50);
	struct catalog_entry *newer = entries_new("a", 1, T0 + HOUR_S, 150);
	AUTO(signature_key_free) struct signature_key *key = NULL;
	AUTO(free) char *copy = NULL, *copy_of_newer = NULL, *name = NULL;
	struct junk junk = {0};
	struct s3 *s3 = s3_new_of(&junk_ops, &junk);
	const struct source_request all = {.s3 = s3, .s3_prefix = "p/"};
	struct source_passed passed;
	struct problem problem = {0};
	size_t n_ours = 0;

	reset();
	CHECK_EQ_INT(signature_key_load_or_make("key", &key), 0);
	trust_sign(entry, key);
	trust_sign(older, key);
	trust_sign(newer, key);
	junk.entry = catalog_print(entry);
	junk.key = xasprintf(JUNK_FOLDER "%s.json", entry->id);
	copy = catalog_print(older);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		junk.n = cases[i].n;
		junk.before = cases[i].before;
		junk.after = ".json";
		junk.n_bytes = cases[i].n_bytes;
		junk.text = cases[i].is_copy ? copy : "{}";
		junk.n_reads = 0;
		if (!CHECK_EQ_INT(find_stored(s3, "p/", "latest", &problem), cases[i].revision) ||
		    !CHECK_EQ_INT(junk.n_reads, cases[i].n_reads))
			(void) fprintf(stderr, "  %zu: %s\n", i, problem.reason);
		CHECK_EQ_STR(problem.code, cases[i].revision < 0 ? "TOO_MANY" : "");
	}
	/* Copies of a newer one in many folders do not hide an older one to begin a rebuild with. */
	junk.n = 1000;
	junk.before = "p/";
	name = xasprintf("/0000000000000001/%s.json", newer->id);
	junk.after = name;
	junk.text = copy_of_newer = catalog_print(newer);
	CHECK_EQ_INT(sourcefind_list(&all, &problem, count_ours, &n_ours, &passed), 0);
	CHECK_EQ_INT(n_ours, 1);
	catalog_entry_free(entry);
	catalog_entry_free(older);
	catalog_entry_free(newer);
	free(junk.entry);
	free(junk.key);
	s3_free(s3);
}

/* --- what is refused --- */

struct wish {
	const char *sha256;
	bool skip_digest;
};

static int take(const char *name, const struct wish *wish, struct problem *problem,
                struct source **ret_source)
{
	const struct source_request request = {
	    .name = name,
	    .directory = "snaps",
	    .sha256 = wish->sha256,
	    .skip_digest = wish->skip_digest,
	    .unpacked = "unpacked.db",
	};

	*problem = (struct problem){0};
	return source_take(&request, problem, ret_source);
}

static void expect_refused(const char *name, const struct wish *wish, const char *code)
{
	struct source *source = NULL;
	struct problem problem;

	CHECK(take(name, wish, &problem, &source) < 0 && source == NULL);
	if (!CHECK_EQ_STR(problem.code, code))
		(void) fprintf(stderr, "  %s: %s\n", name, problem.reason);
}

static void test_files(void)
{
	const struct wish plain = {0}, skip = {.skip_digest = true};
	AUTO(source_free) struct source *whole = NULL, *raw = NULL, *packed = NULL;
	struct wish known = {0};
	struct problem problem;
	int fd;

	reset();
	(void) scratch_shell("cp %s a.db && head -c -32 a.db >raw.db && zstd -q a.db", real);
	CHECK_EQ_INT(take("a.db", &plain, &problem, &whole), 0);
	CHECK(whole != NULL && whole->has_digest && !whole->is_ours && whole->entry == NULL);
	CHECK_EQ_INT(take("a.db.zst", &plain, &problem, &packed), 0);
	CHECK(packed != NULL && packed->is_ours && scratch_exists("unpacked.db"));
	CHECK_EQ_STR(packed->sha256, whole->sha256);
	/* The same database, so the same SHA-256. */
	CHECK_EQ_INT(take("raw.db", &skip, &problem, &raw), 0);
	CHECK(raw != NULL && !raw->has_digest);
	CHECK_EQ_STR(raw->sha256, whole->sha256);
	known.sha256 = whole->sha256;
	source_free(TAKE_PTR(raw));
	CHECK_EQ_INT(take("a.db", &known, &problem, &raw), 0);
	known.sha256 = ENTRIES_SHA;
	expect_refused("a.db", &known, "MISMATCH");
	expect_refused("raw.db", &plain, "NO_DIGEST");
	expect_refused("a.db.zst", &plain, "EXISTS"); /* what was unpacked is there */
	(void) scratch_shell("rm unpacked.db && cp a.db b.db.zst && cp raw.db locked.db");
	expect_refused("b.db.zst", &plain, "CORRUPT");
	/* One wrong bit; and a page that is none, behind a digest that fits. */
	(void) scratch_shell("cp a.db c.db && printf X | dd of=c.db bs=1 seek=9000 conv=notrunc "
	                     "status=none && head -c 20000 a.db >d.db");
	expect_refused("c.db", &plain, "DIGEST");
	expect_refused("d.db", &skip, "TREE");
	/* etcd writes to it. */
	fd = open("locked.db", O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0 && flock(fd, LOCK_EX) == 0);
	expect_refused("locked.db", &skip, "IN_USE");
	(void) close(fd);
}

/* A signature that cannot be checked is none that a key is known by. */
static void test_newer_format(void)
{
	struct catalog_entry *entry = entries_new("a", 1, T0, 100);
	const struct source_request latest = {.name = "latest", .directory = "snaps"};
	AUTO(source_free) struct source *source = NULL;
	struct sourcefound found = {0};
	AUTO(free) char *id = NULL;
	struct problem problem;

	reset();
	entry->signature = xstrdup("v2:AAAA");
	entry->key = xstrdup("ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=");
	id = put_entry(entry, "snaps");
	CHECK_EQ_INT(take(id, &(struct wish){0}, &problem, &source), -EPERM);
	CHECK_EQ_STR(problem.code, "UNTRUSTED");
	CHECK(strstr(problem.reason, "newer version: use that version") != NULL);
	problem = (struct problem){0};
	CHECK_EQ_INT(sourcefind_local(&latest, &problem, &found), -ENOENT);
	CHECK(strstr(problem.reason, "1 signed in a format of a newer version") != NULL);
	sourcefound_fini(&found);
}

/* Where snapshots are encrypted, one that is not is passed over, and taken only when that is said.
 */
static void test_plain(void)
{
	const struct source_request named = {
	    .directory = "snaps", .encrypted = true, .unpacked = "unpacked.db"};
	struct source_request request = named;
	struct catalog_entry *age = entries_new("a", 1, T0, 100);
	AUTO(free) char *id = NULL;
	struct sourcefound found = {0};
	struct source *source = NULL;
	struct problem problem = {0};
	const char *const refused[] = {"a.db", "a.db.zst", NULL};

	reset();
	age->age = true;
	age->recipients = 1;
	free(age->file);
	age->file = catalog_file_name(age);
	free(put_entry(age, "snaps"));
	id = put_entry(entries_new("a", 1, T0 + HOUR_S, 120), "snaps");
	/* The stranger's is the newest. */
	request.name = "latest";
	CHECK_EQ_INT(sourcefind_local(&request, &problem, &found), 0);
	CHECK(found.entry != NULL && found.entry->revision == 100 && found.passed.n_plain == 1);
	sourcefound_fini(&found);
	(void) scratch_shell("rm snaps/*r100.json");
	CHECK(sourcefind_local(&request, &problem, &found) < 0);
	CHECK(strstr(problem.reason,
	             "among 1 entries, of which these are passed over: 1 not encrypted") != NULL);
	/* A file by its path, packed and as it is; and one by its id, of which the entry says enough.
	 */
	(void) scratch_shell("cp %s a.db && zstd -q a.db", real);
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		problem = (struct problem){0};
		request = named;
		request.name = refused[i] != NULL ? refused[i] : id;
		CHECK(source_take(&request, &problem, &source) < 0);
		CHECK_EQ_STR(problem.code, "PLAIN");
		CHECK(!scratch_exists("unpacked.db"));
	}
	request.name = "a.db.zst";
	request.allow_plain = true;
	CHECK_EQ_INT(source_take(&request, &problem, &source), 0);
	source_free(source);
}

/* Takes the entry of a real file, after `change`. */
static void expect_entry(void (*change)(struct catalog_entry *entry), const char *code)
{
	const struct wish wish = {0};
	AUTO(source_free) struct source *source = NULL;
	struct catalog_entry *entry = entries_new("a", 1, T0, 100);
	AUTO(free) char *id = NULL;
	struct problem problem;
	int r;

	reset();
	(void) scratch_shell("cp %s snaps/%s", real, entry->file);
	if (change != NULL)
		change(entry);
	id = put_entry(entry, "snaps");
	r = take(id, &wish, &problem, &source);
	CHECK_EQ_INT(r == 0, code == NULL);
	if (code != NULL && !CHECK_EQ_STR(problem.code, code))
		(void) fprintf(stderr, "  %s\n", problem.reason);
}

/* What is in the real file. */
static struct source *known;

static void set_true(struct catalog_entry *e)
{
	(void) snprintf(e->db_sha256, sizeof(e->db_sha256), "%s", known->sha256);
	e->hash = known->content.hash;
	e->hashkv = known->content.hashkv.hash;
	e->hashkv_revision = known->content.hashkv.revision;
}

static void set_other_hashkv(struct catalog_entry *e)
{
	set_true(e);
	e->hashkv++;
}

static void set_unverified(struct catalog_entry *e)
{
	set_true(e);
	e->digest_verified = false;
}

static void set_rejected(struct catalog_entry *e)
{
	set_true(e);
	e->rejected = xstrdup("n2 disagrees");
}

/* --- opened, and not proven --- */

/* A file without a name, as a program that reads the snapshot makes it. */
static int make_nameless(void)
{
	int fd = open("nameless", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	CHECK(fd >= 0 && unlink("nameless") == 0);
	return fd;
}

/* The code of the refusal, or "". */
static const char *open_one(const char *name, int fd, struct source **ret_source)
{
	static struct problem problem;
	const struct source_request request = {
	    .name = name,
	    .directory = "snaps",
	    .unpacked = "scratch",
	    .unpacked_fd = &fd,
	    .rejected_too = true,
	};

	int r;

	problem = (struct problem){0};
	r = source_open(&request, &problem, ret_source);
	CHECK_EQ_INT(r < 0, problem.code[0] != '\0');
	return problem.code;
}

static void test_open_packed(void)
{
	AUTO(source_free) struct source *source = NULL;
	AUTO(close) int fd = -1;
	char names[256];

	reset();
	fd = make_nameless();
	(void) scratch_shell("cp %s a.db && zstd -q --rm a.db", real);
	CHECK_EQ_STR(open_one("a.db.zst", fd, &source), "");
	CHECK(source != NULL && source->is_ours);
	(void) scratch_shell("cmp %s /proc/%d/fd/%d", real, (int) getpid(), fd);
	CHECK_EQ_STR(scratch_list(".", names, sizeof(names)), "a.db.zst snaps");
}

static void test_open_plain(void)
{
	struct catalog_entry *right = entries_new("a", 1, T0, 100);
	struct catalog_entry *wrong = entries_new("a", 1, T0, 120);
	AUTO(source_free) struct source *source = NULL, *none = NULL;
	AUTO(free) char *right_id = NULL, *wrong_id = NULL;
	AUTO(close) int fd = -1;

	reset();
	fd = make_nameless();
	(void) scratch_shell("cp %s snaps/%s && cp %s snaps/rejected/%s", real, wrong->file, real,
	                     right->file);
	wrong_id = put_entry(wrong, "snaps");
	/* The digest at the end is another than the catalogue's. */
	CHECK_EQ_STR(open_one(wrong_id, fd, &none), "MISMATCH");
	set_rejected(right);
	right_id = put_entry(right, "snaps/rejected");
	CHECK_EQ_STR(open_one(right_id, fd, &source), "");
	if (!CHECK(source != NULL))
		return;
	CHECK(!source->is_ours && strstr(source->path, "snaps/rejected/") != NULL);
	CHECK_EQ_STR(source->id, right_id);
	CHECK_EQ_INT(lseek(fd, 0, SEEK_END), 0);
}

static void test_entries(void)
{
	const struct wish wish = {0};
	struct problem problem;

	reset();
	(void) scratch_shell("cp %s a.db", real);
	CHECK_EQ_INT(take("a.db", &wish, &problem, &known), 0);
	if (known == NULL)
		return;
	expect_entry(set_true, NULL);
	expect_entry(NULL, "MISMATCH"); /* another SHA-256 */
	expect_entry(set_other_hashkv, "MISMATCH");
	expect_entry(set_unverified, "REJECTED");
	expect_entry(set_rejected, "REJECTED");
	test_open_plain();
	source_free(known);
}

/* --- static pods --- */

static void test_manifests(void)
{
	static const struct {
		const char *text;
		size_t n;
	} cases[] = {
	    {"path: /var/lib/etcd", 1},
	    {"path: /var/lib/etcd\\n    type: DirectoryOrCreate", 1},
	    {"- --data-dir=/var/lib/etcd/", 1},
	    {"path: /var/lib/etcd-backup", 0},
	    {"path: /var/lib/etcd.old and /var/lib/etcdwatch", 0},
	    {"path: /var/lib/etcd-backup, /var/lib/etcd", 1},
	    {"--etcd-certfile=/etc/kubernetes/pki/etcd/x.crt", 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		json_t *found;

		reset();
		(void) scratch_shell("mkdir pods && printf '%%b' '%s' >pods/etcd.yaml && "
		                     "echo /var/lib/etcd >pods/.hidden",
		                     cases[i].text);
		found = hostfacts_manifests("pods", "/var/lib/etcd");
		if (!CHECK_EQ_INT(json_array_size(found), cases[i].n))
			(void) fprintf(stderr, "  %s\n", cases[i].text);
		json_decref(found);
	}
}

/* --- API servers --- */

static bool is_listed(pid_t pid)
{
	json_t *found = hostfacts_api_servers();
	bool any = false;

	for (size_t i = 0; i < json_array_size(found); i++)
		any |= json_integer_value(json_array_get(found, i)) == pid;
	json_decref(found);
	return any;
}

/* A process of that name, which has said that it runs; perhaps with a network of another node. */
static pid_t process_called(const char *name, bool is_elsewhere)
{
	int fds[2];
	char byte;
	pid_t pid;

	CHECK(pipe(fds) == 0);
	pid = fork();
	if (pid == 0) {
		(void) prctl(PR_SET_NAME, name);
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
		if ((is_elsewhere && unshare(CLONE_NEWNET) < 0) || write(fds[1], "x", 1) != 1)
			_exit(EXIT_FAILURE);
		for (;;)
			(void) pause();
	}
	(void) close(fds[1]);
	CHECK_EQ_INT(read(fds[0], &byte, 1), 1);
	(void) close(fds[0]);
	return pid;
}

static void test_api_servers(void)
{
	static const struct {
		const char *name;
		bool is_elsewhere;
		bool is_one;
	} cases[] = {
	    {"kube-apiserver", false, true},
	    {"kube-apiserver", true, false},
	    {"kube-apiserver2", false, false},
	    {"kube-api", false, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		pid_t pid = process_called(cases[i].name, cases[i].is_elsewhere);

		CHECK(is_listed(pid) == cases[i].is_one);
		CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
		CHECK(!is_listed(pid));
	}
}

int main(void)
{
	/* The steps that it prints are of no interest. */
	if (realpath(REAL, real) == NULL || freopen("/dev/null", "w", stdout) == NULL)
		return EXIT_FAILURE;
	scratch_enter();
	test_latest();
	test_ids();
	test_moved();
	test_moved_in_store();
	test_junk();
	test_files();
	test_newer_format();
	test_plain();
	test_open_packed();
	test_entries();
	test_manifests();
	test_api_servers();
	scratch_leave();
	return check_result();
}
