/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's half of a control socket. connect(2) and the first write on a unix socket are done
 * at once or not at all, so that all that is waited for is the answer: until the server closes, the
 * answer is longer than any should be, or the time is up. An answer without its status line was cut
 * off, and counts for nothing.
 */
#include "prism/probe/ask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

struct ask {
	struct ev_loop *ev;
	ask_done_fn done;
	void *userdata;
	int fd;
	ev_io readable;
	ev_timer limit;    /* also what reports that nothing could be sent */
	const char *early; /* why not; NULL: it was sent */
	size_t len;
	char answer[ASK_ANSWER_MAX + 1];
};

void ask_free(struct ask *a)
{
	if (a == NULL)
		return;
	ev_io_stop(a->ev, &a->readable);
	ev_timer_stop(a->ev, &a->limit);
	if (a->fd >= 0)
		(void) close(a->fd);
	free(a);
}

/* The one end of it. The callback may free the ask, so it comes last. */
static void finish(struct ask *a, const char *lines, const char *error)
{
	ev_io_stop(a->ev, &a->readable);
	ev_timer_stop(a->ev, &a->limit);
	a->done(lines, error, a->userdata);
}

/* Cuts the status line off, which is the last one, and reads it. */
static void judge(struct ask *a)
{
	char *status;

	a->answer[a->len] = '\0';
	if (a->len == 0 || a->answer[a->len - 1] != '\n') {
		finish(a, NULL, "the answer was cut off");
		return;
	}
	a->answer[a->len - 1] = '\0';
	status = strrchr(a->answer, '\n');
	status = status != NULL ? status + 1 : a->answer;
	if (strcmp(status, "ok") == 0) {
		*status = '\0';
		finish(a, a->answer, NULL);
	} else {
		finish(a, NULL,
		       strncmp(status, "error ", 6) == 0 ? status + 6 : "the answer has no status line");
	}
}

static void readable_cb(struct ev_loop *ev UNUSED, ev_io *w, int revents)
{
	struct ask *a = CONTAINER_OF(w, struct ask, readable);
	ssize_t n = read(a->fd, a->answer + a->len, ASK_ANSWER_MAX - a->len);

	loop_expect_watched(revents);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		finish(a, NULL, strerror(errno));
		return;
	}
	a->len += (size_t) n;
	if (n == 0)
		judge(a);
	else if (a->len == ASK_ANSWER_MAX)
		finish(a, NULL, "the answer is too long");
}

static void limit_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct ask *a = CONTAINER_OF(w, struct ask, limit);

	finish(a, NULL, a->early != NULL ? a->early : "no answer in time");
}

/* NULL, or why not. */
static const char *send_command(struct ask *a, const char *socket_path, const char *command)
{
	AUTO(free) char *line = xasprintf("%s\n", command);
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (strlen(socket_path) >= sizeof(address.sun_path))
		return strerror(ENAMETOOLONG);
	(void) strcpy(address.sun_path, socket_path);
	a->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (a->fd < 0 || connect(a->fd, (const struct sockaddr *) &address, sizeof(address)) < 0)
		return strerror(errno);
	if (send(a->fd, line, strlen(line), MSG_NOSIGNAL) != (ssize_t) strlen(line))
		return "the command could not be sent";
	return NULL;
}

struct ask *ask_new(struct ev_loop *ev, const char *socket_path, const char *command,
                    int64_t timeout_us, ask_done_fn done, void *userdata)
{
	struct ask *a = NEW0(struct ask);

	a->ev = ev;
	a->done = done;
	a->userdata = userdata;
	a->fd = -1;
	ev_init(&a->readable, readable_cb);
	a->early = send_command(a, socket_path, command);
	ev_timer_init(&a->limit, limit_cb, a->early != NULL ? 0. : mono_to_ev(timeout_us), 0.);
	ev_timer_start(ev, &a->limit);
	if (a->early == NULL) {
		ev_io_set(&a->readable, a->fd, EV_READ);
		ev_io_start(ev, &a->readable);
	}
	return a;
}
