/* SPDX-License-Identifier: Apache-2.0 */
/* Each look is a worker of its own; what cannot be started is tried no more than that. */
#include "etcdwatch/looks.h"

#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/target/look.h"
#include "etcdwatch/target/storing.h"

/* Somebody sits there and waits. */
#define LIMIT_US (25 * US_PER_S)

struct one {
	struct looks *looks;
	struct look *look;
	size_t at; /* in the items */
};

struct looks {
	struct ev_loop *ev;
	struct looks_item *items;
	struct one *ones;
	size_t n, n_left;
	ev_timer over; /* when none could be started */
	looks_done_fn done;
	void *userdata;
};

void looks_free(struct looks *l)
{
	if (l == NULL)
		return;
	ev_timer_stop(l->ev, &l->over);
	for (size_t i = 0; i < l->n; i++) {
		look_free(l->ones[i].look);
		inventory_free(l->items[i].there);
		free(l->items[i].reason);
	}
	free(l->ones);
	free(l->items);
	free(l);
}

/* Calls out: last act. */
static void finish(struct looks *l)
{
	l->done(l->items, l->n, l->userdata);
	looks_free(l);
}

static void over_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	finish(CONTAINER_OF(w, struct looks, over));
}

static void looked_cb(struct inventory *inventory, const char *code UNUSED, const char *reason,
                      void *userdata)
{
	struct one *one = userdata;
	struct looks *l = one->looks;

	one->look = NULL;
	l->items[one->at].there = inventory;
	l->items[one->at].reason = inventory == NULL ? xstrdup(reason) : NULL;
	if (--l->n_left == 0)
		finish(l);
}

static void begin(struct looks *l, size_t at)
{
	struct looks_item *item = &l->items[at];
	const struct target_options *t = target_options(item->target);
	const struct look_options options = {
	    .ev = t->ev,
	    .worker = t->worker,
	    .target = t->target,
	    .job = t->job->name,
	    .limit_us = LIMIT_US,
	};
	int r;

	l->ones[at] = (struct one){.looks = l, .at = at};
	r = look_start(&options, looked_cb, &l->ones[at], &l->ones[at].look);
	if (r == 0)
		l->n_left++;
	else
		item->reason = xasprintf("cannot start the worker: %s", strerror(-r));
}

struct looks *looks_start(struct job *const *jobs, size_t n_jobs, looks_done_fn done,
                          void *userdata)
{
	struct looks *l = NEW0(struct looks);

	l->done = done;
	l->userdata = userdata;
	ev_init(&l->over, over_cb);
	for (size_t i = 0; i < n_jobs; i++) {
		struct storing *storing = job_storing(jobs[i]);

		l->ev = job_env(jobs[i])->ev;
		l->items = xreallocarray(l->items, l->n + storing_n(storing) + 1, sizeof(l->items[0]));
		for (size_t k = 0; k < storing_n(storing); k++)
			l->items[l->n++] =
			    (struct looks_item){.job = jobs[i], .target = storing_target(storing, k)};
	}
	if (l->n == 0) {
		free(l->items);
		free(l);
		return NULL;
	}
	l->ones = xcalloc(l->n, sizeof(l->ones[0]));
	for (size_t i = 0; i < l->n; i++)
		begin(l, i);
	if (l->n_left == 0)
		ev_timer_start(l->ev, &l->over);
	return l;
}
