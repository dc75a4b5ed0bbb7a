/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One RTM_NEWLINK into a struct link; for decode.c. */

#include <linux/netlink.h>

#include "netconf/model/link.h"

/* The other links that it names, by number; 0: none. */
struct decode_link_refs {
	uint32_t master, lower, primary, active_port;
};

/* 0, or -EBADMSG. The caller owns what *ret_link points to. */
int decode_link(const struct nlmsghdr *nlh, struct link *ret_link,
                struct decode_link_refs *ret_refs);

/* IFLA_INFO_KIND of a kind that netconf makes; NULL for the others. */
const char *decode_kind_name(enum link_kind kind);
