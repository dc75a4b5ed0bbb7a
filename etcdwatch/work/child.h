/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A child process that does one heavy thing and says how it went in JSON objects, one a line, on
 * its standard output: {"ok": true, ...} or {"ok": false, "error": "CODE", "reason": "sentence"} as
 * the last. Its standard error is ours. Nothing here waits for it.
 */

#include <ev.h>
#include <jansson.h>
#include <stdint.h>

#include "base/cleanup.h"

#define CHILD_LINE_MAX 163840 /* bytes of one line: an entry of the catalogue, escaped, fits */
#define CHILD_ARGS_MAX 256

/*
 * What a worker says that it is at, and how far it has come with that
 * (etcdwatch/worker/common/result.h): kept to be told to whoever waits. Values; zeroed: nothing was
 * said yet.
 */

#define DOING_STEP_MAX 16

struct doing {
	char step[DOING_STEP_MAX]; /* "" */
	uint64_t bytes, of_bytes;  /* of_bytes: 0: nobody knows of how many */
};

/* A line of its output; one that is about something else changes nothing. */
void doing_take(struct doing *doing, const json_t *line);

/* `doing`, `bytes` and `of_bytes`, if anything was said. */
void doing_put(const struct doing *doing, json_t *object);

struct child;

struct child_result {
	/* 0: it succeeded, and `last` is what it said. -EBADMSG: it says that it failed, see `last`
	 * and `reason`. -ETIMEDOUT: it took too long, and was killed (if it hangs on a disk, it goes
	 * when that lets it); -ECHILD: it was killed, or ended without a word.
	 */
	int r;
	const json_t *last; /* NULL: it said nothing; borrowed */
	const char *reason; /* a sentence; "" if r is 0 */
};

/* The child is over, and the handle is gone when this returns. */
typedef void (*child_done_fn)(const struct child_result *result, void *userdata);

/* argv[0] is the program's path; the array ends with NULL. 0 or -errno. */
int child_start(struct ev_loop *ev, const char *const *argv, int64_t limit_us, child_done_fn done,
                void *userdata, struct child **ret_child);

/* The same for one that reads `text` to its end on its standard input: what not everybody may see
 * in the list of processes. */
int child_start_told(struct ev_loop *ev, const char *const *argv, const char *text,
                     int64_t limit_us, child_done_fn done, void *userdata,
                     struct child **ret_child);

/* Tells of each object as it comes, also of the last one, which is told again at the end. Right
 * after child_start(), before anything has come. */
typedef void (*child_line_fn)(const json_t *object, void *userdata);
void child_each_line(struct child *child, child_line_fn each);

/* Keeps in `doing`, which outlives the child, what it says that it is at. Each line is told of
 * first (child_each_line()). */
void child_keep_doing(struct child *child, struct doing *doing);

/* What a child that failed calls it, such as "S3_DENIED"; "" without a word from it. */
const char *child_error_code(const struct child_result *result);

/* Asks it to end in good order; done is called when it has. */
void child_ask_to_end(struct child *child);

/* Kills it; done is not called. NULL is fine. */
void child_free(struct child *child);
DEFINE_AUTO(struct child, child_free);
