/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What rtnetlink dumps, into a model. Links first: the rest is named after them, and links name
 * each other only when all are known. A message that lacks what it must have is passed over.
 * Pure. Sources: rtnetlink(7), linux/if_link.h, linux/rtnetlink.h, linux/fib_rules.h.
 */

#include <linux/netlink.h>

#include "base/cleanup.h"
#include "netconf/model/model.h"

struct decoder;

/* The model is borrowed, and nobody else may add to it until decoder_free(). */
struct decoder *decoder_new(struct model *model);
void decoder_free(struct decoder *decoder);
DEFINE_AUTO(struct decoder, decoder_free);

/* Each is a netlink_message_fn with the decoder as its userdata. RTM_NEWLINK; decoder_links_end()
 * after the last. */
void decoder_link(const struct nlmsghdr *nlh, void *decoder);
void decoder_links_end(struct decoder *decoder);

/* RTM_NEWADDR, RTM_NEWROUTE, RTM_NEWRULE. The kernel's own routes to itself (table local) and
 * cached ones are left out. */
void decoder_address(const struct nlmsghdr *nlh, void *decoder);
void decoder_route(const struct nlmsghdr *nlh, void *decoder);
void decoder_rule(const struct nlmsghdr *nlh, void *decoder);

/* The other links that it names, by number; 0: none. */
struct decode_link_refs {
	uint32_t master, lower, primary, active_port;
};

/* One RTM_NEWLINK. 0, or -EBADMSG. The caller owns what *ret_link points to. */
int decode_link(const struct nlmsghdr *nlh, struct link *ret_link,
                struct decode_link_refs *ret_refs);

/* IFLA_INFO_KIND of a kind that netconf makes; NULL for the others. */
const char *decode_kind_name(enum link_kind kind);
