/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A query connects, sends its line, reads to the end of the stream, and is over. Whatever goes
 * wrong, also at once, is told by the timer, so that no caller hears of it too early; the same
 * timer carries the deadline, and tries again while the daemon's queue of clients is full.
 */
#include "cli/common/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/words.h"

#define QUEUE_FULL_US (50 * US_PER_MS)
#define READ_CHUNK 65536

struct query {
	struct ev_loop *loop;
	char *path;
	char *line;
	size_t sent; /* of the line */
	int64_t deadline_us;
	query_done_fn done;
	void *userdata;
	int fd;     /* -1: not connected */
	int failed; /* -errno that the timer is to tell; 0: none */
	char *text;
	size_t len, room;
	ev_io io;
	ev_timer timer;
};

void query_cancel(struct query *q)
{
	if (q == NULL)
		return;
	ev_io_stop(q->loop, &q->io);
	ev_timer_stop(q->loop, &q->timer);
	if (q->fd >= 0)
		(void) close(q->fd);
	free(q->path);
	free(q->line);
	free(q->text);
	free(q);
}

static void finish(struct query *q, int r)
{
	struct client_answer *answer = NULL;
	query_done_fn done = q->done;
	void *userdata = q->userdata;

	if (r == 0 && (q->text == NULL || strlen(q->text) != q->len))
		r = -EBADMSG;
	if (r == 0)
		r = client_parse_answer(q->text, &answer);
	query_cancel(q);
	done(r, answer, userdata);
}

/* In so long, or at the deadline if that is sooner. */
static void set_timer(struct query *q, int64_t wait_us)
{
	int64_t left_us = q->deadline_us - mono_now_us();

	ev_timer_stop(q->loop, &q->timer);
	ev_timer_set(&q->timer, mono_to_ev(MIN(wait_us, MAX(left_us, 0))), 0);
	ev_timer_start(q->loop, &q->timer);
}

static void fail_soon(struct query *q, int r)
{
	q->failed = r;
	set_timer(q, 0);
}

static void want(struct query *q, int events)
{
	ev_io_stop(q->loop, &q->io);
	ev_io_set(&q->io, q->fd, events);
	ev_io_start(q->loop, &q->io);
}

/* connect(2) on a unix socket answers at once; EAGAIN says that the server's queue is full. */
static void dial(struct query *q)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (strlen(q->path) >= sizeof(address.sun_path)) {
		fail_soon(q, -ENAMETOOLONG);
		return;
	}
	(void) strcpy(address.sun_path, q->path);
	q->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (q->fd < 0) {
		fail_soon(q, -errno);
		return;
	}
	if (connect(q->fd, (const struct sockaddr *) &address, sizeof(address)) == 0) {
		want(q, EV_WRITE);
		set_timer(q, MONO_NEVER);
		return;
	}
	if (errno != EAGAIN) {
		fail_soon(q, -errno);
		return;
	}
	(void) close(q->fd);
	q->fd = -1;
	set_timer(q, QUEUE_FULL_US);
}

static void timer_cb(struct ev_loop *loop UNUSED, ev_timer *timer, int events UNUSED)
{
	struct query *q = CONTAINER_OF(timer, struct query, timer);

	if (q->failed < 0)
		finish(q, q->failed);
	else if (mono_now_us() >= q->deadline_us)
		finish(q, -ETIMEDOUT);
	else if (q->fd < 0)
		dial(q);
	else
		set_timer(q, MONO_NEVER); /* it was early */
}

static void send_some(struct query *q)
{
	ssize_t n = send(q->fd, q->line + q->sent, strlen(q->line) - q->sent, MSG_NOSIGNAL);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* A server that refuses us may have closed already; what it said is still to be read. */
	if (n < 0 && errno != EPIPE) {
		finish(q, -errno);
		return;
	}
	q->sent += n > 0 ? (size_t) n : 0;
	if (n < 0 || q->line[q->sent] == '\0')
		want(q, EV_READ);
}

static void receive_some(struct query *q)
{
	ssize_t n;

	if (q->room - q->len < 2) {
		q->room = MAX(2 * q->room, READ_CHUNK);
		q->text = xreallocarray(q->text, q->room, 1);
	}
	n = recv(q->fd, q->text + q->len, q->room - q->len - 1, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0 && errno != ECONNRESET) {
		finish(q, -errno);
		return;
	}
	q->len += n > 0 ? (size_t) n : 0;
	q->text[q->len] = '\0';
	/* A reset is an end as well: whether the answer is whole, its last line tells. */
	if (n <= 0)
		finish(q, 0);
	else if (q->len > CLIENT_ANSWER_MAX)
		finish(q, -EBADMSG);
}

static void io_cb(struct ev_loop *loop UNUSED, ev_io *io, int events)
{
	struct query *q = CONTAINER_OF(io, struct query, io);

	if ((events & EV_ERROR) != 0)
		finish(q, -ENOMEM);
	else if ((events & EV_WRITE) != 0)
		send_some(q);
	else
		receive_some(q);
}

struct query *query_start(struct ev_loop *loop, const char *socket_path, const char *const *words,
                          size_t n_words, int64_t timeout_us, query_done_fn done, void *userdata)
{
	struct query *q = NEW0(struct query);
	AUTO(free) char *joined = NULL;
	int r = words_join(words, n_words, &joined);

	q->loop = loop;
	q->path = xstrdup(socket_path);
	q->line = xasprintf("%s\n", r < 0 ? "" : joined);
	q->deadline_us = mono_now_us() + timeout_us;
	q->done = done;
	q->userdata = userdata;
	q->fd = -1;
	ev_init(&q->io, io_cb);
	ev_init(&q->timer, timer_cb);
	/* The loop's idea of now may be old where it was busy, or has not begun. */
	ev_now_update(loop);
	if (r < 0)
		fail_soon(q, r);
	else
		dial(q);
	return q;
}
