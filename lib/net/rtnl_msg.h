/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Coding of rtnetlink messages for rtnl.c; private to lib/net. Pure.
 * Sources: rtnetlink(7), linux/if_link.h, linux/if_addr.h, net/ipv4/devinet.c, net/ipv6/addrconf.c.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/attr.h"
#include "net/rtnl.h"

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

/* Requests: the caller frees them. */
struct message *rtnl_msg_dump_links(void);
/* up; fails if it is there */
struct message *rtnl_msg_new_dummy(const char *name, uint32_t group);
struct message *rtnl_msg_del_link(int ifindex);
struct message *rtnl_msg_dump_addrs(void);
struct message *rtnl_msg_new_addr(const struct rtnl_addr *addr, uint16_t flags);
struct message *rtnl_msg_del_addr(int ifindex, const struct prefix *prefix);
struct message *rtnl_msg_del_connected_route(int ifindex, const struct prefix *prefix);
