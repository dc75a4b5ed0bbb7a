/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream of gRPC from a server that nghttp2 makes here, on the same loop, and that answers what
 * no server of gRPC would: other content, no status, half a message, more than the window.
 */
#include "etcd/pull.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <nghttp2/nghttp2.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "tests/unit/check.h"
#include "tests/unit/turn.h"

#define KIB ((size_t) 1024)
#define NO_RESET (-1)

static struct ev_loop *ev;

/* --- the server --- */

struct answer {
	const char *http_status;  /* NULL: "200" */
	const char *content_type; /* NULL: gRPC's */
	const char *status;       /* grpc-status in the trailers; NULL: there are none */
	const char *message;      /* grpc-message; NULL: none */
	const uint8_t *body;
	size_t len;
	bool in_headers;  /* the status is, and nothing follows */
	bool stays;       /* the stream is not ended behind the body */
	bool hangs_up;    /* behind the body */
	int reset;        /* 0: none; else the code, or NO_ERROR as NO_RESET */
	const char *junk; /* sent instead of HTTP/2 */
	bool is_mute;     /* takes the connection, and nothing more */
};

static struct {
	int listener;
	int fd; /* -1: nobody is there */
	uint16_t port;
	ev_io accept_io, io;
	nghttp2_session *session;
	struct answer answer;
	size_t sent; /* of the body */
	unsigned n_requests, n_pings;
	char token[64], path[64], authority[64], te[32];
	uint8_t asked[16]; /* what came as the request */
	size_t n_asked;
	uint8_t *out;
	size_t n_out;
} server;

static void server_hang_up(void)
{
	if (server.fd < 0)
		return;
	ev_io_stop(ev, &server.io);
	nghttp2_session_del(server.session);
	(void) close(server.fd);
	server.fd = -1;
	server.n_out = 0;
}

static nghttp2_nv pair(const char *name, const char *value)
{
	return (nghttp2_nv){.name = (uint8_t *) (uintptr_t) name,
	                    .value = (uint8_t *) (uintptr_t) value,
	                    .namelen = strlen(name),
	                    .valuelen = strlen(value)};
}

static ssize_t read_body(nghttp2_session *session, int32_t stream_id, uint8_t *buf, size_t len,
                         uint32_t *flags, nghttp2_data_source *source UNUSED, void *userdata UNUSED)
{
	const struct answer *a = &server.answer;
	size_t n = MIN(len, a->len - server.sent);
	nghttp2_nv trailers[2];
	size_t n_trailers = 0;

	if (a->len > server.sent)
		memcpy(buf, a->body + server.sent, n);
	server.sent += n;
	if (server.sent < a->len)
		return (ssize_t) n;
	if (a->stays || a->hangs_up || a->reset != 0)
		return n > 0 ? (ssize_t) n : NGHTTP2_ERR_DEFERRED;
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	if (a->status != NULL) {
		*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
		trailers[n_trailers++] = pair("grpc-status", a->status);
		if (a->message != NULL)
			trailers[n_trailers++] = pair("grpc-message", a->message);
		CHECK_EQ_INT(nghttp2_submit_trailer(session, stream_id, trailers, n_trailers), 0);
	}
	return (ssize_t) n;
}

static void server_answer(int32_t stream_id)
{
	const struct answer *a = &server.answer;
	const nghttp2_data_provider body = {.read_callback = read_body};
	nghttp2_nv headers[4];
	size_t n = 0;

	headers[n++] = pair(":status", a->http_status != NULL ? a->http_status : "200");
	headers[n++] =
	    pair("content-type", a->content_type != NULL ? a->content_type : "application/grpc");
	if (a->in_headers) {
		headers[n++] = pair("grpc-status", a->status);
		headers[n++] = pair("grpc-message", a->message);
	}
	CHECK_EQ_INT(nghttp2_submit_response(server.session, stream_id, headers, n,
	                                     a->in_headers ? NULL : &body),
	             0);
}

static int on_frame(nghttp2_session *session UNUSED, const nghttp2_frame *frame,
                    void *userdata UNUSED)
{
	bool is_end = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;

	if (frame->hd.type == NGHTTP2_PING)
		server.n_pings++;
	if (frame->hd.type != NGHTTP2_DATA || !is_end)
		return 0;
	server.n_requests++;
	server_answer(frame->hd.stream_id);
	return 0;
}

static int on_request_header(nghttp2_session *session UNUSED, const nghttp2_frame *frame UNUSED,
                             const uint8_t *name, size_t name_len UNUSED, const uint8_t *value,
                             size_t value_len UNUSED, uint8_t flags, void *userdata UNUSED)
{
	const struct {
		const char *name;
		char *to;
		size_t size;
	} kept[] = {{"token", server.token, sizeof(server.token)},
	            {":path", server.path, sizeof(server.path)},
	            {":authority", server.authority, sizeof(server.authority)},
	            {"te", server.te, sizeof(server.te)}};

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		if (strcmp((const char *) name, kept[i].name) == 0)
			(void) snprintf(kept[i].to, kept[i].size, "%s", (const char *) value);
	}
	if (strcmp((const char *) name, "token") == 0)
		CHECK((flags & NGHTTP2_NV_FLAG_NO_INDEX) != 0);
	return 0;
}

static int on_request_data(nghttp2_session *session UNUSED, uint8_t flags UNUSED,
                           int32_t stream_id UNUSED, const uint8_t *data, size_t len,
                           void *userdata UNUSED)
{
	CHECK(server.n_asked + len <= sizeof(server.asked));
	memcpy(server.asked + server.n_asked, data, MIN(len, sizeof(server.asked) - server.n_asked));
	server.n_asked += len;
	return 0;
}

static void server_send(const void *data, size_t len)
{
	server.out = xreallocarray(server.out, server.n_out + len, 1);
	memcpy(server.out + server.n_out, data, len);
	server.n_out += len;
}

/* True: all has left. */
static bool server_flush(void)
{
	while (server.n_out > 0) {
		ssize_t n = send(server.fd, server.out, server.n_out, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		server.n_out -= (size_t) n;
		memmove(server.out, server.out + n, server.n_out);
	}
	return true;
}

static void server_io_cb(struct ev_loop *loop UNUSED, ev_io *w, int revents)
{
	uint8_t in[4096];
	const uint8_t *data;
	ssize_t n;

	if ((revents & EV_READ) != 0) {
		n = recv(server.fd, in, sizeof(in), 0);
		if (n == 0 || (n < 0 && errno != EAGAIN)) {
			server_hang_up();
			return;
		}
		if (n > 0)
			CHECK(nghttp2_session_mem_recv(server.session, in, (size_t) n) == n);
	}
	while (server_flush() && (n = nghttp2_session_mem_send(server.session, &data)) > 0)
		server_send(data, (size_t) n);
	if (server.n_out == 0 && server.n_requests > 0 && server.sent == server.answer.len) {
		if (server.answer.hangs_up) {
			server_hang_up();
			return;
		}
		if (server.answer.reset != 0) {
			uint32_t code = server.answer.reset == NO_RESET ? 0 : (uint32_t) server.answer.reset;

			server.answer.reset = 0;
			server.answer.stays = true;
			CHECK_EQ_INT(nghttp2_submit_rst_stream(server.session, 0, 1, code), 0);
		}
	}
	ev_io_stop(ev, w);
	ev_io_set(w, server.fd,
	          server.n_out > 0 || nghttp2_session_want_write(server.session) != 0
	              ? EV_READ | EV_WRITE
	              : EV_READ);
	ev_io_start(ev, w);
}

static void server_accept_cb(struct ev_loop *loop UNUSED, ev_io *w UNUSED, int revents UNUSED)
{
	nghttp2_session_callbacks *callbacks;

	server_hang_up();
	server.fd = accept4(server.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	CHECK(server.fd >= 0);
	CHECK_EQ_INT(nghttp2_session_callbacks_new(&callbacks), 0);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_request_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_request_data);
	CHECK_EQ_INT(nghttp2_session_server_new(&server.session, callbacks, NULL), 0);
	nghttp2_session_callbacks_del(callbacks);
	if (server.answer.junk != NULL)
		server_send(server.answer.junk, strlen(server.answer.junk));
	else
		CHECK_EQ_INT(nghttp2_submit_settings(server.session, 0, NULL, 0), 0);
	ev_io_init(&server.io, server_io_cb, server.fd, EV_READ | EV_WRITE);
	if (!server.answer.is_mute)
		ev_io_start(ev, &server.io);
}

static void server_listen(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(address);

	server.fd = -1;
	server.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	CHECK_EQ_INT(bind(server.listener, (const struct sockaddr *) &address, len), 0);
	CHECK_EQ_INT(listen(server.listener, 4), 0);
	CHECK_EQ_INT(getsockname(server.listener, (struct sockaddr *) &address, &len), 0);
	server.port = ntohs(address.sin_port);
	ev_io_init(&server.accept_io, server_accept_cb, server.listener, EV_READ);
	ev_io_start(ev, &server.accept_io);
}

/* --- the client --- */

static struct {
	struct pull *pull;
	bool asks;   /* for the next, at once */
	bool closes; /* at the first message */
	unsigned n_messages;
	size_t bytes;
	size_t last_len;
	bool wrong; /* another byte than the body has there */
	unsigned n_ended;
	grpc_status_code code;
	char text[PULL_TEXT_MAX];
} got;

/* Any byte of the messages, counted over all of them. */
static uint8_t byte_at(size_t offset)
{
	return (uint8_t) (offset * 31 + offset / 251);
}

static void on_message(const void *data, size_t len, void *userdata)
{
	CHECK(userdata == &got);
	for (size_t i = 0; i < len; i++)
		got.wrong |= ((const uint8_t *) data)[i] != byte_at(got.bytes + i);
	got.n_messages++;
	got.bytes += len;
	got.last_len = len;
	if (got.asks)
		pull_next(got.pull);
	if (got.closes)
		pull_close(TAKE_PTR(got.pull));
}

static void on_ended(grpc_status_code code, const char *text, void *userdata)
{
	CHECK(userdata == &got);
	got.n_ended++;
	got.code = code;
	got.pull = NULL;
	(void) snprintf(got.text, sizeof(got.text), "%s", text);
}

static void start(const struct answer *answer, bool asks)
{
	static const struct pull_callbacks callbacks = {.message = on_message, .ended = on_ended};
	char text[64];
	struct url url;

	server_hang_up();
	server.answer = *answer;
	server.sent = 0;
	server.n_requests = 0;
	server.n_pings = 0;
	server.n_asked = 0;
	server.token[0] = '\0';
	memset(&got, 0, sizeof(got));
	got.asks = asks;
	(void) snprintf(text, sizeof(text), "http://127.0.0.1:%u", server.port);
	CHECK_EQ_INT(url_parse(text, &url), 0);
	got.pull = pull_open(ev, &url, NULL, "/a.B/C", "secret", &callbacks, &got);
	CHECK_EQ_INT(got.n_messages + got.n_ended, 0);
}

/* Adds a message to a body. */
static size_t put_message(uint8_t *body, size_t at, size_t *offset, size_t len)
{
	body[at++] = 0;
	for (int shift = 24; shift >= 0; shift -= 8)
		body[at++] = (uint8_t) (len >> shift);
	for (size_t i = 0; i < len; i++)
		body[at++] = byte_at((*offset)++);
	return at;
}

/* --- tests --- */

/* Of every length, also of those that the frames cut in the middle of their five bytes. */
static void test_messages(void)
{
	static const size_t lens[] = {0,
	                              1,
	                              5,
	                              16378,
	                              16379,
	                              16380,
	                              16384,
	                              3,
	                              32768,
	                              65535,
	                              100000,
	                              0,
	                              PULL_MESSAGE_MAX_BYTES,
	                              7,
	                              PULL_MESSAGE_MAX_BYTES,
	                              PULL_MESSAGE_MAX_BYTES};
	size_t total = 0, at = 0, offset = 0;
	AUTO(free) uint8_t *body = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(lens); i++)
		total += lens[i] + 5;
	body = xcalloc(1, total);
	for (size_t i = 0; i < ARRAY_SIZE(lens); i++)
		at = put_message(body, at, &offset, lens[i]);

	for (int asks = 0; asks < 2; asks++) {
		start(&(struct answer){.body = body, .len = total, .status = "0"}, asks != 0);
		for (size_t i = 0; asks == 0 && i < ARRAY_SIZE(lens); i++) {
			if (!CHECK(TURN_UNTIL(ev, got.n_messages > i)))
				return;
			CHECK_EQ_INT(got.n_messages, i + 1);
			CHECK_EQ_INT(got.last_len, lens[i]);
			pull_next(got.pull);
			CHECK_EQ_INT(got.n_messages, i + 1);
		}
		CHECK(TURN_UNTIL(ev, got.n_ended > 0));
		CHECK_EQ_INT(got.code, GRPC_STATUS_OK);
		CHECK_EQ_INT(got.n_messages, ARRAY_SIZE(lens));
		CHECK_EQ_INT(got.bytes, offset);
		CHECK(!got.wrong);
	}
	CHECK_EQ_STR(server.path, "/a.B/C");
	CHECK_EQ_STR(server.token, "secret");
	CHECK_EQ_STR(server.te, "trailers");
	CHECK_EQ_INT(server.n_asked, 5);
	CHECK(memcmp(server.asked, "\0\0\0\0\0", 5) == 0);
}

/* Who does not ask is sent a window, and what the one message took that he has. */
static void test_window(void)
{
	const size_t len = 32 * KIB, n = 64;
	AUTO(free) uint8_t *body = xcalloc(n, len + 5);
	size_t at = 0, offset = 0, before;

	for (size_t i = 0; i < n; i++)
		at = put_message(body, at, &offset, len);
	start(&(struct answer){.body = body, .len = at, .status = "0"}, false);
	CHECK(TURN_UNTIL(ev, got.n_messages == 1));
	CHECK(TURN_UNTIL(ev, server.sent >= PULL_WINDOW_BYTES));
	turn_for(ev, 200 * US_PER_MS);
	before = server.sent;
	CHECK(before <= PULL_WINDOW_BYTES + len + 5);
	/* Half a window is given back at a time. */
	for (unsigned i = 1; i <= PULL_WINDOW_BYTES / len / 2; i++) {
		pull_next(got.pull);
		CHECK(TURN_UNTIL(ev, got.n_messages == i + 1));
	}
	CHECK(TURN_UNTIL(ev, server.sent > before));
	got.asks = true;
	pull_next(got.pull);
	CHECK(TURN_UNTIL(ev, got.n_ended > 0));
	CHECK_EQ_INT(got.code, GRPC_STATUS_OK);
	CHECK_EQ_INT(got.bytes, offset);
	CHECK(!got.wrong);
}

/* What the end says, and what is made of an end that says nothing. */
static void test_ends(void)
{
	static const uint8_t half[] = {0, 0, 0, 0, 9, 'h', 'a', 'l', 'f'};
	static const uint8_t compressed[] = {1, 0, 0, 0, 1, 'x'};
	static const uint8_t long_one[] = {0, 0, 4, 0, 0};
	static const uint8_t empty[] = {0, 0, 0, 0, 0};
	static const struct {
		struct answer answer;
		grpc_status_code code;
		const char *text;
		unsigned n_messages;
	} cases[] = {
	    {{.status = "0"}, GRPC_STATUS_OK, "", 0},
	    {{.status = "0", .body = empty, .len = 5}, GRPC_STATUS_OK, "", 1},
	    {{.status = "2", .message = "read db: input/output error"},
	     GRPC_STATUS_UNKNOWN,
	     "read db: input/output error",
	     0},
	    {{.status = "16", .message = "a%3A 100%25 %e2%82%AC%zz%2", .in_headers = true},
	     GRPC_STATUS_UNAUTHENTICATED,
	     "a: 100% \xe2\x82\xac%zz%2",
	     0},
	    {{.status = "17"}, GRPC_STATUS_UNKNOWN, "", 0},
	    {{.status = "-1"}, GRPC_STATUS_UNKNOWN, "", 0},
	    {{.status = "0x"}, GRPC_STATUS_UNKNOWN, "", 0},
	    {{.status = "99999999999999999999"}, GRPC_STATUS_UNKNOWN, "", 0},
	    {{.status = "0", .body = half, .len = sizeof(half)},
	     GRPC_STATUS_INTERNAL,
	     "it ended within a message",
	     0},
	    {{.status = "0", .body = compressed, .len = sizeof(compressed)},
	     GRPC_STATUS_INTERNAL,
	     "a compressed message, which was not asked for",
	     0},
	    {{.body = long_one, .len = sizeof(long_one), .stays = true},
	     GRPC_STATUS_RESOURCE_EXHAUSTED,
	     "a message of 262144 bytes, of at most 262139",
	     0},
	    {{.http_status = "400", .content_type = "text/plain"},
	     GRPC_STATUS_INTERNAL,
	     "an answer of HTTP that is none of gRPC, with status 400",
	     0},
	    {{.http_status = "401", .content_type = "text/plain"},
	     GRPC_STATUS_UNAUTHENTICATED,
	     "an answer of HTTP that is none of gRPC, with status 401",
	     0},
	    {{.http_status = "403", .content_type = "text/plain"},
	     GRPC_STATUS_PERMISSION_DENIED,
	     "an answer of HTTP that is none of gRPC, with status 403",
	     0},
	    {{.http_status = "404", .content_type = "text/plain"},
	     GRPC_STATUS_UNIMPLEMENTED,
	     "an answer of HTTP that is none of gRPC, with status 404",
	     0},
	    {{.http_status = "503",
	      .content_type = "text/html",
	      .body = (const uint8_t *) "<html>",
	      .len = 6},
	     GRPC_STATUS_UNAVAILABLE,
	     "an answer of HTTP that is none of gRPC, with status 503",
	     0},
	    {{.content_type = "text/html"},
	     GRPC_STATUS_UNKNOWN,
	     "an answer of HTTP that is none of gRPC, with status 200",
	     0},
	    {{.reset = NGHTTP2_CANCEL}, GRPC_STATUS_CANCELLED, "the stream was reset: CANCEL", 0},
	    {{.reset = NGHTTP2_REFUSED_STREAM},
	     GRPC_STATUS_UNAVAILABLE,
	     "the stream was reset: REFUSED_STREAM",
	     0},
	    {{.reset = NGHTTP2_ENHANCE_YOUR_CALM},
	     GRPC_STATUS_RESOURCE_EXHAUSTED,
	     "the stream was reset: ENHANCE_YOUR_CALM",
	     0},
	    {{.reset = NGHTTP2_INTERNAL_ERROR, .body = empty, .len = 5},
	     GRPC_STATUS_INTERNAL,
	     "the stream was reset: INTERNAL_ERROR",
	     1},
	    {{.reset = NO_RESET}, GRPC_STATUS_INTERNAL, "the stream ended without a status", 0},
	    {{.body = empty, .len = 5}, GRPC_STATUS_INTERNAL, "the stream ended without a status", 1},
	    {{.hangs_up = true}, GRPC_STATUS_UNAVAILABLE, "it closed the connection", 0},
	    {{.hangs_up = true, .body = empty, .len = 5},
	     GRPC_STATUS_UNAVAILABLE,
	     "it closed the connection",
	     1},
	    {{.junk = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"},
	     GRPC_STATUS_UNAVAILABLE,
	     "it does not keep to HTTP/2",
	     0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		start(&cases[i].answer, true);
		if (!CHECK(TURN_UNTIL(ev, got.n_ended > 0)) || !CHECK_EQ_INT(got.code, cases[i].code) ||
		    !CHECK_EQ_STR(got.text, cases[i].text) ||
		    !CHECK_EQ_INT(got.n_messages, cases[i].n_messages))
			(void) fprintf(stderr, "case %zu\n", i);
		pull_close(TAKE_PTR(got.pull));
	}
}

/* A good end is kept until it is asked for, though the connection is gone. */
static void test_end_is_asked_for(void)
{
	static const uint8_t empty[] = {0, 0, 0, 0, 0};

	start(&(struct answer){.status = "0", .body = empty, .len = 5}, false);
	CHECK(TURN_UNTIL(ev, got.n_messages == 1));
	turn_for(ev, 50 * US_PER_MS);
	server_hang_up();
	turn_for(ev, 50 * US_PER_MS);
	CHECK_EQ_INT(got.n_ended, 0);
	pull_next(got.pull);
	CHECK(TURN_UNTIL(ev, got.n_ended > 0));
	CHECK_EQ_INT(got.code, GRPC_STATUS_OK);
}

/* Whoever answers and hangs up before we have written has answered, and what comes behind the end
 * is of no account, be it more pings than nghttp2 bears. Over a unix socket, where writing to who
 * has gone fails at once. */
static void test_answered_and_gone(void)
{
	enum { N_PINGS = 3000, PING_BYTES = 17 };
	static const struct pull_callbacks callbacks = {.message = on_message, .ended = on_ended};
	static const char answer[] = "\0\0\0\4\0\0\0\0\0" /* SETTINGS */
	                             "\0\0\24\1\4\0\0\0\1\x88\x0f\x10\x10"
	                             "application/grpc"             /* HEADERS: 200 */
	                             "\0\0\5\0\0\0\0\0\1\0\0\0\0\0" /* DATA: one message */
	                             "\0\0\17\1\5\0\0\0\1\0\13grpc-status\1"
	                             "0"; /* and the trailers */
	static const char ping[PING_BYTES] = "\0\0\10\6";
	const size_t len = sizeof(answer) - 1;
	AUTO(free) char *all = xcalloc(1, len + N_PINGS * PING_BYTES);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	AUTO(free) char *text = NULL;
	struct url url;
	int fd = -1;

	(void) snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/fairlead-pull-%d", getpid());
	CHECK_EQ_INT(bind(listener, (const struct sockaddr *) &address, sizeof(address)), 0);
	CHECK_EQ_INT(listen(listener, 1), 0);
	text = xasprintf("unix://%s", address.sun_path);
	CHECK_EQ_INT(url_parse(text, &url), 0);
	memset(&got, 0, sizeof(got));
	got.pull = pull_open(ev, &url, NULL, "/a.B/C", NULL, &callbacks, &got);
	/* It has connected, and its loop has not told it yet. */
	for (int turns = 0; fd < 0 && CHECK(turns < 10); turns++) {
		ev_run(ev, EVRUN_NOWAIT);
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	}
	memcpy(all, answer, len);
	for (size_t i = 0; i < N_PINGS; i++)
		memcpy(all + len + i * PING_BYTES, ping, PING_BYTES);
	CHECK_EQ_INT(write(fd, all, len + N_PINGS * PING_BYTES), len + N_PINGS * PING_BYTES);
	(void) close(fd);
	CHECK(TURN_UNTIL(ev, got.n_messages + got.n_ended > 0));
	turn_for(ev, 50 * US_PER_MS);
	CHECK_EQ_INT(got.n_messages, 1);
	CHECK_EQ_INT(got.n_ended, 0);
	if (got.pull != NULL)
		pull_next(got.pull);
	CHECK(TURN_UNTIL(ev, got.n_ended > 0));
	CHECK_EQ_INT(got.code, GRPC_STATUS_OK);
	CHECK_EQ_STR(got.text, "");
	(void) close(listener);
	(void) unlink(address.sun_path);
}

static void test_nobody_there(void)
{
	static const struct pull_callbacks callbacks = {.message = on_message, .ended = on_ended};
	static const struct {
		const char *url;
		const char *text;
	} cases[] = {
	    {"http://127.0.0.1:1", "Connection refused"},
	    {"http://[::1]:1", "Connection refused"},
	    {"http://localhost:1", "Connection refused"},
	    {"unix:///nonexistent/etcd.sock", "No such file or directory"},
	    {"unix:///a/path/that/is/longer/than/a/name/of/a/socket/may/be/which/is/one/hundred/and/"
	     "seven/characters/long/on/linux",
	     "File name too long"},
	};
	struct url url;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		memset(&got, 0, sizeof(got));
		CHECK_EQ_INT(url_parse(cases[i].url, &url), 0);
		got.pull = pull_open(ev, &url, NULL, "/a.B/C", NULL, &callbacks, &got);
		CHECK_EQ_INT(got.n_ended, 0);
		CHECK(TURN_UNTIL(ev, got.n_ended > 0));
		CHECK_EQ_INT(got.code, GRPC_STATUS_UNAVAILABLE);
		CHECK_EQ_STR(got.text, cases[i].text);
	}
}

/* Whoever takes a connection may be a kernel whose process hangs. */
static void test_mute(void)
{
	start(&(struct answer){.is_mute = true}, true);
	CHECK(TURN_UNTIL(ev, got.n_ended > 0));
	CHECK_EQ_INT(got.code, GRPC_STATUS_UNAVAILABLE);
	CHECK_EQ_STR(got.text, "it takes connections and does not answer");
}

/* Who is silent is asked whether he is there, also while nobody asks him for messages; and what he
 * has sent waits meanwhile. */
static void test_silent(void)
{
	static const uint8_t two[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

	start(&(struct answer){.body = two, .len = sizeof(two), .stays = true}, false);
	CHECK(TURN_UNTIL(ev, server.n_pings == 1));
	turn_for(ev, 4 * US_PER_S);
	CHECK_EQ_INT(got.n_ended, 0);
	pull_next(got.pull);
	CHECK(TURN_UNTIL(ev, got.n_messages == 2));
	/* Its process hangs. */
	ev_io_stop(ev, &server.io);
	CHECK(TURN_UNTIL(ev, got.n_ended > 0));
	CHECK_EQ_INT(got.code, GRPC_STATUS_UNAVAILABLE);
	CHECK_EQ_STR(got.text, "it does not answer a ping");
}

/* At every moment; what is left is for the leak checker to find. */
static void test_close(void)
{
	static const uint8_t two[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
	const struct answer answer = {.body = two, .len = sizeof(two), .status = "0"};

	start(&answer, false);
	pull_close(TAKE_PTR(got.pull));

	start(&answer, false);
	CHECK(TURN_UNTIL(ev, server.fd >= 0));
	pull_close(TAKE_PTR(got.pull));

	start(&answer, false);
	CHECK(TURN_UNTIL(ev, got.n_messages == 1));
	pull_close(TAKE_PTR(got.pull));

	start(&answer, false);
	CHECK(TURN_UNTIL(ev, got.n_messages == 1));
	pull_next(got.pull);
	pull_close(TAKE_PTR(got.pull));

	for (int asks = 0; asks < 2; asks++) {
		start(&answer, asks != 0);
		got.closes = true;
		CHECK(TURN_UNTIL(ev, got.n_messages == 1));
		turn_for(ev, 20 * US_PER_MS);
		CHECK_EQ_INT(got.n_messages, 1);
		CHECK_EQ_INT(got.n_ended, 0);
	}
	pull_close(NULL);
}

int main(void)
{
	ev = ev_default_loop(0);
	server_listen();
	test_messages();
	test_window();
	test_ends();
	test_end_is_asked_for();
	test_answered_and_gone();
	test_nobody_there();
	test_mute();
	test_silent();
	test_close();
	server_hang_up();
	ev_io_stop(ev, &server.accept_io);
	(void) close(server.listener);
	free(server.out);
	return check_result();
}
