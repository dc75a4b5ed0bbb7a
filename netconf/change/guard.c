/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at the state on the disk and at who has the lock, several times a second, and at once when
 * the daemon ends. It never writes while another has the lock.
 */
#include "netconf/change/guard.h"

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
#include "netconf/change/rescue.h"
#include "netconf/change/statedir.h"
#include "netconf/change/undo.h"

/* --- processes --- */

/* Another process, by a descriptor that stands for just that one (pidfd_open(2)), which is readable
 * when it has ended: to hear at once of its end, whether or not it is our child. */

struct process {
	struct ev_loop *ev;
	ev_io end;
	int fd;
	pid_t pid;
	void (*gone)(void *userdata);
	void *userdata;
};

static void end_cb(struct ev_loop *ev, ev_io *io, int revents)
{
	struct process *process = CONTAINER_OF(io, struct process, end);

	loop_expect_watched(revents);
	ev_io_stop(ev, io);
	process->gone(process->userdata);
}

/* `gone` is called once, from the loop; the handle stays. 0, -ESRCH: it is gone already, or
 * -errno. */
static int process_watch(struct ev_loop *ev, pid_t pid, void (*gone)(void *userdata),
                         void *userdata, struct process **ret_process)
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

static void process_kill(const struct process *process)
{
	(void) syscall(SYS_pidfd_send_signal, process->fd, SIGKILL, NULL, 0);
}

static void process_free(struct process *process)
{
	if (process == NULL)
		return;
	ev_io_stop(process->ev, &process->end);
	(void) close(process->fd);
	free(process);
}

/* --- the guard --- */

#define TICK_S 0.2
/* A daemon is stuck that was found so as often in a row. When the machine has slept, its time is
 * over and ours to judge it has come at once. */
#define STUCK_LOOKS 5
#define LOCK_TRIES 200
#define LOCK_PAUSE_US 100000

struct guard {
	struct loop *loop;
	const char *state_dir, *id;
	char *dir, *lock_path;
	struct kernel *kernel;
	struct process *daemon; /* who has the lock; NULL: nobody is known to */
	ev_timer tick;
	struct rescue *rescue;
	unsigned n_stuck; /* looks in a row that found the daemon stuck */
	int lock_fd;      /* < 0: the lock is not ours */
	bool told_damaged, told_lock;
	int64_t unreadable_us; /* since when the way back is; 0: it is not */
};

static void look(struct guard *guard);

static void end(struct guard *guard, int code)
{
	ev_timer_stop(loop_ev(guard->loop), &guard->tick);
	loop_stop(guard->loop, code);
}

/* --- the daemon --- */

static void on_gone(void *userdata)
{
	struct guard *guard = userdata;

	process_free(TAKE_PTR(guard->daemon));
	look(guard);
}

static void watch_daemon(struct guard *guard, pid_t pid)
{
	if (guard->daemon != NULL && guard->daemon->pid == pid)
		return;
	process_free(TAKE_PTR(guard->daemon));
	/* If it has just ended, the next look finds the lock free. */
	(void) process_watch(loop_ev(guard->loop), pid, on_gone, guard, &guard->daemon);
}

/* --- undoing --- */

static void on_rescued(const char *left, void *userdata)
{
	struct guard *guard = userdata;

	guard->rescue = NULL;
	end(guard, left[0] == '\0' ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* r: of reading the state. Or another change has taken its place. */
static bool is_over(const struct guard *guard, int r, const struct checkpoint_state *state)
{
	return r == -ENOENT ||
	       (r == 0 && (strcmp(state->id, guard->id) != 0 || !phase_is_watched(state->phase)));
}

/* What is damaged stays so; all else may pass. */
static void on_unreadable(struct guard *guard, int r)
{
	int64_t now_us = mono_now_us();

	if (guard->unreadable_us == 0) {
		(void) log_error_errno(r, "way_back_unreadable", "dir=%s", guard->dir);
		guard->unreadable_us = now_us;
	}
	if (r != -EBADMSG && r != -ENOENT && now_us < guard->unreadable_us + UNDO_TRY_US)
		return;
	rescue_give_up(guard->state_dir, UNDO_DAMAGED);
	end(guard, EXIT_FAILURE);
}

/* Once taken, it is kept to the end of the process: to open the file again and close it would give
 * it up (fcntl(2)). */
static bool have_lock(struct guard *guard)
{
	int r;

	if (guard->lock_fd >= 0)
		return true;
	r = lockfile_take(guard->lock_path);
	if (r == -EAGAIN)
		return false; /* a new daemon was faster, and does it */
	if (r < 0 && !guard->told_lock)
		(void) log_error_errno(r, "lock_failed", "path=%s", guard->lock_path);
	guard->told_lock = r < 0;
	guard->lock_fd = r;
	/* On a disk that is read-only nobody can take it any more; all else may pass. */
	return r >= 0 || r == -EROFS;
}

static void rescue(struct guard *guard, const struct checkpoint_state *state)
{
	struct checkpoint_state now;
	int r;

	if (!have_lock(guard))
		return;
	/* Before the lock was ours, a daemon may have come, confirmed it, and gone. */
	if (is_over(guard, checkpoint_read_state(guard->dir, &now), &now)) {
		end(guard, EXIT_SUCCESS);
		return;
	}
	r = rescue_start(loop_ev(guard->loop), guard->kernel, guard->state_dir,
	                 state->phase == PHASE_AWAITING ? "nobody confirmed it in time"
	                                                : "netconf ended in the middle of it",
	                 on_rescued, guard, &guard->rescue);
	if (r == -EALREADY)
		end(guard, EXIT_SUCCESS);
	else if (r < 0)
		on_unreadable(guard, r);
}

/* --- looking --- */

/* It is tried again with the next look. */
static void tell_damaged(struct guard *guard, int r, const char *reason)
{
	if (!guard->told_damaged)
		(void) log_error_errno(r, "state_unreadable", "dir=%s reason=\"%s\"", guard->dir, reason);
	guard->told_damaged = true;
}

static void judge_orphan(struct guard *guard, const struct checkpoint_state *state)
{
	bool is_same;
	int r = checkpoint_same_kernel(state, &is_same);

	if (r < 0) {
		tell_damaged(guard, r, "which kernel this is cannot be told");
		return;
	}
	switch (phase_find(state->phase, is_same, mono_now_us(), state->deadline_us)) {
	case PHASE_FOUND_WAIT:
		break;
	case PHASE_FOUND_UNDO:
		rescue(guard, state);
		break;
	case PHASE_FOUND_VOID:
	case PHASE_FOUND_FINISH:
	case PHASE_FOUND_OVER:
		end(guard, EXIT_SUCCESS);
		break;
	}
}

static void judge_daemon(struct guard *guard, const struct checkpoint_state *state, pid_t pid)
{
	bool is_stuck = phase_is_stuck(state->phase, mono_now_us(), state->deadline_us);

	watch_daemon(guard, pid);
	guard->n_stuck = is_stuck ? guard->n_stuck + 1 : 0;
	if (guard->daemon != NULL && guard->n_stuck >= STUCK_LOOKS) {
		log_error("daemon_stuck", "pid=%d phase=%s reason=\"it is killed, and the change undone\"",
		          (int) pid, phase_name(state->phase));
		process_kill(guard->daemon);
	}
}

static void look(struct guard *guard)
{
	struct checkpoint_state state;
	pid_t holder;
	int r;

	if (guard->rescue != NULL)
		return;
	r = checkpoint_read_state(guard->dir, &state);
	if (is_over(guard, r, &state)) {
		end(guard, EXIT_SUCCESS);
		return;
	}
	if (r < 0) {
		tell_damaged(guard, r, "the state cannot be read");
		return;
	}
	holder = guard->lock_fd >= 0 ? 0 : lockfile_holder(guard->lock_path);
	if (holder > 0)
		judge_daemon(guard, &state, holder);
	else if (holder == 0) /* not known is not nobody */
		judge_orphan(guard, &state);
}

static void tick_timer_cb(struct ev_loop *ev UNUSED, ev_timer *timer, int revents UNUSED)
{
	look(CONTAINER_OF(timer, struct guard, tick));
}

/* --- the process --- */

/* The guard of an earlier change may be about to end. */
static int take_lock(const char *state_dir)
{
	AUTO(free) char *path = statedir_path(state_dir, STATEDIR_GUARD_LOCK);
	int r = -EAGAIN;

	for (int i = 0; i < LOCK_TRIES && r == -EAGAIN; i++) {
		if (i > 0)
			(void) usleep(LOCK_PAUSE_US);
		r = lockfile_take(path);
	}
	return r;
}

int guard_run(const char *state_dir, const char *id)
{
	AUTO(free) char *dir = statedir_path(state_dir, STATEDIR_TRANSACTION);
	AUTO(free) char *lock_path = statedir_path(state_dir, STATEDIR_LOCK);
	struct guard guard = {
	    .state_dir = state_dir,
	    .id = id,
	    .dir = dir,
	    .lock_path = lock_path,
	    .lock_fd = -1,
	};
	AUTO(loop_free) struct loop *loop = NULL;
	AUTO(kernel_free) struct kernel *kernel = NULL;
	int r, code;

	/* The end of a terminal or of a session is not ours. */
	(void) setsid();
	(void) signal(SIGHUP, SIG_IGN);
	(void) signal(SIGINT, SIG_IGN);
	r = loop_new(&loop);
	if (r == 0)
		r = kernel_new(loop_ev(loop), &kernel);
	if (r == 0)
		r = take_lock(state_dir);
	if (r < 0) {
		(void) log_error_errno(r, "guard_failed", "dir=%s", state_dir);
		return EXIT_FAILURE;
	}
	guard.loop = loop;
	guard.kernel = kernel;
	log_info("guarding", "id=%s", id);
	ev_timer_init(&guard.tick, tick_timer_cb, 0., TICK_S);
	ev_timer_start(loop_ev(loop), &guard.tick);
	code = loop_run(loop);
	process_free(guard.daemon);
	return code;
}

/* --- the daemon's side --- */

/* A guard is at work when it has its lock; that it has ended, its process tells. */

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
