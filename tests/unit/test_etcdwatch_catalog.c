/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The catalogue: entries print as what they are read from; every field that is wrong, missing or
 * out of bounds is an error that names it; names of files cannot lead anywhere.
 */
#include "etcdwatch/catalog/catalog.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/mem.h"
#include "tests/unit/check.h"

#define SHA_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SHA_B "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID "20261121T203000Z-hourly-cp-1-r8123"

#define USAGE                                                                                  \
	"  \"usage\": {\n    \"bytes\": 9000,\n    \"missing\": 3,\n    \"largest\": [\n      {\n" \
	"        \"prefix\": \"/registry/events\",\n        \"bytes\": 8000\n      }\n    ]\n  },\n"

static const char sample[] = "{\n"
                             "  \"version\": 1,\n"
                             "  \"id\": \"" ID "\",\n"
                             "  \"job\": \"hourly\",\n"
                             "  \"cluster_id\": \"cdf818194e3a8c32\",\n"
                             "  \"timeline\": 2,\n"
                             "  \"member\": {\n"
                             "    \"id\": \"8e9e05c52164694d\",\n"
                             "    \"name\": \"cp-1\"\n"
                             "  },\n"
                             "  \"node\": \"cp-1\",\n"
                             "  \"period\": \"2026-11-21T20:00:00Z\",\n"
                             "  \"server_version\": \"3.4.23\",\n"
                             "  \"revision\": 8123,\n"
                             "  \"compact_revision\": 8000,\n"
                             "  \"hash\": 4294967295,\n"
                             "  \"hashkv\": 7,\n"
                             "  \"hashkv_revision\": 8120,\n"
                             "  \"total_key\": 900,\n"
                             "  \"live_keys\": 600,\n"
                             "  \"db_bytes\": 25165824,\n"
                             "  \"file\": \"" ID ".db.tar.zst.age\",\n"
                             "  \"file_bytes\": 5000000,\n"
                             "  \"file_sha256\": \"" SHA_A "\",\n"
                             "  \"db_sha256\": \"" SHA_B "\",\n"
                             "  \"compression\": \"zstd\",\n"
                             "  \"encryption\": \"age\",\n"
                             "  \"recipients\": 2,\n"
                             "  \"started\": \"2026-11-21T20:30:00Z\",\n"
                             "  \"finished\": \"2026-11-21T20:30:04Z\",\n"
                             "  \"took_ms\": 3900,\n"
                             "  \"verified\": {\n"
                             "    \"digest\": true,\n"
                             "    \"tree\": true,\n"
                             "    \"hashkv\": \"cp-2\"\n"
                             "  },\n"
                             "  \"usage\": {\n"
                             "    \"bytes\": 9000,\n"
                             "    \"missing\": 3,\n"
                             "    \"largest\": [\n"
                             "      {\n"
                             "        \"prefix\": \"/registry/events\",\n"
                             "        \"bytes\": 8000\n"
                             "      }\n"
                             "    ]\n"
                             "  },\n"
                             "  \"extra\": [\n"
                             "    \"/etc/kubernetes/pki\"\n"
                             "  ],\n"
                             "  \"copies\": [\n"
                             "    {\n"
                             "      \"target\": \"minio\",\n"
                             "      \"key\": \"cluster-a/" ID ".db.zst.age\",\n"
                             "      \"bytes\": 5000000,\n"
                             "      \"sha256\": \"" SHA_A "\",\n"
                             "      \"at\": \"2026-11-21T20:31:00Z\"\n"
                             "    }\n"
                             "  ]\n"
                             "}\n";

static struct catalog_entry *parse(const char *text)
{
	char error[CATALOG_ERROR_MAX] = "";
	struct catalog_entry *entry = NULL;

	if (!CHECK_EQ_INT(catalog_parse(text, strlen(text), &entry, error), 0)) {
		(void) fprintf(stderr, "  %s\n  in %s\n", error, text);
		exit(1);
	}
	return entry;
}

/* The sample with one part of it replaced. */
static char *changed(const char *from, const char *to)
{
	const char *at = strstr(sample, from);

	if (!CHECK(at != NULL)) {
		(void) fprintf(stderr, "  no '%s'\n", from);
		exit(1);
	}
	return xasprintf("%.*s%s%s", (int) (at - sample), sample, to, at + strlen(from));
}

/* --- JSON --- */

static void test_sample(void)
{
	AUTO(catalog_entry_free) struct catalog_entry *e = parse(sample);
	AUTO(free) char *printed = catalog_print(e);

	CHECK_EQ_STR(printed, sample);
	CHECK_EQ_STR(e->id, ID);
	CHECK_EQ_STR(e->job, "hourly");
	CHECK(e->cluster_id == 0xcdf818194e3a8c32 && e->member_id == 0x8e9e05c52164694d);
	CHECK_EQ_INT(e->timeline, 2);
	CHECK_EQ_STR(e->member_name, "cp-1");
	CHECK_EQ_STR(e->server_version, "3.4.23");
	CHECK_EQ_STR(e->node, "cp-1");
	CHECK_EQ_INT(e->period_s, 1795291200);
	CHECK_EQ_INT(e->revision, 8123);
	CHECK_EQ_INT(e->compact_revision, 8000);
	CHECK_EQ_INT(e->hash, UINT32_MAX);
	CHECK_EQ_INT(e->hashkv, 7);
	CHECK_EQ_INT(e->hashkv_revision, 8120);
	CHECK_EQ_INT(e->total_key, 900);
	CHECK_EQ_INT(e->live_keys, 600);
	CHECK_EQ_INT(e->db_bytes, 25165824);
	CHECK_EQ_INT(e->file_bytes, 5000000);
	CHECK_EQ_STR(e->file_sha256, SHA_A);
	CHECK_EQ_STR(e->db_sha256, SHA_B);
	CHECK(e->zstd && e->age);
	CHECK_EQ_INT(e->recipients, 2);
	CHECK_EQ_INT(e->started_s, 1795293000);
	CHECK_EQ_INT(e->finished_s, 1795293004);
	CHECK_EQ_INT(e->took_ms, 3900);
	CHECK(e->digest_verified && e->tree_verified && e->rejected == NULL);
	CHECK_EQ_STR(e->hashkv_verified, "cp-2");
	CHECK_EQ_INT(e->usage->bytes, 9000);
	CHECK_EQ_INT(e->usage->missing, 3);
	CHECK_EQ_INT(e->usage->n_parts, 1);
	CHECK_EQ_STR(e->usage->parts[0].prefix, "/registry/events");
	CHECK_EQ_INT(e->usage->parts[0].bytes, 8000);
	CHECK_EQ_INT(e->n_extra, 1);
	CHECK_EQ_STR(e->extra[0], "/etc/kubernetes/pki");
	CHECK_EQ_INT(e->n_copies, 1);
	CHECK_EQ_STR(e->copies[0].target, "minio");
	CHECK_EQ_INT(e->copies[0].bytes, 5000000);
	CHECK_EQ_INT(e->copies[0].at_s, 1795293060);
	CHECK(catalog_is_good(e));
}

/* What may differ and reads back. */
static void test_accepted(void)
{
	static const struct {
		const char *from, *to;
		bool same; /* prints as it was read */
	} cases[] = {
	    {"\"hashkv\": \"cp-2\"", "\"hashkv\": null", true},
	    {"\"compact_revision\": 8000", "\"compact_revision\": null", true},
	    {"\"period\": \"2026-11-21T20:00:00Z\"", "\"period\": null", true},
	    /* As entries were before there were these. */
	    {USAGE, "", true},
	    {"[\n      {\n        \"prefix\": \"/registry/events\",\n        \"bytes\": 8000\n      }"
	     "\n    ]",
	     "[]", true},
	    {"  \"node\": \"cp-1\",\n", "", true},
	    {"  \"period\": \"2026-11-21T20:00:00Z\",\n", "", false},
	    {"\"digest\": true", "\"digest\": false", true},
	    {"\"extra\"", "\"colour\": {\"of\": [\"the\", 1]},\n  \"extra\"", false},
	    {"\"extra\"", "\"rejected\": \"the tree has two roots\",\n  \"extra\"", false},
	    {"\"timeline\": 2", "\"timeline\": 1000000000", true},
	    {"\"revision\": 8123", "\"revision\": 9223372036854775807", true},
	    {"2026-11-21T20:31:00Z", "2026-11-21T21:31:00+01:00", false},
	    {"\"name\": \"cp-1\"",
	     "\"name\": \"n\xc3\xb8"
	     "de\"",
	     true},
	    {"age\",\n  \"recipients\": 2", "age\",\n  \"recipients\": 0", true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) char *text = changed(cases[i].from, cases[i].to);
		AUTO(catalog_entry_free) struct catalog_entry *e = parse(text);
		AUTO(free) char *printed = catalog_print(e);
		AUTO(catalog_entry_free) struct catalog_entry *again = parse(printed);
		AUTO(free) char *twice = catalog_print(again);

		CHECK_EQ_STR(twice, printed);
		if (cases[i].same)
			CHECK_EQ_STR(printed, text);
		CHECK_EQ_INT(catalog_is_good(e),
		             strstr(text, "false") == NULL && strstr(text, "two roots") == NULL);
	}
}

static void test_refused(void)
{
	static const struct {
		const char *from, *to, *error;
	} cases[] = {
	    /* Whole documents. */
	    {sample, "", "is no JSON: line 1"},
	    {sample, "null", "is no JSON: line 1"},
	    {sample, "[]", "is no JSON object"},
	    {sample, "{}", "version is missing or no number from 1"},
	    {"  ]\n}\n", "  ]\n}}\n", "is no JSON: line 59"},
	    {"\"job\": \"hourly\"", "\"job\": \"a\", \"job\": \"b\"", "is no JSON: line 4"},
	    {"hourly\",", "hou\xffrly\",", "is no JSON: line 4"},
	    {"hourly\",", "hou\\u0000rly\",", "is no JSON: line 4"},
	    {"\"version\": 1", "\"version\": 0", "version is missing or no number from 1"},
	    {"\"version\": 1", "\"version\": \"1\"", "version is missing or no number from 1"},
	    {"\"version\": 1", "\"version\": 2", "was written by a newer program, in format 2"},
	    /* What is missing. */
	    {"  \"job\": \"hourly\",\n", "", "job is missing"},
	    {"  \"cluster_id\": \"cdf818194e3a8c32\",\n", "", "cluster_id is missing"},
	    {"  \"timeline\": 2,\n", "", "timeline is missing"},
	    {"  \"compact_revision\": 8000,\n", "", "compact_revision is missing"},
	    {"\"compact_revision\": 8000", "\"compact_revision\": -1",
	     "compact_revision is out of bounds"},
	    {"\"2026-11-21T20:00:00Z\"", "7", "period is no time"},
	    {"[\n    \"/etc/kubernetes/pki\"\n  ]", "[]",
	     "file is not the one that id, extra, compression and encryption make"},
	    {"    \"id\": \"8e9e05c52164694d\",\n", "", "member.id is missing"},
	    {"\"member\": {", "\"members\": {", "member.id is missing"},
	    {"\"member\": {\n    \"id\": \"8e9e05c52164694d\",\n    \"name\": \"cp-1\"\n  }",
	     "\"member\": \"cp-1\"", "member.id is missing"},
	    {"    \"digest\": true,\n", "", "verified.digest is missing"},
	    {",\n    \"hashkv\": \"cp-2\"", "", "verified.hashkv is missing"},
	    {USAGE, "  \"usage\": 7,\n", "usage.bytes is missing"},
	    {"\"missing\": 3", "\"missing\": -3", "usage.missing is out of bounds"},
	    {"\"largest\"", "\"larger\"", "usage.largest is no list of at most 10"},
	    {"[\n      {\n        \"prefix\"", "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, {\n        \"prefix\"",
	     "usage.largest is no list of at most 10"},
	    {"\"/registry/events\"", "\"/reg\\u001bistry\"",
	     "usage.largest[0].prefix holds a control character"},
	    {"        \"bytes\": 8000", "        \"keys\": 8000", "usage.largest[0].bytes is missing"},
	    {"  \"extra\": [\n    \"/etc/kubernetes/pki\"\n  ],\n", "",
	     "extra is no list of at most 64"},
	    {"\"copies\"", "\"copy\"", "copies is no list of at most 16"},
	    {"      \"bytes\": 5000000,\n", "", "copies[0].bytes is missing"},
	    /* Other types. */
	    {"\"job\": \"hourly\"", "\"job\": 1", "job is no text"},
	    {"\"job\": \"hourly\"", "\"job\": null", "job is no text"},
	    {"\"timeline\": 2", "\"timeline\": 2.0", "timeline is no whole number"},
	    {"\"timeline\": 2", "\"timeline\": \"2\"", "timeline is no whole number"},
	    {"\"timeline\": 2", "\"timeline\": true", "timeline is no whole number"},
	    {"\"digest\": true", "\"digest\": 1", "verified.digest is neither true nor false"},
	    {"\"tree\": true", "\"tree\": \"true\"", "verified.tree is neither true nor false"},
	    {"\"hashkv\": \"cp-2\"", "\"hashkv\": true", "verified.hashkv is no text"},
	    {"\"zstd\"", "\"gzip\"", "compression is neither the one that is known nor none"},
	    {"\"zstd\"", "true", "compression is neither the one that is known nor none"},
	    {"\"encryption\": \"age\"", "\"encryption\": \"zstd\"",
	     "encryption is neither the one that is known nor none"},
	    {"\"2026-11-21T20:30:00Z\"", "1795293000", "started is no time"},
	    {"\"2026-11-21T20:30:00Z\"", "\"yesterday\"", "started is no time"},
	    {"{\n      \"target\"", "1, {\n      \"target\"", "copies[0].target is missing"},
	    /* Bounds. */
	    {"\"timeline\": 2", "\"timeline\": 0", "timeline is out of bounds"},
	    {"\"timeline\": 2", "\"timeline\": 1000000001", "timeline is out of bounds"},
	    {"\"revision\": 8123", "\"revision\": -1", "revision is out of bounds"},
	    {"\"revision\": 8123", "\"revision\": 9223372036854775808", "is no JSON: line 14"},
	    {"\"hash\": 4294967295", "\"hash\": 4294967296", "hash is out of bounds"},
	    {"25165824", "1125899906842625", "db_bytes is out of bounds"},
	    {"5000000", "0", "file_bytes is out of bounds"},
	    {"5000000", "1125899906842625", "file_bytes is out of bounds"},
	    {"9000", "1125899906842625", "usage.bytes is out of bounds"},
	    {"\"recipients\": 2", "\"recipients\": 1001", "recipients is out of bounds"},
	    {"\"recipients\": 2", "\"recipients\": -1", "recipients is out of bounds"},
	    {"cdf818194e3a8c32", "cdf818194e3a8c3", "cluster_id is no id of 16 hexadecimal digits"},
	    {"cdf818194e3a8c32", "CDF818194E3A8C32", "cluster_id is no id of 16 hexadecimal digits"},
	    {"cdf818194e3a8c32", "0xf818194e3a8c32", "cluster_id is no id of 16 hexadecimal digits"},
	    {"\"file_sha256\": \"a", "\"file_sha256\": \"", "file_sha256 is no SHA-256"},
	    {"\"file_sha256\": \"a", "\"file_sha256\": \"A", "file_sha256 is no SHA-256"},
	    {"\"job\": \"hourly\"", "\"job\": \"\"", "job is empty or too long"},
	    {"\"job\": \"hourly\"", "\"job\": \"hou\\u001b[31mrly\"", "job holds a control character"},
	    {"\"job\": \"hourly\"", "\"job\": \"hou\\u009brly\"", "job holds a control character"},
	    {"\"/etc/kubernetes/pki\"", "\"etc/kubernetes/pki\"", "extra[0] is no absolute path"},
	    {"\"/etc/kubernetes/pki\"", "7", "extra[0] is no text"},
	    /* What would be deleted, sent or read. */
	    {"\"file\": \"" ID ".db.tar.zst.age\"", "\"file\": \"../../../etc/shadow\"",
	     "file is not the one that id, extra, compression and encryption make"},
	    {"\"file\": \"" ID ".db.tar.zst.age\"", "\"file\": \"" ID ".db.zst\"",
	     "file is not the one that id, extra, compression and encryption make"},
	    {"\"compression\": \"zstd\"", "\"compression\": \"none\"",
	     "file is not the one that id, extra, compression and encryption make"},
	    {"\"id\": \"" ID "\"", "\"id\": \"../" ID "\"",
	     "id is none that can be the name of a file"},
	    {"\"id\": \"" ID "\"", "\"id\": \"-rf\"", "id is none that can be the name of a file"},
	    {"\"id\": \"" ID "\"", "\"id\": \"2026 1121\"",
	     "id is none that can be the name of a file"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) char *text = changed(cases[i].from, cases[i].to);
		struct catalog_entry *entry = NULL;
		char error[CATALOG_ERROR_MAX] = "";
		int want = strstr(cases[i].error, "newer") != NULL ? -EPROTONOSUPPORT : -EINVAL;

		if (!CHECK_EQ_INT(catalog_parse(text, strlen(text), &entry, error), want) ||
		    !CHECK_EQ_STR(error, cases[i].error) || !CHECK(entry == NULL))
			(void) fprintf(stderr, "  for '%s'\n", cases[i].to);
	}
}

/* So many of them, with a comma between; '#' becomes the number of each. */
static char *repeat(const char *item, size_t n)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			(void) fputc(',', out);
		for (const char *p = item; *p != '\0'; p++) {
			if (*p == '#')
				(void) fprintf(out, "%zu", i);
			else
				(void) fputc(*p, out);
		}
	}
	(void) fclose(out);
	return text;
}

static void test_limits(void)
{
	static const struct {
		const char *from, *item;
		size_t most;
	} cases[] = {
	    {"\"/etc/kubernetes/pki\"", "\"/etc/#\"", CATALOG_EXTRA_MAX},
	    {"{\n      \"target\": \"minio\",\n      \"key\": \"cluster-a/" ID ".db.zst.age\",\n"
	     "      \"bytes\": 5000000,\n      \"sha256\": \"" SHA_A "\",\n"
	     "      \"at\": \"2026-11-21T20:31:00Z\"\n    }",
	     "{\"target\": \"t#\", \"key\": \"k\", \"bytes\": 1, \"sha256\": \"" SHA_A
	     "\", \"at\": \"2026-11-21T20:31:00Z\"}",
	     CATALOG_COPIES_MAX},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases) * 2; i++) {
		size_t n = cases[i / 2].most + i % 2;
		AUTO(free) char *items = repeat(cases[i / 2].item, n);
		AUTO(free) char *text = changed(cases[i / 2].from, items);
		AUTO(catalog_entry_free) struct catalog_entry *entry = NULL;
		char error[CATALOG_ERROR_MAX] = "";

		if (!CHECK_EQ_INT(catalog_parse(text, strlen(text), &entry, error),
		                  i % 2 == 0 ? 0 : -EINVAL))
			(void) fprintf(stderr, "  %s\n", error);
	}
}

static void test_long_texts(void)
{
	for (size_t len = CATALOG_TEXT_MAX; len <= CATALOG_TEXT_MAX + 1; len++) {
		AUTO(free) char *name = xcalloc(len + 1, 1);
		AUTO(free) char *text = NULL;
		AUTO(catalog_entry_free) struct catalog_entry *entry = NULL;
		char error[CATALOG_ERROR_MAX];

		memset(name, 'x', len);
		text = changed("cp-2", name);
		CHECK_EQ_INT(catalog_parse(text, strlen(text), &entry, error),
		             len <= CATALOG_TEXT_MAX ? 0 : -EINVAL);
	}
	for (size_t len = CATALOG_ENTRY_BYTES_MAX; len <= CATALOG_ENTRY_BYTES_MAX + 1; len++) {
		AUTO(free) char *text = xcalloc(len + 1, 1);
		AUTO(catalog_entry_free) struct catalog_entry *entry = NULL;
		char error[CATALOG_ERROR_MAX];

		memset(text, ' ', len);
		memcpy(text, sample, strlen(sample));
		CHECK_EQ_INT(catalog_parse(text, len, &entry, error),
		             len <= CATALOG_ENTRY_BYTES_MAX ? 0 : -EINVAL);
	}
}

/* Two copies at one target would be two truths. */
static void test_copy_twice(void)
{
	AUTO(free)
	char *items = repeat("{\"target\": \"t\", \"key\": \"k#\", \"bytes\": 1, \"sha256\": \"" SHA_A
	                     "\", \"at\": \"2026-11-21T20:31:00Z\"}",
	                     2);
	AUTO(free) char *list = xasprintf("\"copies\": [%s], \"rest\": [", items);
	AUTO(free) char *text = changed("\"copies\": [", list);
	struct catalog_entry *entry = NULL;
	char error[CATALOG_ERROR_MAX];

	CHECK_EQ_INT(catalog_parse(text, strlen(text), &entry, error), -EINVAL);
	CHECK_EQ_STR(error, "copies[1].target is there twice");
}

/* Cut anywhere it is an error, not an entry. */
static void test_cut(void)
{
	for (size_t len = 0; len < strlen(sample) - 2; len++) {
		AUTO(free) char *part = xmemdup(sample, len);
		struct catalog_entry *entry = NULL;
		char error[CATALOG_ERROR_MAX];

		CHECK_EQ_INT(catalog_parse(part, len, &entry, error), -EINVAL);
	}
}

static void test_read(void)
{
	char path[] = "/tmp/fairlead-test-XXXXXX";
	AUTO(free) char *want = NULL;
	char error[CATALOG_ERROR_MAX] = "";
	struct catalog_entry *entry = NULL;
	int fd = mkstemp(path);

	if (!CHECK(fd >= 0))
		return;
	CHECK(write(fd, "{", 1) == 1 && close(fd) == 0);
	CHECK_EQ_INT(catalog_read(path, &entry, error), -EINVAL);
	want = xasprintf("%s: is no JSON: line 1", path);
	CHECK_EQ_STR(error, want);
	CHECK_EQ_INT(file_write_atomic(path, sample, strlen(sample), 0600, FILE_VOLATILE), 0);
	CHECK_EQ_INT(catalog_read(path, &entry, error), 0);
	catalog_entry_free(entry);
	CHECK(unlink(path) == 0);
	CHECK_EQ_INT(catalog_read("/nonexistent/x.json", &entry, error), -ENOENT);
	CHECK_EQ_STR(error, "/nonexistent/x.json: cannot be read: No such file or directory");
}

/* --- names --- */

static void test_ids(void)
{
	static const struct {
		const char *member, *want;
	} cases[] = {
	    {"cp-1", "20261121T203000Z-hourly-cp-1-r8123"},
	    {"cp-1.example.org", "20261121T203000Z-hourly-cp-1.example.org-r8123"},
	    {"../../etc/x", "20261121T203000Z-hourly-..-..-etc-x-r8123"},
	    {"a b\n\"$(reboot)", "20261121T203000Z-hourly-a-b----reboot--r8123"},
	    {"n\xc3\xb8"
	     "de",
	     "20261121T203000Z-hourly-n--de-r8123"},
	    {"", "20261121T203000Z-hourly-member-r8123"},
	    {"0123456789012345678901234567890123456789012345678901234567890123456789",
	     "20261121T203000Z-hourly-"
	     "012345678901234567890123456789012345678901234567890123456789012-r8123"},
	};
	static const char *const bad[] = {"",    ".",    "..",  "a",    "-x",
	                                  "2/x", "2\\x", "2 x", "2\nx", "2\xc3\xb8"};
	char longest[CATALOG_ID_MAX + 2];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free)
		char *id = catalog_build_id(1795293000, "hourly", cases[i].member, cases[i].member, 8123);
		AUTO(free)
		char *other = catalog_build_id(1795293000, "hourly", cases[i].member, "n/2", 8123);
		AUTO(free)
		char *want = xasprintf("%.*s-n-2-r8123", (int) (strrchr(id, '-') - id), id);

		CHECK_EQ_STR(id, cases[i].want);
		CHECK(catalog_id_is_good(id));
		CHECK_EQ_STR(other, want);
		CHECK(catalog_id_is_good(other));
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		if (!CHECK(!catalog_id_is_good(bad[i])))
			(void) fprintf(stderr, "  for '%s'\n", bad[i]);
	}
	memset(longest, '2', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	CHECK(!catalog_id_is_good(longest));
	CHECK(catalog_id_is_good(longest + 1));
}

static bool is_called(const char *pattern, const char *name)
{
	return fnmatch(pattern, name, 0) == 0;
}

/* What is not an entry by its name is not fetched from a target. */
static void test_pattern(void)
{
	static const char *const foreign[] = {"readme.json", "zzz.json", "2026-nightly.json",
	                                      "20261121T203000Z-hourly-n1-r1.db", "x/-.json"};
	AUTO(free) char *id = catalog_build_id(1795293000, "hourly", "cp-1", "[n]*?", 8123);
	AUTO(free) char *name = xasprintf("%s.json", id);
	AUTO(free) char *own = catalog_entry_pattern("hourly");
	AUTO(free) char *other = catalog_entry_pattern("weekly");
	AUTO(free) char *any = catalog_entry_pattern(NULL);

	CHECK(is_called(own, name));
	CHECK(!is_called(other, name));
	CHECK(is_called(any, name));
	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++)
		CHECK(!is_called(own, foreign[i]) && !is_called(any, foreign[i]));
}

static void test_file_names(void)
{
	static const char *const want[] = {"1.db",         "1.db.age",        "1.db.zst",
	                                   "1.db.zst.age", "1.db.tar",        "1.db.tar.age",
	                                   "1.db.tar.zst", "1.db.tar.zst.age"};

	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		struct catalog_entry e = {
		    .id = (char[]){"1"}, .zstd = (i & 2) != 0, .age = (i & 1) != 0, .n_extra = i >> 2};
		AUTO(free) char *name = catalog_file_name(&e);

		CHECK_EQ_STR(name, want[i]);
	}
}

/* --- entries and each other --- */

static int sign(int x)
{
	return (x > 0) - (x < 0);
}

static void test_order(void)
{
	/* Ascending; the first is the sample. */
	static const struct {
		const char *from, *to;
	} cases[] = {
	    {"\"hourly\"", "\"hourly\""},
	    {"2026-11-21T20:30:00Z", "2026-11-21T20:30:01Z"},
	    {"\"revision\": 8123", "\"revision\": 10000"},
	    {"\"timeline\": 2", "\"timeline\": 3"},
	    {"cdf818194e3a8c32", "ddf818194e3a8c32"},
	    {"\"hourly\"", "\"nightly\""},
	};
	struct catalog_entry *entries[ARRAY_SIZE(cases)];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) char *text = changed(cases[i].from, cases[i].to);

		entries[i] = parse(text);
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(cases); k++) {
			if (!CHECK_EQ_INT(sign(catalog_compare(entries[i], entries[k])),
			                  sign((int) i - (int) k)))
				(void) fprintf(stderr, "  of %zu and %zu\n", i, k);
		}
		CHECK_EQ_INT(catalog_same_line(entries[0], entries[i]), i < 3);
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		catalog_entry_free(entries[i]);
}

static void test_timeline(void)
{
	static const struct {
		struct {
			uint64_t cluster_id;
			int64_t timeline, revision;
			bool bad;
		} entries[4];
		size_t n;
		int64_t revision, want;
	} cases[] = {
	    {{{0}}, 0, 500, 1},
	    {{{7, 1, 400, false}}, 1, 500, 1},
	    {{{7, 1, 500, false}}, 1, 500, 1},
	    {{{7, 1, 501, false}}, 1, 500, 2},
	    {{{8, 4, 900, false}}, 1, 500, 1},
	    {{{7, 2, 400, false}, {7, 1, 900, false}}, 2, 500, 2},
	    {{{7, 1, 900, false}, {7, 2, 400, false}}, 2, 300, 3},
	    {{{7, 3, 400, false}, {7, 3, 600, false}, {7, 3, 450, false}}, 3, 500, 4},
	    {{{7, 1, 900, true}}, 1, 500, 1},
	    {{{7, 9, 900, true}, {7, 1, 400, false}}, 2, 500, 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct catalog_entry *entries[4] = {0};
		const struct catalog_entry *list[4];

		for (size_t k = 0; k < cases[i].n; k++) {
			entries[k] = parse(sample);
			entries[k]->cluster_id = cases[i].entries[k].cluster_id;
			entries[k]->timeline = cases[i].entries[k].timeline;
			entries[k]->revision = cases[i].entries[k].revision;
			entries[k]->tree_verified = !cases[i].entries[k].bad;
			list[k] = entries[k];
		}
		if (!CHECK_EQ_INT(catalog_next_timeline(list, cases[i].n, 7, cases[i].revision),
		                  cases[i].want))
			(void) fprintf(stderr, "  for case %zu\n", i);
		for (size_t k = 0; k < cases[i].n; k++)
			catalog_entry_free(entries[k]);
	}
}

static void test_copies(void)
{
	AUTO(catalog_entry_free) struct catalog_entry *e = parse(sample);
	char target[8] = "aws", key[] = "k";
	struct catalog_copy copy = {
	    .target = target, .key = key, .bytes = 5, .sha256 = SHA_B, .at_s = 9};

	CHECK(catalog_find_copy(e, "aws") == NULL);
	CHECK_EQ_INT(catalog_set_copy(e, &copy), 0);
	copy.bytes = 6;
	CHECK_EQ_INT(catalog_set_copy(e, &copy), 0);
	CHECK_EQ_INT(e->n_copies, 2);
	CHECK_EQ_INT(catalog_find_copy(e, "aws")->bytes, 6);
	CHECK_EQ_INT(catalog_find_copy(e, "minio")->bytes, 5000000);
	for (size_t i = e->n_copies; i < CATALOG_COPIES_MAX; i++) {
		(void) snprintf(target, sizeof(target), "t%zu", i);
		CHECK_EQ_INT(catalog_set_copy(e, &copy), 0);
	}
	CHECK_EQ_INT(catalog_set_copy(e, &copy), 0);
	(void) snprintf(target, sizeof(target), "more");
	CHECK_EQ_INT(catalog_set_copy(e, &copy), -E2BIG);
}

int main(void)
{
	test_sample();
	test_accepted();
	test_refused();
	test_limits();
	test_long_texts();
	test_copy_twice();
	test_cut();
	test_read();
	test_ids();
	test_pattern();
	test_file_names();
	test_order();
	test_timeline();
	test_copies();
	return check_result();
}
