/* SPDX-License-Identifier: Apache-2.0 */
/* A sorted array, looked through once a second for those whose time has come, from where it ended
 * the last time: each has its turn, however many there are. */
#include "etcdwatch/record/recordleases.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

#define TICK_US US_PER_S
#define ASKED_MAX 16            /* at a time, and so at most in a second */
#define AGAIN_US (5 * US_PER_S) /* nobody could say */
/* A lease that is kept alive is not asked for more often. */
#define PAUSE_MIN_US (30 * US_PER_S)

struct lease {
	int64_t id;
	int64_t asked_us, due_us;
	bool is_seen_since; /* a key was put on it since it was asked for: what is answered may be of
	                       before */
	int64_t told_ttl_s; /* 0: nothing was */
};

struct asked {
	struct recordleases *leases;
	struct etcd_call *call; /* NULL: this one is free */
	int64_t id;
};

struct recordleases {
	struct ev_loop *ev;
	struct etcd *etcd;
	recordleases_fn fn;
	void *userdata;
	ev_timer tick;
	struct lease *items; /* by id */
	size_t n, size;
	int64_t next_id; /* the one that the next look begins with */
	struct asked asked[ASKED_MAX];
};

/* Where it is, or would be. */
static size_t place_of(const struct recordleases *l, int64_t id)
{
	size_t low = 0, high = l->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (l->items[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct lease *find(struct recordleases *l, int64_t id)
{
	size_t at = place_of(l, id);

	return at < l->n && l->items[at].id == id ? &l->items[at] : NULL;
}

static void drop(struct recordleases *l, struct lease *lease)
{
	size_t at = (size_t) (lease - l->items);

	l->n--;
	memmove(lease, lease + 1, (l->n - at) * sizeof(*lease));
}

void recordleases_see(struct recordleases *l, int64_t id)
{
	size_t at = place_of(l, id);

	if (at < l->n && l->items[at].id == id) {
		/* It may be another one, of the same id. */
		l->items[at].is_seen_since = true;
		l->items[at].due_us = MIN(l->items[at].due_us, l->items[at].asked_us + PAUSE_MIN_US);
		return;
	}
	if (l->n == RECORDLEASES_MAX)
		return;
	if (l->n == l->size) {
		l->size = MAX(2 * l->size, (size_t) 64);
		l->items = xreallocarray(l->items, l->size, sizeof(*l->items));
	}
	memmove(l->items + at + 1, l->items + at, (l->n - at) * sizeof(*l->items));
	l->items[at] = (struct lease){.id = id};
	l->n++;
}

/* Calls out: last act. */
static void answered(const struct etcd_outcome *outcome, const struct etcd_lease_result *result,
                     void *userdata)
{
	struct asked *asked = userdata;
	struct recordleases *l = asked->leases;
	int64_t id = asked->id, now_us = mono_now_us();
	struct lease *lease = find(l, id);
	bool is_gone = outcome->r == -ENOENT || (outcome->r == 0 && result->ttl_s <= 0);

	asked->call = NULL;
	if (lease == NULL)
		return;
	if (is_gone && lease->is_seen_since) {
		/* One was gone, and another was granted by then. */
		lease->due_us = now_us;
		return;
	}
	if (is_gone) {
		drop(l, lease);
		l->fn(id, 0, l->userdata);
		return;
	}
	if (outcome->r < 0) {
		lease->due_us = now_us + AGAIN_US;
		return;
	}
	lease->due_us = now_us + MAX(PAUSE_MIN_US, result->ttl_s * US_PER_S + AGAIN_US);
	if (lease->is_seen_since)
		lease->due_us = MIN(lease->due_us, lease->asked_us + PAUSE_MIN_US);
	if (lease->told_ttl_s == result->granted_ttl_s)
		return;
	lease->told_ttl_s = result->granted_ttl_s;
	l->fn(id, result->granted_ttl_s, l->userdata);
}

static struct asked *free_asked(struct recordleases *l)
{
	for (size_t i = 0; i < ASKED_MAX; i++) {
		if (l->asked[i].call == NULL)
			return &l->asked[i];
	}
	return NULL;
}

static void tick_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct recordleases *l = CONTAINER_OF(w, struct recordleases, tick);
	int64_t now_us = mono_now_us();
	size_t from = place_of(l, l->next_id);

	for (size_t i = 0; i < l->n; i++) {
		struct lease *lease = &l->items[(from + i) % l->n];
		struct asked *asked;

		if (lease->due_us > now_us)
			continue;
		asked = free_asked(l);
		if (asked == NULL) {
			l->next_id = lease->id;
			return;
		}
		lease->asked_us = now_us;
		lease->is_seen_since = false;
		lease->due_us = INT64_MAX; /* one at a time: an answer to the one before would be old */
		asked->id = lease->id;
		if (etcd_lease_ttl(l->etcd, asked->id, answered, asked, &asked->call) < 0) {
			asked->call = NULL;
			lease->due_us = now_us + AGAIN_US;
		}
	}
}

void recordleases_forget(struct recordleases *l)
{
	for (size_t i = 0; i < ASKED_MAX; i++)
		etcd_call_cancel(TAKE_PTR(l->asked[i].call));
	l->n = 0;
}

size_t recordleases_count(const struct recordleases *l)
{
	return l->n;
}

struct recordleases *recordleases_new(struct ev_loop *ev, struct etcd *etcd, recordleases_fn fn,
                                      void *userdata)
{
	struct recordleases *l = NEW0(struct recordleases);

	l->ev = ev;
	l->etcd = etcd;
	l->fn = fn;
	l->userdata = userdata;
	for (size_t i = 0; i < ASKED_MAX; i++)
		l->asked[i].leases = l;
	ev_timer_init(&l->tick, tick_cb, mono_to_ev(TICK_US), mono_to_ev(TICK_US));
	ev_timer_start(ev, &l->tick);
	return l;
}

void recordleases_free(struct recordleases *l)
{
	if (l == NULL)
		return;
	ev_timer_stop(l->ev, &l->tick);
	recordleases_forget(l);
	free(l->items);
	free(l);
}
