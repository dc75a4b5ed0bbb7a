/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the kernel about one link by a request of its own, for kernel.c.
 */
#include "netconf/kernel/linkask.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "base/macro.h"
#include "netconf/kernel/decode.h"
#include "netconf/model/bond.h"

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
	const struct ifinfomsg ifi = {.ifi_family = AF_UNSPEC, .ifi_index = (int) ifindex};
	AUTO(message_free) struct message *m = message_new();
	int r;

	message_begin(m, RTM_GETLINK, 0, &ifi, sizeof(ifi));
	if (name != NULL)
		message_text(m, IFLA_IFNAME, name);
	message_u32(m, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	r = netlink_ask(nl, m, on_link, ret_seen);
	return r == 0 && ret_seen->link.ifindex == 0 ? -ENODEV : r;
}

int linkask_find(struct netlink *nl, const char *name, int *ret_ifindex, bool *ret_carrier)
{
	struct seen seen = {0};
	int r = read_link(nl, name, 0, &seen);

	if (r == 0) {
		*ret_ifindex = seen.link.ifindex;
		*ret_carrier = seen.link.carrier;
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
	static const struct ifinfomsg ifi = {.ifi_family = AF_UNSPEC};
	bool any = false;
	AUTO(message_free) struct message *m = message_new();
	int r;

	message_begin(m, RTM_GETLINK, NLM_F_DUMP, &ifi, sizeof(ifi));
	message_u32(m, IFLA_MASTER, (uint32_t) bond);
	message_u32(m, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
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

int linkask_carries(struct netlink *nl, const char *name)
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
int linkask_knows(struct netlink *nl, const char *kind, uint16_t attribute, bool is_nest)
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
uint64_t linkask_bond_lacks(struct netlink *nl, uint64_t options, bool *ret_is_known)
{
	uint64_t lacking = 0;

	*ret_is_known = linkask_knows(nl, "bond", IFLA_BOND_MODE, false) == 1;
	for (size_t i = 0; *ret_is_known && i < ARRAY_SIZE(young); i++) {
		const struct bond_option_info *info = &bond_options[young[i]];

		if ((options & BOND_BIT(young[i])) != 0 &&
		    linkask_knows(nl, "bond", info->attribute, info->type == BOND_IPV6) == 0)
			lacking |= BOND_BIT(young[i]);
	}
	return lacking;
}
