/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request at a time: the post, then the same object each PAUSE_US until its status has a
 * certificate or says that there will be none. A question that fails is asked again, but the post
 * is not: it may have been done.
 */
#include "prism/probe/signing.h"

#include <errno.h>
#include <ev.h>
#include <jansson.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/endpoint.h"
#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/printable.h"
#include "prism/probe/kubeconfig.h"
#include "web/http.h"
#include "web/readyz.h"

#define COLLECTION "/apis/certificates.k8s.io/v1/certificatesigningrequests"
#define SIGNER "kubernetes.io/kube-apiserver-client"
#define EXPIRATION_S (365 * 24 * 3600)
#define PAUSE_US (2 * US_PER_S)
#define TIMEOUT_MS 10000
#define BODY_MAX_BYTES 131072
#define REQUEST_MAX_BYTES 16384
/* What a name of an object may be long (RFC 1123, as Kubernetes has it), and a reason is shown. */
#define NAME_MAX_BYTES 253
#define REASON_SHOWN 200

struct signing {
	struct ev_loop *ev;
	struct http *http;
	struct http_req *req;
	const struct kubeconfig *kubeconfig;
	struct addr server;
	char *name; /* of the object; NULL until the API server has named it */
	ev_timer again;
	int64_t until_us;
	int exit_code;
};

static void end(struct signing *s, int exit_code)
{
	s->exit_code = exit_code;
	ev_break(s->ev, EVBREAK_ALL);
}

/* What others say is shown with visible characters alone. */
static void fail(struct signing *s, const char *what, const char *why)
{
	AUTO(free) char *text = xasprintf("%s: %.*s", what, REASON_SHOWN, why);

	printable_ascii(text);
	(void) fprintf(stderr, "fairlead: %s\n", text);
	end(s, EXIT_FAILURE);
}

static const char *text_in(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "";
}

/* --- asking --- */

static void answer_cb(const struct http_response *response, void *userdata);

/* NULL: the object itself is asked for. */
static void ask(struct signing *s, const char *body)
{
	const struct kubeconfig *k = s->kubeconfig;
	AUTO(free)
	char *url = xasprintf("%s" COLLECTION "%s%s", k->server, s->name != NULL ? "/" : "",
	                      s->name != NULL ? s->name : "");
	struct http_request request = {
	    .method = body != NULL ? "POST" : "GET",
	    .body = body,
	    .url = url,
	    .connect_to = s->server,
	    .timeout_ms = TIMEOUT_MS,
	    .max_body_bytes = BODY_MAX_BYTES,
	};
	int r;

	kubeconfig_identify(k, &request);
	r = http_send(s->http, &request, answer_cb, s, &s->req);
	if (r < 0)
		fail(s, "cannot ask the API server of the kubeconfig", strerror(-r));
}

static void again_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	ask(CONTAINER_OF(w, struct signing, again), NULL);
}

static void ask_again(struct signing *s)
{
	if (mono_now_us() >= s->until_us) {
		fail(s, s->name, "it was not approved in time; run this again");
		return;
	}
	ev_timer_set(&s->again, mono_to_ev(PAUSE_US), 0.);
	ev_timer_start(s->ev, &s->again);
}

/* --- answers --- */

static void take_name(struct signing *s, const json_t *object)
{
	const char *name = text_in(json_object_get(object, "metadata"), "name");
	size_t len = strlen(name);

	if (len == 0 || len > NAME_MAX_BYTES ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") != len) {
		fail(s, "the API server's answer has no name of the request", name);
		return;
	}
	s->name = xstrdup(name);
	(void) fprintf(stderr,
	               "The cluster is asked to sign it. An administrator approves that:\n"
	               "  kubectl certificate approve %s\n",
	               name);
	ask_again(s);
}

static void take_status(struct signing *s, const json_t *object)
{
	const json_t *status = json_object_get(object, "status"), *condition;
	const char *encoded = text_in(status, "certificate");
	AUTO(free) char *certificate = NULL;
	size_t len, i;

	json_array_foreach(json_object_get(status, "conditions"), i, condition)
	{
		const char *type = text_in(condition, "type");

		if (strcmp(type, "Denied") == 0 || strcmp(type, "Failed") == 0) {
			AUTO(free) char *what = xasprintf("%s: %s", s->name, type);

			fail(s, what, text_in(condition, "message"));
			return;
		}
	}
	if (encoded[0] == '\0') {
		ask_again(s);
	} else if (base64_decode(encoded, &certificate, &len) < 0 || strlen(certificate) != len) {
		fail(s, s->name, "its certificate is not base64 of a text");
	} else {
		(void) fputs(certificate, stdout);
		end(s, fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
	}
}

static void answer_cb(const struct http_response *response, void *userdata)
{
	struct signing *s = userdata;
	char reason[READYZ_REASON_MAX];
	json_t *object;

	s->req = NULL;
	if (response->failure != HTTP_OK && s->name != NULL) {
		ask_again(s);
		return;
	}
	if (response->failure != HTTP_OK) {
		fail(s, "the API server of the kubeconfig", readyz_describe(response, reason));
		return;
	}
	object = json_loadb(response->body, response->body_len, 0, NULL);
	if (response->status >= 500 && s->name != NULL) {
		ask_again(s);
	} else if (response->status >= 300) {
		AUTO(free) char *what = xasprintf("the API server answers %d", response->status);

		fail(s, what, text_in(object, "message"));
	} else if (s->name == NULL) {
		take_name(s, object);
	} else {
		take_status(s, object);
	}
	json_decref(object);
}

/* --- the run --- */

/* The body of the post, to be freed. */
static char *write_object(const char *request)
{
	AUTO(free) char *encoded = base64_encode(request, strlen(request));
	json_t *object = json_pack("{s:s, s:s, s:{s:s}, s:{s:s, s:s, s:i, s:[s, s]}}", "apiVersion",
	                           "certificates.k8s.io/v1", "kind", "CertificateSigningRequest",
	                           "metadata", "generateName", "fairlead-probe-", "spec", "request",
	                           encoded, "signerName", SIGNER, "expirationSeconds", EXPIRATION_S,
	                           "usages", "digital signature", "client auth");
	char *text = json_dumps(object, JSON_COMPACT);

	json_decref(object);
	return text;
}

/* The first address of the host of an URL. 0 or an error of getaddrinfo(3). */
static int resolve(const char *url, struct addr *ret_addr)
{
	static const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	const char *begin = strstr(url, "://");
	AUTO(free) char *host = NULL;
	struct endpoint endpoint;
	struct addrinfo *found;
	int r;

	begin = begin != NULL ? begin + 3 : url;
	host = begin[0] == '[' ? xstrndup(begin + 1, strcspn(begin + 1, "]"))
	                       : xstrndup(begin, strcspn(begin, ":/"));
	r = getaddrinfo(host, NULL, &hints, &found);
	if (r != 0)
		return r;
	r = endpoint_from_sockaddr(found->ai_addr, &endpoint) < 0 ? EAI_FAMILY : 0;
	freeaddrinfo(found);
	if (r == 0)
		*ret_addr = endpoint.addr;
	return r;
}

static int run(struct signing *s, const char *request)
{
	AUTO(free) char *body = write_object(request);
	int r;

	s->ev = ev_default_loop(EVFLAG_AUTO);
	r = s->ev != NULL ? http_new(s->ev, &s->http) : -ENOSYS;
	if (r < 0) {
		(void) fprintf(stderr, "fairlead: cannot begin: %s\n", strerror(-r));
		return EXIT_FAILURE;
	}
	ev_timer_init(&s->again, again_cb, 0., 0.);
	s->until_us = mono_now_us() + SIGNING_WAIT_US;
	ask(s, body);
	if (s->req != NULL)
		ev_run(s->ev, 0);
	ev_timer_stop(s->ev, &s->again);
	http_cancel(s->req);
	http_free(s->http);
	free(s->name);
	return s->exit_code;
}

int signing_run(const char *path, const char *request_file)
{
	AUTO(kubeconfig_free) struct kubeconfig *k = NULL;
	struct signing s = {.exit_code = EXIT_FAILURE};
	AUTO(free) char *request = NULL;
	char why[READYZ_REASON_MAX];
	size_t len;
	int r;

	r = kubeconfig_read(path, why, sizeof(why), &k);
	if (r == 0 && k->server == NULL)
		(void) snprintf(why, sizeof(why), "the cluster has no server that begins with https://");
	if (r < 0 || k->server == NULL) {
		(void) fprintf(stderr, "fairlead: kubeconfig %s: %s\n", path, why);
		return EXIT_FAILURE;
	}
	r = file_read(request_file, REQUEST_MAX_BYTES, &request, &len);
	if (r < 0) {
		(void) fprintf(stderr, "fairlead: cannot read '%s': %s\n", request_file, strerror(-r));
		return EXIT_FAILURE;
	}
	r = resolve(k->server, &s.server);
	if (r != 0) {
		(void) fprintf(stderr, "fairlead: kubeconfig %s: '%s': %s\n", path, k->server,
		               gai_strerror(r));
		return EXIT_FAILURE;
	}
	s.kubeconfig = k;
	return run(&s, request);
}
