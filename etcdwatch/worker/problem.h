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

/* Each returns r, and changes nothing when there is a problem already. */
int problem_set(struct problem *problem, int r, const char *code, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

/* ": <strerror(-r)>" is appended, and the code says the same: NO_SPACE, IO, PERMISSION, NOT_FOUND,
 * EXISTS, CANCELLED; SYSTEM for the rest. */
int problem_set_errno(struct problem *problem, int r, const char *fmt, ...) PRINTF_LIKE(3, 4);

const char *problem_code_of(int r);
