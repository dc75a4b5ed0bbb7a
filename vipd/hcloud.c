/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goes through a pass: what hcloud_plan.c wants next is asked, and its answer taken in, until there
 * is nothing left to ask. Which address of the API is dialled is hcloud_host.c's; a pass waits for
 * it only while none is known at all.
 */
#include "vipd/hcloud.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fsm.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "vipd/hcloud_host.h"
#include "web/http.h"

#define ANSWER_BYTES_MAX (2u << 20)
#define REQUEST_LIMIT_US (5 * US_PER_S)
#define NAME_LIMIT_US (2 * US_PER_S)
/* Less of a confirmation, or of a short one its half, is not worth a change: wait for the next. */
#define CHANGE_LEAST_US (500 * US_PER_MS)
#define ENTITLED_AGAIN_US (250 * US_PER_MS)
#define ENTITLED_TOLD_US (3 * US_PER_S)
#define ACTION_POLL_US (500 * US_PER_MS)
#define ACTION_LIMIT_US (60 * US_PER_S)

enum phase {
	IDLE,
	RESOLVING, /* until an address of the API is known */
	QUEUED,    /* until it is our turn */
	SENDING,   /* a step is due as soon as we are entitled to it */
	ASKING,    /* a request is under way */
	POLLING,   /* an action is being carried out there */
	WAITING,   /* for the next pass */
	PHASES,
};

static const struct fsm_state phases[PHASES] = {
    [IDLE] = {"idle", FSM_TO(RESOLVING) | FSM_TO(QUEUED) | FSM_TO(SENDING) | FSM_TO(WAITING)},
    [RESOLVING] = {"resolving", FSM_TO(QUEUED) | FSM_TO(SENDING) | FSM_TO(WAITING) | FSM_TO(IDLE)},
    [QUEUED] = {"queued", FSM_TO(SENDING) | FSM_TO(IDLE)},
    [SENDING] = {"sending", FSM_TO(SENDING) | FSM_TO(ASKING) | FSM_TO(WAITING) | FSM_TO(IDLE)},
    [ASKING] = {"asking", FSM_TO(SENDING) | FSM_TO(POLLING) | FSM_TO(WAITING) | FSM_TO(IDLE)},
    [POLLING] = {"polling", FSM_TO(ASKING) | FSM_TO(WAITING) | FSM_TO(IDLE)},
    [WAITING] = {"waiting", FSM_TO(RESOLVING) | FSM_TO(QUEUED) | FSM_TO(SENDING) | FSM_TO(WAITING) |
                                FSM_TO(IDLE)},
};

struct hcloud {
	struct ev_loop *ev;
	const struct config_hcloud *config;
	hcloud_entitled_fn entitled;
	void *userdata;
	char text[ADDR_TEXT_MAX];
	struct http *http;
	struct hcloud_queue *queue;
	struct hcloud_turn turn;
	struct hcloud_host *host;

	enum phase phase;
	struct hcloud_seen seen;
	struct hcloud_step step; /* SENDING, ASKING, POLLING: of the plan */
	int64_t step_since_us;
	int64_t action; /* under way there; 0: none */
	int64_t action_since_us;
	int64_t pass_since_us;
	char *token;
	struct http_req *req;
	ev_timer timer;
	int64_t timer_us; /* when it is due */

	bool assigned;  /* as of the last pass that saw how it is */
	unsigned good;  /* passes on end */
	unsigned moved; /* passes that found it elsewhere, with no more than one between that did not */
	unsigned bad;
	uint64_t requests, failures;
	char trouble[HCLOUD_TEXT_MAX + 128];
};

static void run(struct hcloud *h);
static void begin_pass(struct hcloud *h);

static void set_phase(struct hcloud *h, enum phase to)
{
	fsm_check(phases, ARRAY_SIZE(phases), h->phase, to);
	h->phase = to;
	ev_timer_stop(h->ev, &h->timer);
}

static void wait_for(struct hcloud *h, int64_t us)
{
	h->timer_us = mono_now_us() + us;
	ev_now_update(h->ev);
	loop_timer_in(h->ev, &h->timer, us);
}

/* Whatever was under way is over, here at least. */
static void end_pass(struct hcloud *h, enum phase to)
{
	http_cancel(TAKE_PTR(h->req));
	free(h->step.body);
	h->step = (struct hcloud_step){0};
	h->action = 0;
	hcloud_token_free(TAKE_PTR(h->token));
	hcloud_queue_leave(h->queue, &h->turn);
	set_phase(h, to);
}

/* --- how a pass ends --- */

/* A look that fails says nothing of how it is there: what was seen before still counts. */
static bool is_news(const struct hcloud *h, int status)
{
	return h->step.ask == HCLOUD_ASK_FAIL || status == 404 || h->seen.changes > 0 ||
	       hcloud_is_change(h->step.ask);
}

static void fail_pass(struct hcloud *h, int status, unsigned retry_after_s, const char *text)
{
	const char *what = hcloud_ask_name(h->step.ask);
	char trouble[sizeof(h->trouble)];
	int64_t pause_us = hcloud_pause_us(++h->bad, status, retry_after_s);

	h->failures++;
	/* Two servers that came in each other's way should not meet again. */
	pause_us += arc4random_uniform((uint32_t) (US_PER_S / 4));

	if (what[0] != '\0' && h->step.ask != HCLOUD_ASK_DONE)
		(void) snprintf(trouble, sizeof(trouble), "cannot %s: %s", what, text);
	else
		(void) snprintf(trouble, sizeof(trouble), "%s", text);
	/* The same again and again is said once, and then now and then. */
	if (strcmp(trouble, h->trouble) != 0 || h->bad % 20 == 0)
		log_warning("hcloud_failed",
		            "vip=%s server=%" PRId64 " tries=%u retry_ms=%lld reason=\"%s\"", h->text,
		            h->seen.me, h->bad, (long long) (pause_us / US_PER_MS), trouble);
	(void) snprintf(h->trouble, sizeof(h->trouble), "%s", trouble);
	if (is_news(h, status)) {
		h->assigned = false;
		h->good = 0;
	}
	if (h->step.ask == HCLOUD_ASK_FAIL || status == 404)
		hcloud_forget_ids(&h->seen);
	end_pass(h, WAITING);
	wait_for(h, pause_us);
}

static void finish_pass(struct hcloud *h)
{
	int64_t took_us = mono_now_us() - h->pass_since_us;

	if (h->seen.changes > 0 && h->assigned)
		log_warning("hcloud_taken_back",
		            "vip=%s server=%" PRId64 " dur_ms=%lld reason=\"somebody "
		            "else had it assigned; perhaps a late request of the owner before\"",
		            h->text, h->seen.me, (long long) (took_us / US_PER_MS));
	else if (!h->assigned)
		log_notice("hcloud_assigned", "vip=%s server=%" PRId64 " changes=%u dur_ms=%lld", h->text,
		           h->seen.me, h->seen.changes, (long long) (took_us / US_PER_MS));
	if (h->seen.changes > 0 && h->assigned)
		h->moved++;
	/* What was changed may be changed back: look again soon. */
	h->good = h->seen.changes > 0 ? 1 : h->good + 1;
	if (h->good > 2)
		h->moved = 0;
	h->assigned = true;
	h->bad = 0;
	h->trouble[0] = '\0';
	if (h->moved >= HCLOUD_MOVED_ODD)
		(void) snprintf(h->trouble, sizeof(h->trouble),
		                "moved away %u times in a row, and taken back: who else assigns it?",
		                h->moved);
	end_pass(h, WAITING);
	wait_for(h, hcloud_check_us(h->good, h->moved));
}

/* --- one request --- */

static void take_answer(struct hcloud *h, const char *body)
{
	enum hcloud_progress progress;
	char text[HCLOUD_TEXT_MAX] = "";
	int r;

	if (!hcloud_is_change(h->step.ask)) {
		r = hcloud_take(&h->seen, h->step.ask, body, text);
		if (r < 0)
			fail_pass(h, 0, 0, text);
		else
			run(h);
		return;
	}
	r = hcloud_take_action(body, &h->action, &progress, text);
	if (r < 0 || progress == HCLOUD_FAILED) {
		fail_pass(h, 0, 0, text);
	} else if (progress == HCLOUD_SUCCEEDED) {
		h->action = 0;
		hcloud_changed(&h->seen);
		run(h);
	} else if (mono_now_us() - h->action_since_us > ACTION_LIMIT_US) {
		fail_pass(h, 0, 0, "the action is not carried out; the project's page may say why");
	} else {
		set_phase(h, POLLING);
		wait_for(h, ACTION_POLL_US);
	}
}

static void done_cb(const struct http_response *response, void *userdata)
{
	struct hcloud *h = userdata;
	char text[HCLOUD_TEXT_MAX];

	h->req = NULL;
	if (response->failure != HTTP_OK) {
		if (h->step.ask != HCLOUD_ASK_ME)
			hcloud_host_no_answer(h->host);
		(void) snprintf(text, sizeof(text), "%s (%.180s)%s", http_failure_name(response->failure),
		                response->failure_text,
		                h->step.ask == HCLOUD_ASK_ME ? "; serverID would say it" : "");
		fail_pass(h, 0, 0, text);
	} else if (response->status < 200 || response->status > 299) {
		if (h->step.ask == HCLOUD_ASK_ME)
			(void) snprintf(text, sizeof(text), "status %d; serverID would say it",
			                response->status);
		else
			hcloud_explain(response->status, response->body, text);
		fail_pass(h, response->status, response->retry_after_s, text);
	} else {
		take_answer(h, response->body);
	}
}

static int send_request(struct hcloud *h, const char *method, const char *path, const char *body,
                        int64_t not_after_us)
{
	bool metadata = h->step.ask == HCLOUD_ASK_ME;
	AUTO(free)
	char *url =
	    metadata ? xstrdup(h->config->metadata) : xasprintf("%s%s", h->config->endpoint, path);
	struct http_request request = {
	    .method = method,
	    .url = url,
	    .body = body,
	    .ca_file = h->config->ca_file,
	    .bearer_token = metadata ? NULL : h->token,
	    .timeout_ms = REQUEST_LIMIT_US / US_PER_MS,
	    .not_after_us = not_after_us,
	    .max_body_bytes = ANSWER_BYTES_MAX,
	};

	if (!metadata)
		request.connect_to = hcloud_host_addr(h->host);
	return http_send(h->http, &request, done_cb, h, &h->req);
}

static void sent(struct hcloud *h, int r)
{
	if (r < 0)
		fail_pass(h, 0, 0,
		          r == -EBADMSG ? "the token has a character that none has" : strerror(-r));
	else
		set_phase(h, ASKING);
	h->requests += r >= 0 ? 1 : 0;
}

/* A question harms nobody. A change must not leave this machine when the confirmation is over. */
static void send_step(struct hcloud *h)
{
	struct hcloud_entitled entitled;
	int64_t now_us;

	if (!hcloud_is_change(h->step.ask)) {
		sent(h, send_request(h, "GET", h->step.path, NULL, 0));
		return;
	}
	entitled = h->entitled(h->userdata);
	now_us = mono_now_us();
	if (entitled.until_us - now_us < MIN(CHANGE_LEAST_US, entitled.window_us / 2)) {
		if (now_us - h->step_since_us > ENTITLED_TOLD_US)
			(void) snprintf(h->trouble, sizeof(h->trouble),
			                "waiting for a confirmation that lasts, to %s",
			                hcloud_ask_name(h->step.ask));
		set_phase(h, SENDING);
		wait_for(h, ENTITLED_AGAIN_US);
		return;
	}
	h->action_since_us = now_us;
	log_info("hcloud_change", "vip=%s server=%" PRId64 " path=%s", h->text, h->seen.me,
	         h->step.path);
	sent(h, send_request(h, "POST", h->step.path, h->step.body, entitled.until_us));
}

static void poll_action(struct hcloud *h)
{
	char path[HCLOUD_PATH_MAX];

	(void) snprintf(path, sizeof(path), "/actions/%" PRId64, h->action);
	sent(h, send_request(h, "GET", path, NULL, 0));
}

/* The next step of the pass. */
static void run(struct hcloud *h)
{
	set_phase(h, SENDING);
	free(h->step.body);
	hcloud_next(&h->seen, &h->step);
	h->step_since_us = mono_now_us();
	if (h->step.ask == HCLOUD_ASK_DONE)
		finish_pass(h);
	else if (h->step.ask == HCLOUD_ASK_FAIL)
		fail_pass(h, 0, 0, h->step.text);
	else
		send_step(h);
}

/* --- how a pass begins --- */

static void turn_cb(void *userdata)
{
	run(userdata);
}

/* It is known where to ask. */
static void start_asking(struct hcloud *h)
{
	if (!hcloud_is_alias(&h->seen)) {
		run(h);
		return;
	}
	set_phase(h, QUEUED);
	hcloud_queue_enter(h->queue, &h->turn);
}

static void fail_name(struct hcloud *h)
{
	const char *error = hcloud_host_error(h->host);
	char text[HCLOUD_TEXT_MAX];

	(void) snprintf(text, sizeof(text), "the name in %.120s: %.100s", h->config->endpoint,
	                error[0] != '\0' ? error : "the name service does not answer");
	fail_pass(h, 0, 0, text);
}

static void looked_cb(void *userdata)
{
	struct hcloud *h = userdata;

	if (h->phase != RESOLVING)
		return;
	if (hcloud_host_is_known(h->host))
		start_asking(h);
	else
		fail_name(h);
}

static void begin_pass(struct hcloud *h)
{
	char text[HCLOUD_TEXT_MAX];
	int r;

	hcloud_begin_pass(&h->seen);
	h->pass_since_us = mono_now_us();
	r = hcloud_token_read(h->config, text, &h->token);
	if (r < 0) {
		fail_pass(h, 0, 0, text);
		return;
	}
	hcloud_host_look(h->host);
	if (hcloud_host_is_known(h->host)) {
		start_asking(h);
	} else {
		set_phase(h, RESOLVING);
		wait_for(h, NAME_LIMIT_US);
	}
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct hcloud *h = CONTAINER_OF(w, struct hcloud, timer);

	if (h->phase == RESOLVING)
		fail_name(h);
	else if (h->phase == SENDING)
		send_step(h);
	else if (h->phase == POLLING)
		poll_action(h);
	else if (h->phase == WAITING)
		begin_pass(h);
}

/* --- life --- */

int hcloud_new(struct ev_loop *ev, struct hcloud_queue *queue, const struct config_hcloud *config,
               const struct addr *vip, hcloud_entitled_fn entitled, void *userdata,
               struct hcloud **ret_hcloud)
{
	AUTO(hcloud_free) struct hcloud *h = NEW0(struct hcloud);
	int r;

	h->ev = ev;
	h->queue = queue;
	h->turn = (struct hcloud_turn){.granted = turn_cb, .userdata = h};
	h->config = config;
	h->entitled = entitled;
	h->userdata = userdata;
	h->seen.vip = *vip;
	h->seen.me = config->server_id;
	(void) addr_format(vip, h->text);
	ev_timer_init(&h->timer, timer_cb, 0., 0.);
	h->host = hcloud_host_new(ev, config->endpoint, looked_cb, h);
	r = http_new(ev, &h->http);
	if (r < 0)
		return r;
	*ret_hcloud = TAKE_PTR(h);
	return 0;
}

void hcloud_free(struct hcloud *h)
{
	if (h == NULL)
		return;
	hcloud_release(h);
	http_free(h->http);
	hcloud_host_free(h->host);
	free(h);
}

void hcloud_acquire(struct hcloud *h)
{
	if (h->phase == IDLE)
		begin_pass(h);
}

void hcloud_release(struct hcloud *h)
{
	if (h->phase == IDLE)
		return;
	if (h->phase == ASKING && hcloud_is_change(h->step.ask))
		log_info("hcloud_given_up", "vip=%s path=%s reason=\"not the owner any more\"", h->text,
		         h->step.path);
	end_pass(h, IDLE);
	h->assigned = false;
	h->good = 0;
	h->bad = 0;
	h->moved = 0;
	h->trouble[0] = '\0';
}

struct hcloud_report hcloud_report(const struct hcloud *h)
{
	const char *state = "asking";
	int64_t left_us = h->timer_us - mono_now_us();

	if (h->phase == IDLE)
		state = "idle";
	else if (h->assigned)
		state = "assigned";
	else if (h->trouble[0] != '\0')
		state = "failed";
	return (struct hcloud_report){
	    .state = state,
	    .server = h->seen.me,
	    .trouble = h->trouble,
	    .requests = h->requests,
	    .failures = h->failures,
	    .again_us = h->phase == WAITING ? MAX(left_us, 0) : 0,
	};
}

/* --- whose turn it is --- */

/* A list of which the first has the turn, once the timer has told it so: nobody is called from
 * within a call of another's. */

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
