/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking a snapshot from a scripted member onto a real disk: what is there when all goes well, and
 * that nothing is there, and the reason is told once, whatever goes wrong and whenever it is given
 * up.
 */
#include "etcdwatch/take/take.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "etcdtest/server.h"
#include "etcdtest/sync.h"
#include "etcdwatch/store/leftover.h"
#include "tests/unit/scratch.h"
#include "tests/unit/turn.h"

#define WAIT_MS 60000
#define PIECE ((size_t) 32768)
/* More than all buffers hold. */
#define DB_BYTES ((size_t) 6 << 20)
#define STALL_MS 30000
/* Less than one buffer: what else may come and go meanwhile. */
#define HEAP_SLACK_BYTES ((size_t) 192 << 10)

static struct ev_loop *ev;
static struct server *server;
static struct etcd *etcd;
static struct disk *disk;
static struct take *take;
static uint8_t *db; /* and its digest */

static struct {
	unsigned n;
	int r;
	char reason[TAKE_REASON_MAX];
	char path[256];
	size_t heap_bytes; /* in use when it was told */
	uint64_t db_bytes, file_bytes;
	char db_sha256[TAKE_HEX_MAX], file_sha256[TAKE_HEX_MAX];
} got;

/* Of the sanitizers, whose allocator keeps no mallinfo2(3). */
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static size_t heap_bytes(void)
{
	struct mallinfo2 info;

	if (__sanitizer_get_current_allocated_bytes != NULL)
		return __sanitizer_get_current_allocated_bytes();
	info = mallinfo2();
	return info.uordblks + info.hblkhd;
}

static void done_cb(const struct take_result *result, void *userdata)
{
	CHECK(userdata == &got);
	take = NULL;
	got.n++;
	got.heap_bytes = heap_bytes();
	got.r = result->r;
	got.db_bytes = result->db_bytes;
	got.file_bytes = result->file_bytes;
	(void) snprintf(got.reason, sizeof(got.reason), "%s", result->reason);
	(void) snprintf(got.path, sizeof(got.path), "%s", result->path);
	(void) snprintf(got.db_sha256, sizeof(got.db_sha256), "%s", result->db_sha256);
	(void) snprintf(got.file_sha256, sizeof(got.file_sha256), "%s", result->file_sha256);
}

/* --- a member, a directory --- */

static void begin(void)
{
	struct etcd_options options = {.n_endpoints = 1};
	char error[ETCD_ERROR_TEXT_MAX];
	const char *url;

	memset(&got, 0, sizeof(got));
	scratch_enter();
	server = server_new(ev, 0, 0);
	url = server_url(server);
	options.endpoints = &url;
	CHECK_EQ_INT(etcd_new(ev, &options, error, &etcd), 0);
	CHECK_EQ_INT(disk_new(ev, &disk), 0);
}

static struct take_options usual(void)
{
	return (struct take_options){
	    .directory = "snapshots", .job = "j", .endpoint = server_url(server), .stall_ms = STALL_MS};
}

static void start(const struct take_options *options)
{
	take = take_start(etcd, disk, options, NULL, done_cb, &got);
	CHECK_EQ_INT(got.n, 0);
}

static bool is_streaming(void)
{
	return CHECK(sync_run(ev, WAIT_MS, &server_snapshot(server)->n_open, 1));
}

static void end(void)
{
	if (disk != NULL)
		disk_free(TAKE_PTR(disk));
	take_abandon(TAKE_PTR(take));
	etcd_free(TAKE_PTR(etcd));
	server_free(TAKE_PTR(server));
	scratch_leave();
}

/* Bytes from..to of the database. */
static void send_bytes(size_t from, size_t to)
{
	for (; from < to; from += PIECE) {
		size_t len = MIN(PIECE, to - from);

		server_send_blob(server, db + from, len, DB_BYTES - from - len);
	}
}

static void send_all(void)
{
	send_bytes(0, DB_BYTES);
	server_send_blob(server, db + DB_BYTES, DIGEST_SHA256_BYTES, 0);
	server_end_stream(server, GRPC_STATUS_OK, "");
}

static bool has_bytes(size_t n)
{
	int64_t until_us = mono_now_us() + WAIT_MS * US_PER_MS;

	while (take != NULL && take_bytes_so_far(take) < n && mono_now_us() < until_us)
		turn_once(ev);
	return CHECK(take != NULL && take_bytes_so_far(take) >= n);
}

/* It failed so, is told once, and has left nothing. */
static void check_failed(int r, const char *part, int line)
{
	char names[256];
	bool ok = CHECK(sync_run(ev, WAIT_MS, &got.n, 1)) && CHECK_EQ_INT(got.r, r) &&
	          CHECK(strstr(got.reason, part) != NULL);

	(void) sync_run(ev, 20, NULL, 0);
	ok = CHECK_EQ_INT(got.n, 1) && ok;
	ok = CHECK_EQ_STR(scratch_list("snapshots", names, sizeof(names)), "") && ok;
	if (!ok)
		(void) fprintf(stderr, "  line %d: '%s'\n", line, got.reason);
}
#define CHECK_FAILED(r, part) check_failed((r), (part), __LINE__)

/* --- as it should be --- */

static void test_whole(void)
{
	struct take_options options;
	char hex[DIGEST_HEX_MAX], *path;
	struct stat st;

	begin();
	options = usual();
	start(&options);
	CHECK_EQ_INT((long long) take_bytes_total(take), 0);
	CHECK(is_streaming());
	send_bytes(0, DB_BYTES / 2);
	CHECK(has_bytes(DB_BYTES / 2));
	CHECK_EQ_INT((long long) take_bytes_total(take), (long long) DB_BYTES);
	send_bytes(DB_BYTES / 2, DB_BYTES);
	server_send_blob(server, db + DB_BYTES, DIGEST_SHA256_BYTES, 0);
	CHECK(!sync_run(ev, 50, &got.n, 1)); /* before the member says that this is all */
	server_end_stream(server, GRPC_STATUS_OK, "");
	CHECK(sync_run(ev, WAIT_MS, &got.n, 1));
	CHECK_EQ_INT(got.r, 0);
	CHECK_EQ_STR(got.reason, "");
	path = leftover_path("snapshots", "j");
	CHECK_EQ_STR(got.path, path);
	free(path);
	CHECK_EQ_INT((long long) got.db_bytes, (long long) DB_BYTES);
	CHECK_EQ_INT((long long) got.file_bytes, (long long) DB_BYTES + DIGEST_SHA256_BYTES);
	CHECK_EQ_STR(scratch_sha256(got.path, hex), got.file_sha256);
	CHECK(stat(got.path, &st) == 0 && (st.st_mode & 07777) == 0600 &&
	      st.st_size == (off_t) got.file_bytes);
	CHECK(stat("snapshots", &st) == 0 && (st.st_mode & 07777) == 0700);
	(void) digest_hex(db + DB_BYTES, DIGEST_SHA256_BYTES, hex);
	CHECK_EQ_STR(got.db_sha256, hex);
	end();
}

/* What an earlier one has left goes first, and nobody else's. */
static void test_leftovers(void)
{
	struct take_options options;
	char names[256];

	begin();
	options = usual();
	CHECK(scratch_shell("mkdir snapshots && cd snapshots && "
	                    "touch .taking-j-1.db ..taking-j-1.db.zst.new .taking-j-2-3.db a.db"));
	start(&options);
	CHECK(is_streaming());
	take_cancel(take);
	CHECK(sync_run(ev, WAIT_MS, &got.n, 1));
	CHECK_EQ_STR(scratch_list("snapshots", names, sizeof(names)), ".taking-j-2-3.db a.db");
	end();
}

/* The same of entries that were half written: by another process, and of this job. */
static void test_half_entries(void)
{
#define AT "20261121T203000Z-"
	static const struct {
		const char *name; /* without the process */
		const char *pid;  /* NULL: ours, which may be at it */
		bool goes;
	} cases[] = {
	    {AT "j-n1-r1.json.new.", "1", true},   {"." AT "j-n1-r2.json.new.", "1", true},
	    {AT "j-n1-r3.json.new.", NULL, false}, {AT "j-n1-r4.json.new.", "1x", false},
	    {AT "j-n1-r5.json.new.", "", false},   {AT "k-n1-r1.json.new.", "1", false},
	    {AT "jj-n1-r1.json.new.", "1", false}, {AT "j-n1-r6.json", "", false},
	    {"j-n1-r7.json.new.", "1", false},
	};
#undef AT
	char pid[24];

	(void) snprintf(pid, sizeof(pid), "%d", (int) getpid());
	(void) scratch_shell("mkdir -p snapshots");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *by = cases[i].pid != NULL ? cases[i].pid : pid;
		AUTO(free) char *path = xasprintf("snapshots/%s%s", cases[i].name, by);

		(void) scratch_shell("touch %s", path);
		CHECK_EQ_INT(leftover_sweep("snapshots", "j"), 0);
		if (!CHECK(scratch_exists(path) != cases[i].goes))
			(void) fprintf(stderr, "  %s\n", path);
		(void) unlink(path);
	}
	(void) scratch_shell("rm -r snapshots");
}

/* --- what goes wrong --- */

static void test_wrong_digest(void)
{
	struct take_options options;

	begin();
	options = usual();
	start(&options);
	CHECK(is_streaming());
	db[DB_BYTES / 2] ^= 1;
	send_all();
	db[DB_BYTES / 2] ^= 1;
	CHECK_FAILED(-EBADMSG, "does not have the digest that the member sent");
	end();
}

static void test_broken_off(void)
{
	struct take_options options;

	begin();
	options = usual();
	start(&options);
	CHECK(is_streaming());
	send_bytes(0, DB_BYTES / 2);
	CHECK(has_bytes(DB_BYTES / 2));
	server_end_stream(server, GRPC_STATUS_UNAVAILABLE, "the member ends");
	CHECK_FAILED(-EHOSTUNREACH, "broke off: the member ends");
	end();
}

static void test_ends_early(void)
{
	struct take_options options;

	begin();
	options = usual();
	start(&options);
	CHECK(is_streaming());
	send_bytes(0, DB_BYTES / 2);
	server_end_stream(server, GRPC_STATUS_OK, "");
	CHECK_FAILED(-EPROTO, "the stream ended after 3145728 of 6291456 bytes");
	end();
}

static void test_stands_still(void)
{
	struct take_options options;

	begin();
	options = usual();
	options.stall_ms = 300;
	start(&options);
	CHECK_FAILED(-ETIMEDOUT, "no bytes within 300 ms");
	end();
}

static void test_large_piece(void)
{
	struct take_options options;

	begin();
	options = usual();
	start(&options);
	CHECK(is_streaming());
	server_send_blob(server, db, (128 << 10) + 1, DB_BYTES - (128 << 10) - 1);
	CHECK_FAILED(-EPROTO, "larger pieces than it may");
	end();
}

/* No member is troubled for what the disk cannot take. */
static void test_no_room(void)
{
	struct take_options options;

	begin();
	options = usual();
	options.reserve_bytes = UINT64_C(1) << 60;
	start(&options);
	CHECK_FAILED(-ENOSPC, "1099511627776 MiB are to stay free");
	memset(&got, 0, sizeof(got));
	options.reserve_bytes = 0;
	options.expected_bytes = UINT64_C(1) << 60;
	start(&options);
	CHECK_FAILED(-ENOSPC, "it takes 1099511627776 MiB");
	CHECK_EQ_INT(server_calls(server, SERVER_SNAPSHOT), 0);
	end();
}

/* The buffers are gone when the end is told: the run gives back what is free then. */
static void test_gives_back(void)
{
	struct take_options options;
	size_t before;

	begin();
	options = usual();
	options.reserve_bytes = UINT64_C(1) << 60;
	before = heap_bytes();
	start(&options);
	CHECK(heap_bytes() > before + HEAP_SLACK_BYTES);
	CHECK_FAILED(-ENOSPC, "are to stay free");
	CHECK(got.heap_bytes < before + HEAP_SLACK_BYTES);
	end();
}

/* The member had said less. */
static void test_more_than_room(void)
{
	const uint8_t piece[64] = {0};
	struct take_options options;

	begin();
	options = usual();
	start(&options);
	CHECK(is_streaming());
	server_send_blob(server, piece, sizeof(piece), UINT64_C(1) << 60);
	for (size_t i = 0; i < 64; i++)
		server_send_blob(server, db, PIECE, (UINT64_C(1) << 60) - (i + 1) * PIECE);
	CHECK_FAILED(-ENOSPC, "are free in 'snapshots'");
	end();
}

static void test_bad_directory(void)
{
	struct take_options options;

	begin();
	options = usual();
	options.directory = "nowhere/snapshots";
	start(&options);
	CHECK(sync_run(ev, WAIT_MS, &got.n, 1));
	CHECK_EQ_INT(got.r, -ENOENT);
	CHECK(strstr(got.reason, "cannot make the directory of 'nowhere/snapshots/.taking-j-") != NULL);
	memset(&got, 0, sizeof(got));
	CHECK(scratch_shell("touch file"));
	options.directory = "file";
	start(&options);
	CHECK(sync_run(ev, WAIT_MS, &got.n, 1));
	CHECK_EQ_INT(got.r, -ENOTDIR);
	CHECK_EQ_INT(server_calls(server, SERVER_SNAPSHOT), 0);
	end();
}

static void test_unknown_member(void)
{
	struct take_options options;

	begin();
	options = usual();
	options.endpoint = "http://127.0.0.1:1";
	start(&options);
	CHECK_FAILED(-ENOENT, "not among the endpoints any more");
	end();
}

/* --- given up --- */

/* A disk that hangs, until it is let go. */
struct hang {
	struct disk_task task;
	int ends[2];
	bool over;
};

static void hang_work(struct disk_task *task)
{
	char byte;

	CHECK_EQ_INT(read(CONTAINER_OF(task, struct hang, task)->ends[0], &byte, 1), 1);
}

static void hang_done(struct disk_task *task)
{
	CONTAINER_OF(task, struct hang, task)->over = true;
}

static void hang(struct hang *h)
{
	*h = (struct hang){.task = {.work = hang_work, .done = hang_done}};
	CHECK_EQ_INT(pipe(h->ends), 0);
	disk_do(disk, &h->task);
}

static void let_go(struct hang *h)
{
	CHECK_EQ_INT(write(h->ends[1], "x", 1), 1);
	while (!h->over)
		turn_once(ev);
	(void) close(h->ends[0]);
	(void) close(h->ends[1]);
}

static bool is_closed(void)
{
	int64_t until_us = mono_now_us() + WAIT_MS * US_PER_MS;

	while (server_snapshot(server)->n_open > 0 && mono_now_us() < until_us)
		turn_once(ev);
	return server_snapshot(server)->n_open == 0;
}

/* While its disk hangs, in each state: the stream is closed at once, and the end comes with the
 * disk. */
static void test_cancel(void)
{
	static const char *const at[] = {"opening", "streaming", "writing", "finishing"};

	for (unsigned i = 0; i < ARRAY_SIZE(at); i++) {
		struct take_options options;
		struct hang h;

		begin();
		options = usual();
		if (i == 0)
			hang(&h);
		start(&options);
		if (i > 0) {
			CHECK(is_streaming());
			hang(&h);
		}
		/* One buffer is to be written; or all has come, and is to be finished. */
		if (i == 2)
			send_bytes(0, 2 << 20);
		if (i == 2)
			CHECK(has_bytes(512 << 10));
		if (i == 3) {
			server_send_blob(server, db, PIECE, 0);
			server_send_blob(server, db + DB_BYTES, DIGEST_SHA256_BYTES, 0);
			server_end_stream(server, GRPC_STATUS_OK, "");
			CHECK(has_bytes(PIECE));
			CHECK(is_closed());
			(void) sync_run(ev, 20, NULL, 0);
		}
		take_cancel(take);
		CHECK_EQ_INT(got.n, 0); /* never from inside */
		take_cancel(take);
		CHECK(is_closed());
		CHECK(!sync_run(ev, 20, &got.n, 1));
		let_go(&h);
		CHECK_FAILED(-ECANCELED, "it was given up");
		if (i == 0)
			CHECK_EQ_INT(server_calls(server, SERVER_SNAPSHOT), 0);
		end();
	}
}

/* When the disk is gone nobody is told, and what is there goes with the next sweep. */
static void test_abandon(void)
{
	struct take_options options;
	char names[256];

	begin();
	options = usual();
	start(&options);
	CHECK(is_streaming());
	send_bytes(0, DB_BYTES / 2);
	CHECK(has_bytes(DB_BYTES / 2));
	disk_free(TAKE_PTR(disk));
	take_abandon(TAKE_PTR(take));
	(void) sync_run(ev, 50, NULL, 0);
	CHECK_EQ_INT(got.n, 0);
	CHECK(scratch_list("snapshots", names, sizeof(names))[0] != '\0');
	CHECK_EQ_INT(leftover_sweep("snapshots", "j"), 0);
	CHECK_EQ_STR(scratch_list("snapshots", names, sizeof(names)), "");
	end();
	take_abandon(NULL);
}

int main(void)
{
	ev = ev_default_loop(0);
	db = xcalloc(1, DB_BYTES + DIGEST_SHA256_BYTES);
	for (size_t i = 0; i < DB_BYTES; i++)
		db[i] = (uint8_t) (i * 31 + i / 251);
	digest_sha256(db, DB_BYTES, db + DB_BYTES);

	test_whole();
	test_leftovers();
	test_half_entries();
	test_wrong_digest();
	test_broken_off();
	test_ends_early();
	test_stands_still();
	test_large_piece();
	test_no_room();
	test_gives_back();
	test_more_than_room();
	test_bad_directory();
	test_unknown_member();
	test_cancel();
	test_abandon();
	free(db);
	return check_result();
}
