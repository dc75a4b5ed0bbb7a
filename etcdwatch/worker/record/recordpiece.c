/* SPDX-License-Identifier: Apache-2.0 */
/* Keys and manifests. A manifest is JSON; its signature is of the same object without the members
 * "key" and "signature", compact and with its keys in order. */
#include "etcdwatch/worker/record/recordpiece.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"

#define FORMAT 1
#define OFFSET_DIGITS 16
/* Sums of some of them are numbers still. */
#define NUMBER_MAX (INT64_C(1) << 62)
/* What zstd and age may add to bytes that cannot be compressed: frames, and a header that has a
 * line of each recipient. */
#define PACKED_MORE_MAX (UINT64_C(1) << 20)
#define PACKED_MORE_PART 16
#define WHOLE "whole"
#define MANIFEST ".json"
#define BEGINS "-begins"

/* --- keys --- */

static bool segment_begins(const char *segment)
{
	size_t len = strlen(segment), n = strlen(BEGINS);

	return len > n && strcmp(segment + len - n, BEGINS) == 0;
}

const char *recordpiece_segment(const struct record_header *header,
                                char buf[static RECORD_NAME_MAX])
{
	char *suffix;

	(void) record_name(header, buf);
	suffix = strstr(buf, RECORD_SUFFIX);
	if (suffix != NULL)
		(void) snprintf(suffix, RECORD_NAME_MAX - (size_t) (suffix - buf), "%s",
		                record_begins_chain(header) ? BEGINS : "");
	return buf;
}

char *recordpiece_record_file(const char *segment)
{
	size_t len = strlen(segment) - (segment_begins(segment) ? strlen(BEGINS) : 0);

	return xasprintf("%.*s" RECORD_SUFFIX, (int) len, segment);
}

/* Takes the next part of a key off. */
static bool take_part(const char **key, char *ret_part, size_t size)
{
	const char *slash = strchr(*key, '/');
	size_t len = slash != NULL ? (size_t) (slash - *key) : 0;

	if (len == 0 || len >= size)
		return false;
	memcpy(ret_part, *key, len);
	ret_part[len] = '\0';
	*key = slash + 1;
	return true;
}

static bool take_offset(const char **text, uint64_t *ret_offset)
{
	uint64_t offset = 0;

	for (size_t i = 0; i < OFFSET_DIGITS; i++) {
		char c = (*text)[i];

		if (c < '0' || c > '9')
			return false;
		offset = 10 * offset + (uint64_t) (c - '0');
	}
	*text += OFFSET_DIGITS;
	*ret_offset = offset;
	return true;
}

static bool parse_range(const char **name, struct recordkey *key)
{
	size_t whole = strlen(WHOLE);

	if (strncmp(*name, WHOLE, whole) == 0) {
		*name += whole;
		key->is_whole = true;
		return true;
	}
	if (!take_offset(name, &key->from) || *(*name)++ != '-' || !take_offset(name, &key->to))
		return false;
	return key->from < key->to;
}

bool recordkey_parse(const char *key, const char *prefix, struct recordkey *ret_key)
{
	struct recordkey found = {0};
	AUTO(free) char *file = NULL;

	if (strncmp(key, prefix, strlen(prefix)) != 0)
		return false;
	key += strlen(prefix);
	if (strncmp(key, RECORDPIECE_FOLDER, strlen(RECORDPIECE_FOLDER)) != 0)
		return false;
	key += strlen(RECORDPIECE_FOLDER);
	if (!take_part(&key, found.node, sizeof(found.node)) ||
	    !take_part(&key, found.segment, sizeof(found.segment)))
		return false;
	file = recordpiece_record_file(found.segment);
	found.begins = segment_begins(found.segment);
	if (!record_name_parse(file, &found.named) || !parse_range(&key, &found))
		return false;
	if (found.named.first_revision < 0 || found.named.first_revision > NUMBER_MAX)
		return false;
	found.is_manifest = strcmp(key, MANIFEST) == 0;
	if (!found.is_manifest && strcmp(key, ".zst") != 0 && strcmp(key, ".zst.age") != 0)
		return false;
	*ret_key = found;
	return true;
}

static void print_range(const struct recordpiece *p, const char *suffix,
                        char file[static RECORDPIECE_FILE_MAX])
{
	if (p->is_whole)
		(void) snprintf(file, RECORDPIECE_FILE_MAX, WHOLE "%s", suffix);
	else
		(void) snprintf(file, RECORDPIECE_FILE_MAX, "%0*llu-%0*llu%s", OFFSET_DIGITS,
		                (unsigned long long) p->from, OFFSET_DIGITS, (unsigned long long) p->to,
		                suffix);
}

void recordpiece_set_file(struct recordpiece *p, const char *suffix)
{
	print_range(p, suffix, p->file);
}

char *recordpiece_folder(const char *prefix, const char *node, const char *segment)
{
	return xasprintf("%s" RECORDPIECE_FOLDER "%s/%s/", prefix, node, segment);
}

static char *key_of(const char *prefix, const struct recordpiece *p, const char *file)
{
	AUTO(free) char *folder = recordpiece_folder(prefix, p->node, p->segment);

	return xasprintf("%s%s", folder, file);
}

char *recordpiece_manifest_key(const char *prefix, const struct recordpiece *p)
{
	char file[RECORDPIECE_FILE_MAX];

	print_range(p, MANIFEST, file);
	return key_of(prefix, p, file);
}

char *recordpiece_file_key(const char *prefix, const struct recordpiece *p)
{
	return key_of(prefix, p, p->file);
}

/* --- manifests --- */

enum sort {
	SORT_TEXT,   /* char[] */
	SORT_SHA256, /* char[DIGEST_HEX_MAX] */
	SORT_NUMBER, /* uint64_t or int64_t, 0 to NUMBER_MAX */
	SORT_BOOL,
};

#define PIECE(member) .offset = offsetof(struct recordpiece, member)
#define TEXT(member) PIECE(member), .size = sizeof(((struct recordpiece *) NULL)->member)
static const struct field {
	const char *key;
	enum sort sort;
	size_t offset, size;
	bool is_optional;
} fields[] = {
    {"node", SORT_TEXT, TEXT(node)},
    {"segment", SORT_TEXT, TEXT(segment)},
    {"whole", SORT_BOOL, PIECE(is_whole)},
    {"closed", SORT_BOOL, PIECE(is_closed), .is_optional = true},
    {"from", SORT_NUMBER, PIECE(from)},
    {"to", SORT_NUMBER, PIECE(to)},
    {"sha256", SORT_SHA256, PIECE(sha256)},
    {"through_sha256", SORT_SHA256, PIECE(through_sha256)},
    {"file", SORT_TEXT, TEXT(file)},
    {"file_bytes", SORT_NUMBER, PIECE(file_bytes)},
    {"file_sha256", SORT_SHA256, PIECE(file_sha256)},
    {"begin_us", SORT_NUMBER, PIECE(begin_us)},
    {"last_revision", SORT_NUMBER, PIECE(last_revision)},
    {"until_us", SORT_NUMBER, PIECE(until_us)},
};

_Static_assert(sizeof(uint64_t) == sizeof(int64_t), "both are read as SORT_NUMBER");

static json_t *print_field(const struct recordpiece *p, const struct field *f)
{
	const void *slot = (const char *) p + f->offset;

	switch (f->sort) {
	case SORT_TEXT:
	case SORT_SHA256:
		return json_string(slot);
	case SORT_NUMBER:
		return json_integer(*(const int64_t *) slot);
	case SORT_BOOL:
		return json_boolean(*(const bool *) slot);
	}
	return NULL;
}

/* What is signed; to be freed. */
static char *canonical(json_t *manifest)
{
	return json_dumps(manifest, JSON_COMPACT | JSON_SORT_KEYS);
}

char *recordpiece_print(const struct recordpiece *p, const struct signature_key *key)
{
	json_t *manifest = json_object();
	char *text;

	(void) json_object_set_new(manifest, "format", json_integer(FORMAT));
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		(void) json_object_set_new(manifest, fields[i].key, print_field(p, &fields[i]));
	if (key != NULL) {
		AUTO(free) char *signed_text = canonical(manifest);
		char signature[SIGNATURE_TEXT_MAX];

		signature_sign(key, signed_text, strlen(signed_text), signature);
		(void) json_object_set_new(manifest, "key", json_string(signature_key_public(key)));
		(void) json_object_set_new(manifest, "signature", json_string(signature));
	}
	text = json_dumps(manifest, JSON_INDENT(1));
	json_decref(manifest);
	return text;
}

static int PRINTF_LIKE(2, 3) fail(char *error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void) vsnprintf(error, RECORDPIECE_ERROR_MAX, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static bool is_sha256(const char *text)
{
	return strlen(text) == 2 * DIGEST_SHA256_BYTES &&
	       strspn(text, "0123456789abcdef") == 2 * DIGEST_SHA256_BYTES;
}

/* NULL, or what it should be. */
static const char *parse_field(const json_t *value, const struct field *f, struct recordpiece *p)
{
	void *slot = (char *) p + f->offset;
	const char *text = json_string_value(value);

	switch (f->sort) {
	case SORT_TEXT:
		if (text == NULL || strlen(text) >= f->size)
			return "a text";
		memcpy(slot, text, strlen(text) + 1);
		return NULL;
	case SORT_SHA256:
		if (text == NULL || !is_sha256(text))
			return "a SHA-256";
		memcpy(slot, text, strlen(text) + 1);
		return NULL;
	case SORT_NUMBER:
		if (!json_is_integer(value) || json_integer_value(value) < 0 ||
		    json_integer_value(value) > NUMBER_MAX)
			return "a number";
		*(int64_t *) slot = json_integer_value(value);
		return NULL;
	case SORT_BOOL:
		if (!json_is_boolean(value))
			return "true or false";
		*(bool *) slot = json_is_true(value);
		return NULL;
	}
	return "known";
}

/* It is of the place where it stands, and names an object there. */
static bool is_of_key(const struct recordpiece *p, const struct recordkey *key)
{
	char file[RECORDPIECE_FILE_MAX], encrypted[RECORDPIECE_FILE_MAX];

	print_range(p, ".zst", file);
	print_range(p, ".zst.age", encrypted);
	return strcmp(p->node, key->node) == 0 && strcmp(p->segment, key->segment) == 0 &&
	       p->is_whole == key->is_whole && p->from < p->to &&
	       (p->is_whole ? p->from == 0 : p->from == key->from && p->to == key->to) &&
	       p->to <= RECORDPIECE_BYTES_MAX &&
	       (strcmp(p->file, file) == 0 || strcmp(p->file, encrypted) == 0);
}

/* Else a restore does not know how much may come. */
static bool is_size_likely(const struct recordpiece *p)
{
	uint64_t n_bytes = p->to - p->from;

	return p->file_bytes > 0 &&
	       p->file_bytes <= n_bytes + n_bytes / PACKED_MORE_PART + PACKED_MORE_MAX;
}

/* Takes the signature off. */
static int check_signature(json_t *manifest, struct recordpiece *p, char *error)
{
	const json_t *key = json_object_get(manifest, "key");
	const json_t *signature = json_object_get(manifest, "signature");
	AUTO(free) char *text = NULL, *signer = NULL, *signed_text = NULL;

	if (key == NULL && signature == NULL)
		return 0;
	if (!json_is_string(key) || !json_is_string(signature))
		return fail(error, "has no key or no signature");
	signer = xstrdup(json_string_value(key));
	text = xstrdup(json_string_value(signature));
	(void) json_object_del(manifest, "key");
	(void) json_object_del(manifest, "signature");
	signed_text = canonical(manifest);
	if (!signature_is_of(signer, signed_text, strlen(signed_text), text))
		return fail(error, "has a wrong signature");
	(void) snprintf(p->signer, sizeof(p->signer), "%s", signer);
	return 0;
}

static int parse_manifest(json_t *manifest, const struct recordkey *key,
                          struct recordpiece *ret_piece, char *error)
{
	struct recordpiece piece = {0};
	int r;

	if (json_integer_value(json_object_get(manifest, "format")) != FORMAT)
		return fail(error, "is of a format that this version does not know");
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const json_t *value = json_object_get(manifest, fields[i].key);
		const char *wanted = NULL;

		if (value != NULL || !fields[i].is_optional)
			wanted = parse_field(value, &fields[i], &piece);
		if (wanted != NULL)
			return fail(error, "%s must be %s", fields[i].key, wanted);
	}
	piece.is_closed |= piece.is_whole;
	if (!is_of_key(&piece, key))
		return fail(error, "describes another piece");
	if (!is_size_likely(&piece))
		return fail(error, "file_bytes cannot be the size of these bytes, packed");
	r = check_signature(manifest, &piece, error);
	if (r == 0)
		*ret_piece = piece;
	return r;
}

int recordpiece_parse(const char *text, size_t len, const struct recordkey *key,
                      struct recordpiece *ret_piece, char ret_error[static RECORDPIECE_ERROR_MAX])
{
	json_t *manifest = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	int r = json_is_object(manifest) ? parse_manifest(manifest, key, ret_piece, ret_error)
	                                 : fail(ret_error, "is not JSON");

	json_decref(manifest);
	return r;
}
