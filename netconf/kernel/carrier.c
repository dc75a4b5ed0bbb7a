/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bond in mode 802.3ad has its carrier before any of its ports moves a frame, and so has each of
 * these ports. What LACP has come to is told with the port only, and for a moment, until the port
 * has an aggregator, not at all: whether it has a say, the bond knows.
 */
#include "netconf/kernel/carrier.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "net/attr.h"
#include "netconf/kernel/decode_link.h"

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

static bool is_lacp_bond(const struct link *link)
{
	return link->bond != NULL && link->bond->values[BOND_MODE] == BOND_8023AD;
}

static bool has_agreed(const struct link *port)
{
	return port->lacp.is_known && link_carries(port);
}

/* --- a bond --- */

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

/* --- both --- */

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

int carrier_is_of_use(struct netlink *nl, const char *name)
{
	struct seen seen = {0}, master = {0};
	int r = read_link(nl, name, 0, &seen);

	if (r == 0)
		r = judge(nl, &seen, &master);
	link_fini(&master.link);
	link_fini(&seen.link);
	return r;
}
