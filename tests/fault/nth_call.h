/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What of the preloaded library decides (nth_call.c), for what stands in place of the calls
 * (nth_calls.c): which call of the program this is, and what is to become of it.
 */

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum call {
	CALL_MALLOC,
	CALL_OPEN,
	CALL_READ,
	CALL_WRITE,
	CALL_FSYNC,
	CALL_RENAME,
	CALL_SOCKET,
	CALL_BIND,
	CALL_CONNECT,
	CALL_ACCEPT,
	CALL_SEND,
	CALL_RECV,
	CALL_EPOLL,
	CALL_TIMER,
	CALL_MAP,
	CALL_PIPE,
	CALL_FORK,
	N_CALLS,
};

enum fate {
	FAULT_NONE,
	FAULT_FAIL,  /* errno is set */
	FAULT_HALVE, /* half of it is read or written */
};

/* Whether it is the program's own is seen by whom it came from. */
enum fate fault_meet(enum call call, uintptr_t caller);

/* The same for a file, which is made if it is not there, or must be there. */
enum fate fault_meet_open(bool creates, uintptr_t caller);

#define FAULT_AT_POSITION ((off_t) -1)

/* The same for what is read or written: of len bytes, which become half of what is there to be read
 * or written with FAULT_HALVE. A file counts as CALL_READ or CALL_WRITE; what has somebody at its
 * other end as CALL_RECV or CALL_SEND. Packets are never short, nor is what is a byte or nothing;
 * and datagrams, as of netlink, have no connection that could be lost. */
enum fate fault_meet_fd(int fd, bool writes, size_t *len, off_t offset, uintptr_t caller);

/* Something is done, by a call that cannot be chosen, which is still there when the program is not.
 */
void fault_note_effect(uintptr_t caller);

/* The next one behind this library. */
#define REAL(name)                           \
	({                                       \
		static typeof(name) *real_;          \
		if (real_ == NULL)                   \
			real_ = dlsym(RTLD_NEXT, #name); \
		real_;                               \
	})

#define CALLER ((uintptr_t) __builtin_return_address(0))
