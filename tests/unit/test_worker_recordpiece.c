/* SPDX-License-Identifier: Apache-2.0 */
/* Keys and manifests of the record in a target: what is printed is read again, and what somebody
 * else wrote is refused. */
#include "etcdwatch/worker/record/recordpiece.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "tests/unit/check.h"

#define NAME "00000000000000c1-00000000000000000012-0000000003"
#define SEGMENT NAME "-begins"
#define FOLDER "a/record/cp-1/" SEGMENT "/"
#define SHA "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static void test_keys(void)
{
	static const struct {
		const char *key;
		bool is_key, is_whole, is_manifest;
		uint64_t from, to;
	} cases[] = {
	    {FOLDER "0000000000000000-0000000000000117.json", true, false, true, 0, 117},
	    {FOLDER "0000000000000117-0000000000000300.zst", true, false, false, 117, 300},
	    {FOLDER "0000000000000117-0000000000000300.zst.age", true, false, false, 117, 300},
	    {FOLDER "whole.json", true, true, true, 0, 0},
	    {FOLDER "whole.zst.age", true, true, false, 0, 0},
	    {FOLDER "whole.db", false, false, false, 0, 0},
	    {FOLDER "wholesale.json", false, false, false, 0, 0},
	    {FOLDER "0000000000000117-0000000000000117.json", false, false, false, 0, 0},
	    {FOLDER "0000000000000300-0000000000000117.json", false, false, false, 0, 0},
	    {"a/record/cp-1/00000000000000c1-09223372036854775807-0000000003/whole.json", false, false,
	     false, 0, 0},
	    {FOLDER "117-300.json", false, false, false, 0, 0},
	    {FOLDER, false, false, false, 0, 0},
	    {"record/cp-1/" SEGMENT "/whole.json", false, false, false, 0, 0},
	    {"a/record/cp-1/whole.json", false, false, false, 0, 0},
	    {"a/record/cp-1/" NAME "-ends/whole.json", false, false, false, 0, 0},
	    {"a/record//" SEGMENT "/whole.json", false, false, false, 0, 0},
	    {"a/record/cp-1/x-" SEGMENT "/whole.json", false, false, false, 0, 0},
	    {"a/00000000000000c1/x.json", false, false, false, 0, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct recordkey key;
		bool is_key = recordkey_parse(cases[i].key, "a/", &key);

		if (!CHECK(is_key == cases[i].is_key))
			(void) fprintf(stderr, "  '%s'\n", cases[i].key);
		if (!is_key)
			continue;
		CHECK_EQ_STR(key.node, "cp-1");
		CHECK_EQ_STR(key.segment, SEGMENT);
		CHECK(key.named.cluster_id == 0xc1 && key.named.first_revision == 12 &&
		      key.named.sequence == 3);
		CHECK(key.begins);
		CHECK(key.is_whole == cases[i].is_whole && key.is_manifest == cases[i].is_manifest);
		CHECK(key.from == cases[i].from && key.to == cases[i].to);
	}
}

static void test_names(void)
{
	struct record_header header = {.cluster_id = 0xc1, .first_revision = 12, .sequence = 3};
	char name[RECORD_NAME_MAX];
	AUTO(free) char *begins = NULL, *goes_on = NULL;

	CHECK_EQ_STR(recordpiece_segment(&header, name), NAME "-begins");
	begins = recordpiece_record_file(name);
	CHECK_EQ_STR(begins, NAME ".rec");
	header.previous[3] = 1;
	CHECK_EQ_STR(recordpiece_segment(&header, name), NAME);
	goes_on = recordpiece_record_file(name);
	CHECK_EQ_STR(goes_on, NAME ".rec");
}

static struct recordpiece make(void)
{
	struct recordpiece piece = {
	    .node = "cp-1",
	    .segment = SEGMENT,
	    .is_closed = true,
	    .from = 117,
	    .to = 300,
	    .sha256 = SHA,
	    .through_sha256 = SHA,
	    .file_bytes = 99,
	    .file_sha256 = SHA,
	    .begin_us = 5,
	    .last_revision = 44,
	    .until_us = 7,
	};

	recordpiece_set_file(&piece, ".zst.age");
	return piece;
}

static int parse(const char *text, const char *at, struct recordpiece *ret_piece, char *error)
{
	struct recordkey key;

	CHECK(recordkey_parse(at, "a/", &key));
	return recordpiece_parse(text, strlen(text), &key, ret_piece, error);
}

static struct signature_key *make_key(void)
{
	char path[] = "/tmp/test-recordpiece-XXXXXX";
	struct signature_key *key = NULL;

	CHECK(mkdtemp(path) != NULL);
	{
		AUTO(free) char *file = xasprintf("%s/key", path);

		CHECK_EQ_INT(signature_key_load_or_make(file, &key), 0);
		(void) unlink(file);
	}
	(void) rmdir(path);
	return key;
}

static void test_manifest(const struct signature_key *key)
{
	struct recordpiece piece = make(), again;
	AUTO(free) char *text = recordpiece_print(&piece, key);
	AUTO(free) char *at = recordpiece_manifest_key("a/", &piece);
	AUTO(free) char *file = recordpiece_file_key("a/", &piece);
	char error[RECORDPIECE_ERROR_MAX] = "";

	CHECK_EQ_STR(at, FOLDER "0000000000000117-0000000000000300.json");
	CHECK_EQ_STR(file, FOLDER "0000000000000117-0000000000000300.zst.age");
	CHECK_EQ_INT(parse(text, at, &again, error), 0);
	CHECK_EQ_STR(again.signer, key != NULL ? signature_key_public(key) : "");
	memset(again.signer, 0, sizeof(again.signer));
	CHECK_EQ_STR(again.node, piece.node);
	CHECK_EQ_STR(again.file, piece.file);
	CHECK_EQ_STR(again.sha256, piece.sha256);
	CHECK(again.from == 117 && again.to == 300 && again.file_bytes == 99 && !again.is_whole);
	CHECK(again.is_closed);
	CHECK(again.begin_us == 5 && again.last_revision == 44 && again.until_us == 7);
	/* The same words at another place. */
	CHECK(parse(text, FOLDER "0000000000000117-0000000000000301.json", &again, error) < 0);
	CHECK(parse(text, FOLDER "whole.json", &again, error) < 0);
	CHECK(parse(text, "a/record/cp-2/" SEGMENT "/0000000000000117-0000000000000300.json", &again,
	            error) < 0);
	CHECK_EQ_STR(error, "describes another piece");
}

/* In a text, the first `old`; to be freed. */
static char *replace(const char *text, const char *old, const char *new)
{
	const char *at = strstr(text, old);

	CHECK(at != NULL);
	return xasprintf("%.*s%s%s", (int) (at - text), text, new, at + strlen(old));
}

static void test_refused(const struct signature_key *key)
{
	static const struct {
		const char *old, *new, *error;
		bool is_signed;
	} cases[] = {
	    {"\"format\": 1", "\"format\": 2", "is of a format that this version does not know", false},
	    {"\"from\": 117", "\"from\": -1", "from must be a number", false},
	    {"\"from\": 117", "\"from\": 116", "describes another piece", false},
	    {"\"last_revision\": 44", "\"last_revision\": 4611686018427387905",
	     "last_revision must be a number", false},
	    {"\"file_bytes\": 99", "\"file_bytes\": 0",
	     "file_bytes cannot be the size of these bytes, packed", false},
	    {"\"file_bytes\": 99", "\"file_bytes\": 1048771",
	     "file_bytes cannot be the size of these bytes, packed", false},
	    {"\"whole\": false", "\"whole\": 0", "whole must be true or false", false},
	    {"\"closed\": true", "\"closed\": 1", "closed must be true or false", false},
	    {"\"file_sha256\": \"e3", "\"file_sha256\": \"E3", "file_sha256 must be a SHA-256", false},
	    {".zst.age\"", ".zst/../x\"", "describes another piece", false},
	    {"{", "[", "is not JSON", false},
	    {"\"last_revision\": 44", "\"last_revision\": 45", "has a wrong signature", true},
	    {"\"until_us\": 7", "\"until_us\": 8", "has a wrong signature", true},
	    {"\"closed\": true", "\"closed\": false", "has a wrong signature", true},
	    {"\"file_bytes\": 99", "\"file_bytes\": 99,\"more\": 1", "has a wrong signature", true},
	    {"\"signature\": \"", "\"signature\": \"A", "has a wrong signature", true},
	    {"\"signature\"", "\"signed\"", "has no key or no signature", true},
	};
	struct recordpiece piece = make(), again;
	AUTO(free) char *at = recordpiece_manifest_key("a/", &piece);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) char *text = recordpiece_print(&piece, cases[i].is_signed ? key : NULL);
		AUTO(free) char *changed = replace(text, cases[i].old, cases[i].new);
		char error[RECORDPIECE_ERROR_MAX] = "";

		CHECK(parse(changed, at, &again, error) < 0);
		CHECK_EQ_STR(error, cases[i].error);
	}
}

/* Older versions do not say whether a piece ends its segment, but that an object is all of it. */
static void test_older(void)
{
	struct recordpiece piece = make(), again;
	AUTO(free) char *at = recordpiece_manifest_key("a/", &piece);
	AUTO(free) char *text = recordpiece_print(&piece, NULL);
	AUTO(free) char *older = replace(text, "\"closed\": true,", "");
	AUTO(free) char *older_whole = NULL, *whole = NULL;
	char error[RECORDPIECE_ERROR_MAX] = "";

	CHECK_EQ_INT(parse(older, at, &again, error), 0);
	CHECK(!again.is_closed);
	piece.is_whole = true;
	piece.from = 0;
	recordpiece_set_file(&piece, ".zst");
	whole = recordpiece_print(&piece, NULL);
	older_whole = replace(whole, "\"closed\": true,", "");
	CHECK_EQ_INT(parse(older_whole, FOLDER "whole.json", &again, error), 0);
	CHECK(again.is_whole && again.is_closed);
}

int main(void)
{
	AUTO(signature_key_free) struct signature_key *key = make_key();

	test_keys();
	test_names();
	test_manifest(NULL);
	test_manifest(key);
	test_refused(key);
	test_older();
	return check_result();
}
