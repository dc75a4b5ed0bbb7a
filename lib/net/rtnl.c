/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live table of links: filled by a dump when it is made, kept by the monitor, and swept against
 * a new dump when notifications were lost. The monitor is joined before the first dump, so nothing
 * falls between; a notification from before the dump is at worst followed by the one that corrects
 * it. A link event is given only when something that rtnl_link shows has changed, because the
 * kernel announces a great deal more than that.
 *
 * Dumps are collected as a whole before anybody hears of them: listeners may make calls, and a dump
 * that was disturbed is thrown away and made again. Coding and decoding of messages is in
 * rtnl_msg.c. The daemons' observe and act rooms call this.
 */
#include "net/rtnl.h"

#include <assert.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <sys/queue.h>

#include "base/macro.h"
#include "base/mem.h"
#include "net/netlink.h"
#include "net/rtnl_msg.h"

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
	AUTO(message_free) struct message *m = rtnl_msg_dump_links();
	int r = -EAGAIN;

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
	return netlink_do(rtnl->nl, rtnl_msg_del_link(ifindex));
}

/* --- addresses --- */

static int change_addr(struct rtnl *rtnl, const struct rtnl_addr *addr, uint16_t flags)
{
	assert(addr_is_set(&addr->prefix.addr));
	return netlink_do(rtnl->nl, rtnl_msg_new_addr(addr, flags));
}

int rtnl_addr_add(struct rtnl *rtnl, const struct rtnl_addr *addr)
{
	return change_addr(rtnl, addr, NLM_F_CREATE | NLM_F_EXCL);
}

int rtnl_addr_replace(struct rtnl *rtnl, const struct rtnl_addr *addr)
{
	return change_addr(rtnl, addr, NLM_F_REPLACE);
}

int rtnl_addr_del(struct rtnl *rtnl, int ifindex, const struct prefix *prefix)
{
	int r;

	assert(addr_is_set(&prefix->addr));
	r = netlink_do(rtnl->nl, rtnl_msg_del_addr(ifindex, prefix));
	/* A link that is gone (ENODEV), or that has no IPv6 at all (ENXIO), has no such address. */
	return r == -ENODEV || r == -ENXIO ? -EADDRNOTAVAIL : r;
}

int rtnl_connected_route_del(struct rtnl *rtnl, int ifindex, const struct prefix *prefix)
{
	assert(addr_is_set(&prefix->addr));
	return netlink_do(rtnl->nl, rtnl_msg_del_connected_route(ifindex, prefix));
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
	AUTO(message_free) struct message *m = rtnl_msg_dump_addrs();
	struct addr_list list = {0};
	int r = -EAGAIN;

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
