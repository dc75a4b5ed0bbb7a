/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a URL is answered, with a status from 200 to 399. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/conf_url.h"
#include "base/mem.h"
#include "base/mono.h"
#include "netconf/probe/lookup.h"
#include "netconf/probe/probe_priv.h"
#include "web/http.h"

struct web {
	struct ev_loop *ev;
	char *url, *host;
	int64_t timeout_us, deadline_us;
	struct lookup *lookup;
	struct http *http;
	struct http_req *request; /* NULL: none is under way */
	enum probe_verdict answer;
};

static void stop(struct web *web)
{
	lookup_free(TAKE_PTR(web->lookup));
	if (web->request != NULL)
		http_cancel(TAKE_PTR(web->request));
	/* A connection that was kept would prove nothing of the network as it is now. */
	http_free(TAKE_PTR(web->http));
}

static enum probe_verdict start(struct probe *probe, int64_t now_us)
{
	struct web *web = probe->data;

	stop(web);
	web->deadline_us = now_us + web->timeout_us;
	web->lookup = lookup_start(web->host, 0);
	return web->lookup != NULL ? PROBE_RUNNING : PROBE_BAD;
}

static void on_answer(const struct http_response *response, void *userdata)
{
	struct web *web = userdata;

	web->request = NULL;
	web->answer = response->failure == HTTP_OK && response->status >= 200 && response->status < 400
	                  ? PROBE_GOOD
	                  : PROBE_BAD;
}

static enum probe_verdict ask(struct web *web, const struct endpoint *endpoint, int64_t now_us)
{
	const struct http_request request = {
	    .url = web->url,
	    .connect_to = endpoint->addr,
	    .timeout_ms = (unsigned) MAX((web->deadline_us - now_us) / US_PER_MS, (int64_t) 1),
	    .max_body_bytes = 1,
	};

	web->answer = PROBE_RUNNING;
	if (http_new(web->ev, &web->http) < 0 ||
	    http_send(web->http, &request, on_answer, web, &web->request) < 0)
		return PROBE_BAD;
	return PROBE_RUNNING;
}

static enum probe_verdict poll(struct probe *probe, int64_t now_us)
{
	struct web *web = probe->data;
	enum probe_verdict verdict = PROBE_RUNNING;
	struct endpoint endpoint;
	int r;

	if (web->http != NULL) {
		verdict = web->answer;
	} else {
		r = lookup_result(web->lookup, &endpoint);
		if (r != -EAGAIN)
			verdict = r == 0 ? ask(web, &endpoint, now_us) : PROBE_BAD;
	}
	if (verdict == PROBE_RUNNING && now_us >= web->deadline_us)
		verdict = PROBE_BAD;
	if (verdict != PROBE_RUNNING)
		stop(web);
	return verdict;
}

static void fini(struct probe *probe)
{
	struct web *web = probe->data;

	stop(web);
	free(web->url);
	free(web->host);
	free(web);
}

int probe_http_init(struct probe *probe, struct ev_loop *ev, const char *name, const char *url,
                    int64_t timeout_us)
{
	static const struct probe_kind kind = {NULL, start, poll, fini};
	struct conf_url parsed;
	struct web *web;

	if (conf_parse_url(url, &parsed) != NULL)
		return -EINVAL;
	web = NEW0(struct web);
	web->ev = ev;
	web->url = xstrdup(url);
	web->host = xstrdup(parsed.host);
	web->timeout_us = timeout_us;
	*probe = (struct probe){.kind = &kind, .data = web};
	probe->name = xasprintf("%s (%s)", name, url);
	return 0;
}
