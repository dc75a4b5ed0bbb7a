/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One attempt to bring a message to the receiver, by a worker: names are resolved and files are
 * read on the way. */

#include <ev.h>
#include <stdint.h>

#include "etcdwatch/config/config.h"

struct notifycall;

enum notifycall_end {
	NOTIFYCALL_ARRIVED,
	NOTIFYCALL_REFUSED, /* trying again is useless */
	NOTIFYCALL_FAILED,
};

struct notifycall_result {
	enum notifycall_end end;
	int status;         /* of the answer; 0: there was none */
	int64_t asked_us;   /* how long the receiver wants to be left alone; 0: it does not say */
	const char *reason; /* a sentence, "" if it arrived; borrowed */
};

typedef void (*notifycall_done_fn)(const struct notifycall_result *result, void *userdata);

/* 0 or -errno. The handle is gone when `done` is called. */
int notifycall_start(struct ev_loop *ev, const char *worker, const struct config_notify *config,
                     const char *id, const char *body, notifycall_done_fn done, void *userdata,
                     struct notifycall **ret_call);
void notifycall_free(struct notifycall *call); /* no callback; NULL is fine */
