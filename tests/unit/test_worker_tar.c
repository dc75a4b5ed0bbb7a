/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers there and back, and as the system's tar reads them; archives in pieces of every size;
 * bundles that are not what they say, and bundles that were made to write where they must not.
 */
#include "etcdwatch/worker/pack/unbundle.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>

#include "base/fileio.h"
#include "etcdwatch/worker/pack/bundle.h"
#include "etcdwatch/worker/common/sink.h"
#include "tests/unit/check.h"
#include "tests/unit/scratch.h"

#define ARCHIVE_MAX (1 << 20)
#define BLOCK_BYTES 512
#define SYMLINK '2'
#define DIRECTORY '5'

/* --- archives --- */

static char former[PATH_MAX];

/* One that a test puts together. */
struct archive {
	uint8_t *data;
	size_t len;
};

static void put(struct archive *a, const void *data, size_t len)
{
	CHECK(a->len + len <= ARCHIVE_MAX);
	memcpy(a->data + a->len, data, len);
	a->len += len;
}

/* An entry as POSIX says (ustar), of which nothing is too long for its field. */
static void put_entry(struct archive *a, char type, const char *path, const char *link,
                      const char *data)
{
	char header[BLOCK_BYTES] = {0}, zeros[BLOCK_BYTES] = {0};
	size_t len = strlen(data);
	unsigned sum = 0;

	(void) snprintf(header, 100, "%s", path);
	(void) snprintf(header + 100, 8, "%07o", type == '0' ? 0600 : 0700);
	(void) snprintf(header + 108, 8, "%07o", 0);
	(void) snprintf(header + 116, 8, "%07o", 0);
	(void) snprintf(header + 124, 12, "%011o", (unsigned) len);
	(void) snprintf(header + 136, 12, "%011o", 0);
	memset(header + 148, ' ', 8);
	header[156] = type;
	(void) snprintf(header + 157, 100, "%s", link);
	memcpy(header + 257,
	       "ustar\0"
	       "00",
	       8);
	for (size_t i = 0; i < sizeof(header); i++)
		sum += (unsigned char) header[i];
	(void) snprintf(header + 148, 8, "%06o", sum);
	put(a, header, sizeof(header));
	put(a, data, len);
	put(a, zeros, (BLOCK_BYTES - len % BLOCK_BYTES) % BLOCK_BYTES);
}

static void put_file(struct archive *a, const char *path, const char *data)
{
	put_entry(a, '0', path, "", data);
}

static void put_other(struct archive *a, char type, const char *path, const char *link)
{
	put_entry(a, type, path, link, "");
}

static void put_end(struct archive *a)
{
	static const uint8_t zeros[2 * BLOCK_BYTES];

	put(a, zeros, sizeof(zeros));
}

/* Gives an archive to the reader, in pieces of so many bytes. */
static int take(const struct archive *a, size_t piece, struct extract *extract,
                struct problem *problem, struct tap_result *snapshot)
{
	AUTO(sink_free) struct sink *sink = unbundle_new(tap_new(NULL, snapshot), extract, problem);
	int r = 0;

	for (size_t at = 0; at < a->len && r == 0; at += piece)
		r = sink_write(sink, a->data + at, MIN(piece, a->len - at));
	return r == 0 ? sink_finish(sink) : r;
}

/* A sink into an archive. */
struct into {
	struct sink sink;
	struct archive *archive;
};

static int into_write(struct sink *sink, const void *data, size_t len)
{
	put(CONTAINER_OF(sink, struct into, sink)->archive, data, len);
	return 0;
}

static int into_finish(struct sink *sink)
{
	(void) sink;
	return 0;
}

static void into_free(struct sink *sink)
{
	(void) sink;
}

/* A true bundle of x.db and the tree. */
static void make_bundle(struct archive *a)
{
	struct into into = {.sink = {into_write, into_finish, into_free}, .archive = a};
	AUTO(free) char *tree = xasprintf("%s/tree", scratch_dir);
	struct problem problem = {0};
	AUTO(bundle_free) struct bundle *bundle = bundle_new(&into.sink, &problem);
	struct tap_result snapshot;
	AUTO(close) int fd = open("x.db", O_RDONLY | O_CLOEXEC);

	CHECK_EQ_INT(bundle_add_snapshot(bundle, fd, "x.db", "x.db", 3000, &snapshot), 0);
	CHECK_EQ_INT(bundle_add_extra(bundle, tree), 0);
	CHECK_EQ_INT(bundle_finish(bundle), 0);
}

/* A file that grows or shrinks while it is bundled. */
static void check_changed(struct archive *a, uint64_t n_bytes)
{
	struct into into = {.sink = {into_write, into_finish, into_free}, .archive = a};
	struct problem problem = {0};
	AUTO(bundle_free) struct bundle *bundle = bundle_new(&into.sink, &problem);
	AUTO(close) int fd = open("x.db", O_RDONLY | O_CLOEXEC);
	struct tap_result snapshot;

	a->len = 0;
	CHECK(bundle_add_snapshot(bundle, fd, "x.db", "x.db", n_bytes, &snapshot) < 0);
	CHECK_EQ_STR(problem.code, "CHANGED");
}

static void test_pieces(struct archive *a)
{
	static const size_t pieces[] = {1, 3, 511, 512, 513, 4096, ARCHIVE_MAX};
	char hex[DIGEST_HEX_MAX];

	scratch_make("x.db", 3000, 1);
	(void) scratch_shell("mkdir -p tree/$(printf 'd%%.0s' $(seq 1 120))/sub && "
	                     "echo one >tree/one && : >tree/none && ln -s one tree/link");
	check_changed(a, 2999);
	check_changed(a, 3001);
	a->len = 0;
	make_bundle(a);
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		struct problem problem = {0};
		struct tap_result snapshot = {0};

		CHECK_EQ_INT(take(a, pieces[i], NULL, &problem, &snapshot), 0);
		CHECK_EQ_STR(snapshot.sha256, scratch_sha256("x.db", hex));
	}
	/* tar's own padding behind the end. */
	for (int i = 0; i < 8; i++)
		put_end(a);
	{
		struct problem problem = {0};
		struct tap_result snapshot = {0};

		CHECK_EQ_INT(take(a, 700, NULL, &problem, &snapshot), 0);
	}
}

/* --- bundles that are not what they say --- */

#define DB_SHA256 "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" /* hello */
#define MANIFEST(extra)                                                             \
	"{\"version\":1,\"snapshot\":{\"path\":\"x.db\",\"type\":\"file\",\"bytes\":5," \
	"\"sha256\":\"" DB_SHA256 "\"},\"extra\":[" extra "]}"
#define ONE_FILE "{\"path\":\"/e\",\"type\":\"file\",\"bytes\":5,\"sha256\":\"" DB_SHA256 "\"}"

static void refused(const struct archive *a, const char *what)
{
	struct problem problem = {0};
	struct tap_result snapshot = {.sha256 = "none"};

	if (!CHECK_EQ_INT(take(a, 512, NULL, &problem, &snapshot), -EBADMSG))
		(void) fprintf(stderr, "  %s\n", what);
	CHECK_EQ_STR(problem.code, "CORRUPT");
	/* Whoever waits for the snapshot was not told that it is whole. */
	CHECK_EQ_STR(snapshot.sha256, "none");
}

static void test_wrong_bundles(struct archive *a)
{
	static const struct {
		const char *what;
		const char *files[4]; /* path, data, path, data */
		const char *manifest;
	} cases[] = {
	    {"no manifest", {"x.db", "hello"}, NULL},
	    {"not a manifest", {"x.db", "hello"}, "[]"},
	    {"not JSON", {"x.db", "hello"}, "{"},
	    {"another version", {"x.db", "hello"}, "{\"version\":2}"},
	    {"another snapshot", {"x.db", "hellO"}, MANIFEST("")},
	    {"another name", {"y.db", "hello"}, MANIFEST("")},
	    {"a file is missing", {"x.db", "hello"}, MANIFEST(ONE_FILE)},
	    {"one file too many", {"x.db", "hello", "extra/e", "hello"}, MANIFEST("")},
	    {"another file", {"x.db", "hello", "extra/e", "hellO"}, MANIFEST(ONE_FILE)},
	    {"a file that is no extra", {"x.db", "hello", "e", "hello"}, MANIFEST(ONE_FILE)},
	    {"no snapshot", {"extra/e", "hello"}, MANIFEST(ONE_FILE)},
	};
	struct problem problem = {0};
	struct tap_result snapshot = {0};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		a->len = 0;
		for (size_t k = 0; k < ARRAY_SIZE(cases[i].files) && cases[i].files[k] != NULL; k += 2)
			put_file(a, cases[i].files[k], cases[i].files[k + 1]);
		if (cases[i].manifest != NULL)
			put_file(a, "manifest.json", cases[i].manifest);
		put_end(a);
		refused(a, cases[i].what);
	}
	a->len = 0;
	put_file(a, "x.db", "hello");
	put_file(a, "extra/e", "hello");
	put_file(a, "manifest.json", MANIFEST(ONE_FILE));
	put_file(a, "extra/f", "hello");
	put_end(a);
	refused(a, "behind the manifest");
	/* And the right one, with its end and without. */
	a->len = 0;
	put_file(a, "x.db", "hello");
	put_file(a, "extra/e", "hello");
	put_file(a, "manifest.json", MANIFEST(ONE_FILE));
	refused(a, "no end");
	put_end(a);
	CHECK_EQ_INT(take(a, 512, NULL, &problem, &snapshot), 0);
}

#define EMPTY_SHA256 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define EMPTY_FILE "{\"path\":\"/e\",\"type\":\"file\",\"bytes\":0,\"sha256\":\"" EMPTY_SHA256 "\"}"

/* Of the kinds of entries that tar knows, none but files, links and directories, even if the
 * manifest calls them files. */
static void test_kinds(struct archive *a)
{
	static const char kinds[] = {'1', '3', '4', '6', 'L'};

	for (size_t i = 0; i < sizeof(kinds); i++) {
		a->len = 0;
		put_file(a, "x.db", "hello");
		put_entry(a, kinds[i], "extra/e", "x.db", kinds[i] == 'L' ? "extra/e" : "");
		put_file(a, kinds[i] == 'L' ? "f" : "manifest.json", MANIFEST(EMPTY_FILE));
		if (kinds[i] == 'L')
			put_file(a, "manifest.json", MANIFEST(EMPTY_FILE));
		put_end(a);
		refused(a, (const char[]){kinds[i], '\0'});
	}
}

/* A header in which any bit is another one. */
static void test_changed_headers(struct archive *a)
{
	size_t second = 2 * BLOCK_BYTES;

	a->len = 0;
	put_file(a, "x.db", "hello");
	put_file(a, "extra/e", "hello");
	put_file(a, "manifest.json", MANIFEST(ONE_FILE));
	put_end(a);
	for (size_t i = 0; i < BLOCK_BYTES; i++) {
		struct problem problem = {0};
		struct tap_result snapshot = {0};

		a->data[second + i] ^= 1;
		/* The NULs and spaces around the checksum are not summed, and mean nothing. */
		if (take(a, ARCHIVE_MAX, NULL, &problem, &snapshot) != -EBADMSG)
			CHECK(i == 148 || i == 154 || i == 155);
		a->data[second + i] ^= 1;
	}
}

/* What was written before libarchive did it: with a pax header for the long path. */
static void test_former(struct archive *a)
{
	struct problem problem = {0};
	struct tap_result snapshot = {0};
	AUTO(free) char *text = NULL;
	size_t len = 0;

	if (!CHECK_EQ_INT(file_read(former, ARCHIVE_MAX, &text, &len), 0))
		return;
	a->len = 0;
	put(a, text, len);
	CHECK_EQ_INT(take(a, 512, NULL, &problem, &snapshot), 0);
}

/* And with one for a long path that is not ASCII, without a word of its character set. */
static void test_former_names(struct archive *a)
{
	AUTO(free) char *path = xstrdup("/"), *record = NULL, *manifest = NULL, *entry = NULL;
	struct problem problem = {0};
	struct tap_result snapshot = {0};

	for (int i = 0; i < 30; i++) {
		char *longer = xasprintf("%sgr\303\274n", path);

		free(path);
		path = longer;
	}
	record = xasprintf("%zu path=extra%s\n", strlen(path) + strlen("166 path=extra\n"), path);
	CHECK_EQ_INT(atoi(record), strlen(record));
	entry = xasprintf("extra%.90s", path);
	manifest = xasprintf(MANIFEST("{\"path\":\"%s\",\"type\":\"file\",\"bytes\":0,\"sha256\":"
	                              "\"" EMPTY_SHA256 "\"}"),
	                     path);
	a->len = 0;
	put_file(a, "x.db", "hello");
	put_entry(a, 'x', "pax-header", "", record);
	put_file(a, entry, "");
	put_file(a, "manifest.json", manifest);
	put_end(a);
	if (!CHECK_EQ_INT(take(a, 512, NULL, &problem, &snapshot), 0))
		(void) fprintf(stderr, "  %s\n", problem.reason);
}

/* Long names, names that are not ASCII, and both, there and back. */
static void test_names(struct archive *a)
{
	struct problem problem = {0};
	struct tap_result snapshot = {0};
	struct extract *extract = NULL;

	(void) scratch_shell(
	    "rm -rf tree; mkdir -p tree && cd tree && for n in 99 100 101 155 200 250; do "
	    "l=$(printf 'd%%.0s' $(seq 1 $n)); mkdir $l; echo $n >$l/$l; ln -s $l/$l link$n; done;"
	    "echo x >gr\303\274n; printf x >\"$(printf 'gr\\303\\274n%%.0s' $(seq 1 50))\"");
	a->len = 0;
	make_bundle(a);
	(void) scratch_shell("mkdir -p names");
	CHECK_EQ_INT(extract_new("names/here", &problem, &extract), 0);
	if (!CHECK_EQ_INT(take(a, 512, extract, &problem, &snapshot), 0) ||
	    !CHECK_EQ_INT(extract_finish(extract), 0))
		(void) fprintf(stderr, "  %s\n", problem.reason);
	extract_free(extract);
	(void) scratch_shell("diff -r --no-dereference tree names/here%s/tree", scratch_dir);
}

/* --- and such that lead astray --- */

/* Taken out, it writes nothing outside of its directory, and leaves nothing. */
static void led_astray(struct archive *a, const char *what, const char *code)
{
	struct problem problem = {0};
	struct tap_result snapshot = {0};
	struct extract *extract = NULL;
	char names[256];
	int r;

	put_end(a);
	CHECK_EQ_INT(extract_new("out/here", &problem, &extract), 0);
	r = take(a, 512, extract, &problem, &snapshot);
	if (!CHECK(r < 0))
		(void) fprintf(stderr, "  %s\n", what);
	CHECK_EQ_STR(problem.code, code);
	extract_free(extract);
	CHECK_EQ_STR(scratch_list("out", names, sizeof(names)), "victim");
	CHECK_EQ_STR(scratch_list("out/victim", names, sizeof(names)), "");
}

static void begin(struct archive *a)
{
	a->len = 0;
	put_file(a, "x.db", "hello");
}

static void test_astray(struct archive *a)
{
	static const char *const paths[] = {
	    "extra/../../victim/x",
	    "extra/a/../../../victim/x",
	    "extra//x",
	    "extra/",
	    "extra/.",
	    "extra/..",
	    "extra/a/./x",
	    "extra/a/",
	};
	AUTO(free) char *victim = xasprintf("%s/out/victim", scratch_dir);

	CHECK(mkdir("out", 0700) == 0 && mkdir("out/victim", 0700) == 0);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		begin(a);
		put_file(a, paths[i], "hello");
		led_astray(a, paths[i], "CORRUPT");
	}
	begin(a);
	put_other(a, SYMLINK, "extra/a", victim);
	put_file(a, "extra/a/x", "hello");
	led_astray(a, "through a link", "CORRUPT");
	begin(a);
	put_other(a, SYMLINK, "extra/a", "../victim/x");
	put_file(a, "extra/a", "hello");
	led_astray(a, "onto a link", "EXISTS");
	begin(a);
	put_other(a, SYMLINK, "extra/a", victim);
	put_other(a, DIRECTORY, "extra/a", "");
	put_file(a, "extra/a/x", "hello");
	led_astray(a, "a directory that is a link", "CORRUPT");
	begin(a);
	put_file(a, "extra/a", "hello");
	put_file(a, "extra/a", "hello");
	led_astray(a, "twice", "EXISTS");
	begin(a);
	put_file(a, "extra/a", "hello");
	put_file(a, "extra/a/b", "hello");
	led_astray(a, "a file as a directory", "CORRUPT");
}

/* Links are kept as they are, wherever they lead; directories get their permissions at the end. */
static void test_extract(struct archive *a)
{
	struct problem problem = {0};
	struct tap_result snapshot = {0};
	struct extract *extract = NULL;
	char names[256];

	(void) scratch_shell(
	    "rm -rf tree out/victim; mkdir -p tree/closed/sub; echo x >tree/closed/sub/x;"
	    "ln -s /etc/passwd tree/link; chmod 500 tree/closed/sub tree/closed;"
	    "chmod 4755 tree/closed/sub/x");
	a->len = 0;
	make_bundle(a);
	CHECK_EQ_INT(extract_new("out/here", &problem, &extract), 0);
	CHECK_EQ_STR(scratch_list("out", names, sizeof(names)), ".here.new");
	if (!CHECK_EQ_INT(take(a, 512, extract, &problem, &snapshot), 0) ||
	    !CHECK_EQ_INT(extract_finish(extract), 0))
		(void) fprintf(stderr, "  %s\n", problem.reason);
	extract_free(extract);
	(void) scratch_shell("diff -r --no-dereference tree out/here%s/tree", scratch_dir);
	(void) scratch_shell(
	    "cd out/here%s/tree && test \"$(stat -c %%a closed closed/sub closed/sub/x | "
	    "tr '\\n' ' ')\" = '500 500 4755 '",
	    scratch_dir);
	CHECK(extract_new("out/here", &problem, &extract) < 0);
	CHECK_EQ_STR(problem.code, "EXISTS");
}

/* What an earlier process left is removed, and what somebody else put there is not. */
static void test_leftover(void)
{
	static const struct {
		const char *made; /* as .there.new */
		bool goes;
	} cases[] = {
	    {"mkdir -p out/.there.new/a/b; chmod 755 out/.there.new; ln -s $PWD/kept "
	     "out/.there.new/a/link;"
	     "ln -s .. out/.there.new/up; echo x >out/.there.new/a/b/x",
	     true},
	    {"mkdir out/.there.new; chmod 777 out/.there.new; echo x >out/.there.new/x", false},
	    {"ln -s $PWD/kept out/.there.new", false},
	    {"echo x >out/.there.new", false},
	    {"mkfifo out/.there.new", false},
	    {"mkdir -m 755 out/.there.new; echo x >out/.there.new/x; chown 1234 out/.there.new", false},
	};
	size_t n = ARRAY_SIZE(cases) - (geteuid() == 0 ? 0 : 1); /* giving it away takes root */

	(void) scratch_shell("mkdir -p kept && echo x >kept/x");
	for (size_t i = 0; i < n; i++) {
		struct problem problem = {0};
		struct extract *extract = NULL;
		int r;

		(void) scratch_shell("rm -rf out/.there.new");
		(void) scratch_shell("%s", cases[i].made);
		r = extract_new("out/there", &problem, &extract);
		CHECK(scratch_exists("kept/x"));
		if (!CHECK_EQ_INT(r, cases[i].goes ? 0 : -EPERM))
			(void) fprintf(stderr, "  case %zu: %s\n", i, problem.reason);
		if (r == 0)
			(void) scratch_shell("test -z \"$(ls -A out/.there.new)\"");
		else
			(void) scratch_shell("test ! -d out/.there.new || test -e out/.there.new/x");
		extract_free(extract);
		/* Of what is ours nothing stays, and what is not is still there. */
		(void) scratch_shell("test %s \"$(find out -name .there.new)\"",
		                     cases[i].goes ? "-z" : "-n");
	}
	(void) scratch_shell("rm -rf out/.there.new");
}

int main(void)
{
	struct archive archive = {.data = xcalloc(ARCHIVE_MAX, 1)};

	CHECK(realpath("tests/fuzz/seeds/worker_unbundle/bundle.tar", former) != NULL);
	scratch_enter();
	test_pieces(&archive);
	test_wrong_bundles(&archive);
	test_kinds(&archive);
	test_changed_headers(&archive);
	test_former(&archive);
	test_former_names(&archive);
	test_names(&archive);
	test_astray(&archive);
	test_extract(&archive);
	test_leftover();
	free(archive.data);
	scratch_leave();
	return check_result();
}
