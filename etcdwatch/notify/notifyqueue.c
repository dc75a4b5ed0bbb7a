/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An array of pointers, which is short enough to be moved up. The one that is under way stays the
 * first; if a later one takes its place meanwhile that is noted, because whether it arrived is not
 * known yet.
 */
#include "etcdwatch/notify/notifyqueue.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"

struct notifyqueue {
	struct notifyqueue_item *items[NOTIFYQUEUE_MAX];
	size_t n;
	bool is_taken; /* the first */
	bool is_stale; /* and a later one has taken its place */
	struct notifyqueue_counts counts;
};

struct notifyqueue *notifyqueue_new(void)
{
	return NEW0(struct notifyqueue);
}

static void item_free(struct notifyqueue_item *item)
{
	free(item->body);
	free(item->about);
	free(item);
}

void notifyqueue_free(struct notifyqueue *q)
{
	if (q == NULL)
		return;
	for (size_t i = 0; i < q->n; i++)
		item_free(q->items[i]);
	free(q);
}

static void remove_at(struct notifyqueue *q, size_t at)
{
	item_free(q->items[at]);
	q->n--;
	memmove(&q->items[at], &q->items[at + 1], (q->n - at) * sizeof(q->items[0]));
}

/* Since when there is something about it to tell: what takes the place of another has waited with
 * it. */
static int64_t supersede(struct notifyqueue *q, const char *about, int64_t now_us)
{
	int64_t since_us = now_us;

	for (size_t i = 0; i < q->n; i++) {
		if (strcmp(q->items[i]->about, about) != 0)
			continue;
		if (i == 0 && q->is_taken) {
			q->is_stale = true;
			continue;
		}
		since_us = q->items[i]->since_us;
		remove_at(q, i);
		q->counts.superseded++;
		break;
	}
	return since_us;
}

void notifyqueue_add(struct notifyqueue *q, const char *id, const char *about, const char *body,
                     int64_t now_us)
{
	struct notifyqueue_item *added;
	int64_t since_us = supersede(q, about, now_us);

	if (q->n == NOTIFYQUEUE_MAX) {
		remove_at(q, q->is_taken ? 1 : 0);
		q->counts.overflowed++;
	}
	added = NEW0(struct notifyqueue_item);
	(void) snprintf(added->id, sizeof(added->id), "%s", id);
	added->body = xstrdup(body);
	added->about = xstrdup(about);
	added->added_us = now_us;
	added->since_us = since_us;
	q->items[q->n++] = added;
}

const struct notifyqueue_item *notifyqueue_take(struct notifyqueue *q)
{
	assert(!q->is_taken);
	if (q->n == 0)
		return NULL;
	q->is_taken = true;
	q->is_stale = false;
	return q->items[0];
}

void notifyqueue_drop(struct notifyqueue *q)
{
	assert(q->is_taken);
	q->is_taken = false;
	remove_at(q, 0);
}

/* The first has not arrived, and the one in its place has waited for as long. */
static void bequeath(struct notifyqueue *q)
{
	for (size_t i = 1; i < q->n; i++) {
		if (strcmp(q->items[i]->about, q->items[0]->about) == 0)
			q->items[i]->since_us = q->items[0]->since_us;
	}
}

void notifyqueue_put_back(struct notifyqueue *q)
{
	struct notifyqueue_item *item = q->items[0];

	assert(q->is_taken);
	q->is_taken = false;
	if (q->is_stale) {
		bequeath(q);
		remove_at(q, 0);
		q->counts.superseded++;
	} else if (item->about[0] != '\0') {
		memmove(&q->items[0], &q->items[1], (q->n - 1) * sizeof(q->items[0]));
		q->items[q->n - 1] = item;
	}
}

size_t notifyqueue_length(const struct notifyqueue *q)
{
	return q->n;
}

int64_t notifyqueue_oldest_us(const struct notifyqueue *q)
{
	int64_t oldest_us = INT64_MAX;

	for (size_t i = 0; i < q->n; i++)
		oldest_us = MIN(oldest_us, q->items[i]->since_us);
	return oldest_us;
}

struct notifyqueue_counts notifyqueue_counts(const struct notifyqueue *q)
{
	return q->counts;
}
