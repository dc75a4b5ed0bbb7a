/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packing and unpacking with the real age and zstd: every combination there and back; that standard
 * tools alone open what was packed; and that whatever is wrong leaves the snapshot and no half
 * file.
 */
#include "etcdwatch/worker/pack/pack.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <zstd.h>

#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/pack/unpack.h"
#include "tests/unit/check.h"
#include "tests/unit/scratch.h"

#define DB_BYTES (3 << 20)
#define NAMES_MAX 512

static char recipient[AGE_KEY_MAX];
static char extra_path[128];
static const char *const key_file[] = {"key"};
static const char *const other_key_file[] = {"other"};

static void read_line(const char *name, char *buf, size_t size)
{
	FILE *f = fopen(name, "re");

	CHECK(f != NULL && fgets(buf, (int) size, f) != NULL);
	buf[strcspn(buf, "\n")] = '\0';
	(void) fclose(f);
}

static void prepare(void)
{
	scratch_enter();
	(void) scratch_shell(
	    "umask 077; age-keygen -o key 2>/dev/null; age-keygen -o other 2>/dev/null");
	(void) scratch_shell("sed -n 's/^# public key: //p' key >recipient");
	read_line("recipient", recipient, sizeof(recipient));
	(void) scratch_shell(
	    "mkdir -p pki/etcd empty && echo cert >pki/ca.crt && echo key >pki/ca.key && "
	    "chmod 600 pki/ca.key && ln -s ../ca.crt pki/etcd/ca.crt && "
	    "chmod 750 pki/etcd && mkfifo pki/fifo && : >pki/nothing");
	(void) snprintf(extra_path, sizeof(extra_path), "%s/pki", scratch_dir);
}

struct way {
	const char *packed;
	int level;
	bool encrypt;
	bool bundle;
};

static struct pack_request request_of(const struct way *way)
{
	static const char *const names[] = {recipient};
	static const char *const extra[] = {extra_path};

	return (struct pack_request){
	    .path = "x.db",
	    .level = way->level,
	    .recipients = {.names = names, .n_names = way->encrypt ? 1 : 0},
	    .extra = extra,
	    .n_extra = way->bundle ? 1 : 0,
	};
}

static const struct way whole_way = {"x.db.tar.zst.age", 3, true, true};

/* --- there and back --- */

static void check_back(const struct way *way, const struct pack_result *packed)
{
	const struct unpack_request request = {
	    .path = way->packed,
	    .keys = {.files = key_file, .n_files = 1},
	    .extra_dir = way->bundle ? "back" : NULL,
	    .packed_sha256 = packed->packed.sha256,
	    .plain_sha256 = packed->plain.sha256,
	};
	struct unpack_result result = {0};
	struct problem problem = {0};
	char hex[DIGEST_HEX_MAX];

	if (!CHECK_EQ_INT(unpack_run(&request, &problem, &result), 0)) {
		(void) fprintf(stderr, "  %s\n", problem.reason);
		return;
	}
	CHECK_EQ_STR(result.path, "x.db");
	CHECK_EQ_STR(scratch_sha256("x.db", hex), packed->plain.sha256);
	CHECK(result.found.age == way->encrypt && result.found.zstd == (way->level > 0) &&
	      result.found.bundle == way->bundle);
	free(result.path);
}

static void test_ways(void)
{
	static const struct way ways[] = {
	    {"x.db.zst", 1, false, false},   {"x.db.zst", 19, false, false},
	    {"x.db.age", 0, true, false},    {"x.db.zst.age", 3, true, false},
	    {"x.db.tar.age", 0, true, true}, {"x.db.tar.zst.age", 3, true, true},
	};
	static const size_t sizes[] = {DB_BYTES, 1, 511, 512, 513, 65536};

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(sizes); k++) {
			const struct pack_request request = request_of(&ways[i]);
			struct pack_result result = {0};
			struct problem problem = {0};
			char hex[DIGEST_HEX_MAX], names[NAMES_MAX];

			scratch_make("x.db", sizes[k], i + k);
			CHECK(chmod("x.db", 0640) == 0);
			(void) scratch_sha256("x.db", hex);
			if (!CHECK_EQ_INT(pack_run(&request, &problem, &result), 0)) {
				(void) fprintf(stderr, "  %s: %s\n", ways[i].packed, problem.reason);
				continue;
			}
			CHECK_EQ_STR(result.path, ways[i].packed);
			CHECK_EQ_STR(result.plain.sha256, hex);
			CHECK_EQ_INT(result.plain.n_bytes, sizes[k]);
			CHECK_EQ_STR(scratch_sha256(ways[i].packed, hex), result.packed.sha256);
			CHECK(result.plain_removed && !scratch_exists("x.db"));
			check_back(&ways[i], &result);
			if (ways[i].bundle)
				(void) scratch_shell("rm pki/fifo; diff -r --no-dereference back%s pki && mkfifo "
				                     "pki/fifo && rm -r back",
				                     extra_path);
			CHECK(unlink(ways[i].packed) == 0 && unlink("x.db") == 0);
			CHECK_EQ_STR(scratch_list(".", names, sizeof(names)), "empty key other pki recipient");
			free(result.path);
		}
	}
}

/* Nearly nothing becomes very much: more than any buffer at once. */
static void test_zeros(void)
{
	static const struct way way = {"x.db.zst", 3, false, false};

	for (size_t i = 0; i < 8; i++) {
		const struct pack_request request = request_of(&way);
		struct pack_result result = {0};
		struct problem problem = {0};

		(void) scratch_shell("truncate -s %zu x.db", ((size_t) 5 << 20) + i * 70001);
		CHECK_EQ_INT(pack_run(&request, &problem, &result), 0);
		check_back(&way, &result);
		CHECK(unlink(way.packed) == 0 && unlink("x.db") == 0);
		free(result.path);
	}
}

/* Blocks that do not fill the decompressor's buffer, nor end with it, and nothing behind the last
 * one, as other programs may write. */
static void test_odd_blocks(void)
{
	const size_t block = 100000, n = 2;
	AUTO(free) char *in = xcalloc(1, block);
	AUTO(free) char *out = xcalloc(1, 2 * block);
	const struct unpack_request request = {.path = "x.db.zst"};
	struct unpack_result result = {0};
	struct problem problem = {0};
	ZSTD_CCtx *ctx = ZSTD_createCCtx();
	ZSTD_outBuffer to = {out, 2 * block, 0};
	FILE *f = fopen("x.db.zst", "we");

	for (size_t i = 0; i < n; i++) {
		ZSTD_inBuffer from = {in, block, 0};

		memset(in, (int) i, block);
		CHECK(ZSTD_compressStream2(ctx, &to, &from, i + 1 < n ? ZSTD_e_flush : ZSTD_e_end) == 0);
	}
	CHECK(f != NULL && fwrite(out, 1, to.pos, f) == to.pos && fclose(f) == 0);
	CHECK_EQ_INT(unpack_run(&request, &problem, &result), 0);
	CHECK_EQ_INT(result.plain.n_bytes, n * block);
	(void) ZSTD_freeCCtx(ctx);
	free(result.path);
	CHECK(unlink("x.db") == 0 && unlink("x.db.zst") == 0);
}

/* A bundle has the snapshot under the name that was given; else, as older ones do, under the name
 * of the file. Both are unpacked. */
static void test_bundle_name(void)
{
	static const char *const names[] = {"20261121T203000Z-j-m1-r40.db", NULL};
	const struct unpack_request back = {.path = ".taking-j.tar.zst.age",
	                                    .to = "back.db",
	                                    .keys = {.files = key_file, .n_files = 1}};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct pack_request request = request_of(&whole_way);
		struct pack_result result = {0};
		struct unpack_result unpacked = {0};
		struct problem problem = {0};
		char name[64];

		scratch_make(".taking-j", DB_BYTES, 1);
		(void) scratch_shell("cp .taking-j orig");
		request.path = ".taking-j";
		request.name = names[i];
		CHECK_EQ_INT(pack_run(&request, &problem, &result), 0);
		(void) scratch_shell("age -d -i key %s | zstd -dc | tar t | sed -n 1p >name", back.path);
		read_line("name", name, sizeof(name));
		CHECK_EQ_STR(name, names[i] != NULL ? names[i] : ".taking-j");
		CHECK_EQ_INT(unpack_run(&back, &problem, &unpacked), 0);
		(void) scratch_shell("cmp back.db orig");
		(void) scratch_shell("rm -f back.db orig name %s", back.path);
		free(result.path);
		free(unpacked.path);
	}
}

/* What anyone has: age, zstd, tar. */
static void test_standard_tools(void)
{
	const struct pack_request request = request_of(&whole_way);
	struct pack_result result = {0};
	struct problem problem = {0};
	char mode[64];

	scratch_make("x.db", DB_BYTES, 1);
	(void) scratch_shell("cp x.db orig");
	CHECK_EQ_INT(pack_run(&request, &problem, &result), 0);
	(void) scratch_shell(
	    "mkdir std && age -d -i key x.db.tar.zst.age | zstd -dc | tar xpf - -C std");
	(void) scratch_shell("cmp std/x.db orig && cmp std/extra%s/ca.key pki/ca.key", extra_path);
	(void) scratch_shell("jq -e '.version == 1 and .snapshot.path == \"x.db\" and "
	                     ".snapshot.sha256 == \"%s\" and (.extra | length) == 6' std/manifest.json "
	                     ">/dev/null",
	                     result.plain.sha256);
	(void) scratch_shell("stat -c %%a std/extra%s/etcd std/extra%s/ca.key | tr '\\n' ' ' >modes",
	                     extra_path, extra_path);
	read_line("modes", mode, sizeof(mode));
	CHECK_EQ_STR(mode, "750 600 ");
	/* The frames have a checksum. */
	(void) scratch_shell("rm -r std modes; cp orig x.db");
	free(result.path);
	(void) scratch_shell("rm x.db.tar.zst.age orig");
	{
		const struct way plain_way = {"x.db.zst", 3, false, false};
		const struct pack_request plain = request_of(&plain_way);

		CHECK_EQ_INT(pack_run(&plain, &problem, &result), 0);
		(void) scratch_shell("zstd -q -lv x.db.zst 2>&1 | grep -q 'Check: XXH64'; rm x.db.zst");
		free(result.path);
	}
}

/* Also who is named only in a file can read it, and nobody else. */
static void test_recipients(void)
{
	static const char *const files[] = {"recipient"};
	const struct pack_request request = {
	    .path = "x.db", .recipients = {.files = files, .n_files = 1}, .keep_plain = true};
	struct unpack_request back = {
	    .path = "x.db.age", .to = "y.db", .keys = {.files = other_key_file, .n_files = 1}};
	struct pack_result result = {0};
	struct unpack_result unpacked = {0};
	struct problem problem = {0};

	scratch_make("x.db", 100, 1);
	CHECK_EQ_INT(pack_run(&request, &problem, &result), 0);
	CHECK(!result.plain_removed && scratch_exists("x.db"));
	free(result.path);
	CHECK(unpack_run(&back, &problem, &unpacked) < 0);
	CHECK_EQ_STR(problem.code, "AGE");
	problem = (struct problem){0};
	back.keys.n_files = 0;
	CHECK(unpack_run(&back, &problem, &unpacked) < 0);
	CHECK_EQ_STR(problem.code, "KEY");
	problem = (struct problem){0};
	back.keys = (struct opener_keys){.files = key_file, .n_files = 1};
	CHECK_EQ_INT(unpack_run(&back, &problem, &unpacked), 0);
	free(unpacked.path);
	problem = (struct problem){0};
	CHECK_EQ_INT(unpack_run(&back, &problem, &unpacked), -EEXIST);
	CHECK_EQ_STR(problem.code, "EXISTS");
	(void) scratch_shell("rm x.db x.db.age y.db");
}

/* --- what is wrong --- */

/* Packing fails with this code, and leaves all as it was. */
static void fails(const struct pack_request *request, const char *code, const char *in_reason)
{
	struct pack_result result = {0};
	struct problem problem = {0};
	char before[DIGEST_HEX_MAX], after[DIGEST_HEX_MAX], names[NAMES_MAX], left[NAMES_MAX];

	(void) scratch_sha256("x.db", before);
	(void) scratch_list(".", names, sizeof(names));
	CHECK(pack_run(request, &problem, &result) < 0);
	CHECK_EQ_STR(problem.code, code);
	if (!CHECK(strstr(problem.reason, in_reason) != NULL))
		(void) fprintf(stderr, "  '%s' lacks '%s'\n", problem.reason, in_reason);
	CHECK_EQ_STR(scratch_sha256("x.db", after), before);
	CHECK_EQ_STR(scratch_list(".", left, sizeof(left)), names);
}

static void test_bad_requests(void)
{
	const char *const names[] = {"age1nonsense"}, *const missing[] = {"no-such-file"};
	const char *const relative[] = {"pki"}, *const upwards[] = {"/dev/../etc/hostname"};
	struct pack_request request = request_of(&whole_way);

	scratch_make("x.db", 1000, 1);
	request.recipients.names = names;
	fails(&request, "AGE", "age failed");
	request = request_of(&whole_way);
	request.recipients = (struct age_recipients){.files = missing, .n_files = 1};
	fails(&request, "AGE", "no-such-file");
	request = request_of(&whole_way);
	request.extra = missing;
	fails(&request, "USAGE", "no-such-file");
	request.extra = relative;
	fails(&request, "USAGE", "'pki'");
	request.extra = upwards;
	fails(&request, "USAGE", "..");
	request = request_of(&whole_way);
	request.recipients.n_names = 0;
	fails(&request, "USAGE", "only when they are encrypted");
	request.n_extra = 0;
	request.level = 0;
	fails(&request, "USAGE", "neither");
	request.level = 20;
	fails(&request, "USAGE", "20");
	request = request_of(&whole_way);
	request.name = "";
	fails(&request, "USAGE", "''");
	request.name = "up/x.db";
	fails(&request, "USAGE", "'up/x.db'");
	request.name = NULL;
	request.level = 3;
	request.sha256 = "00";
	fails(&request, "MISMATCH", "has changed");
	request.sha256 = NULL;
	request.path = "gone.db";
	fails(&request, "NOT_FOUND", "gone.db");
	request.path = "pki/fifo";
	fails(&request, "NOT_FOUND", "not a regular file");
	(void) unlink("x.db");
}

/* A program called age that is not the true one. */
static void make_age(const char *script)
{
	(void) scratch_shell("mkdir -p fake && printf '#!/bin/sh\\n%%s\\n' '%s' >fake/age && "
	                     "cp /usr/bin/age-keygen fake && chmod 755 fake/*",
	                     script);
}

static void test_bad_age(void)
{
	static const struct {
		const char *script;
		const char *code;
		const char *reason;
	} cases[] = {
	    {"exit 0", "AGE", "age"},
	    {"exit 3", "AGE", "did not say why"},
	    {"echo sorry >&2; exit 1", "AGE", "sorry"},
	    {"kill -9 $$", "AGE", "signal 9"},
	    /* It says that all went well, and has written half of it, or something else. */
	    {"exec head -c 70000", "AGE", "age"},
	    {"/usr/bin/age \"$@\" | head -c 700000", "AGE", "age"},
	    {"cat", "MISMATCH", "read back"},
	    {"cat >/dev/null; echo something else", "MISMATCH", "read back"},
	    /* It takes its time to fail. */
	    {"head -c 500000; sleep 0.2; echo late >&2; exit 1", "AGE", "late"},
	};
	const char *path = getenv("PATH");
	AUTO(free) char *old = xstrdup(path != NULL ? path : "/usr/bin:/bin");
	AUTO(free) char *new = xasprintf("%s/fake:%s", scratch_dir, old);

	scratch_make("x.db", DB_BYTES, 1);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct way way = {"x.db.age", 0, true, false};
		const struct pack_request request = request_of(&way);

		make_age(cases[i].script);
		(void) setenv("PATH", new, 1);
		fails(&request, cases[i].code, cases[i].reason);
		(void) setenv("PATH", old, 1);
	}
	(void) setenv("PATH", "/nowhere", 1);
	{
		const struct pack_request request = request_of(&whole_way);

		fails(&request, "AGE_MISSING", "age-keygen");
	}
	(void) setenv("PATH", old, 1);
	(void) scratch_shell("rm -r fake x.db");
}

/* The same in a file system that is too small, and in one that is read-only; as somebody else. */
static void in_mount(const char *data, unsigned long flags, const char *code, const char *reason)
{
	const struct pack_request request = request_of(&whole_way);

	scratch_make("x.db", DB_BYTES, 5);
	CHECK(mount("tmpfs", "empty", "tmpfs", 0, data) == 0);
	(void) scratch_shell("cp x.db empty/x.db");
	if (flags != 0)
		CHECK(mount(NULL, "empty", NULL, MS_REMOUNT | flags, data) == 0);
	CHECK(chdir("empty") == 0);
	fails(&request, code, reason);
	CHECK(chdir("..") == 0);
	CHECK(umount("empty") == 0);
	(void) unlink("x.db");
}

static void test_file_systems(void)
{
	pid_t pid;
	int status = 1;

	/* The plain file takes 3 MiB, the packed one some 1.6 MiB. */
	in_mount("size=4m", 0, "NO_SPACE", "No space left");
	in_mount("size=3200k", 0, "NO_SPACE", "No space left");
	in_mount("size=16m", MS_RDONLY, "PERMISSION", "Read-only");
	pid = fork();
	if (pid == 0) {
		const struct way way = {"x.db.zst", 3, false, false};
		const struct pack_request request = request_of(&way);

		scratch_make("x.db", 1000, 1);
		CHECK(chmod(".", 0755) == 0 && chmod("x.db", 0644) == 0);
		CHECK(setgid(65534) == 0 && setuid(65534) == 0);
		fails(&request, "PERMISSION", "cannot create");
		_exit(check_result());
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	(void) unlink("x.db");
}

/* --- damage --- */

static bool unpacks(const char *path, struct problem *problem)
{
	const struct unpack_request request = {
	    .path = path, .to = "y.db", .keys = {.files = key_file, .n_files = 1}};
	struct unpack_result result = {0};
	bool ok;

	*problem = (struct problem){0};
	ok = unpack_run(&request, problem, &result) == 0;
	CHECK(scratch_exists("y.db") == ok && !scratch_exists(".y.db.new"));
	(void) unlink("y.db");
	free(result.path);
	return ok;
}

/* Cut at, or changed in, any place: never a snapshot. */
static void damage(const struct way *way)
{
	const struct pack_request request = request_of(way);
	struct pack_result result = {0};
	struct problem problem = {0};
	AUTO(free) char *data = NULL;
	/* As the damage may be in the first bytes, the name has to say what it was. */
	AUTO(free) char *cut = xasprintf("cut%s", way->packed + strlen("x.db"));
	size_t n;
	FILE *f;

	scratch_make("x.db", 40000, 3);
	CHECK_EQ_INT(pack_run(&request, &problem, &result), 0);
	n = result.packed.n_bytes;
	data = xcalloc(n, 1);
	f = fopen(way->packed, "re");
	CHECK(f != NULL && fread(data, 1, n, f) == n);
	(void) fclose(f);
	for (size_t i = 0; i < 60; i++) {
		size_t at = i < 30 ? i * n / 30 : n - 1 - (i - 30);

		(void) scratch_shell("head -c %zu %s >%s", at, way->packed, cut);
		if (!CHECK(!unpacks(cut, &problem)))
			(void) fprintf(stderr, "  %s cut at %zu of %zu\n", way->packed, at, n);
		CHECK(problem.code[0] != '\0');
		data[at] ^= 1;
		f = fopen(cut, "we");
		CHECK(f != NULL && fwrite(data, 1, n, f) == n && fclose(f) == 0);
		data[at] ^= 1;
		if (!CHECK(!unpacks(cut, &problem)))
			(void) fprintf(stderr, "  %s flipped at %zu of %zu\n", way->packed, at, n);
	}
	(void) scratch_shell("(cat %s; echo more) >%s", way->packed, cut);
	CHECK(!unpacks(cut, &problem));
	CHECK(unpacks(way->packed, &problem));
	CHECK(unlink(way->packed) == 0 && unlink(cut) == 0);
	free(result.path);
}

static void test_damage(void)
{
	static const struct way zstd_only = {"x.db.zst", 3, false, false};
	struct problem problem;

	damage(&zstd_only);
	damage(&whole_way);
	(void) scratch_shell(": >nothing");
	CHECK(!unpacks("nothing", &problem));
	CHECK_EQ_STR(problem.code, "CORRUPT");
}

/* SIGTERM in the middle: all is removed that is not whole. */
static void test_cancel(void)
{
	const struct pack_request request = request_of(&whole_way);

	scratch_make("x.db", DB_BYTES, 9);
	CHECK(raise(SIGTERM) == 0);
	fails(&request, "CANCELLED", "cancelled");
}

int main(void)
{
	cancel_watch();
	CHECK(unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	prepare();
	test_ways();
	test_zeros();
	test_odd_blocks();
	test_bundle_name();
	test_standard_tools();
	test_recipients();
	test_bad_requests();
	test_bad_age();
	test_file_systems();
	test_damage();
	/* Last: it stays cancelled. */
	test_cancel();
	scratch_leave();
	return check_result();
}
