/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe loop, and above it the two pure steps from a verdict (readyz.h) to a state:
 * health_accepts() says whether one answer is good, health_fold() what a row of them makes. One
 * probe is under way at a time; the next one starts an interval after the last one started, give or
 * take a tenth, so that the probers of a cluster do not march in step. The prober has an HTTP
 * client of its own, whose one kept connection makes a probe a single round trip.
 */
#include "vipd/health.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "web/http.h"
#include "web/certificate.h"

/* A body lists some forty checks; the failing ones are what we are after. */
#define BODY_MAX_BYTES 16384
/* The interval varies by up to this part of it, either way. */
#define JITTER_DIVISOR 10
/* However slow the answers are, between two probes there is a pause. */
#define PAUSE_MIN_US (50 * US_PER_MS)
/* Probes out of turn between two in turn: a server may close each connection. */
#define HURRIED_MAX 3

struct health {
	struct ev_loop *ev;
	const struct config_health *config;
	const struct health_callbacks *callbacks;
	void *userdata;
	struct http *http;
	struct probepair own;   /* of config->client_directory */
	struct http_req *probe; /* under way, or NULL */
	bool awaits_ca;
	ev_timer timer; /* to the next probe; stopped while one is under way */
	int64_t probe_start_us;
	bool hurry;         /* the next probe is due at once */
	unsigned n_hurried; /* out of turn, since the last one that was in turn */
	int64_t counted_us; /* when a result last counted */
	struct health_fold fold;
	bool is_ready, is_gone;
	int64_t unknown_since_us; /* health_unknown_since() */
	bool is_unknown;
	char reason[READYZ_REASON_MAX];
};

/* --- what answers mean (pure) --- */

bool health_accepts(enum readyz_verdict verdict, bool is_gone, bool others_are_ready)
{
	if (verdict == READYZ_ALIVE)
		return !is_gone || !others_are_ready;
	return verdict == READYZ_READY || verdict == READYZ_BUSY;
}

bool health_fold(struct health_fold *fold, bool good, unsigned rise, unsigned fall)
{
	enum health_state state = fold->state;

	fold->good_row = good ? fold->good_row + 1 : 0;
	fold->bad_row = good ? 0 : fold->bad_row + 1;
	if (fold->good_row >= rise && good)
		fold->state = HEALTH_GOOD;
	else if (fold->bad_row >= fall && !good)
		fold->state = HEALTH_BAD;
	return fold->state != state;
}

int64_t health_unknown_since(int64_t since_us, enum readyz_verdict verdict, int64_t now_us)
{
	switch (verdict) {
	case READYZ_ALIVE:
		return since_us != 0 ? since_us : now_us;
	case READYZ_READY:
	case READYZ_BUSY:
	case READYZ_NOT_READY:
		return 0;
	case READYZ_DOWN:
	case READYZ_SILENT:
	case READYZ_UNTRUSTED:
	case READYZ_BROKEN:
		break;
	}
	return since_us;
}

enum health_state health_second_hand(enum health_state state, bool is_unknown, bool member_silent)
{
	return state == HEALTH_GOOD && is_unknown && member_silent ? HEALTH_BAD : state;
}

static const char *const state_names[HEALTH_STATES] = {
    [HEALTH_UNKNOWN] = "unknown",
    [HEALTH_GOOD] = "good",
    [HEALTH_BAD] = "bad",
    [HEALTH_UNCHECKED] = "unchecked",
};

const char *health_state_name(enum health_state state)
{
	return state_names[state];
}

int health_state_parse(const char *name, enum health_state *ret_state)
{
	for (enum health_state s = HEALTH_UNKNOWN; s < HEALTH_STATES; s++) {
		if (strcmp(name, state_names[s]) == 0) {
			*ret_state = s;
			return 0;
		}
	}
	return -EINVAL;
}

/* --- the probe loop --- */

static int64_t jittered_us(int64_t interval_us)
{
	int64_t spread_us = interval_us / JITTER_DIVISOR;

	return interval_us - spread_us +
	       (int64_t) arc4random_uniform((uint32_t) MIN(2 * spread_us + 1, (int64_t) UINT32_MAX));
}

static void schedule(struct health *h)
{
	int64_t due_us = h->probe_start_us + jittered_us(h->config->interval_us);
	int64_t left_us = h->hurry ? 0 : due_us - mono_now_us();

	/* The loop's idea of now is as old as this turn; a timer counts from there. */
	ev_now_update(h->ev);
	loop_timer_in(h->ev, &h->timer, MAX(left_us, PAUSE_MIN_US));
}

static void hurry(struct health *h)
{
	h->hurry = h->n_hurried < HURRIED_MAX;
	if (h->probe != NULL || !h->hurry)
		return;
	ev_timer_stop(h->ev, &h->timer);
	schedule(h);
}

/* The API server ended the connection that was kept from the last probe: it ends, or had it idle
 * for long. The next probe tells. */
static void closed_cb(void *userdata)
{
	hurry(userdata);
}

struct result {
	enum readyz_verdict verdict;
	bool good, is_certain;
	bool is_ready; /* of a good one */
	const char *reason;
};

static struct health_view view_of(const struct health *h)
{
	return (struct health_view){.state = h->fold.state,
	                            .is_ready = h->is_ready,
	                            .is_unknown = h->is_unknown,
	                            .is_gone = h->is_gone,
	                            .reason = h->reason};
}

/*
 * A probe out of turn looks whether the API server has ended. Of other results only one in an
 * interval counts, so that a row takes as long as it is configured to.
 */
static bool counts(const struct health *h, const struct result *result, int64_t now_us)
{
	return result->is_certain || h->n_hurried == 0 ||
	       now_us - h->counted_us >= h->config->interval_us;
}

static void count(struct health *h, const struct result *result, int64_t now_us)
{
	h->counted_us = now_us;
	(void) health_fold(&h->fold, result->good, h->config->rise,
	                   result->is_certain ? 1 : h->config->fall);
	h->unknown_since_us = health_unknown_since(h->unknown_since_us, result->verdict, now_us);
	h->is_unknown = h->unknown_since_us != 0 && now_us - h->unknown_since_us >= READYZ_UNKNOWN_US;
	h->is_ready = h->fold.state == HEALTH_GOOD && (result->good ? result->is_ready : h->is_ready);
	h->is_gone = h->fold.state == HEALTH_BAD && (h->is_gone || result->is_certain);
}

/* Takes one result and waits for the next. The callback may free the prober, so it comes last. */
static void take_result(struct health *h, const struct result *result)
{
	const struct health_view before = view_of(h);
	bool good = result->good, is_new;
	int64_t now_us = mono_now_us();
	struct health_view now;

	if (counts(h, result, now_us))
		count(h, result, now_us);
	log_debug("health_probe", "good=%d state=%s reason=\"%s\"", good,
	          health_state_name(h->fold.state), result->reason);
	schedule(h);
	if (!good)
		h->callbacks->failed(result->reason, h->userdata);
	/* One that disagrees with the state says nothing about why it is so. */
	is_new = (h->fold.state == HEALTH_UNKNOWN || (h->fold.state == HEALTH_GOOD) == good) &&
	         strcmp(h->reason, result->reason) != 0;
	if (is_new)
		(void) snprintf(h->reason, sizeof(h->reason), "%s", result->reason);
	now = view_of(h);
	if (is_new || now.state != before.state || now.is_ready != before.is_ready ||
	    now.is_gone != before.is_gone || now.is_unknown != before.is_unknown)
		h->callbacks->changed(&now, h->userdata);
}

static void probe_done(const struct http_response *response, void *userdata)
{
	struct health *h = userdata;
	enum readyz_verdict verdict = readyz_verdict(response->failure, response->status);
	char reason[READYZ_REASON_MAX];
	struct result result = {
	    .verdict = verdict,
	    .good = health_accepts(verdict, h->is_gone, h->callbacks->others_are_ready(h->userdata)),
	    .is_certain = response->refused_here,
	    .is_ready = verdict == READYZ_READY || (verdict == READYZ_BUSY && h->is_ready),
	    .reason = readyz_describe(response, reason),
	};

	h->probe = NULL;
	/* Reset by a process that is about to end: is its port closed? */
	if (verdict == READYZ_DOWN && !response->refused_here && h->fold.state != HEALTH_BAD)
		hurry(h);
	if (verdict == READYZ_ALIVE && !result.good)
		(void) snprintf(reason + strlen(reason), sizeof(reason) - strlen(reason),
		                ", while another node is ready");
	take_result(h, &result);
}

/* The callback may free the prober, so it comes last. */
static void wait_for_ca(struct health *h)
{
	struct health_view view;

	(void) snprintf(h->reason, sizeof(h->reason), "%s: %s", h->config->ca_file, strerror(errno));
	schedule(h);
	if (h->fold.state == HEALTH_UNCHECKED)
		return;
	h->fold.state = HEALTH_UNCHECKED;
	view = view_of(h);
	h->callbacks->changed(&view, h->userdata);
}

/* 0 or -errno. */
static int send_probe(struct health *h)
{
	const struct config_health *config = h->config;
	struct http_request request = {
	    .url = config->url,
	    .server_name = config->server_name,
	    .ca_file = config->ca_file,
	    .client_cert_file = config->client_cert_file,
	    .client_key_file = config->client_key_file,
	    .timeout_ms = (unsigned) MAX(config->timeout_us / US_PER_MS, 1),
	    .max_body_bytes = BODY_MAX_BYTES,
	};
	const char *refusal = NULL;

	if (config->client_cert_file == NULL && config->client_directory != NULL)
		refusal = probepair_refresh(&h->own, config->client_directory);
	if (refusal != NULL)
		log_warning("probe_certificate_refused", "directory=%s reason=\"%s\"",
		            config->client_directory, refusal);
	request.client_cert_pem = h->own.cert;
	request.client_key_pem = h->own.key;
	return http_send(h->http, &request, probe_done, h, &h->probe);
}

static void probe_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct health *h = CONTAINER_OF(w, struct health, timer);
	int r;

	h->probe_start_us = mono_now_us();
	h->n_hurried = h->hurry ? h->n_hurried + 1 : 0;
	h->hurry = false;
	h->awaits_ca = h->awaits_ca && access(h->config->ca_file, F_OK) < 0;
	if (h->awaits_ca) {
		wait_for_ca(h);
		return;
	}
	r = send_probe(h);
	if (r < 0) {
		char reason[READYZ_REASON_MAX];

		(void) snprintf(reason, sizeof(reason), "cannot probe: %s", strerror(-r));
		take_result(h, &(struct result){.verdict = READYZ_BROKEN, .reason = reason});
	}
}

int health_new(struct ev_loop *ev, const struct config_health *config,
               const struct health_callbacks *callbacks, void *userdata, struct health **ret_health)
{
	AUTO(health_free) struct health *h = NEW0(struct health);
	int r;

	h->ev = ev;
	h->config = config;
	h->callbacks = callbacks;
	h->userdata = userdata;
	ev_timer_init(&h->timer, probe_cb, 0., 0.);
	h->awaits_ca = config->awaits_ca;
	r = http_new(ev, &h->http);
	if (r >= 0)
		r = http_watch_closed(h->http, closed_cb, h);
	if (r < 0)
		return r;
	(void) snprintf(h->reason, sizeof(h->reason), "not probed yet");
	ev_timer_start(ev, &h->timer);
	*ret_health = TAKE_PTR(h);
	return 0;
}

void health_free(struct health *health)
{
	if (health == NULL)
		return;
	ev_timer_stop(health->ev, &health->timer);
	http_cancel(health->probe);
	http_free(health->http);
	probepair_fini(&health->own);
	free(health);
}

enum health_state health_state(const struct health *health)
{
	return health->fold.state;
}
