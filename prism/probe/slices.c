/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request at a time over one kept connection; the next one begins an interval after the end of
 * the last, or sooner when that failed, as it does while prism has nobody to pass it on to. Dialled
 * is a listener on this node, verified is the API server behind it: by the kubeconfig's CA and
 * tls-server-name, or those of the health checks where it has none.
 */
#include "prism/probe/slices.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/macro.h"
#include "base/mem.h"
#include "prism/probe/found.h"
#include "prism/probe/kubeconfig.h"
#include "web/http.h"
#include "web/readyz.h"

/*
 * Every API server keeps the endpoints of the service `kubernetes` up to date with its own address,
 * and takes itself out when it shuts down. A slice has addresses of one family and ports that all
 * of them share. `ready` that is absent means ready, by the API's own definition. The text comes
 * from the network: sizes are bounded by the caller's limit on it, and the number of endpoints by
 * ENDPOINTS_MAX; what has the wrong type counts for nothing.
 */

static bool is_tcp(const json_t *port)
{
	const char *protocol = json_string_value(json_object_get(port, "protocol"));

	return protocol == NULL || strcmp(protocol, "TCP") == 0;
}

/* The port that is named https, else the first; 0: none that is usable. */
static uint16_t port_of(const json_t *slice)
{
	const json_t *ports = json_object_get(slice, "ports");
	uint16_t first = 0;

	for (size_t i = 0; i < json_array_size(ports); i++) {
		const json_t *port = json_array_get(ports, i);
		const char *name = json_string_value(json_object_get(port, "name"));
		json_int_t number = json_integer_value(json_object_get(port, "port"));

		if (number < 1 || number > UINT16_MAX || !is_tcp(port))
			continue;
		if (name != NULL && strcmp(name, "https") == 0)
			return (uint16_t) number;
		if (first == 0)
			first = (uint16_t) number;
	}
	return first;
}

static sa_family_t family_of(const json_t *slice)
{
	const char *type = json_string_value(json_object_get(slice, "addressType"));

	if (type != NULL && strcmp(type, "IPv4") == 0)
		return AF_INET;
	if (type != NULL && strcmp(type, "IPv6") == 0)
		return AF_INET6;
	return AF_UNSPEC;
}

static void add_endpoint(const json_t *endpoint, sa_family_t family, uint16_t port,
                         struct endpoints_list *list)
{
	const json_t *conditions = json_object_get(endpoint, "conditions");
	const json_t *addresses = json_object_get(endpoint, "addresses");

	if (json_is_false(json_object_get(conditions, "ready")))
		return;
	for (size_t i = 0; i < json_array_size(addresses); i++) {
		const char *text = json_string_value(json_array_get(addresses, i));
		struct addr addr;

		if (text != NULL && addr_parse(text, &addr) == 0 && addr.family == family)
			(void) found_add_remote(list, &addr, port);
	}
}

static void add_slice(const json_t *slice, struct endpoints_list *list)
{
	const json_t *endpoints = json_object_get(slice, "endpoints");
	sa_family_t family = family_of(slice);
	uint16_t port = port_of(slice);

	if (family == AF_UNSPEC || port == 0)
		return;
	for (size_t i = 0; i < json_array_size(endpoints); i++)
		add_endpoint(json_array_get(endpoints, i), family, port, list);
}

int slicelist_parse(const char *text, size_t len, struct endpoints_list *ret_list,
                    const char **ret_error)
{
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	const json_t *items = json_object_get(root, "items");
	struct endpoints_list list = {.n = 0};

	for (size_t i = 0; i < json_array_size(items); i++)
		add_slice(json_array_get(items, i), &list);
	if (root == NULL)
		*ret_error = "the answer is not JSON";
	else if (!json_is_array(items))
		*ret_error = "the answer is not a list of EndpointSlices";
	else if (list.n == 0)
		*ret_error = "no API server is in the EndpointSlices";
	json_decref(root);
	if (list.n == 0)
		return -EBADMSG;
	*ret_list = list;
	return 0;
}

/* A query may hold slashes and more equals signs (RFC 3986, section 3.4). */
#define TARGET                                      \
	"/apis/discovery.k8s.io/v1/namespaces/default/" \
	"endpointslices?labelSelector=kubernetes.io/service-name=kubernetes"
/* Two slices of five endpoints have some 4 kB. */
#define BODY_MAX_BYTES (256 * 1024)
#define TIMEOUT_MS 5000

struct slices {
	struct search search;
	struct http *http;
	struct http_req *req; /* under way, or NULL */
};

/* Either list or error. */
static void report(struct slices *s, const struct endpoints_list *list, const char *error)
{
	search_again(&s->search, list == NULL);
	s->search.found(list, error, s->search.userdata);
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
		report(s, NULL, readyz_describe(response, reason));
	else if (response->status != 200)
		report(s, NULL, describe_status(response->status, status));
	else if (response->body_len == BODY_MAX_BYTES)
		report(s, NULL, "the answer is too long");
	else if (slicelist_parse(response->body, response->body_len, &list, &error) < 0)
		report(s, NULL, error);
	else
		report(s, &list, NULL);
}

static int ask(struct slices *s, const struct kubeconfig *k)
{
	const struct settings *settings = s->search.settings;
	char through[ENDPOINT_TEXT_MAX];
	AUTO(free)
	char *url = xasprintf("https://%s" TARGET, endpoint_format(&settings->through, through));
	struct http_request request = {
	    .url = url,
	    .timeout_ms = TIMEOUT_MS,
	    .max_body_bytes = BODY_MAX_BYTES,
	};

	kubeconfig_identify(k, &request);
	if (request.server_name == NULL)
		request.server_name = settings->server_name;
	if (request.ca_file == NULL && request.ca_pem == NULL)
		request.ca_file = settings->ca_file;
	return http_send(s->http, &request, done_cb, s, &s->req);
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct slices *s = CONTAINER_OF(w, struct slices, search.timer);
	AUTO(kubeconfig_free) struct kubeconfig *k = NULL;
	char why[FOUND_ERROR_MAX / 2], error[FOUND_ERROR_MAX];
	int r;

	r = kubeconfig_read(s->search.settings->kubeconfig, why, sizeof(why), &k);
	if (r == 0) {
		r = ask(s, k);
		if (r == 0)
			return;
		if (r == -EINVAL)
			(void) snprintf(why, sizeof(why), "tls-server-name is not the name of a host");
		else
			(void) snprintf(why, sizeof(why), "the user's token: %s", strerror(-r));
	}
	(void) snprintf(error, sizeof(error), "kubeconfig %s: %s", s->search.settings->kubeconfig, why);
	report(s, NULL, error);
}

int slices_new(struct ev_loop *ev, const struct settings *settings, found_fn found, void *userdata,
               struct slices **ret_slices)
{
	AUTO(slices_free) struct slices *s = NEW0(struct slices);
	int r;

	r = http_new(ev, &s->http);
	if (r < 0)
		return r;
	search_begin(&s->search, ev, settings, settings->slices_interval_us, timer_cb, found, userdata);
	*ret_slices = TAKE_PTR(s);
	return 0;
}

void slices_free(struct slices *s)
{
	if (s == NULL)
		return;
	search_end(&s->search);
	http_cancel(s->req);
	http_free(s->http);
	free(s);
}
