/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns libcurl's multi handle and translates between it and the loop: curl names descriptors and
 * one timeout, the loop says when they are due. A request is one easy handle. It is `active` while
 * curl has it, then `finished` until a timer of zero length hands its answer over, one a turn of
 * the loop; so no callback of ours runs inside curl, and a callback may send, cancel and free as it
 * likes.
 *
 * libcurl's defaults that a daemon cannot use are set off here, for every request: resolving names,
 * proxies from the environment, signals, redirects, other protocols; and in credentials.c, where
 * files are read, whatever would outlive a certificate that rotates on disk.
 */
#include "web/http.h"

#include <assert.h>
#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/endpoint.h"
#include "base/loop.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "web/credentials.h"

/* Idle connections that are kept. */
#define CONNECTIONS_MAX 16
/* An older connection is not reused: the peer's certificate, or ours, may have rotated meanwhile.
 */
#define CONNECTION_AGE_MAX_S 600L
/* A body may exceed its limit by this much before the connection is given up instead. */
#define BODY_DRAIN_BYTES 65536

#define RETRY_AFTER_MAX_S (24 * 3600)

struct http_socket {
	struct http *http;
	curl_socket_t fd;
	ev_io watcher;
	LIST_ENTRY(http_socket) entry;
};

struct http_req {
	struct http *http;
	CURL *easy;
	bool finished; /* which of the two lists it is in */
	bool handshake_only;
	int64_t not_after_us;
	CURLcode result;
	struct addr dialled;
	struct curl_slist *connect_to;
	struct curl_slist *headers;
	char error[CURL_ERROR_SIZE];
	char *ca_name; /* our files, for the sentence when one of them is unusable; or NULL */
	char *cert_name;
	char *sentence;
	char *body; /* max_body_bytes and a NUL */
	size_t body_len;
	size_t max_body_bytes;
	size_t dropped_bytes;
	struct peer peer;
	http_done_fn done;
	void *userdata;
	TAILQ_ENTRY(http_req) entry;
};

TAILQ_HEAD(req_list, http_req);

struct http {
	struct ev_loop *ev;
	CURLM *multi;
	ev_timer timeout; /* curl's */
	ev_timer deliver; /* runs while `finished` is not empty */
	struct req_list active;
	struct req_list finished;
	LIST_HEAD(, http_socket) sockets;
	int kept_fd;   /* epoll: kept connections, for their peers' end; -1: not watched */
	ev_io kept_io; /* of kept_fd */
	http_closed_fn closed;
	void *closed_userdata;
};

/* --- what happened --- */

static const struct {
	CURLcode code;
	enum http_failure failure;
} failures[] = {
    {CURLE_COULDNT_CONNECT, HTTP_REFUSED},
    {CURLE_COULDNT_RESOLVE_HOST, HTTP_REFUSED},
    {CURLE_SEND_ERROR, HTTP_REFUSED},
    {CURLE_RECV_ERROR, HTTP_REFUSED},
    {CURLE_GOT_NOTHING, HTTP_REFUSED},
    {CURLE_OPERATION_TIMEDOUT, HTTP_TIMEOUT},
    {CURLE_ABORTED_BY_CALLBACK, HTTP_TIMEOUT}, /* too_late_cb() */
    {CURLE_PEER_FAILED_VERIFICATION, HTTP_TLS_PEER},
    {CURLE_SSL_ISSUER_ERROR, HTTP_TLS_PEER},
    {CURLE_SSL_INVALIDCERTSTATUS, HTTP_TLS_PEER},
    {CURLE_SSL_CONNECT_ERROR, HTTP_TLS_OTHER},
    {CURLE_SSL_CERTPROBLEM, HTTP_TLS_OTHER},
    {CURLE_SSL_CIPHER, HTTP_TLS_OTHER},
    {CURLE_SSL_CACERT_BADFILE, HTTP_TLS_OTHER},
    {CURLE_SSL_CLIENTCERT, HTTP_TLS_OTHER},
};

/* libcurl knows its own port when the connection is made (CURLINFO_LOCAL_PORT(3)). */
static bool was_connected(const struct http_req *req)
{
	long port = 0;

	(void) curl_easy_getinfo(req->easy, CURLINFO_LOCAL_PORT, &port);
	return port > 0;
}

/* The kernel's word, since to libcurl every end of a handshake is the same (CURLINFO_OS_ERRNO(3)). */
static int os_error(const struct http_req *req)
{
	long error = 0;

	(void) curl_easy_getinfo(req->easy, CURLINFO_OS_ERRNO, &error);
	return (int) error;
}

static bool was_reset(const struct http_req *req)
{
	int error = os_error(req);

	return error == ECONNRESET || error == EPIPE;
}

/* The kernel takes an address of its own as the source of what it sends there; on loopback it may
 * be another one of 127.0.0.0/8. */
static bool is_own(const struct addr *addr)
{
	struct endpoint peer = {.addr = *addr, .port = 9}, source;
	struct sockaddr_storage name;
	socklen_t len = endpoint_to_sockaddr(&peer, &name);
	/* Connecting a datagram socket only chooses the route (udp(7)). */
	AUTO(close) int fd = socket(addr->family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (addr_is_loopback(addr))
		return true;
	if (fd < 0 || connect(fd, (const struct sockaddr *) &name, len) < 0)
		return false;
	len = sizeof(name);
	return getsockname(fd, (struct sockaddr *) &name, &len) == 0 &&
	       endpoint_from_sockaddr((const struct sockaddr *) &name, &source) == 0 &&
	       addr_equal(&source.addr, addr);
}

/* Of a connection that was kept before, the handshake tells nothing of the peer now. */
static bool has_shaken_hands(const struct http_req *req)
{
	curl_off_t handshake_us = 0;
	long made = 0;

	(void) curl_easy_getinfo(req->easy, CURLINFO_APPCONNECT_TIME_T, &handshake_us);
	(void) curl_easy_getinfo(req->easy, CURLINFO_NUM_CONNECTS, &made);
	return handshake_us > 0 && made > 0;
}

static bool was_refused_here(const struct http_req *req)
{
	return req->result == CURLE_COULDNT_CONNECT && os_error(req) == ECONNREFUSED &&
	       is_own(&req->dialled);
}

static enum http_failure classify(const struct http_req *req, int status)
{
	/* Cut by us, because it was longer than anyone wants to know. */
	if (req->result == CURLE_WRITE_ERROR && req->dropped_bytes > 0 && status > 0)
		return HTTP_OK;
	if (req->result == CURLE_OK)
		return status > 0 || req->handshake_only ? HTTP_OK : HTTP_PROTOCOL;
	for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
		if (failures[i].code != req->result)
			continue;
		/* Reset in the middle of an answer: somebody is there. */
		if (failures[i].failure == HTTP_REFUSED && status > 0)
			return HTTP_PROTOCOL;
		if (failures[i].failure == HTTP_TIMEOUT && !was_connected(req))
			return HTTP_UNREACHED;
		if (req->result == CURLE_SSL_CONNECT_ERROR && was_reset(req))
			return HTTP_REFUSED;
		return failures[i].failure;
	}
	return HTTP_PROTOCOL;
}

const char *http_failure_name(enum http_failure failure)
{
	static const char *const names[] = {
	    [HTTP_OK] = "ok",
	    [HTTP_REFUSED] = "refused",
	    [HTTP_UNREACHED] = "unreached",
	    [HTTP_TIMEOUT] = "timeout",
	    [HTTP_TLS_PEER] = "tls-peer",
	    [HTTP_TLS_OTHER] = "tls",
	    [HTTP_PROTOCOL] = "protocol",
	};

	return names[failure];
}

/* curl's own words, and the file that they are about, which curl was not told (credentials.c). */
static const char *failure_text(struct http_req *req)
{
	const char *text = req->error[0] != '\0' ? req->error : curl_easy_strerror(req->result);
	const char *name = NULL;

	if (req->result == CURLE_ABORTED_BY_CALLBACK)
		return "its time was over before it was sent";
	if (req->result == CURLE_SSL_CACERT_BADFILE)
		name = req->ca_name;
	else if (req->result == CURLE_SSL_CERTPROBLEM)
		name = req->cert_name;
	if (name == NULL)
		return text;
	req->sentence = xasprintf("%s: %s", name, text);
	return req->sentence;
}

static void describe(struct http_req *req, struct http_response *ret_response)
{
	curl_off_t sent_us = 0, answer_us = 0, retry_after_s = 0;
	double total_s = 0;
	long status = 0;

	(void) curl_easy_getinfo(req->easy, CURLINFO_RESPONSE_CODE, &status);
	(void) curl_easy_getinfo(req->easy, CURLINFO_TOTAL_TIME, &total_s);
	(void) curl_easy_getinfo(req->easy, CURLINFO_PRETRANSFER_TIME_T, &sent_us);
	(void) curl_easy_getinfo(req->easy, CURLINFO_STARTTRANSFER_TIME_T, &answer_us);
	(void) curl_easy_getinfo(req->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
	*ret_response = (struct http_response){
	    .failure = classify(req, (int) status),
	    .failure_text = "",
	    .refused_here = was_refused_here(req),
	    .os_error = os_error(req),
	    .shook_hands = has_shaken_hands(req),
	    .body = req->body,
	    .body_len = req->body_len,
	    .retry_after_s = (unsigned) MIN(MAX(retry_after_s, 0), RETRY_AFTER_MAX_S),
	    .total_s = total_s,
	    .request_us = MAX(answer_us - sent_us, 0),
	    .peer = req->peer.seen,
	};
	if (ret_response->failure == HTTP_OK)
		ret_response->status = (int) status;
	else
		ret_response->failure_text = failure_text(req);
}

/* --- one request --- */

/* It is in no list and curl does not have it. */
static void req_free(struct http_req *req)
{
	curl_easy_cleanup(req->easy);
	curl_slist_free_all(req->connect_to);
	curl_slist_free_all(req->headers);
	free(req->ca_name);
	free(req->cert_name);
	free(req->sentence);
	free(req->body);
	free(req);
}
DEFINE_AUTO(struct http_req, req_free);

static size_t body_cb(char *data, size_t size, size_t n, void *userdata)
{
	struct http_req *req = userdata;
	size_t len = size * n;
	size_t kept = MIN(len, req->max_body_bytes - req->body_len);

	memcpy(req->body + req->body_len, data, kept);
	req->body_len += kept;
	req->body[req->body_len] = '\0';
	req->dropped_bytes += len - kept;
	/* Anything but `len` ends the transfer. */
	return req->dropped_bytes > BODY_DRAIN_BYTES ? 0 : len;
}

/* CURLOPT_PREREQFUNCTION: there is a connection, and the request would be written next. Time limits
 * of curl's own begin only when the loop lets it work. */
static int too_late_cb(void *userdata, char *ip UNUSED, char *local_ip UNUSED, int port UNUSED,
                       int local_port UNUSED)
{
	const struct http_req *req = userdata;

	return mono_now_us() < req->not_after_us ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

static void dial(struct http_req *req, const struct addr *addr)
{
	char text[ADDR_TEXT_MAX], entry[ADDR_TEXT_MAX + 8];

	req->dialled = *addr;
	/* Whatever host and port: this address, the same port (CURLOPT_CONNECT_TO(3)). */
	(void) snprintf(entry, sizeof(entry),
	                addr->family == AF_INET6 ? "::[%s]:" : "::%s:", addr_format(addr, text));
	req->connect_to = curl_slist_append(NULL, entry);
	(void) curl_easy_setopt(req->easy, CURLOPT_CONNECT_TO, req->connect_to);
}

/* An IPv6 host has brackets in a URL. */
static int parse_host(char *host, struct addr *ret_addr)
{
	if (host[0] != '[')
		return addr_parse(host, ret_addr);
	host[strcspn(host, "]")] = '\0';
	return addr_parse(host + 1, ret_addr);
}

/* No resolver may run: the host is an address, or an address was given. */
static int parse_target(CURLU *url, const struct http_request *request, struct addr *ret_addr)
{
	char *host = NULL;
	int r = 0;

	if (curl_url_set(url, CURLUPART_URL, request->url, 0) != CURLUE_OK ||
	    curl_url_get(url, CURLUPART_HOST, &host, 0) != CURLUE_OK)
		return -EINVAL;
	if (addr_is_set(&request->connect_to))
		*ret_addr = request->connect_to;
	else
		r = parse_host(host, ret_addr);
	curl_free(host);
	return r;
}

/* An IPv6 address as the name to verify has brackets in a URL, and none in a certificate. */
static CURLUcode set_host(CURLU *url, const char *server_name)
{
	AUTO(free) char *bracketed = xasprintf("[%s]", server_name);
	struct addr addr;
	bool is_v6 = addr_parse(server_name, &addr) == 0 && addr.family == AF_INET6;

	return curl_url_set(url, CURLUPART_HOST, is_v6 ? bracketed : server_name, 0);
}

static int set_target(struct http_req *req, const struct http_request *request)
{
	CURLU *url = curl_url();
	char *text = NULL;
	struct addr addr;
	int r;

	r = parse_target(url, request, &addr);
	if (r == 0 && request->server_name != NULL && set_host(url, request->server_name) != CURLUE_OK)
		r = -EINVAL;
	if (r == 0 && curl_url_get(url, CURLUPART_URL, &text, 0) != CURLUE_OK)
		r = -EINVAL;
	curl_url_cleanup(url);
	if (r < 0)
		return r;
	dial(req, &addr);
	(void) curl_easy_setopt(req->easy, CURLOPT_URL, text);
	curl_free(text);
	return 0;
}

static void set_method(struct http_req *req, const struct http_request *request)
{
	if (request->body != NULL) {
		(void) curl_easy_setopt(req->easy, CURLOPT_COPYPOSTFIELDS, request->body);
		req->headers = curl_slist_append(req->headers, "Content-Type: application/json");
		(void) curl_easy_setopt(req->easy, CURLOPT_HTTPHEADER, req->headers);
	}
	(void) curl_easy_setopt(req->easy, CURLOPT_CUSTOMREQUEST, request->method);
}

static void set_options(struct http_req *req, const struct http_request *request)
{
	CURL *easy = req->easy;

	(void) curl_easy_setopt(easy, CURLOPT_PRIVATE, req);
	(void) curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, req->error);
	(void) curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	(void) curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long) CURL_HTTP_VERSION_1_1);
	(void) curl_easy_setopt(easy, CURLOPT_USERAGENT, "fairlead/" FAIRLEAD_VERSION);
	(void) curl_easy_setopt(easy, CURLOPT_PROXY, "");
	(void) curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	(void) curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	(void) curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long) request->timeout_ms);
	(void) curl_easy_setopt(easy, CURLOPT_MAXLIFETIME_CONN, CONNECTION_AGE_MAX_S);
	(void) curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, body_cb);
	(void) curl_easy_setopt(easy, CURLOPT_WRITEDATA, req);
	if (request->method != NULL && strcmp(request->method, "HEAD") == 0)
		(void) curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
	else if (request->method != NULL && strcmp(request->method, "GET") != 0)
		set_method(req, request);
	if (request->not_after_us != 0) {
		req->not_after_us = request->not_after_us;
		(void) curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, too_late_cb);
		(void) curl_easy_setopt(easy, CURLOPT_PREREQDATA, req);
	}
	if (request->handshake_only) {
		/* Takes no kept connection, and keeps none. */
		req->handshake_only = true;
		(void) curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
	}
	credentials_set_tls(easy, request);
	if (request->tell_peer)
		peer_watch(&req->peer, easy);
	if (request->ca_pem == NULL && request->ca_file != NULL)
		req->ca_name = xasprintf("CA file '%s'", request->ca_file);
	if (request->client_cert_pem == NULL && request->client_cert_file != NULL)
		req->cert_name = xasprintf("client certificate '%s'", request->client_cert_file);
}

int http_send(struct http *http, const struct http_request *request, http_done_fn done,
              void *userdata, struct http_req **ret_req)
{
	AUTO(req_free) struct http_req *req = NULL;
	int r;

	/* To curl, zero means forever. */
	if (request->timeout_ms == 0)
		return -EINVAL;
	req = NEW0(struct http_req);
	req->http = http;
	req->done = done;
	req->userdata = userdata;
	req->max_body_bytes = request->max_body_bytes;
	req->body = xcalloc(1, request->max_body_bytes + 1);
	req->easy = curl_easy_init();
	if (req->easy == NULL)
		return -ENOMEM;
	set_options(req, request);
	r = set_target(req, request);
	if (r < 0)
		return r;
	r = credentials_set_token(req->easy, request, &req->headers);
	if (r < 0)
		return r;
	/* Nothing is sent yet: curl asks for a timeout of zero, which the loop grants. */
	if (curl_multi_add_handle(http->multi, req->easy) != CURLM_OK)
		return -ENOMEM;
	TAILQ_INSERT_TAIL(&http->active, req, entry);
	*ret_req = TAKE_PTR(req);
	return 0;
}

void http_cancel(struct http_req *req)
{
	struct http *http;

	if (req == NULL)
		return;
	http = req->http;
	if (req->finished) {
		TAILQ_REMOVE(&http->finished, req, entry);
	} else {
		TAILQ_REMOVE(&http->active, req, entry);
		(void) curl_multi_remove_handle(http->multi, req->easy);
	}
	req_free(req);
}

/* --- between curl and the loop --- */

/* Hands over one answer. The callback may free everything, so it comes last; the request is ours.
 */
static void deliver_cb(struct ev_loop *ev, ev_timer *w, int revents UNUSED)
{
	struct http *http = CONTAINER_OF(w, struct http, deliver);
	AUTO(req_free) struct http_req *req = TAILQ_FIRST(&http->finished);
	struct http_response response;

	if (req == NULL)
		return;
	TAILQ_REMOVE(&http->finished, req, entry);
	if (!TAILQ_EMPTY(&http->finished))
		ev_timer_start(ev, w);
	describe(req, &response);
	req->done(&response, req->userdata);
}

/*
 * After a request its connection is curl's, which looks at it again only before it uses it. So the
 * descriptor is put into an epoll set that waits for nothing but the peer's end (EPOLLHUP and
 * EPOLLERR are always in it), once, and leaves the set when curl closes it (epoll(7)).
 */
static void watch_kept(struct http *http, CURL *easy)
{
	struct epoll_event end = {.events = EPOLLRDHUP | EPOLLONESHOT};
	curl_socket_t fd = CURL_SOCKET_BAD;

	if (http->kept_fd < 0 || curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &fd) != CURLE_OK ||
	    fd == CURL_SOCKET_BAD)
		return;
	/* EEXIST: it was kept before, and is watched still. */
	(void) epoll_ctl(http->kept_fd, EPOLL_CTL_ADD, fd, &end);
}

static void kept_cb(struct ev_loop *ev UNUSED, ev_io *w, int revents)
{
	struct http *http = CONTAINER_OF(w, struct http, kept_io);
	struct epoll_event events[CONNECTIONS_MAX];

	loop_expect_watched(revents);
	if (epoll_wait(http->kept_fd, events, CONNECTIONS_MAX, 0) > 0)
		http->closed(http->closed_userdata);
}

int http_watch_closed(struct http *http, http_closed_fn closed, void *userdata)
{
	assert(http->kept_fd < 0);
	http->kept_fd = epoll_create1(EPOLL_CLOEXEC);
	if (http->kept_fd < 0)
		return -errno;
	http->closed = closed;
	http->closed_userdata = userdata;
	ev_io_init(&http->kept_io, kept_cb, http->kept_fd, EV_READ);
	ev_io_start(http->ev, &http->kept_io);
	return 0;
}

/* Lets curl work on a descriptor, or on its timeouts, and collects what is complete. */
static void act(struct http *http, curl_socket_t fd, int events)
{
	CURLMsg *message;
	int n;

	(void) curl_multi_socket_action(http->multi, fd, events, &n);
	while ((message = curl_multi_info_read(http->multi, &n)) != NULL) {
		struct http_req *req = NULL;
		CURLcode result = message->data.result;

		if (message->msg != CURLMSG_DONE)
			continue;
		(void) curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **) &req);
		watch_kept(http, req->easy);
		/* The message is gone when the handle is. */
		(void) curl_multi_remove_handle(http->multi, req->easy);
		req->result = result;
		req->finished = true;
		TAILQ_REMOVE(&http->active, req, entry);
		TAILQ_INSERT_TAIL(&http->finished, req, entry);
		ev_timer_start(http->ev, &http->deliver);
	}
}

static void socket_event_cb(struct ev_loop *ev UNUSED, ev_io *w, int revents)
{
	struct http_socket *s = CONTAINER_OF(w, struct http_socket, watcher);

	loop_expect_watched(revents);
	act(s->http, s->fd,
	    ((revents & EV_READ) != 0 ? CURL_CSELECT_IN : 0) |
	        ((revents & EV_WRITE) != 0 ? CURL_CSELECT_OUT : 0));
}

static void timeout_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	act(CONTAINER_OF(w, struct http, timeout), CURL_SOCKET_TIMEOUT, 0);
}

static void socket_free(struct http_socket *s)
{
	ev_io_stop(s->http->ev, &s->watcher);
	LIST_REMOVE(s, entry);
	free(s);
}

/* CURLMOPT_SOCKETFUNCTION: what curl wants to know of a descriptor. */
static int watch_socket_cb(CURL *easy UNUSED, curl_socket_t fd, int what, void *userdata,
                           void *socket_data)
{
	struct http *http = userdata;
	struct http_socket *s = socket_data;
	int events = 0;

	if (what == CURL_POLL_REMOVE) {
		if (s != NULL)
			socket_free(s);
		return 0;
	}
	if (s == NULL) {
		s = NEW0(struct http_socket);
		s->http = http;
		s->fd = fd;
		ev_init(&s->watcher, socket_event_cb);
		LIST_INSERT_HEAD(&http->sockets, s, entry);
		(void) curl_multi_assign(http->multi, fd, s);
	}
	if ((what & CURL_POLL_IN) != 0)
		events |= EV_READ;
	if ((what & CURL_POLL_OUT) != 0)
		events |= EV_WRITE;
	ev_io_stop(http->ev, &s->watcher);
	ev_io_set(&s->watcher, fd, events);
	ev_io_start(http->ev, &s->watcher);
	return 0;
}

/* CURLMOPT_TIMERFUNCTION: when curl wants to be called; -1: not at all. */
static int set_timeout_cb(CURLM *multi UNUSED, long timeout_ms, void *userdata)
{
	struct http *http = userdata;

	ev_timer_stop(http->ev, &http->timeout);
	if (timeout_ms >= 0) {
		ev_timer_set(&http->timeout, (double) timeout_ms / 1000., 0.);
		ev_timer_start(http->ev, &http->timeout);
	}
	return 0;
}

int http_new(struct ev_loop *ev, struct http **ret_http)
{
	struct http *http;
	CURLM *multi;

	/* Counted by libcurl: each has its curl_global_cleanup(). */
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return -ENOMEM;
	multi = curl_multi_init();
	if (multi == NULL) {
		curl_global_cleanup();
		return -ENOMEM;
	}
	http = NEW0(struct http);
	http->ev = ev;
	http->multi = multi;
	http->kept_fd = -1;
	TAILQ_INIT(&http->active);
	TAILQ_INIT(&http->finished);
	LIST_INIT(&http->sockets);
	ev_init(&http->timeout, timeout_cb);
	ev_timer_init(&http->deliver, deliver_cb, 0., 0.);
	(void) curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, watch_socket_cb);
	(void) curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, http);
	(void) curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, set_timeout_cb);
	(void) curl_multi_setopt(multi, CURLMOPT_TIMERDATA, http);
	(void) curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long) CONNECTIONS_MAX);
	*ret_http = http;
	return 0;
}

void http_free(struct http *http)
{
	if (http == NULL)
		return;
	while (!TAILQ_EMPTY(&http->active))
		http_cancel(TAILQ_FIRST(&http->active));
	while (!TAILQ_EMPTY(&http->finished))
		http_cancel(TAILQ_FIRST(&http->finished));
	/* Closing the kept connections must not watch anything again. */
	(void) curl_multi_setopt(http->multi, CURLMOPT_SOCKETFUNCTION, NULL);
	(void) curl_multi_setopt(http->multi, CURLMOPT_TIMERFUNCTION, NULL);
	(void) curl_multi_cleanup(http->multi);
	while (!LIST_EMPTY(&http->sockets))
		socket_free(LIST_FIRST(&http->sockets));
	ev_timer_stop(http->ev, &http->timeout);
	ev_timer_stop(http->ev, &http->deliver);
	if (http->kept_fd >= 0) {
		ev_io_stop(http->ev, &http->kept_io);
		(void) close(http->kept_fd);
	}
	curl_global_cleanup();
	free(http);
}
