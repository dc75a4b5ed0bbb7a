/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links and addresses as rtnetlink messages, both ways, for rtnl.c. Holds no state. A message that
 * lacks what it must have is refused as a whole.
 */
#include "net/rtnl_msg.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"

/* --- links --- */

void rtnl_msg_link_fini(struct rtnl_msg_link *l)
{
	for (size_t i = 0; i < l->n_altnames; i++)
		free(l->altnames[i]);
	free(l->altnames);
	l->altnames = NULL;
	l->n_altnames = 0;
}

bool rtnl_msg_link_equal(const struct rtnl_msg_link *a, const struct rtnl_msg_link *b)
{
	const struct rtnl_link *x = &a->link, *y = &b->link;

	if (x->ifindex != y->ifindex || strcmp(x->name, y->name) != 0 || x->has_mac != y->has_mac ||
	    !mac_equal(&x->mac, &y->mac) || x->up != y->up || x->carrier != y->carrier ||
	    x->is_dummy != y->is_dummy || x->group != y->group || a->n_altnames != b->n_altnames)
		return false;
	for (size_t i = 0; i < a->n_altnames; i++) {
		if (strcmp(a->altnames[i], b->altnames[i]) != 0)
			return false;
	}
	return true;
}

bool rtnl_msg_link_has_name(const struct rtnl_msg_link *l, const char *name)
{
	if (strcmp(l->link.name, name) == 0)
		return true;
	for (size_t i = 0; i < l->n_altnames; i++) {
		if (strcmp(l->altnames[i], name) == 0)
			return true;
	}
	return false;
}

static void take_altnames(struct rtnl_msg_link *l, const struct nlattr *list)
{
	const struct nlattr *attr;
	char name[ALTIFNAMSIZ];

	ATTR_FOR_EACH(attr, list)
	{
		if (attr_type(attr) != IFLA_ALT_IFNAME || l->n_altnames == RTNL_ALTNAMES_MAX ||
		    attr_text(attr, name, sizeof(name))[0] == '\0')
			continue;
		l->altnames = xreallocarray(l->altnames, l->n_altnames + 1, sizeof(*l->altnames));
		l->altnames[l->n_altnames++] = xstrdup(name);
	}
}

int rtnl_msg_parse_link(const struct nlmsghdr *nlh, struct rtnl_msg_link *ret)
{
	const struct nlattr *table[IFLA_PROP_LIST + 1], *info[IFLA_INFO_KIND + 1];
	struct rtnl_msg_link l = {0};
	struct ifinfomsg ifi;
	char kind[IFNAMSIZ];

	if ((nlh->nlmsg_type != RTM_NEWLINK && nlh->nlmsg_type != RTM_DELLINK) ||
	    !attr_read(nlh, &ifi, sizeof(ifi), table, ARRAY_SIZE(table)) ||
	    ifi.ifi_family != AF_UNSPEC || ifi.ifi_index <= 0 ||
	    attr_text(table[IFLA_IFNAME], l.link.name, sizeof(l.link.name))[0] == '\0')
		return -EINVAL;
	attr_read_nested(table[IFLA_LINKINFO], info, ARRAY_SIZE(info));
	l.link.is_dummy = strcmp(attr_text(info[IFLA_INFO_KIND], kind, sizeof(kind)), "dummy") == 0;
	l.link.group = attr_u32(table[IFLA_GROUP], 0);
	l.link.ifindex = ifi.ifi_index;
	l.link.up = (ifi.ifi_flags & IFF_UP) != 0;
	l.link.carrier = (ifi.ifi_flags & IFF_LOWER_UP) != 0;
	/* Other kinds of link have addresses of other lengths. */
	l.link.has_mac = ifi.ifi_type == ARPHRD_ETHER &&
	                 attr_exactly(table[IFLA_ADDRESS], l.link.mac.bytes, sizeof(l.link.mac.bytes));
	take_altnames(&l, table[IFLA_PROP_LIST]);
	*ret = l;
	return 0;
}

struct message *rtnl_msg_dump_links(void)
{
	static const struct ifinfomsg ifi = {.ifi_family = AF_UNSPEC};
	struct message *m = message_new();

	message_begin(m, RTM_GETLINK, NLM_F_DUMP, &ifi, sizeof(ifi));
	message_u32(m, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	return m;
}

struct message *rtnl_msg_new_dummy(const char *name, uint32_t group)
{
	static const struct ifinfomsg ifi = {.ifi_flags = IFF_UP, .ifi_change = IFF_UP};
	struct message *m = message_new();
	struct nlattr *info;

	message_begin(m, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &ifi, sizeof(ifi));
	message_text(m, IFLA_IFNAME, name);
	message_u32(m, IFLA_GROUP, group);
	info = message_nest(m, IFLA_LINKINFO);
	message_text(m, IFLA_INFO_KIND, "dummy");
	message_end(m, info);
	return m;
}

struct message *rtnl_msg_del_link(int ifindex)
{
	const struct ifinfomsg ifi = {.ifi_index = ifindex};
	struct message *m = message_new();

	message_begin(m, RTM_DELLINK, 0, &ifi, sizeof(ifi));
	return m;
}

/* --- addresses --- */

int rtnl_msg_parse_addr(const struct nlmsghdr *nlh, struct rtnl_addr *ret)
{
	struct ifa_cacheinfo times = {.ifa_valid = RTNL_LIFETIME_FOREVER,
	                              .ifa_prefered = RTNL_LIFETIME_FOREVER};
	const struct nlattr *table[IFA_PROTO + 1], *own;
	struct rtnl_addr a = {0};
	struct ifaddrmsg ifa;
	uint32_t flags;
	int r;

	if ((nlh->nlmsg_type != RTM_NEWADDR && nlh->nlmsg_type != RTM_DELADDR) ||
	    !attr_read(nlh, &ifa, sizeof(ifa), table, ARRAY_SIZE(table)))
		return -EINVAL;
	/* On a point-to-point link IFA_ADDRESS is the peer's. */
	own = table[IFA_LOCAL] != NULL ? table[IFA_LOCAL] : table[IFA_ADDRESS];
	if (own == NULL)
		return -EINVAL;
	r = addr_from_bytes(ifa.ifa_family, attr_data(own), attr_len(own), &a.prefix.addr);
	if (r < 0)
		return r;
	a.prefix.len = ifa.ifa_prefixlen;
	a.ifindex = (int) ifa.ifa_index;
	flags = attr_u32(table[IFA_FLAGS], ifa.ifa_flags);
	a.no_prefix_route = (flags & IFA_F_NOPREFIXROUTE) != 0;
	a.no_dad = ifa.ifa_family == AF_INET6 && (flags & IFA_F_NODAD) != 0;
	a.proto = attr_u8(table[IFA_PROTO], 0);
	(void) attr_bytes(table[IFA_CACHEINFO], &times, sizeof(times));
	a.valid_s = times.ifa_valid;
	a.preferred_s = times.ifa_prefered;
	*ret = a;
	return 0;
}

struct message *rtnl_msg_dump_addrs(void)
{
	static const struct ifaddrmsg ifa = {.ifa_family = AF_UNSPEC};
	struct message *m = message_new();

	message_begin(m, RTM_GETADDR, NLM_F_DUMP, &ifa, sizeof(ifa));
	return m;
}

static void put_addr(struct message *m, uint16_t type, const struct addr *addr)
{
	message_bytes(m, type, addr->bytes, addr_len_bytes(addr));
}

static struct message *about_addr(uint16_t type, uint16_t flags, int ifindex,
                                  const struct prefix *prefix)
{
	const struct ifaddrmsg ifa = {.ifa_family = (uint8_t) prefix->addr.family,
	                              .ifa_prefixlen = prefix->len,
	                              .ifa_index = (uint32_t) ifindex};
	struct message *m = message_new();

	message_begin(m, type, flags, &ifa, sizeof(ifa));
	put_addr(m, IFA_LOCAL, &prefix->addr);
	put_addr(m, IFA_ADDRESS, &prefix->addr);
	return m;
}

struct message *rtnl_msg_new_addr(const struct rtnl_addr *addr, uint16_t flags)
{
	struct message *m = about_addr(RTM_NEWADDR, flags, addr->ifindex, &addr->prefix);
	struct ifa_cacheinfo ci = {.ifa_valid = addr->valid_s, .ifa_prefered = addr->preferred_s};
	uint32_t ifa_flags = 0;

	if (addr->no_prefix_route)
		ifa_flags |= IFA_F_NOPREFIXROUTE;
	if (addr->no_dad && addr->prefix.addr.family == AF_INET6)
		ifa_flags |= IFA_F_NODAD;
	message_u32(m, IFA_FLAGS, ifa_flags);
	/* Always said: without it a renewal would mean "for ever". */
	message_bytes(m, IFA_CACHEINFO, &ci, sizeof(ci));
	message_u8(m, IFA_PROTO, addr->proto);
	return m;
}

struct message *rtnl_msg_del_addr(int ifindex, const struct prefix *prefix)
{
	return about_addr(RTM_DELADDR, 0, ifindex, prefix);
}

struct message *rtnl_msg_del_connected_route(int ifindex, const struct prefix *prefix)
{
	const struct rtmsg rtm = {.rtm_family = (uint8_t) prefix->addr.family,
	                          .rtm_dst_len = prefix->len,
	                          .rtm_table = RT_TABLE_MAIN,
	                          .rtm_protocol = RTPROT_KERNEL,
	                          .rtm_scope = RT_SCOPE_NOWHERE}; /* whichever it has */
	struct message *m = message_new();

	message_begin(m, RTM_DELROUTE, 0, &rtm, sizeof(rtm));
	put_addr(m, RTA_DST, &prefix->addr);
	message_u32(m, RTA_OIF, (uint32_t) ifindex);
	return m;
}
