/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two kinds of things: a target is an upstream with an HTTP client of its own, whose connection is
 * kept from probe to probe; a probe is one open question. A target goes when it is forgotten and
 * its last probe is answered, or, when there are too many, when it is the one that has been asked
 * nothing for the longest.
 *
 * A probe has two requests. The second is sent when the first has had no answer for half a timeout;
 * the kept connection is in use by then, so that it makes one of its own, and a connection that a
 * firewall or a lost route took away does not speak for the server. The first answer is the
 * verdict; without one it comes a timeout after the second request.
 *
 * Every question is answered by then, also the one that could not even be sent: that answer waits
 * for the next turn of the loop, as all others do.
 */
#include "prism/probe/prober.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "web/http.h"
#include "web/certificate.h"
#include "web/readyz.h"

/* A body lists some forty checks; the failing ones are what we are after. */
#define BODY_MAX_BYTES 16384

#define PROBE_REQUESTS 2

struct target {
	struct prober *prober;
	struct endpoint endpoint;
	struct http *http;
	unsigned n_probes; /* open ones */
	bool forgotten;
	TAILQ_ENTRY(target) entry;
};

struct probe {
	struct prober *prober;
	struct target *target; /* NULL: it could not be sent */
	uint64_t id;
	struct http_req *reqs[PROBE_REQUESTS];
	ev_timer second;    /* sends the second request */
	ev_timer refused;   /* tells `reason` */
	bool was_connected; /* one of the requests had a connection, and no answer */
	bool shook_hands;   /* on a new one */
	char reason[READYZ_REASON_MAX];
	LIST_ENTRY(probe) entry;
};

struct prober {
	struct ev_loop *ev;
	const struct settings *settings;
	prober_verdict_fn verdict;
	void *userdata;
	TAILQ_HEAD(, target) targets; /* the last asked is the last */
	size_t n_targets;
	LIST_HEAD(, probe) probes;
	size_t n_probes;
	struct probepair own; /* of settings->client_directory */
};

/* --- targets --- */

static void target_free(struct target *t)
{
	TAILQ_REMOVE(&t->prober->targets, t, entry);
	t->prober->n_targets--;
	http_free(t->http);
	free(t);
}

static struct target *target_find(struct prober *p, const struct endpoint *endpoint)
{
	struct target *t;

	TAILQ_FOREACH (t, &p->targets, entry) {
		if (endpoint_equal(&t->endpoint, endpoint))
			return t;
	}
	return NULL;
}

/* Makes room: the first that has nothing open goes. */
static void target_evict(struct prober *p)
{
	struct target *t;

	TAILQ_FOREACH (t, &p->targets, entry) {
		if (t->n_probes == 0) {
			target_free(t);
			return;
		}
	}
}

/* 0 or -errno. */
static int target_get(struct prober *p, const struct endpoint *endpoint, struct target **ret_target)
{
	struct target *t = target_find(p, endpoint);
	int r;

	if (t == NULL) {
		struct http *http = NULL;

		if (p->n_targets == PROBER_TARGETS_MAX)
			target_evict(p);
		if (p->n_targets == PROBER_TARGETS_MAX)
			return -ENOBUFS;
		r = http_new(p->ev, &http);
		if (r < 0)
			return r;
		t = NEW0(struct target);
		t->prober = p;
		t->endpoint = *endpoint;
		t->http = http;
		p->n_targets++;
	} else {
		TAILQ_REMOVE(&p->targets, t, entry);
	}
	TAILQ_INSERT_TAIL(&p->targets, t, entry);
	t->forgotten = false;
	*ret_target = t;
	return 0;
}

void prober_forget(struct prober *p, const struct endpoint *endpoint)
{
	struct target *t = target_find(p, endpoint);

	if (t == NULL)
		return;
	if (t->n_probes == 0)
		target_free(t);
	else
		t->forgotten = true;
}

/* --- probes --- */

static void probe_free(struct probe *probe)
{
	struct target *t = probe->target;

	ev_timer_stop(probe->prober->ev, &probe->refused);
	ev_timer_stop(probe->prober->ev, &probe->second);
	for (size_t i = 0; i < PROBE_REQUESTS; i++)
		http_cancel(probe->reqs[i]);
	LIST_REMOVE(probe, entry);
	probe->prober->n_probes--;
	free(probe);
	if (t == NULL)
		return;
	t->n_probes--;
	if (t->forgotten && t->n_probes == 0)
		target_free(t);
}

/* The one end of a probe. */
static void answer(struct probe *probe, const char *verdict, const char *reason, int64_t rtt_us)
{
	struct prober *p = probe->prober;
	uint64_t id = probe->id;

	probe_free(probe);
	p->verdict(id, verdict, reason, rtt_us, p->userdata);
}

static bool has_open_request(struct probe *probe)
{
	return probe->reqs[0] != NULL || probe->reqs[1] != NULL || ev_is_active(&probe->second);
}

static void on_response(struct probe *probe, const struct http_response *response)
{
	enum readyz_verdict verdict = readyz_verdict(response->failure, response->status);
	const char *name = readyz_verdict_name(verdict);
	char reason[READYZ_REASON_MAX];

	if (response->failure == HTTP_TIMEOUT || response->failure == HTTP_UNREACHED) {
		probe->was_connected = probe->was_connected || response->failure == HTTP_TIMEOUT;
		probe->shook_hands = probe->shook_hands || response->shook_hands;
		if (has_open_request(probe))
			return;
		name = probe->shook_hands     ? PROBER_STALLED
		       : probe->was_connected ? readyz_verdict_name(READYZ_SILENT)
		                              : PROBER_UNREACHED;
	}
	answer(probe, name, readyz_describe(response, reason),
	       response->failure == HTTP_OK ? response->request_us : 0);
}

static void first_cb(const struct http_response *response, void *userdata)
{
	struct probe *probe = userdata;

	probe->reqs[0] = NULL;
	on_response(probe, response);
}

static void second_cb(const struct http_response *response, void *userdata)
{
	struct probe *probe = userdata;

	probe->reqs[1] = NULL;
	on_response(probe, response);
}

/* A TCP connection is all that is known where checks are off. */
static void connected_cb(const struct http_response *response, void *userdata)
{
	struct probe *probe = userdata;

	probe->reqs[0] = NULL;
	if (response->failure == HTTP_OK)
		answer(probe, "connected", "TCP connection made",
		       (int64_t) (response->total_s * (double) US_PER_S));
	else if (response->failure == HTTP_UNREACHED)
		answer(probe, PROBER_UNREACHED, "no answer to a connection attempt", 0);
	else
		answer(probe, readyz_verdict_name(READYZ_DOWN), strerror(response->os_error), 0);
}

static void refused_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct probe *probe = CONTAINER_OF(w, struct probe, refused);
	char reason[READYZ_REASON_MAX];

	memcpy(reason, probe->reason, sizeof(reason));
	answer(probe, readyz_verdict_name(READYZ_BROKEN), reason, 0);
}

static int refuse(struct probe *probe, const char *why, int r)
{
	(void) snprintf(probe->reason, sizeof(probe->reason), "%s: %s", why, strerror(-r));
	return r;
}

static int send_http(struct probe *probe, size_t which, unsigned timeout_ms)
{
	static const http_done_fn done[PROBE_REQUESTS] = {first_cb, second_cb};

	const struct settings *s = probe->prober->settings;
	struct probepair *own = &probe->prober->own;
	char text[ENDPOINT_TEXT_MAX];
	AUTO(free)
	char *url = xasprintf("https://%s%s", endpoint_format(&probe->target->endpoint, text), s->path);
	struct http_request request = {
	    .url = url,
	    .server_name = s->server_name,
	    .ca_file = s->ca_file,
	    .client_cert_file = s->client_cert_file,
	    .client_key_file = s->client_key_file,
	    .bearer_token_file = s->token_file,
	    .timeout_ms = timeout_ms,
	    .max_body_bytes = BODY_MAX_BYTES,
	};
	const char *refusal = NULL;
	int r;

	if (s->client_cert_file == NULL && s->token_file == NULL && s->client_directory != NULL)
		refusal = probepair_refresh(own, s->client_directory);
	if (refusal != NULL)
		log_warning("probe_certificate_refused", "directory=%s reason=\"%s\"", s->client_directory,
		            refusal);
	request.client_cert_pem = own->cert;
	request.client_key_pem = own->key;
	r = http_send(probe->target->http, &request, done[which], probe, &probe->reqs[which]);
	if (r == 0 || r == -EINVAL || s->token_file == NULL)
		return r < 0 ? refuse(probe, "cannot probe", r) : 0;
	return refuse(probe, s->token_file, r);
}

static int connect_only(struct probe *probe, unsigned timeout_ms)
{
	char text[ENDPOINT_TEXT_MAX];
	AUTO(free)
	char *url = xasprintf("http://%s", endpoint_format(&probe->target->endpoint, text));
	const struct http_request request = {
	    .url = url, .handshake_only = true, .timeout_ms = timeout_ms};

	return http_send(probe->target->http, &request, connected_cb, probe, &probe->reqs[0]);
}

/* What cannot be sent leaves the verdict to the first request. */
static void send_second_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct probe *probe = CONTAINER_OF(w, struct probe, second);

	(void) send_http(probe, 1, probe->prober->settings->timeout_ms);
}

static int begin(struct probe *probe, const struct endpoint *endpoint)
{
	struct prober *p = probe->prober;
	unsigned timeout_ms = p->settings->timeout_ms, whole_ms = timeout_ms + timeout_ms / 2;
	int r;

	r = p->n_probes > PROBER_PROBES_MAX ? -EBUSY : target_get(p, endpoint, &probe->target);
	if (r < 0)
		return refuse(probe, "cannot probe", r);
	probe->target->n_probes++;
	if (!p->settings->checks)
		return connect_only(probe, whole_ms);
	r = send_http(probe, 0, whole_ms);
	if (r < 0)
		return r;
	ev_timer_set(&probe->second, mono_to_ev(timeout_ms * US_PER_MS / 2), 0.);
	ev_timer_start(p->ev, &probe->second);
	return 0;
}

void prober_probe(struct prober *p, uint64_t id, const struct endpoint *endpoint)
{
	struct probe *probe = NEW0(struct probe);
	int r;

	probe->prober = p;
	probe->id = id;
	ev_timer_init(&probe->refused, refused_cb, 0., 0.);
	ev_init(&probe->second, send_second_cb);
	LIST_INSERT_HEAD(&p->probes, probe, entry);
	p->n_probes++;
	r = begin(probe, endpoint);
	if (r < 0)
		ev_timer_start(p->ev, &probe->refused);
}

struct prober *prober_new(struct ev_loop *ev, const struct settings *settings,
                          prober_verdict_fn verdict, void *userdata)
{
	struct prober *p = NEW0(struct prober);

	p->ev = ev;
	p->settings = settings;
	p->verdict = verdict;
	p->userdata = userdata;
	TAILQ_INIT(&p->targets);
	LIST_INIT(&p->probes);
	return p;
}

void prober_free(struct prober *p)
{
	if (p == NULL)
		return;
	while (!LIST_EMPTY(&p->probes))
		probe_free(LIST_FIRST(&p->probes));
	while (!TAILQ_EMPTY(&p->targets))
		target_free(TAILQ_FIRST(&p->targets));
	probepair_fini(&p->own);
	free(p);
}
