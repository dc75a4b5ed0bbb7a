/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries come in the order of their revisions; a table finds the record of a key again, which the
 * latest entry overwrites. What is deleted keeps its record, in case the key comes back, until all
 * was read; then those alive are sorted.
 */
#include "bolt/view.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "bolt/crc32c.h"
#include "bolt/siphash.h"

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
