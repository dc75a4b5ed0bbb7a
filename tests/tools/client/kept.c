/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Connections that are kept, each with a question every so often, as clients of an API server do.
 * A connection that is closed while nothing is asked costs a client nothing: it is counted, and the
 * next question opens another. A question that a kept connection swallowed without a byte of answer
 * is asked again on a new one, once, as HTTP clients do (RFC 9110, section 9.2.2: GET is
 * idempotent); it is counted as stale.
 *
 *	          opened           right
 *	OPENING ---------> ASKING -------> RESTING --(every)--> ASKING
 *	   ^                  | ended         | ended
 *	   +--(stale: now)----+--(every)---- GONE
 */

#include <stdlib.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "client.h"

enum keeper_state {
	KEEPER_IDLE, /* not opened yet */
	KEEPER_OPENING,
	KEEPER_ASKING,
	KEEPER_RESTING,
	KEEPER_GONE, /* closed by the other side; the next question opens a new one */
};

struct keeper {
	struct party *party;
	uint64_t id;
	enum keeper_state state;
	struct link *link;
	struct answer answer;
	struct ev_timer every, timeout;
	int64_t asked_us; /* the question in hand, or since when it rests */
	bool reused;      /* the question in hand is not the first one on this connection */
	bool answered_once;
};

struct party {
	struct client *client;
	struct keeper *keepers;
	size_t next;     /* the first that was never opened */
	size_t opening;  /* on their first question */
	size_t answered; /* once at least */
	size_t asking;
	uint64_t opened, closed_idle, stale;
	struct client_stop stop;
	bool finishing;
};

static void keeper_open(struct keeper *k);
static void keeper_ask(struct keeper *k);

static void party_go_on(struct party *p)
{
	struct client *client = p->client;

	while (!p->finishing && p->next < client->connections && p->opening < client->opening) {
		struct keeper *k = &p->keepers[p->next++];

		p->opening++;
		k->asked_us = mono_now_us();
		keeper_open(k);
	}
	if (p->finishing && p->asking == 0)
		ev_break(client->ev, EVBREAK_ALL);
}

/* Up to a quarter longer, each its own: in step they would all ask at the one wrong moment. */
static int64_t pause_us(const struct keeper *k)
{
	const struct client *client = k->party->client;

	return client->every_us +
	       client->every_us * (int64_t) k->id / (4 * (int64_t) client->connections);
}

/* The question in hand is over, well or not. */
static void keeper_done(struct keeper *k, enum outcome outcome, const char *why)
{
	struct party *p = k->party;

	tally_add(&p->client->tally, outcome, k->id, mono_now_us() - k->asked_us, why);
	ev_timer_stop(p->client->ev, &k->timeout);
	answer_clear(&k->answer);
	p->asking--;
	if (!k->answered_once) {
		k->answered_once = true;
		p->opening--;
		if (++p->answered == p->client->connections)
			tally_event("holding", p->answered, 0, "");
	}
	if (outcome == OUTCOME_OK) {
		k->state = KEEPER_RESTING;
		k->asked_us = mono_now_us();
	} else {
		k->state = KEEPER_GONE;
		link_free(TAKE_PTR(k->link));
	}
	if (p->client->every_us > 0 && !p->finishing) {
		ev_timer_set(&k->every, mono_to_ev(pause_us(k)), 0.);
		ev_timer_start(p->client->ev, &k->every);
	}
	party_go_on(p);
}

/* The server has begun to answer. On a new connection its part of the handshake counts; on one that
 * was used before, TLS may say that it ends, and that is no answer. */
static bool has_begun(const struct keeper *k)
{
	return k->reused ? k->answer.len > 0 : link_raw_received(k->link) > 0;
}

static void send_question(struct keeper *k)
{
	AUTO(free) char *text = NULL;
	size_t len;

	text = question_text(&k->party->client->question, k->id, &len);
	link_send(k->link, text, len);
}

static void opened_cb(void *userdata)
{
	struct keeper *k = userdata;

	k->state = KEEPER_ASKING;
	send_question(k);
}

static void data_cb(const void *bytes, size_t len, void *userdata)
{
	struct keeper *k = userdata;
	char why[sizeof(k->answer.why)];

	if (k->state == KEEPER_RESTING) {
		tally_event("unasked", k->id, mono_now_us() - k->asked_us, "bytes came by themselves");
		k->party->client->tally.counts[OUTCOME_WRONG]++;
		return;
	}
	switch (answer_add(&k->answer, &k->party->client->question, k->id, bytes, len)) {
	case ANSWER_INCOMPLETE:
		break;
	case ANSWER_RIGHT:
		keeper_done(k, OUTCOME_OK, "");
		break;
	case ANSWER_WRONG:
		(void) snprintf(why, sizeof(why), "%s", k->answer.why);
		keeper_done(k, OUTCOME_WRONG, why);
		break;
	}
}

static void ended_cb(enum link_end end, const char *why, void *userdata)
{
	struct keeper *k = userdata;
	struct party *p = k->party;
	bool begun = has_begun(k);
	int64_t after_us = mono_now_us() - k->asked_us;

	if (k->state == KEEPER_RESTING) {
		p->closed_idle++;
		tally_event("closed_idle", k->id, after_us, link_end_name(end));
		link_free(TAKE_PTR(k->link));
		k->state = KEEPER_GONE;
	} else if (k->reused && !begun && (end == LINK_EOF || end == LINK_RESET)) {
		p->stale++;
		tally_event("stale", k->id, after_us, link_end_name(end));
		link_free(TAKE_PTR(k->link));
		answer_clear(&k->answer);
		keeper_open(k);
	} else {
		keeper_done(k, outcome_of_end(end, begun), why);
	}
}

static const struct link_events events = {
    .opened = opened_cb,
    .data = data_cb,
    .ended = ended_cb,
};

/* With a question in hand; asked_us says since when. */
static void keeper_open(struct keeper *k)
{
	struct client *client = k->party->client;

	if (k->state != KEEPER_ASKING)
		k->party->asking++;
	k->state = KEEPER_OPENING;
	k->reused = false;
	k->party->opened++;
	k->link = link_connect(client->ev, client_target(client, k->id), client->tls, client->name,
	                       &events, k);
	if (!ev_is_active(&k->timeout)) {
		ev_timer_set(&k->timeout, mono_to_ev(client->timeout_us), 0.);
		ev_timer_start(client->ev, &k->timeout);
	}
}

static void keeper_ask(struct keeper *k)
{
	k->asked_us = mono_now_us();
	if (k->state != KEEPER_RESTING) {
		keeper_open(k);
		return;
	}
	k->state = KEEPER_ASKING;
	k->party->asking++;
	k->reused = true;
	ev_timer_set(&k->timeout, mono_to_ev(k->party->client->timeout_us), 0.);
	ev_timer_start(k->party->client->ev, &k->timeout);
	send_question(k);
}

static void every_cb(struct ev_loop *ev UNUSED, struct ev_timer *w, int revents UNUSED)
{
	keeper_ask(CONTAINER_OF(w, struct keeper, every));
}

static void timeout_cb(struct ev_loop *ev UNUSED, struct ev_timer *w, int revents UNUSED)
{
	struct keeper *k = CONTAINER_OF(w, struct keeper, timeout);
	keeper_done(k, has_begun(k) ? OUTCOME_STALLED : OUTCOME_TIMEOUT, "");
}

/* One more question on each that is still open, so that all are known to work. */
static void finish_cb(void *userdata)
{
	struct party *p = userdata;

	p->finishing = true;
	for (size_t i = 0; i < p->next; i++) {
		struct keeper *k = &p->keepers[i];

		ev_timer_stop(p->client->ev, &k->every);
		if (k->state == KEEPER_RESTING)
			keeper_ask(k);
	}
	party_go_on(p);
}

static void fill(const struct party *p)
{
	json_t *o = p->client->summary;
	json_int_t open = 0;

	for (size_t i = 0; i < p->next; i++)
		open += p->keepers[i].state == KEEPER_RESTING;
	(void) json_object_set_new(o, "open", json_integer(open));
	(void) json_object_set_new(o, "opened", json_integer((json_int_t) p->opened));
	(void) json_object_set_new(o, "closed_idle", json_integer((json_int_t) p->closed_idle));
	(void) json_object_set_new(o, "stale", json_integer((json_int_t) p->stale));
}

void client_kept(struct client *client)
{
	struct party p = {.client = client};

	p.keepers = xcalloc(client->connections, sizeof(*p.keepers));
	for (size_t i = 0; i < client->connections; i++) {
		struct keeper *k = &p.keepers[i];

		k->party = &p;
		k->id = i;
		ev_timer_init(&k->every, every_cb, 0., 0.);
		ev_timer_init(&k->timeout, timeout_cb, 0., 0.);
	}
	client_on_stop(client, &p.stop, finish_cb, &p);
	party_go_on(&p);
	ev_run(client->ev, 0);
	fill(&p);
	for (size_t i = 0; i < p.next; i++)
		link_free(p.keepers[i].link);
	free(p.keepers);
}
