/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a unit test needs and no more. A failed check prints where and both values, and the test
 * goes on; main() ends with `return check_result();`.
 */

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

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

static inline __attribute__((unused)) int check_result(void)
{
	if (check_failures > 0)
		(void) fprintf(stderr, "%u check%s failed\n", check_failures,
		               check_failures == 1 ? "" : "s");
	return check_failures == 0 ? 0 : 1;
}
