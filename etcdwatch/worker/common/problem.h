/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What went wrong, for the last line of output: a code for programs and a sentence for people. Many
 * layers return through each other; the one that knows most comes first and is the one that counts.
 */

#include "base/macro.h"

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

const char *problem_code_of(int r);
