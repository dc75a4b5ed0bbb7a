/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With F the last compaction that was finished, C the last one, R the revision asked for:
 *
 *   1 ......... F ......... C ......... R
 *   one entry     several     several      entries for each of the users' keys
 *   a key
 *
 * First a pass over (F, R] remembers which entry is the newest of each key that is there. Then
 * every entry up to R comes by in order. One up to F is the newest of its key if that was not seen
 * after F; one in (F, C] if it is the one remembered; what is beyond C is hashed in any case.
 *
 * Rule (a) depends on whether any key is alive, which is known at once, or as soon as one entry up
 * to C is found to be in force. Until then, in stores of a few dead keys, the hash is computed both
 * ways.
 */
#include "bolt/hashkv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "bolt/crc32c.h"
#include "bolt/keyset.h"

struct hashkv {
	struct bolt *db;
	struct mvcc_reach reach;
	int64_t revision;

	/* Which entries are the newest. */
	struct keyset *changed; /* in (F, R]: the number of its newest entry there, with is_put() */
	unsigned part_bits;     /* 0: `changed` holds them all, else 2^part_bits parts, one by one */
	uint64_t part;
	uint8_t *outdated; /* with several parts: a bit for each entry up to C */
	size_t outdated_bytes;
	uint64_t n_live_changed; /* of all parts */

	/* What went by. */
	uint64_t n_seen;         /* entries up to C */
	uint64_t n_seen_changed; /* those of them beyond F */
	uint64_t n_live_settled; /* keys that are alive by their entry up to F */
	uint64_t n_created, n_deleted;
	bool has_empty_key;
	bool any_alive;
	struct crc32c_run crc;        /* by rule (a) */
	struct crc32c_run crc_of_all; /* without it; only kept up while no key is known to be alive */
};

/* --- numbers of entries, with what kind they are --- */

static uint64_t tagged(uint64_t number, bool is_put)
{
	return number << 1 | is_put;
}

static bool is_put(uint64_t tagged_number)
{
	return (tagged_number & 1) != 0;
}

/* --- passes before the one that hashes --- */

/* What is pending lies in a page that is about to go. */
static void end_runs(struct hashkv *h)
{
	(void) crc32c_run_end(&h->crc);
	(void) crc32c_run_end(&h->crc_of_all);
}

typedef int (*entry_fn)(struct hashkv *h, const struct mvcc_entry *entry);

static int for_each_entry(struct hashkv *h, int64_t from, int64_t to, entry_fn fn)
{
	AUTO(cursor_free) struct cursor *c = NULL;
	struct mvcc_rev rev = {.main = from};
	uint8_t buf[MVCC_REV_BYTES];
	struct cursor_entry raw;
	struct mvcc_entry entry;
	int r;

	r = cursor_open_named(h->db, MVCC_BUCKET, &c);
	if (r < 0)
		return r;
	r = cursor_seek(c, mvcc_format_rev(rev, buf));
	while (r >= 0) {
		r = cursor_next(c, &raw);
		if (r <= 0)
			break;
		r = mvcc_read(h->db, &raw, &entry);
		if (r >= 0 && entry.rev.main > to)
			break;
		if (r >= 0)
			r = fn(h, &entry);
	}
	end_runs(h);
	return MIN(r, 0);
}

static bool is_of_this_part(const struct hashkv *h, uint64_t hash)
{
	return h->part_bits == 0 || hash >> (64 - h->part_bits) == h->part;
}

/* -ENOBUFS: `changed` is full. */
static int remember(struct hashkv *h, const struct mvcc_entry *entry)
{
	uint64_t hash = keyset_hash(h->changed, entry->kv.key);
	uint64_t before = 0;

	h->n_seen_changed++;
	if (!is_of_this_part(h, hash))
		return 0;
	(void) keyset_find(h->changed, hash, &before);
	if (!keyset_put(h->changed, hash, tagged(h->n_seen_changed, !entry->is_tombstone)))
		return -ENOBUFS;
	h->n_live_changed += (uint64_t) !entry->is_tombstone - (uint64_t) is_put(before);
	return 0;
}

/* Whether a newer entry is known; this one is up to C, and the last that was counted. Of those up
 * to F none is among the numbered ones. */
static bool has_newer(const struct hashkv *h, uint64_t hash)
{
	uint64_t newest = 0;

	return keyset_find(h->changed, hash, &newest) && newest >> 1 != h->n_seen_changed;
}

static void count_seen(struct hashkv *h, const struct mvcc_entry *entry)
{
	h->n_seen++;
	if (entry->rev.main > h->reach.finished)
		h->n_seen_changed++;
}

static int mark_if_outdated(struct hashkv *h, const struct mvcc_entry *entry)
{
	uint64_t hash = keyset_hash(h->changed, entry->kv.key);
	size_t byte = h->n_seen / 8;

	if (byte >= h->outdated_bytes) {
		size_t n = h->outdated_bytes * 2 + 4096;

		h->outdated = xreallocarray(h->outdated, n, 1);
		memset(h->outdated + h->outdated_bytes, 0, n - h->outdated_bytes);
		h->outdated_bytes = n;
	}
	count_seen(h, entry);
	if (has_newer(h, hash))
		h->outdated[byte] |= (uint8_t) (1u << ((h->n_seen - 1) % 8));
	return 0;
}

static int remember_part(struct hashkv *h)
{
	keyset_clear(h->changed);
	h->n_seen_changed = 0;
	return for_each_entry(h, h->reach.finished + 1, h->revision, remember);
}

static int mark_part(struct hashkv *h)
{
	h->n_seen = 0;
	h->n_seen_changed = 0;
	return for_each_entry(h, 0, h->reach.compacted, mark_if_outdated);
}

static int go_through_parts(struct hashkv *h)
{
	int r = 0;

	h->n_live_changed = 0;
	if (h->outdated != NULL)
		memset(h->outdated, 0, h->outdated_bytes);
	for (h->part = 0; h->part < (uint64_t) 1 << h->part_bits && r >= 0; h->part++) {
		r = remember_part(h);
		if (r >= 0 && h->part_bits > 0)
			r = mark_part(h);
	}
	return r;
}

static int prepare(struct hashkv *h)
{
	int r;

	if (h->reach.compacted < 0) {
		h->any_alive = true; /* or none, it is the same: every entry counts */
		return 0;
	}
	/* What has changed since may be next to nothing, or have to be read several times. */
	bolt_pass_begin(h->db, "keys", false);
	do {
		r = go_through_parts(h);
		if (r == -ENOBUFS)
			h->part_bits++;
	} while (r == -ENOBUFS);
	bolt_pass_end(h->db);
	h->n_seen = 0;
	h->n_seen_changed = 0;
	h->any_alive = h->n_live_changed > 0;
	return r;
}

int hashkv_new(struct bolt *db, const struct mvcc_reach *reach, int64_t revision, size_t max_keys,
               struct hashkv **ret_hashkv)
{
	AUTO(hashkv_free) struct hashkv *h = NEW0(struct hashkv);
	int r;

	h->db = db;
	h->reach = *reach;
	h->revision = revision;
	h->changed = keyset_new(max_keys);
	crc32c_run_add(&h->crc, bytes_of_text(MVCC_BUCKET));
	(void) crc32c_run_end(&h->crc);
	h->crc_of_all = h->crc;
	r = prepare(h);
	if (r < 0)
		return r;
	*ret_hashkv = TAKE_PTR(h);
	return 0;
}

void hashkv_free(struct hashkv *h)
{
	if (h == NULL)
		return;
	keyset_free(h->changed);
	free(h->outdated);
	free(h);
}

/* --- the pass that hashes --- */

static void hash_entry(struct crc32c_run *crc, const struct mvcc_entry *entry)
{
	crc32c_run_add(crc, entry->raw->key);
	crc32c_run_add(crc, entry->raw->value);
}

/* The entry is up to C: whether it is the newest of its key up to R. */
static bool is_newest(struct hashkv *h, const struct mvcc_entry *entry)
{
	size_t i = h->n_seen;

	count_seen(h, entry);
	if (h->part_bits >
	    0) /* and no more entries than before, unless the file was changed meanwhile */
		return i / 8 >= h->outdated_bytes || (h->outdated[i / 8] & (1u << (i % 8))) == 0;
	return !has_newer(h, keyset_hash(h->changed, entry->kv.key));
}

/* With no compaction all history is there: a key is alive between its creation and its deletion. */
static void count_life(struct hashkv *h, const struct mvcc_entry *entry)
{
	if (entry->kv.key.len == 0)
		h->has_empty_key = !entry->is_tombstone;
	else if (entry->is_tombstone)
		h->n_deleted++;
	else if (entry->kv.create_revision == entry->kv.mod_revision)
		h->n_created++;
}

static void add_in_reach(struct hashkv *h, const struct mvcc_entry *entry)
{
	int64_t compacted = h->reach.compacted;
	bool in_force = true;

	if (compacted < 0)
		count_life(h, entry);
	if (entry->rev.main <= compacted) {
		in_force = is_newest(h, entry) && !entry->is_tombstone;
		if (in_force && entry->rev.main <= h->reach.finished)
			h->n_live_settled++;
		h->any_alive |= in_force;
		if (entry->rev.main == compacted && entry->is_tombstone)
			return;
	}
	if (in_force)
		hash_entry(&h->crc, entry);
	if (!h->any_alive)
		hash_entry(&h->crc_of_all, entry);
}

void hashkv_add(struct hashkv *h, const struct mvcc_entry *entry)
{
	if (entry->rev.main <= h->revision)
		add_in_reach(h, entry);
	if (entry->raw->ends_page || entry->rev.main > h->revision)
		end_runs(h);
}

void hashkv_finish(const struct hashkv *h, struct hashkv_result *ret_result)
{
	*ret_result = (struct hashkv_result){
	    .hash = h->any_alive ? h->crc.crc : h->crc_of_all.crc,
	    .revision = h->revision,
	    .compact_revision = h->reach.compacted,
	    .n_live = h->reach.compacted < 0
	                  ? h->n_created - MIN(h->n_created, h->n_deleted) + h->has_empty_key
	                  : h->n_live_changed + h->n_live_settled,
	};
}

static int add_entry(struct hashkv *h, const struct mvcc_entry *entry)
{
	hashkv_add(h, entry);
	return 0;
}

int hashkv_compute_before(struct bolt *db, const struct mvcc_reach *reach, int64_t revision,
                          struct hashkv_result *ret_result)
{
	AUTO(hashkv_free) struct hashkv *h = NULL;
	int r;

	r = mvcc_choose_revision(db, reach, revision, &revision);
	if (r >= 0)
		r = hashkv_new(db, reach, revision, HASHKV_KEYS_MAX, &h);
	if (r >= 0) {
		bolt_pass_begin(db, "hashkv", true);
		r = for_each_entry(h, 0, revision, add_entry);
		bolt_pass_end(db);
	}
	if (r < 0)
		return r;
	hashkv_finish(h, ret_result);
	return 0;
}

int hashkv_compute_compacted(struct bolt *db, int64_t revision, int64_t compacted,
                             struct hashkv_result *ret_result)
{
	struct mvcc_reach reach;
	int r;

	r = mvcc_read_reach(db, &reach);
	if (r < 0)
		return r;
	if (compacted < reach.compacted) {
		bolt_note_fault(db, BOLT_NO_PAGE,
		                "it has been compacted at %" PRId64 " already, which is behind %" PRId64,
		                reach.compacted, compacted);
		return -ERANGE;
	}
	reach.scheduled = compacted;
	reach.compacted = compacted;
	return hashkv_compute_before(db, &reach, revision, ret_result);
}
