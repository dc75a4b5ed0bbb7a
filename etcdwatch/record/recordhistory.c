/* SPDX-License-Identifier: Apache-2.0 */
/* The revisions are in a ring, at their number modulo its size. */
#include "etcdwatch/record/recordhistory.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct revision {
	struct record_sum sum;
	size_t bytes;
};

struct recordhistory {
	int64_t first, last; /* 0: there is none */
	size_t bytes;        /* of these */
	struct revision ring[RECORDHISTORY_REVISIONS_MAX];
	struct recordhistory_key keys[RECORDHISTORY_KEYS_MAX];
	size_t n_keys;
	struct recordhistory_hash hash;
};

struct recordhistory *recordhistory_new(void)
{
	return NEW0(struct recordhistory);
}

static void forget(struct recordhistory *h)
{
	for (size_t i = 0; i < h->n_keys; i++)
		free(h->keys[i].name);
	*h = (struct recordhistory){0};
}

void recordhistory_free(struct recordhistory *h)
{
	if (h == NULL)
		return;
	forget(h);
	free(h);
}

/* --- revisions --- */

static struct revision *at(struct recordhistory *h, int64_t revision)
{
	return &h->ring[revision % RECORDHISTORY_REVISIONS_MAX];
}

static void add_revision(struct recordhistory *h, int64_t revision, struct revision added)
{
	while (h->first > 0 && h->first <= h->last &&
	       (h->last - h->first + 1 == RECORDHISTORY_REVISIONS_MAX ||
	        h->bytes + added.bytes > RECORDHISTORY_BYTES_MAX)) {
		h->bytes -= at(h, h->first)->bytes;
		h->first++;
	}
	if (h->first == 0)
		h->first = revision;
	h->last = revision;
	h->bytes += added.bytes;
	*at(h, revision) = added;
}

int64_t recordhistory_first(const struct recordhistory *h)
{
	return h->first;
}

int64_t recordhistory_last(const struct recordhistory *h)
{
	return h->last;
}

bool recordhistory_fits(const struct recordhistory *h, int64_t revision,
                        const struct record_event *events, size_t n_events, bool has_been_compacted)
{
	struct record_sum seen = record_event_sum(events, n_events);
	const struct revision *recorded = &h->ring[revision % RECORDHISTORY_REVISIONS_MAX];

	if (has_been_compacted)
		return record_sum_fits(recorded->sum, seen);
	return recorded->sum.puts == seen.puts && recorded->sum.deletes == seen.deletes;
}

/* --- keys --- */

static void drop_key(struct recordhistory *h, size_t i)
{
	free(h->keys[i].name);
	memmove(&h->keys[i], &h->keys[i + 1], (h->n_keys - i - 1) * sizeof(h->keys[0]));
	h->n_keys--;
}

static void drop_written(struct recordhistory *h, struct bytes name)
{
	for (size_t i = 0; i < h->n_keys; i++) {
		if (h->keys[i].name_len == name.len && memcmp(h->keys[i].name, name.data, name.len) == 0) {
			drop_key(h, i);
			return;
		}
	}
}

/* The one whose neighbours are closest to each other, measured by its age. The oldest stays. */
static size_t most_dispensable(const struct recordhistory *h, int64_t revision)
{
	double least = 0;
	size_t best = 0;

	for (size_t i = 1; i < h->n_keys; i++) {
		int64_t next = i + 1 < h->n_keys ? h->keys[i + 1].revision : revision;
		double gap =
		    (double) (next - h->keys[i - 1].revision) / (double) (revision - h->keys[i].revision);

		if (best == 0 || gap < least) {
			best = i;
			least = gap;
		}
	}
	return best;
}

static void add_key(struct recordhistory *h, int64_t revision, const struct record_event *event,
                    uint32_t sum)
{
	if (event->is_delete || event->key.len > RECORDHISTORY_KEY_BYTES_MAX ||
	    event->value.len > RECORDHISTORY_VALUE_BYTES_MAX)
		return;
	if (h->n_keys == RECORDHISTORY_KEYS_MAX)
		drop_key(h, most_dispensable(h, revision));
	h->keys[h->n_keys++] = (struct recordhistory_key){
	    .name = xmemdup(event->key.data, event->key.len),
	    .name_len = event->key.len,
	    .revision = revision,
	    .sum = sum,
	};
}

size_t recordhistory_keys(const struct recordhistory *h, const struct recordhistory_key **ret_keys)
{
	*ret_keys = h->keys;
	return h->n_keys;
}

/* --- both --- */

void recordhistory_add(struct recordhistory *h, int64_t revision, const struct record_event *events,
                       size_t n_events)
{
	const struct record_event *last = &events[n_events - 1];
	struct revision added = {.sum = record_event_sum(events, n_events)};
	struct record_sum sum = n_events == 1 ? added.sum : record_event_sum(last, 1);

	if (h->last > 0 && revision != h->last + 1)
		forget(h);
	for (size_t i = 0; i < n_events; i++) {
		added.bytes += events[i].key.len + events[i].value.len;
		drop_written(h, events[i].key);
	}
	add_revision(h, revision, added);
	/* No later change of the same revision can delete it. */
	add_key(h, revision, last, sum.puts);
}

void recordhistory_set_hash(struct recordhistory *h, const struct recordhistory_hash *hash)
{
	h->hash = *hash;
}

struct recordhistory_hash recordhistory_hash(const struct recordhistory *h)
{
	return h->hash;
}
