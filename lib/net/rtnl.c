/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live table of links: filled by a dump when it is made, kept by the monitor, and swept against
 * a new dump when notifications were lost. The monitor is joined before the first dump, so nothing
 * falls between; a notification from before the dump is at worst followed by the one that corrects
 * it. A link event is given only when something that rtnl_link shows has changed, because the
 * kernel announces a great deal more than that.
 *
 * Dumps are collected as a whole before a listener hears of them: listeners may make calls, and a
 * dump that was disturbed is thrown away and made again. A message that lacks what it must have is
 * refused as a whole. The daemons' observe and act rooms call this.
 */
#include "net/rtnl.h"

#include <assert.h>
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/macro.h"
#include "base/mem.h"
#include "net/netlink.h"

#define DUMP_ATTEMPTS_MAX 10

struct link_entry {
	struct rtnl_msg_link seen;
	bool stale; /* not met in the current dump so far */
	TAILQ_ENTRY(link_entry) entry;
};

TAILQ_HEAD(link_list, link_entry);

struct rtnl {
	struct netlink *nl;
	const struct rtnl_events *events;
	void *userdata;
	struct link_list links;
};

/* --- messages: links --- */

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

/* --- messages: addresses --- */

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

static struct message *about_addr(uint16_t type, uint16_t flags, int ifindex,
                                  const struct prefix *prefix)
{
	const struct ifaddrmsg ifa = {.ifa_family = (uint8_t) prefix->addr.family,
	                              .ifa_prefixlen = prefix->len,
	                              .ifa_index = (uint32_t) ifindex};
	const size_t len = addr_len_bytes(&prefix->addr);
	struct message *m = message_new();

	assert(addr_is_set(&prefix->addr));
	message_begin(m, type, flags, &ifa, sizeof(ifa));
	message_bytes(m, IFA_LOCAL, prefix->addr.bytes, len);
	message_bytes(m, IFA_ADDRESS, prefix->addr.bytes, len);
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

/* --- the table of links --- */

static struct link_entry *find_link(const struct rtnl *rtnl, int ifindex)
{
	struct link_entry *e;

	TAILQ_FOREACH (e, &rtnl->links, entry) {
		if (e->seen.link.ifindex == ifindex)
			return e;
	}
	return NULL;
}

static void free_links(struct link_list *list)
{
	struct link_entry *e;

	while ((e = TAILQ_FIRST(list)) != NULL) {
		TAILQ_REMOVE(list, e, entry);
		rtnl_msg_link_fini(&e->seen);
		free(e);
	}
}

static struct link_entry *parse_link(const struct nlmsghdr *nlh)
{
	AUTO(free) struct link_entry *e = NEW0(struct link_entry);

	return rtnl_msg_parse_link(nlh, &e->seen) < 0 ? NULL : TAKE_PTR(e);
}

static void report_link(struct rtnl *rtnl, struct rtnl_link link, bool gone)
{
	if (rtnl->events->link != NULL)
		rtnl->events->link(&link, gone, rtnl->userdata);
}

/* Takes fresh. */
static void put_link(struct rtnl *rtnl, struct link_entry *fresh)
{
	struct link_entry *old = find_link(rtnl, fresh->seen.link.ifindex);
	bool changed = old == NULL || !rtnl_msg_link_equal(&old->seen, &fresh->seen);

	if (old != NULL) {
		TAILQ_INSERT_BEFORE(old, fresh, entry);
		TAILQ_REMOVE(&rtnl->links, old, entry);
		rtnl_msg_link_fini(&old->seen);
		free(old);
	} else {
		TAILQ_INSERT_TAIL(&rtnl->links, fresh, entry);
	}
	if (changed)
		report_link(rtnl, fresh->seen.link, false);
}

static void remove_link(struct rtnl *rtnl, int ifindex)
{
	struct link_entry *e = find_link(rtnl, ifindex);
	struct rtnl_link last;

	if (e == NULL)
		return;
	last = e->seen.link;
	last.up = false;
	last.carrier = false;
	TAILQ_REMOVE(&rtnl->links, e, entry);
	rtnl_msg_link_fini(&e->seen);
	free(e);
	report_link(rtnl, last, true);
}

static void collect_link_cb(const struct nlmsghdr *nlh, void *userdata)
{
	struct link_list *list = userdata;
	struct link_entry *e = parse_link(nlh);

	if (e != NULL)
		TAILQ_INSERT_TAIL(list, e, entry);
}

static int dump_links(struct rtnl *rtnl, struct link_list *ret_list)
{
	static const struct ifinfomsg ifi = {.ifi_family = AF_UNSPEC};
	AUTO(message_free) struct message *m = message_new();
	int r = -EAGAIN;

	message_begin(m, RTM_GETLINK, NLM_F_DUMP, &ifi, sizeof(ifi));
	message_u32(m, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	for (int i = 0; r == -EAGAIN && i < DUMP_ATTEMPTS_MAX; i++) {
		free_links(ret_list);
		r = netlink_ask(rtnl->nl, m, collect_link_cb, ret_list);
	}
	return r;
}

/* Makes the table say what the kernel says, and reports every difference. */
static int sync_links(struct rtnl *rtnl)
{
	struct link_list fresh = TAILQ_HEAD_INITIALIZER(fresh);
	struct link_entry *e;
	int r;

	r = dump_links(rtnl, &fresh);
	if (r < 0) {
		free_links(&fresh);
		return r;
	}
	TAILQ_FOREACH (e, &rtnl->links, entry)
		e->stale = true;
	while ((e = TAILQ_FIRST(&fresh)) != NULL) {
		TAILQ_REMOVE(&fresh, e, entry);
		put_link(rtnl, e);
	}
	for (;;) {
		TAILQ_FOREACH (e, &rtnl->links, entry) {
			if (e->stale)
				break;
		}
		if (e == NULL)
			return 0;
		remove_link(rtnl, e->seen.link.ifindex);
	}
}

const struct rtnl_link *rtnl_link_by_index(const struct rtnl *rtnl, int ifindex)
{
	const struct link_entry *e = find_link(rtnl, ifindex);

	return e != NULL ? &e->seen.link : NULL;
}

const struct rtnl_link *rtnl_link_by_name(const struct rtnl *rtnl, const char *name)
{
	const struct link_entry *e;

	TAILQ_FOREACH (e, &rtnl->links, entry) {
		if (rtnl_msg_link_has_name(&e->seen, name))
			return &e->seen.link;
	}
	return NULL;
}

void rtnl_link_list(const struct rtnl *rtnl, rtnl_link_fn fn, void *userdata)
{
	const struct link_entry *e;

	TAILQ_FOREACH (e, &rtnl->links, entry)
		fn(&e->seen.link, userdata);
}

/* --- notifications --- */

static void notified_cb(const struct nlmsghdr *nlh, void *userdata)
{
	struct rtnl *rtnl = userdata;
	struct link_entry *e;
	struct rtnl_addr addr;
	int ifindex;

	switch (nlh->nlmsg_type) {
	case RTM_NEWLINK:
		e = parse_link(nlh);
		if (e != NULL)
			put_link(rtnl, e);
		break;
	case RTM_DELLINK:
		e = parse_link(nlh);
		if (e == NULL)
			break;
		ifindex = e->seen.link.ifindex;
		rtnl_msg_link_fini(&e->seen);
		free(e);
		remove_link(rtnl, ifindex);
		break;
	case RTM_NEWADDR:
	case RTM_DELADDR:
		if (rtnl->events->addr != NULL && rtnl_msg_parse_addr(nlh, &addr) >= 0)
			rtnl->events->addr(&addr, nlh->nlmsg_type == RTM_NEWADDR, rtnl->userdata);
		break;
	}
}

static void resync_cb(void *userdata)
{
	struct rtnl *rtnl = userdata;

	/* When even the dump fails, the listener looks for itself and will see why. */
	(void) sync_links(rtnl);
	if (rtnl->events->resync != NULL)
		rtnl->events->resync(rtnl->userdata);
}

int rtnl_new(struct ev_loop *ev, const struct rtnl_events *events, void *userdata,
             struct rtnl **ret_rtnl)
{
	static const unsigned groups[] = {RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR};
	AUTO(rtnl_free) struct rtnl *rtnl = NEW0(struct rtnl);
	int r;

	TAILQ_INIT(&rtnl->links);
	rtnl->events = events;
	rtnl->userdata = userdata;
	r = netlink_new(ev, NETLINK_ROUTE, &rtnl->nl);
	if (r < 0)
		return r;
	r = netlink_monitor(rtnl->nl, groups, ARRAY_SIZE(groups), notified_cb, resync_cb, rtnl);
	if (r < 0)
		return r;
	r = dump_links(rtnl, &rtnl->links);
	if (r < 0)
		return r;
	*ret_rtnl = TAKE_PTR(rtnl);
	return 0;
}

void rtnl_free(struct rtnl *rtnl)
{
	if (rtnl == NULL)
		return;
	free_links(&rtnl->links);
	netlink_free(rtnl->nl);
	free(rtnl);
}

int rtnl_link_add_dummy(struct rtnl *rtnl, const char *name, uint32_t group)
{
	return netlink_do(rtnl->nl, rtnl_msg_new_dummy(name, group));
}

int rtnl_link_del(struct rtnl *rtnl, int ifindex)
{
	const struct ifinfomsg ifi = {.ifi_index = ifindex};
	struct message *m = message_new();

	message_begin(m, RTM_DELLINK, 0, &ifi, sizeof(ifi));
	return netlink_do(rtnl->nl, m);
}

/* --- addresses --- */

int rtnl_addr_add(struct rtnl *rtnl, const struct rtnl_addr *addr)
{
	return netlink_do(rtnl->nl, rtnl_msg_new_addr(addr, NLM_F_CREATE | NLM_F_EXCL));
}

int rtnl_addr_replace(struct rtnl *rtnl, const struct rtnl_addr *addr)
{
	return netlink_do(rtnl->nl, rtnl_msg_new_addr(addr, NLM_F_REPLACE));
}

int rtnl_addr_del(struct rtnl *rtnl, int ifindex, const struct prefix *prefix)
{
	int r = netlink_do(rtnl->nl, about_addr(RTM_DELADDR, 0, ifindex, prefix));
	/* A link that is gone (ENODEV), or that has no IPv6 at all (ENXIO), has no such address. */
	return r == -ENODEV || r == -ENXIO ? -EADDRNOTAVAIL : r;
}

int rtnl_connected_route_del(struct rtnl *rtnl, int ifindex, const struct prefix *prefix)
{
	const struct rtmsg rtm = {.rtm_family = (uint8_t) prefix->addr.family,
	                          .rtm_dst_len = prefix->len,
	                          .rtm_table = RT_TABLE_MAIN,
	                          .rtm_protocol = RTPROT_KERNEL,
	                          .rtm_scope = RT_SCOPE_NOWHERE}; /* whichever it has */
	struct message *m = message_new();

	assert(addr_is_set(&prefix->addr));
	message_begin(m, RTM_DELROUTE, 0, &rtm, sizeof(rtm));
	message_bytes(m, RTA_DST, prefix->addr.bytes, addr_len_bytes(&prefix->addr));
	message_u32(m, RTA_OIF, (uint32_t) ifindex);
	return netlink_do(rtnl->nl, m);
}

struct addr_list {
	struct rtnl_addr *addrs;
	size_t n, room;
};

static void collect_addr_cb(const struct nlmsghdr *nlh, void *userdata)
{
	struct addr_list *list = userdata;
	struct rtnl_addr addr;

	if (rtnl_msg_parse_addr(nlh, &addr) < 0)
		return;
	if (list->n == list->room) {
		list->room = MAX(2 * list->room, (size_t) 16);
		list->addrs = xreallocarray(list->addrs, list->room, sizeof(*list->addrs));
	}
	list->addrs[list->n++] = addr;
}

int rtnl_addr_list(struct rtnl *rtnl, rtnl_addr_fn fn, void *userdata)
{
	static const struct ifaddrmsg ifa = {.ifa_family = AF_UNSPEC};
	AUTO(message_free) struct message *m = message_new();
	struct addr_list list = {0};
	int r = -EAGAIN;

	message_begin(m, RTM_GETADDR, NLM_F_DUMP, &ifa, sizeof(ifa));
	for (int i = 0; r == -EAGAIN && i < DUMP_ATTEMPTS_MAX; i++) {
		list.n = 0;
		r = netlink_ask(rtnl->nl, m, collect_addr_cb, &list);
	}
	for (size_t i = 0; r == 0 && i < list.n; i++)
		fn(&list.addrs[i], userdata);
	free(list.addrs);
	return r;
}

const char *rtnl_error_text(const struct rtnl *rtnl)
{
	return netlink_error_text(rtnl->nl);
}
