/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client goes one way:
 *
 *     READING --whole line--> RUNNING --control_ok/fail--> CLOSING --answer sent--> freed
 *        |                       |                            |
 *        +-- idle, overlong -->--+---- gone, too much --------+--> freed
 *
 * In READING a timer runs; in RUNNING none does, because a command may take its time; in CLOSING
 * the timer gives the client time to read. Each function that may free a client does so last.
 */
#include "base/control_priv.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

/* An answer is written on the spot whenever this much of it waits, and else by the loop. */
#define FLUSH_BYTES 65536
/* Of what follows the line, this much is read away before the close; see close_client(). */
#define DISCARD_BYTES 65536

enum phase {
	READING,
	RUNNING,
	CLOSING,
};

struct client {
	struct control *control;
	struct control_request *request; /* RUNNING only */
	enum phase phase;
	uid_t uid;
	int fd;
	ev_io readable;
	ev_io writable;
	ev_timer timer;
	size_t line_len;
	char line[CONTROL_LINE_MAX + 1];
	char *out; /* out[out_start..out_end) waits for the client */
	size_t out_start, out_end, out_room;
	int passed_fd; /* goes with the byte at out[passed_at]; -1: none */
	size_t passed_at;
	TAILQ_ENTRY(client) entry;
};

/* --- its answer --- */

void control_client_free(struct client *c)
{
	struct control *control = c->control;

	if (c->request != NULL)
		c->request->client = NULL;
	ev_io_stop(control->ev, &c->readable);
	ev_io_stop(control->ev, &c->writable);
	ev_timer_stop(control->ev, &c->timer);
	TAILQ_REMOVE(&control->clients, c, entry);
	control->n_clients--;
	if (c->uid != 0)
		control->n_others--;
	(void) close(c->fd);
	if (c->passed_fd >= 0)
		(void) close(c->passed_fd);
	free(c->out);
	free(c);
}

/*
 * Closes in peace. Input that is still unread at close(2) would reset the connection, and the
 * client would see an error behind a good answer.
 */
static void close_client(struct client *c)
{
	char discarded[4096];

	(void) shutdown(c->fd, SHUT_WR);
	for (size_t i = 0; i < DISCARD_BYTES / sizeof(discarded); i++) {
		if (read(c->fd, discarded, sizeof(discarded)) <= 0)
			break;
	}
	control_client_free(c);
}

static void restart_timer(struct client *c)
{
	c->timer.repeat = CONTROL_IDLE_S;
	ev_timer_again(c->control->ev, &c->timer);
}

/* With the descriptor, once all before it has gone. */
static ssize_t send_some(struct client *c)
{
	bool passes = c->passed_fd >= 0 && c->out_start == c->passed_at;
	size_t len =
	    c->passed_fd >= 0 && !passes ? c->passed_at - c->out_start : c->out_end - c->out_start;
	char buffer[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = {0};
	struct iovec data = {.iov_base = c->out + c->out_start, .iov_len = len};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
	struct cmsghdr *header;
	ssize_t n;

	if (passes) {
		message.msg_control = buffer;
		message.msg_controllen = sizeof(buffer);
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(header), &c->passed_fd, sizeof(int));
	}
	n = sendmsg(c->fd, &message, MSG_NOSIGNAL);
	if (n > 0 && passes)
		(void) close(TAKE_FD(c->passed_fd));
	return n;
}

/* Sends what it can. false: the client cannot be reached any more. */
static bool flush(struct client *c)
{
	while (c->out_start < c->out_end) {
		ssize_t n = send_some(c);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			if (errno != EAGAIN)
				return false;
			ev_io_start(c->control->ev, &c->writable);
			return true;
		}
		c->out_start += (size_t) n;
		if (c->phase == CLOSING)
			restart_timer(c);
	}
	ev_io_stop(c->control->ev, &c->writable);
	c->out_start = c->out_end = 0;
	return true;
}

/* Sends on, and lets go of a client that is gone or has all that it came for. Frees it then. */
static void pump(struct client *c)
{
	if (!flush(c))
		control_client_free(c);
	else if (c->phase == CLOSING && c->out_end == 0)
		close_client(c);
}

void control_client_append(struct client *c, const char *data, size_t len)
{
	if (c->out_end - c->out_start + len > CONTROL_ANSWER_MAX) {
		control_client_free(c);
		return;
	}
	if (c->out_start > 0) {
		memmove(c->out, c->out + c->out_start, c->out_end - c->out_start);
		c->out_end -= c->out_start;
		c->passed_at -= MIN(c->out_start, c->passed_at);
		c->out_start = 0;
	}
	if (c->out_end + len > c->out_room) {
		c->out_room = MAX(c->out_end + len, 2 * c->out_room);
		c->out = xreallocarray(c->out, c->out_room, 1);
	}
	memcpy(c->out + c->out_end, data, len);
	c->out_end += len;
	if (c->out_end >= FLUSH_BYTES)
		pump(c);
	else
		ev_io_start(c->control->ev, &c->writable);
}

void control_client_pass_fd(struct client *c, int fd)
{
	assert(c->passed_fd < 0);
	c->passed_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	c->passed_at = c->out_end;
}

void control_client_finish(struct client *c, const char *status_line)
{
	c->request = NULL;
	c->phase = CLOSING;
	restart_timer(c);
	control_client_append(c, status_line, strlen(status_line));
}

/* --- its line --- */

/* Begins the client's one request; it may be over, and the client freed, when this returns. */
static struct control_request *begin_request(struct client *c)
{
	struct control_request *request = NEW0(struct control_request);

	request->control = c->control;
	request->client = c;
	TAILQ_INSERT_TAIL(&c->control->requests, request, entry);
	c->request = request;
	c->phase = RUNNING;
	ev_timer_stop(c->control->ev, &c->timer);
	return request;
}

/* End of input. A client that only closed its sending half (`echo ... | socat`) waits for the
 * answer. */
static void on_end(struct client *c)
{
	struct pollfd hangup = {.fd = c->fd};

	ev_io_stop(c->control->ev, &c->readable);
	if (poll(&hangup, 1, 0) == 1 && (hangup.revents & (POLLHUP | POLLERR)) != 0)
		control_client_free(c);
	else if (c->phase == READING)
		control_fail(begin_request(c), CONTROL_USAGE, "the line has no end");
}

/* line[0..len) came, without its newline. */
static void on_line(struct client *c, size_t len)
{
	c->line[len] = '\0';
	/* A NUL would hide the rest of the line. Made another control character, it is refused as one.
	 */
	for (char *p = c->line; p < c->line + len; p++)
		*p = *p == '\0' ? '\x01' : *p;
	control_run_line(begin_request(c), c->line, c->uid);
}

static void on_input(struct client *c, size_t n)
{
	char *newline = memchr(c->line + c->line_len, '\n', n);

	c->line_len += n;
	if (newline != NULL)
		on_line(c, (size_t) (newline - c->line));
	else if (c->line_len == sizeof(c->line))
		control_fail(begin_request(c), CONTROL_USAGE, "a line of more than %d bytes",
		             CONTROL_LINE_MAX);
}

static void readable_cb(struct ev_loop *ev UNUSED, ev_io *w, int revents)
{
	struct client *c = CONTAINER_OF(w, struct client, readable);
	bool reading = c->phase == READING;
	char discarded[4096];
	ssize_t n;

	if ((revents & EV_ERROR) != 0) {
		control_client_free(c);
		return;
	}
	/* `line` has one byte more than the limit, for the newline. What follows the line is ignored.
	 */
	if (reading)
		n = read(c->fd, c->line + c->line_len, sizeof(c->line) - c->line_len);
	else
		n = read(c->fd, discarded, sizeof(discarded));
	if (n > 0 && reading)
		on_input(c, (size_t) n);
	else if (n == 0)
		on_end(c);
	else if (n < 0 && errno != EAGAIN && errno != EINTR)
		control_client_free(c);
}

static void writable_cb(struct ev_loop *ev UNUSED, ev_io *w, int revents)
{
	struct client *c = CONTAINER_OF(w, struct client, writable);

	if ((revents & EV_ERROR) != 0)
		control_client_free(c);
	else
		pump(c);
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct client *c = CONTAINER_OF(w, struct client, timer);

	log_debug("control_client_idle", "uid=%u phase=%d", (unsigned) c->uid, (int) c->phase);
	control_client_free(c);
}

/* Some places are root's alone: nobody else can keep it from confirming or undoing a change. */
static bool has_place(const struct control *control, uid_t uid)
{
	return control->n_clients < CONTROL_CLIENTS_MAX &&
	       (uid == 0 || control->n_others < CONTROL_CLIENTS_MAX - CONTROL_CLIENTS_ROOT);
}

void control_client_add(struct control *control, int fd)
{
	struct ucred peer = {.uid = (uid_t) -1};
	socklen_t len = sizeof(peer);
	struct client *c;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || !has_place(control, peer.uid)) {
		static const char busy[] = "error busy too many clients: try again in a few seconds\n";

		(void) send(fd, busy, sizeof(busy) - 1, MSG_NOSIGNAL);
		(void) close(fd);
		return;
	}
	c = NEW0(struct client);
	c->control = control;
	c->fd = fd;
	c->passed_fd = -1;
	c->uid = peer.uid;
	ev_io_init(&c->readable, readable_cb, fd, EV_READ);
	ev_io_init(&c->writable, writable_cb, fd, EV_WRITE);
	ev_init(&c->timer, timer_cb);
	ev_io_start(control->ev, &c->readable);
	restart_timer(c);
	TAILQ_INSERT_TAIL(&control->clients, c, entry);
	control->n_clients++;
	if (c->uid != 0)
		control->n_others++;
}
