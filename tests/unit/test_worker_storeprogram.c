/* SPDX-License-Identifier: Apache-2.0 */
/* A store that programs reach: shells here, over a directory. What they are told, what they may
 * print, and what becomes of their failures. (Real ones are in tests/netns/etcdwatch_command.sh.)
 */
#include "etcdwatch/worker/store/storeprogram.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>

#include "etcdwatch/worker/store/s3put.h"
#include "etcdwatch/worker/store/s3target.h"
#include "tests/unit/check.h"
#include "tests/unit/scratch.h"

#define FOUND_MAX 512

static struct s3 *s3;

/* The verbs by shell; the key is $1 in all of them. NULL: the usual one. */
static void open_store(const char *upload, const char *download, const char *list,
                       const char *delete)
{
	const char *const shells[] = {
	    upload != NULL ? upload : "mkdir -p \"$(dirname \"s/$1\")\"; cat >\"s/$1\"",
	    download != NULL ? download : "cat \"s/$1\"",
	    list != NULL ? list : "cd s && find . -type f -printf '%s %P\\n' | sort",
	    delete != NULL ? delete : "rm \"s/$1\"",
	};
	static const char *const verbs[] = {"upload", "download", "list", "delete"};
	json_t *programs = json_object();
	struct problem problem = {0};
	char *text;

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		(void) json_object_set_new(programs, verbs[i],
		                           json_pack("[s, s, s, s, s, s]", "/bin/sh", "-c", shells[i], "sh",
		                                     i == 2 ? "{prefix}" : "{key}",
		                                     i == 0 ? "{file}" : "-"));
	/* Without a place for the file, it is read from standard input. */
	if (upload == NULL || strstr(upload, "$2") == NULL)
		(void) json_array_set_new(json_object_get(programs, "upload"), 5, json_string("-"));
	text = json_dumps(programs, 0);
	s3_free(s3);
	s3 = NULL;
	CHECK_EQ_INT(storeprogram_open(text, &problem, &s3), 0);
	free(text);
	json_decref(programs);
}

static void fails(int r, int want, const char *code, const char *text)
{
	struct problem problem = {0};

	CHECK_EQ_INT(r, want);
	(void) s3target_fail(s3, r, &problem);
	CHECK_EQ_STR(problem.code, code);
	if (!CHECK(strstr(problem.reason, text) != NULL))
		(void) fprintf(stderr, "  '%s' lacks '%s'\n", problem.reason, text);
}

static void test_keys(void)
{
	static const char *const good[] = {"a", "a/b", "cluster-a/0123/x.db", "a..b/...", "\xc3\xa4 b"};
	static const char *const bad[] = {"",       "/a",    "a/",  "a//b", "..",
	                                  "a/../b", "a/..",  "./a", "a/.",  "a\nb",
	                                  "a\tb",   "a\x7f", "-a",  "--rm", "\x1b[2J"};
	AUTO(free) char *longest = xcalloc(1, STOREPROGRAM_KEY_MAX + 2);

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		CHECK(storeprogram_key_is_good(good[i]));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK(!storeprogram_key_is_good(bad[i]));
	memset(longest, 'a', STOREPROGRAM_KEY_MAX);
	CHECK(storeprogram_key_is_good(longest));
	longest[STOREPROGRAM_KEY_MAX] = 'a';
	CHECK(!storeprogram_key_is_good(longest));
}

static void test_open(void)
{
	static const char *const bad[] = {
	    "",
	    "[]",
	    "{",
	    "{\"upload\": [\"/a\"], \"download\": [\"/a\"], \"list\": [\"/a\"]}",
	    "{\"upload\": [\"/a\"], \"download\": [\"/a\"], \"list\": [\"/a\"], \"delete\": []}",
	    "{\"upload\": [\"/a\"], \"download\": [1], \"list\": [\"/a\"], \"delete\": [\"/a\"]}",
	    "{\"upload\": \"/a\", \"download\": [\"/a\"], \"list\": [\"/a\"], \"delete\": [\"/a\"]}"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct problem problem = {0};
		struct s3 *none = NULL;

		CHECK_EQ_INT(storeprogram_open(bad[i], &problem, &none), -EINVAL);
		CHECK_EQ_STR(problem.code, "USAGE");
		CHECK(none == NULL);
	}
}

/* --- lists --- */

static char found[FOUND_MAX];

static int on_listed(const struct s3_listed *listed, void *userdata UNUSED)
{
	size_t len = strlen(found);

	(void) snprintf(found + len, sizeof(found) - len, "%s=%llu ", listed->key,
	                (unsigned long long) listed->n_bytes);
	return 0;
}

static int list(const char *prefix, uint64_t max)
{
	found[0] = '\0';
	return s3_list(s3, prefix, max, on_listed, NULL);
}

static void test_list(void)
{
	open_store(NULL, NULL, "printf '1 a/x\\n2\\ta/y z\\r\\n3;a/;\\n\\n4 b/a/x'", NULL);
	CHECK_EQ_INT(list("a/", 0), 0);
	CHECK_EQ_STR(found, "a/x=1 a/y z=2 a/;=3 ");
	CHECK_EQ_INT(list("a/", 2), 0);
	CHECK_EQ_STR(found, "a/x=1 a/y z=2 ");
	CHECK_EQ_INT(list("", 0), 0);
	CHECK_EQ_STR(found, "a/x=1 a/y z=2 a/;=3 b/a/x=4 ");
	CHECK_EQ_INT(list("c", 0), 0);
	CHECK_EQ_STR(found, "");
	/* What cannot be a key of ours is passed over: it is never a name to remove. */
	open_store(NULL, NULL, "printf '1 a/../x\\n1 /a\\n1 -a\\n1 a\\tb\\n1 a\\n'", NULL);
	CHECK_EQ_INT(list("", 0), 0);
	CHECK_EQ_STR(found, "a=1 ");
	/* The prefix is told. */
	open_store(NULL, NULL, "echo \"7 $1x\"", NULL);
	CHECK_EQ_INT(list("p/q", 0), 0);
	CHECK_EQ_STR(found, "p/qx=7 ");
}

static void test_list_bad(void)
{
	static const struct {
		const char *shell, *reason;
	} cases[] = {
	    {"echo '1 a'; echo total 5", "line 2 of its list is not a size in bytes"},
	    {"echo '-1 a'", "is not a size"},
	    {"echo '1'", "is not a size"},
	    {"echo '1=a'", "is not a size"},
	    {"echo '99999999999999999999 a'", "is not a size"},
	    {"printf '1 a\\0b\\n'", "has a NUL in it"},
	    {"head -c 5000 /dev/zero | tr '\\0' 1", "is too long"},
	    /* Half a list is none. */
	    {"echo '1 a'; echo no such bucket >&2; exit 3", "list 'a': /bin/sh failed: no such bucket"},
	    {"echo '1 a'; kill -9 $$", "killed by signal 9"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		open_store(NULL, NULL, cases[i].shell, NULL);
		CHECK(list("a", 0) < 0);
		fails(-EREMOTEIO, -EREMOTEIO, "S3_PROGRAM", cases[i].reason);
		CHECK_EQ_STR(found, "");
	}
}

/* --- objects --- */

static int on_data(const void *data, size_t len, void *userdata)
{
	size_t have = strlen(found);

	if (userdata != NULL)
		return -ENOSPC;
	(void) snprintf(found + have, sizeof(found) - have, "%.*s", (int) len, (const char *) data);
	return 0;
}

static int get(const char *key, uint64_t offset, void *userdata, struct s3_object *object)
{
	found[0] = '\0';
	return s3_get(s3, key, offset, on_data, userdata, object);
}

static void test_get(void)
{
	struct s3_object object;

	(void) scratch_shell("mkdir -p s/a; printf 0123456789 >s/a/x");
	open_store(NULL, NULL, NULL, NULL);
	CHECK_EQ_INT(get("a/x", 0, NULL, &object), 0);
	CHECK_EQ_STR(found, "0123456789");
	CHECK_EQ_INT(object.n_bytes, 10);
	CHECK_EQ_INT(get("a/x", 7, NULL, &object), 0);
	CHECK_EQ_STR(found, "789");
	fails(get("a/x", 11, NULL, NULL), -ERANGE, "S3_REFUSED", "ends before the offset");
	CHECK_EQ_INT(s3_head(s3, "a/x", &object), 0);
	CHECK_EQ_INT(object.n_bytes, 10);
	fails(s3_head(s3, "a", &object), -ENOENT, "S3_NOT_FOUND", "'a'");
	fails(get("a/none", 0, NULL, NULL), -ENOENT, "S3_NOT_FOUND", "'a/none'");
	fails(get("a/../x", 0, NULL, NULL), -EINVAL, "S3_REFUSED", "'a/../x' cannot be a key");
	fails(get("a/x", 0, found, NULL), -ENOSPC, "S3_LOCAL", "could not be kept");
	/* It is there, and does not come. */
	open_store(NULL, "printf 01; echo quota exceeded >&2; exit 1", NULL, NULL);
	CHECK(get("a/x", 0, NULL, NULL) < 0);
	fails(-EPIPE, -EPIPE, "S3_PROGRAM", "download 'a/x': /bin/sh failed: quota exceeded");
}

/* No shell of ours is between: what looks like one's words stays what it is. */
static void test_words(void)
{
	struct s3_object object;
	struct s3_piece piece = {.fd = -1};
	int fd;

	(void) scratch_shell("printf abc >file");
	fd = open("file", O_RDONLY | O_CLOEXEC);
	CHECK_EQ_INT(s3_piece_hash(fd, 0, 3, NULL, &piece), 0);
	piece.path = "file";
	open_store("printf '%s|%s' \"$1\" \"$2\" >told", NULL, NULL, NULL);
	CHECK_EQ_INT(s3_put(s3, "a/$(touch x);`id` {file}", &piece), 0);
	CHECK(scratch_shell("test \"$(cat told)\" = 'a/$(touch x);`id` file|file'"));
	CHECK(scratch_shell("test ! -e x"));
	open_store(NULL, NULL, NULL, NULL);
	CHECK_EQ_INT(s3_put(s3, "b/in", &piece), 0);
	CHECK_EQ_INT(s3_head(s3, "b/in", &object), 0);
	CHECK_EQ_INT(object.n_bytes, 3);
	(void) close(fd);
}

static int put_file(const char *key, struct problem *problem)
{
	const struct s3put_request request = {.path = "file", .key = key};
	struct s3put_result result;

	*problem = (struct problem){0};
	return s3put_run(s3, &request, problem, &result);
}

/* A file that S3 would get in parts, stored whole and read back. */
static void test_put(void)
{
	struct problem problem;

	(void) scratch_shell("head -c 20000000 /dev/zero >file");
	open_store(NULL, NULL, NULL, NULL);
	CHECK_EQ_INT(put_file("a/file", &problem), 0);
	CHECK(scratch_shell("cmp -s file s/a/file"));
	/* It takes less than it is given, and says that all is well. */
	open_store("head -c 100 >/dev/null", NULL, NULL, NULL);
	CHECK(put_file("a/less", &problem) < 0);
	CHECK_EQ_STR(problem.code, "S3_PROGRAM");
	CHECK(strstr(problem.reason, "ended before its input did") != NULL);
	/* It stores something else, and says that all is well. */
	open_store("cat >/dev/null; echo other >\"s/$1\"", NULL, NULL, NULL);
	CHECK(put_file("other", &problem) < 0);
	CHECK_EQ_STR(problem.code, "S3_MISMATCH");
	CHECK(strstr(problem.reason, "is removed") != NULL);
	CHECK(scratch_shell("test ! -e s/other"));
}

static void test_delete(void)
{
	(void) scratch_shell("mkdir -p s; echo x >s/x");
	open_store(NULL, NULL, NULL, NULL);
	CHECK_EQ_INT(s3_delete(s3, "x"), 0);
	CHECK(scratch_shell("test ! -e s/x"));
	CHECK_EQ_INT(s3_delete(s3, "x"), 0);
	(void) scratch_shell("echo x >s/x");
	open_store(NULL, NULL, NULL, "echo read-only >&2; exit 1");
	CHECK(s3_delete(s3, "x") < 0);
	fails(-EPIPE, -EPIPE, "S3_PROGRAM", "delete 'x': /bin/sh failed: read-only");
	fails(s3_delete(s3, "../x"), -EINVAL, "S3_REFUSED", "cannot be a key");
}

static void test_missing_program(void)
{
	struct problem problem = {0};

	s3_free(s3);
	s3 = NULL;
	CHECK_EQ_INT(
	    storeprogram_open("{\"upload\":[\"/x\"],\"download\":[\"/x\"],\"list\":[\"/none\"],"
	                      "\"delete\":[\"/x\"]}",
	                      &problem, &s3),
	    0);
	CHECK(list("", 0) < 0);
	fails(-ENOENT, -ENOENT, "S3_PROGRAM", "cannot run the program '/none'");
}

int main(void)
{
	scratch_enter();
	(void) signal(SIGPIPE, SIG_IGN);
	test_keys();
	test_open();
	test_list();
	test_list_bad();
	test_get();
	test_words();
	test_put();
	test_delete();
	test_missing_program();
	s3_free(s3);
	scratch_leave();
	return check_result();
}
