/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Netlink for netconf: dumps in the order in which they can be understood, single steps with the
 * kernel's own words when it refuses, and a monitor that says that something changed, and who may
 * have done it: the state itself is observed again.
 */
#include "netconf/kernel/kernel.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/fib_rules.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "net/attr.h"
#include "net/netlink.h"
#include "netconf/kernel/decode.h"
#include "netconf/kernel/encode.h"
#include "netconf/kernel/wireguard_netlink.h"
#include "netconf/model/bond.h"

/* A dump that changes disturb is made again so often. */
#define OBSERVATIONS_MAX 8
/* Changes come in bursts; an observation after each would be stale when it is made. */
#define SETTLE_S 0.1
#define ERROR_TEXT_MAX 512

struct kernel {
	struct ev_loop *ev;
	struct netlink *nl;
	struct wireguard_netlink *wireguard;
	/* Numbers of links that the kernel has told since the last observation (tsearch(3)), so that a
	 * row of steps asks for each one once. A number outlives its link harmlessly: the kernel gives
	 * it to no other soon, and a step that names one that is gone is refused. */
	void *numbers;
	ev_timer settle;
	kernel_changed_fn changed;
	kernel_told_fn told;
	void *changed_userdata;
	uint32_t by_port; /* of the last notification by another process, and its name */
	char by[KERNEL_BY_MAX];
	/* Options of bonds: it will not have others while it runs. */
	uint64_t bond_asked, bond_lacks;
	char error_text[ERROR_TEXT_MAX];
};

struct number {
	char name[IFNAMSIZ];
	int ifindex;
};

static int compare_numbers(const void *a, const void *b)
{
	return strcmp(((const struct number *) a)->name, ((const struct number *) b)->name);
}

static void forget_numbers(struct kernel *kernel)
{
	tdestroy(kernel->numbers, free);
	kernel->numbers = NULL;
}

static void on_settled(struct ev_loop *ev UNUSED, ev_timer *timer, int revents UNUSED)
{
	struct kernel *kernel = CONTAINER_OF(timer, struct kernel, settle);

	kernel->changed(kernel->changed_userdata);
}

int kernel_new(struct ev_loop *ev, struct kernel **ret_kernel)
{
	AUTO(kernel_free) struct kernel *kernel = NEW0(struct kernel);
	int r;

	kernel->ev = ev;
	ev_timer_init(&kernel->settle, on_settled, SETTLE_S, 0.);
	kernel->wireguard = wireguard_netlink_new();
	r = netlink_new(ev, NETLINK_ROUTE, &kernel->nl);
	if (r < 0)
		return r;
	*ret_kernel = TAKE_PTR(kernel);
	return 0;
}

void kernel_free(struct kernel *kernel)
{
	if (kernel == NULL)
		return;
	if (kernel->ev != NULL)
		ev_timer_stop(kernel->ev, &kernel->settle);
	netlink_free(kernel->nl);
	wireguard_netlink_free(kernel->wireguard);
	forget_numbers(kernel);
	free(kernel);
}

const char *kernel_error_text(const struct kernel *kernel)
{
	return kernel->error_text;
}

static int fail(struct kernel *kernel, int r, const char *ours, const char *what)
{
	const char *said = netlink_error_text(kernel->nl);

	(void) snprintf(kernel->error_text, sizeof(kernel->error_text), "%s%s",
	                ours != NULL ? ours : (said[0] != '\0' ? said : strerror(-r)), what);
	return r;
}

/* --- observing --- */

static struct message *get_link(uint16_t flags, int ifindex)
{
	const struct ifinfomsg ifi = {.ifi_family = AF_UNSPEC, .ifi_index = ifindex};
	struct message *m = message_new();

	message_begin(m, RTM_GETLINK, flags, &ifi, sizeof(ifi));
	message_u32(m, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	return m;
}

static int dump_links(struct kernel *kernel, struct decoder *decoder)
{
	AUTO(message_free) struct message *m = get_link(NLM_F_DUMP, 0);
	int r = netlink_ask(kernel->nl, m, decoder_link, decoder);

	if (r == 0)
		decoder_links_end(decoder);
	return r;
}

/* Of IPv4 and IPv6, one after the other; all three begin with the family. */
static int dump_families(struct kernel *kernel, uint16_t type, size_t header,
                         struct decoder *decoder, netlink_message_fn decode)
{
	static const uint8_t families[] = {AF_INET, AF_INET6};
	union {
		uint8_t family;
		struct rtmsg rtm;
		struct ifaddrmsg ifa;
		struct fib_rule_hdr rule;
	} fixed;

	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		AUTO(message_free) struct message *m = message_new();
		int r;

		memset(&fixed, 0, sizeof(fixed));
		fixed.family = families[i];
		message_begin(m, type, NLM_F_DUMP, &fixed, header);
		r = netlink_ask(kernel->nl, m, decode, decoder);
		/* A kernel without IPv6, or without policy routing, has none. */
		if (r < 0 && r != -EOPNOTSUPP && r != -EAFNOSUPPORT)
			return r;
	}
	return 0;
}

static int read_wireguards(struct kernel *kernel, struct model *model)
{
	for (size_t i = 0; i < model->n_links; i++) {
		struct link *link = &model->links[i];
		int r;

		if (link->kind != LINK_WIREGUARD)
			continue;
		r = wireguard_netlink_read(kernel->wireguard, link->name, &link->wireguard);
		/* Gone since the links were dumped. */
		if (r < 0)
			return r == -ENODEV ? -EAGAIN : r;
	}
	return 0;
}

static int observe_once(struct kernel *kernel, struct model *model)
{
	AUTO(decoder_free) struct decoder *decoder = decoder_new(model);
	int r = dump_links(kernel, decoder);

	if (r == 0)
		r = read_wireguards(kernel, model);
	if (r == 0)
		r = dump_families(kernel, RTM_GETADDR, sizeof(struct ifaddrmsg), decoder, decoder_address);
	if (r == 0)
		r = dump_families(kernel, RTM_GETROUTE, sizeof(struct rtmsg), decoder, decoder_route);
	if (r == 0)
		r = dump_families(kernel, RTM_GETRULE, sizeof(struct fib_rule_hdr), decoder, decoder_rule);
	return r;
}

int kernel_observe(struct kernel *kernel, struct model **ret_model)
{
	int r = -EAGAIN;

	forget_numbers(kernel);
	for (int i = 0; i < OBSERVATIONS_MAX && r == -EAGAIN; i++) {
		AUTO(model_free) struct model *model = model_new();

		r = observe_once(kernel, model);
		if (r < 0)
			continue;
		model_normalise(model);
		*ret_model = TAKE_PTR(model);
		return 0;
	}
	return fail(kernel, r, NULL, "");
}

/* --- one link --- */

struct seen {
	struct link link;
	struct decode_link_refs refs;
};

static void on_link(const struct nlmsghdr *nlh, void *userdata)
{
	struct seen *seen = userdata;

	link_fini(&seen->link);
	if (nlh->nlmsg_type == RTM_NEWLINK)
		(void) decode_link(nlh, &seen->link, &seen->refs);
}

/* By its name, or, NULL, by its number. The caller ends the link, also after a failure. */
static int read_link(struct netlink *nl, const char *name, uint32_t ifindex, struct seen *ret_seen)
{
	AUTO(message_free) struct message *m = get_link(0, (int) ifindex);
	int r;

	if (name != NULL)
		message_text(m, IFLA_IFNAME, name);
	r = netlink_ask(nl, m, on_link, ret_seen);
	return r == 0 && ret_seen->link.ifindex == 0 ? -ENODEV : r;
}

/* Its number, or -errno. */
static int find_link(struct netlink *nl, const char *name, bool *ret_carrier)
{
	struct seen seen = {0};
	int r = read_link(nl, name, 0, &seen);

	if (r == 0) {
		*ret_carrier = seen.link.carrier;
		r = seen.link.ifindex;
	}
	link_fini(&seen.link);
	return r;
}

/* --- whether it carries ---
 *
 * A bond in mode 802.3ad has its carrier before any of its ports moves a frame, and so has each of
 * these ports. What LACP has come to is told with the port only, and for a moment, until the port
 * has an aggregator, not at all: whether it has a say, the bond knows.
 */

static bool is_lacp_bond(const struct link *link)
{
	return link->bond != NULL && link->bond->values[BOND_MODE] == BOND_8023AD;
}

static bool has_agreed(const struct link *port)
{
	return port->lacp.is_known && link_carries(port);
}

static void on_port(const struct nlmsghdr *nlh, void *userdata)
{
	bool *any = userdata;
	struct seen port = {0};

	on_link(nlh, &port);
	*any |= has_agreed(&port.link);
	link_fini(&port.link);
}

static int any_port_has_agreed(struct netlink *nl, int bond)
{
	AUTO(message_free) struct message *m = get_link(NLM_F_DUMP, 0);
	bool any = false;
	int r;

	message_u32(m, IFLA_MASTER, (uint32_t) bond);
	r = netlink_ask(nl, m, on_port, &any);
	return r < 0 ? r : any;
}

static int judge(struct netlink *nl, const struct seen *seen, struct seen *ret_master)
{
	int r;

	if (!seen->link.carrier)
		return 0;
	if (is_lacp_bond(&seen->link))
		return any_port_has_agreed(nl, seen->link.ifindex);
	if (seen->refs.master == 0)
		return 1;
	r = read_link(nl, NULL, seen->refs.master, ret_master);
	if (r < 0)
		return r;
	return !is_lacp_bond(&ret_master->link) || has_agreed(&seen->link);
}

static int carries(struct netlink *nl, const char *name)
{
	struct seen seen = {0}, master = {0};
	int r = read_link(nl, name, 0, &seen);

	if (r == 0)
		r = judge(nl, &seen, &master);
	link_fini(&master.link);
	link_fini(&seen.link);
	return r;
}

/* --- options of bonds --- */

/* Kernel 5.10 has none of them; what is older is in all kernels that netconf runs on. */
static const enum bond_option young[] = {BOND_LACP_ACTIVE, BOND_MISSED_MAX, BOND_NS_IP6_TARGET};

/* Nothing is ever written: __rtnl_newlink() in net/core/rtnetlink.c, tried on 6.18. */
int kernel_knows(struct netlink *nl, const char *kind, uint16_t attribute, bool is_nest)
{
	const struct ifinfomsg ifi = {.ifi_family = AF_UNSPEC};
	struct nlattr *info, *data;
	AUTO(message_free) struct message *m = message_new();
	int r;

	/* Without NLM_F_CREATE, in case that there is no such link after all. */
	message_begin(m, RTM_NEWLINK, NLM_F_EXCL, &ifi, sizeof(ifi));
	message_text(m, IFLA_IFNAME, "lo");
	info = message_nest(m, IFLA_LINKINFO);
	message_text(m, IFLA_INFO_KIND, kind);
	data = message_nest(m, IFLA_INFO_DATA);
	/* A number of no bytes; a nest may be empty, but its attributes have a header. */
	message_bytes(m, attribute, "", is_nest ? 1 : 0);
	message_end(m, data);
	message_end(m, info);
	r = netlink_ask(nl, m, NULL, NULL);
	if (r == -ERANGE || r == -EINVAL)
		return 1;
	return r == -EEXIST || r == -ENODEV ? 0 : r == 0 ? -EPROTO : r;
}

/* A kernel without the kind of link says EEXIST, too: so one option that every kernel with bonds has
 * is asked for first. */
uint64_t kernel_bond_options_lacking(struct netlink *nl, uint64_t options, bool *ret_is_known)
{
	uint64_t lacking = 0;

	*ret_is_known = kernel_knows(nl, "bond", IFLA_BOND_MODE, false) == 1;
	for (size_t i = 0; *ret_is_known && i < ARRAY_SIZE(young); i++) {
		const struct bond_option_info *info = &bond_options[young[i]];

		if ((options & BOND_BIT(young[i])) != 0 &&
		    kernel_knows(nl, "bond", info->attribute, info->type == BOND_IPV6) == 0)
			lacking |= BOND_BIT(young[i]);
	}
	return lacking;
}

/* --- carrying out --- */

static int ifindex_of(const char *name, void *userdata)
{
	struct kernel *kernel = userdata;
	struct number key = {0}, **found;
	bool carrier;

	(void) snprintf(key.name, sizeof(key.name), "%s", name);
	found = tfind(&key, &kernel->numbers, compare_numbers);
	if (found != NULL)
		return (*found)->ifindex;
	key.ifindex = find_link(kernel->nl, name, &carrier);
	if (key.ifindex < 0)
		return 0;
	(void) mem_expect(tsearch(xmemdup(&key, sizeof(key)), &kernel->numbers, compare_numbers));
	return key.ifindex;
}

uint64_t kernel_bond_lacks(struct kernel *kernel, uint64_t options)
{
	uint64_t asked = options & ~kernel->bond_asked;
	bool is_known;

	if (asked != 0) {
		kernel->bond_lacks |= kernel_bond_options_lacking(kernel->nl, asked, &is_known);
		if (is_known)
			kernel->bond_asked |= asked;
	}
	return kernel->bond_lacks & options;
}

int kernel_carrier(struct kernel *kernel, const char *name)
{
	bool carrier = false;
	int r = find_link(kernel->nl, name, &carrier);

	return r < 0 ? fail(kernel, r, NULL, "") : carrier;
}

int kernel_carries(struct kernel *kernel, const char *name)
{
	int r = carries(kernel->nl, name);

	return r < 0 ? fail(kernel, r, NULL, "") : r;
}

static int set_wireguard(struct kernel *kernel, const struct link *link)
{
	const char *said;
	int r;

	if (link->wireguard == NULL)
		return fail(kernel, -EINVAL, strerror(EINVAL), "");
	r = wireguard_netlink_write(kernel->wireguard, link->name, link->wireguard);
	if (r == 0)
		return 0;
	said = wireguard_netlink_error_text(kernel->wireguard);
	return fail(kernel, r, said[0] != '\0' ? said : strerror(-r), "");
}

int kernel_carry_out(struct kernel *kernel, const struct op *op)
{
	const struct encode_names names = {ifindex_of, kernel};
	const char *missing;
	AUTO(message_free) struct message *m = message_new();
	int r;

	kernel->error_text[0] = '\0';
	if (op->kind == OP_WIREGUARD_SET)
		return set_wireguard(kernel, &op->link);
	r = encode_op(op, &names, m, &missing);
	if (r == -ENODEV)
		return fail(kernel, r, "there is no link ", missing);
	if (r < 0)
		return fail(kernel, r, strerror(-r), "");
	r = netlink_ask(kernel->nl, m, NULL, NULL);
	/* With a link may go, or come, others: what is on it, its peer. */
	if (op->kind == OP_LINK_CREATE || op->kind == OP_LINK_DELETE)
		forget_numbers(kernel);
	/* The kernel has kept what it might have dropped. */
	if (r == -EEXIST && op->is_restoring)
		return 0;
	return r < 0 ? fail(kernel, r, NULL, "") : 0;
}

/* --- the monitor --- */

static void settle(void *userdata)
{
	struct kernel *kernel = userdata;

	if (!ev_is_active(&kernel->settle)) {
		ev_timer_set(&kernel->settle, SETTLE_S, 0.);
		ev_timer_start(kernel->ev, &kernel->settle);
	}
}

/* libnl's ports have the process's number in their lower bits, the kernel's are that number. */
#define COMM_MAX 32
#define PORT_PID(port) ((port) &0x3fffff)

/* A process that changes much is looked up once. */
static const char *writer(struct kernel *kernel, uint32_t port)
{
	char path[64], comm[COMM_MAX] = "it has ended\n";
	FILE *file;

	if (port == 0 || port == netlink_port(kernel->nl))
		return "";
	if (port == kernel->by_port)
		return kernel->by;
	(void) snprintf(path, sizeof(path), "/proc/%" PRIu32 "/comm", PORT_PID(port));
	file = fopen(path, "re");
	if (file != NULL) {
		if (fgets(comm, sizeof(comm), file) == NULL)
			comm[0] = '\0';
		(void) fclose(file);
	}
	comm[strcspn(comm, "\n")] = '\0';
	(void) snprintf(kernel->by, sizeof(kernel->by), "pid %" PRIu32 " (%s)", PORT_PID(port), comm);
	kernel->by_port = port;
	return kernel->by;
}

static bool read_prefix(sa_family_t family, const struct nlattr *attr, uint8_t len,
                        struct prefix *ret_prefix)
{
	ret_prefix->addr = (struct addr){.family = family};
	ret_prefix->len = len;
	return (attr == NULL && len == 0) ||
	       (attr != NULL &&
	        addr_from_bytes(family, attr_data(attr), attr_len(attr), &ret_prefix->addr) == 0);
}

static bool read_news(const struct nlmsghdr *nlh, struct kernel_news *news)
{
	const struct nlattr *table[IFLA_MAX + 1];
	struct ifinfomsg ifi;
	struct ifaddrmsg ifa;
	struct rtmsg rtm;

	switch (nlh->nlmsg_type) {
	case RTM_NEWLINK:
	case RTM_DELLINK:
		/* A bridge tells of its ports, too, and that one has left it. */
		if (!attr_read(nlh, &ifi, sizeof(ifi), table, IFLA_MAX + 1) || ifi.ifi_family != AF_UNSPEC)
			return false;
		news->kind = KERNEL_NEWS_LINK;
		news->is_gone = nlh->nlmsg_type == RTM_DELLINK;
		news->ifindex = ifi.ifi_index;
		news->carries = (ifi.ifi_flags & IFF_UP) != 0 && (ifi.ifi_flags & IFF_LOWER_UP) != 0;
		(void) attr_text(table[IFLA_IFNAME], news->link, sizeof(news->link));
		return true;
	case RTM_NEWADDR:
	case RTM_DELADDR:
		news->kind = KERNEL_NEWS_ADDRESS;
		news->is_gone = nlh->nlmsg_type == RTM_DELADDR;
		return attr_read(nlh, &ifa, sizeof(ifa), table, IFA_MAX + 1) &&
		       read_prefix(ifa.ifa_family,
		                   table[IFA_LOCAL] != NULL ? table[IFA_LOCAL] : table[IFA_ADDRESS],
		                   ifa.ifa_prefixlen, &news->prefix);
	case RTM_NEWROUTE:
	case RTM_DELROUTE:
		news->kind = KERNEL_NEWS_ROUTE;
		news->is_gone = nlh->nlmsg_type == RTM_DELROUTE;
		return attr_read(nlh, &rtm, sizeof(rtm), table, RTA_MAX + 1) &&
		       read_prefix(rtm.rtm_family, table[RTA_DST], rtm.rtm_dst_len, &news->prefix);
	default:
		return false;
	}
}

static void on_event(const struct nlmsghdr *nlh, void *userdata)
{
	struct kernel *kernel = userdata;
	struct kernel_news news = {0};

	settle(kernel);
	if (kernel->told == NULL || !read_news(nlh, &news))
		return;
	(void) snprintf(news.by, sizeof(news.by), "%s", writer(kernel, nlh->nlmsg_pid));
	kernel->told(&news, kernel->changed_userdata);
}

static void on_lost(void *userdata)
{
	struct kernel *kernel = userdata;

	settle(kernel);
	if (kernel->told != NULL)
		kernel->told(&(struct kernel_news){.kind = KERNEL_NEWS_LOST}, kernel->changed_userdata);
}

void kernel_read_news(struct kernel *kernel)
{
	netlink_monitor_read(kernel->nl);
}

int kernel_monitor(struct kernel *kernel, kernel_changed_fn changed, kernel_told_fn told,
                   void *userdata)
{
	static const unsigned groups[] = {
	    RTNLGRP_LINK,       RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE,
	    RTNLGRP_IPV6_ROUTE, RTNLGRP_IPV4_RULE,   RTNLGRP_IPV6_RULE,
	};

	assert(kernel->ev != NULL);
	kernel->changed = changed;
	kernel->told = told;
	kernel->changed_userdata = userdata;
	return netlink_monitor(kernel->nl, groups, ARRAY_SIZE(groups), on_event, on_lost, kernel);
}
