/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One snapshot from beginning to end, from a scripted member and with a worker that says what it is
 * told to, into a real directory: kept or put aside with its entry; and nothing of it is left when
 * it fails or is given up on the way.
 */
#include "etcdwatch/take/run.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "etcdtest/server.h"
#include "etcdtest/sync.h"
#include "tests/unit/scratch.h"
#include "tests/unit/turn.h"

#define WAIT_MS 60000
#define DB_BYTES ((size_t) 40960)
#define SOUND                                                                                    \
	"{\"ok\":true,\"hash\":5,\"hashkv\":111,\"hashkv_revision\":40,\"revision\":40,"             \
	"\"compact_revision\":30,\"total_key\":9,\"live_keys\":7,\"db_bytes\":40960,"                \
	"\"usage\":{\"bytes\":80,\"missing\":0,\"largest\":[{\"prefix\":"                            \
	"\"/registry/pods\",\"bytes\":70}]},"                                                        \
	"\"members\":[{\"id\":\"64\",\"name\":\"m0\",\"peer_urls\":[\"https://10.0.0.0:2380\"],"     \
	"\"learner\":false},{\"id\":\"65\",\"name\":\"\",\"peer_urls\":[\"https://10.0.0.1:2380\"]," \
	"\"learner\":false}]}"
#define SHA "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static struct ev_loop *ev;
static struct server *servers[2];
static struct etcd *etcd;
static struct disk *disk;
static struct store *store;
static struct run *run;
static struct config_job job;
static char *worker;
static uint8_t db[DB_BYTES + DIGEST_SHA256_BYTES];

static struct {
	unsigned n;
	enum run_end end;
	int r;
	char reason[RUN_REASON_MAX], id[256], agreed[64];
	char plain[4]; /* what can be read of the plain file */
	unsigned n_steps;
	int opened_fd;
	char proven_id[128];
} got;

static const char *first_name = "m0"; /* in the member list */
static bool no_rejected;              /* nothing can be put aside */

/* Stands before the library's. */
int mkdir(const char *path, mode_t mode)
{
	if (!no_rejected || strstr(path, "/rejected") == NULL)
		return mkdirat(AT_FDCWD, path, mode);
	errno = ENOSPC;
	return -1;
}

static unsigned n_given_back; /* how often what was free was given back to the system */

/* This as well. */
int malloc_trim(size_t pad UNUSED)
{
	n_given_back++;
	return 0;
}

/* A descriptor at each step; that of the file which is still empty is that of the whole one. */
static void step_cb(enum run_step step, int plain_fd, const struct catalog_entry *entry,
                    void *userdata)
{
	CHECK(userdata == &got);
	CHECK_EQ_INT(got.n, 0);
	CHECK_EQ_INT(step, got.n_steps);
	got.n_steps++;
	if (step == RUN_OPENED) {
		CHECK_EQ_INT(pread(plain_fd, got.plain, sizeof(got.plain), 0), 0);
		got.opened_fd = plain_fd;
		return;
	}
	CHECK_EQ_INT(plain_fd, got.opened_fd);
	CHECK_EQ_INT(pread(plain_fd, got.plain, sizeof(got.plain), 1000), 4);
	CHECK_EQ_INT(entry->db_bytes, DB_BYTES);
	if (step == RUN_PROVEN)
		(void) snprintf(got.proven_id, sizeof(got.proven_id), "%s", entry->id);
}

static void done_cb(const struct run_result *result, void *userdata)
{
	CHECK(userdata == &got);
	run = NULL;
	got.n++;
	got.end = result->end;
	got.r = result->r;
	(void) snprintf(got.reason, sizeof(got.reason), "%s", result->reason);
	(void) snprintf(got.id, sizeof(got.id), "%s", result->id);
	(void) snprintf(got.agreed, sizeof(got.agreed), "%s", result->agreed);
}

/* --- the world --- */

/* Says what is in the file of its subcommand's name, and does not end while there is one of that
 * name and `.hold`. Packing makes a file beside, and removes the plain one, as the real one does.
 */
static void write_worker(void)
{
	CHECK(scratch_shell(
	    "cat >worker <<'END'\n"
	    "#!/bin/sh\n"
	    "[ $1 = pack ] && echo half >\"$(dirname $2)/.$(basename $2).zst.new\"\n"
	    "cd %s\n"
	    "[ $1 = pack ] && echo $4 >name\n"
	    "while [ -e $1.hold ]; do sleep 0.02; done\n"
	    "grep -q '\"ok\":true' $1 || { cat $1; exit 1; }\n"
	    "[ $1 = pack ] && mv ${2%%/*}/.${2##*/}.zst.new $2.zst && rm $2\n"
	    "sed \"s|@|$2|\" $1\n"
	    "END\n"
	    "chmod 755 worker && printf '%%s' '%s' >prove && printf '%%s' '{\"ok\":true,\"file\":"
	    "\"@.zst\",\"file_bytes\":5,\"file_sha256\":\"%s\",\"compression\":\"zstd\","
	    "\"encryption\":\"none\"}' >pack",
	    scratch_dir, SOUND, SHA));
}

static void scanned_cb(int r, const char *reason, void *userdata)
{
	CHECK_EQ_INT(r, 0);
	CHECK_EQ_STR(reason, "");
	++*(unsigned *) userdata;
}

static void scan(void)
{
	unsigned n = 0;

	store_scan(store, scanned_cb, &n);
	CHECK(sync_run(ev, WAIT_MS, &n, 1));
}

static void begin(bool packs)
{
	const char *urls[2];
	struct etcd_options options = {.endpoints = urls, .n_endpoints = 2};
	char error[ETCD_ERROR_TEXT_MAX];
	static char name[] = "j", directory[96];
	Pb__HashKVResponse agrees = PB__HASH_KVRESPONSE__INIT;

	memset(&got, 0, sizeof(got));
	n_given_back = 0;
	scratch_enter();
	write_worker();
	worker = xasprintf("%s/worker", scratch_dir);
	(void) snprintf(directory, sizeof(directory), "%s/d", scratch_dir);
	job = (struct config_job){
	    .name = name,
	    .directory = directory,
	    .compression = packs ? CONFIG_COMPRESSION_ZSTD : CONFIG_COMPRESSION_NONE,
	    .compression_level = 3,
	    .verify_hashkv = true,
	    .no_progress_us = 30 * US_PER_S,
	};
	for (unsigned i = 0; i < 2; i++) {
		servers[i] = server_new(ev, i, 0);
		urls[i] = server_url(servers[i]);
	}
	agrees.hash = 111;
	agrees.compact_revision = 30;
	server_set_answer(servers[1], SERVER_HASHKV, &agrees.base);
	CHECK_EQ_INT(etcd_new(ev, &options, error, &etcd), 0);
	CHECK_EQ_INT(disk_new(ev, &disk), 0);
	store = store_new(disk, directory, name, NULL);
	CHECK(scratch_shell("mkdir d"));
	scan();
}

static void end(void)
{
	if (disk != NULL)
		disk_free(TAKE_PTR(disk));
	run_abandon(TAKE_PTR(run));
	store_free(TAKE_PTR(store));
	etcd_free(TAKE_PTR(etcd));
	for (unsigned i = 0; i < 2; i++)
		server_free(TAKE_PTR(servers[i]));
	free(TAKE_PTR(worker));
	scratch_leave();
}

static void start(bool has_step)
{
	struct view v = {.cluster_id = 0xc1, .listed = true, .n_members = 2};
	struct run_options options = {
	    .ev = ev,
	    .etcd = etcd,
	    .disk = disk,
	    .store = store,
	    .job = &job,
	    .worker = worker,
	    .node = "n0",
	    .step = has_step ? step_cb : NULL,
	    .period_s = 1200,
	    .view = &v,
	    .source = SERVER_MEMBER_ID(0),
	};

	for (unsigned i = 0; i < 2; i++) {
		v.members[i] = (struct view_member){.id = SERVER_MEMBER_ID(i), .answers = true};
		(void) snprintf(v.members[i].name, sizeof(v.members[i].name), "m%u", i);
		(void) snprintf(v.members[i].endpoint, sizeof(v.members[i].endpoint), "%s",
		                server_url(servers[i]));
		(void) snprintf(v.members[i].version, sizeof(v.members[i].version), "3.5.16");
	}
	v.n_list = 2;
	for (unsigned i = 0; i < 2; i++) {
		struct view_listed *m = &v.list[i];

		m->id = SERVER_MEMBER_ID(i);
		m->learner = i == 1;
		(void) snprintf(m->name, sizeof(m->name), "%s", i == 0 ? first_name : "");
		(void) snprintf(m->peer_urls, sizeof(m->peer_urls), "https://10.0.0.%u:2380", i);
	}
	run = run_start(&options, done_cb, &got);
	CHECK_EQ_INT(got.n, 0);
	CHECK(sync_run(ev, WAIT_MS, &server_snapshot(servers[0])->n_open, 1));
}

static void send_all(void)
{
	server_send_blob(servers[0], db, DB_BYTES, 0);
	server_send_blob(servers[0], db + DB_BYTES, DIGEST_SHA256_BYTES, 0);
	server_end_stream(servers[0], GRPC_STATUS_OK, "");
}

static bool ends(void)
{
	bool ok = CHECK(sync_run(ev, WAIT_MS, &got.n, 1));

	(void) sync_run(ev, 20, NULL, 0);
	/* However it has ended: the next one may be days away. */
	CHECK_EQ_INT(n_given_back, 1);
	return CHECK_EQ_INT(got.n, 1) && ok;
}

static bool comes_to(const char *state)
{
	int64_t until_us = mono_now_us() + WAIT_MS * US_PER_MS;

	while (run != NULL && strcmp(run_state_name(run), state) != 0 && mono_now_us() < until_us)
		turn_once(ev);
	return CHECK(run != NULL && strcmp(run_state_name(run), state) == 0);
}

static void check_nothing_left(int line)
{
	char names[512];

	if (!CHECK_EQ_STR(scratch_list("d", names, sizeof(names)), ""))
		(void) fprintf(stderr, "  line %d\n", line);
	CHECK_EQ_INT((long long) store_n(store), 0);
}
#define CHECK_NOTHING_LEFT() check_nothing_left(__LINE__)

/* --- kept --- */

static void test_kept(bool packs)
{
	const struct catalog_entry *e;
	char names[512], want[640], hex[DIGEST_HEX_MAX];

	begin(packs);
	start(true);
	CHECK_EQ_STR(run_state_name(run), "taking");
	send_all();
	(void) ends();
	CHECK_EQ_INT(got.end, RUN_KEPT);
	CHECK_EQ_STR(got.reason, "");
	CHECK_EQ_STR(got.agreed, "m1");
	CHECK(memcmp(got.plain, db + 1000, 4) == 0);
	CHECK_EQ_INT(got.n_steps, 3);
	CHECK_EQ_STR(got.proven_id, got.id);
	if (!CHECK_EQ_INT((long long) store_n(store), 1))
		return;
	e = store_get(store, 0);
	CHECK(catalog_is_good(e));
	CHECK_EQ_STR(e->id, got.id);
	CHECK_EQ_STR(e->node, "n0");
	CHECK_EQ_STR(e->member_name, "m0");
	CHECK_EQ_STR(e->hashkv_verified, "m1");
	if (CHECK_EQ_INT(e->n_members, 2)) {
		CHECK(e->members[0].id == SERVER_MEMBER_ID(0) && e->members[1].id == SERVER_MEMBER_ID(1));
		CHECK_EQ_STR(e->members[0].name, "m0");
		CHECK_EQ_STR(e->members[1].peer_urls, "https://10.0.0.1:2380");
		CHECK(e->members[1].name == NULL && e->members[1].learner && !e->members[0].learner);
		CHECK_EQ_STR(e->members_differ, "'https://10.0.0.1:2380' is a voter in the database and a "
		                                "learner in the member list");
	}
	CHECK_EQ_STR(e->server_version, "3.5.16");
	CHECK_EQ_INT(e->period_s, 1200);
	CHECK_EQ_INT(e->revision, 40);
	CHECK_EQ_INT(e->compact_revision, 30);
	CHECK_EQ_INT(e->hashkv, 111);
	CHECK_EQ_INT(e->db_bytes, (long long) DB_BYTES);
	CHECK_EQ_INT(e->zstd, packs);
	if (CHECK(e->usage != NULL) && CHECK_EQ_INT(e->usage->n_parts, 1))
		CHECK_EQ_STR(e->usage->parts[0].prefix, "/registry/pods");
	(void) digest_hex(db + DB_BYTES, DIGEST_SHA256_BYTES, hex);
	CHECK_EQ_STR(e->db_sha256, hex);
	if (packs) {
		CHECK_EQ_STR(e->file_sha256, SHA);
		/* What is in a bundle is called by the id. */
		CHECK(scratch_shell("test \"$(cat name)\" = %s.db", got.id));
	}
	(void) snprintf(want, sizeof(want), "%s.db%s %s.json", got.id, packs ? ".zst" : "", got.id);
	CHECK_EQ_STR(scratch_list("d", names, sizeof(names)), want);
	end();
}

/* Several in one second, of one revision: each is later than the one before, by its name as well.
 */
static void test_kept_at_once(void)
{
	begin(false);
	for (size_t i = 0; i < 4; i++) {
		memset(&got, 0, sizeof(got));
		n_given_back = 0;
		start(false);
		send_all();
		(void) ends();
		CHECK_EQ_INT(got.end, RUN_KEPT);
	}
	CHECK_EQ_INT((long long) store_n(store), 4);
	for (size_t i = 1; i < store_n(store); i++)
		CHECK(store_get(store, i)->started_s > store_get(store, i - 1)->started_s);
	end();
}

/* What a worker of another version says of what fills it keeps nothing from being kept. */
static void test_kept_uncounted(void)
{
	begin(false);
	CHECK(scratch_shell("sed -i 's|\"missing\":0|\"missing\":\"?\"|' prove"));
	start(false);
	send_all();
	(void) ends();
	CHECK_EQ_INT(got.end, RUN_KEPT);
	if (CHECK_EQ_INT((long long) store_n(store), 1))
		CHECK(store_get(store, 0)->usage == NULL);
	end();
}

/* An entry with a control character in it could not be read. */
static void test_kept_without_members(void)
{
	begin(false);
	first_name = "m\001";
	start(false);
	first_name = "m0";
	send_all();
	(void) ends();
	CHECK_EQ_INT(got.end, RUN_KEPT);
	if (CHECK_EQ_INT((long long) store_n(store), 1)) {
		CHECK_EQ_INT(store_get(store, 0)->n_members, 0);
		CHECK(store_get(store, 0)->members_differ == NULL);
	}
	end();
}

/* --- not kept --- */

#define BAD "printf '{\"ok\":false,\"error\":\"TREE\",\"reason\":\"page 7\"}' >prove"

static void test_rejected(void)
{
	char names[512];

	begin(true);
	CHECK(scratch_shell("%s", BAD));
	start(true);
	send_all();
	(void) ends();
	CHECK_EQ_INT(got.end, RUN_REJECTED);
	CHECK_EQ_STR(got.reason, "page 7");
	CHECK_EQ_INT(got.n_steps, 2); /* never RUN_PROVEN */
	CHECK_EQ_STR(scratch_list("d", names, sizeof(names)), "rejected");
	CHECK(scratch_shell("grep -q '\"page 7\"' d/rejected/%s.json && "
	                    "cmp -n 4 d/rejected/%s.db d/rejected/%s.db",
	                    got.id, got.id, got.id));
	CHECK_EQ_INT((long long) store_n(store), 0);
	end();
}

/* Where the others are encrypted, what is put aside is too. */
static void test_rejected_encrypted(void)
{
	char names[512], want[640];

	begin(true);
	job.encrypted = true;
	CHECK(scratch_shell("%s && sed -i 's|\"none\"|\"age\"|' pack", BAD));
	start(true);
	send_all();
	(void) ends();
	CHECK_EQ_INT(got.end, RUN_REJECTED);
	CHECK_EQ_STR(got.reason, "page 7");
	CHECK_EQ_INT(got.n_steps, 2); /* never RUN_PROVEN */
	CHECK_EQ_STR(scratch_list("d", names, sizeof(names)), "rejected");
	(void) snprintf(want, sizeof(want), "%s.db.zst.age %s.json", got.id, got.id);
	CHECK_EQ_STR(scratch_list("d/rejected", names, sizeof(names)), want);
	CHECK(
	    scratch_shell("grep -q '\"page 7\"' d/rejected/%s.json && grep -q '%s' d/rejected/%s.json",
	                  got.id, SHA, got.id));
	CHECK_EQ_INT((long long) store_n(store), 0);
	end();
}

/* It cannot be put aside: nothing of it stays, least of all in plain, and it is rejected all the
 * same. */
static void test_not_put_aside(void)
{
	for (unsigned i = 0; i < 2; i++) {
		begin(true);
		job.encrypted = i == 1;
		no_rejected = i == 0;
		CHECK(scratch_shell("%s && echo '{\"ok\":false,\"error\":\"FULL\",\"reason\":\"no room\"}' "
		                    ">pack",
		                    BAD));
		start(false);
		send_all();
		(void) ends();
		CHECK_EQ_INT(got.end, RUN_REJECTED);
		CHECK_EQ_STR(got.reason, "page 7");
		CHECK(got.id[0] != '\0');
		CHECK_NOTHING_LEFT();
		no_rejected = false;
		end();
	}
}

/* Each step that fails: the reason says which, and the file is gone. */
static void test_fails(void)
{
	static const struct {
		const char *prepare; /* in the shell */
		int r;
		const char *reason;
	} cases[] = {
	    {"echo '{\"ok\":false,\"error\":\"READ\",\"reason\":\"I/O\"}' >prove", -EIO,
	     "it could not be proven: I/O"},
	    {"echo >prove", -EIO, "it could not be proven: it ended with code 1 and said nothing"},
	    {"rm worker", -ENOENT, "cannot start '"},
	    {"echo '{\"ok\":false,\"error\":\"FULL\",\"reason\":\"no room\"}' >pack", -EBADMSG,
	     "it could not be packed: no room"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		begin(true);
		CHECK(scratch_shell("%s", cases[i].prepare));
		start(false);
		send_all();
		(void) ends();
		CHECK_EQ_INT(got.end, RUN_FAILED);
		CHECK_EQ_INT(got.r, cases[i].r);
		if (!CHECK(strncmp(got.reason, cases[i].reason, strlen(cases[i].reason)) == 0))
			(void) fprintf(stderr, "  '%s', want '%s'\n", got.reason, cases[i].reason);
		CHECK_NOTHING_LEFT();
		end();
	}
}

/* Of the stream: nothing was there, and the worker is not asked. */
static void test_stream_fails(void)
{
	begin(true);
	start(false);
	server_end_stream(servers[0], GRPC_STATUS_UNAVAILABLE, "the member ends");
	(void) ends();
	CHECK_EQ_INT(got.end, RUN_FAILED);
	CHECK(strstr(got.reason, "broke off: the member ends") != NULL);
	CHECK_NOTHING_LEFT();
	end();
}

static void test_cancel(void)
{
	static const struct {
		const char *state, *hold;
	} cases[] = {{"taking", ""}, {"proving", "touch prove.hold"}, {"packing", "touch pack.hold"}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		begin(true);
		CHECK(scratch_shell("%s", cases[i].hold));
		start(false);
		if (i > 0)
			send_all();
		if (comes_to(cases[i].state)) {
			/* Until the worker has begun. */
			(void) sync_run(ev, i > 0 ? 100 : 0, NULL, 0);
			run_cancel(run);
			CHECK_EQ_INT(got.n, 0);
		}
		(void) ends();
		CHECK_EQ_INT(got.end, RUN_FAILED);
		CHECK_EQ_INT(got.r, -ECANCELED);
		CHECK_EQ_STR(got.reason, "it was given up");
		CHECK_NOTHING_LEFT();
		end();
	}
}

/* When the disk is gone: nobody is told, and the next scan clears up. */
static void test_abandon(void)
{
	begin(true);
	CHECK(scratch_shell("touch prove.hold"));
	start(false);
	send_all();
	(void) comes_to("proving");
	disk_free(TAKE_PTR(disk));
	run_abandon(TAKE_PTR(run));
	store_free(TAKE_PTR(store));
	(void) sync_run(ev, 50, NULL, 0);
	CHECK_EQ_INT(got.n, 0);
	CHECK_EQ_INT(disk_new(ev, &disk), 0);
	store = store_new(disk, job.directory, job.name, NULL);
	scan();
	CHECK_NOTHING_LEFT();
	end();
	run_abandon(NULL);
}

int main(void)
{
	ev = ev_default_loop(0);
	for (size_t i = 0; i < DB_BYTES; i++)
		db[i] = (uint8_t) (i * 31 + i / 251);
	digest_sha256(db, DB_BYTES, db + DB_BYTES);
	test_kept(false);
	test_kept(true);
	test_kept_at_once();
	test_kept_uncounted();
	test_kept_without_members();
	test_rejected();
	test_rejected_encrypted();
	test_not_put_aside();
	test_fails();
	test_stream_fails();
	test_cancel();
	test_abandon();
	return check_result();
}
