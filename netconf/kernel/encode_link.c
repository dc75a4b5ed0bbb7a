/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links in requests: made, changed, deleted. A link is made down and without a master: the order of
 * what comes then is the planner's.
 */
#include "netconf/kernel/encode_link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <string.h>

#include "netconf/kernel/decode_link.h"

/* The mask of those that are set: all. The kernel refuses a message with a bit that it does not
 * know. */
#define VLAN_FLAGS_ALL                                                                   \
	(LINK_VLAN_REORDER_HDR | LINK_VLAN_GVRP | LINK_VLAN_LOOSE_BINDING | LINK_VLAN_MVRP | \
	 LINK_VLAN_BRIDGE_BINDING)

int encode_ifindex(const struct encode_names *names, const char *name, uint32_t *ret_ifindex,
                   const char **ret_missing)
{
	int number = name[0] != '\0' ? names->ifindex(name, names->userdata) : 0;

	if (name[0] != '\0' && number <= 0) {
		*ret_missing = name;
		return -ENODEV;
	}
	*ret_ifindex = (uint32_t) number;
	return 0;
}

/* --- bonds --- */

static void put_targets(struct message *m, uint16_t type, const struct addr *list, size_t n)
{
	struct nlattr *nest = message_nest(m, type);

	for (size_t i = 0; i < n; i++)
		message_bytes(m, (uint16_t) i, list[i].bytes, addr_len_bytes(&list[i]));
	message_end(m, nest);
}

static int put_bond_option(struct message *m, const struct bond *bond, enum bond_option option,
                           const struct encode_names *names, const char **ret_missing)
{
	const struct bond_option_info *info = &bond_options[option];
	const char *port = option == BOND_PRIMARY ? bond->primary : bond->active_port;
	uint32_t value = bond->values[option];
	int r;

	switch (info->type) {
	case BOND_U8:
		message_u8(m, info->attribute, (uint8_t) value);
		break;
	case BOND_U16:
		message_u16(m, info->attribute, (uint16_t) value);
		break;
	case BOND_U32:
		message_u32(m, info->attribute, value);
		break;
	case BOND_PORT:
		r = encode_ifindex(names, port, &value, ret_missing);
		if (r < 0)
			return r;
		message_u32(m, info->attribute, value);
		break;
	case BOND_IPV4:
		put_targets(m, info->attribute, bond->arp_targets, bond->n_arp_targets);
		break;
	case BOND_IPV6:
		put_targets(m, info->attribute, bond->ns_targets, bond->n_ns_targets);
		break;
	case BOND_MAC:
		message_bytes(m, info->attribute, bond->ad_actor_system.bytes,
		              sizeof(bond->ad_actor_system.bytes));
		break;
	}
	return 0;
}

static int put_bond(struct message *m, const struct bond *bond, uint64_t options,
                    const struct encode_names *names, const char **ret_missing)
{
	int r = 0;

	for (unsigned i = 0; i < BOND_OPTIONS && r == 0; i++) {
		if ((options & BOND_BIT(i)) != 0)
			r = put_bond_option(m, bond, (enum bond_option) i, names, ret_missing);
	}
	return r;
}

/* --- the other kinds --- */

static void put_vlan_flags(struct message *m, const struct link *link)
{
	const struct ifla_vlan_flags flags = {.flags = link->vlan_flags, .mask = VLAN_FLAGS_ALL};

	message_bytes(m, IFLA_VLAN_FLAGS, &flags, sizeof(flags));
}

static void put_vlan(struct message *m, const struct link *link)
{
	message_u16(m, IFLA_VLAN_ID, link->vlan_id);
	if (link_has(link, LINK_HAS_VLAN_PROTOCOL))
		message_u16(m, IFLA_VLAN_PROTOCOL, htons(link->vlan_protocol));
	if (link_has(link, LINK_HAS_VLAN_FLAGS))
		put_vlan_flags(m, link);
}

/* A new bridge has neither, and a kernel that was built without one does not take the word "off".
 */
static unsigned what_is_on(const struct link *link)
{
	return (link->stp ? LINK_HAS_STP : 0u) | (link->vlan_filtering ? LINK_HAS_VLAN_FILTERING : 0u);
}

static void put_bridge(struct message *m, const struct link *link, unsigned attributes)
{
	if ((attributes & LINK_HAS_STP) != 0)
		message_u32(m, IFLA_BR_STP_STATE, link->stp ? 1 : 0);
	if ((attributes & LINK_HAS_VLAN_FILTERING) != 0)
		message_u8(m, IFLA_BR_VLAN_FILTERING, link->vlan_filtering ? 1 : 0);
}

/* The other end is made with this one; it is ours as well. */
static void put_veth(struct message *m, const struct link *link)
{
	static const struct ifinfomsg ifi = {.ifi_family = AF_UNSPEC};
	struct nlattr *nest = message_nest(m, VETH_INFO_PEER);

	/* The nest begins with the struct itself, not with an attribute. */
	message_raw(m, &ifi, sizeof(ifi));
	message_text(m, IFLA_IFNAME, link->peer);
	message_u32(m, IFLA_GROUP, NETCONF_PROTOCOL);
	message_end(m, nest);
}

static int put_kind(struct message *m, const struct link *link, const struct encode_names *names,
                    const char **ret_missing)
{
	struct nlattr *info = message_nest(m, IFLA_LINKINFO), *data;
	int r = 0;

	message_text(m, IFLA_INFO_KIND, decode_kind_name(link->kind));
	data = message_nest(m, IFLA_INFO_DATA);
	switch (link->kind) {
	case LINK_BOND:
		/* Ports come later, so that none can be named yet. */
		if (link->bond != NULL)
			r = put_bond(m, link->bond,
			             link->bond->has & ~(BOND_BIT(BOND_PRIMARY) | BOND_BIT(BOND_ACTIVE_SLAVE)),
			             names, ret_missing);
		break;
	case LINK_VLAN:
		put_vlan(m, link);
		break;
	case LINK_BRIDGE:
		put_bridge(m, link, link->has & what_is_on(link));
		break;
	case LINK_VETH:
		put_veth(m, link);
		break;
	case LINK_VRF:
		message_u32(m, IFLA_VRF_TABLE, link->table);
		break;
	default:
		break;
	}
	message_end(m, data);
	message_end(m, info);
	return r;
}

/* --- requests --- */

int encode_link_create(const struct link *link, const struct encode_names *names, struct message *m,
                       const char **ret_missing)
{
	static const struct ifinfomsg ifi = {.ifi_family = AF_UNSPEC};
	uint32_t parent;
	int r;

	if (!link_is_virtual(link))
		return -EINVAL;
	message_begin(m, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &ifi, sizeof(ifi));
	message_text(m, IFLA_IFNAME, link->name);
	message_u32(m, IFLA_GROUP, NETCONF_PROTOCOL);
	if (link_has(link, LINK_HAS_MTU))
		message_u32(m, IFLA_MTU, link->mtu);
	if (link_has(link, LINK_HAS_MAC))
		message_bytes(m, IFLA_ADDRESS, link->mac.bytes, sizeof(link->mac.bytes));
	if (link->kind == LINK_VLAN) {
		r = encode_ifindex(names, link->parent, &parent, ret_missing);
		if (r < 0)
			return r;
		message_u32(m, IFLA_LINK, parent);
	}
	return put_kind(m, link, names, ret_missing);
}

static int begin(struct message *m, uint16_t type, const struct link *link, struct ifinfomsg *ifi,
                 const struct encode_names *names, const char **ret_missing)
{
	uint32_t number;
	int r = encode_ifindex(names, link->name, &number, ret_missing);

	if (r < 0)
		return r;
	ifi->ifi_index = (int) number;
	message_begin(m, type, 0, ifi, sizeof(*ifi));
	return 0;
}

int encode_link_delete(const struct link *link, const struct encode_names *names, struct message *m,
                       const char **ret_missing)
{
	struct ifinfomsg ifi = {.ifi_family = AF_UNSPEC};

	return begin(m, RTM_DELLINK, link, &ifi, names, ret_missing);
}

static void put_kind_set(struct message *m, const struct link *link, unsigned attributes)
{
	struct nlattr *info, *data;

	if ((attributes & (LINK_HAS_VLAN_FLAGS | LINK_HAS_STP | LINK_HAS_VLAN_FILTERING)) == 0)
		return;
	info = message_nest(m, IFLA_LINKINFO);
	message_text(m, IFLA_INFO_KIND, decode_kind_name(link->kind));
	data = message_nest(m, IFLA_INFO_DATA);
	if ((attributes & LINK_HAS_VLAN_FLAGS) != 0)
		put_vlan_flags(m, link);
	put_bridge(m, link, attributes);
	message_end(m, data);
	message_end(m, info);
}

static void put_ipv4(struct message *m, const struct link *link)
{
	struct nlattr *families = message_nest(m, IFLA_AF_SPEC);
	struct nlattr *family = message_nest(m, AF_INET);
	struct nlattr *settings = message_nest(m, IFLA_INET_CONF);

	message_u32(m, IPV4_DEVCONF_PROMOTE_SECONDARIES, link->promote);
	message_end(m, settings);
	message_end(m, family);
	message_end(m, families);
}

int encode_link_set(const struct link *link, unsigned attributes, const struct encode_names *names,
                    struct message *m, const char **ret_missing)
{
	struct ifinfomsg ifi = {.ifi_family = AF_UNSPEC};
	uint32_t master;
	int r;

	if ((attributes & LINK_HAS_UP) != 0) {
		ifi.ifi_change |= IFF_UP;
		ifi.ifi_flags |= link->up ? IFF_UP : 0;
	}
	if ((attributes & LINK_HAS_MULTICAST) != 0) {
		ifi.ifi_change |= IFF_MULTICAST;
		ifi.ifi_flags |= link->multicast ? IFF_MULTICAST : 0;
	}
	r = begin(m, RTM_NEWLINK, link, &ifi, names, ret_missing);
	if (r < 0)
		return r;
	if ((attributes & LINK_HAS_MTU) != 0)
		message_u32(m, IFLA_MTU, link->mtu);
	if ((attributes & LINK_HAS_MAC) != 0)
		message_bytes(m, IFLA_ADDRESS, link->mac.bytes, sizeof(link->mac.bytes));
	if ((attributes & LINK_HAS_MASTER) != 0) {
		r = encode_ifindex(names, link->master, &master, ret_missing);
		if (r < 0)
			return r;
		message_u32(m, IFLA_MASTER, master);
	}
	if ((attributes & LINK_HAS_PROMOTE) != 0)
		put_ipv4(m, link);
	put_kind_set(m, link, attributes);
	return 0;
}

int encode_bond_set(const struct link *link, uint64_t options, const struct encode_names *names,
                    struct message *m, const char **ret_missing)
{
	struct ifinfomsg ifi = {.ifi_family = AF_UNSPEC};
	struct nlattr *info, *data;
	int r;

	if (link->bond == NULL)
		return -EINVAL;
	r = begin(m, RTM_NEWLINK, link, &ifi, names, ret_missing);
	if (r < 0)
		return r;
	info = message_nest(m, IFLA_LINKINFO);
	message_text(m, IFLA_INFO_KIND, decode_kind_name(LINK_BOND));
	data = message_nest(m, IFLA_INFO_DATA);
	r = put_bond(m, link->bond, options, names, ret_missing);
	message_end(m, data);
	message_end(m, info);
	return r;
}
