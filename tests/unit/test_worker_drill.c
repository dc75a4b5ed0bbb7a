/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a drill that need no etcd: the end of its log, the token, the sample, what is
 * compared of a file, and the directory that is always cleared. */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/worker/drill/drillcompare.h"
#include "etcdwatch/worker/drill/etcdrun.h"
#include "etcdwatch/worker/common/lines.h"
#include "etcdwatch/worker/drill/etcdask.h"
#include "etcdwatch/worker/drill/drillrun.h"
#include "tests/unit/boltkv.h"
#include "tests/unit/check.h"
#include "tests/unit/scratch.h"

/* --- the log --- */

static void test_log(void)
{
	static const struct {
		const char *log;
		const char *words;
	} cases[] = {
	    {"", "it said nothing"},
	    {"\n\n", "it said nothing"},
	    {"boom\n", "boom"},
	    {"one\ntwo", "two"},
	    {"{\"level\":\"warn\",\"msg\":\"slow\"}\n", "slow"},
	    /* The reason, and what is said behind it. */
	    {"{\"level\":\"fatal\",\"msg\":\"discovery failed\",\"error\":\"no such name\"}\n"
	     "{\"level\":\"info\",\"msg\":\"bye\"}\n",
	     "discovery failed: no such name"},
	    {"{\"level\":\"panic\",\"msg\":\"a\"}\n{\"level\":\"panic\",\"msg\":\"b\"}\n", "b"},
	    {"{\"level\":\"warn\",\"msg\":\"x\"}\npanic: the page is gone\n\ngoroutine 1 [running]:\n"
	     "main.main()\n",
	     "panic: the page is gone"},
	    {"fatal error: out of memory\nruntime stack:\n", "fatal error: out of memory"},
	    {"not JSON {\n", "not JSON {"},
	    {"{\"level\":7,\"msg\":8}\n", "{\"level\":7,\"msg\":8}"},
	};
	AUTO(free) char *large = xcalloc(1, 3 * ETCDLOG_WORDS_MAX);
	char words[ETCDLOG_WORDS_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_EQ_STR(etcdlog_last_words(cases[i].log, strlen(cases[i].log), words), cases[i].words);
	memset(large, 'x', 3 * ETCDLOG_WORDS_MAX - 1);
	CHECK_EQ_INT(strlen(etcdlog_last_words(large, strlen(large), words)), ETCDLOG_WORDS_MAX - 1);
}

/* --- the token --- */

/* Computed with openssl(1). */
static void test_token(void)
{
	static const char key[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
	AUTO(free) char *token = roottoken_make(key, 4, 1795304241);
	char drawn[ROOTTOKEN_KEY_CHARS + 1], again[ROOTTOKEN_KEY_CHARS + 1];

	CHECK_EQ_STR(token, "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."
	                    "eyJ1c2VybmFtZSI6InJvb3QiLCJyZXZpc2lvbiI6NCwiZXhwIjoxNzk1MzA0MjQxfQ."
	                    "ORd4HyhYHQ_zAYWQlIP4SpLMUeZ7v7Q4Mb_uoxhKgrI");
	roottoken_draw_key(drawn);
	roottoken_draw_key(again);
	CHECK_EQ_INT(strlen(drawn), ROOTTOKEN_KEY_CHARS);
	CHECK(strcmp(drawn, again) != 0);
}

/* --- the sample --- */

struct file {
	struct boltfile bytes;
	int fd;
	struct bolt_fault fault;
	struct bolt *db;
};

static void file_open(struct file *f, const struct boltkv *kvs, size_t n)
{
	*f = (struct file){.bytes = boltkv_file(kvs, n, -1, -1, 8)};
	f->fd = boltfile_fd(&f->bytes);
	CHECK_EQ_INT(
	    bolt_open(f->fd, f->bytes.n_pages * (uint64_t) f->bytes.page_bytes, &f->fault, &f->db), 0);
}

static void file_close(struct file *f)
{
	bolt_close(f->db);
	(void) close(f->fd);
	boltfile_free(&f->bytes);
}

static const struct sample_key *find(const struct sample *s, const char *name)
{
	for (size_t i = 0; i < sample_count(s); i++) {
		if (bytes_equal_text(sample_at(s, i)->key, name))
			return sample_at(s, i);
	}
	return NULL;
}

static void test_sample_few(void)
{
	const struct boltkv kvs[] = {
	    boltkv_put(2, 0, "m", 2, 1, "1"), boltkv_put(3, 0, "b", 3, 1, "1"),
	    boltkv_put(3, 1, "z", 3, 1, "1"), boltkv_delete(4, 0, "b"),
	    boltkv_put(5, 0, "m", 2, 2, "2"), boltkv_put(6, 0, "m", 2, 3, "three"),
	    boltkv_put(7, 0, "a", 7, 1, "1"),
	};
	const struct siphash hash = {{1, 2}};
	AUTO(sample_free) struct sample *s = NULL;
	AUTO(cursor_free) struct cursor *c = NULL;
	struct mvcc_kv kv;
	struct file f;

	file_open(&f, kvs, ARRAY_SIZE(kvs));
	CHECK_EQ_INT(sample_draw(f.db, 6, &hash, &s), 0);
	/* Each once, though the first and the last are picked as well; not what came later. */
	CHECK_EQ_INT(sample_count(s), 3);
	CHECK(find(s, "a") == NULL && !sample_has_empty_key(s));
	CHECK(find(s, "b") != NULL && find(s, "b")->is_deleted);
	CHECK(find(s, "z") != NULL && !find(s, "z")->is_deleted && find(s, "z")->rev.sub == 1);
	CHECK_EQ_INT(find(s, "m")->rev.main, 6);
	CHECK_EQ_INT(cursor_open_named(f.db, MVCC_BUCKET, &c), 0);
	CHECK_EQ_INT(sample_read(f.db, c, find(s, "m"), &kv), 0);
	CHECK(bytes_equal_text(kv.value, "three") && kv.version == 3);
	CHECK_EQ_INT(sample_read(f.db, c, find(s, "z"), &kv), 0);
	CHECK(bytes_equal_text(kv.key, "z"));
	sample_free(TAKE_PTR(s));
	CHECK_EQ_INT(sample_draw(f.db, 7, &hash, &s), 0);
	CHECK(find(s, "a") != NULL);
	file_close(&f);
}

#define MANY 400

/* Whatever the hash picks: the newest entry of each is known, and the ends are there. */
static void test_sample_many(void)
{
	struct boltkv kvs[2 * MANY + 1];
	char first[8], last[8];
	size_t n = 0;

	/* Each key twice, the second time in another order, and every fifth one is deleted then. */
	for (int i = 0; i < MANY; i++) {
		char name[8];

		(void) snprintf(name, sizeof(name), "k%04d", (i * 7) % MANY);
		kvs[n] = boltkv_put((int64_t) n + 2, 0, name, (int64_t) n + 2, 1, "one");
		n++;
	}
	for (int i = 0; i < MANY; i++) {
		char name[8];

		(void) snprintf(name, sizeof(name), "k%04d", (i * 13) % MANY);
		kvs[n] = (i * 13) % MANY % 5 == 0 ? boltkv_delete((int64_t) n + 2, 0, name)
		                                  : boltkv_put((int64_t) n + 2, 0, name, 2, 2, "two");
		n++;
	}
	kvs[n] = boltkv_bump((int64_t) n + 2);
	n++;
	(void) snprintf(first, sizeof(first), "k%04d", 0);
	(void) snprintf(last, sizeof(last), "k%04d", MANY - 1);
	for (uint64_t seed = 0; seed < 50; seed++) {
		const struct siphash hash = {{seed, seed * 3}};
		AUTO(sample_free) struct sample *s = NULL;
		struct file f;

		file_open(&f, kvs, n);
		CHECK_EQ_INT(sample_draw(f.db, (int64_t) n + 1, &hash, &s), 0);
		CHECK(sample_count(s) >= SAMPLE_PICKED_MAX && sample_count(s) <= SAMPLE_KEYS_MAX);
		CHECK(find(s, first) != NULL && find(s, last) != NULL && sample_has_empty_key(s));
		for (size_t i = 0; i < sample_count(s); i++) {
			const struct sample_key *key = sample_at(s, i);
			char digits[8] = "";

			memcpy(digits, key->key.data + 1, key->key.len - 1);

			CHECK(key->rev.main >= MANY + 2);
			CHECK_EQ_INT(key->is_deleted, atoi(digits) % 5 == 0);
		}
		file_close(&f);
	}
}

/* --- what is compared of a file --- */

static void test_file(void)
{
	static const struct snapshot_content content = {
	    .hash = 1,
	    .revision = 20,
	    .n_entries = 30,
	    .n_bytes = 4096,
	    .hashkv = {.hash = 5, .revision = 21, .compact_revision = 6, .n_live = 7},
	};
	const struct catalog_entry good = {
	    .hash = 1,
	    .revision = 20,
	    .total_key = 30,
	    .db_bytes = 4096,
	    .hashkv = 5,
	    .hashkv_revision = 21,
	    .compact_revision = 6,
	    .live_keys = 7,
	};
	struct catalog_entry bad[8];
	const char *const reasons[ARRAY_SIZE(bad)] = {
	    "hash is 1 in the snapshot, and 9 by the catalogue",
	    "revision is 20 in the snapshot, and 9 by the catalogue",
	    "total_key is 30 in the snapshot, and 9 by the catalogue",
	    "db_bytes is 4096 in the snapshot, and 9 by the catalogue",
	    "hashkv is 5 in the snapshot, and 9 by the catalogue",
	    "hashkv_revision is 21 in the snapshot, and 9 by the catalogue",
	    "compact_revision is 6 in the snapshot, and 9 by the catalogue",
	    "live_keys is 7 in the snapshot, and 9 by the catalogue",
	};
	AUTO(drillreport_free) struct drillreport *report = drillreport_new();
	struct problem problem = {0};

	CHECK_EQ_INT(drillcompare_file(report, &good, &content, &problem), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		bad[i] = good;
	bad[0].hash = 9;
	bad[1].revision = 9;
	bad[2].total_key = 9;
	bad[3].db_bytes = 9;
	bad[4].hashkv = 9;
	bad[5].hashkv_revision = 9;
	bad[6].compact_revision = 9;
	bad[7].live_keys = 9;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		problem = (struct problem){0};
		CHECK_EQ_INT(drillcompare_file(report, &bad[i], &content, &problem), -EBADMSG);
		CHECK_EQ_STR(problem.code, "DIFFERS");
		CHECK_EQ_STR(problem.reason, reasons[i]);
	}
}

/* --- the directory --- */

static void test_workroom(void)
{
	AUTO(workroom_free) struct workroom *room = NULL, *second = NULL;
	struct problem problem = {0};
	char names[256];
	struct stat st;

	/* Made, for this user alone, and gone with all that was in it, but for what is not ours. */
	CHECK_EQ_INT(workroom_open("base", &problem, &room), 0);
	CHECK_EQ_STR(workroom_path(room), "base/" WORKROOM_NAME);
	CHECK(stat("base", &st) == 0 && (st.st_mode & 07777) == 0700);
	CHECK(stat("base/" WORKROOM_NAME, &st) == 0 && (st.st_mode & 07777) == 0700);
	(void) scratch_shell("mkdir -p base/" WORKROOM_NAME
	                     "/data/member && echo x >base/" WORKROOM_NAME
	                     "/data/member/db && mkdir keep && echo y >keep/me && "
	                     "ln -s ../../keep base/" WORKROOM_NAME "/link");
	/* Nobody else may work in there meanwhile, nor clear it. */
	CHECK_EQ_INT(workroom_open("base", &problem, &second), -EBUSY);
	CHECK_EQ_STR(problem.code, "BUSY");
	problem = (struct problem){0};
	CHECK_EQ_INT(workroom_clear("base", &problem), 0);
	CHECK(scratch_exists("base/" WORKROOM_NAME "/data/member/db"));
	workroom_free(TAKE_PTR(room));
	CHECK_EQ_STR(scratch_list(".", names, sizeof(names)), "keep");
	CHECK(scratch_exists("keep/me"));

	/* What was killed left all of it. */
	(void) scratch_shell("mkdir -p base/" WORKROOM_NAME "/data && echo x >base/other");
	CHECK_EQ_INT(workroom_clear("base", &problem), 0);
	CHECK_EQ_STR(scratch_list("base", names, sizeof(names)), "other");
	(void) scratch_shell("mkdir -p base/" WORKROOM_NAME "/data && echo x >base/" WORKROOM_NAME
	                     "/data/db");
	CHECK_EQ_INT(workroom_open("base", &problem, &room), 0);
	CHECK_EQ_STR(scratch_list("base/" WORKROOM_NAME, names, sizeof(names)), "");
	workroom_free(TAKE_PTR(room));
	CHECK_EQ_STR(scratch_list("base", names, sizeof(names)), "other");
	CHECK_EQ_INT(workroom_clear("none", &problem), 0);
	CHECK(!scratch_exists("none"));

	/* Others could put something there. */
	(void) scratch_shell("chmod 777 base");
	CHECK_EQ_INT(workroom_open("base", &problem, &room), -EPERM);
	CHECK_EQ_STR(problem.code, "DIRECTORY");
	problem = (struct problem){0};
	CHECK_EQ_INT(workroom_open("no/such/place", &problem, &room), -ENOENT);
}

/* --- lines --- */

static void line_cb(json_t *object, void *userdata)
{
	char *seen = userdata;

	(void) strcat(seen, json_string_value(json_object_get(object, "a")));
}

static void test_lines(void)
{
	char seen[64] = "";
	AUTO(lines_free) struct lines *lines = lines_new(line_cb, seen);
	int ends[2];

	CHECK_EQ_INT(pipe2(ends, O_CLOEXEC), 0);
	CHECK(write(ends[1], "{\"a\":\"1\"}\n{\"a\":", 15) == 15);
	CHECK_EQ_INT(lines_read(lines, ends[0]), 1);
	CHECK_EQ_STR(seen, "1");
	CHECK(write(ends[1], "\"2\"}\nnonsense\n\n[1]\n{\"a\":\"3\"}\n", 30) == 30);
	CHECK_EQ_INT(lines_read(lines, ends[0]), 1);
	CHECK_EQ_STR(seen, "123");
	(void) close(ends[1]);
	CHECK_EQ_INT(lines_read(lines, ends[0]), 0);
	(void) close(ends[0]);
	CHECK_EQ_INT(lines_read(lines, -1), -EBADF);
}

int main(void)
{
	scratch_enter();
	test_log();
	test_token();
	test_sample_few();
	test_sample_many();
	test_file();
	test_workroom();
	test_lines();
	scratch_leave();
	return check_result();
}
