/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Single steps as rtnetlink messages. Pure. What is restored for others is sent as it was dumped;
 * all else carries the mark that the step gives it. Sources: rtnetlink(7), linux/if_link.h,
 * linux/rtnetlink.h, linux/fib_rules.h.
 */

#include "net/attr.h"
#include "netconf/plan/plan.h"

/* 0: there is no link of that name now. */
typedef int (*encode_ifindex_fn)(const char *name, void *userdata);

struct encode_names {
	encode_ifindex_fn ifindex;
	void *userdata;
};

/* The request of a step of any kind but OP_WIREGUARD_SET and OP_WAIT_CARRIER: then -EINVAL.
 * -ENODEV: a link that it names is not there; *ret_missing is which. -EMSGSIZE: it is too long. */
int encode_op(const struct op *op, const struct encode_names *names, struct message *ret_message,
              const char **ret_missing);
