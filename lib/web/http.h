/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HTTP requests on the loop: libcurl's multi interface driven by libev watchers. Nothing blocks:
 * hosts are IP addresses or are dialled at one (`connect_to`), so no resolver runs. Redirects are
 * not followed, proxies in the environment are ignored, bodies are cut at a limit. Connections are
 * kept and reused by libcurl. Loop thread only.
 */

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/cleanup.h"

struct http;
struct http_req;

struct http_request {
	const char *method; /* "GET"; NULL means GET */
	const char *body;   /* JSON, with another method than GET and HEAD; NULL: none */
	const char *url;    /* https://kubernetes:6443/readyz */
	/* Dial this address, whatever the URL's host; AF_UNSPEC: the host is an IP. */
	struct addr connect_to;
	/* The URL's host is an IP: dial that, but ask for this name and verify it. NULL: the host
	 * itself. */
	const char *server_name;
	/* Files are read anew for each request, and a connection that was made with what they held
	 * before is not used again: what rotates on disk needs no restart. */
	const char *ca_file;          /* verify the peer against this; NULL: system store */
	const char *client_cert_file; /* or NULL */
	const char *client_key_file;
	const char *bearer_token_file; /* or NULL */
	/* The contents themselves, each instead of its file; or NULL. */
	const char *ca_pem;
	const char *client_cert_pem;
	const char *client_key_pem;
	const char *bearer_token;
	bool tell_peer; /* fill in `peer` of the response; takes a connection of its own */
	/* Connect, complete the TLS handshake of https, close: no request is sent. HTTP_OK with status
	 * 0. */
	bool handshake_only;
	unsigned timeout_ms; /* for the whole request; not 0 */
	/* Once the clock (mono.h) says this, the request does not leave any more, however long this
	 * process was stopped on the way: HTTP_TIMEOUT. 0: whenever. */
	int64_t not_after_us;
	size_t max_body_bytes; /* what exceeds it is dropped, not an error */
};

enum http_failure {
	HTTP_OK,        /* there is a status */
	HTTP_REFUSED,   /* refused, unreachable, or reset before any answer */
	HTTP_UNREACHED, /* no connection within timeout_ms: nobody is there, or a firewall drops */
	HTTP_TIMEOUT,   /* connected, and no whole answer within timeout_ms */
	HTTP_TLS_PEER,  /* the peer's certificate or name is wrong */
	HTTP_TLS_OTHER, /* the handshake failed otherwise, or our own files are unusable */
	HTTP_PROTOCOL,  /* what came was not HTTP, or was cut off */
};

/* What can be known of a peer from one answer. */
struct http_peer {
	/* When the certificate that it presented ends, also if it was not accepted; 0: none was seen.
	 */
	int64_t not_after_s;
	/* Its clock, as the header Date has it, in whole seconds since 1970-01-01 UTC; 0: not told. */
	int64_t date_s;
	int64_t date_seen_us; /* wall_now_us() when that came */
};

struct http_response {
	enum http_failure failure;
	const char *failure_text; /* libcurl's own sentence, "" on HTTP_OK */
	/* HTTP_REFUSED by this very machine: nothing listens on the port of the address that was
	 * dialled, which is one of its own. */
	bool refused_here;
	int os_error; /* why a connection could not be made, as errno; 0: not known */
	/* HTTP_TIMEOUT: the handshake on a new connection was done. */
	bool shook_hands;
	int status;       /* 200 ..., 0 unless HTTP_OK */
	const char *body; /* NUL-terminated, borrowed until the callback returns */
	size_t body_len;
	unsigned retry_after_s; /* the header of that name, in seconds from now; 0: not told */
	double total_s;
	int64_t request_us;    /* from the request to the first byte of its answer; 0 without one */
	struct http_peer peer; /* with `tell_peer` */
};

/* Exactly once, never before http_send() returned, never after http_cancel(). */
typedef void (*http_done_fn)(const struct http_response *response, void *userdata);

int http_new(struct ev_loop *ev, struct http **ret_http);
void http_free(struct http *http); /* cancels what is under way */
DEFINE_AUTO(struct http, http_free);

/*
 * Copies the request. 0, or -errno: -EINVAL when the URL cannot be parsed, would need a resolver,
 * or timeout_ms is 0; -EBADMSG for an unusable token, or the error of reading its file. The handle
 * is valid until `done` is called.
 */
int http_send(struct http *http, const struct http_request *request, http_done_fn done,
              void *userdata, struct http_req **ret_req);
void http_cancel(struct http_req *req); /* NULL is fine */

/* A peer has ended a connection that was kept for further requests. Once for each connection; also
 * while another request is under way. It may free the client. */
typedef void (*http_closed_fn)(void *userdata);

/* Calls closed for the connections of all requests from now on; at most once for a client. 0 or
 * -errno. */
int http_watch_closed(struct http *http, http_closed_fn closed, void *userdata);

const char *http_failure_name(enum http_failure failure); /* "refused", "timeout", ... */
