/* SPDX-License-Identifier: Apache-2.0 */
/* A timer, and what it says. */
#include "etcdwatch/telling.h"

#include "base/macro.h"

#define EVERY_S 1.

static void timer_cb(struct ev_loop *loop UNUSED, ev_timer *timer, int events UNUSED)
{
	struct telling *t = CONTAINER_OF(timer, struct telling, timer);
	json_t *object = t->tell(t->userdata);

	if (object != NULL)
		control_reply(t->request, object);
}

void telling_start(struct telling *t, struct ev_loop *ev, struct control_request *request,
                   telling_fn tell, void *userdata)
{
	*t = (struct telling){.ev = ev, .request = request, .tell = tell, .userdata = userdata};
	ev_timer_init(&t->timer, timer_cb, EVERY_S, EVERY_S);
	ev_timer_start(ev, &t->timer);
}

void telling_stop(struct telling *t)
{
	if (t->ev != NULL)
		ev_timer_stop(t->ev, &t->timer);
	t->ev = NULL;
}
