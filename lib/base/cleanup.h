/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Owning locals. `AUTO(free) char *s = NULL;` frees s when it leaves scope; TAKE_PTR(s) hands it
 * over instead. A module makes its own type usable with DEFINE_AUTO(struct foo, foo_free), after
 * which `AUTO(foo_free) struct foo *f = NULL;` works. Every `_free` accepts NULL.
 */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define AUTO(fn) __attribute__((cleanup(auto_##fn)))

#define DEFINE_AUTO(type, fn)                                      \
	static inline __attribute__((unused)) void auto_##fn(type **p) \
	{                                                              \
		if (*p != NULL)                                            \
			fn(*p);                                                \
	}                                                              \
	struct auto_##fn##_needs_semicolon

/* Read a pointer and leave NULL behind, so that the owner's cleanup does nothing. */
#define TAKE_PTR(p)                     \
	({                                  \
		__typeof__(p) taken_ptr_ = (p); \
		(p) = NULL;                     \
		taken_ptr_;                     \
	})

/* The same for a descriptor; -1 is left behind. */
#define TAKE_FD(fd)           \
	({                        \
		int taken_fd_ = (fd); \
		(fd) = -1;            \
		taken_fd_;            \
	})

static inline __attribute__((unused)) void auto_free(void *p)
{
	free(*(void **) p);
}

static inline __attribute__((unused)) void auto_close(const int *fd)
{
	if (*fd >= 0)
		(void) close(*fd);
}

static inline __attribute__((unused)) void auto_fclose(FILE **f)
{
	if (*f != NULL)
		(void) fclose(*f);
}
