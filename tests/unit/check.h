/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a unit test needs and no more. A failed check prints where and both values, and the test
 * goes on; main() ends with `return check_result();`.
 */

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static unsigned check_failures;

static inline __attribute__((unused)) bool check_int(const char *file, int line, const char *expr,
                                                     long long got, long long want)
{
	if (got == want)
		return true;
	(void) fprintf(stderr, "%s:%d: %s is %lld, want %lld\n", file, line, expr, got, want);
	check_failures++;
	return false;
}

static inline __attribute__((unused)) bool check_str(const char *file, int line, const char *expr,
                                                     const char *got, const char *want)
{
	if (got == want || (got != NULL && want != NULL && strcmp(got, want) == 0))
		return true;
	(void) fprintf(stderr, "%s:%d: %s is\n  '%s', want\n  '%s'\n", file, line, expr,
	               got != NULL ? got : "(null)", want != NULL ? want : "(null)");
	check_failures++;
	return false;
}

static inline __attribute__((unused)) bool check_true(const char *file, int line, const char *expr,
                                                      bool holds)
{
	if (holds)
		return true;
	(void) fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, expr);
	check_failures++;
	return false;
}

/* Each is also an expression: false when it failed. */
#define CHECK(cond) check_true(__FILE__, __LINE__, #cond, (cond))
#define CHECK_EQ_INT(got, want) \
	check_int(__FILE__, __LINE__, #got, (long long) (got), (long long) (want))
#define CHECK_EQ_STR(got, want) check_str(__FILE__, __LINE__, #got, (got), (want))

/* Of a process whose check failed nothing is asked but that: it left off in the middle, and what
 * the leak checker finds of that would end it as what no machine excuses (tests/pool.sh). */
static inline __attribute__((unused, noreturn)) void check_exit(int code)
{
	(void) fprintf(stderr, "%u check%s failed\n", check_failures, check_failures == 1 ? "" : "s");
	(void) fflush(NULL);
	_exit(code);
}

/* Returns 0, or not at all. */
static inline __attribute__((unused)) int check_result(void)
{
	if (check_failures > 0)
		check_exit(1);
	return 0;
}
