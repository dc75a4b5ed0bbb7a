/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nghttp2 speaks HTTP/2, transport.c carries its bytes. What the stream brings lies in an inbox as
 * long as the window; the member may send on as messages are taken out of it, and reading goes on
 * meanwhile, so that pings are answered. Who is silent for long is asked by a ping whether he is
 * there: so one who hangs, or is gone without a word, is noticed also while nobody asks.
 *
 * How a call of gRPC looks in HTTP/2, and what its end means where it has no status:
 * https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md and
 * https://github.com/grpc/grpc/blob/master/doc/http-grpc-status-mapping.md
 */
#include "etcd/pull.h"

#include <assert.h>
#include <ctype.h>
#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "etcd/transport.h"

/*
 * One run of bytes in a buffer twice as long as the run may be. It is moved to the front when as
 * much as it has, or more, has been taken out before it: no byte is moved twice on average, the
 * buffer's end is never reached, and of who is read at once only the beginning is ever touched.
 */

#define MOVE_AT_BYTES ((size_t) 64 << 10)

void inbox_init(struct inbox *inbox, size_t max_bytes, size_t message_max_bytes)
{
	*inbox = (struct inbox){.max_bytes = max_bytes,
	                        .message_max_bytes = message_max_bytes,
	                        .bytes = xcalloc(2, max_bytes)};
}

void inbox_fini(struct inbox *inbox)
{
	free(inbox->bytes);
	*inbox = (struct inbox){0};
}

bool inbox_add(struct inbox *inbox, const void *data, size_t len)
{
	size_t held = inbox->end - inbox->begin;

	if (len > inbox->max_bytes - held)
		return false;
	if (inbox->begin >= MAX(held, MIN(MOVE_AT_BYTES, inbox->max_bytes))) {
		memmove(inbox->bytes, inbox->bytes + inbox->begin, held);
		inbox->begin = 0;
		inbox->end = held;
	}
	memcpy(inbox->bytes + inbox->end, data, len);
	inbox->end += len;
	return true;
}

enum inbox_found inbox_take(struct inbox *inbox, struct inbox_message *ret_message)
{
	const uint8_t *head = inbox->bytes + inbox->begin;
	size_t held = inbox->end - inbox->begin;
	size_t len;

	if (held < INBOX_HEAD_BYTES)
		return INBOX_NONE;
	if (head[0] != 0)
		return INBOX_COMPRESSED;
	len = (size_t) head[1] << 24 | (size_t) head[2] << 16 | (size_t) head[3] << 8 | head[4];
	*ret_message = (struct inbox_message){.len = len};
	if (len > inbox->message_max_bytes)
		return INBOX_TOO_LONG;
	if (held < INBOX_HEAD_BYTES + len)
		return INBOX_NONE;
	ret_message->data = head + INBOX_HEAD_BYTES;
	ret_message->taken_bytes = INBOX_HEAD_BYTES + len;
	inbox->begin += ret_message->taken_bytes;
	return INBOX_MESSAGE;
}

bool inbox_is_empty(const struct inbox *inbox)
{
	return inbox->begin == inbox->end;
}

/* What may wait to leave, where the other end asks and asks and does not read: pings, settings. */
#define UNSENT_MAX_BYTES ((size_t) 64 << 10)
#define TOKEN_FLAGS NGHTTP2_NV_FLAG_NO_INDEX /* and so it is in no table of the other end */
#define NO_STATUS (-1)

/* In ticks without a byte: what was stopped itself for a while counts one. */
#define TICK_S 1.
#define FIRST_TICKS 5   /* until the first ones, on a new connection */
#define PING_TICKS 10   /* until they are asked for; etcd takes a ping each 5 s */
#define SILENT_TICKS 13 /* until it is over */

struct pull {
	struct ev_loop *ev;
	const struct pull_callbacks *callbacks; /* NULL: closed, and freed once nothing calls out */
	void *userdata;
	bool is_calling; /* message(): the user */
	char *method;
	char *authority;
	char *token; /* or NULL */
	bool is_secure;

	struct transport *transport;
	nghttp2_session *session; /* NULL: not connected yet */
	int32_t stream_id;
	struct inbox inbox;
	bool wanted; /* a message, or the end */
	ev_timer tick;
	unsigned n_quiet; /* ticks */
	bool was_heard;
	ev_timer asked; /* outside message(): what is there already is to be handed over */

	/* What the answer's headers and trailers say. */
	int http_status;
	bool is_grpc; /* the content is */
	int status;   /* grpc-status */
	char text[PULL_TEXT_MAX];

	bool is_over; /* no more bytes come */
	grpc_status_code code;
};

static void pull_free(struct pull *pull)
{
	ev_timer_stop(pull->ev, &pull->asked);
	ev_timer_stop(pull->ev, &pull->tick);
	if (pull->session != NULL)
		nghttp2_session_del(pull->session);
	transport_free(pull->transport);
	inbox_fini(&pull->inbox);
	free(pull->method);
	free(pull->authority);
	free(pull->token);
	free(pull);
}

/* Calls out: last act. */
static void end(struct pull *pull, grpc_status_code code, const char *why)
{
	const struct pull_callbacks *callbacks = pull->callbacks;
	void *userdata = pull->userdata;
	char text[PULL_TEXT_MAX];

	(void) snprintf(text, sizeof(text), "%s", why);
	pull_free(pull);
	callbacks->ended(code, text, userdata);
}

/* --- the answer --- */

static grpc_status_code code_of_http(int http_status)
{
	switch (http_status) {
	case 400:
		return GRPC_STATUS_INTERNAL;
	case 401:
		return GRPC_STATUS_UNAUTHENTICATED;
	case 403:
		return GRPC_STATUS_PERMISSION_DENIED;
	case 404:
		return GRPC_STATUS_UNIMPLEMENTED;
	case 429:
	case 502:
	case 503:
	case 504:
		return GRPC_STATUS_UNAVAILABLE;
	default:
		return GRPC_STATUS_UNKNOWN;
	}
}

static grpc_status_code code_of_reset(uint32_t error_code)
{
	switch (error_code) {
	case NGHTTP2_REFUSED_STREAM:
		return GRPC_STATUS_UNAVAILABLE;
	case NGHTTP2_CANCEL:
		return GRPC_STATUS_CANCELLED;
	case NGHTTP2_ENHANCE_YOUR_CALM:
		return GRPC_STATUS_RESOURCE_EXHAUSTED;
	case NGHTTP2_INADEQUATE_SECURITY:
		return GRPC_STATUS_PERMISSION_DENIED;
	default:
		return GRPC_STATUS_INTERNAL;
	}
}

/* grpc-status; whatever is no number that gRPC knows is UNKNOWN. */
static int parse_status(const char *text)
{
	char *behind;
	unsigned long n = strtoul(text, &behind, 10);

	return isdigit((unsigned char) text[0]) && *behind == '\0' && n <= GRPC_STATUS_UNAUTHENTICATED
	           ? (int) n
	           : GRPC_STATUS_UNKNOWN;
}

static int hex_digit(char c)
{
	return isdigit((unsigned char) c) ? c - '0' : tolower((unsigned char) c) - 'a' + 10;
}

/* grpc-message is percent-encoded; what is not is taken as it is. */
static void decode_text(const char *from, size_t len, char to[static PULL_TEXT_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < len && n < PULL_TEXT_MAX - 1; i++) {
		if (from[i] == '%' && i + 2 < len && isxdigit((unsigned char) from[i + 1]) &&
		    isxdigit((unsigned char) from[i + 2])) {
			to[n++] = (char) (hex_digit(from[i + 1]) << 4 | hex_digit(from[i + 2]));
			i += 2;
		} else {
			to[n++] = from[i];
		}
	}
	to[n] = '\0';
}

static int on_header(nghttp2_session *session UNUSED, const nghttp2_frame *frame UNUSED,
                     const uint8_t *name, size_t name_len UNUSED, const uint8_t *value,
                     size_t value_len, uint8_t flags UNUSED, void *userdata)
{
	static const char grpc[] = "application/grpc";
	struct pull *pull = userdata;
	/* nghttp2 ends both with a NUL. */
	const char *key = (const char *) name, *text = (const char *) value;

	if (strcmp(key, ":status") == 0)
		pull->http_status = atoi(text);
	else if (strcmp(key, "content-type") == 0)
		pull->is_grpc = strncmp(text, grpc, strlen(grpc)) == 0;
	else if (strcmp(key, "grpc-status") == 0)
		pull->status = parse_status(text);
	else if (strcmp(key, "grpc-message") == 0)
		decode_text(text, value_len, pull->text);
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags UNUSED, int32_t stream_id,
                   const uint8_t *data, size_t len, void *userdata)
{
	struct pull *pull = userdata;

	/* Of no use, whatever it is. */
	if (!pull->is_grpc)
		return nghttp2_session_consume(session, stream_id, len);
	/* There is room for a window, which nghttp2 sees to. */
	return inbox_add(&pull->inbox, data, len) ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int on_stream_close(nghttp2_session *session UNUSED, int32_t stream_id UNUSED,
                           uint32_t error_code, void *userdata)
{
	struct pull *pull = userdata;

	pull->is_over = true;
	if (pull->status != NO_STATUS) {
		pull->code = (grpc_status_code) pull->status;
	} else if (error_code != NGHTTP2_NO_ERROR) {
		pull->code = code_of_reset(error_code);
		(void) snprintf(pull->text, sizeof(pull->text), "the stream was reset: %s",
		                nghttp2_http2_strerror(error_code));
	} else if (pull->is_grpc) {
		pull->code = GRPC_STATUS_INTERNAL;
		(void) snprintf(pull->text, sizeof(pull->text), "the stream ended without a status");
	} else {
		pull->code = code_of_http(pull->http_status);
		(void) snprintf(pull->text, sizeof(pull->text),
		                "an answer of HTTP that is none of gRPC, with status %d",
		                pull->http_status);
	}
	return 0;
}

/* --- the user --- */

/* What nghttp2 has to say. False: the pull is gone. */
static bool send_out(struct pull *pull)
{
	const uint8_t *data;
	ssize_t n;

	while ((n = nghttp2_session_mem_send(pull->session, &data)) > 0)
		transport_send(pull->transport, data, (size_t) n);
	if (n < 0)
		mem_give_up();
	if (transport_unsent(pull->transport) > UNSENT_MAX_BYTES)
		end(pull, GRPC_STATUS_UNAVAILABLE, "it asks and does not read");
	else if (!pull->is_over && nghttp2_session_want_read(pull->session) == 0)
		end(pull, GRPC_STATUS_UNAVAILABLE, "it does not keep to HTTP/2");
	else
		return true;
	return false;
}

/* False: the pull is gone. */
static bool hand_over(struct pull *pull, const struct inbox_message *message)
{
	pull->wanted = false;
	pull->is_calling = true;
	pull->callbacks->message(message->data, message->len, pull->userdata);
	pull->is_calling = false;
	if (pull->callbacks == NULL) {
		pull_free(pull);
		return false;
	}
	/* The stream may be closed by now, and needs no window then. */
	(void) nghttp2_session_consume(pull->session, pull->stream_id, message->taken_bytes);
	return true;
}

/* What has come, as far as it is asked for. False: the pull is gone. */
static bool deliver(struct pull *pull)
{
	struct inbox_message message;
	char text[PULL_TEXT_MAX];

	while (pull->wanted) {
		switch (inbox_take(&pull->inbox, &message)) {
		case INBOX_MESSAGE:
			if (!hand_over(pull, &message))
				return false;
			continue;
		case INBOX_COMPRESSED:
			end(pull, GRPC_STATUS_INTERNAL, "a compressed message, which was not asked for");
			return false;
		case INBOX_TOO_LONG:
			(void) snprintf(text, sizeof(text), "a message of %zu bytes, of at most %zu",
			                message.len, PULL_MESSAGE_MAX_BYTES);
			end(pull, GRPC_STATUS_RESOURCE_EXHAUSTED, text);
			return false;
		case INBOX_NONE:
			break;
		}
		break;
	}
	if (!pull->is_over || (pull->code == GRPC_STATUS_OK && !pull->wanted))
		return true;
	if (pull->code == GRPC_STATUS_OK && !inbox_is_empty(&pull->inbox))
		end(pull, GRPC_STATUS_INTERNAL, "it ended within a message");
	else
		end(pull, pull->code, pull->text);
	return false;
}

/* False: the pull is gone. */
static bool go_on(struct pull *pull)
{
	if (!deliver(pull))
		return false;
	if (pull->is_over)
		return true;
	/* It may be over with that, where the other end exceeds the window. */
	return send_out(pull) && deliver(pull);
}

static void asked_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	(void) go_on(CONTAINER_OF(w, struct pull, asked));
}

/* --- the connection --- */

static bool on_received(const uint8_t *data, size_t len, void *userdata)
{
	struct pull *pull = userdata;
	ssize_t n = nghttp2_session_mem_recv(pull->session, data, len);

	pull->was_heard = true;
	pull->n_quiet = 0;
	if (n < 0) {
		end(pull, GRPC_STATUS_UNAVAILABLE, nghttp2_strerror((int) n));
		return false;
	}
	if (!go_on(pull))
		return false;
	if (!pull->is_over)
		return true;
	/* What it may have to say yet does not change the end, which waits to be asked for. */
	ev_timer_stop(pull->ev, &pull->tick);
	transport_free(TAKE_PTR(pull->transport));
	return false;
}

static void on_closed(const char *text, void *userdata)
{
	end(userdata, GRPC_STATUS_UNAVAILABLE, text);
}

static void tick_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct pull *pull = CONTAINER_OF(w, struct pull, tick);

	pull->n_quiet++;
	if (!pull->was_heard && pull->n_quiet >= FIRST_TICKS) {
		end(pull, GRPC_STATUS_UNAVAILABLE, "it takes connections and does not answer");
	} else if (pull->n_quiet >= SILENT_TICKS) {
		end(pull, GRPC_STATUS_UNAVAILABLE, "it does not answer a ping");
	} else if (pull->n_quiet == PING_TICKS) {
		if (nghttp2_submit_ping(pull->session, NGHTTP2_FLAG_NONE, NULL) != 0)
			mem_give_up();
		(void) send_out(pull);
	}
}

static nghttp2_session *make_session(struct pull *pull)
{
	nghttp2_session_callbacks *callbacks;
	nghttp2_option *option;
	nghttp2_session *session;

	if (nghttp2_session_callbacks_new(&callbacks) != 0 || nghttp2_option_new(&option) != 0)
		mem_give_up();
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
	nghttp2_option_set_no_auto_window_update(option, 1);
	if (nghttp2_session_client_new2(&session, callbacks, pull, option) != 0)
		mem_give_up();
	nghttp2_session_callbacks_del(callbacks);
	nghttp2_option_del(option);
	return session;
}

static nghttp2_nv header(const char *name, const char *value, uint8_t flags)
{
	return (nghttp2_nv){.name = (uint8_t *) (uintptr_t) name,
	                    .value = (uint8_t *) (uintptr_t) value,
	                    .namelen = strlen(name),
	                    .valuelen = strlen(value),
	                    .flags = flags};
}

/* The empty message, with what tells that it is not compressed and how long it is. */
static ssize_t read_request(nghttp2_session *session UNUSED, int32_t stream_id UNUSED, uint8_t *buf,
                            size_t len UNUSED, uint32_t *flags, nghttp2_data_source *source UNUSED,
                            void *userdata UNUSED)
{
	static const uint8_t empty[INBOX_HEAD_BYTES];

	memcpy(buf, empty, sizeof(empty));
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	return sizeof(empty);
}

static void on_opened(void *userdata)
{
	struct pull *pull = userdata;
	const nghttp2_settings_entry settings[] = {
	    {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
	    {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, PULL_WINDOW_BYTES},
	};
	const nghttp2_nv headers[] = {
	    header(":method", "POST", 0),
	    header(":scheme", pull->is_secure ? "https" : "http", 0),
	    header(":path", pull->method, 0),
	    header(":authority", pull->authority, 0),
	    header("te", "trailers", 0),
	    header("content-type", "application/grpc", 0),
	    header("user-agent", "fairlead/" FAIRLEAD_VERSION, 0),
	    header("token", pull->token != NULL ? pull->token : "", TOKEN_FLAGS),
	};
	const nghttp2_data_provider request = {.read_callback = read_request};
	size_t n_headers = ARRAY_SIZE(headers) - (pull->token == NULL);

	pull->session = make_session(pull);
	if (nghttp2_submit_settings(pull->session, NGHTTP2_FLAG_NONE, settings, ARRAY_SIZE(settings)) ||
	    nghttp2_session_set_local_window_size(pull->session, NGHTTP2_FLAG_NONE, 0,
	                                          PULL_WINDOW_BYTES) != 0)
		mem_give_up();
	pull->stream_id =
	    nghttp2_submit_request(pull->session, NULL, headers, n_headers, &request, NULL);
	if (pull->stream_id < 0)
		mem_give_up();
	ev_timer_start(pull->ev, &pull->tick);
	(void) send_out(pull);
}

struct pull *pull_open(struct ev_loop *ev, const struct url *url, const struct pem *pem,
                       const char *method, const char *token,
                       const struct pull_callbacks *callbacks, void *userdata)
{
	static const struct transport_callbacks transport_callbacks = {
	    .opened = on_opened, .received = on_received, .closed = on_closed};
	struct pull *pull = NEW0(struct pull);

	pull->ev = ev;
	pull->callbacks = callbacks;
	pull->userdata = userdata;
	pull->method = xstrdup(method);
	pull->authority = xstrdup(url->authority);
	pull->token = token != NULL ? xstrdup(token) : NULL;
	pull->is_secure = url->scheme == URL_HTTPS;
	pull->status = NO_STATUS;
	pull->wanted = true;
	inbox_init(&pull->inbox, PULL_WINDOW_BYTES, PULL_MESSAGE_MAX_BYTES);
	ev_timer_init(&pull->asked, asked_cb, 0., 0.);
	ev_timer_init(&pull->tick, tick_cb, TICK_S, TICK_S);
	pull->transport = transport_new(ev, url, pem, &transport_callbacks, pull);
	return pull;
}

void pull_next(struct pull *pull)
{
	assert(!pull->wanted && pull->callbacks != NULL);
	pull->wanted = true;
	if (!pull->is_calling)
		ev_timer_start(pull->ev, &pull->asked);
}

void pull_close(struct pull *pull)
{
	if (pull == NULL)
		return;
	pull->callbacks = NULL;
	if (!pull->is_calling)
		pull_free(pull);
}
