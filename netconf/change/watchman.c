/* SPDX-License-Identifier: Apache-2.0 */
/* A guard is at work when it has its lock; that it has ended, its process tells. */
#include "netconf/change/watchman.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/spawn.h"
#include "netconf/change/statedir.h"

/* --- processes --- */

/* A pidfd is readable when its process has ended. */

struct process {
	struct ev_loop *ev;
	ev_io end;
	int fd;
	pid_t pid;
	process_gone_fn gone;
	void *userdata;
};

static void end_cb(struct ev_loop *ev, ev_io *io, int revents)
{
	struct process *process = CONTAINER_OF(io, struct process, end);

	loop_expect_watched(revents);
	ev_io_stop(ev, io);
	process->gone(process->userdata);
}

int process_watch(struct ev_loop *ev, pid_t pid, process_gone_fn gone, void *userdata,
                  struct process **ret_process)
{
	struct process *process;
	int fd = (int) syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		return -errno;
	process = NEW0(struct process);
	process->ev = ev;
	process->fd = fd;
	process->pid = pid;
	process->gone = gone;
	process->userdata = userdata;
	ev_io_init(&process->end, end_cb, fd, EV_READ);
	ev_io_start(ev, &process->end);
	*ret_process = process;
	return 0;
}

pid_t process_pid(const struct process *process)
{
	return process->pid;
}

void process_kill(const struct process *process)
{
	(void) syscall(SYS_pidfd_send_signal, process->fd, SIGKILL, NULL, 0);
}

void process_free(struct process *process)
{
	if (process == NULL)
		return;
	ev_io_stop(process->ev, &process->end);
	(void) close(process->fd);
	free(process);
}

#define STARTS_MAX 3
#define POLL_S 0.001
/* Also on a machine that hardly gets anything done. */
#define START_LIMIT_US (30 * US_PER_S)

struct watchman {
	struct ev_loop *ev;
	char *program, *state_dir, *id, *lock_path;
	const struct watchman_ops *ops;
	void *userdata;
	ev_timer poll; /* until it has its lock */
	int64_t deadline_us;
	unsigned n_starts;
	pid_t started;           /* the last one; 0: none */
	struct process *process; /* that has the lock; NULL: none is known */
	bool takes_any;          /* that has the lock */
	bool told;
};

static void lost_cb(void *userdata);

static int spawn_guard(struct watchman *w)
{
	const char *const argv[] = {w->program, "--guard", w->id, "--state-dir", w->state_dir, NULL};

	/* libev reaps it. */
	return spawn_program(&(struct spawn){.argv = argv, .out = STDOUT_FILENO, .given = SPAWN_OUT},
	                     &w->started);
}

/* False: as often as it makes sense already. */
static bool start(struct watchman *w)
{
	int r;

	if (w->n_starts == STARTS_MAX)
		return false;
	w->n_starts++;
	r = spawn_guard(w);
	if (r < 0) {
		(void) log_error_errno(r, "guard_not_started", "program=%s", w->program);
		return false;
	}
	w->deadline_us = mono_now_us() + START_LIMIT_US;
	return true;
}

static void fail(struct watchman *w)
{
	ev_timer_stop(w->ev, &w->poll);
	log_error("guard_missing", "id=%s", w->id);
	w->ops->failed(w->userdata);
}

static void poll_timer_cb(struct ev_loop *ev, ev_timer *timer, int revents UNUSED)
{
	struct watchman *w = CONTAINER_OF(timer, struct watchman, poll);
	pid_t pid = lockfile_holder(w->lock_path);

	if (pid > 0 && (pid == w->started || w->takes_any) &&
	    process_watch(w->ev, pid, lost_cb, w, &w->process) == 0) {
		ev_timer_stop(ev, timer);
		if (!w->told) {
			w->told = true;
			w->ops->watched(w->userdata);
		}
		return;
	}
	if (mono_now_us() >= w->deadline_us && !start(w))
		fail(w);
}

static void lost_cb(void *userdata)
{
	struct watchman *w = userdata;

	process_free(TAKE_PTR(w->process));
	w->takes_any = false;
	log_warning("guard_lost", "id=%s reason=\"another one is started\"", w->id);
	if (start(w))
		ev_timer_again(w->ev, &w->poll);
	else
		fail(w);
}

struct watchman *watchman_start(struct ev_loop *ev, const char *program, const char *state_dir,
                                const char *id, bool is_found, const struct watchman_ops *ops,
                                void *userdata)
{
	struct watchman *w = NEW0(struct watchman);

	w->ev = ev;
	w->program = xstrdup(program);
	w->state_dir = xstrdup(state_dir);
	w->id = xstrdup(id);
	w->lock_path = statedir_path(state_dir, STATEDIR_GUARD_LOCK);
	w->takes_any = is_found;
	w->ops = ops;
	w->userdata = userdata;
	ev_timer_init(&w->poll, poll_timer_cb, 0., POLL_S);
	ev_timer_again(ev, &w->poll);
	return w;
}

void watchman_free(struct watchman *w)
{
	if (w == NULL)
		return;
	ev_timer_stop(w->ev, &w->poll);
	process_free(w->process);
	free(w->program);
	free(w->state_dir);
	free(w->id);
	free(w->lock_path);
	free(w);
}
