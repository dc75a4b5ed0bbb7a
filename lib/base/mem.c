/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one place where running out of memory is handled. Callers never check: a daemon that cannot
 * allocate a few hundred bytes can promise nothing, and a restart under the kernel's fence can.
 */
#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *check(void *p)
{
	static const char msg[] = "<2>event=out_of_memory\n";

	if (p == NULL) {
		/* Not log_error(): it formats, and stdio may allocate. */
		(void) !write(STDERR_FILENO, msg, sizeof(msg) - 1);
		abort();
	}
	return p;
}

void *xcalloc(size_t n, size_t size)
{
	return check(calloc(n == 0 ? 1 : n, size == 0 ? 1 : size));
}

void *xmemdup(const void *data, size_t len)
{
	void *p = xcalloc(1, len);

	if (len > 0)
		memcpy(p, data, len);
	return p;
}

char *xstrdup(const char *s)
{
	return check(strdup(s));
}

char *xstrndup(const char *s, size_t n)
{
	return check(strndup(s, n));
}

char *xvasprintf(const char *fmt, va_list ap)
{
	char *s = NULL;
	int r = vasprintf(&s, fmt, ap);

	return check(r < 0 ? NULL : s);
}

char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = xvasprintf(fmt, ap);
	va_end(ap);
	return s;
}

void *xreallocarray(void *p, size_t n, size_t size)
{
	return check(reallocarray(p, n == 0 ? 1 : n, size == 0 ? 1 : size));
}
