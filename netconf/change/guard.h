/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The dead-man: a process of its own that watches one change until that is over. It outlives the
 * daemon, the session in which the change was begun, and a stop of the service. When the daemon is
 * gone in the middle of the change, it undoes it at once; when it is gone while a confirmation is
 * awaited, it waits for another daemon to take that, until the deadline; and a daemon that lives
 * but lets its deadline pass is killed.
 */

/* The whole process: its exit code. state_dir and id are of the change. */
int guard_run(const char *state_dir, const char *id);
