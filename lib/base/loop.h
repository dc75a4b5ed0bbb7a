/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The one event loop of a process: libev plus signals, and the service manager's
 * protocol (sd_notify(3)): readiness, status text, and the watchdog, which is fed from the loop so
 * that a hung loop is noticed. Modules embed their own libev watchers and use loop_ev().
 *
 * Threads that do not run the loop block all signals before they start, so that every signal
 * lands here.
 */

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/macro.h"

struct loop;

typedef void (*loop_signal_fn)(int signo, void *userdata);

/* 0 or -errno. SIGPIPE is ignored from here on. */
int loop_new(struct loop **ret_loop);
void loop_free(struct loop *loop);
DEFINE_AUTO(struct loop, loop_free);

/* Borrowed; lives as long as the loop. */
struct ev_loop *loop_ev(struct loop *loop);

/*
 * With `hold` TERM, INT, HUP and USR2 wait until they can be handled: a second SIGHUP must not kill
 * a process that has just executed itself because of the first. The mask survives execve(2),
 * handlers do not.
 */
void loop_hold_signals(bool hold);

/* Calls fn on the loop whenever signo arrives. One handler a signal. */
void loop_on_signal(struct loop *loop, int signo, loop_signal_fn fn, void *userdata);

/* Starts the timer: due once, so long after this turn of the loop, whatever was set before. */
void loop_timer_in(struct ev_loop *ev, ev_timer *timer, int64_t us);

/* Runs until loop_stop(); returns the exit code given there. */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop, int exit_code);

/*
 * For callbacks of an ev_io. Where the kernel has no memory to watch a descriptor, libev stops the
 * watcher and says so with EV_ERROR beside all that was asked for: nothing has happened, and
 * nothing ever will be heard of it. That is said and aborts, as with any other memory (base/mem.h).
 * Who can do without that one descriptor looks at EV_ERROR itself, and closes it.
 */
void loop_expect_watched(int revents);

/* Tells the service manager, when there is one ($NOTIFY_SOCKET): "READY=1", "STOPPING=1",
 * "STATUS=..." (newline separated). Without one it does nothing. Never blocks. */
void loop_notify(struct loop *loop, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* "RELOADING=1", with the time of CLOCK_MONOTONIC that belongs to it. "READY=1" ends it. */
void loop_notify_reloading(struct loop *loop);
