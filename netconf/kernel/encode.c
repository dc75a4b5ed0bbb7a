/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps in requests: links, addresses, routes and rules, and what others had, put back as it was
 * dumped: the kernel takes its own words again, but for what only says how things stand. A link is
 * made down and without a master: the order of what comes then is the planner's.
 */
#include "netconf/kernel/encode.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <stddef.h>
#include <string.h>

#include "netconf/kernel/decode.h"

/* The mask of those that are set: all. The kernel refuses a message with a bit that it does not
 * know. */
#define VLAN_FLAGS_ALL                                                                   \
	(LINK_VLAN_REORDER_HDR | LINK_VLAN_GVRP | LINK_VLAN_LOOSE_BINDING | LINK_VLAN_MVRP | \
	 LINK_VLAN_BRIDGE_BINDING)

struct encoding {
	const struct encode_names *names;
	struct message *m;
	const char *missing; /* the first link that is not there; "" */
};

/* The number of a link; "" is number 0. One that is not there is remembered, and encode_op() says
 * so in the end. */
static uint32_t ifindex_of(struct encoding *e, const char *name)
{
	int number = name[0] != '\0' ? e->names->ifindex(name, e->names->userdata) : 0;

	if (name[0] != '\0' && number <= 0 && e->missing[0] == '\0')
		e->missing = name;
	return number > 0 ? (uint32_t) number : 0;
}

/* --- links: bonds --- */

static void put_targets(struct message *m, uint16_t type, const struct addr *list, size_t n)
{
	struct nlattr *nest = message_nest(m, type);

	for (size_t i = 0; i < n; i++)
		message_bytes(m, (uint16_t) i, list[i].bytes, addr_len_bytes(&list[i]));
	message_end(m, nest);
}

static void put_bond_option(struct encoding *e, const struct bond *bond, enum bond_option option)
{
	const struct bond_option_info *info = &bond_options[option];
	const char *port = option == BOND_PRIMARY ? bond->primary : bond->active_port;
	uint32_t value = bond->values[option];

	switch (info->type) {
	case BOND_U8:
		message_u8(e->m, info->attribute, (uint8_t) value);
		break;
	case BOND_U16:
		message_u16(e->m, info->attribute, (uint16_t) value);
		break;
	case BOND_U32:
		message_u32(e->m, info->attribute, value);
		break;
	case BOND_PORT:
		message_u32(e->m, info->attribute, ifindex_of(e, port));
		break;
	case BOND_IPV4:
		put_targets(e->m, info->attribute, bond->arp_targets, bond->n_arp_targets);
		break;
	case BOND_IPV6:
		put_targets(e->m, info->attribute, bond->ns_targets, bond->n_ns_targets);
		break;
	case BOND_MAC:
		message_bytes(e->m, info->attribute, bond->ad_actor_system.bytes,
		              sizeof(bond->ad_actor_system.bytes));
		break;
	}
}

static void put_bond(struct encoding *e, const struct bond *bond, uint64_t options)
{
	for (unsigned i = 0; i < BOND_OPTIONS; i++) {
		if ((options & BOND_BIT(i)) != 0)
			put_bond_option(e, bond, (enum bond_option) i);
	}
}

/* --- links: the other kinds --- */

static void put_value(struct encoding *e, const struct link *link,
                      const struct link_attr_info *info)
{
	const struct ifla_vlan_flags flags = {.flags = link->vlan_flags, .mask = VLAN_FLAGS_ALL};

	switch (info->wire) {
	case LINK_WIRE_U8:
		message_u8(e->m, info->attribute, (uint8_t) record_number(&info->field, link));
		break;
	case LINK_WIRE_U16:
		message_u16(e->m, info->attribute, (uint16_t) record_number(&info->field, link));
		break;
	case LINK_WIRE_BE16:
		message_u16(e->m, info->attribute, htons((uint16_t) record_number(&info->field, link)));
		break;
	case LINK_WIRE_U32:
		message_u32(e->m, info->attribute, (uint32_t) record_number(&info->field, link));
		break;
	case LINK_WIRE_MAC:
		message_bytes(e->m, info->attribute, link->mac.bytes, sizeof(link->mac.bytes));
		break;
	case LINK_WIRE_VLAN_FLAGS:
		message_bytes(e->m, info->attribute, &flags, sizeof(flags));
		break;
	case LINK_WIRE_IFINDEX:
		message_u32(e->m, info->attribute, ifindex_of(e, (const char *) link + info->field.offset));
		break;
	}
}

static void put_values(struct encoding *e, const struct link *link, enum link_where place,
                       unsigned attributes)
{
	attributes &= link_attrs_of(link->kind);
	for (size_t i = 0; i < LINK_ATTRS; i++) {
		if (link_attrs[i].place == place && (attributes & link_attrs[i].attr) != 0)
			put_value(e, link, &link_attrs[i]);
	}
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

static void put_kind(struct encoding *e, const struct link *link, unsigned attributes,
                     uint64_t options, bool is_new)
{
	struct nlattr *info = message_nest(e->m, IFLA_LINKINFO), *data;

	message_text(e->m, IFLA_INFO_KIND, decode_kind_name(link->kind));
	data = message_nest(e->m, IFLA_INFO_DATA);
	if (link->bond != NULL)
		put_bond(e, link->bond, options);
	if (link->kind == LINK_VETH && is_new)
		put_veth(e->m, link);
	put_values(e, link, LINK_AT_DATA, attributes);
	message_end(e->m, data);
	message_end(e->m, info);
}

static int encode_link_create(struct encoding *e, const struct link *link)
{
	static const struct ifinfomsg ifi = {.ifi_family = AF_UNSPEC};
	/* Ports come later, so that none can be named yet. */
	const uint64_t ports = BOND_BIT(BOND_PRIMARY) | BOND_BIT(BOND_ACTIVE_SLAVE);

	if (!link_is_virtual(link))
		return -EINVAL;
	message_begin(e->m, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &ifi, sizeof(ifi));
	message_text(e->m, IFLA_IFNAME, link->name);
	message_u32(e->m, IFLA_GROUP, NETCONF_PROTOCOL);
	put_values(e, link, LINK_AT_TOP, given(link));
	put_kind(e, link, given(link), link->bond != NULL ? link->bond->has & ~ports : 0, true);
	return 0;
}

/* `ifi` with the number of the link. */
static void begin(struct encoding *e, uint16_t type, const struct link *link, struct ifinfomsg ifi)
{
	ifi.ifi_index = (int) ifindex_of(e, link->name);
	message_begin(e->m, type, 0, &ifi, sizeof(ifi));
}

static unsigned attrs_at(enum link_where place)
{
	unsigned attributes = 0;

	for (size_t i = 0; i < LINK_ATTRS; i++)
		attributes |= link_attrs[i].place == place ? link_attrs[i].attr : 0U;
	return attributes;
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

static void encode_link_set(struct encoding *e, const struct link *link, unsigned attributes)
{
	struct ifinfomsg ifi = {.ifi_family = AF_UNSPEC};

	for (size_t i = 0; i < LINK_ATTRS; i++) {
		if (link_attrs[i].place != LINK_AT_FLAGS || (attributes & link_attrs[i].attr) == 0)
			continue;
		ifi.ifi_change |= link_attrs[i].attribute;
		ifi.ifi_flags |=
		    record_number(&link_attrs[i].field, link) != 0 ? link_attrs[i].attribute : 0U;
	}
	begin(e, RTM_NEWLINK, link, ifi);
	put_values(e, link, LINK_AT_TOP, attributes);
	if ((attributes & LINK_HAS_PROMOTE) != 0)
		put_ipv4(e->m, link);
	if ((attributes & attrs_at(LINK_AT_DATA)) != 0)
		put_kind(e, link, attributes, 0, false);
}

static int encode_bond_set(struct encoding *e, const struct link *link, uint64_t options)
{
	if (link->bond == NULL)
		return -EINVAL;
	begin(e, RTM_NEWLINK, link, (struct ifinfomsg){.ifi_family = AF_UNSPEC});
	put_kind(e, link, 0, options, false);
	return 0;
}

static void put_addr(struct message *m, uint16_t type, const struct addr *addr)
{
	if (addr_is_set(addr))
		message_bytes(m, type, addr->bytes, addr_len_bytes(addr));
}

/* --- addresses --- */

static void encode_address(struct encoding *e, const struct address *address, uint16_t type,
                           uint16_t flags)
{
	const struct ifaddrmsg ifa = {
	    .ifa_index = ifindex_of(e, address->link),
	    .ifa_family = (uint8_t) address->prefix.addr.family,
	    .ifa_prefixlen = address->prefix.len,
	    .ifa_scope = address->scope,
	};
	const struct ifa_cacheinfo times = {
	    .ifa_valid = address->valid_s,
	    .ifa_prefered = address->preferred_s,
	};

	message_begin(e->m, type, flags, &ifa, sizeof(ifa));
	put_addr(e->m, IFA_LOCAL, &address->prefix.addr);
	put_addr(e->m, IFA_ADDRESS,
	         addr_is_set(&address->peer) ? &address->peer : &address->prefix.addr);
	if (type == RTM_DELADDR)
		return;
	message_u32(e->m, IFA_FLAGS, address->flags);
	if (address->priority != 0)
		message_u32(e->m, IFA_RT_PRIORITY, address->priority);
	message_u8(e->m, IFA_PROTO, address->protocol);
	/* Without, it never ends. */
	if (address->valid_s != ADDRESS_FOREVER)
		message_bytes(e->m, IFA_CACHEINFO, &times, sizeof(times));
}

/* --- routes --- */

static void put_gateway(struct message *m, const struct route *route)
{
	uint8_t via[sizeof(uint16_t) + sizeof(route->gateway.bytes)];
	uint16_t family = route->gateway.family;

	if (!addr_is_set(&route->gateway) || route->gateway.family == route->dst.addr.family) {
		put_addr(m, RTA_GATEWAY, &route->gateway);
		return;
	}
	memcpy(via, &family, sizeof(family));
	memcpy(via + sizeof(family), route->gateway.bytes, addr_len_bytes(&route->gateway));
	message_bytes(m, RTA_VIA, via, sizeof(family) + addr_len_bytes(&route->gateway));
}

static void encode_route(struct encoding *e, const struct route *route, uint16_t type,
                         uint16_t flags)
{
	const struct rtmsg rtm = {
	    .rtm_family = (uint8_t) route->dst.addr.family,
	    .rtm_dst_len = route->dst.len,
	    .rtm_tos = route->tos,
	    .rtm_table = route->table <= UINT8_MAX ? (uint8_t) route->table : RT_TABLE_UNSPEC,
	    /* A deletion names whose it is, or the first one of that key dies. */
	    .rtm_protocol = route->protocol,
	    .rtm_scope = route->scope,
	    .rtm_type = route->type,
	    .rtm_flags = route->onlink ? RTNH_F_ONLINK : 0,
	};
	const uint32_t out = ifindex_of(e, route->link);
	struct nlattr *metrics;

	message_begin(e->m, type, flags, &rtm, sizeof(rtm));
	message_u32(e->m, RTA_TABLE, route->table);
	if (route->dst.len > 0)
		put_addr(e->m, RTA_DST, &route->dst.addr);
	if (route->metric != 0)
		message_u32(e->m, RTA_PRIORITY, route->metric);
	put_gateway(e->m, route);
	if (out != 0)
		message_u32(e->m, RTA_OIF, out);
	put_addr(e->m, RTA_PREFSRC, &route->src);
	if (route->mtu != 0 && type == RTM_NEWROUTE) {
		metrics = message_nest(e->m, RTA_METRICS);
		message_u32(e->m, RTAX_MTU, route->mtu);
		message_end(e->m, metrics);
	}
}

/* --- rules --- */

static void encode_rule(struct encoding *e, const struct rule *rule, uint16_t type, uint16_t flags)
{
	const struct fib_rule_hdr hdr = {
	    .family = (uint8_t) rule->family,
	    .dst_len = rule->dst.len,
	    .src_len = rule->src.len,
	    .table = rule->table <= UINT8_MAX ? (uint8_t) rule->table : RT_TABLE_UNSPEC,
	    .action = rule->action,
	};

	message_begin(e->m, type, flags, &hdr, sizeof(hdr));
	message_u32(e->m, FRA_PRIORITY, rule->priority);
	put_addr(e->m, FRA_SRC, &rule->src.addr);
	put_addr(e->m, FRA_DST, &rule->dst.addr);
	if (rule->iif[0] != '\0')
		message_text(e->m, FRA_IIFNAME, rule->iif);
	if (rule->oif[0] != '\0')
		message_text(e->m, FRA_OIFNAME, rule->oif);
	if (rule->fwmask != 0) {
		message_u32(e->m, FRA_FWMARK, rule->fwmark);
		message_u32(e->m, FRA_FWMASK, rule->fwmask);
	}
	if (rule->action == FR_ACT_TO_TBL)
		message_u32(e->m, FRA_TABLE, rule->table);
	message_u8(e->m, FRA_PROTOCOL, rule->protocol);
}

/* --- what others had --- */

/* What the kernel tells of a next hop but takes from nobody. */
static unsigned char settable(unsigned char flags)
{
	return flags & (RTNH_F_ONLINK | RTNH_F_PERVASIVE);
}

static void clear_hop_states(struct nlattr *multipath)
{
	struct rtnexthop *hop = (struct rtnexthop *) (void *) (multipath + 1);
	int left = (int) attr_len(multipath);

	/* RTNH_OK() itself reads the length. */
	for (; left >= (int) sizeof(*hop) && RTNH_OK(hop, left);
	     left -= (int) NLMSG_ALIGN(hop->rtnh_len), hop = RTNH_NEXT(hop))
		hop->rtnh_flags = settable(hop->rtnh_flags);
}

static void put_route_back(struct message *m, uint32_t number)
{
	struct rtmsg *rtm = NLMSG_DATA(message_header(m));
	struct nlattr *hops = message_find(m, sizeof(*rtm), RTA_MULTIPATH);
	struct nlattr *link = message_find(m, sizeof(*rtm), RTA_OIF);

	rtm->rtm_flags &= RTNH_F_ONLINK | RTNH_F_PERVASIVE;
	if (hops != NULL)
		clear_hop_states(hops);
	if (number != 0 && attr_len(link) == sizeof(number))
		memcpy(link + 1, &number, sizeof(number));
}

/* What was leased has gone on to end since it was read. */
static void put_address_back(struct message *m, const struct address *address, uint32_t number)
{
	struct ifaddrmsg *ifa = NLMSG_DATA(message_header(m));
	struct nlattr *cacheinfo = message_find(m, sizeof(*ifa), IFA_CACHEINFO);
	struct ifa_cacheinfo times;

	ifa->ifa_index = number;
	if (address->valid_s == ADDRESS_FOREVER || !attr_bytes(cacheinfo, &times, sizeof(times)))
		return;
	times.ifa_valid = address->valid_s;
	times.ifa_prefered = address->preferred_s;
	memcpy(cacheinfo + 1, &times, sizeof(times));
}

/* The link may have been made anew meanwhile, with another number. */
static int encode_raw(struct encoding *e, const struct raw_message *raw, const struct op *op,
                      const char *link)
{
	uint32_t number = ifindex_of(e, link);
	struct nlmsghdr *nlh;

	if (raw->len < NLMSG_LENGTH(sizeof(struct rtmsg)))
		return -EINVAL;
	message_begin_copy(e->m, raw->data, raw->len);
	nlh = message_header(e->m);
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
	if (nlh->nlmsg_type == RTM_NEWADDR)
		put_address_back(e->m, &op->address, number);
	else if (nlh->nlmsg_type == RTM_NEWROUTE)
		put_route_back(e->m, number);
	return 0;
}

/* --- all of them --- */

/* NULL: it is not put back, or nobody has seen it. */
static const struct raw_message *op_raw(const struct op *op, const char **ret_link)
{
	const struct raw_message *raw = NULL;

	*ret_link = "";
	if (!op->is_restoring)
		return NULL;
	if (op->kind == OP_ADDRESS_ADD) {
		raw = &op->address.raw;
		*ret_link = op->address.link;
	} else if (op->kind == OP_ROUTE_ADD) {
		raw = &op->route.raw;
		*ret_link = op->route.link;
	} else if (op->kind == OP_RULE_ADD) {
		raw = &op->rule.raw;
	}
	return raw != NULL && raw->len > 0 ? raw : NULL;
}

#define IS_NEW (NLM_F_CREATE | NLM_F_EXCL)

static const struct {
	uint16_t type, flags;
} requests[] = {
    [OP_ADDRESS_ADD] = {RTM_NEWADDR, IS_NEW},
    [OP_ADDRESS_CHANGE] = {RTM_NEWADDR, NLM_F_REPLACE},
    [OP_ADDRESS_DELETE] = {RTM_DELADDR, 0},
    [OP_ROUTE_ADD] = {RTM_NEWROUTE, IS_NEW},
    [OP_ROUTE_REPLACE] = {RTM_NEWROUTE, NLM_F_REPLACE},
    [OP_ROUTE_DELETE] = {RTM_DELROUTE, 0},
    [OP_RULE_ADD] = {RTM_NEWRULE, IS_NEW},
    [OP_RULE_DELETE] = {RTM_DELRULE, 0},
};

static int encode(struct encoding *e, const struct op *op)
{
	switch (op->kind) {
	case OP_LINK_CREATE:
		return encode_link_create(e, &op->link);
	case OP_LINK_DELETE:
		begin(e, RTM_DELLINK, &op->link, (struct ifinfomsg){.ifi_family = AF_UNSPEC});
		return 0;
	case OP_LINK_SET:
		encode_link_set(e, &op->link, op->attributes);
		return 0;
	case OP_BOND_SET:
		return encode_bond_set(e, &op->link, op->options);
	case OP_ADDRESS_ADD:
	case OP_ADDRESS_CHANGE:
	case OP_ADDRESS_DELETE:
		encode_address(e, &op->address, requests[op->kind].type, requests[op->kind].flags);
		return 0;
	case OP_ROUTE_ADD:
	case OP_ROUTE_REPLACE:
	case OP_ROUTE_DELETE:
		encode_route(e, &op->route, requests[op->kind].type, requests[op->kind].flags);
		return 0;
	case OP_RULE_ADD:
	case OP_RULE_DELETE:
		encode_rule(e, &op->rule, requests[op->kind].type, requests[op->kind].flags);
		return 0;
	default:
		return -EINVAL;
	}
}

int encode_op(const struct op *op, const struct encode_names *names, struct message *m,
              const char **ret_missing)
{
	struct encoding e = {.names = names, .m = m, .missing = ""};
	const char *link;
	const struct raw_message *raw = op_raw(op, &link);
	int r = raw != NULL ? encode_raw(&e, raw, op, link) : encode(&e, op);

	*ret_missing = e.missing;
	if (r < 0)
		return r;
	return e.missing[0] != '\0' ? -ENODEV : message_check(m);
}
