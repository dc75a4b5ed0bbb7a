/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The daemon's side of the guard: starts one for a change, waits until it watches, and sees to it
 * that there always is one. When there cannot be, the change must be undone at once, since nobody
 * would undo it after us.
 */

#include <ev.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/cleanup.h"

struct watchman;

struct watchman_ops {
	void (*watched)(void *userdata); /* the guard is at work; once */
	void (*failed)(void *userdata);  /* there is none, and there will be none */
};

/* `program` is netconf itself. is_found: another process has begun the change, and a guard that is
 * at work is its guard and is taken as it is. Else only one that was started here counts: that of
 * an earlier change may still be about to end. Calls nothing before it returns. ops are borrowed.
 */
struct watchman *watchman_start(struct ev_loop *ev, const char *program, const char *state_dir,
                                const char *id, bool is_found, const struct watchman_ops *ops,
                                void *userdata);
/* The guard ends by itself when the change is over. */
void watchman_free(struct watchman *watchman);
DEFINE_AUTO(struct watchman, watchman_free);

/* Another process, by a descriptor that stands for just that one (pidfd_open(2)): to hear at once
 * of its end, whether or not it is our child. */

struct process;

typedef void (*process_gone_fn)(void *userdata);

/* `gone` is called once, from the loop; the handle stays. 0, -ESRCH: it is gone already, or
 * -errno. */
int process_watch(struct ev_loop *ev, pid_t pid, process_gone_fn gone, void *userdata,
                  struct process **ret_process);
pid_t process_pid(const struct process *process);
void process_kill(const struct process *process); /* SIGKILL */
void process_free(struct process *process);
DEFINE_AUTO(struct process, process_free);
