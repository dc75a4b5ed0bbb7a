/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request at a time over one kept connection; the next one begins an interval after the end of
 * the last, or sooner when that failed, as it does while prism has nobody to pass it on to. Dialled
 * is a listener on this node, verified is the API server behind it: by the kubeconfig's CA and
 * tls-server-name, or those of the health checks where it has none.
 */
#include "prism/probe/slices.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "prism/probe/kubeconfig.h"
#include "prism/probe/slicelist.h"
#include "web/http.h"
#include "web/readyz.h"

/* A query may hold slashes and more equals signs (RFC 3986, section 3.4). */
#define TARGET                                      \
	"/apis/discovery.k8s.io/v1/namespaces/default/" \
	"endpointslices?labelSelector=kubernetes.io/service-name=kubernetes"
/* Two slices of five endpoints have some 4 kB. */
#define BODY_MAX_BYTES (256 * 1024)
#define TIMEOUT_MS 5000
#define RETRY_US (5 * US_PER_S)

struct slices {
	struct ev_loop *ev;
	const struct settings *settings;
	found_fn found;
	void *userdata;
	struct http *http;
	struct http_req *req; /* under way, or NULL */
	ev_timer timer;       /* stopped while one is */
};

static void report_error(struct slices *s, const char *error)
{
	int64_t retry_us = MIN(RETRY_US, s->settings->slices_interval_us);

	ev_timer_set(&s->timer, mono_to_ev(found_jittered_us(retry_us)), 0.);
	ev_timer_start(s->ev, &s->timer);
	s->found(NULL, error, s->userdata);
}

static void report_list(struct slices *s, const struct endpoints_list *list)
{
	ev_timer_set(&s->timer, mono_to_ev(found_jittered_us(s->settings->slices_interval_us)), 0.);
	ev_timer_start(s->ev, &s->timer);
	s->found(list, NULL, s->userdata);
}

/* What a status that is not 200 means to whoever reads the status. */
static const char *describe_status(int status, char buf[static FOUND_ERROR_MAX])
{
	if (status == 401)
		(void) snprintf(buf, FOUND_ERROR_MAX, "HTTP 401: the kubeconfig's user is not known");
	else if (status == 403)
		(void) snprintf(buf, FOUND_ERROR_MAX,
		                "HTTP 403: the kubeconfig's user may not list endpointslices in default");
	else
		(void) snprintf(buf, FOUND_ERROR_MAX, "HTTP %d", status);
	return buf;
}

static void done_cb(const struct http_response *response, void *userdata)
{
	struct slices *s = userdata;
	char reason[READYZ_REASON_MAX], status[FOUND_ERROR_MAX];
	struct endpoints_list list;
	const char *error;

	s->req = NULL;
	if (response->failure != HTTP_OK)
		report_error(s, readyz_describe(response, reason));
	else if (response->status != 200)
		report_error(s, describe_status(response->status, status));
	else if (response->body_len == BODY_MAX_BYTES)
		report_error(s, "the answer is too long");
	else if (slicelist_parse(response->body, response->body_len, &list, &error) < 0)
		report_error(s, error);
	else
		report_list(s, &list);
}

static int ask(struct slices *s, const struct kubeconfig *k)
{
	const struct settings *settings = s->settings;
	char through[ENDPOINT_TEXT_MAX];
	AUTO(free)
	char *url = xasprintf("https://%s" TARGET, endpoint_format(&settings->through, through));
	bool has_ca = k->ca_file != NULL || k->ca_pem != NULL;
	const struct http_request request = {
	    .url = url,
	    .server_name = k->server_name != NULL ? k->server_name : settings->server_name,
	    .ca_file = has_ca ? k->ca_file : settings->ca_file,
	    .ca_pem = k->ca_pem,
	    .client_cert_file = k->cert_file,
	    .client_cert_pem = k->cert_pem,
	    .client_key_file = k->key_file,
	    .client_key_pem = k->key_pem,
	    .bearer_token_file = k->token_file,
	    .bearer_token = k->token,
	    .timeout_ms = TIMEOUT_MS,
	    .max_body_bytes = BODY_MAX_BYTES,
	};

	return http_send(s->http, &request, done_cb, s, &s->req);
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct slices *s = CONTAINER_OF(w, struct slices, timer);
	AUTO(kubeconfig_free) struct kubeconfig *k = NULL;
	char why[FOUND_ERROR_MAX / 2], error[FOUND_ERROR_MAX];
	int r;

	r = kubeconfig_read(s->settings->kubeconfig, why, sizeof(why), &k);
	if (r == 0) {
		r = ask(s, k);
		if (r == 0)
			return;
		if (r == -EINVAL)
			(void) snprintf(why, sizeof(why), "tls-server-name is not the name of a host");
		else
			(void) snprintf(why, sizeof(why), "the user's token: %s", strerror(-r));
	}
	(void) snprintf(error, sizeof(error), "kubeconfig %s: %s", s->settings->kubeconfig, why);
	report_error(s, error);
}

int slices_new(struct ev_loop *ev, const struct settings *settings, found_fn found, void *userdata,
               struct slices **ret_slices)
{
	AUTO(slices_free) struct slices *s = NEW0(struct slices);
	int r;

	s->ev = ev;
	s->settings = settings;
	s->found = found;
	s->userdata = userdata;
	ev_timer_init(&s->timer, timer_cb, 0., 0.);
	r = http_new(ev, &s->http);
	if (r < 0)
		return r;
	ev_timer_start(ev, &s->timer);
	*ret_slices = TAKE_PTR(s);
	return 0;
}

void slices_free(struct slices *s)
{
	if (s == NULL)
		return;
	ev_timer_stop(s->ev, &s->timer);
	http_cancel(s->req);
	http_free(s->http);
	free(s);
}
