/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One question to another daemon over its control socket (base/control.h has the protocol), on the
 * loop.
 */

#include <ev.h>

#include "base/cleanup.h"

#define ASK_ANSWER_MAX 65536

struct ask;

/*
 * Once, and never before ask_new() returned; not after ask_free(). lines: the JSON lines, each with
 * its newline, or NULL; then `error` says why. Both are borrowed until the return. The callback may
 * free the ask.
 */
typedef void (*ask_done_fn)(const char *lines, const char *error, void *userdata);

/* command is a line of words, without its newline. Always succeeds: what fails shows in `done`. */
struct ask *ask_new(struct ev_loop *ev, const char *socket_path, const char *command,
                    int64_t timeout_us, ask_done_fn done, void *userdata);
void ask_free(struct ask *ask);
DEFINE_AUTO(struct ask, ask_free);
