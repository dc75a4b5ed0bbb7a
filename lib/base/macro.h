/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The few macros that every file may use. Nothing here allocates, logs or fails.
 */

#include <stddef.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* The structure that embeds `member` at `ptr`. */
#define CONTAINER_OF(ptr, type, member) ((type *) (void *) ((char *) (ptr) -offsetof(type, member)))

/* What is returned was evaluated twice; a clock in them may have gone on in between. */
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))
#define NORETURN __attribute__((noreturn))
#define UNUSED __attribute__((unused))
#define ALWAYS_INLINE inline __attribute__((always_inline))
