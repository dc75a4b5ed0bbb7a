/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the worker prints for its caller: JSON objects on stdout, one a line. The last line says how
 * it ended: {"ok":true,...} or {"ok":false,"error":"CODE","reason":"a sentence"}.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/macro.h"

/*
 * What went wrong, for the last line of output: a code for programs and a sentence for people. Many
 * layers return through each other; the one that knows most comes first and is the one that counts.
 */

#define PROBLEM_CODE_MAX 32
#define PROBLEM_REASON_MAX 1024

struct problem {
	char code[PROBLEM_CODE_MAX]; /* "" while there is none */
	char reason[PROBLEM_REASON_MAX];
};

/* These change nothing when there is a problem already. */
void problem_note(struct problem *problem, const char *code, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* ": <strerror(-r)>" is appended, and the code says the same: NO_SPACE, IO, PERMISSION, NOT_FOUND,
 * EXISTS, CANCELLED; SYSTEM for the rest. */
void problem_note_errno(struct problem *problem, int r, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* The same, and each is r: where it is used, so that whoever reads one file alone, as a compiler
 * does, sees that an error is what comes back. */
#define problem_set(problem, r, ...)        \
	({                                      \
		int problem_r_ = (r);               \
		problem_note(problem, __VA_ARGS__); \
		problem_r_;                         \
	})
#define problem_set_errno(problem, r, ...)                    \
	({                                                        \
		int problem_r_ = (r);                                 \
		problem_note_errno(problem, problem_r_, __VA_ARGS__); \
		problem_r_;                                           \
	})

/*
 * SIGTERM and SIGINT end what is under way in good order: what is half written is removed. Whoever
 * works for long asks here, at least once a second.
 */

/* Takes the two signals, and ignores SIGPIPE. */
void cancel_watch(void);
bool cancel_is_wanted(void);

DEFINE_AUTO(json_t, json_decref);

/* Takes the object. */
void result_line(json_t *object);

/* Which step begins, {"doing":...,"name":...}: what it works on. */
void result_doing(const char *step, const char *name);

/* The last line; each returns the exit code. result_ok() takes the fields. If stdout is broken, a
 * success that nobody heard of is none. */
int result_ok(json_t *fields);
int result_fail(const struct problem *problem);
/* With more to tell; takes the fields. */
int result_fail_with(const struct problem *problem, json_t *fields);

/* How far a step has come, told several times a second as {"doing":STEP,"bytes":N,"of_bytes":M}:
 * what takes less than that says nothing. */

struct pace {
	const char *step; /* static */
	uint64_t of_bytes;
	int64_t told_us;
	uint64_t before_bytes; /* for pace_sent_cb(): of the parts before */
	uint64_t most_bytes;   /* that were told */
};

/* It begins now. */
void pace_begin(struct pace *pace, const char *step, uint64_t of_bytes);
void pace_tell(struct pace *pace, uint64_t bytes);

/* Of a file that is read for its content: a bolt_pass_fn (bolt.h), each pass a step of its own. */
void pace_pass_cb(const char *pass, uint64_t bytes, uint64_t of_bytes, void *pace);

/* Of a part, which may begin again: what was told is never taken back. `pace` is one. */
void pace_sent_cb(uint64_t bytes, void *pace);
