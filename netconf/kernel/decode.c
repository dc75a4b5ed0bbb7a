/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dumps into a model: links, what all have and what each kind adds, then addresses, routes and
 * rules, and the names of links. Whose an object is, its protocol number tells; what a struct has
 * no word for is kept as it came.
 */
#include "netconf/kernel/decode.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "net/attr.h"

/* What the kernel's own addresses carry since 5.18: lo, router advertisements, link-local. */
#define PROTO_KERNEL_LAST 3

/* Room for the attributes of every kind's IFLA_INFO_DATA. */
#define DATA_ATTRIBUTES 64

/* --- one link --- */

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

/* --- one link: bonds --- */

static size_t take_targets(sa_family_t family, const struct nlattr *list,
                           struct addr ret[static BOND_TARGETS_MAX])
{
	const struct nlattr *attr;
	size_t n = 0;

	ATTR_FOR_EACH(attr, list)
	{
		if (n < BOND_TARGETS_MAX &&
		    addr_from_bytes(family, attr_data(attr), attr_len(attr), &ret[n]) == 0)
			n++;
	}
	return n;
}

/* The kernel leaves an empty list, and a port that is not there, out of what it tells. */
static void take_bond_option(struct bond *bond, enum bond_option option, const struct nlattr *attr,
                             struct decode_link_refs *refs)
{
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
		bond->n_arp_targets = take_targets(AF_INET, attr, bond->arp_targets);
		break;
	case BOND_IPV6:
		bond->n_ns_targets = take_targets(AF_INET6, attr, bond->ns_targets);
		break;
	case BOND_MAC:
		if (!attr_bytes(attr, bond->ad_actor_system.bytes, sizeof(bond->ad_actor_system.bytes)))
			return;
		break;
	}
	bond->has |= BOND_BIT(option);
}

static void take_bond(struct link *link, const struct nlattr *data, struct decode_link_refs *refs)
{
	const struct nlattr *table[IFLA_BOND_MAX + 1];

	attr_read_nested(data, table, ARRAY_SIZE(table));
	link->bond = NEW0(struct bond);
	for (unsigned i = 0; i < BOND_OPTIONS; i++) {
		if (bond_options[i].attribute < ARRAY_SIZE(table))
			take_bond_option(link->bond, (enum bond_option) i, table[bond_options[i].attribute],
			                 refs);
	}
}

/* --- one link: the other kinds --- */

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
		if (!attr_exactly(attr, &link->mac, sizeof(link->mac)))
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

/* The kernel tells the states of ports in mode 802.3ad only. */
static void take_port(struct link *link, const struct nlattr *kind, const struct nlattr *data)
{
	const struct nlattr *table[IFLA_BOND_SLAVE_MAX + 1];
	char name[sizeof(link->kind_name)];

	if (strcmp(attr_text(kind, name, sizeof(name)), "bond") != 0)
		return;
	attr_read_nested(data, table, ARRAY_SIZE(table));
	if (table[IFLA_BOND_SLAVE_AD_ACTOR_OPER_PORT_STATE] == NULL)
		return;
	link->lacp = (struct link_lacp){
	    .is_known = true,
	    .actor = attr_u8(table[IFLA_BOND_SLAVE_AD_ACTOR_OPER_PORT_STATE], 0),
	    .partner = (uint8_t) attr_u16(table[IFLA_BOND_SLAVE_AD_PARTNER_OPER_PORT_STATE], 0),
	};
}

static void take_kind(struct link *link, const struct nlattr *info, unsigned flags,
                      struct decode_link_refs *refs)
{
	const struct nlattr *table[IFLA_INFO_MAX + 1], *data[DATA_ATTRIBUTES];

	attr_read_nested(info, table, ARRAY_SIZE(table));
	(void) attr_text(table[IFLA_INFO_KIND], link->kind_name, sizeof(link->kind_name));
	link->kind = kind_by_name(link->kind_name, flags);
	if (table[IFLA_INFO_KIND] != NULL && link->kind_name[0] == '\0')
		link->kind = LINK_OTHER; /* its name is longer than any that we know */
	take_port(link, table[IFLA_INFO_SLAVE_KIND], table[IFLA_INFO_SLAVE_DATA]);
	if (link->kind == LINK_BOND)
		take_bond(link, table[IFLA_INFO_DATA], refs);
	else if (link->kind == LINK_VETH)
		link->has |= LINK_HAS_PEER;
	attr_read_nested(table[IFLA_INFO_DATA], data, ARRAY_SIZE(data));
	if (link->kind != LINK_BOND && link_is_virtual(link))
		take_values(link, LINK_AT_DATA, data, ARRAY_SIZE(data));
}

/* --- one link: what all have --- */

static void take_altnames(struct link *link, const struct nlattr *list)
{
	const struct nlattr *attr;
	char name[LINK_ALTNAME_MAX];

	ATTR_FOR_EACH(attr, list)
	{
		if (attr_type(attr) != IFLA_ALT_IFNAME || attr_text(attr, name, sizeof(name))[0] == '\0')
			continue;
		link->altnames =
		    xreallocarray(link->altnames, link->n_altnames + 1, sizeof(*link->altnames));
		link->altnames[link->n_altnames++] = xstrdup(name);
	}
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

	attr_read_nested(families, family, ARRAY_SIZE(family));
	attr_read_nested(family[AF_INET], table, ARRAY_SIZE(table));
	if (!attr_bytes(table[IFLA_INET_CONF], settings, sizeof(settings)))
		return;
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
	    attr_exactly(table[IFLA_PERM_ADDRESS], &link->permanent_mac, sizeof(link->permanent_mac));
	take_altnames(link, table[IFLA_PROP_LIST]);
	take_ipv4(link, table[IFLA_AF_SPEC]);
}

int decode_link(const struct nlmsghdr *nlh, struct link *ret_link,
                struct decode_link_refs *ret_refs)
{
	const struct nlattr *table[IFLA_MAX + 1];
	struct link link = {0};
	struct ifinfomsg ifi;

	if (!attr_read(nlh, &ifi, sizeof(ifi), table, ARRAY_SIZE(table)) ||
	    ifi.ifi_family != AF_UNSPEC || ifi.ifi_index <= 0 ||
	    attr_text(table[IFLA_IFNAME], link.name, sizeof(link.name))[0] == '\0')
		return -EBADMSG;
	*ret_refs = (struct decode_link_refs){.master = attr_u32(table[IFLA_MASTER], 0)};
	/* One in another network namespace has a number there, which says nothing here. */
	if (table[IFLA_LINK_NETNSID] == NULL)
		ret_refs->lower = attr_u32(table[IFLA_LINK], 0);
	take_kind(&link, table[IFLA_LINKINFO], ifi.ifi_flags, ret_refs);
	take_common(&link, &ifi, table);
	link.owner = link_owner(&link);
	*ret_link = link;
	return 0;
}

/* --- the decoder --- */

struct decoder {
	struct model *model;
	struct decode_link_refs *refs; /* of model->links, one by one */
	const struct link **by_index;  /* after decoder_links_end() */
};

struct decoder *decoder_new(struct model *model)
{
	struct decoder *d = NEW0(struct decoder);

	d->model = model;
	return d;
}

void decoder_free(struct decoder *decoder)
{
	if (decoder == NULL)
		return;
	free(decoder->refs);
	free(decoder->by_index);
	free(decoder);
}

/* --- all links --- */

void decoder_link(const struct nlmsghdr *nlh, void *userdata)
{
	struct decoder *decoder = userdata;
	struct model *model = decoder->model;
	struct decode_link_refs refs;
	struct link link;

	if (nlh->nlmsg_type != RTM_NEWLINK || decode_link(nlh, &link, &refs) < 0)
		return;
	*model_add_link(model, link.name, link.kind) = link;
	decoder->refs = xreallocarray(decoder->refs, model->n_links, sizeof(*decoder->refs));
	decoder->refs[model->n_links - 1] = refs;
}

static int compare_index(const void *a, const void *b)
{
	const struct link *const *x = a, *const *y = b;

	return ((*x)->ifindex > (*y)->ifindex) - ((*x)->ifindex < (*y)->ifindex);
}

/* "" if there is no such link. */
static const char *decoder_link_name(const struct decoder *decoder, uint32_t ifindex)
{
	const struct link key = {.ifindex = (int) ifindex}, *wanted = &key, *const *found = NULL;

	if (decoder->by_index != NULL)
		found = bsearch(&wanted, decoder->by_index, decoder->model->n_links, sizeof(wanted),
		                compare_index);
	return found != NULL ? (*found)->name : "";
}

static void name_link(const struct decoder *decoder, char name[static IFNAMSIZ], uint32_t ifindex)
{
	(void) snprintf(name, IFNAMSIZ, "%s", decoder_link_name(decoder, ifindex));
}

/* Until a new port of an 802.3ad bond has an aggregator, the kernel says nothing of LACP on it. */
static void mark_lacp(struct model *model, struct link *port)
{
	for (size_t i = 0; i < model->n_links && port->master[0] != '\0'; i++) {
		const struct link *link = &model->links[i];

		if (link->bond != NULL && link->bond->values[BOND_MODE] == BOND_8023AD &&
		    strcmp(link->name, port->master) == 0)
			port->lacp.is_known = true;
	}
}

void decoder_links_end(struct decoder *decoder)
{
	struct model *model = decoder->model;

	decoder->by_index = xcalloc(model->n_links, sizeof(*decoder->by_index));
	for (size_t i = 0; i < model->n_links; i++)
		decoder->by_index[i] = &model->links[i];
	qsort(decoder->by_index, model->n_links, sizeof(*decoder->by_index), compare_index);
	for (size_t i = 0; i < model->n_links; i++) {
		const struct decode_link_refs *refs = &decoder->refs[i];
		struct link *link = &model->links[i];

		name_link(decoder, link->master, refs->master);
		mark_lacp(model, link);
		if (link->kind == LINK_VLAN || link->kind == LINK_OTHER)
			name_link(decoder, link->parent, refs->lower);
		if (link->kind == LINK_VETH)
			name_link(decoder, link->peer, refs->lower);
		if (link->bond != NULL) {
			name_link(decoder, link->bond->primary, refs->primary);
			name_link(decoder, link->bond->active_port, refs->active_port);
		}
	}
}

/* --- what they share --- */

static void keep_raw(struct raw_message *raw, const struct nlmsghdr *nlh)
{
	raw->data = xmemdup(nlh, nlh->nlmsg_len);
	raw->len = nlh->nlmsg_len;
}

/* Of a family's address; AF_UNSPEC where there is none. False: it has a wrong size. */
static bool take_addr(sa_family_t family, const struct nlattr *attr, struct addr *ret_addr)
{
	*ret_addr = (struct addr){0};
	return attr == NULL || addr_from_bytes(family, attr_data(attr), attr_len(attr), ret_addr) == 0;
}

static bool is_length(const struct addr *addr, uint8_t len)
{
	return len <= 8 * addr_len_bytes(addr);
}

/* --- addresses --- */

static enum owner address_owner(const struct address *address)
{
	if (address->protocol == NETCONF_PROTOCOL)
		return OWNER_OURS;
	if (address->protocol != IFAPROT_UNSPEC)
		return address->protocol <= PROTO_KERNEL_LAST ? OWNER_KERNEL : OWNER_FOREIGN;
	/* Kernels before 5.18 do not say. */
	if (addr_is_loopback(&address->prefix.addr))
		return OWNER_KERNEL;
	if (address->prefix.addr.family == AF_INET6 &&
	    (addr_is_linklocal(&address->prefix.addr) || (address->state & IFA_F_TEMPORARY) != 0))
		return OWNER_KERNEL;
	return OWNER_FOREIGN;
}

void decoder_address(const struct nlmsghdr *nlh, void *userdata)
{
	struct decoder *decoder = userdata;
	const struct nlattr *table[IFA_MAX + 1];
	struct ifa_cacheinfo times = {.ifa_valid = ADDRESS_FOREVER, .ifa_prefered = ADDRESS_FOREVER};
	struct prefix prefix = {0};
	struct address *address;
	struct ifaddrmsg ifa;
	struct addr peer;

	if (nlh->nlmsg_type != RTM_NEWADDR ||
	    !attr_read(nlh, &ifa, sizeof(ifa), table, ARRAY_SIZE(table)))
		return;
	/* On a point-to-point link IFA_ADDRESS is the other end's. */
	if (!take_addr(ifa.ifa_family, table[IFA_ADDRESS], &peer) ||
	    !take_addr(ifa.ifa_family, table[IFA_LOCAL], &prefix.addr))
		return;
	if (!addr_is_set(&prefix.addr))
		prefix.addr = peer;
	prefix.len = ifa.ifa_prefixlen;
	if (!addr_is_set(&prefix.addr) || !is_length(&prefix.addr, prefix.len) ||
	    decoder_link_name(decoder, ifa.ifa_index)[0] == '\0')
		return;
	address = model_add_address(decoder->model, decoder_link_name(decoder, ifa.ifa_index), &prefix);
	address->peer = peer;
	address->priority = attr_u32(table[IFA_RT_PRIORITY], 0);
	address->flags = attr_u32(table[IFA_FLAGS], ifa.ifa_flags);
	address->state = address->flags & ~(uint32_t) ADDRESS_FLAGS_KEPT;
	address->protocol = attr_u8(table[IFA_PROTO], IFAPROT_UNSPEC);
	address->scope = ifa.ifa_scope;
	(void) attr_bytes(table[IFA_CACHEINFO], &times, sizeof(times));
	address->valid_s = times.ifa_valid;
	address->preferred_s = times.ifa_prefered;
	address->owner = address_owner(address);
	keep_raw(&address->raw, nlh);
}

/* --- routes --- */

static enum owner protocol_owner(uint8_t protocol)
{
	switch (protocol) {
	case NETCONF_PROTOCOL:
		return OWNER_OURS;
	case RTPROT_KERNEL:
	case RTPROT_REDIRECT:
	case RTPROT_RA:
		return OWNER_KERNEL;
	default:
		return OWNER_FOREIGN;
	}
}

static bool is_cached(const struct rtmsg *rtm)
{
	return (rtm->rtm_flags & RTM_F_CLONED) != 0;
}

/* All that a struct route cannot say. */
static bool route_is_opaque(const struct rtmsg *rtm, const struct nlattr **table,
                            const struct nlattr **metrics)
{
	static const unsigned plain_only[] = {RTA_MULTIPATH, RTA_ENCAP, RTA_NH_ID, RTA_SRC,
	                                      RTA_IIF,       RTA_FLOW,  RTA_MARK,  RTA_TTL_PROPAGATE};
	struct rta_cacheinfo times = {0};

	for (size_t i = 0; i < ARRAY_SIZE(plain_only); i++) {
		if (table[plain_only[i]] != NULL)
			return true;
	}
	for (unsigned i = 1; i <= RTAX_MAX; i++) {
		if (i != RTAX_MTU && metrics[i] != NULL)
			return true;
	}
	(void) attr_bytes(table[RTA_CACHEINFO], &times, sizeof(times));
	return attr_u8(table[RTA_PREF], 0) != 0 || times.rta_expires != 0 || rtm->rtm_src_len != 0;
}

/* The gateway, which for an IPv4 route may be an IPv6 address. */
static bool take_gateway(sa_family_t family, const struct nlattr **table, struct addr *ret_addr)
{
	const struct nlattr *via = table[RTA_VIA];
	uint16_t via_family;

	if (via == NULL)
		return take_addr(family, table[RTA_GATEWAY], ret_addr);
	if (!attr_bytes(via, &via_family, sizeof(via_family)))
		return false;
	return addr_from_bytes((sa_family_t) via_family,
	                       (const uint8_t *) attr_data(via) + sizeof(via_family),
	                       attr_len(via) - sizeof(via_family), ret_addr) == 0;
}

static bool take_dst(const struct rtmsg *rtm, const struct nlattr *attr, struct prefix *ret_dst)
{
	if (!take_addr(rtm->rtm_family, attr, &ret_dst->addr))
		return false;
	ret_dst->addr.family = rtm->rtm_family; /* a default route has no destination */
	ret_dst->len = rtm->rtm_dst_len;
	return is_length(&ret_dst->addr, ret_dst->len);
}

void decoder_route(const struct nlmsghdr *nlh, void *userdata)
{
	struct decoder *decoder = userdata;
	const struct nlattr *table[RTA_MAX + 1], *metrics[RTAX_MAX + 1];
	struct addr gateway, src;
	struct prefix dst = {0};
	struct route *route;
	struct rtmsg rtm;
	uint32_t number;

	if (nlh->nlmsg_type != RTM_NEWROUTE ||
	    !attr_read(nlh, &rtm, sizeof(rtm), table, ARRAY_SIZE(table)))
		return;
	attr_read_nested(table[RTA_METRICS], metrics, ARRAY_SIZE(metrics));
	number = attr_u32(table[RTA_TABLE], rtm.rtm_table);
	if (is_cached(&rtm) || number == RT_TABLE_LOCAL ||
	    (rtm.rtm_family != AF_INET && rtm.rtm_family != AF_INET6) ||
	    !take_dst(&rtm, table[RTA_DST], &dst) || !take_gateway(rtm.rtm_family, table, &gateway) ||
	    !take_addr(rtm.rtm_family, table[RTA_PREFSRC], &src))
		return;
	route = model_add_route(decoder->model, &dst);
	route->table = number;
	route->metric = attr_u32(table[RTA_PRIORITY], 0);
	route->tos = rtm.rtm_tos;
	route->type = rtm.rtm_type;
	route->gateway = gateway;
	name_link(decoder, route->link, attr_u32(table[RTA_OIF], 0));
	route->src = src;
	route->mtu = attr_u32(metrics[RTAX_MTU], 0);
	route->onlink = (rtm.rtm_flags & RTNH_F_ONLINK) != 0;
	route->scope = rtm.rtm_scope;
	route->protocol = rtm.rtm_protocol;
	route->owner = protocol_owner(rtm.rtm_protocol);
	route->is_opaque = route_is_opaque(&rtm, table, metrics);
	keep_raw(&route->raw, nlh);
}

/* --- rules --- */

static bool rule_is_opaque(const struct fib_rule_hdr *hdr, const struct nlattr **table)
{
	static const unsigned plain_only[] = {FRA_GOTO,      FRA_FLOW,        FRA_TUN_ID,
	                                      FRA_UID_RANGE, FRA_SPORT_RANGE, FRA_DPORT_RANGE};

	for (size_t i = 0; i < ARRAY_SIZE(plain_only); i++) {
		if (table[plain_only[i]] != NULL)
			return true;
	}
	return (hdr->flags & FIB_RULE_INVERT) != 0 || hdr->tos != 0 ||
	       attr_u8(table[FRA_L3MDEV], 0) != 0 || attr_u8(table[FRA_IP_PROTO], 0) != 0 ||
	       attr_u32(table[FRA_SUPPRESS_PREFIXLEN], UINT32_MAX) != UINT32_MAX ||
	       attr_u32(table[FRA_SUPPRESS_IFGROUP], UINT32_MAX) != UINT32_MAX;
}

void decoder_rule(const struct nlmsghdr *nlh, void *userdata)
{
	struct decoder *decoder = userdata;
	const struct nlattr *table[FRA_MAX + 1];
	struct prefix src = {0}, dst = {0};
	struct fib_rule_hdr hdr;
	struct rule *rule;

	if (nlh->nlmsg_type != RTM_NEWRULE ||
	    !attr_read(nlh, &hdr, sizeof(hdr), table, ARRAY_SIZE(table)))
		return;
	if ((hdr.family != AF_INET && hdr.family != AF_INET6) ||
	    !take_addr(hdr.family, table[FRA_SRC], &src.addr) ||
	    !take_addr(hdr.family, table[FRA_DST], &dst.addr) || !is_length(&src.addr, hdr.src_len) ||
	    !is_length(&dst.addr, hdr.dst_len))
		return;
	src.len = hdr.src_len;
	dst.len = hdr.dst_len;
	rule = model_add_rule(decoder->model, hdr.family, attr_u32(table[FRA_PRIORITY], 0));
	rule->src = src;
	rule->dst = dst;
	(void) attr_text(table[FRA_IIFNAME], rule->iif, sizeof(rule->iif));
	(void) attr_text(table[FRA_OIFNAME], rule->oif, sizeof(rule->oif));
	rule->fwmark = attr_u32(table[FRA_FWMARK], 0);
	rule->fwmask = attr_u32(table[FRA_FWMASK], 0);
	rule->action = hdr.action;
	rule->table = hdr.action == FR_ACT_TO_TBL ? attr_u32(table[FRA_TABLE], hdr.table) : 0;
	rule->protocol = attr_u8(table[FRA_PROTOCOL], 0);
	rule->owner = protocol_owner(rule->protocol);
	rule->is_opaque = rule_is_opaque(&hdr, table);
	keep_raw(&rule->raw, nlh);
}
