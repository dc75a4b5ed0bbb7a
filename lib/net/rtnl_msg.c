/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links and addresses as rtnetlink messages, both ways, for rtnl.c. Holds no state. A message that
 * lacks what it must have, or whose attributes have another size than the kernel gives them, is
 * refused as a whole.
 */
#include "net/rtnl_msg.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"

/* libmnl 1.0.4 leaves what pads an attribute as it was, and the kernel would be told of our stack.
 */
static struct nlmsghdr *begin(void *buf)
{
	memset(buf, 0, RTNL_MSG_MAX);
	return mnl_nlmsg_put_header(buf);
}

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

static int take_altname(const struct nlattr *attr, void *data)
{
	struct rtnl_msg_link *l = data;

	if (mnl_attr_get_type(attr) != IFLA_ALT_IFNAME || l->n_altnames >= RTNL_ALTNAMES_MAX ||
	    mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) < 0)
		return MNL_CB_OK;
	l->altnames = xreallocarray(l->altnames, l->n_altnames + 1, sizeof(*l->altnames));
	l->altnames[l->n_altnames++] = xstrdup(mnl_attr_get_str(attr));
	return MNL_CB_OK;
}

static int take_link_info(const struct nlattr *attr, void *data)
{
	struct rtnl_msg_link *l = data;

	if (mnl_attr_get_type(attr) == IFLA_INFO_KIND &&
	    mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0)
		l->link.is_dummy = strcmp(mnl_attr_get_str(attr), "dummy") == 0;
	return MNL_CB_OK;
}

static int take_link_attr(const struct nlattr *attr, void *data)
{
	struct rtnl_msg_link *l = data;

	switch (mnl_attr_get_type(attr)) {
	case IFLA_IFNAME:
		if (mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) < 0 ||
		    mnl_attr_get_payload_len(attr) > sizeof(l->link.name))
			return MNL_CB_ERROR;
		memcpy(l->link.name, mnl_attr_get_payload(attr), mnl_attr_get_payload_len(attr));
		break;
	case IFLA_ADDRESS:
		/* Other kinds of link have addresses of other lengths. */
		l->link.has_mac = mnl_attr_get_payload_len(attr) == sizeof(l->link.mac.bytes);
		if (l->link.has_mac)
			memcpy(l->link.mac.bytes, mnl_attr_get_payload(attr), sizeof(l->link.mac.bytes));
		break;
	case IFLA_PROP_LIST:
		(void) mnl_attr_parse_nested(attr, take_altname, l);
		break;
	case IFLA_GROUP:
		if (mnl_attr_validate(attr, MNL_TYPE_U32) >= 0)
			l->link.group = mnl_attr_get_u32(attr);
		break;
	case IFLA_LINKINFO:
		(void) mnl_attr_parse_nested(attr, take_link_info, l);
		break;
	}
	return MNL_CB_OK;
}

int rtnl_msg_parse_link(const struct nlmsghdr *nlh, struct rtnl_msg_link *ret)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
	struct rtnl_msg_link l = {0};

	if ((nlh->nlmsg_type != RTM_NEWLINK && nlh->nlmsg_type != RTM_DELLINK) ||
	    mnl_nlmsg_get_payload_len(nlh) < sizeof(*ifi) || ifi->ifi_family != AF_UNSPEC ||
	    ifi->ifi_index <= 0)
		return -EINVAL;
	if (mnl_attr_parse(nlh, sizeof(*ifi), take_link_attr, &l) < 0 || l.link.name[0] == '\0') {
		rtnl_msg_link_fini(&l);
		return -EINVAL;
	}
	l.link.ifindex = ifi->ifi_index;
	l.link.up = (ifi->ifi_flags & IFF_UP) != 0;
	l.link.carrier = (ifi->ifi_flags & IFF_LOWER_UP) != 0;
	if (ifi->ifi_type != ARPHRD_ETHER) {
		l.link.has_mac = false;
		memset(&l.link.mac, 0, sizeof(l.link.mac));
	}
	*ret = l;
	return 0;
}

struct nlmsghdr *rtnl_msg_dump_links(void *buf)
{
	struct nlmsghdr *nlh = begin(buf);

	nlh->nlmsg_type = RTM_GETLINK;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	(void) mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg));
	mnl_attr_put_u32(nlh, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	return nlh;
}

struct nlmsghdr *rtnl_msg_new_dummy(void *buf, const char *name, uint32_t group)
{
	struct nlmsghdr *nlh = begin(buf);
	struct ifinfomsg *ifi;
	struct nlattr *info;

	nlh->nlmsg_type = RTM_NEWLINK;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
	ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
	ifi->ifi_flags = IFF_UP;
	ifi->ifi_change = IFF_UP;
	mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
	mnl_attr_put_u32(nlh, IFLA_GROUP, group);
	info = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "dummy");
	mnl_attr_nest_end(nlh, info);
	return nlh;
}

struct nlmsghdr *rtnl_msg_del_link(void *buf, int ifindex)
{
	struct nlmsghdr *nlh = begin(buf);
	struct ifinfomsg *ifi;

	nlh->nlmsg_type = RTM_DELLINK;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
	ifi->ifi_index = ifindex;
	return nlh;
}

/* --- addresses --- */

struct addr_attrs {
	const struct nlattr *address, *local, *cacheinfo, *flags, *proto;
};

static int take_addr_attr(const struct nlattr *attr, void *data)
{
	struct addr_attrs *a = data;

	switch (mnl_attr_get_type(attr)) {
	case IFA_ADDRESS:
		a->address = attr;
		break;
	case IFA_LOCAL:
		a->local = attr;
		break;
	case IFA_CACHEINFO:
		if (mnl_attr_get_payload_len(attr) >= sizeof(struct ifa_cacheinfo))
			a->cacheinfo = attr;
		break;
	case IFA_FLAGS:
		if (mnl_attr_validate(attr, MNL_TYPE_U32) >= 0)
			a->flags = attr;
		break;
	case IFA_PROTO:
		if (mnl_attr_validate(attr, MNL_TYPE_U8) >= 0)
			a->proto = attr;
		break;
	}
	return MNL_CB_OK;
}

int rtnl_msg_parse_addr(const struct nlmsghdr *nlh, struct rtnl_addr *ret)
{
	const struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(nlh);
	struct addr_attrs attrs = {0};
	const struct nlattr *own;
	struct rtnl_addr a = {.valid_s = RTNL_LIFETIME_FOREVER, .preferred_s = RTNL_LIFETIME_FOREVER};
	uint32_t flags;
	int r;

	if ((nlh->nlmsg_type != RTM_NEWADDR && nlh->nlmsg_type != RTM_DELADDR) ||
	    mnl_nlmsg_get_payload_len(nlh) < sizeof(*ifa))
		return -EINVAL;
	if (mnl_attr_parse(nlh, sizeof(*ifa), take_addr_attr, &attrs) < 0)
		return -EINVAL;
	/* On a point-to-point link IFA_ADDRESS is the peer's. */
	own = attrs.local != NULL ? attrs.local : attrs.address;
	if (own == NULL)
		return -EINVAL;
	r = addr_from_bytes(ifa->ifa_family, mnl_attr_get_payload(own), mnl_attr_get_payload_len(own),
	                    &a.prefix.addr);
	if (r < 0)
		return r;
	a.prefix.len = ifa->ifa_prefixlen;
	a.ifindex = (int) ifa->ifa_index;
	flags = attrs.flags != NULL ? mnl_attr_get_u32(attrs.flags) : ifa->ifa_flags;
	a.no_prefix_route = (flags & IFA_F_NOPREFIXROUTE) != 0;
	a.no_dad = ifa->ifa_family == AF_INET6 && (flags & IFA_F_NODAD) != 0;
	if (attrs.proto != NULL)
		a.proto = mnl_attr_get_u8(attrs.proto);
	if (attrs.cacheinfo != NULL) {
		struct ifa_cacheinfo ci;

		memcpy(&ci, mnl_attr_get_payload(attrs.cacheinfo), sizeof(ci));
		a.valid_s = ci.ifa_valid;
		a.preferred_s = ci.ifa_prefered;
	}
	*ret = a;
	return 0;
}

struct nlmsghdr *rtnl_msg_dump_addrs(void *buf)
{
	struct nlmsghdr *nlh = begin(buf);

	nlh->nlmsg_type = RTM_GETADDR;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	(void) mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifaddrmsg));
	return nlh;
}

static struct nlmsghdr *put_addr(void *buf, uint16_t type, uint16_t flags, int ifindex,
                                 const struct prefix *prefix)
{
	struct nlmsghdr *nlh = begin(buf);
	struct ifaddrmsg *ifa;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = (uint16_t) (NLM_F_REQUEST | NLM_F_ACK | flags);
	ifa = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifa));
	ifa->ifa_family = (uint8_t) prefix->addr.family;
	ifa->ifa_prefixlen = prefix->len;
	ifa->ifa_index = (uint32_t) ifindex;
	mnl_attr_put(nlh, IFA_LOCAL, addr_len_bytes(&prefix->addr), prefix->addr.bytes);
	mnl_attr_put(nlh, IFA_ADDRESS, addr_len_bytes(&prefix->addr), prefix->addr.bytes);
	return nlh;
}

struct nlmsghdr *rtnl_msg_new_addr(void *buf, const struct rtnl_addr *addr, uint16_t flags)
{
	struct nlmsghdr *nlh = put_addr(buf, RTM_NEWADDR, flags, addr->ifindex, &addr->prefix);
	struct ifa_cacheinfo ci = {.ifa_valid = addr->valid_s, .ifa_prefered = addr->preferred_s};
	uint32_t ifa_flags = 0;

	if (addr->no_prefix_route)
		ifa_flags |= IFA_F_NOPREFIXROUTE;
	if (addr->no_dad && addr->prefix.addr.family == AF_INET6)
		ifa_flags |= IFA_F_NODAD;
	mnl_attr_put_u32(nlh, IFA_FLAGS, ifa_flags);
	/* Always said: without it a renewal would mean "for ever". */
	mnl_attr_put(nlh, IFA_CACHEINFO, sizeof(ci), &ci);
	mnl_attr_put_u8(nlh, IFA_PROTO, addr->proto);
	return nlh;
}

struct nlmsghdr *rtnl_msg_del_addr(void *buf, int ifindex, const struct prefix *prefix)
{
	return put_addr(buf, RTM_DELADDR, 0, ifindex, prefix);
}

struct nlmsghdr *rtnl_msg_del_connected_route(void *buf, int ifindex, const struct prefix *prefix)
{
	struct nlmsghdr *nlh = begin(buf);
	struct rtmsg *rtm;

	nlh->nlmsg_type = RTM_DELROUTE;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	rtm = mnl_nlmsg_put_extra_header(nlh, sizeof(*rtm));
	rtm->rtm_family = (uint8_t) prefix->addr.family;
	rtm->rtm_dst_len = prefix->len;
	rtm->rtm_table = RT_TABLE_MAIN;
	rtm->rtm_protocol = RTPROT_KERNEL;
	rtm->rtm_scope = RT_SCOPE_NOWHERE; /* whichever it has */
	mnl_attr_put(nlh, RTA_DST, addr_len_bytes(&prefix->addr), prefix->addr.bytes);
	mnl_attr_put_u32(nlh, RTA_OIF, (uint32_t) ifindex);
	return nlh;
}
