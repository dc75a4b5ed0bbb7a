/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One question, one answer, one connection: a query connects, sends its line, reads to the end of
 * the stream, and is over. What goes wrong, also at once, is told by the timer, so that no caller
 * hears of it too early; the same timer carries the deadline, and tries again while the daemon's
 * queue of clients is full. client_ask() runs a query in a loop that nothing else uses.
 */
#include "cli/common/client.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/words.h"

void client_answer_free(struct client_answer *answer)
{
	if (answer == NULL)
		return;
	free(answer->lines);
	json_decref(answer->objects);
	free(answer->error);
	free(answer->sentence);
	if (answer->fd >= 0)
		(void) close(answer->fd);
	free(answer);
}

/* --- the answer's text --- */

/* "ok", or "error <code> <sentence>"; without its newline. */
static int parse_status(const char *status, struct client_answer *answer)
{
	const char *code, *space;

	if (strcmp(status, "ok") == 0)
		return 0;
	if (strncmp(status, "error ", 6) != 0)
		return -EBADMSG;
	code = status + 6;
	space = strchr(code, ' ');
	if (space == NULL || space == code)
		return -EBADMSG;
	answer->error = xstrndup(code, (size_t) (space - code));
	answer->sentence = xstrdup(space + 1);
	return 0;
}

int client_parse_answer(const char *text, struct client_answer **ret_answer)
{
	AUTO(client_answer_free) struct client_answer *answer = NEW0(struct client_answer);
	AUTO(free) char *status = NULL;
	const char *line = text;
	int r;

	answer->fd = -1;
	answer->objects = json_array();
	/* Only the status line begins with anything but a brace, and it is the last one. */
	for (; *line == '{'; line++) {
		size_t len = strcspn(line, "\n");
		json_t *object;

		if (line[len] == '\0')
			return -EBADMSG;
		object = json_loadb(line, len, 0, NULL);
		if (object == NULL)
			return -EBADMSG;
		(void) json_array_append_new(answer->objects, object);
		line += len;
	}
	answer->lines = xstrndup(text, (size_t) (line - text));
	status = xstrdup(line);
	if (status[0] == '\0' || status[strlen(status) - 1] != '\n')
		return -EBADMSG;
	status[strlen(status) - 1] = '\0';
	r = parse_status(status, answer);
	if (r < 0)
		return r;
	*ret_answer = TAKE_PTR(answer);
	return 0;
}

/* --- a query --- */

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
	client_object_fn each; /* or NULL */
	void *each_userdata;
	size_t told;   /* of the text so far */
	int passed_fd; /* that came with the answer; -1: none */
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
	if (q->passed_fd >= 0)
		(void) close(q->passed_fd);
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
	if (r == 0)
		answer->fd = TAKE_FD(q->passed_fd);
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

/* Until the answer ends, or it is time for the next NULL. */
static void tick(struct query *q)
{
	bool is_told = q->each != NULL && q->passed_fd >= 0;

	if (is_told)
		q->each(NULL, q->passed_fd, q->each_userdata);
	set_timer(q, is_told ? CLIENT_TICK_US : MONO_NEVER);
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
		tick(q);
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

/* The first one stays. */
static void take_fds(struct msghdr *message, int *passed_fd)
{
	for (struct cmsghdr *h = CMSG_FIRSTHDR(message); h != NULL; h = CMSG_NXTHDR(message, h)) {
		size_t n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(h) + i * sizeof(int), sizeof(fd));
			if (*passed_fd < 0)
				*passed_fd = fd;
			else
				(void) close(fd);
		}
	}
}

static ssize_t receive(int fd, char *buffer, size_t len, int *passed_fd)
{
	char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
	struct iovec data = {.iov_base = buffer, .iov_len = len};
	struct msghdr message = {
	    .msg_iov = &data,
	    .msg_iovlen = 1,
	    .msg_control = control,
	    .msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);

	if (n >= 0)
		take_fds(&message, passed_fd);
	return n;
}

/* Lines that are no object are judged at the end. */
static void tell(struct query *q)
{
	const char *newline;

	while ((newline = memchr(q->text + q->told, '\n', q->len - q->told)) != NULL) {
		size_t end = (size_t) (newline - q->text);
		json_t *object = json_loadb(q->text + q->told, end - q->told, 0, NULL);

		if (json_is_object(object))
			q->each(object, q->passed_fd, q->each_userdata);
		json_decref(object);
		q->told = end + 1;
	}
}

static void receive_some(struct query *q)
{
	ssize_t n;

	if (q->room - q->len < 2) {
		q->room = MAX(2 * q->room, READ_CHUNK);
		q->text = xreallocarray(q->text, q->room, 1);
	}
	n = receive(q->fd, q->text + q->len, q->room - q->len - 1, &q->passed_fd);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0 && errno != ECONNRESET) {
		finish(q, -errno);
		return;
	}
	q->len += n > 0 ? (size_t) n : 0;
	q->text[q->len] = '\0';
	/* A reset is an end as well: whether the answer is whole, its last line tells. */
	if (n <= 0) {
		finish(q, 0);
	} else if (q->len > CLIENT_ANSWER_MAX) {
		finish(q, -EBADMSG);
	} else if (q->each != NULL) {
		tell(q);
		tick(q);
	}
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
	q->fd = q->passed_fd = -1;
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

/* --- blocking --- */

struct asked {
	int r;
	struct client_answer *answer;
};

static void asked_cb(int r, struct client_answer *answer, void *userdata)
{
	*(struct asked *) userdata = (struct asked){r, answer};
}

int client_ask(const char *socket_path, const char *const *words, size_t n_words,
               int64_t timeout_us, struct client_answer **ret_answer)
{
	return client_ask_each(socket_path, words, n_words, timeout_us, NULL, NULL, ret_answer);
}

int client_ask_each(const char *socket_path, const char *const *words, size_t n_words,
                    int64_t timeout_us, client_object_fn each, void *userdata,
                    struct client_answer **ret_answer)
{
	struct ev_loop *loop = mem_expect(ev_loop_new(EVFLAG_AUTO));
	struct asked asked = {0};
	struct query *q = query_start(loop, socket_path, words, n_words, timeout_us, asked_cb, &asked);

	q->each = each;
	q->each_userdata = userdata;
	(void) ev_run(loop, 0);
	ev_loop_destroy(loop);
	if (asked.r == 0)
		*ret_answer = asked.answer;
	return asked.r;
}
