/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HashKV and the count of living keys, against a plain account of etcd's definition: random
 * histories, compacted in all ways (not at all, whole, under way, several times), asked at every
 * revision, with room for few keys and for many. That the definition is etcd's own is what the
 * story etcd_snapshot_file tells.
 */
#include "bolt/hashkv.h"

#include <errno.h>
#include <stdio.h>

#include "bolt/crc32c.h"
#include "bolt/keyset.h"
#include "tests/unit/boltkv.h"
#include "tests/unit/check.h"
#include "tests/unit/hashkvnow.h"

#define N_KEYS 12
#define N_CHANGES_MAX 240
#define N_HISTORIES 150

/* --- a store, as etcd's --- */

struct change {
	struct boltkv kv;
	unsigned key;
	bool removed; /* by a compaction */
};

struct store {
	struct change changes[N_CHANGES_MAX];
	size_t n;
	int64_t current, finished, scheduled;
};

static void name_key(unsigned key, char name[static 16])
{
	(void) snprintf(name, 16, "/registry/%u", key);
}

/* The last change of a key up to a revision, removed or not; -1: none. */
static int newest(const struct store *s, unsigned key, int64_t revision)
{
	for (size_t i = s->n; i-- > 0;) {
		if (s->changes[i].key == key && s->changes[i].kv.main <= revision)
			return (int) i;
	}
	return -1;
}

static bool is_alive(const struct store *s, unsigned key, int64_t revision)
{
	int i = newest(s, key, revision);

	return i >= 0 && !s->changes[i].kv.is_tombstone;
}

static void change(struct store *s, unsigned key, int64_t main, int64_t sub)
{
	struct change *c = &s->changes[s->n];
	int before = newest(s, key, main);
	bool alive = before >= 0 && !s->changes[before].kv.is_tombstone;
	char name[16], value[16];

	name_key(key, name);
	(void) snprintf(value, sizeof(value), "%d", rand());
	*c = (struct change){.key = key};
	if (alive && rand() % 3 == 0)
		c->kv = boltkv_delete(main, sub, name);
	else
		c->kv = boltkv_put(main, sub, name, alive ? 2 : main, alive ? 2 : 1, value);
	s->n++;
}

/* One to three keys change in each revision. */
static void grow(struct store *s, size_t n)
{
	while (n > 0 && s->n + 3 <= N_CHANGES_MAX) {
		unsigned first = (unsigned) rand(), n_keys = 1 + (unsigned) rand() % 3;

		s->current++;
		for (unsigned k = 0; k < n_keys; k++)
			change(s, (first + k * 5) % N_KEYS, s->current, k);
		n--;
	}
}

/* A compaction at this revision that has come to `until`, as 3.4.34 and later do it. */
static void compact(struct store *s, int64_t at, int64_t until)
{
	s->scheduled = at;
	for (size_t i = 0; i < s->n; i++) {
		struct change *c = &s->changes[i];
		bool stays = newest(s, c->key, at) == (int) i && (!c->kv.is_tombstone || c->kv.main == at);

		if (c->kv.main <= MIN(at, until) && !stays)
			c->removed = true;
	}
	if (until >= at)
		s->finished = at;
}

/* --- etcd's definition --- */

static uint32_t reference(const struct store *s, int64_t revision, uint64_t *ret_n_live)
{
	uint32_t crc = crc32c_update_by(CRC32C_TABLES, 0, "key", 3);
	int64_t compacted = MAX(s->finished, s->scheduled);

	*ret_n_live = 0;
	for (unsigned key = 0; key < N_KEYS; key++)
		*ret_n_live += is_alive(s, key, revision);
	for (size_t i = 0; i < s->n; i++) {
		const struct change *c = &s->changes[i];
		bool kept = newest(s, c->key, revision) == (int) i && !c->kv.is_tombstone;

		if (c->removed || c->kv.main > revision)
			continue;
		if (c->kv.main <= compacted && *ret_n_live > 0 && !kept)
			continue;
		if (c->kv.main == compacted && c->kv.is_tombstone)
			continue;
		crc = crc32c_update_by(CRC32C_TABLES, crc, c->kv.key, c->kv.is_tombstone ? 18 : 17);
		crc = crc32c_update_by(CRC32C_TABLES, crc, c->kv.value, c->kv.value_len);
	}
	return crc;
}

/* --- against the file --- */

static struct boltfile write_store(const struct store *s)
{
	static struct boltkv kvs[N_CHANGES_MAX];
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (!s->changes[i].removed)
			kvs[n++] = s->changes[i].kv;
	}
	return boltkv_file(kvs, n, s->finished, s->scheduled, 7);
}

/* As hashkv_compute(), with room for so many keys. */
static int compute(struct bolt *db, int64_t revision, size_t max_keys, struct hashkv_result *ret)
{
	AUTO(hashkv_free) struct hashkv *h = NULL;
	AUTO(cursor_free) struct cursor *c = NULL;
	struct mvcc_reach reach;
	struct cursor_entry raw;
	struct mvcc_entry entry;
	int r;

	r = mvcc_read_reach(db, &reach);
	if (r >= 0)
		r = hashkv_new(db, &reach, revision, max_keys, &h);
	if (r >= 0)
		r = cursor_open_named(db, MVCC_BUCKET, &c);
	if (r < 0)
		return r;
	for (r = cursor_next(c, &raw); r > 0; r = cursor_next(c, &raw)) {
		r = mvcc_read(db, &raw, &entry);
		if (r < 0)
			break;
		hashkv_add(h, &entry);
	}
	if (r == 0)
		hashkv_finish(h, ret);
	return r;
}

static bool check_revision(const struct store *s, struct bolt *db, int64_t revision)
{
	static const size_t rooms[] = {2, 5, HASHKV_KEYS_MAX};
	struct hashkv_result result = {0};
	uint64_t n_live;
	uint32_t want = reference(s, revision, &n_live);

	for (size_t i = 0; i < ARRAY_SIZE(rooms); i++) {
		if (!CHECK_EQ_INT(compute(db, revision, rooms[i], &result), 0) ||
		    !CHECK_EQ_INT(result.hash, want) ||
		    !CHECK_EQ_INT((long long) result.n_live, (long long) n_live))
			return false;
	}
	return CHECK_EQ_INT(hashkv_compute(db, revision, &result), 0) &&
	       CHECK_EQ_INT(result.hash, want) && CHECK_EQ_INT(result.revision, revision) &&
	       CHECK_EQ_INT(result.compact_revision, MAX(s->finished, s->scheduled));
}

/* As another store has it that went on to be compacted, whole or in part, while this file was made.
 */
static bool check_compacted_since(const struct store *s, struct bolt *db)
{
	int64_t before = MAX(s->finished, s->scheduled);
	struct hashkv_result result;

	for (int64_t at = MAX(before + 1, 1); at <= s->current; at++) {
		static struct store other;
		int64_t revision = at + rand() % (s->current - at + 1);
		uint64_t n_live;

		(void) reference(s, revision, &n_live);
		if (n_live == 0)
			continue;
		other = *s;
		compact(&other, at, rand() % 2 == 0 ? at : at / 2);
		if (!CHECK_EQ_INT(hashkv_compute_compacted(db, revision, at, &result), 0) ||
		    !CHECK_EQ_INT(result.hash, reference(&other, revision, &n_live)) ||
		    !CHECK_EQ_INT(result.compact_revision, at))
			return false;
	}
	return before < 1 ||
	       CHECK_EQ_INT(hashkv_compute_compacted(db, s->current, before - 1, &result), -ERANGE);
}

static bool check_store(const struct store *s)
{
	struct boltfile f = write_store(s);
	struct bolt_fault fault = {0};
	struct bolt *db = NULL;
	struct hashkv_result now, then;
	int fd = boltfile_fd(&f);
	int64_t first = MAX(MAX(s->finished, s->scheduled), 1);
	bool ok = CHECK_EQ_INT(bolt_open(fd, f.n_pages * 4096, &fault, &db), 0);

	for (int64_t revision = first; ok && revision <= s->current; revision++)
		ok = check_revision(s, db, revision);
	ok = ok && CHECK_EQ_INT(hashkv_compute(db, 0, &now), 0) &&
	     CHECK_EQ_INT(hashkv_compute(db, s->current, &then), 0) &&
	     CHECK_EQ_INT(now.hash, then.hash) && CHECK_EQ_INT(now.revision, s->current) &&
	     check_compacted_since(s, db);
	CHECK_EQ_INT(hashkv_compute(db, s->current + 1, &now), -ERANGE);
	if (first > 1)
		CHECK_EQ_INT(hashkv_compute(db, first - 1, &now), -ERANGE);
	bolt_close(db);
	(void) close(fd);
	boltfile_free(&f);
	return ok;
}

static void test_histories(void)
{
	static struct store s;

	for (unsigned seed = 0; seed < N_HISTORIES; seed++) {
		srand(seed);
		s = (struct store){.current = 1, .finished = -1, .scheduled = -1};
		grow(&s, 10 + (size_t) rand() % 20);
		if (seed % 5 != 0) {
			int64_t at = 2 + rand() % s.current;

			compact(&s, MIN(at, s.current), seed % 5 == 1 ? at / 2 : s.current);
		}
		if (seed % 5 >= 3) {
			grow(&s, (size_t) rand() % 20);
			if (s.scheduled < s.current)
				compact(&s, s.scheduled + 1 + rand() % (s.current - s.scheduled),
				        seed % 5 == 3 ? rand() % s.current : s.current);
		}
		grow(&s, (size_t) rand() % 10);
		if (!check_store(&s)) {
			(void) fprintf(stderr, "in history %u\n", seed);
			return;
		}
	}
}

/* With no key alive, what a compaction has left is hashed, but for a deletion at its revision. */
static void test_nothing_alive(void)
{
	static struct store s;

	s = (struct store){.current = 1, .finished = -1, .scheduled = -1};
	s.changes[0] = (struct change){.kv = boltkv_put(2, 0, "/registry/0", 2, 1, "x")};
	s.changes[1] = (struct change){.key = 1, .kv = boltkv_put(3, 0, "/registry/1", 3, 1, "y")};
	s.changes[2] = (struct change){.key = 1, .kv = boltkv_delete(4, 0, "/registry/1")};
	s.changes[3] = (struct change){.kv = boltkv_delete(5, 0, "/registry/0")};
	s.n = 4;
	s.current = 5;
	check_store(&s);
	compact(&s, 3, 3);
	check_store(&s);
	compact(&s, 4, 4);
	check_store(&s);
	compact(&s, 5, 4);
	check_store(&s);
	compact(&s, 5, 5);
	check_store(&s);
}

/* A compaction may leave nothing at all; etcd goes on from its revision. */
static void test_empty(void)
{
	static struct store s;

	s = (struct store){.current = 1, .finished = -1, .scheduled = -1};
	check_store(&s);
	s.current = s.finished = s.scheduled = 9;
	check_store(&s);
}

/* The entry that raises the revision counts as a key without a name, as in `snapshot status`. */
static void test_bump(void)
{
	const struct boltkv kvs[] = {boltkv_put(2, 0, "a", 2, 1, "x"), boltkv_bump(1000)};
	struct bolt_fault fault = {0};
	struct bolt *db = NULL;
	struct hashkv_result result = {0};
	struct boltfile f;
	int fd;

	for (int marked = 0; marked < 2; marked++) {
		f = boltkv_file(kvs, 2, -1, marked ? 1000 : -1, 7);
		fd = boltfile_fd(&f);
		CHECK_EQ_INT(bolt_open(fd, f.n_pages * 4096, &fault, &db), 0);
		CHECK_EQ_INT(hashkv_compute(db, 0, &result), 0);
		CHECK_EQ_INT(result.revision, 1000);
		CHECK_EQ_INT(result.compact_revision, marked ? 1000 : -1);
		CHECK_EQ_INT((long long) result.n_live, 2);
		bolt_close(db);
		(void) close(fd);
		boltfile_free(&f);
	}
}

static void test_keyset(void)
{
	AUTO(keyset_free) struct keyset *set = keyset_new(50000);
	uint64_t number = 0, hash;
	char key[16];
	bool ok = true;

	for (unsigned i = 0; i < 50000; i++) {
		(void) snprintf(key, sizeof(key), "%u", i);
		ok &= keyset_put(set, keyset_hash(set, bytes_of_text(key)), i);
	}
	CHECK(ok);
	for (unsigned i = 0; i < 50000; i++) {
		(void) snprintf(key, sizeof(key), "%u", i);
		ok &= keyset_find(set, keyset_hash(set, bytes_of_text(key)), &number) && number == i;
	}
	CHECK(ok);
	hash = keyset_hash(set, bytes_of_text("50000"));
	CHECK(!keyset_find(set, hash, &number));
	CHECK(!keyset_put(set, hash, 1));
	CHECK(keyset_put(set, keyset_hash(set, bytes_of_text("7")), 77));
	CHECK(keyset_find(set, keyset_hash(set, bytes_of_text("7")), &number));
	CHECK_EQ_INT((long long) number, 77);
	keyset_clear(set);
	CHECK(!keyset_find(set, keyset_hash(set, bytes_of_text("7")), &number));
	CHECK(keyset_put(set, hash, 1));
}

int main(void)
{
	test_histories();
	test_nothing_alive();
	test_empty();
	test_bump();
	test_keyset();
	return check_result();
}
