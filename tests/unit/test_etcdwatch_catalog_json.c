/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The catalogue's entries as JSON: they print as what they are read from, and every field that is
 * wrong, missing or out of bounds is an error that names it.
 */
#include "etcdwatch/catalog/catalog.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/mem.h"
#include "tests/unit/catalogcase.h"

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
	CHECK_EQ_INT(e->n_members, 2);
	CHECK(e->members[0].id == e->member_id && e->members[1].id == 0xa2);
	CHECK_EQ_STR(e->members[0].name, "cp-1");
	CHECK_EQ_STR(e->members[0].peer_urls, "https://10.0.0.1:2380,https://[fd00::1]:2380");
	CHECK_EQ_STR(e->members[0].client_urls, "https://10.0.0.1:2379");
	CHECK(e->members[1].name == NULL && e->members[1].learner && !e->members[0].learner);
	CHECK_EQ_STR(e->members[1].client_urls, "");
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
	    {MEMBERS, "", true},
	    {"[\n      {\n        \"prefix\": \"/registry/events\",\n        \"bytes\": 8000\n      }"
	     "\n    ]",
	     "[]", true},
	    {"  \"node\": \"cp-1\",\n", "", true},
	    {"  \"period\": \"2026-11-21T20:00:00Z\",\n", "", false},
	    {"\"digest\": true", "\"digest\": false", true},
	    {"\"extra\"", "\"colour\": {\"of\": [\"the\", 1]},\n  \"extra\"", false},
	    {"\"extra\"", "\"rejected\": \"the tree has two roots\",\n  \"extra\"", false},
	    {"\"timeline\": 2", "\"timeline\": 1000000000", true},
	    {"\"revision\": 8123", "\"revision\": 4611686018427387904", true},
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
		CHECK_EQ_INT(catalog_is_good(e), strstr(text, "\"digest\": false") == NULL &&
		                                     strstr(text, "two roots") == NULL);
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
	    {"  ]\n}\n", "  ]\n}}\n", "is no JSON: line 82"},
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
	    {"\"member\": {", "\"memory\": {", "member.id is missing"},
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
	    {"\"revision\": 8123", "\"revision\": 4611686018427387905", "revision is out of bounds"},
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
	    {"\"members\": [", "\"members\": [], \"rest\": [", "members is no list of 1 to 16"},
	    {"\"members\": [", "\"members\": [7], \"rest\": [", "members[0].id is missing"},
	    {"\"name\": null,", "", "members[1].name is missing"},
	    {"\"name\": null", "\"name\": \"\"", "members[1].name is empty or too long"},
	    {"\"client_urls\": []", "\"client_urls\": {}",
	     "members[1].client_urls is no list, or too long"},
	    {"\"https://10.0.0.2:2380\"", "\"https://a:1,https://b:1\"",
	     "members[1].peer_urls holds a comma"},
	    {"\"https://10.0.0.2:2380\"", "\"https://a\\u001b:1\"",
	     "members[1].peer_urls holds a control character"},
	    {"\"https://10.0.0.2:2380\"", "7", "members[1].peer_urls is no text"},
	    {"\"learner\": true", "\"learner\": 1", "members[1].learner is neither true nor false"},
	    {"00000000000000a2", "8e9e05c52164694d", "members[1].id is there twice"},
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

/* So many of them, with a comma between; '#' becomes the number of each, in two digits. */
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
				(void) fprintf(out, "%02zu", i);
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
	    {MEMBER_2,
	     "{\"id\": \"00000000000001#\", \"name\": null, \"peer_urls\": [], \"client_urls\": [], "
	     "\"learner\": false}",
	     CATALOG_MEMBERS_MAX - 1},
	    {"\"https://10.0.0.2:2380\"", "\"https://#\"", CATALOG_URLS_MAX},
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
	return check_result();
}
