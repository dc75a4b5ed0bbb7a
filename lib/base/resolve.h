/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One look at the name service, in a thread of its own, for those whose loop must not wait for it.
 */

#include <ev.h>
#include <stddef.h>

#include "base/addr.h"

#define RESOLVE_ADDRS_MAX 64 /* more are left out */
#define RESOLVE_ERROR_MAX 128

struct resolve;

enum resolve_families {
	RESOLVE_ANY,
	RESOLVE_OWN, /* only families that this machine has an address of */
};

struct resolve_result {
	struct addr addrs[RESOLVE_ADDRS_MAX]; /* in the order in which they are to be tried */
	size_t n;                             /* 0: error says why */
	char error[RESOLVE_ERROR_MAX];
};

/* From the loop, exactly once, and never after resolve_cancel(); the handle is gone by then. */
typedef void (*resolve_done_fn)(const struct resolve_result *result, void *userdata);

/* 0, or -errno when there is no thread to be had. */
int resolve_start(struct ev_loop *ev, const char *name, enum resolve_families families,
                  resolve_done_fn done, void *userdata, struct resolve **ret_resolve);
/* Does not wait for the thread, which ends by itself. NULL is fine. */
void resolve_cancel(struct resolve *resolve);
