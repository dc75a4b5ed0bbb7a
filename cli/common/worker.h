/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Other programs of fairlead that a command runs by itself, without a daemon: etcdwatch-worker,
 * which does what is heavy, and etcdwatch, which knows its own configuration. They are found beside
 * this program, or in the sbin beside its folder. Each prints JSON objects, one a line.
 */

#include <jansson.h>
#include <stdbool.h>

#include "cli/common/texts.h"

/* The path of such a program, to be freed; NULL: it is not installed, which has been said. */
char *worker_find(const char *name);

/* Gets each line but the worker's last; the object is borrowed. */
typedef void (*worker_line_fn)(const json_t *object, void *userdata);

/*
 * Runs etcdwatch-worker with these words to its end, which is where an interrupt from the keyboard
 * goes. CLI_OK with its last line; or what went wrong is said on standard error. `line` may be
 * NULL.
 */
int worker_run(const struct texts *words, worker_line_fn line, void *userdata, json_t **ret_last);

/* The same, and the last line is told like the others, also that of a worker that failed. */
int worker_run_telling(const struct texts *words, worker_line_fn line, void *userdata);

/* The same for a program that just prints lines, of which there is an array in the end. */
int worker_lines(const char *program, const struct texts *words, json_t **ret_lines);

/* Any program of fairlead that prints lines and says itself what is wrong: its exit code is ours,
 * and each line is told as it comes. */
int worker_tell(const char *program, const struct texts *words, worker_line_fn line,
                void *userdata);

bool worker_is_installed(const char *program);

/* The program's exit code, -1 if it was killed, and all that it has printed, to be freed: on
 * standard output, or on standard error too. CLI_OK; else it could not be run, which is said. */
int worker_text(const char *program, const struct texts *words, bool with_errors, char **ret_text,
                int *ret_exit);

/* Goes on as that program, which then speaks for itself. Returns only if that cannot be: the exit
 * code, and it is said why. */
int worker_become(const char *program, const struct texts *words);
