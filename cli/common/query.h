/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Asks a daemon one thing over its control socket, as client_ask() does, but from an event loop:
 * nothing blocks, and many may be under way. Each has a deadline of its own.
 */

#include <ev.h>

#include "cli/common/client.h"

struct query;

/*
 * Called once, from the loop and never before query_start() returns; the query is gone by then.
 * r < 0: there is no answer, as client_ask() has it; else the answer is the callee's to free.
 */
typedef void (*query_done_fn)(int r, struct client_answer *answer, void *userdata);

/* The words are copied. */
struct query *query_start(struct ev_loop *loop, const char *socket_path, const char *const *words,
                          size_t n_words, int64_t timeout_us, query_done_fn done, void *userdata);

/* Before it is done: after this it never will be. NULL is fine. */
void query_cancel(struct query *query);
