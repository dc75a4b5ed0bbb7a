/* SPDX-License-Identifier: Apache-2.0 */
/* One attempt at a time; the next one starts a second after the last one started. */
#include "vipd/outside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/loop.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "web/http.h"
#include "web/readyz.h"

#define INTERVAL_US US_PER_S
#define TIMEOUT_MS 1000

struct outside_probe {
	struct ev_loop *ev;
	const struct addr *vip;
	const struct config_health *config;
	outside_probe_fn fn;
	void *userdata;
	struct http *http; /* NULL until it is needed */
	struct http_req *request;
	ev_timer timer;
	bool on;
	int64_t started_us;
};

static void schedule(struct outside_probe *p, int64_t due_us)
{
	ev_now_update(p->ev);
	loop_timer_in(p->ev, &p->timer, MAX(due_us - mono_now_us(), 0));
}

static void done_cb(const struct http_response *response, void *userdata)
{
	struct outside_probe *p = userdata;
	enum readyz_verdict verdict = readyz_verdict(response->failure, response->status);
	char reason[READYZ_REASON_MAX];

	p->request = NULL;
	schedule(p, p->started_us + INTERVAL_US);
	if (response->failure == HTTP_OK)
		(void) snprintf(reason, sizeof(reason), "connected");
	else
		(void) readyz_describe(response, reason);
	p->fn(verdict != READYZ_DOWN, reason, p->userdata);
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct outside_probe *p = CONTAINER_OF(w, struct outside_probe, timer);
	const struct http_request request = {
	    .url = p->config->url,
	    .connect_to = *p->vip,
	    .server_name = p->config->server_name,
	    .ca_file = p->config->ca_file,
	    .handshake_only = true,
	    .timeout_ms = TIMEOUT_MS,
	};

	p->started_us = mono_now_us();
	/* What fails on this side says nothing of the other. */
	if (http_send(p->http, &request, done_cb, p, &p->request) < 0)
		schedule(p, p->started_us + INTERVAL_US);
}

struct outside_probe *outside_probe_new(struct ev_loop *ev, const struct addr *vip,
                                        const struct config_health *config, outside_probe_fn fn,
                                        void *userdata)
{
	struct outside_probe *p = NEW0(struct outside_probe);

	p->ev = ev;
	p->vip = vip;
	p->config = config;
	p->fn = fn;
	p->userdata = userdata;
	ev_timer_init(&p->timer, timer_cb, 0., 0.);
	return p;
}

void outside_probe_free(struct outside_probe *p)
{
	if (p == NULL)
		return;
	outside_probe_run(p, false);
	http_free(p->http);
	free(p);
}

void outside_probe_run(struct outside_probe *p, bool on)
{
	if (on == p->on || (on && p->http == NULL && http_new(p->ev, &p->http) < 0))
		return;
	p->on = on;
	if (on) {
		schedule(p, mono_now_us());
		return;
	}
	ev_timer_stop(p->ev, &p->timer);
	http_cancel(TAKE_PTR(p->request));
}
