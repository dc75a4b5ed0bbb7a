/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The bodies of messages to a webhook, as docs/etcd.md describes them. Pure. Each is the text of a
 * JSON object, which the caller frees.
 */

#include "etcdwatch/rules/judge.h"

/* Who tells, and when. */
struct notifymessage_from {
	const char *node;
	uint64_t cluster_id; /* 0: not known yet */
	int64_t now_us;      /* mono_now_us() */
	int64_t wall_s;
};

char *notifymessage_finding(const struct notifymessage_from *from,
                            const struct judge_finding *finding, bool raised);
/* The watchdog has just begun: what it told before is void. */
char *notifymessage_started(const struct notifymessage_from *from);
char *notifymessage_test(const struct notifymessage_from *from);
