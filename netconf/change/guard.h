/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The dead-man: a process of its own that watches one change until that is over. It outlives the
 * daemon, the session in which the change was begun, and a stop of the service. When the daemon is
 * gone in the middle of the change, it undoes it at once; when it is gone while a confirmation is
 * awaited, it waits for another daemon to take that, until the deadline; and a daemon that lives
 * but lets its deadline pass is killed.
 */

#include <ev.h>
#include <stdbool.h>

#include "base/cleanup.h"

/* The whole process: its exit code. state_dir and id are of the change. */
int guard_run(const char *state_dir, const char *id);

/*
 * The daemon's side of the guard: starts one for a change, waits until it watches, and sees to it
 * that there always is one. When there cannot be, the change must be undone at once, since nobody
 * would undo it after us.
 */

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
