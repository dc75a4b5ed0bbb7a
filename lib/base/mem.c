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

void mem_give_up(void)
{
	static const char msg[] = "<2>event=out_of_memory\n";

	/* Not log_error(): it formats, and stdio may allocate. */
	(void) !write(STDERR_FILENO, msg, sizeof(msg) - 1);
	abort();
}

void *mem_expect(void *p)
{
	if (p == NULL)
		mem_give_up();
	return p;
}

void *xcalloc(size_t n, size_t size)
{
	return mem_expect(calloc(n == 0 ? 1 : n, size == 0 ? 1 : size));
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
	return mem_expect(strdup(s));
}

char *xstrndup(const char *s, size_t n)
{
	return mem_expect(strndup(s, n));
}

char *xvasprintf(const char *fmt, va_list ap)
{
	char *s = NULL;
	int r = vasprintf(&s, fmt, ap);

	return mem_expect(r < 0 ? NULL : s);
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
	return mem_expect(reallocarray(p, n == 0 ? 1 : n, size == 0 ? 1 : size));
}

FILE *xmemstream_open(char **ret_text, size_t *ret_len)
{
	return mem_expect(open_memstream(ret_text, ret_len));
}

/* It grows as it is written to, and fails for nothing else. */
void xmemstream_flush(FILE *stream)
{
	if (fflush(stream) != 0 || ferror(stream) != 0)
		mem_give_up();
}

void xmemstream_close(FILE *stream)
{
	xmemstream_flush(stream);
	(void) fclose(stream);
}
