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

/* --- recordplan --- */

/* The listing is the only memory of what was uploaded: an object without a manifest was cut off,
 * and is uploaded again. Whose the manifests are is for recordobjects.h. */

void recordlisting_fini(struct recordlisting *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->items[i].ranges);
	free(l->items);
	*l = (struct recordlisting){0};
}

/* Room for one more. Not one at a time: an allocator may copy all that is there each time. */
static void *grow(void *items, size_t n, size_t *room, size_t size)
{
	if (n < *room)
		return items;
	*room = MAX(2 * n, 16);
	return xreallocarray(items, *room, size);
}

void recordlisting_add(struct recordlisting *l, const struct recordkey *key)
{
	struct recordstored *s = l->n > 0 ? &l->items[l->n - 1] : NULL;

	if (s == NULL || strcmp(s->segment, key->segment) != 0) {
		l->items = grow(l->items, l->n, &l->room, sizeof(*l->items));
		s = &l->items[l->n++];
		*s = (struct recordstored){.named = key->named, .begins = key->begins};
		memcpy(s->segment, key->segment, sizeof(s->segment));
	}
	if (key->is_whole) {
		s->is_whole |= key->is_manifest;
		return;
	}
	s->n_objects++;
	if (!key->is_manifest)
		return;
	s->ranges = grow(s->ranges, s->n_ranges, &s->ranges_room, sizeof(*s->ranges));
	s->ranges[s->n_ranges++] = (struct recordstored_range){.from = key->from, .to = key->to};
}

void recordlisting_move(struct recordlisting *l, struct recordlisting *from)
{
	l->room = l->n + from->n + 1;
	l->items = xreallocarray(l->items, l->room, sizeof(*l->items));
	if (from->n > 0)
		memcpy(l->items + l->n, from->items, from->n * sizeof(*l->items));
	l->n += from->n;
	free(from->items);
	*from = (struct recordlisting){0};
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_segments(const void *a, const void *b)
{
	const struct recordstored *x = a, *y = b;
	int r = compare_numbers(x->named.sequence, y->named.sequence);

	return r != 0 ? r : strcmp(x->segment, y->segment);
}

static int compare_ranges(const void *a, const void *b)
{
	const struct recordstored_range *x = a, *y = b;
	int r = compare_numbers(x->from, y->from);

	return r != 0 ? r : compare_numbers(y->to, x->to);
}

/* Of the same segment; frees `from`'s. */
static void merge(struct recordstored *s, struct recordstored *from)
{
	s->is_whole |= from->is_whole;
	s->n_objects += from->n_objects;
	if (from->n_ranges > 0) {
		s->ranges_room = s->n_ranges + from->n_ranges;
		s->ranges = xreallocarray(s->ranges, s->ranges_room, sizeof(*s->ranges));
		memcpy(s->ranges + s->n_ranges, from->ranges, from->n_ranges * sizeof(*s->ranges));
		s->n_ranges += from->n_ranges;
	}
	free(from->ranges);
}

/* Other stores than S3 list in an order of theirs, so a segment may be there several times. */
void recordlisting_finish(struct recordlisting *l)
{
	size_t n = 0;

	if (l->n > 0)
		qsort(l->items, l->n, sizeof(*l->items), compare_segments);
	for (size_t i = 0; i < l->n; i++) {
		if (n > 0 && compare_segments(&l->items[n - 1], &l->items[i]) == 0)
			merge(&l->items[n - 1], &l->items[i]);
		else
			l->items[n++] = l->items[i];
	}
	l->n = n;
	for (size_t i = 0; i < n; i++) {
		if (l->items[i].n_ranges > 0)
			qsort(l->items[i].ranges, l->items[i].n_ranges, sizeof(*l->items[i].ranges),
			      compare_ranges);
	}
}

struct recordstored *recordlisting_find(const struct recordlisting *l, uint64_t sequence,
                                        const char *segment)
{
	struct recordstored wanted = {.named.sequence = sequence};

	(void) snprintf(wanted.segment, sizeof(wanted.segment), "%s", segment);
	return l->n > 0 ? bsearch(&wanted, l->items, l->n, sizeof(*l->items), compare_segments) : NULL;
}

/* The longest that begins there; NULL: none does. */
static const struct recordstored_range *find_from(const struct recordstored *s, uint64_t from)
{
	const struct recordstored_range wanted = {.from = from, .to = UINT64_MAX};
	size_t low = 0, high = s->n_ranges;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_ranges(&s->ranges[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < s->n_ranges && s->ranges[low].from == from ? &s->ranges[low] : NULL;
}

struct recordstored_range *recordstored_row(const struct recordstored *s, size_t *ret_n)
{
	struct recordstored_range *row = NULL;
	const struct recordstored_range *next = s != NULL ? find_from(s, 0) : NULL;
	size_t n = 0, room = 0;

	while (next != NULL) {
		row = grow(row, n, &room, sizeof(*row));
		row[n++] = *next;
		next = find_from(s, next->to);
	}
	*ret_n = n;
	return row;
}

void recordstored_drop(struct recordstored *s, const struct recordstored_range *range)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_ranges; i++) {
		if (s->ranges[i].from != range->from || s->ranges[i].to != range->to)
			s->ranges[n++] = s->ranges[i];
	}
	s->n_ranges = n;
}

bool recordstored_drop_last(struct recordstored *s)
{
	size_t n;
	AUTO(free) struct recordstored_range *row = recordstored_row(s, &n);
	bool has_one = s->is_whole || n > 0;

	if (!s->is_whole && n > 0)
		recordstored_drop(s, &row[n - 1]);
	s->is_whole = false;
	return has_one;
}

uint64_t recordstored_reach(const struct recordstored *s)
{
	size_t n;
	AUTO(free) struct recordstored_range *row = recordstored_row(s, &n);

	return n > 0 ? row[n - 1].to : 0;
}

enum recordplan_step recordplan_next(const struct recordplan_local *local,
                                     const struct recordstored *stored, bool tidies)
{
	uint64_t reach;

	if (stored != NULL && stored->is_whole)
		return tidies && stored->n_objects > 0 ? RECORDPLAN_CLEAR : RECORDPLAN_NOTHING;
	reach = recordstored_reach(stored);
	if (reach < local->bytes)
		return local->is_closed && reach == 0 ? RECORDPLAN_WHOLE : RECORDPLAN_PIECE;
	/* What is longer there than here was cut here after damage: what is there is the better one. */
	return tidies && local->is_closed && reach == local->bytes ? RECORDPLAN_WHOLE
	                                                           : RECORDPLAN_NOTHING;
}
