/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What this node's links and addresses say of a VIP: whether its link exists, whether a subnet of
 * the link contains it, and whether the node has the address already. vipd's gate silences the VIP
 * on every link, so an address that the node itself uses is refused.
 */

#include "base/conf.h"
#include "net/rtnl.h"
#include "vipd/config.h"

struct onlink {
	/* The VIP is this node's own address: on that link, with that prefix. */
	bool is_own;
	/* Another program has put it on that link; not with is_own. */
	bool is_put;
	struct rtnl_addr found; /* of the two above */
	char ifname[IFNAMSIZ];
	/* The length of the longest subnet of the link that contains it; 0: none does. */
	uint8_t subnet_len;
	/* One of the link's subnets of the same family, whether it contains the VIP or not. */
	bool has_subnet;
	struct prefix subnet;
};

/* -ENODEV where the VIP's link does not exist, and subnets are not known. */
int onlink_look(struct rtnl *rtnl, const struct config_vip *vip, struct onlink *ret_onlink);

#define ONLINK_TEXT_MAX 256

/* "no subnet of eth0 contains 10.9.0.5 (10.0.0.11/24)", or NULL: all is well, or the VIP is not
 * announced on its link. */
const char *onlink_outside(const struct onlink *onlink, const struct config_vip *vip,
                           char text[static ONLINK_TEXT_MAX]);

/* Looks at all VIPs of a configuration, on this node as it is now. What refuses it is reported
 * through `error`, and then -EADDRINUSE; what is only odd is added to its notes. */
int onlink_check(struct config *config, conf_message_fn error, void *userdata);
