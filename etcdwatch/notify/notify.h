/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tells a webhook what the watchdog finds, and what is over, each as soon as it can: one message at
 * a time, in their order, each again and again until it has arrived, is refused, or has become too
 * old. What has not been told when the process ends is forgotten, as the findings are: the next one
 * tells that it has begun, and raises what still holds.
 */

#include <ev.h>

#include "etcdwatch/config/config.h"
#include "etcdwatch/rules/judge.h"
#include "etcdwatch/notify/notifycall.h"
#include "etcdwatch/notify/notifyqueue.h"

struct notify;

struct notify_options {
	struct ev_loop *ev;
	const struct config_notify *config; /* all of these are borrowed until notify_free() */
	const char *worker;
	const char *node;
	const char *instance; /* of this process */
};

/* NULL: nobody is to be told. */
struct notify *notify_new(const struct notify_options *options);
void notify_free(struct notify *notify); /* NULL is fine */

/* Before each round is judged. Of the first one the receiver is told that it was. */
void notify_round(struct notify *notify, const struct observation *o);
/* In that round, and NULL is fine. */
void notify_finding(struct notify *notify, const struct judge_finding *finding, bool raised);

/* One message for a try, past the others. As notifycall_start(). */
int notify_test(struct notify *notify, notifycall_done_fn done, void *userdata,
                struct notifycall **ret_call);

void notify_fill_report(const struct notify *notify, struct notifyreport *ret_report);
