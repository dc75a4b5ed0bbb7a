/* SPDX-License-Identifier: Apache-2.0 */
/* `fairlead etcd snapshot`: what the commands print, to the byte, and their exit codes. */
#include "cli/common/cli.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "tests/unit/boltkv.h"
#include "tests/unit/check.h"
#include "tests/unit/clirun.h"

/* The worker finds and unpacks what is no plain file; beside a unit test there is none. */
#define NO_WORKER "fairlead: the program 'etcdwatch-worker' is not installed beside this one\n"
#define OLD "tests/bolt/etcd-3.4.db"
#define NEW "tests/bolt/etcd-3.5.db"

/* A file of this name in the test's folder. */
static void write_file(const char *name, const void *bytes, size_t len)
{
	AUTO(free) char *path = xasprintf("%s/%s", clirun_dir, name);

	CHECK_EQ_INT(file_write_atomic(path, bytes, len, 0600, FILE_VOLATILE), 0);
}

/* Runs "etcd snapshot" with %s of the line replaced by the folder. */
static void check_line(const char *line, const char *arguments, int want_code, const char *want_out,
                       const char *want_err)
{
	AUTO(free) char *text = xasprintf("etcd snapshot %s %s%s", line, clirun_dir, arguments);
	AUTO(free)
	char *err =
	    want_err[0] == '\0' ? xstrdup("") : xasprintf("fairlead: %s%s", clirun_dir, want_err);

	clirun_check(text, want_code, want_out, err);
}

static void check_needs_worker(const char *line, const char *arguments)
{
	AUTO(free) char *text = xasprintf("etcd snapshot %s %s%s", line, clirun_dir, arguments);

	clirun_check(text, CLI_FAILED, "", NO_WORKER);
}

/* It works, and prints this and no more. */
static void check_exact(const char *line, const char *arguments, const char *want_out)
{
	AUTO(free) char *text = xasprintf("etcd snapshot %s %s%s", line, clirun_dir, arguments);
	AUTO(free) char *out = NULL;
	AUTO(free) char *err = NULL;

	CHECK_EQ_INT(clirun(text, &out, &err), CLI_OK);
	CHECK_EQ_STR(out, want_out);
	CHECK_EQ_STR(err, "");
}

static void test_verify(void)
{
	clirun_check("etcd snapshot verify " OLD, CLI_OK,
	             "verified  " OLD "\n"
	             "digest    ok\n"
	             "tree      10 pages, 2 of them free\n"
	             "revision  39, compacted at 35\n"
	             "HashKV    4013837261 at revision 39, with 31 keys\n"
	             "status    c1328c3a, 39, 46, 41 kB\n"
	             "cluster   etcd 3.4.0; members 8e9e05c52164694d n1\n",
	             "");
	clirun_check("etcd snapshot verify --no-digest " OLD, CLI_OK,
	             "verified  " OLD "\ndigest    not checked\n", "");
	clirun_check("-o json etcd snapshot verify " NEW, CLI_OK,
	             "{\"file\":\"" NEW "\",\"verified\":true,\"digest\":\"ok\",\"hash\":2686299296,"
	             "\"revision\":39,\"totalKey\":48,\"totalSize\":40960,\"version\":\"\","
	             "\"current_revision\":39,\"compact_revision\":35,"
	             "\"finished_compact_revision\":35,\"hashkv\":4066523744,"
	             "\"hashkv_revision\":39,\"live_keys\":31,\"pages\":10,"
	             "\"free_pages\":2,\"consistent_index\":47,\"term\":2,"
	             "\"cluster_version\":\"3.5.0\",\"members\":[{\"id\":\"8e9e05c52164694d\","
	             "\"name\":\"n1\",\"peer_urls\":[\"http://localhost:2380\"],\"client_urls\":[],"
	             "\"learner\":false}],\"alarms\":[],\"leases\":1,\"auth_enabled\":false,"
	             "\"users\":1,\"roles\":1}\n",
	             "");
	clirun_check("etcd snapshot verify --revision 37 " NEW " -o json", CLI_OK,
	             "{\"file\":\"" NEW "\",\"verified\":true,\"digest\":\"ok\",\"hash\":2686299296,"
	             "\"revision\":39,\"totalKey\":48,\"totalSize\":40960,\"version\":\"\","
	             "\"current_revision\":39,\"compact_revision\":35,"
	             "\"finished_compact_revision\":35,\"hashkv\":3017183816,"
	             "\"hashkv_revision\":37,\"live_keys\":30,",
	             "");
	clirun_check("etcd snapshot verify --revision 40 " NEW, CLI_FAILED, "",
	             "fairlead: " NEW ": revision 40 is not in it: it ends with 39\n");
	clirun_check("etcd snapshot verify /nonexistent", CLI_FAILED, "",
	             "fairlead: /nonexistent: cannot open it: No such file or directory\n");
}

static void test_damaged(void)
{
	AUTO(free) char *bytes = NULL;
	size_t len;

	CHECK_EQ_INT(file_read(OLD, 65536, &bytes, &len), 0);
	write_file("no-digest.db", bytes, len - 32);
	check_line(
	    "verify", "/no-digest.db", CLI_FAILED, "",
	    "/no-digest.db: it does not end with a digest: it was cut off, or is no snapshot but "
	    "a database from a data directory (then: --no-digest)\n");
	check_line("verify --no-digest", "/no-digest.db", CLI_OK, "verified  /tmp/fairlead-cli-", "");

	/* In a value, also where remains of it stand in a free page: only the digest can tell. */
	for (size_t i = 0; i + 8 < len; i++) {
		if (memcmp(bytes + i, "value 12", 8) == 0)
			bytes[i] ^= 1;
	}
	write_file("bad.db", bytes, len);
	check_line("verify", "/bad.db", CLI_FAILED, "",
	           "/bad.db: the digest at its end is not that of what is before it\n");
	check_line("-o json verify", "/bad.db", CLI_FAILED, "{\"file\":\"/tmp/fairlead-cli-",
	           "/bad.db: the digest at its end is not ");
	check_line("verify --no-digest", "/bad.db", CLI_OK, "verified ", "");

	/* In the header of page 9. */
	bytes[9 * 4096] ^= 4;
	write_file("bad.db", bytes, len);
	check_line("status", "/bad.db", CLI_FAILED, "",
	           "/bad.db: page 9: it says that it is page 13\n");
	check_line("verify --no-digest", "/bad.db", CLI_FAILED, "",
	           "/bad.db: page 9: it says that it is page 13\n");

	write_file("short.db", bytes, len / 2);
	check_line("verify", "/short.db", CLI_FAILED, "",
	           "/short.db: the file is cut off: it has 20496 bytes, and 10 pages of 4096 bytes\n");
	write_file("packed.zst", (const unsigned char *) "\x28\xb5\x2f\xfd and more", 13);
	/* By its beginning, by its name, or as there is no such file. */
	check_needs_worker("status", "/packed.zst");
	write_file("packed.age", (const unsigned char *) "age-encryption.org/v1\n-> X", 26);
	check_needs_worker("verify", "/packed.age");
	write_file("damaged.zst", bytes, len);
	check_needs_worker("verify", "/damaged.zst");
	clirun_check("etcd snapshot status --directory /d 20261121T203000Z-j-m0-r40", CLI_FAILED, "",
	             NO_WORKER);
	write_file("empty.db", bytes, 0);
	check_line("verify", "/empty.db", CLI_FAILED, "",
	           "/empty.db: page 0: no good meta page: the file ends before it\n");
}

static void test_status(void)
{
	clirun_check("etcd snapshot status " OLD, CLI_OK, "c1328c3a, 39, 46, 41 kB\n", "");
	clirun_check("etcd snapshot status -o json " NEW, CLI_OK,
	             "{\"hash\":2686299296,\"revision\":39,\"totalKey\":48,\"totalSize\":40960,"
	             "\"version\":\"\",\"current_revision\":39,",
	             "");
}

/* Keys of any bytes, several revisions, a compaction at 3. */
static void write_history(void)
{
	const struct boltkv kvs[] = {
	    boltkv_put(2, 0, "a", 2, 1, "one"),
	    boltkv_put(3, 0, "b", 3, 1, "two\n\x1b[2J"),
	    boltkv_put(4, 0, "a", 2, 2, "three"),
	    boltkv_delete(5, 0, "b"),
	    boltkv_put(6, 0, "ab", 6, 1, ""),
	    boltkv_put(7, 0, "0", 7, 1, "zero"),
	    boltkv_bump(9),
	};
	struct boltfile f = boltkv_file(kvs, ARRAY_SIZE(kvs), 3, 3, 2);

	write_file("history.db", f.bytes, f.n_pages * f.page_bytes);
	boltfile_free(&f);
}

static void test_get(void)
{
	write_history();
	check_exact("get a", "/history.db", "a\nthree\n");
	check_exact("get a --revision 3", "/history.db", "a\none\n");
	check_exact("get b --revision 4", "/history.db", "b\ntwo\n\x1b[2J\n");
	check_exact("get --prefix a", "/history.db", "a\nthree\nab\n\n");
	check_exact("get --prefix a --revision=5", "/history.db", "a\nthree\n");
	check_exact("get --prefix \"\" --revision=4", "/history.db", "a\nthree\nb\ntwo\n\x1b[2J\n");
	check_exact("get --prefix \"\"", "/history.db", "0\nzero\na\nthree\nab\n\n");
	check_exact("get -o json a", "/history.db",
	            "{\"key\":\"YQ==\",\"create_revision\":2,\"mod_revision\":4,\"version\":2,"
	            "\"value\":\"dGhyZWU=\"}\n");
	check_line("get --revision 10 a", "/history.db", CLI_FAILED, "",
	           "/history.db: revision 10 is not in it: it ends with 9\n");
	check_line("get --revision 2 a", "/history.db", CLI_FAILED, "",
	           "/history.db: revision 2 was compacted: it begins with 3\n");
	clirun_check("etcd snapshot get b " OLD, CLI_FAILED, "",
	             "fairlead: no key 'b' in " OLD " at revision 39\n");
	clirun_check("etcd snapshot get --prefix b " OLD, CLI_FAILED, "",
	             "fairlead: no key that begins with 'b' in " OLD " at revision 39\n");
	clirun_check("etcd snapshot get /registry/leases/node-1 -o json " NEW, CLI_OK,
	             "{\"key\":\"L3JlZ2lzdHJ5L2xlYXNlcy9ub2RlLTE=\",\"create_revision\":32,"
	             "\"mod_revision\":32,\"version\":1,\"value\":\"YWxpdmU=\",\"lease\":",
	             "");
}

static void test_filling(void)
{
	const struct boltkv kvs[] = {
	    boltkv_put(2, 0, "/registry/a/x", 2, 1, "12345"),
	    boltkv_put(3, 0, "/registry/a/y", 3, 1, "1"),
	    boltkv_put(4, 0, "/registry/a/x", 2, 2, "123456"),
	    boltkv_put(5, 0, "/registry/b/z", 5, 1, "0123456789"),
	    boltkv_put(6, 0, "/flat", 6, 1, "1"),
	    boltkv_delete(7, 0, "/registry/a/y"),
	};
	struct boltfile f = boltkv_file(kvs, ARRAY_SIZE(kvs), -1, -1, 2);

	write_file("usage.db", f.bytes, f.n_pages * f.page_bytes);
	check_exact("usage", "/usage.db",
	            "PREFIX       BYTES   SHARE  CHANGES  LIVE  KEYS\n"
	            "/registry/a   64 B   68.8%        4  19 B     1\n"
	            "/registry/b   23 B   24.7%        1  23 B     1\n"
	            "/flat          6 B    6.5%        1   6 B     1\n"
	            "(all)         93 B  100.0%        6  48 B     3\n");
	check_exact("usage -o json --depth 1", "/usage.db",
	            "{\"prefix\":\"/registry\",\"bytes\":87,\"changes\":5,\"live_bytes\":42,"
	            "\"keys\":2}\n"
	            "{\"prefix\":\"/flat\",\"bytes\":6,\"changes\":1,\"live_bytes\":6,\"keys\":1}\n");
	clirun_check("etcd snapshot usage --depth 0 a", CLI_USAGE, "",
	             "fairlead: no depth: '0': 1 to 16\n");
	/* It is counted by two components: for others it is read. */
	clirun_check("etcd snapshot usage --depth 3 --directory /d latest", CLI_FAILED, "", NO_WORKER);
	clirun_check("etcd snapshot usage --local a", CLI_USAGE, "",
	             "fairlead: --local is about what etcdwatch says of 'latest': leave it out where a "
	             "snapshot is read\n");
	clirun_check("etcd snapshot usage s3:a", CLI_USAGE, "",
	             "fairlead: s3:TARGET/ID, or s3:ID with --endpoint and --bucket, not 's3:a'\n");
	boltfile_free(&f);
}

static void test_diff(void)
{
	const struct boltkv kvs[] = {
	    boltkv_put(2, 0, "a", 2, 1, "one"),
	    boltkv_put(4, 0, "a", 2, 2, "thrEe"),
	    boltkv_put(6, 0, "ab", 6, 1, ""),
	    boltkv_put(7, 0, "c\x1b\n", 7, 1, ""),
	};
	struct boltfile f = boltkv_file(kvs, ARRAY_SIZE(kvs), -1, -1, 2);
	AUTO(free) char *line = NULL;

	write_file("other.db", f.bytes, f.n_pages * f.page_bytes);
	boltfile_free(&f);
	line = xasprintf("diff %s/history.db", clirun_dir);
	check_line(line, "/history.db", CLI_OK,
	           "0 added, 0 removed, 0 changed, 3 the same; revision 9 -> 9\n", "");
	check_line(line, "/other.db", CLI_FAILED,
	           "- 0\n~ a (at revision 4 in both)\n+ c??\n"
	           "1 added, 1 removed, 1 changed, 1 the same; revision 9 -> 7\n",
	           "");
	free(line);
	line = xasprintf("diff -o json %s/other.db", clirun_dir);
	check_line(
	    line, "/history.db", CLI_FAILED,
	    "{\"change\":\"added\",\"key\":\"MA==\",\"from_revision\":null,\"to_revision\":7}\n"
	    "{\"change\":\"changed\",\"key\":\"YQ==\",\"from_revision\":4,\"to_revision\":4}\n"
	    "{\"change\":\"removed\",\"key\":\"YxsK\",\"from_revision\":7,\"to_revision\":null}\n",
	    "");
	clirun_check("etcd snapshot diff " OLD " /nonexistent", CLI_FAILED, "",
	             "fairlead: /nonexistent: cannot open it: No such file or directory\n");
	clirun_check("etcd snapshot diff " OLD " " NEW, CLI_FAILED,
	             "~ /registry/leases/node-1 (at revision 32 in both)\n"
	             "0 added, 0 removed, 1 changed, 30 the same; revision 39 -> 39\n",
	             "");
}

static void test_usage(void)
{
	clirun_check(
	    "etcd snapshot verify", CLI_USAGE, "",
	    "fairlead: too few arguments for 'etcd snapshot verify'\n"
	    "Usage: fairlead etcd snapshot verify [--no-digest] [--revision N] [OPTION]... SNAPSHOT\n");
	clirun_check("etcd snapshot get a", CLI_USAGE, "",
	             "fairlead: too few arguments for 'etcd snapshot get'\n");
	clirun_check("etcd snapshot status --prefix x", CLI_USAGE, "",
	             "fairlead: 'etcd snapshot status' has no option --prefix\n"
	             "Usage: fairlead etcd snapshot status [OPTION]... SNAPSHOT\n");
	clirun_check("etcd snapshot status --no-digest x", CLI_USAGE, "",
	             "fairlead: 'etcd snapshot status' has no option --no-digest\n");
	clirun_check("vip status --revision 5", CLI_USAGE, "",
	             "fairlead: 'vip status' has no option --revision\n");
	clirun_check("etcd snapshot get --revision 0 a b", CLI_USAGE, "",
	             "fairlead: no revision: '0': they are counted from 1\n");
	clirun_check("etcd snapshot get --revision 5x a b", CLI_USAGE, "",
	             "fairlead: no revision: '5x': they are counted from 1\n");
	clirun_check("etcd snapshot get --revision 9223372036854775808 a b", CLI_USAGE, "",
	             "fairlead: no revision: '9223372036854775808': they are counted from 1\n");
	clirun_check("etcd snapshto verify x", CLI_USAGE, "",
	             "fairlead: unknown command 'etcd snapshto verify': did you mean 'fairlead etcd "
	             "snapshot verify'?\n");
	clirun_check("etcd --help", CLI_OK,
	             "Usage: fairlead etcd COMMAND\n"
	             "etcd: its members, ",
	             "");
	clirun_check(
	    "etcd snapshot verify --help", CLI_OK,
	    "Usage: fairlead etcd snapshot verify [--no-digest] [--revision N] [OPTION]... SNAPSHOT\n"
	    "Whether a snapshot of etcd is sound",
	    "");
}

static void test_yaml(void)
{
	static const char *const lines[] = {
	    "etcd snapshot verify " NEW,
	    "etcd snapshot status " NEW,
	    "etcd snapshot get /registry/leases/node-1 " NEW,
	    "etcd snapshot usage " NEW,
	    "etcd snapshot diff " NEW " " OLD,
	    "etcd rescue " NEW " " OLD,
	    "etcd snapshot verify /nonexistent",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		clirun_check_yaml(lines[i]);
}

int main(void)
{
	clirun_begin();
	test_verify();
	test_damaged();
	test_status();
	test_get();
	test_filling();
	test_diff();
	test_usage();
	test_yaml();
	clirun_end();
	return check_result();
}
