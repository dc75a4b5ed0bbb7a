/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Asks a daemon one thing over its control socket (base/control.h has the protocol) and waits for
 * the whole answer, with one deadline for everything: blocking, or from an event loop.
 */

#include <ev.h>
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/mono.h"

/* More than any daemon sends; what is longer is not an answer. */
#define CLIENT_ANSWER_MAX (8 * 1024 * 1024)

struct client_answer {
	char *lines;     /* the JSON lines as they came, each with its newline */
	json_t *objects; /* an array of the same */
	char *error;     /* the code of an `error` status line; NULL: ok */
	char *sentence;  /* what the error says */
	int fd;          /* a descriptor that came with it (SCM_RIGHTS); -1: none */
};

void client_answer_free(struct client_answer *answer);
DEFINE_AUTO(struct client_answer, client_answer_free);

/*
 * 0 when there is an answer, be it an error's. -errno when there is none: -ENOENT or -ECONNREFUSED
 * when nobody listens, -EACCES when this user may not connect, -ETIMEDOUT, -EBADMSG when what came
 * is cut off or not the protocol, -EINVAL for a control character in the words.
 */
int client_ask(const char *socket_path, const char *const *words, size_t n_words,
               int64_t timeout_us, struct client_answer **ret_answer);

/* The same, and each object is told as it comes, with the descriptor that has come by then (-1:
 * none); both are borrowed. Once there is a descriptor, NULL is told every CLIENT_TICK_US until
 * there is an object. */
#define CLIENT_TICK_US (50 * US_PER_MS)
typedef void (*client_object_fn)(const json_t *object, int fd, void *userdata);
int client_ask_each(const char *socket_path, const char *const *words, size_t n_words,
                    int64_t timeout_us, client_object_fn each, void *userdata,
                    struct client_answer **ret_answer);

/* The text of a whole answer, taken apart: 0 or -EBADMSG. Pure; client_ask() uses it. */
int client_parse_answer(const char *text, struct client_answer **ret_answer);

/* --- from an event loop: nothing blocks, and many may be under way, each with its deadline --- */

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
