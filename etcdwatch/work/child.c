/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spawns, collects, reaps. Of what the child says only the last whole line is kept. It is over when
 * its output has ended and it has been reaped, in whatever order the two come.
 */
#include "etcdwatch/work/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/spawn.h"

#define REASON_MAX 512
/* One that was killed and does not end, waits for a disk that hangs. */
#define KILLED_US (5 * US_PER_S)

struct child {
	struct ev_loop *ev;
	child_done_fn done;
	child_line_fn each;  /* or NULL */
	struct doing *doing; /* or NULL */
	void *userdata;
	pid_t pid;
	int fd; /* its output; -1: ended */
	ev_io readable;
	ev_child end;
	ev_timer limit;
	int64_t limit_us;
	bool late;
	char line[CHILD_LINE_MAX]; /* that is not whole yet */
	size_t n_line;
	bool too_long; /* the rest of this line is passed over */
	json_t *last;
};

/* --- the end --- */

static int judge(const struct child *c, char reason[static REASON_MAX])
{
	int status = c->end.rstatus;
	const char *said = json_string_value(json_object_get(c->last, "reason"));

	if (c->late) {
		(void) snprintf(reason, REASON_MAX, "it took longer than %lld s and was ended",
		                (long long) (c->limit_us / US_PER_S));
		return -ETIMEDOUT;
	}
	if (WIFSIGNALED(status)) {
		(void) snprintf(reason, REASON_MAX, "it was killed by signal %d", WTERMSIG(status));
		return -ECHILD;
	}
	if (WEXITSTATUS(status) == 0 && json_is_true(json_object_get(c->last, "ok")))
		return 0;
	if (said == NULL) {
		(void) snprintf(reason, REASON_MAX, "it ended with code %d and said nothing",
		                WEXITSTATUS(status));
		return -ECHILD;
	}
	(void) snprintf(reason, REASON_MAX, "%s", said);
	return -EBADMSG;
}

/* It was given up, and is reaped. */
static void free_quietly(struct child *c)
{
	json_decref(c->last);
	free(c);
}

/* Calls out: last act. */
static void end(struct child *c)
{
	char reason[REASON_MAX] = "";
	struct child_result result = {.reason = reason};
	child_done_fn done = c->done;
	void *userdata = c->userdata;
	json_t *last;

	result.r = judge(c, reason);
	last = TAKE_PTR(c->last);
	result.last = last;
	child_free(c);
	done(&result, userdata);
	json_decref(last);
}

static void end_if_over(struct child *c)
{
	if (c->fd < 0 && !ev_is_active(&c->end))
		end(c);
}

static void end_cb(struct ev_loop *ev, ev_child *w, int revents UNUSED)
{
	struct child *c = CONTAINER_OF(w, struct child, end);

	ev_child_stop(ev, w);
	if (c->done == NULL)
		free_quietly(c);
	else
		end_if_over(c);
}

static void limit_cb(struct ev_loop *ev, ev_timer *w, int revents UNUSED)
{
	struct child *c = CONTAINER_OF(w, struct child, limit);

	if (c->late) {
		end(c);
		return;
	}
	c->late = true;
	/* Once reaped, the number may be another's. */
	if (ev_is_active(&c->end) && !ev_is_pending(&c->end))
		(void) kill(-c->pid, SIGKILL);
	ev_timer_set(w, mono_to_ev(KILLED_US), 0.);
	ev_timer_start(ev, w);
}

/* --- what it says --- */

static void take_line(struct child *c)
{
	json_t *object = c->too_long ? NULL : json_loadb(c->line, c->n_line, 0, NULL);

	if (json_is_object(object)) {
		json_decref(c->last);
		c->last = json_incref(object);
		if (c->each != NULL)
			c->each(object, c->userdata);
		if (c->doing != NULL)
			doing_take(c->doing, object);
	} else if (c->n_line > 0) {
		log_debug("child_line_dropped", "pid=%d bytes=%zu", (int) c->pid, c->n_line);
	}
	json_decref(object);
	c->n_line = 0;
	c->too_long = false;
}

static void take_bytes(struct child *c, const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (data[i] == '\n')
			take_line(c);
		else if (c->n_line < sizeof(c->line))
			c->line[c->n_line++] = data[i];
		else
			c->too_long = true;
	}
}

static void readable_cb(struct ev_loop *ev, ev_io *w, int revents)
{
	struct child *c = CONTAINER_OF(w, struct child, readable);
	char data[4096];
	ssize_t n = read(c->fd, data, sizeof(data));

	loop_expect_watched(revents);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		take_bytes(c, data, (size_t) n);
		return;
	}
	take_line(c);
	ev_io_stop(ev, w);
	(void) close(TAKE_FD(c->fd));
	end_if_over(c);
}

/* --- the whole --- */

static int start(struct ev_loop *ev, const char *const *argv, int input, int64_t limit_us,
                 child_done_fn done, void *userdata, struct child **ret_child)
{
	struct spawn spawn = {.argv = argv, .own_group = true, .given = SPAWN_OUT};
	AUTO(close) int its_end = -1;
	struct child *c;
	int ends[2];
	pid_t pid;
	int r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	its_end = ends[1];
	(void) fcntl(ends[0], F_SETFL, O_NONBLOCK);
	/* The head of a process group, so that what it starts itself goes with it. */
	spawn.out = its_end;
	if (input >= 0) {
		spawn.in = input;
		spawn.given |= SPAWN_IN;
	}
	r = spawn_program(&spawn, &pid);
	if (r < 0) {
		(void) close(ends[0]);
		return r;
	}
	c = NEW0(struct child);
	c->ev = ev;
	c->done = done;
	c->userdata = userdata;
	c->pid = pid;
	c->fd = ends[0];
	c->limit_us = limit_us;
	ev_io_init(&c->readable, readable_cb, c->fd, EV_READ);
	ev_io_start(ev, &c->readable);
	ev_child_init(&c->end, end_cb, pid, 0);
	ev_child_start(ev, &c->end);
	ev_timer_init(&c->limit, limit_cb, mono_to_ev(limit_us), 0.);
	ev_timer_start(ev, &c->limit);
	*ret_child = c;
	return 0;
}

int child_start(struct ev_loop *ev, const char *const *argv, int64_t limit_us, child_done_fn done,
                void *userdata, struct child **ret_child)
{
	return start(ev, argv, -1, limit_us, done, userdata, ret_child);
}

int child_start_told(struct ev_loop *ev, const char *const *argv, const char *text,
                     int64_t limit_us, child_done_fn done, void *userdata, struct child **ret_child)
{
	/* Memory, as a file: whoever reads it need not be waited for. */
	AUTO(close) int input = memfd_create("told", MFD_CLOEXEC);
	size_t len = strlen(text);
	ssize_t n;

	if (input < 0)
		return -errno;
	n = pwrite(input, text, len, 0);
	if (n < 0 || (size_t) n != len)
		return n < 0 ? -errno : -EIO;
	return start(ev, argv, input, limit_us, done, userdata, ret_child);
}

void child_each_line(struct child *c, child_line_fn each)
{
	c->each = each;
}

void child_keep_doing(struct child *c, struct doing *doing)
{
	c->doing = doing;
}

const char *child_error_code(const struct child_result *result)
{
	const char *code = json_string_value(json_object_get(result->last, "error"));

	return result->r == -EBADMSG && code != NULL ? code : "";
}

void child_ask_to_end(struct child *c)
{
	/* Once reaped, the number may be another's. */
	if (ev_is_active(&c->end) && !ev_is_pending(&c->end))
		(void) kill(c->pid, SIGTERM);
}

void child_free(struct child *c)
{
	if (c == NULL)
		return;
	ev_io_stop(c->ev, &c->readable);
	ev_timer_stop(c->ev, &c->limit);
	if (c->fd >= 0)
		(void) close(TAKE_FD(c->fd));
	c->done = NULL;
	if (!ev_is_active(&c->end)) {
		free_quietly(c);
		return;
	}
	/* Once reaped, the number may be another's. One that waits for a disk that hangs ends when the
	 * disk lets it, and nobody waits here for that: end_cb() does the rest. */
	if (!ev_is_pending(&c->end))
		(void) kill(-c->pid, SIGKILL);
}

/* --- doing --- */

/* The last line counts. */

static uint64_t count_of(const json_t *line, const char *key)
{
	return (uint64_t) MAX(json_integer_value(json_object_get(line, key)), 0);
}

void doing_take(struct doing *doing, const json_t *line)
{
	const char *step = json_string_value(json_object_get(line, "doing"));

	if (step == NULL)
		return;
	(void) snprintf(doing->step, sizeof(doing->step), "%s", step);
	doing->bytes = count_of(line, "bytes");
	doing->of_bytes = count_of(line, "of_bytes");
}

void doing_put(const struct doing *doing, json_t *object)
{
	if (doing->step[0] == '\0')
		return;
	(void) json_object_set_new(object, "doing", json_string(doing->step));
	(void) json_object_set_new(object, "bytes", json_integer((json_int_t) doing->bytes));
	(void) json_object_set_new(object, "of_bytes", json_integer((json_int_t) doing->of_bytes));
}
