/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The picked ones are those with the least hashes. Entries come in the order of revisions: a key
 * that belongs to them does so from its first entry on, or is pushed out by others and never comes
 * back, so its newest entry is the last that came by.
 */
#include "etcdwatch/worker/drill/sample.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"

struct slot {
	struct sample_key key; /* its bytes are ours */
	uint64_t hash;
};

struct sample {
	struct slot picked[SAMPLE_PICKED_MAX];
	size_t n_picked;
	struct slot first, last; /* without bytes: there is none */
	const struct sample_key *all[SAMPLE_KEYS_MAX];
	size_t n;
	bool has_empty_key;
};

static void forget(struct slot *slot)
{
	free((void *) (uintptr_t) slot->key.key.data);
	*slot = (struct slot){.hash = 0};
}

static void remember(struct slot *slot, const struct mvcc_entry *e, uint64_t hash)
{
	struct bytes key = {.data = xmemdup(e->kv.key.data, e->kv.key.len), .len = e->kv.key.len};

	forget(slot);
	*slot = (struct slot){.key = {key, e->rev, e->is_tombstone}, .hash = hash};
}

static void renew(struct slot *slot, const struct mvcc_entry *e)
{
	slot->key.rev = e->rev;
	slot->key.is_deleted = e->is_tombstone;
}

/* `order`: whether a key is to come before (-1) or behind (1) the one that is there. */
static void consider_end(struct slot *slot, const struct mvcc_entry *e, int order)
{
	int found = slot->key.key.data != NULL ? bytes_compare(e->kv.key, slot->key.key) : order;

	if (found == 0)
		renew(slot, e);
	else if ((found < 0) == (order < 0))
		remember(slot, e, 0);
}

static struct slot *find_worst(struct sample *s)
{
	struct slot *worst = &s->picked[0];

	for (size_t i = 1; i < s->n_picked; i++) {
		if (s->picked[i].hash > worst->hash)
			worst = &s->picked[i];
	}
	return worst;
}

static void consider_picking(struct sample *s, const struct mvcc_entry *e, uint64_t hash)
{
	struct slot *worst = find_worst(s);

	if (s->n_picked == SAMPLE_PICKED_MAX && hash > worst->hash)
		return;
	for (size_t i = 0; i < s->n_picked; i++) {
		if (s->picked[i].hash == hash && bytes_compare(s->picked[i].key.key, e->kv.key) == 0) {
			renew(&s->picked[i], e);
			return;
		}
	}
	if (s->n_picked < SAMPLE_PICKED_MAX)
		remember(&s->picked[s->n_picked++], e, hash);
	else if (hash < worst->hash)
		remember(worst, e, hash);
}

static void consider(struct sample *s, const struct mvcc_entry *e, const struct siphash *hash)
{
	if (e->kv.key.len == 0) {
		s->has_empty_key = true;
		return;
	}
	consider_end(&s->first, e, -1);
	consider_end(&s->last, e, 1);
	consider_picking(s, e, siphash_of(hash, e->kv.key));
}

static void add(struct sample *s, const struct slot *slot)
{
	if (slot->key.key.data == NULL)
		return;
	for (size_t i = 0; i < s->n; i++) {
		if (bytes_compare(s->all[i]->key, slot->key.key) == 0)
			return;
	}
	s->all[s->n++] = &slot->key;
}

int sample_draw(struct bolt *db, int64_t revision, const struct siphash *hash,
                struct sample **ret_sample)
{
	AUTO(sample_free) struct sample *s = NEW0(struct sample);
	AUTO(cursor_free) struct cursor *c = NULL;
	struct cursor_entry raw;
	struct mvcc_entry e;
	int r;

	r = cursor_open_named(db, MVCC_BUCKET, &c);
	if (r < 0)
		return r;
	while ((r = cursor_next(c, &raw)) > 0) {
		r = mvcc_read(db, &raw, &e);
		if (r < 0)
			return r;
		if (e.rev.main > revision)
			break;
		consider(s, &e, hash);
	}
	if (r < 0)
		return r;
	add(s, &s->first);
	for (size_t i = 0; i < s->n_picked; i++)
		add(s, &s->picked[i]);
	add(s, &s->last);
	*ret_sample = TAKE_PTR(s);
	return 0;
}

void sample_free(struct sample *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->n_picked; i++)
		forget(&s->picked[i]);
	forget(&s->first);
	forget(&s->last);
	free(s);
}

size_t sample_count(const struct sample *s)
{
	return s->n;
}

const struct sample_key *sample_at(const struct sample *s, size_t i)
{
	return s->all[i];
}

bool sample_has_empty_key(const struct sample *s)
{
	return s->has_empty_key;
}

int sample_read(struct bolt *db, struct cursor *cursor, const struct sample_key *key,
                struct mvcc_kv *ret_kv)
{
	uint8_t buf[MVCC_REV_BYTES];
	struct cursor_entry raw;
	struct mvcc_entry e;
	int r;

	r = cursor_seek(cursor, mvcc_format_rev(key->rev, buf));
	if (r >= 0)
		r = cursor_next(cursor, &raw);
	if (r >= 0)
		r = r == 0 ? bolt_fail(db, BOLT_NO_PAGE, "an entry is gone that was there before")
		           : mvcc_read(db, &raw, &e);
	if (r < 0)
		return r;
	*ret_kv = e.kv;
	return 0;
}
