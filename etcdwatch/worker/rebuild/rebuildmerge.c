/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both sides come in the order of revisions, so one change of each is all that is looked at: first
 * the base's entries, with the record's of the same revisions beside them, then what the record has
 * beyond. The bucket "key" comes before "lease", so by then it is known which leases are needed.
 */
#include "etcdwatch/worker/rebuild/rebuildmerge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/mono.h"
#include "bolt/cursor.h"
#include "bolt/keyset.h"
#include "bolt/bytes.h"

/* --- leaseset --- */

/* Which key hangs on which lease is a table of the hashes of keys (keyset.h), with the number of
 * the lease from 1; 0: on none any more. */

#define BUCKET "lease"
#define ID_BYTES 8
#define VALUE_BYTES_MAX 64 /* three numbers */

struct lease {
	int64_t id;
	bool is_known; /* there is a value */
	bool is_gone;
	uint64_t n_keys;
	uint8_t value[VALUE_BYTES_MAX]; /* leasepb.Lease: 1 id, 2 TTL, 3 what remains of it */
	size_t value_len;
};

struct leaseset {
	struct lease *leases;
	size_t n, room;
	size_t n_unknown;
	struct keyset *by_id;
	struct keyset *by_key;
	bool is_overfull; /* keys are no longer counted */
};

struct leaseset *leaseset_new(size_t max_keys)
{
	struct leaseset *set = NEW0(struct leaseset);

	set->by_id = keyset_new(SIZE_MAX);
	set->by_key = keyset_new(max_keys);
	return set;
}

void leaseset_free(struct leaseset *set)
{
	if (set == NULL)
		return;
	keyset_free(set->by_id);
	keyset_free(set->by_key);
	free(set->leases);
	free(set);
}

/* --- one lease --- */

static void format_id(int64_t id, uint8_t buf[static ID_BYTES])
{
	uint64_t be = htobe64((uint64_t) id);

	memcpy(buf, &be, sizeof(be));
}

/* Its number; a new one if it was not there. */
static size_t find(struct leaseset *set, int64_t id)
{
	uint8_t bytes[ID_BYTES];
	uint64_t hash, number;

	format_id(id, bytes);
	hash = keyset_hash(set->by_id, (struct bytes){.data = bytes, .len = sizeof(bytes)});
	if (keyset_find(set->by_id, hash, &number))
		return (size_t) number;
	if (set->n == set->room) {
		set->room = set->room * 2 + 64;
		set->leases = xreallocarray(set->leases, set->room, sizeof(*set->leases));
	}
	set->leases[set->n++] = (struct lease){.id = id};
	(void) keyset_put(set->by_id, hash, set->n);
	return set->n;
}

static struct lease *at(const struct leaseset *set, size_t number)
{
	return &set->leases[number - 1];
}

static bool is_missed(const struct lease *lease)
{
	return lease->n_keys > 0 && !lease->is_known;
}

static void set_keys(struct leaseset *set, size_t number, int more)
{
	struct lease *lease = at(set, number);

	set->n_unknown -= is_missed(lease);
	lease->n_keys = more > 0 ? lease->n_keys + 1 : lease->n_keys - 1;
	set->n_unknown += is_missed(lease);
}

static void set_value(struct leaseset *set, struct lease *lease, struct bytes value)
{
	set->n_unknown -= is_missed(lease);
	memcpy(lease->value, value.data, value.len);
	lease->value_len = value.len;
	lease->is_known = true;
	lease->is_gone = false;
}

/* --- what is told --- */

/* Those of a database. -EBADMSG and its fault, if what is there are no leases. */
static int leaseset_load(struct leaseset *set, struct bolt *db)
{
	AUTO(cursor_free) struct cursor *c = NULL;
	struct cursor_entry e;
	int r = cursor_open_named(db, BUCKET, &c);

	if (r < 0)
		return r == -ENOENT ? bolt_fail(db, BOLT_NO_PAGE, "it lacks the bucket '" BUCKET "'") : r;
	while ((r = cursor_next(c, &e)) > 0) {
		if (e.is_bucket || e.key.len != ID_BYTES || e.value.len > VALUE_BYTES_MAX)
			return bolt_fail(db, e.page, "the bucket '" BUCKET "' has what is no lease");
		set_value(set, at(set, find(set, (int64_t) bytes_be64(e.key.data))), e.value);
	}
	return r;
}

void leaseset_see_key(struct leaseset *set, struct bytes key, bool is_tombstone, int64_t lease)
{
	uint64_t hash, before = 0;
	size_t number = 0;

	if (set->is_overfull)
		return;
	hash = keyset_hash(set->by_key, key);
	(void) keyset_find(set->by_key, hash, &before);
	if (!is_tombstone && lease != 0)
		number = find(set, lease);
	if (number == before)
		return;
	if (!keyset_put(set->by_key, hash, number)) {
		set->is_overfull = true;
		return;
	}
	if (before != 0)
		set_keys(set, (size_t) before, -1);
	if (number != 0)
		set_keys(set, number, 1);
}

static void grant(struct leaseset *set, struct lease *lease, int64_t ttl_s)
{
	uint8_t value[VALUE_BYTES_MAX];
	size_t n = proto_put_integer(value, 1, (uint64_t) lease->id);

	n += proto_put_integer(value + n, 2, (uint64_t) ttl_s);
	set_value(set, lease, (struct bytes){.data = value, .len = n});
}

void leaseset_see_lease(struct leaseset *set, int64_t id, int64_t ttl_s)
{
	struct lease *lease = at(set, find(set, id));

	if (ttl_s <= 0)
		lease->is_gone = true;
	else
		grant(set, lease, ttl_s);
}

size_t leaseset_count_unknown(const struct leaseset *set)
{
	return set->n_unknown;
}

void leaseset_see_late(struct leaseset *set, int64_t id, int64_t ttl_s)
{
	struct lease *lease = at(set, find(set, id));

	if (ttl_s > 0 && is_missed(lease))
		grant(set, lease, ttl_s);
}

/* --- what is written --- */

/* As bytes, which is how their ids are sorted: a negative one is behind the others. */
static int compare_ids(const void *a, const void *b)
{
	const struct lease *x = a, *y = b;
	uint64_t i = (uint64_t) x->id, j = (uint64_t) y->id;

	return i < j ? -1 : i > j;
}

static bool is_there(const struct leaseset *set, const struct lease *lease)
{
	return lease->is_known && (!lease->is_gone || lease->n_keys > 0 || set->is_overfull);
}

int leaseset_write(struct leaseset *set, struct bulk *bulk, size_t *ret_n)
{
	size_t n = 0;

	/* Their numbers mean nothing from here on. */
	if (set->n > 0)
		qsort(set->leases, set->n, sizeof(*set->leases), compare_ids);
	for (size_t i = 0; i < set->n; i++) {
		const struct lease *lease = &set->leases[i];
		uint8_t id[ID_BYTES];
		int r;

		if (!is_there(set, lease))
			continue;
		format_id(lease->id, id);
		r = bulk_add(bulk, (struct bytes){.data = id, .len = sizeof(id)},
		             (struct bytes){.data = lease->value, .len = lease->value_len});
		if (r < 0)
			return r;
		n++;
	}
	*ret_n = n;
	return 0;
}

/* --- rebuildmerge --- */

#define LEASES "lease"
/* How long afterwards that may be. */
#define READ_ON_US (10 * 60 * US_PER_S)
/* Entries between looks at the clock. */
#define LOOK_EVERY 4096

struct merge {
	const struct rebuildmerge_request *q;
	struct rebuildmerge_result result;
	struct problem *problem;
	struct bulk *bulk;
	struct leaseset *leases;
	uint64_t n_entries;
	int64_t told_us;

	/* The recorded revision that is next. */
	struct record_frame frame;
	bool has_frame;
	size_t at;             /* which of its events */
	struct problem damage; /* why there is no more of it; it need not matter */

	/* One of its events as etcd writes it. */
	uint8_t key[MVCC_REV_BYTES_MAX];
	size_t key_len;
	uint8_t *value;
	size_t value_len, value_room;
};

/* --- what goes wrong --- */

static int blame_base(struct merge *m, int r)
{
	return problem_set(m->problem, r, r == -EBADMSG ? "TREE" : "READ", "'%s': %s", m->q->base_name,
	                   m->q->fault->what);
}

static int blame_writing(struct merge *m, int r)
{
	if (r == -EINVAL)
		return problem_set(m->problem, r, "FOREIGN",
		                   "what is recorded does not come behind what is in '%s'",
		                   m->q->base_name);
	return problem_set_errno(m->problem, r, "cannot write the new database");
}

static int add(struct merge *m, struct bytes key, struct bytes value)
{
	int r = bulk_add(m->bulk, key, value);

	return r < 0 ? blame_writing(m, r) : 0;
}

/* Says how far it is, once a second; a signal ends it. */
static int look_up(struct merge *m, int64_t revision)
{
	int64_t now_us;

	if (m->n_entries++ % LOOK_EVERY != 0)
		return 0;
	if (cancel_is_wanted())
		return problem_set(m->problem, -ECANCELED, "CANCELLED", "cancelled");
	now_us = mono_now_us();
	if (m->told_us != 0 && now_us - m->told_us < US_PER_S)
		return 0;
	m->told_us = now_us;
	result_line(json_pack("{s:s, s:I, s:I}", "doing", "merge", "revision", (json_int_t) revision,
	                      "of", (json_int_t) m->q->revision));
	return 0;
}

/* --- the record --- */

static void keep_hash(struct merge *m, const struct record_frame *frame)
{
	struct rebuildmerge_result *result = &m->result;

	/* A member that had compacted less than the base has kept more than there is here. */
	if (frame->revision < m->q->base_revision || frame->revision > m->q->revision ||
	    frame->compact_revision < m->q->base_compacted)
		return;
	memmove(result->hashes + 1, result->hashes,
	        (REBUILDMERGE_HASHES_MAX - 1) * sizeof(result->hashes[0]));
	result->hashes[0] = (struct rebuildmerge_hash){.revision = frame->revision,
	                                               .compact_revision = frame->compact_revision,
	                                               .hash = frame->hash,
	                                               .member_id = frame->member_id};
	result->n_hashes = MIN(result->n_hashes + 1, (size_t) REBUILDMERGE_HASHES_MAX);
}

static void take_note(struct merge *m)
{
	if (m->frame.type == RECORD_LEASE)
		leaseset_see_lease(m->leases, m->frame.lease, m->frame.ttl_s);
	else if (m->frame.type == RECORD_HASH)
		keep_hash(m, &m->frame);
}

/* Goes on to the next revision that is recorded, and takes what is told on the way. */
static int next_revision(struct merge *m)
{
	int r = 0;

	m->has_frame = false;
	m->at = 0;
	while (m->q->record != NULL && (r = chainread_next(m->q->record, &m->damage, &m->frame)) > 0) {
		take_note(m);
		if (m->frame.type != RECORD_EVENTS)
			continue;
		m->has_frame = true;
		return 0;
	}
	if (r < 0 && r != -EBADMSG)
		return problem_set(m->problem, r, m->damage.code, "%s", m->damage.reason);
	return 0;
}

static void format_event(struct merge *m)
{
	const struct record_event *e = &m->frame.events[m->at];
	const struct mvcc_rev rev = {.main = m->frame.revision, .sub = (int64_t) m->at};
	struct mvcc_kv kv = {.key = e->key};
	size_t room = e->key.len + e->value.len + MVCC_KV_MORE_MAX;

	(void) mvcc_format_rev(rev, m->key);
	m->key_len = MVCC_REV_BYTES;
	if (e->is_delete) {
		m->key[m->key_len++] = 't';
	} else {
		kv.create_revision = e->create_revision;
		kv.mod_revision = m->frame.revision;
		kv.version = e->version;
		kv.value = e->value;
		kv.lease = e->lease;
	}
	if (room > m->value_room) {
		m->value = xreallocarray(m->value, room * 2, 1);
		m->value_room = room * 2;
	}
	m->value_len = mvcc_format_kv(&kv, m->value);
}

/* --- the bucket of the keys --- */

static bool is_before(const struct merge *m, struct mvcc_rev rev)
{
	return m->frame.revision < rev.main ||
	       (m->frame.revision == rev.main && (int64_t) m->at < rev.sub);
}

/* The record beside an entry of the base. What the base lacks was compacted there. */
static int compare(struct merge *m, const struct mvcc_entry *entry)
{
	struct bytes key = {.data = m->key}, value;
	int r = 0;

	while (r == 0 && m->has_frame && is_before(m, entry->rev)) {
		m->at++;
		if (m->at >= m->frame.n_events)
			r = next_revision(m);
	}
	if (r < 0 || !m->has_frame || m->frame.revision != entry->rev.main ||
	    (int64_t) m->at != entry->rev.sub)
		return r;
	format_event(m);
	key.len = m->key_len;
	value = (struct bytes){.data = m->value, .len = m->value_len};
	if (bytes_compare(key, entry->raw->key) != 0 || bytes_compare(value, entry->raw->value) != 0)
		return problem_set(m->problem, -EBADMSG, "FOREIGN",
		                   "revision %" PRId64
		                   " is something else in '%s' than in the record: they "
		                   "are not of the same cluster, or one of them is wrong",
		                   entry->rev.main, m->q->base_name);
	m->result.n_same++;
	return 0;
}

static int copy_keys(struct merge *m, struct cursor *c)
{
	struct cursor_entry raw;
	struct mvcc_entry entry;
	int r;

	while ((r = cursor_next(c, &raw)) > 0) {
		r = mvcc_read(m->q->base, &raw, &entry);
		if (r < 0)
			return blame_base(m, r);
		r = compare(m, &entry);
		if (r == 0)
			r = add(m, raw.key, raw.value);
		if (r == 0)
			r = look_up(m, entry.rev.main);
		if (r < 0)
			return r;
		leaseset_see_key(m->leases, entry.kv.key, entry.is_tombstone, entry.kv.lease);
	}
	return r < 0 ? blame_base(m, r) : 0;
}

static int add_revision(struct merge *m)
{
	for (m->at = 0; m->at < m->frame.n_events; m->at++) {
		const struct record_event *e = &m->frame.events[m->at];
		int r;

		format_event(m);
		r = add(m, (struct bytes){.data = m->key, .len = m->key_len},
		        (struct bytes){.data = m->value, .len = m->value_len});
		if (r == 0)
			r = look_up(m, m->frame.revision);
		if (r < 0)
			return r;
		leaseset_see_key(m->leases, e->key, e->is_delete, e->lease);
		m->result.n_events++;
		m->result.n_event_bytes += m->key_len + m->value_len;
	}
	m->result.n_revisions++;
	m->result.wall_us = m->frame.wall_us;
	return 0;
}

static int lacks(struct merge *m, int64_t revision)
{
	if (m->damage.code[0] != '\0')
		return problem_set(m->problem, -EBADMSG, m->damage.code, "%s", m->damage.reason);
	return problem_set(m->problem, -EBADMSG, "DAMAGED",
	                   "the record lacks revision %" PRId64 ", which it should have", revision);
}

/* Behind the base. Then the one behind the last is looked for, as what is told before it counts. */
static int add_recorded(struct merge *m)
{
	int64_t last = m->q->base_revision;
	int r = 0;

	while (r == 0 && m->has_frame && m->frame.revision <= MIN(m->q->revision, last + 1)) {
		if (m->frame.revision > last) {
			r = add_revision(m);
			last++;
		}
		if (r == 0)
			r = next_revision(m);
	}
	return r == 0 && last != m->q->revision ? lacks(m, last + 1) : r;
}

/* What is told of this moment, but only later: leases that were asked for when a key on them was
 * seen, and what a member said of its keys. */
static void read_on(struct merge *m)
{
	int64_t until_us = m->frame.wall_us + READ_ON_US;
	struct problem none = {0};

	while (m->has_frame && m->frame.wall_us < until_us &&
	       chainread_next(m->q->record, &none, &m->frame) > 0) {
		if (m->frame.type == RECORD_LEASE)
			leaseset_see_late(m->leases, m->frame.lease, m->frame.ttl_s);
		else
			take_note(m);
	}
}

static int merge_keys(struct merge *m, struct cursor *c)
{
	int r = next_revision(m);

	if (r == 0)
		r = copy_keys(m, c);
	if (r == 0)
		r = add_recorded(m);
	if (r == 0)
		read_on(m);
	m->result.n_unknown_leases = leaseset_count_unknown(m->leases);
	return r;
}

/* --- all buckets --- */

static int copy_all(struct merge *m, struct cursor *c)
{
	struct cursor_entry e;
	int r;

	while ((r = cursor_next(c, &e)) > 0) {
		if (e.is_bucket)
			return problem_set(m->problem, -EBADMSG, "TREE",
			                   "'%s' has a bucket in a bucket, which etcd has not",
			                   m->q->base_name);
		r = add(m, e.key, e.value);
		if (r < 0)
			return r;
	}
	return r < 0 ? blame_base(m, r) : 0;
}

static int merge_bucket(struct merge *m, const struct cursor_entry *bucket)
{
	AUTO(cursor_free) struct cursor *c = NULL;
	int r;

	if (!bucket->is_bucket)
		return problem_set(m->problem, -EBADMSG, "TREE", "'%s' has a key beside its buckets",
		                   m->q->base_name);
	r = bulk_begin(m->bulk, bucket->key);
	if (r < 0)
		return blame_writing(m, r);
	if (bytes_equal_text(bucket->key, LEASES)) {
		r = leaseset_write(m->leases, m->bulk, &m->result.n_leases);
		return r < 0 ? blame_writing(m, r) : 0;
	}
	r = cursor_open_bucket(m->q->base, bucket, &c);
	if (r < 0)
		return blame_base(m, r);
	return bytes_equal_text(bucket->key, MVCC_BUCKET) ? merge_keys(m, c) : copy_all(m, c);
}

static int merge_all(struct merge *m)
{
	AUTO(cursor_free) struct cursor *root = cursor_open_root(m->q->base);
	struct cursor_entry bucket;
	int r = leaseset_load(m->leases, m->q->base);

	if (r < 0)
		return blame_base(m, r);
	while ((r = cursor_next(root, &bucket)) > 0) {
		r = merge_bucket(m, &bucket);
		if (r < 0)
			return r;
	}
	if (r < 0)
		return blame_base(m, r);
	r = bulk_finish(m->bulk, &m->result.n_bytes);
	return r < 0 ? blame_writing(m, r) : 0;
}

int rebuildmerge_run(const struct rebuildmerge_request *q, struct problem *problem,
                     struct rebuildmerge_result *ret_result)
{
	AUTO(bulk_free) struct bulk *bulk = bulk_new(q->fd, bolt_get_meta(q->base)->page_bytes);
	AUTO(leaseset_free) struct leaseset *leases = leaseset_new(LEASESET_KEYS_MAX);
	AUTO(free) struct merge *m = NEW0(struct merge);
	int r;

	m->q = q;
	m->problem = problem;
	m->bulk = bulk;
	m->leases = leases;
	r = merge_all(m);
	free(m->value);
	if (r < 0)
		return r;
	*ret_result = m->result;
	return 0;
}
