/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries as JSON. One table says which fields there are, in which order they are printed, and
 * within which bounds they are read. What is not in the table is the lists, and what the fields
 * must be to each other.
 */
#include "etcdwatch/catalog/catalog.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/civil.h"
#include "base/fileio.h"
#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mem.h"

#define FORMAT_VERSION 1
#define RECIPIENTS_MAX 1000
/* A thousand times what etcd is made for; sums of some of these are numbers still. */
#define BYTES_MAX (INT64_C(1) << 50)
/* Of revisions, and of all others without a bound of their own: one more is a number still. */
#define NUMBER_MAX (INT64_C(1) << 62)

enum sort {
	SORT_TEXT,           /* char * */
	SORT_TEXT_OR_NULL,   /* char * */
	SORT_TEXT_OR_NONE,   /* char *; the key is there only with a text */
	SORT_ID,             /* uint64_t; 16 hexadecimal digits */
	SORT_NUMBER,         /* int64_t; 0 or more */
	SORT_NUMBER_OR_NULL, /* int64_t; null is -1 */
	SORT_U32,            /* uint32_t */
	SORT_SHA256,         /* char[] */
	SORT_MOMENT,         /* int64_t */
	SORT_MOMENT_OR_NULL, /* int64_t; 0 is null, or not there */
	SORT_BOOL,           /* bool */
	SORT_URLS,           /* char *, joined by commas; a list of texts */
	SORT_PACKING,        /* bool; true is the field's word, false is "none" */
};

struct field {
	const char *key;
	const char *in; /* the key of the map in which it is; NULL: at the top */
	enum sort sort;
	size_t offset;
	int64_t min, max; /* SORT_NUMBER, SORT_U32; max 0: NUMBER_MAX */
	const char *word; /* SORT_PACKING */
	bool is_late;     /* not signed: it may change later, or follows from what is */
};

#define ENTRY(member) offsetof(struct catalog_entry, member)
static const struct field entry_fields[] = {
    {.key = "id", .sort = SORT_TEXT, .offset = ENTRY(id)},
    {.key = "job", .sort = SORT_TEXT, .offset = ENTRY(job)},
    {.key = "cluster_id", .sort = SORT_ID, .offset = ENTRY(cluster_id)},
    {.key = "timeline",
     .sort = SORT_NUMBER,
     .offset = ENTRY(timeline),
     .min = 1,
     .max = CATALOG_TIMELINE_MAX},
    {.key = "id", .in = "member", .sort = SORT_ID, .offset = ENTRY(member_id)},
    {.key = "name", .in = "member", .sort = SORT_TEXT, .offset = ENTRY(member_name)},
    {.key = "node", .sort = SORT_TEXT_OR_NONE, .offset = ENTRY(node)},
    {.key = "period", .sort = SORT_MOMENT_OR_NULL, .offset = ENTRY(period_s)},
    {.key = "server_version", .sort = SORT_TEXT, .offset = ENTRY(server_version)},
    {.key = "revision", .sort = SORT_NUMBER, .offset = ENTRY(revision)},
    {.key = "compact_revision", .sort = SORT_NUMBER_OR_NULL, .offset = ENTRY(compact_revision)},
    {.key = "hash", .sort = SORT_U32, .offset = ENTRY(hash)},
    {.key = "hashkv", .sort = SORT_U32, .offset = ENTRY(hashkv)},
    {.key = "hashkv_revision", .sort = SORT_NUMBER, .offset = ENTRY(hashkv_revision)},
    {.key = "total_key", .sort = SORT_NUMBER, .offset = ENTRY(total_key)},
    {.key = "live_keys", .sort = SORT_NUMBER, .offset = ENTRY(live_keys)},
    {.key = "db_bytes", .sort = SORT_NUMBER, .offset = ENTRY(db_bytes), .max = BYTES_MAX},
    {.key = "file", .sort = SORT_TEXT, .offset = ENTRY(file)},
    {.key = "file_bytes",
     .sort = SORT_NUMBER,
     .offset = ENTRY(file_bytes),
     .min = 1,
     .max = BYTES_MAX},
    {.key = "file_sha256", .sort = SORT_SHA256, .offset = ENTRY(file_sha256)},
    {.key = "db_sha256", .sort = SORT_SHA256, .offset = ENTRY(db_sha256)},
    {.key = "compression", .sort = SORT_PACKING, .offset = ENTRY(zstd), .word = "zstd"},
    {.key = "encryption", .sort = SORT_PACKING, .offset = ENTRY(age), .word = "age"},
    {.key = "recipients", .sort = SORT_U32, .offset = ENTRY(recipients), .max = RECIPIENTS_MAX},
    {.key = "started", .sort = SORT_MOMENT, .offset = ENTRY(started_s)},
    {.key = "finished", .sort = SORT_MOMENT, .offset = ENTRY(finished_s)},
    {.key = "took_ms", .sort = SORT_NUMBER, .offset = ENTRY(took_ms)},
    {.key = "digest", .in = "verified", .sort = SORT_BOOL, .offset = ENTRY(digest_verified)},
    {.key = "tree", .in = "verified", .sort = SORT_BOOL, .offset = ENTRY(tree_verified)},
    {.key = "hashkv",
     .in = "verified",
     .sort = SORT_TEXT_OR_NULL,
     .offset = ENTRY(hashkv_verified)},
    {.key = "members_differ",
     .sort = SORT_TEXT_OR_NONE,
     .offset = ENTRY(members_differ),
     .is_late = true},
    {.key = "rejected", .sort = SORT_TEXT_OR_NONE, .offset = ENTRY(rejected), .is_late = true},
    {.key = "signature", .sort = SORT_TEXT_OR_NONE, .offset = ENTRY(signature), .is_late = true},
    {.key = "key", .sort = SORT_TEXT_OR_NONE, .offset = ENTRY(key), .is_late = true},
    {0},
};

#define COPY(member) offsetof(struct catalog_copy, member)
static const struct field copy_fields[] = {
    {.key = "target", .sort = SORT_TEXT, .offset = COPY(target)},
    {.key = "key", .sort = SORT_TEXT, .offset = COPY(key), .max = CATALOG_KEY_MAX},
    {.key = "bytes", .sort = SORT_NUMBER, .offset = COPY(bytes), .max = BYTES_MAX},
    {.key = "sha256", .sort = SORT_SHA256, .offset = COPY(sha256)},
    {.key = "at", .sort = SORT_MOMENT, .offset = COPY(at_s)},
    {0},
};

#define MEMBER(member) offsetof(struct catalog_member, member)
static const struct field member_fields[] = {
    {.key = "id", .sort = SORT_ID, .offset = MEMBER(id)},
    {.key = "name", .sort = SORT_TEXT_OR_NULL, .offset = MEMBER(name)},
    {.key = "peer_urls", .sort = SORT_URLS, .offset = MEMBER(peer_urls)},
    {.key = "client_urls", .sort = SORT_URLS, .offset = MEMBER(client_urls)},
    {.key = "learner", .sort = SORT_BOOL, .offset = MEMBER(learner)},
    {0},
};

#define USAGE(member) offsetof(struct catalog_usage, member)
static const struct field usage_fields[] = {
    {.key = "bytes", .sort = SORT_NUMBER, .offset = USAGE(bytes), .max = BYTES_MAX},
    {.key = "missing", .sort = SORT_NUMBER, .offset = USAGE(missing), .max = BYTES_MAX},
    {0},
};

#define PART(member) offsetof(struct catalog_part, member)
static const struct field part_fields[] = {
    {.key = "prefix", .sort = SORT_TEXT, .offset = PART(prefix)},
    {.key = "bytes", .sort = SORT_NUMBER, .offset = PART(bytes), .max = BYTES_MAX},
    {0},
};

_Static_assert(sizeof(unsigned) == sizeof(uint32_t), "recipients are read as SORT_U32");

/* --- reading --- */

static int PRINTF_LIKE(2, 3) fail(char *error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void) vsnprintf(error, CATALOG_ERROR_MAX, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* It will be shown on terminals. Of C1 controls, which UTF-8 spells C2 80 to C2 9F, the same. */
bool catalog_text_is_clean(const char *text)
{
	for (const unsigned char *p = (const unsigned char *) text; *p != '\0'; p++) {
		if (*p < 0x20 || *p == 0x7f || (p[0] == 0xc2 && p[1] < 0xa0))
			return false;
	}
	return true;
}

static const char *read_text(const json_t *value, size_t max, char **slot)
{
	const char *text = json_string_value(value);

	if (text == NULL)
		return "is no text";
	if (text[0] == '\0' || json_string_length(value) > max)
		return "is empty or too long";
	if (!catalog_text_is_clean(text))
		return "holds a control character";
	free(*slot);
	*slot = xstrdup(text);
	return NULL;
}

static const char *read_urls(const json_t *list, char **slot)
{
	AUTO(free) char *joined = xstrdup("");

	if (!json_is_array(list) || json_array_size(list) > CATALOG_URLS_MAX)
		return "is no list, or too long";
	for (size_t i = 0; i < json_array_size(list); i++) {
		AUTO(free) char *before = joined;
		AUTO(free) char *url = NULL;
		const char *wrong = read_text(json_array_get(list, i), CATALOG_URLS_TEXT_MAX, &url);

		joined = NULL;
		if (wrong == NULL && strchr(url, ',') != NULL)
			wrong = "holds a comma";
		if (wrong != NULL)
			return wrong;
		joined = xasprintf("%s%s%s", before, i > 0 ? "," : "", url);
		if (strlen(joined) > CATALOG_URLS_TEXT_MAX)
			return "is too long";
	}
	free(*slot);
	*slot = TAKE_PTR(joined);
	return NULL;
}

static bool is_hex(const char *text, size_t digits)
{
	return strlen(text) == digits && strspn(text, "0123456789abcdef") == digits;
}

static const char *read_hex(const json_t *value, const struct field *f, void *slot)
{
	const char *text = json_string_value(value);

	if (f->sort == SORT_SHA256) {
		if (text == NULL || !is_hex(text, CATALOG_SHA256_TEXT - 1))
			return "is no SHA-256";
		memcpy(slot, text, CATALOG_SHA256_TEXT);
		return NULL;
	}
	if (text == NULL || !is_hex(text, 16))
		return "is no id of 16 hexadecimal digits";
	*(uint64_t *) slot = strtoull(text, NULL, 16);
	return NULL;
}

static const char *read_number(const json_t *value, const struct field *f, void *slot)
{
	int64_t top = f->sort == SORT_U32 ? UINT32_MAX : NUMBER_MAX;
	json_int_t number = json_integer_value(value);

	if (!json_is_integer(value))
		return "is no whole number";
	if (number < f->min || number > (f->max > 0 ? f->max : top))
		return "is out of bounds";
	if (f->sort == SORT_U32)
		*(uint32_t *) slot = (uint32_t) number;
	else
		*(int64_t *) slot = number;
	return NULL;
}

static const char *read_packing(const json_t *value, const struct field *f, bool *slot)
{
	const char *text = json_string_value(value);

	if (text == NULL || (strcmp(text, f->word) != 0 && strcmp(text, "none") != 0))
		return "is neither the one that is known nor none";
	*slot = strcmp(text, f->word) == 0;
	return NULL;
}

static const char *read_moment(const json_t *value, int64_t *slot)
{
	return json_is_string(value) && civil_parse(json_string_value(value), slot) >= 0 ? NULL
	                                                                                 : "is no time";
}

/* NULL, or what is wrong. */
static const char *read_value(const json_t *value, const struct field *f, void *slot)
{
	size_t text_max = f->max > 0 ? (size_t) f->max : CATALOG_TEXT_MAX;

	switch (f->sort) {
	case SORT_TEXT_OR_NONE:
	case SORT_TEXT_OR_NULL:
		if (value == NULL ? f->sort == SORT_TEXT_OR_NONE
		                  : json_is_null(value) && f->sort == SORT_TEXT_OR_NULL)
			return NULL;
		return read_text(value, text_max, slot);
	case SORT_TEXT:
		return read_text(value, text_max, slot);
	case SORT_ID:
	case SORT_SHA256:
		return read_hex(value, f, slot);
	case SORT_NUMBER_OR_NULL:
		*(int64_t *) slot = -1;
		return json_is_null(value) ? NULL : read_number(value, f, slot);
	case SORT_NUMBER:
	case SORT_U32:
		return read_number(value, f, slot);
	case SORT_MOMENT_OR_NULL:
		*(int64_t *) slot = 0;
		return value == NULL || json_is_null(value) ? NULL : read_moment(value, slot);
	case SORT_MOMENT:
		return read_moment(value, slot);
	case SORT_BOOL:
		*(bool *) slot = json_is_true(value);
		return json_is_boolean(value) ? NULL : "is neither true nor false";
	case SORT_URLS:
		return read_urls(value, slot);
	case SORT_PACKING:
		return read_packing(value, f, slot);
	}
	return "cannot be read";
}

static int read_fields(const json_t *object, const struct field *fields, void *target,
                       const char *path, char *error)
{
	for (const struct field *f = fields; f->key != NULL; f++) {
		const json_t *map = f->in != NULL ? json_object_get(object, f->in) : object;
		const json_t *value = json_object_get(map, f->key);
		const char *wrong = read_value(value, f, (char *) target + f->offset);

		if (wrong != NULL)
			return fail(error, "%s%s%s%s %s", path, f->in != NULL ? f->in : "",
			            f->in != NULL ? "." : "", f->key, value != NULL ? wrong : "is missing");
	}
	return 0;
}

static int read_extra(const json_t *list, struct catalog_entry *entry, char *error)
{
	size_t n = json_array_size(list);

	if (!json_is_array(list) || n > CATALOG_EXTRA_MAX)
		return fail(error, "extra is no list of at most %d", CATALOG_EXTRA_MAX);
	entry->extra = xcalloc(n, sizeof(*entry->extra));
	for (size_t i = 0; i < n; i++) {
		const char *wrong = read_text(json_array_get(list, i), CATALOG_TEXT_MAX, &entry->extra[i]);

		if (wrong != NULL)
			return fail(error, "extra[%zu] %s", i, wrong);
		entry->n_extra++;
		if (entry->extra[i][0] != '/')
			return fail(error, "extra[%zu] is no absolute path", i);
	}
	return 0;
}

static int read_copies(const json_t *list, struct catalog_entry *entry, char *error)
{
	size_t n = json_array_size(list);
	char path[32];
	int r;

	if (!json_is_array(list) || n > CATALOG_COPIES_MAX)
		return fail(error, "copies is no list of at most %d", CATALOG_COPIES_MAX);
	entry->copies = xcalloc(n, sizeof(*entry->copies));
	for (size_t i = 0; i < n; i++) {
		struct catalog_copy *copy = &entry->copies[i];

		entry->n_copies++;
		(void) snprintf(path, sizeof(path), "copies[%zu].", i);
		r = read_fields(json_array_get(list, i), copy_fields, copy, path, error);
		if (r < 0)
			return r;
		if (catalog_find_copy(entry, copy->target) != copy)
			return fail(error, "copies[%zu].target is there twice", i);
	}
	return 0;
}

static int read_members(const json_t *list, struct catalog_entry *entry, char *error)
{
	size_t n = json_array_size(list);
	char path[32];
	int r;

	if (!json_is_array(list) || n == 0 || n > CATALOG_MEMBERS_MAX)
		return fail(error, "members is no list of 1 to %d", CATALOG_MEMBERS_MAX);
	entry->members = xcalloc(n, sizeof(*entry->members));
	for (size_t i = 0; i < n; i++) {
		entry->n_members++;
		(void) snprintf(path, sizeof(path), "members[%zu].", i);
		r = read_fields(json_array_get(list, i), member_fields, &entry->members[i], path, error);
		if (r < 0)
			return r;
		for (size_t k = 0; k < i; k++) {
			if (entry->members[k].id == entry->members[i].id)
				return fail(error, "members[%zu].id is there twice", i);
		}
	}
	return 0;
}

static int read_parts(const json_t *list, struct catalog_usage *usage, char *error)
{
	size_t n = json_array_size(list);
	char path[64];
	int r = 0;

	if (!json_is_array(list) || n > CATALOG_PARTS_MAX)
		return fail(error, "usage.largest is no list of at most %d", CATALOG_PARTS_MAX);
	for (size_t i = 0; i < n && r >= 0; i++) {
		usage->n_parts++;
		(void) snprintf(path, sizeof(path), "usage.largest[%zu].", i);
		r = read_fields(json_array_get(list, i), part_fields, &usage->parts[i], path, error);
	}
	return r;
}

int catalog_read_usage(const json_t *value, struct catalog_usage **ret_usage,
                       char ret_error[static CATALOG_ERROR_MAX])
{
	AUTO(catalog_usage_free) struct catalog_usage *usage = NEW0(struct catalog_usage);
	int r = read_fields(value, usage_fields, usage, "usage.", ret_error);

	if (r >= 0)
		r = read_parts(json_object_get(value, "largest"), usage, ret_error);
	if (r < 0)
		return r;
	*ret_usage = TAKE_PTR(usage);
	return 0;
}

static int check_names(const struct catalog_entry *entry, char *error)
{
	AUTO(free) char *file = NULL;

	if (!catalog_id_is_good(entry->id))
		return fail(error, "id is none that can be the name of a file");
	file = catalog_file_name(entry);
	if (strcmp(entry->file, file) != 0)
		return fail(error, "file is not the one that id, extra, compression and encryption make");
	return 0;
}

static int read_entry(const json_t *root, struct catalog_entry *entry, char *error)
{
	const json_t *version = json_object_get(root, "version");
	int r;

	if (!json_is_object(root))
		return fail(error, "is no JSON object");
	if (!json_is_integer(version) || json_integer_value(version) < 1)
		return fail(error, "version is missing or no number from 1");
	if (json_integer_value(version) > FORMAT_VERSION) {
		(void) fail(error, "was written by a newer program, in format %lld",
		            (long long) json_integer_value(version));
		return -EPROTONOSUPPORT;
	}
	r = read_fields(root, entry_fields, entry, "", error);
	if (r >= 0)
		r = read_extra(json_object_get(root, "extra"), entry, error);
	if (r >= 0)
		r = read_copies(json_object_get(root, "copies"), entry, error);
	if (r >= 0 && json_object_get(root, "members") != NULL)
		r = read_members(json_object_get(root, "members"), entry, error);
	if (r >= 0 && json_object_get(root, "usage") != NULL)
		r = catalog_read_usage(json_object_get(root, "usage"), &entry->usage, error);
	return r < 0 ? r : check_names(entry, error);
}

int catalog_parse(const char *text, size_t len, struct catalog_entry **ret_entry,
                  char ret_error[static CATALOG_ERROR_MAX])
{
	AUTO(catalog_entry_free) struct catalog_entry *entry = catalog_entry_new();
	json_error_t json_error;
	json_t *root;
	int r;

	if (len > CATALOG_ENTRY_BYTES_MAX)
		return fail(ret_error, "is longer than %u bytes", CATALOG_ENTRY_BYTES_MAX);
	root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &json_error);
	if (root == NULL)
		return fail(ret_error, "is no JSON: line %d", json_error.line);
	r = read_entry(root, entry, ret_error);
	json_decref(root);
	if (r < 0)
		return r;
	*ret_entry = TAKE_PTR(entry);
	return 0;
}

int catalog_read(const char *path, struct catalog_entry **ret_entry,
                 char ret_error[static CATALOG_ERROR_MAX])
{
	char error[CATALOG_ERROR_MAX];
	AUTO(free) char *text = NULL;
	size_t len;
	int r;

	r = file_read(path, CATALOG_ENTRY_BYTES_MAX, &text, &len);
	if (r < 0)
		(void) snprintf(error, sizeof(error), "cannot be read: %s", strerror(-r));
	else
		r = catalog_parse(text, len, ret_entry, error);
	if (r < 0)
		(void) snprintf(ret_error, CATALOG_ERROR_MAX, "%.512s: %.200s", path, error);
	return r;
}

/* --- printing --- */

static json_t *hex_json(uint64_t id)
{
	char text[17];

	(void) snprintf(text, sizeof(text), "%016llx", (unsigned long long) id);
	return json_string(text);
}

static json_t *urls_json(const char *joined)
{
	json_t *list = json_array();

	for (const char *at = joined; at[0] != '\0';) {
		size_t len = strcspn(at, ",");
		AUTO(free) char *url = xstrndup(at, len);

		(void) json_array_append_new(list, jsonval_text(url));
		at += len + (at[len] == ',' ? 1 : 0);
	}
	return list;
}

static json_t *value_json(const struct field *f, const void *slot)
{
	char text[CIVIL_TEXT_MAX];

	switch (f->sort) {
	case SORT_TEXT:
	case SORT_TEXT_OR_NULL:
	case SORT_TEXT_OR_NONE:
		return jsonval_text(*(char *const *) slot);
	case SORT_ID:
		return hex_json(*(const uint64_t *) slot);
	case SORT_NUMBER_OR_NULL:
		return *(const int64_t *) slot < 0 ? json_null() : json_integer(*(const int64_t *) slot);
	case SORT_NUMBER:
		return json_integer(*(const int64_t *) slot);
	case SORT_U32:
		return json_integer(*(const uint32_t *) slot);
	case SORT_SHA256:
		return json_string(slot);
	case SORT_MOMENT_OR_NULL:
	case SORT_MOMENT:
		if (f->sort == SORT_MOMENT_OR_NULL && *(const int64_t *) slot == 0)
			return json_null();
		return json_string(civil_format(*(const int64_t *) slot, text));
	case SORT_BOOL:
		return json_boolean(*(const bool *) slot);
	case SORT_URLS:
		return urls_json(*(char *const *) slot);
	case SORT_PACKING:
		return json_string(*(const bool *) slot ? f->word : "none");
	}
	return NULL;
}

static json_t *map_of(json_t *object, const char *key)
{
	json_t *map;

	if (key == NULL)
		return object;
	map = json_object_get(object, key);
	if (map == NULL) {
		map = json_object();
		(void) json_object_set_new(object, key, map);
	}
	return map;
}

enum print {
	PRINT_ALL,
	PRINT_SIGNED,
};

static void print_fields(json_t *object, const struct field *fields, const void *target,
                         enum print print)
{
	for (const struct field *f = fields; f->key != NULL; f++) {
		const void *slot = (const char *) target + f->offset;

		if ((f->sort == SORT_TEXT_OR_NONE && *(char *const *) slot == NULL) ||
		    (f->is_late && print == PRINT_SIGNED))
			continue;
		(void) json_object_set_new(map_of(object, f->in), f->key, value_json(f, slot));
	}
}

static json_t *usage_json(const struct catalog_usage *usage)
{
	json_t *object = json_object(), *list = json_array();

	print_fields(object, usage_fields, usage, PRINT_ALL);
	for (size_t i = 0; i < usage->n_parts; i++) {
		json_t *part = json_object();

		print_fields(part, part_fields, &usage->parts[i], PRINT_ALL);
		(void) json_array_append_new(list, part);
	}
	(void) json_object_set_new(object, "largest", list);
	return object;
}

json_t *catalog_members_json(const struct catalog_entry *entry)
{
	json_t *list = json_array();

	for (size_t i = 0; i < entry->n_members; i++) {
		json_t *member = json_object();

		print_fields(member, member_fields, &entry->members[i], PRINT_ALL);
		(void) json_array_append_new(list, member);
	}
	return list;
}

static json_t *extra_json(const struct catalog_entry *entry)
{
	json_t *extra = json_array();

	for (size_t i = 0; i < entry->n_extra; i++)
		(void) json_array_append_new(extra, jsonval_text(entry->extra[i]));
	return extra;
}

char *catalog_print(const struct catalog_entry *entry)
{
	json_t *root = json_object(), *copies = json_array();
	AUTO(free) char *text = NULL;

	(void) json_object_set_new(root, "version", json_integer(FORMAT_VERSION));
	print_fields(root, entry_fields, entry, PRINT_ALL);
	if (entry->n_members > 0)
		(void) json_object_set_new(root, "members", catalog_members_json(entry));
	if (entry->usage != NULL)
		(void) json_object_set_new(root, "usage", usage_json(entry->usage));
	for (size_t i = 0; i < entry->n_copies; i++) {
		json_t *copy = json_object();

		print_fields(copy, copy_fields, &entry->copies[i], PRINT_ALL);
		(void) json_array_append_new(copies, copy);
	}
	(void) json_object_set_new(root, "extra", extra_json(entry));
	(void) json_object_set_new(root, "copies", copies);
	text = json_dumps(root, JSON_INDENT(2));
	json_decref(root);
	return xasprintf("%s\n", text);
}

/* A field that is added to entries and signed needs the next version of the mark, or programs that
 * do not know it find the signature wrong. */
char *catalog_signed_text(const struct catalog_entry *entry)
{
	json_t *root = json_object();
	AUTO(free) char *text = NULL;

	print_fields(root, entry_fields, entry, PRINT_SIGNED);
	if (entry->n_members > 0)
		(void) json_object_set_new(root, "members", catalog_members_json(entry));
	(void) json_object_set_new(root, "extra", extra_json(entry));
	text = json_dumps(root, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII);
	json_decref(root);
	return xasprintf("fairlead snapshot v1\n%s\n", text);
}
