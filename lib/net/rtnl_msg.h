/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Coding of rtnetlink messages for rtnl.c; private to lib/net. Pure: buffers in, values out.
 * Sources: rtnetlink(7), linux/if_link.h, linux/if_addr.h, net/ipv4/devinet.c, net/ipv6/addrconf.c.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/rtnl.h"

struct nlmsghdr;

/* Alternative names that are remembered of one link. */
#define RTNL_ALTNAMES_MAX 32

struct rtnl_msg_link {
	struct rtnl_link link;
	char **altnames; /* owned, as are the strings */
	size_t n_altnames;
};

void rtnl_msg_link_fini(struct rtnl_msg_link *l);
bool rtnl_msg_link_equal(const struct rtnl_msg_link *a, const struct rtnl_msg_link *b);
bool rtnl_msg_link_has_name(const struct rtnl_msg_link *l, const char *name);

/* RTM_NEWLINK or RTM_DELLINK of a link itself; -EINVAL for anything else (the bridge's own
 * messages about its ports among them). ret is to be finished with rtnl_msg_link_fini(). */
int rtnl_msg_parse_link(const struct nlmsghdr *nlh, struct rtnl_msg_link *ret);

/* RTM_NEWADDR or RTM_DELADDR; -EINVAL for anything else. */
int rtnl_msg_parse_addr(const struct nlmsghdr *nlh, struct rtnl_addr *ret);

#define RTNL_MSG_MAX 256

/* Each writes one message with NLM_F_REQUEST into buf and returns it. */
struct nlmsghdr *rtnl_msg_dump_links(void *buf);
/* up; fails if it is there */
struct nlmsghdr *rtnl_msg_new_dummy(void *buf, const char *name, uint32_t group);
struct nlmsghdr *rtnl_msg_del_link(void *buf, int ifindex);
struct nlmsghdr *rtnl_msg_dump_addrs(void *buf);
struct nlmsghdr *rtnl_msg_new_addr(void *buf, const struct rtnl_addr *addr, uint16_t flags);
struct nlmsghdr *rtnl_msg_del_addr(void *buf, int ifindex, const struct prefix *prefix);
struct nlmsghdr *rtnl_msg_del_connected_route(void *buf, int ifindex, const struct prefix *prefix);
