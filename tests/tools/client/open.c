/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A new connection for each question, at a fixed rate that does not depend on the answers (an open
 * loop): a server that stalls is not asked less often for it. A question's time counts from when it
 * was due.
 */

#include <stdlib.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "client.h"

struct opener {
	struct client *client;
	struct ev_timer next;
	struct client_stop stop;
	int64_t began_us;
	uint64_t asked;
	uint64_t pending;
	bool stopping;
};

struct call {
	struct opener *opener;
	uint64_t id;
	int64_t due_us;
	struct link *link;
	struct answer answer;
	struct ev_timer timeout;
};

static void call_end(struct call *call, enum outcome outcome, const char *why)
{
	struct opener *o = call->opener;
	int64_t took_us = mono_now_us() - call->due_us;

	tally_add(&o->client->tally, outcome, call->id, took_us, why);
	if (outcome == OUTCOME_OK && o->client->tally.counts[OUTCOME_OK] == 1)
		tally_event("begun", call->id, took_us, "");
	ev_timer_stop(o->client->ev, &call->timeout);
	link_free(call->link);
	answer_clear(&call->answer);
	free(call);
	o->pending--;
	if (o->stopping && o->pending == 0)
		ev_break(o->client->ev, EVBREAK_ALL);
}

static void call_opened(void *userdata)
{
	struct call *call = userdata;
	AUTO(free) char *text = NULL;
	size_t len;

	text = question_text(&call->opener->client->question, call->id, &len);
	link_send(call->link, text, len);
}

static void call_data(const void *bytes, size_t len, void *userdata)
{
	struct call *call = userdata;
	const struct question *q = &call->opener->client->question;
	enum answer_state state = answer_add(&call->answer, q, call->id, bytes, len);

	if (state == ANSWER_RIGHT) {
		call_end(call, OUTCOME_OK, "");
	} else if (state == ANSWER_WRONG) {
		char why[sizeof(call->answer.why)];

		(void) snprintf(why, sizeof(why), "%s", call->answer.why);
		call_end(call, OUTCOME_WRONG, why);
	}
}

static void call_ended(enum link_end end, const char *why, void *userdata)
{
	struct call *call = userdata;

	call_end(call, outcome_of_end(end, link_raw_received(call->link) > 0), why);
}

static void call_timeout_cb(struct ev_loop *ev UNUSED, struct ev_timer *w, int revents UNUSED)
{
	struct call *call = CONTAINER_OF(w, struct call, timeout);
	bool begun = link_raw_received(call->link) > 0;

	call_end(call, begun ? OUTCOME_STALLED : OUTCOME_TIMEOUT, "");
}

static const struct link_events call_events = {
    .opened = call_opened,
    .data = call_data,
    .ended = call_ended,
};

static void call_start(struct opener *o, int64_t due_us)
{
	struct client *client = o->client;
	struct call *call = NEW0(struct call);

	call->opener = o;
	call->id = o->asked++;
	call->due_us = due_us;
	o->pending++;
	call->link = link_connect(client->ev, client_target(client, call->id), client->tls,
	                          client->name, &call_events, call);
	ev_timer_init(&call->timeout, call_timeout_cb, mono_to_ev(client->timeout_us), 0.);
	ev_timer_start(client->ev, &call->timeout);
}

static int64_t due_us(const struct opener *o)
{
	return o->began_us + (int64_t) o->asked * US_PER_S / o->client->rate;
}

static void next_cb(struct ev_loop *ev, struct ev_timer *w, int revents UNUSED)
{
	struct opener *o = CONTAINER_OF(w, struct opener, next);
	int64_t now_us = mono_now_us();

	while (due_us(o) <= now_us && !o->stopping) {
		o->client->tally.late_us = MAX(o->client->tally.late_us, now_us - due_us(o));
		call_start(o, due_us(o));
		o->stopping = o->asked == o->client->count;
	}
	if (o->stopping)
		return;
	ev_timer_set(&o->next, mono_to_ev(due_us(o) - mono_now_us()), 0.);
	ev_timer_start(ev, &o->next);
}

static void stop_cb(void *userdata)
{
	struct opener *o = userdata;

	o->stopping = true;
	ev_timer_stop(o->client->ev, &o->next);
	if (o->pending == 0)
		ev_break(o->client->ev, EVBREAK_ALL);
}

void client_open(struct client *client)
{
	struct opener o = {.client = client, .began_us = mono_now_us()};

	client_on_stop(client, &o.stop, stop_cb, &o);
	ev_timer_init(&o.next, next_cb, 0., 0.);
	ev_timer_start(client->ev, &o.next);
	ev_run(client->ev, 0);
	(void) json_object_set_new(client->summary, "asked", json_integer((json_int_t) o.asked));
}
