/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the entries say, and what etcd promises beyond the encoding: that a value carries the
 * revision it is filed under.
 */
#include "bolt/mvcc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/macro.h"
#include "base/mem.h"
#include "bolt/crc32c.h"
#include "bolt/keyset.h"

/* --- revisions --- */

const char *mvcc_parse_rev(struct bytes key, struct mvcc_rev *ret_rev, bool *ret_is_tombstone)
{
	struct mvcc_rev rev;

	if (key.len != MVCC_REV_BYTES && key.len != MVCC_REV_BYTES_MAX)
		return "its length is not that of a revision";
	if (key.data[8] != '_')
		return "there is no '_' between main and sub revision";
	if (key.len == MVCC_REV_BYTES_MAX && key.data[MVCC_REV_BYTES] != 't')
		return "its mark is not that of a deletion";
	rev.main = (int64_t) bytes_be64(key.data);
	rev.sub = (int64_t) bytes_be64(key.data + 9);
	if (rev.main < 1 || rev.sub < 0)
		return "it is out of range";
	*ret_rev = rev;
	*ret_is_tombstone = key.len == MVCC_REV_BYTES_MAX;
	return NULL;
}

static void put_be64(uint8_t *p, int64_t v)
{
	uint64_t be = htobe64((uint64_t) v);

	memcpy(p, &be, sizeof(be));
}

struct bytes mvcc_format_rev(struct mvcc_rev rev, uint8_t buf[static MVCC_REV_BYTES])
{
	put_be64(buf, rev.main);
	buf[8] = '_';
	put_be64(buf + 9, rev.sub);
	return (struct bytes){.data = buf, .len = MVCC_REV_BYTES};
}

/* --- values --- */

const char *mvcc_parse_kv(struct bytes value, struct mvcc_kv *ret_kv)
{
	struct mvcc_kv kv = {0};
	struct proto_field f;
	int r;

	for (;;) {
		bool is_text;

		r = proto_next(&value, &f);
		if (r <= 0)
			break;
		is_text = f.number == 1 || f.number == 5;
		if (f.number <= 6 && f.type != (is_text ? PROTO_BYTES : PROTO_VARINT))
			return "a field of the value is of the wrong type";
		switch (f.number) {
		case 1:
			kv.key = f.bytes;
			break;
		case 2:
			kv.create_revision = (int64_t) f.integer;
			break;
		case 3:
			kv.mod_revision = (int64_t) f.integer;
			break;
		case 4:
			kv.version = (int64_t) f.integer;
			break;
		case 5:
			kv.value = f.bytes;
			break;
		case 6:
			kv.lease = (int64_t) f.integer;
			break;
		default:
			break;
		}
	}
	if (r < 0)
		return "the value is no protobuf message";
	*ret_kv = kv;
	return NULL;
}

size_t mvcc_format_kv(const struct mvcc_kv *kv, uint8_t *buf)
{
	size_t n = proto_put_bytes(buf, 1, kv->key);

	n += proto_put_integer(buf + n, 2, (uint64_t) kv->create_revision);
	n += proto_put_integer(buf + n, 3, (uint64_t) kv->mod_revision);
	n += proto_put_integer(buf + n, 4, (uint64_t) kv->version);
	n += proto_put_bytes(buf + n, 5, kv->value);
	n += proto_put_integer(buf + n, 6, (uint64_t) kv->lease);
	return n;
}

/* --- entries --- */

static const char *disagreement(bool has_value, bool is_tombstone, int64_t main,
                                const struct mvcc_kv *kv)
{
	if (!has_value)
		return NULL; /* the entry that raises the revision */
	if (kv->key.len == 0)
		return "the value has no key";
	if (is_tombstone)
		return NULL;
	if (kv->mod_revision != main)
		return "the value is of another revision";
	if (kv->create_revision < 1 || kv->create_revision > kv->mod_revision || kv->version < 1)
		return "the value was created after it was changed";
	return NULL;
}

int mvcc_read(struct bolt *db, const struct cursor_entry *raw, struct mvcc_entry *ret_entry)
{
	struct mvcc_rev rev;
	struct mvcc_kv kv;
	bool is_tombstone;
	const char *why;

	if (raw->is_bucket)
		return bolt_fail(db, raw->page, "a bucket among etcd's keys");
	why = mvcc_parse_rev(raw->key, &rev, &is_tombstone);
	if (why != NULL)
		return bolt_fail(db, raw->page, "a key of bucket 'key' is no revision: %s", why);
	why = mvcc_parse_kv(raw->value, &kv);
	if (why == NULL)
		why = disagreement(raw->value.len > 0, is_tombstone, rev.main, &kv);
	if (why != NULL)
		return bolt_fail(db, raw->page, "revision %" PRId64 "_%" PRId64 ": %s", rev.main, rev.sub,
		                 why);
	ret_entry->rev = rev;
	ret_entry->is_tombstone = is_tombstone;
	ret_entry->kv = kv;
	ret_entry->raw = raw;
	return 0;
}

/* --- how far the file reaches --- */

static int read_last(struct bolt *db, int64_t *ret_last)
{
	AUTO(cursor_free) struct cursor *c = NULL;
	struct cursor_entry raw;
	struct mvcc_entry e;
	int r;

	r = cursor_open_named(db, MVCC_BUCKET, &c);
	if (r == -ENOENT)
		return bolt_fail(db, BOLT_NO_PAGE, "no database of etcd 3: it lacks the bucket 'key'");
	if (r < 0)
		return r;
	r = cursor_seek_last(c);
	if (r < 0)
		return r;
	r = cursor_next(c, &raw);
	if (r < 0)
		return r;
	if (r == 0) {
		*ret_last = 0;
		return 0;
	}
	r = mvcc_read(db, &raw, &e);
	if (r < 0)
		return r;
	*ret_last = e.rev.main;
	return 0;
}

static int read_compaction(struct bolt *db, const char *key, int64_t *ret_revision)
{
	uint8_t buf[MVCC_REV_BYTES];
	struct mvcc_rev rev;
	bool is_tombstone;
	const char *why;
	int r;

	r = cursor_get(db, "meta", key, buf, sizeof(buf));
	if (r == -ENOENT) {
		*ret_revision = -1;
		return 0;
	}
	if (r < 0)
		return r;
	why = mvcc_parse_rev((struct bytes){.data = buf, .len = (size_t) r}, &rev, &is_tombstone);
	if (why != NULL)
		return bolt_fail(db, BOLT_NO_PAGE, "%s is no revision: %s", key, why);
	*ret_revision = rev.main;
	return 0;
}

int mvcc_read_reach(struct bolt *db, struct mvcc_reach *ret_reach)
{
	struct mvcc_reach reach;
	int r;

	r = read_last(db, &reach.last);
	if (r >= 0)
		r = read_compaction(db, "finishedCompactRev", &reach.finished);
	if (r >= 0)
		r = read_compaction(db, "scheduledCompactRev", &reach.scheduled);
	if (r < 0)
		return r;
	reach.compacted = MAX(reach.finished, reach.scheduled);
	reach.current = MAX(MAX(reach.last, reach.compacted), 1);
	*ret_reach = reach;
	return 0;
}

int mvcc_choose_revision(struct bolt *db, const struct mvcc_reach *reach, int64_t revision,
                         int64_t *ret_revision)
{
	if (revision == 0)
		revision = reach->current;
	if (revision > reach->current) {
		bolt_note_fault(db, BOLT_NO_PAGE,
		                "revision %" PRId64 " is not in it: it ends with %" PRId64, revision,
		                reach->current);
		return -ERANGE;
	}
	if (revision < MAX(reach->compacted, 1)) {
		bolt_note_fault(db, BOLT_NO_PAGE,
		                "revision %" PRId64 " was compacted: it begins with %" PRId64, revision,
		                MAX(reach->compacted, 1));
		return -ERANGE;
	}
	*ret_revision = revision;
	return 0;
}

/* --- view --- */

/*
 * Entries come in the order of their revisions; a table finds the record of a key again, which the
 * latest entry overwrites. What is deleted keeps its record, in case the key comes back, until all
 * was read; then those alive are sorted.
 */

#define SLOTS_MIN 64
#define BLOCK_BYTES 65536

struct record {
	struct view_key key;
	uint64_t hash;
	bool alive;
};

/* Keys stay where they are; only the last block has room. */
struct block {
	struct block *before;
	size_t used;
	uint8_t bytes[];
};

struct view {
	struct bolt *db;
	int64_t revision;
	struct siphash siphash;
	struct record *records;
	size_t n_records, n_room;
	size_t *slots; /* a record's number and 1; 0: free */
	size_t n_slots;
	struct block *blocks;
	size_t block_room; /* of the last one */
	struct cursor *values;
};

/* --- records --- */

static struct bytes keep(struct view *v, struct bytes key)
{
	struct block *block = v->blocks;
	uint8_t *p;

	if (block == NULL || key.len > v->block_room - block->used) {
		v->block_room = MAX(key.len, (size_t) BLOCK_BYTES);
		block = xcalloc(1, sizeof(*block) + v->block_room);
		block->before = v->blocks;
		v->blocks = block;
	}
	p = block->bytes + block->used;
	if (key.len > 0)
		memcpy(p, key.data, key.len);
	block->used += key.len;
	return (struct bytes){.data = p, .len = key.len};
}

/* The slot of this key, or the free one where it belongs. */
static size_t *look_up(const struct view *v, uint64_t hash, struct bytes key)
{
	size_t i = hash & (v->n_slots - 1);

	for (; v->slots[i] != 0; i = (i + 1) & (v->n_slots - 1)) {
		const struct record *record = &v->records[v->slots[i] - 1];

		if (record->hash == hash && bytes_compare(record->key.key, key) == 0)
			break;
	}
	return &v->slots[i];
}

static void grow_slots(struct view *v)
{
	free(v->slots);
	v->n_slots = MAX(v->n_slots * 2, (size_t) SLOTS_MIN);
	v->slots = xcalloc(v->n_slots, sizeof(*v->slots));
	for (size_t i = 0; i < v->n_records; i++)
		*look_up(v, v->records[i].hash, v->records[i].key.key) = i + 1;
}

static struct record *find_or_add(struct view *v, struct bytes key)
{
	uint64_t hash = siphash_of(&v->siphash, key);
	size_t *slot;

	if (v->n_records >= v->n_slots / 2)
		grow_slots(v);
	slot = look_up(v, hash, key);
	if (*slot == 0) {
		if (v->n_records == v->n_room) {
			v->n_room = v->n_room * 2 + 16;
			v->records = xreallocarray(v->records, v->n_room, sizeof(*v->records));
		}
		v->records[v->n_records++] = (struct record){.key = {.key = keep(v, key)}, .hash = hash};
		*slot = v->n_records;
	}
	return &v->records[*slot - 1];
}

static void apply(struct view *v, const struct mvcc_entry *e)
{
	struct record *record = find_or_add(v, e->kv.key);

	record->alive = !e->is_tombstone;
	record->key = (struct view_key){
	    .key = record->key.key,
	    .rev = e->rev,
	    .create_revision = e->kv.create_revision,
	    .version = e->kv.version,
	    .lease = e->kv.lease,
	    .value_len = e->kv.value.len,
	    .value_crc = crc32c_update(0, e->kv.value.data, e->kv.value.len),
	};
}

/* --- reading --- */

static bool matches(const struct view_match *match, struct bytes key)
{
	if (key.len == 0 || key.len < match->key.len)
		return false; /* the key without a name is no user's */
	if (!match->is_prefix && key.len != match->key.len)
		return false;
	key.len = match->key.len;
	return bytes_compare(key, match->key) == 0;
}

static int read_entries(struct view *v, const struct view_match *match)
{
	AUTO(cursor_free) struct cursor *c = NULL;
	struct cursor_entry raw;
	struct mvcc_entry entry;
	int r;

	r = cursor_open_named(v->db, MVCC_BUCKET, &c);
	while (r >= 0) {
		r = cursor_next(c, &raw);
		if (r <= 0)
			return r;
		r = mvcc_read(v->db, &raw, &entry);
		if (r >= 0 && entry.rev.main > v->revision)
			return 0;
		if (r >= 0 && matches(match, entry.kv.key))
			apply(v, &entry);
	}
	return r;
}

static int compare_records(const void *a, const void *b)
{
	const struct record *left = a, *right = b;

	return bytes_compare(left->key.key, right->key.key);
}

/* The table is of no use any more. */
static void sort_alive(struct view *v)
{
	size_t n = 0;

	for (size_t i = 0; i < v->n_records; i++) {
		if (v->records[i].alive)
			v->records[n++] = v->records[i];
	}
	v->n_records = n;
	free(TAKE_PTR(v->slots));
	if (n > 0)
		qsort(v->records, n, sizeof(*v->records), compare_records);
}

int view_new(struct bolt *db, int64_t revision, const struct view_match *match,
             struct view **ret_view)
{
	AUTO(view_free) struct view *v = NEW0(struct view);
	struct mvcc_reach reach;
	int r;

	v->db = db;
	v->siphash = siphash_draw();
	r = mvcc_read_reach(db, &reach);
	if (r >= 0)
		r = mvcc_choose_revision(db, &reach, revision, &v->revision);
	if (r >= 0)
		r = read_entries(v, match);
	if (r < 0)
		return r;
	sort_alive(v);
	*ret_view = TAKE_PTR(v);
	return 0;
}

void view_free(struct view *v)
{
	if (v == NULL)
		return;
	while (v->blocks != NULL) {
		struct block *block = v->blocks;

		v->blocks = block->before;
		free(block);
	}
	free(v->records);
	free(v->slots);
	cursor_free(v->values);
	free(v);
}

int64_t view_revision(const struct view *v)
{
	return v->revision;
}

size_t view_count(const struct view *v)
{
	return v->n_records;
}

const struct view_key *view_at(const struct view *v, size_t i)
{
	return &v->records[i].key;
}

int view_read(struct view *v, size_t i, struct mvcc_kv *ret_kv)
{
	const struct view_key *key = view_at(v, i);
	uint8_t buf[MVCC_REV_BYTES];
	struct mvcc_entry entry = {0};
	struct cursor_entry raw;
	int r = 0;

	if (v->values == NULL)
		r = cursor_open_named(v->db, MVCC_BUCKET, &v->values);
	if (r >= 0)
		r = cursor_seek(v->values, mvcc_format_rev(key->rev, buf));
	if (r >= 0)
		r = cursor_next(v->values, &raw);
	if (r > 0)
		r = mvcc_read(v->db, &raw, &entry);
	if (r < 0)
		return r;
	if (entry.rev.main != key->rev.main || entry.rev.sub != key->rev.sub ||
	    bytes_compare(entry.kv.key, key->key) != 0)
		return bolt_fail(v->db, BOLT_NO_PAGE, "the file was changed while it was read");
	*ret_kv = entry.kv;
	return 0;
}
