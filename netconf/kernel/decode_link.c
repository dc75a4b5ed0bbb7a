/* SPDX-License-Identifier: Apache-2.0 */
/* Links as the kernel tells of them: what all have, and what each kind adds. */
#include "netconf/kernel/decode_link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "base/mem.h"
#include "net/attr.h"

/* Room for the attributes of every kind's IFLA_INFO_DATA. */
#define DATA_ATTRIBUTES 64

static const char *const kinds[] = {
    [LINK_BOND] = "bond",           [LINK_VLAN] = "vlan", [LINK_BRIDGE] = "bridge",
    [LINK_DUMMY] = "dummy",         [LINK_VETH] = "veth", [LINK_VRF] = "vrf",
    [LINK_WIREGUARD] = "wireguard",
};

const char *decode_kind_name(enum link_kind kind)
{
	return kind < ARRAY_SIZE(kinds) ? kinds[kind] : NULL;
}

static enum link_kind kind_by_name(const char *name, unsigned flags)
{
	if (name[0] == '\0')
		return (flags & IFF_LOOPBACK) != 0 ? LINK_LOOPBACK : LINK_PHYSICAL;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (kinds[i] != NULL && strcmp(kinds[i], name) == 0)
			return (enum link_kind) i;
	}
	return LINK_OTHER;
}

/* --- bonds --- */

struct targets {
	struct addr *list;
	size_t n;
	sa_family_t family;
};

static void take_target(const struct nlattr *attr, unsigned type UNUSED, void *userdata)
{
	struct targets *t = userdata;
	size_t len = t->family == AF_INET ? sizeof(struct in_addr) : sizeof(struct in6_addr);

	if (t->n < BOND_TARGETS_MAX && attr_len(attr) == len &&
	    addr_from_bytes(t->family, attr_data(attr), len, &t->list[t->n]) == 0)
		t->n++;
}

/* The kernel leaves an empty list, and a port that is not there, out of what it tells. */
static void take_bond_option(struct bond *bond, enum bond_option option, const struct nlattr *attr,
                             struct decode_link_refs *refs)
{
	struct targets targets = {0};

	switch (bond_options[option].type) {
	case BOND_U8:
	case BOND_U16:
	case BOND_U32:
		if (attr == NULL)
			return;
		bond->values[option] = attr_len(attr) == sizeof(uint8_t)    ? attr_u8(attr, 0)
		                       : attr_len(attr) == sizeof(uint16_t) ? attr_u16(attr, 0)
		                                                            : attr_u32(attr, 0);
		break;
	case BOND_PORT:
		*(option == BOND_PRIMARY ? &refs->primary : &refs->active_port) = attr_u32(attr, 0);
		break;
	case BOND_IPV4:
		targets = (struct targets){bond->arp_targets, 0, AF_INET};
		attr_for_each(attr, take_target, &targets);
		bond->n_arp_targets = targets.n;
		break;
	case BOND_IPV6:
		targets = (struct targets){bond->ns_targets, 0, AF_INET6};
		attr_for_each(attr, take_target, &targets);
		bond->n_ns_targets = targets.n;
		break;
	case BOND_MAC:
		if (!attr_bytes(attr, bond->ad_actor_system.bytes, sizeof(bond->ad_actor_system.bytes)))
			return;
		break;
	}
	bond->has |= BOND_BIT(option);
}

static int take_bond(struct link *link, const struct nlattr *data, struct decode_link_refs *refs)
{
	const struct nlattr *table[IFLA_BOND_MAX + 1];

	if (attr_read_nested(data, table, ARRAY_SIZE(table)) < 0)
		return -EBADMSG;
	link->bond = NEW0(struct bond);
	for (unsigned i = 0; i < BOND_OPTIONS; i++) {
		if (bond_options[i].attribute < ARRAY_SIZE(table))
			take_bond_option(link->bond, (enum bond_option) i, table[bond_options[i].attribute],
			                 refs);
	}
	return 0;
}

/* --- the other kinds --- */

static uint32_t number_of(const struct link_attr_info *info, const struct nlattr *attr)
{
	switch (info->wire) {
	case LINK_WIRE_U8:
		return attr_u8(attr, 0);
	case LINK_WIRE_U16:
		return attr_u16(attr, 0);
	case LINK_WIRE_BE16:
		return ntohs(attr_u16(attr, 0));
	default:
		return attr_u32(attr, 0);
	}
}

/* Links are named when all are known. */
static void take_value(struct link *link, const struct link_attr_info *info,
                       const struct nlattr *attr)
{
	struct ifla_vlan_flags flags = {0};

	if (info->wire == LINK_WIRE_MAC) {
		if (attr_len(attr) != sizeof(link->mac) || !attr_bytes(attr, &link->mac, sizeof(link->mac)))
			return;
	} else if (info->wire == LINK_WIRE_VLAN_FLAGS) {
		if (!attr_bytes(attr, &flags, sizeof(flags)))
			return;
		link->vlan_flags = flags.flags;
	} else if (info->wire != LINK_WIRE_IFINDEX) {
		if (attr == NULL)
			link_begin(link, info->attr);
		else
			(void) record_set_number(&info->field, number_of(info, attr), link);
	}
	link->has |= info->attr;
}

static void take_values(struct link *link, enum link_where place, const struct nlattr **table,
                        size_t n)
{
	for (size_t i = 0; i < LINK_ATTRS; i++) {
		if (link_attrs[i].place == place && link_attrs[i].attribute < n &&
		    (link_attrs_of(link->kind) & link_attrs[i].attr) != 0)
			take_value(link, &link_attrs[i], table[link_attrs[i].attribute]);
	}
}

static int take_data(struct link *link, const struct nlattr *data)
{
	const struct nlattr *table[DATA_ATTRIBUTES];

	if (attr_read_nested(data, table, ARRAY_SIZE(table)) < 0)
		return -EBADMSG;
	take_values(link, LINK_AT_DATA, table, ARRAY_SIZE(table));
	return 0;
}

/* The kernel tells the states of ports in mode 802.3ad only. */
static int take_port(struct link *link, const struct nlattr *kind, const struct nlattr *data)
{
	const struct nlattr *table[IFLA_BOND_SLAVE_MAX + 1];
	char name[sizeof(link->kind_name)];

	if (strcmp(attr_text(kind, name, sizeof(name)), "bond") != 0)
		return 0;
	if (attr_read_nested(data, table, ARRAY_SIZE(table)) < 0)
		return -EBADMSG;
	if (table[IFLA_BOND_SLAVE_AD_ACTOR_OPER_PORT_STATE] == NULL)
		return 0;
	link->lacp = (struct link_lacp){
	    .is_known = true,
	    .actor = attr_u8(table[IFLA_BOND_SLAVE_AD_ACTOR_OPER_PORT_STATE], 0),
	    .partner = (uint8_t) attr_u16(table[IFLA_BOND_SLAVE_AD_PARTNER_OPER_PORT_STATE], 0),
	};
	return 0;
}

static int take_kind(struct link *link, const struct nlattr *info, unsigned flags,
                     struct decode_link_refs *refs)
{
	const struct nlattr *table[IFLA_INFO_MAX + 1];

	if (attr_read_nested(info, table, ARRAY_SIZE(table)) < 0)
		return -EBADMSG;
	(void) attr_text(table[IFLA_INFO_KIND], link->kind_name, sizeof(link->kind_name));
	link->kind = kind_by_name(link->kind_name, flags);
	if (table[IFLA_INFO_KIND] != NULL && link->kind_name[0] == '\0')
		link->kind = LINK_OTHER; /* its name is longer than any that we know */
	if (take_port(link, table[IFLA_INFO_SLAVE_KIND], table[IFLA_INFO_SLAVE_DATA]) < 0)
		return -EBADMSG;
	if (link->kind == LINK_BOND)
		return take_bond(link, table[IFLA_INFO_DATA], refs);
	if (link->kind == LINK_VETH)
		link->has |= LINK_HAS_PEER;
	return link_is_virtual(link) ? take_data(link, table[IFLA_INFO_DATA]) : 0;
}

/* --- what all have --- */

static void take_altname(const struct nlattr *attr, unsigned type, void *userdata)
{
	struct link *link = userdata;
	char name[LINK_ALTNAME_MAX];

	if (type != IFLA_ALT_IFNAME || attr_text(attr, name, sizeof(name))[0] == '\0')
		return;
	link->altnames = xreallocarray(link->altnames, link->n_altnames + 1, sizeof(*link->altnames));
	link->altnames[link->n_altnames++] = xstrdup(name);
}

static enum owner link_owner(const struct link *link)
{
	if (link->kind == LINK_LOOPBACK)
		return OWNER_KERNEL;
	return link_is_virtual(link) && link->group == NETCONF_PROTOCOL ? OWNER_OURS : OWNER_FOREIGN;
}

/* The kernel's settings of IPv4 on the link, as many as it knows, numbered from 1. */
static void take_ipv4(struct link *link, const struct nlattr *families)
{
	const struct nlattr *family[AF_INET + 1], *table[IFLA_INET_MAX + 1];
	uint32_t settings[IPV4_DEVCONF_PROMOTE_SECONDARIES];

	if (attr_read_nested(families, family, ARRAY_SIZE(family)) < 0 ||
	    attr_read_nested(family[AF_INET], table, ARRAY_SIZE(table)) < 0 ||
	    attr_len(table[IFLA_INET_CONF]) < sizeof(settings))
		return;
	memcpy(settings, attr_data(table[IFLA_INET_CONF]), sizeof(settings));
	link->promote = settings[IPV4_DEVCONF_PROMOTE_SECONDARIES - 1] != 0;
	link->has |= LINK_HAS_PROMOTE;
}

static void take_common(struct link *link, const struct ifinfomsg *ifi, const struct nlattr **table)
{
	link->ifindex = ifi->ifi_index;
	link->carrier = (ifi->ifi_flags & IFF_LOWER_UP) != 0;
	link->group = attr_u32(table[IFLA_GROUP], 0);
	for (size_t i = 0; i < LINK_ATTRS; i++) {
		if (link_attrs[i].place != LINK_AT_FLAGS)
			continue;
		(void) record_set_number(&link_attrs[i].field,
		                         (ifi->ifi_flags & link_attrs[i].attribute) != 0, link);
		link->has |= link_attrs[i].attr;
	}
	take_values(link, LINK_AT_TOP, table, IFLA_MAX + 1);
	if (ifi->ifi_type != ARPHRD_ETHER)
		link->has &= ~(unsigned) LINK_HAS_MAC;
	link->has_permanent_mac =
	    attr_len(table[IFLA_PERM_ADDRESS]) == sizeof(link->permanent_mac) &&
	    attr_bytes(table[IFLA_PERM_ADDRESS], &link->permanent_mac, sizeof(link->permanent_mac));
	attr_for_each(table[IFLA_PROP_LIST], take_altname, link);
	take_ipv4(link, table[IFLA_AF_SPEC]);
}

int decode_link(const struct nlmsghdr *nlh, struct link *ret_link,
                struct decode_link_refs *ret_refs)
{
	const struct nlattr *table[IFLA_MAX + 1];
	struct link link = {0};
	struct ifinfomsg ifi;
	int r;

	r = attr_read(nlh, sizeof(ifi), table, ARRAY_SIZE(table));
	if (r < 0)
		return r;
	if (!attr_header(nlh, &ifi, sizeof(ifi)) || ifi.ifi_family != AF_UNSPEC || ifi.ifi_index <= 0 ||
	    attr_text(table[IFLA_IFNAME], link.name, sizeof(link.name))[0] == '\0')
		return -EBADMSG;
	*ret_refs = (struct decode_link_refs){.master = attr_u32(table[IFLA_MASTER], 0)};
	/* One in another network namespace has a number there, which says nothing here. */
	if (table[IFLA_LINK_NETNSID] == NULL)
		ret_refs->lower = attr_u32(table[IFLA_LINK], 0);
	r = take_kind(&link, table[IFLA_LINKINFO], ifi.ifi_flags, ret_refs);
	take_common(&link, &ifi, table);
	if (r < 0) {
		link_fini(&link);
		return r;
	}
	link.owner = link_owner(&link);
	*ret_link = link;
	return 0;
}
