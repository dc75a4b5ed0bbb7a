/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Allocation that cannot fail: out of memory is logged and aborts, the service manager restarts
 * the daemon, and the fences in the kernel hold meanwhile. Everything returned is freed by free().
 */

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "base/macro.h"

void *xcalloc(size_t n, size_t size) __attribute__((malloc));
void *xmemdup(const void *data, size_t len) __attribute__((malloc));
char *xstrdup(const char *s) __attribute__((malloc));
char *xstrndup(const char *s, size_t n) __attribute__((malloc));
char *xasprintf(const char *fmt, ...) PRINTF_LIKE(1, 2) __attribute__((malloc));
char *xvasprintf(const char *fmt, va_list ap) PRINTF_LIKE(1, 0) __attribute__((malloc));

/* Resizes to n elements; the new tail is not cleared. */
void *xreallocarray(void *p, size_t n, size_t size);

/* For those who allocate by a library: says that there is no memory and aborts, or returns p. */
_Noreturn void mem_give_up(void);
void *mem_expect(void *p);

/* open_memstream(3). What was written is in the text, and is whole, once it is flushed or closed.
 */
FILE *xmemstream_open(char **ret_text, size_t *ret_len);
void xmemstream_flush(FILE *stream);
void xmemstream_close(FILE *stream);

/* One zeroed `type`. */
#define NEW0(type) ((type *) xcalloc(1, sizeof(type)))
