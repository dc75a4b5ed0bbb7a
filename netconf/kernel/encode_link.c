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

static int put_value(struct message *m, const struct link *link, const struct link_attr_info *info,
                     const struct encode_names *names, const char **ret_missing)
{
	const struct ifla_vlan_flags flags = {.flags = link->vlan_flags, .mask = VLAN_FLAGS_ALL};
	uint32_t number = 0;
	int r;

	switch (info->wire) {
	case LINK_WIRE_U8:
		message_u8(m, info->attribute, (uint8_t) record_number(&info->field, link));
		break;
	case LINK_WIRE_U16:
		message_u16(m, info->attribute, (uint16_t) record_number(&info->field, link));
		break;
	case LINK_WIRE_BE16:
		message_u16(m, info->attribute, htons((uint16_t) record_number(&info->field, link)));
		break;
	case LINK_WIRE_U32:
		message_u32(m, info->attribute, (uint32_t) record_number(&info->field, link));
		break;
	case LINK_WIRE_MAC:
		message_bytes(m, info->attribute, link->mac.bytes, sizeof(link->mac.bytes));
		break;
	case LINK_WIRE_VLAN_FLAGS:
		message_bytes(m, info->attribute, &flags, sizeof(flags));
		break;
	case LINK_WIRE_IFINDEX:
		r = encode_ifindex(names, (const char *) link + info->field.offset, &number, ret_missing);
		if (r < 0)
			return r;
		message_u32(m, info->attribute, number);
		break;
	}
	return 0;
}

static int put_values(struct message *m, const struct link *link, enum link_where place,
                      unsigned attributes, const struct encode_names *names,
                      const char **ret_missing)
{
	int r = 0;

	attributes &= link_attrs_of(link->kind);
	for (size_t i = 0; i < LINK_ATTRS && r == 0; i++) {
		if (link_attrs[i].place == place && (attributes & link_attrs[i].attr) != 0)
			r = put_value(m, link, &link_attrs[i], names, ret_missing);
	}
	return r;
}

/* What is off when a link is new is not said: a kernel that was built without it does not take the
 * word "off". */
static unsigned given(const struct link *link)
{
	unsigned attributes = (link->has & link_attrs_with(LINK_GIVEN)) | link_attrs_with(LINK_NEEDED);

	for (size_t i = 0; i < LINK_ATTRS; i++) {
		const struct record_field *field = &link_attrs[i].field;

		if (field->type == RECORD_BOOL && record_number(field, link) == 0)
			attributes &= ~(unsigned) link_attrs[i].attr;
	}
	return attributes;
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
	/* Ports come later, so that none can be named yet. */
	if (link->bond != NULL)
		r = put_bond(m, link->bond,
		             link->bond->has & ~(BOND_BIT(BOND_PRIMARY) | BOND_BIT(BOND_ACTIVE_SLAVE)),
		             names, ret_missing);
	if (link->kind == LINK_VETH)
		put_veth(m, link);
	if (r == 0)
		r = put_values(m, link, LINK_AT_DATA, given(link), names, ret_missing);
	message_end(m, data);
	message_end(m, info);
	return r;
}

/* --- requests --- */

int encode_link_create(const struct link *link, const struct encode_names *names, struct message *m,
                       const char **ret_missing)
{
	static const struct ifinfomsg ifi = {.ifi_family = AF_UNSPEC};
	int r;

	if (!link_is_virtual(link))
		return -EINVAL;
	message_begin(m, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &ifi, sizeof(ifi));
	message_text(m, IFLA_IFNAME, link->name);
	message_u32(m, IFLA_GROUP, NETCONF_PROTOCOL);
	r = put_values(m, link, LINK_AT_TOP, given(link), names, ret_missing);
	return r < 0 ? r : put_kind(m, link, names, ret_missing);
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

static unsigned attrs_at(enum link_where place)
{
	unsigned attributes = 0;

	for (size_t i = 0; i < LINK_ATTRS; i++)
		attributes |= link_attrs[i].place == place ? link_attrs[i].attr : 0U;
	return attributes;
}

static int put_kind_set(struct message *m, const struct link *link, unsigned attributes,
                        const struct encode_names *names, const char **ret_missing)
{
	struct nlattr *info = message_nest(m, IFLA_LINKINFO), *data;
	int r;

	message_text(m, IFLA_INFO_KIND, decode_kind_name(link->kind));
	data = message_nest(m, IFLA_INFO_DATA);
	r = put_values(m, link, LINK_AT_DATA, attributes, names, ret_missing);
	message_end(m, data);
	message_end(m, info);
	return r;
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
	int r;

	for (size_t i = 0; i < LINK_ATTRS; i++) {
		if (link_attrs[i].place != LINK_AT_FLAGS || (attributes & link_attrs[i].attr) == 0)
			continue;
		ifi.ifi_change |= link_attrs[i].attribute;
		ifi.ifi_flags |=
		    record_number(&link_attrs[i].field, link) != 0 ? link_attrs[i].attribute : 0U;
	}
	r = begin(m, RTM_NEWLINK, link, &ifi, names, ret_missing);
	if (r == 0)
		r = put_values(m, link, LINK_AT_TOP, attributes, names, ret_missing);
	if (r == 0 && (attributes & LINK_HAS_PROMOTE) != 0)
		put_ipv4(m, link);
	if (r == 0 && (attributes & attrs_at(LINK_AT_DATA)) != 0)
		r = put_kind_set(m, link, attributes, names, ret_missing);
	return r;
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
