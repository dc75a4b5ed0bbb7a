/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Lets one chosen system call of etcdwatch-worker fail: the n-th write, the n-th fsync, and so on.
 * Linked into tests in place of the calls (ld --wrap), so that the worker itself has no switch for
 * it. What libzstd, libcurl and other programs call is not touched.
 */

#include <stdbool.h>

enum fault_call {
	FAULT_OPEN, /* open and openat */
	FAULT_READ,
	FAULT_WRITE,
	FAULT_FSYNC,
	FAULT_CLOSE,
	FAULT_FCHMOD,
	FAULT_RENAME,
	FAULT_UNLINK,
	FAULT_PIPE,
	FAULT_FORK,
	FAULT_WAIT,
	FAULT_CALLS,
};

enum fault_action {
	FAULT_NONE,        /* count only */
	FAULT_ERROR,       /* fails with the errno */
	FAULT_KILL_BEFORE, /* the process is killed instead */
	FAULT_KILL_AFTER,  /* or when the call is done */
	FAULT_SHORT,       /* reads and writes half of it */
};

/* From now on, and only once. Counting begins anew. */
void fault_arm(enum fault_call call, unsigned index, enum fault_action action, int error);

/* How many of each there were, and whether the chosen one was reached. */
unsigned fault_count(enum fault_call call);
bool fault_was_reached(void);
const char *fault_name(enum fault_call call);

/* What was synced, renamed and unlinked, in order: "fsync file\nrename\n...". */
const char *fault_order(void);
