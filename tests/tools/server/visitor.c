/* SPDX-License-Identifier: Apache-2.0 */

/*
 * From accept to the end. The log on standard output has a line when a visitor is known and one
 * when it is gone: EPOCH open conn=N from=ADDRESS kind=probe|tls|plain|quiet name=SNI EPOCH gone
 * conn=N received=BYTES why=eof|reset|closed|... A visitor that never speaks is "quiet".
 */

#include "visitor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "hello.h"
#include "httpd.h"
#include "tests/tools/traffic/link.h"
#include "tests/tools/traffic/stream.h"

#define CHUNK_BYTES 65536

struct visitor {
	struct visitors *all;
	uint64_t id;
	struct script script; /* as it was when this one came */
	int fd;               /* until it is the link's */
	struct ev_io first;
	size_t peeked; /* bytes that were there when it was looked last */
	struct link *link;
	struct httpd httpd; /* of TLS */
	bool speaks_http;
	uint64_t received, sent;
	int record_fd;
	uint8_t *drip; /* what is still to be dripped */
	size_t drip_len;
	struct ev_timer drip_timer;
	bool ended; /* by the client */
};

static void note(const struct visitor *v, const char *word, const char *fmt, ...) PRINTF_LIKE(3, 4);

static void note(const struct visitor *v, const char *word, const char *fmt, ...)
{
	int64_t now_us = wall_now_us();
	va_list ap;

	(void) printf("%" PRId64 ".%06" PRId64 " %s conn=%" PRIu64 " ", now_us / US_PER_S,
	              now_us % US_PER_S, word, v->id);
	va_start(ap, fmt);
	(void) vprintf(fmt, ap);
	va_end(ap);
	(void) putchar('\n');
	(void) fflush(stdout);
}

static void leave(struct visitor *v, const char *why)
{
	note(v, "gone", "received=%" PRIu64 " why=%s", v->received, why);
	ev_io_stop(v->all->ev, &v->first);
	ev_timer_stop(v->all->ev, &v->drip_timer);
	httpd_clear(&v->httpd);
	link_free(v->link);
	if (v->fd >= 0)
		(void) close(v->fd);
	if (v->record_fd >= 0)
		(void) close(v->record_fd);
	free(v->drip);
	free(v);
}

static void record(struct visitor *v, const void *bytes, size_t len)
{
	AUTO(free) char *path = NULL;

	v->received += len;
	if (v->script.record_dir == NULL)
		return;
	if (v->record_fd < 0) {
		path = xasprintf("%s/%" PRIu64, v->script.record_dir, v->id);
		v->record_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	}
	if (v->record_fd < 0 || write(v->record_fd, bytes, len) != (ssize_t) len) {
		perror("oddserver: record");
		exit(1);
	}
}

/* --- what each mode does with bytes --- */

static void echo(struct visitor *v, const void *bytes, size_t len)
{
	link_send(v->link, bytes, len);
	if (!link_has_unsent(v->link))
		return;
	link_want_data(v->link, false);
	link_want_room(v->link, true);
}

static void drip_cb(struct ev_loop *ev, struct ev_timer *w, int revents UNUSED)
{
	struct visitor *v = CONTAINER_OF(w, struct visitor, drip_timer);

	link_send(v->link, v->drip, 1);
	memmove(v->drip, v->drip + 1, --v->drip_len);
	if (v->drip_len > 0) {
		ev_timer_set(w, mono_to_ev(v->script.drip_us), 0.);
		ev_timer_start(ev, w);
	} else if (v->ended) {
		link_send_end(v->link);
		leave(v, "eof");
	}
}

static void drip(struct visitor *v, const void *bytes, size_t len)
{
	v->drip = xreallocarray(v->drip, v->drip_len + len, 1);
	memcpy(v->drip + v->drip_len, bytes, len);
	v->drip_len += len;
	if (ev_is_active(&v->drip_timer))
		return;
	ev_timer_set(&v->drip_timer, mono_to_ev(v->script.drip_us), 0.);
	ev_timer_start(v->all->ev, &v->drip_timer);
}

static void data_cb(const void *bytes, size_t len, void *userdata)
{
	struct visitor *v = userdata;
	bool first = v->received == 0;

	record(v, bytes, len);
	if (v->speaks_http) {
		httpd_take(&v->httpd, v->link, v->all->script, bytes, len);
		return;
	}
	switch (v->script.mode) {
	case SCRIPT_SERVE:
	case SCRIPT_SILENT:
		break;
	case SCRIPT_ECHO:
		echo(v, bytes, len);
		break;
	case SCRIPT_BYTE:
		if (first)
			link_send(v->link, bytes, 1);
		break;
	case SCRIPT_DRIP:
		drip(v, bytes, len);
		break;
	case SCRIPT_CLOSE:
		leave(v, "closed");
		break;
	case SCRIPT_RESET:
		link_reset(v->link);
		leave(v, "reset_by_us");
		break;
	case SCRIPT_FIRST:
		if (first)
			link_want_room(v->link, true);
		break;
	}
}

/* All that was sent is with the kernel. */
static void room_cb(void *userdata)
{
	static uint8_t chunk[CHUNK_BYTES];
	struct visitor *v = userdata;
	size_t len;

	if (v->script.mode == SCRIPT_FIRST && v->sent < v->script.bytes) {
		len = MIN(v->script.bytes - v->sent, (uint64_t) CHUNK_BYTES);
		stream_fill(STREAM_SEED_SERVER, v->sent, chunk, len);
		v->sent += len;
		link_send(v->link, chunk, len);
		return;
	}
	link_want_room(v->link, false);
	if (v->script.mode == SCRIPT_FIRST)
		link_send_end(v->link);
	else if (v->ended)
		leave(v, "eof");
	else
		link_want_data(v->link, true);
}

static void ended_cb(enum link_end end, const char *why UNUSED, void *userdata)
{
	struct visitor *v = userdata;

	v->ended = true;
	/* The silent ones do not even end. */
	if (end == LINK_EOF && (v->script.mode == SCRIPT_SILENT || v->script.mode == SCRIPT_BYTE) &&
	    !v->speaks_http)
		return;
	/* What is still to be sent goes out first. */
	if (end == LINK_EOF && (link_has_unsent(v->link) || v->drip_len > 0))
		return;
	leave(v, link_end_name(end));
}

static const struct link_events events = {
    .data = data_cb,
    .room = room_cb,
    .ended = ended_cb,
};

/* --- the first bytes --- */

static void know(struct visitor *v, const char *kind, const char *name, SSL_CTX *tls)
{
	int one = 1;

	note(v, "open", "kind=%s name=%s", kind, name);
	ev_io_stop(v->all->ev, &v->first);
	(void) setsockopt(v->fd, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof(one));
	v->speaks_http = tls != NULL;
	v->link = link_accepted(v->all->ev, TAKE_FD(v->fd), tls, &events, v);
}

/* Wakes again when there is more than `have`, or an end. */
static void wait_for_more(struct visitor *v, size_t have)
{
	int more = (int) have + 1;

	v->peeked = have;
	(void) setsockopt(v->fd, SOL_SOCKET, SO_RCVLOWAT, &more, sizeof(more));
}

static void first_cb(struct ev_loop *ev UNUSED, struct ev_io *w, int revents UNUSED)
{
	struct visitor *v = CONTAINER_OF(w, struct visitor, first);
	char name[HELLO_NAME_MAX] = "";
	uint8_t bytes[4096];
	ssize_t n = recv(v->fd, bytes, sizeof(bytes), MSG_PEEK);
	enum hello_verdict verdict;

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		note(v, "open", "kind=quiet name=");
		leave(v, n == 0 ? "eof" : "reset");
		return;
	}
	verdict = hello_read(bytes, (size_t) n, name);
	if (verdict == HELLO_INCOMPLETE && (size_t) n < sizeof(bytes) && (size_t) n > v->peeked) {
		wait_for_more(v, (size_t) n);
		return;
	}
	v->script = script_now(v->all->script);
	if (verdict == HELLO_TLS && v->all->tls != NULL && strcmp(name, v->all->probe_name) == 0)
		know(v, "probe", name, v->all->tls);
	else if (verdict == HELLO_TLS)
		know(v, "tls", name, v->script.mode == SCRIPT_SERVE ? v->all->tls : NULL);
	else
		know(v, "plain", name, NULL);
}

void visitor_new(struct visitors *visitors, int fd, const char *from)
{
	struct visitor *v = NEW0(struct visitor);

	v->all = visitors;
	v->id = visitors->count++;
	v->fd = fd;
	v->record_fd = -1;
	note(v, "come", "from=%s", from);
	ev_init(&v->drip_timer, drip_cb);
	ev_io_init(&v->first, first_cb, fd, EV_READ);
	ev_io_start(visitors->ev, &v->first);
}
