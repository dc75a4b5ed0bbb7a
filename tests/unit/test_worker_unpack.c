/* SPDX-License-Identifier: Apache-2.0 */
/* How much a packed file can become: as much as is known of the snapshot in it, and no byte more is
 * written; and how much memory it can ask for. What is whole and what is damaged is
 * test_worker_pack's. */
#include "etcdwatch/worker/pack/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <zstd.h>

#include "etcdwatch/worker/common/file.h"
#include "etcdwatch/worker/pack/codec.h"
#include "tests/unit/check.h"
#include "tests/unit/scratch.h"

#define DB_BYTES 100000
#define BOMB_BYTES ((size_t) 64 << 20)
#define BOUND_BYTES 1000003

static char recipient[128];
static const char *const key_file[] = {"key"};

static int unpack(const char *path, uint64_t plain_bytes, struct problem *problem)
{
	const struct unpack_request request = {
	    .path = path,
	    .to = "y.db",
	    .keys = {.files = key_file, .n_files = 1},
	    .plain_bytes = plain_bytes,
	};
	struct unpack_result result = {0};
	int r;

	*problem = (struct problem){0};
	r = unpack_run(&request, problem, &result);
	CHECK(scratch_exists("y.db") == (r == 0) && !scratch_exists(".y.db.new"));
	(void) unlink("y.db");
	free(result.path);
	return r;
}

static void expect(const struct problem *problem, const char *code, const char *text)
{
	CHECK_EQ_STR(problem->code, code);
	if (!CHECK(strstr(problem->reason, text) != NULL))
		(void) fprintf(stderr, "  '%s' lacks '%s'\n", problem->reason, text);
}

/* The same snapshot, plain and packed. */
static void make_packed(void)
{
	scratch_make("x.db", DB_BYTES, 1);
	(void) scratch_shell("zstd -q x.db -o a.db.zst && age -r %s -o a.db.age x.db && "
	                     "age -r %s -o a.db.zst.age a.db.zst && cp x.db a.db",
	                     recipient, recipient);
}

static void test_bound(void)
{
	static const char *const files[] = {"a.db", "a.db.zst", "a.db.age", "a.db.zst.age"};
	struct problem problem;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		CHECK_EQ_INT(unpack(files[i], 0, &problem), 0);
		CHECK_EQ_INT(unpack(files[i], DB_BYTES, &problem), 0);
		CHECK_EQ_INT(unpack(files[i], DB_BYTES - 1, &problem), -EBADMSG);
		expect(&problem, "MISMATCH", "a snapshot of 99999 bytes should be in it, and 100000");
		expect(&problem, "MISMATCH", files[i]);
	}
}

/* As little as 64 MiB of zeros packs to; and a file may grow no further than the bound. */
static void test_bomb(void)
{
	const struct rlimit limit = {BOUND_BYTES, RLIM_INFINITY}, none = {RLIM_INFINITY, RLIM_INFINITY};
	struct problem problem;

	(void) scratch_shell("head -c %zu /dev/zero | zstd -q -o bomb.db.zst && "
	                     "test $(stat -c %%s bomb.db.zst) -lt 10000",
	                     BOMB_BYTES);
	(void) signal(SIGXFSZ, SIG_IGN);
	CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	CHECK_EQ_INT(unpack("bomb.db.zst", BOUND_BYTES, &problem), -EBADMSG);
	expect(&problem, "MISMATCH", "a snapshot of 1000003 bytes");
	CHECK(setrlimit(RLIMIT_FSIZE, &none) == 0);
}

/* It would not fit: nothing is begun. */
static void test_no_room(void)
{
	struct problem problem;

	CHECK_EQ_INT(unpack("a.db.zst", UINT64_C(1) << 60, &problem), -ENOSPC);
	expect(&problem, "NO_SPACE", "'a.db.zst' takes 1152921504606846976 bytes");
}

/* A few bytes with a window of so many; they are whole. */
static void make_window(const char *name, int window_log)
{
	AUTO(free) char *data = xcalloc(1, DB_BYTES);
	AUTO(free) char *out = xcalloc(1, DB_BYTES);
	ZSTD_CCtx *ctx = ZSTD_createCCtx();
	ZSTD_inBuffer in = {data, DB_BYTES, 0};
	ZSTD_outBuffer to = {out, DB_BYTES, 0};
	FILE *f = fopen(name, "we");

	CHECK(ZSTD_isError(ZSTD_CCtx_setParameter(ctx, ZSTD_c_windowLog, window_log)) == 0);
	/* Who knows the size says no more than that. */
	CHECK(ZSTD_isError(ZSTD_compressStream2(ctx, &to, &in, ZSTD_e_continue)) == 0);
	CHECK(ZSTD_compressStream2(ctx, &to, &in, ZSTD_e_end) == 0);
	CHECK(f != NULL && fwrite(out, 1, to.pos, f) == to.pos && fclose(f) == 0);
	(void) ZSTD_freeCCtx(ctx);
}

static void test_window(void)
{
	struct problem problem;

	make_window("w.db.zst", ZSTDFLOW_WINDOW_LOG_MAX);
	CHECK_EQ_INT(unpack("w.db.zst", DB_BYTES, &problem), 0);
	make_window("w.db.zst", ZSTDFLOW_WINDOW_LOG_MAX + 1);
	CHECK_EQ_INT(unpack("w.db.zst", DB_BYTES, &problem), -EBADMSG);
	expect(&problem, "WINDOW", "more than 128 MiB");
}

/* --- what a file system keeps back for root --- */

static bool has_reserve;

/* Instead of libc's. */
int statvfs(const char *path, struct statvfs *ret)
{
	int fd, r;

	if (has_reserve) {
		*ret = (struct statvfs){.f_bsize = 1, .f_frsize = 4096, .f_bfree = 1000, .f_bavail = 10};
		return 0;
	}
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -1;
	r = fstatvfs(fd, ret);
	(void) close(fd);
	return r;
}

static void check_reserve(bool is_root)
{
	const uint64_t common = 10 * UINT64_C(4096), all = 1000 * UINT64_C(4096);
	const uint64_t mine = is_root ? all : common;
	struct problem problem = {0};
	uint64_t got = 0;

	has_reserve = true;
	CHECK_EQ_INT(room_check("./x", mine, &problem, "x"), 0);
	CHECK_EQ_INT(room_check("./x", mine + 1, &problem, "x"), -ENOSPC);
	CHECK_EQ_INT(room_free_bytes(".", &got), 0);
	CHECK_EQ_INT((long long) got, (long long) mine);
	CHECK_EQ_INT(room_common_bytes(".", &got), 0);
	CHECK_EQ_INT((long long) got, (long long) common);
	has_reserve = false;
}

static void test_reserve(void)
{
	int status = 0;
	pid_t pid;

	if (geteuid() == 0)
		check_reserve(true);
	pid = fork();
	if (pid == 0) {
		if (geteuid() == 0)
			CHECK_EQ_INT(setresuid(65534, 65534, 65534), 0);
		check_reserve(false);
		_exit(check_failures > 0);
	}
	CHECK_EQ_INT(waitpid(pid, &status, 0), pid);
	CHECK_EQ_INT(status, 0);
}

int main(void)
{
	FILE *f;

	scratch_enter();
	(void) scratch_shell("umask 077; age-keygen -o key 2>/dev/null; "
	                     "sed -n 's/^# public key: //p' key >recipient");
	f = fopen("recipient", "re");
	CHECK(f != NULL && fgets(recipient, sizeof(recipient), f) != NULL && fclose(f) == 0);
	recipient[strcspn(recipient, "\n")] = '\0';
	make_packed();
	test_bound();
	test_bomb();
	test_no_room();
	test_reserve();
	test_window();
	scratch_leave();
	return check_result();
}
