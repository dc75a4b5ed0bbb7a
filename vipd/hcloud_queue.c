/* SPDX-License-Identifier: Apache-2.0 */
/* A list of which the first has the turn, once the timer has told it so: nobody is called from
 * within a call of another's. */
#include "vipd/hcloud_queue.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/macro.h"
#include "base/mem.h"

struct hcloud_queue {
	struct ev_loop *ev;
	struct hcloud_turn *first;
	ev_timer grant;
};

static void grant_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct hcloud_turn *first = CONTAINER_OF(w, struct hcloud_queue, grant)->first;

	first->granted(first->userdata);
}

static void grant_first(struct hcloud_queue *q)
{
	ev_timer_stop(q->ev, &q->grant);
	if (q->first == NULL)
		return;
	ev_timer_set(&q->grant, 0., 0.);
	ev_timer_start(q->ev, &q->grant);
}

struct hcloud_queue *hcloud_queue_new(struct ev_loop *ev)
{
	struct hcloud_queue *q = NEW0(struct hcloud_queue);

	q->ev = ev;
	ev_timer_init(&q->grant, grant_cb, 0., 0.);
	return q;
}

void hcloud_queue_free(struct hcloud_queue *q)
{
	if (q == NULL)
		return;
	assert(q->first == NULL);
	free(q);
}

void hcloud_queue_enter(struct hcloud_queue *q, struct hcloud_turn *turn)
{
	struct hcloud_turn **at = &q->first;

	while (*at != NULL) {
		assert(*at != turn);
		at = &(*at)->next;
	}
	turn->next = NULL;
	*at = turn;
	if (q->first == turn)
		grant_first(q);
}

void hcloud_queue_leave(struct hcloud_queue *q, struct hcloud_turn *turn)
{
	bool had_it = q->first == turn;

	for (struct hcloud_turn **at = &q->first; *at != NULL; at = &(*at)->next) {
		if (*at != turn)
			continue;
		*at = turn->next;
		break;
	}
	if (had_it)
		grant_first(q);
}
