/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses, routes and rules in requests, and what others had, put back as it was dumped: the
 * kernel takes its own words again, but for what only says how things stand.
 */
#include "netconf/kernel/encode.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <stddef.h>
#include <string.h>

#include "netconf/kernel/encode_link.h"

static void put_addr(struct message *m, uint16_t type, const struct addr *addr)
{
	if (addr_is_set(addr))
		message_bytes(m, type, addr->bytes, addr_len_bytes(addr));
}

/* --- addresses --- */

static int encode_address(const struct address *address, uint16_t type, uint16_t flags,
                          const struct encode_names *names, struct message *m,
                          const char **ret_missing)
{
	struct ifaddrmsg ifa = {
	    .ifa_family = (uint8_t) address->prefix.addr.family,
	    .ifa_prefixlen = address->prefix.len,
	    .ifa_scope = address->scope,
	};
	const struct ifa_cacheinfo times = {
	    .ifa_valid = address->valid_s,
	    .ifa_prefered = address->preferred_s,
	};
	int r = encode_ifindex(names, address->link, &ifa.ifa_index, ret_missing);

	if (r < 0)
		return r;
	message_begin(m, type, flags, &ifa, sizeof(ifa));
	put_addr(m, IFA_LOCAL, &address->prefix.addr);
	put_addr(m, IFA_ADDRESS, addr_is_set(&address->peer) ? &address->peer : &address->prefix.addr);
	if (type == RTM_DELADDR)
		return 0;
	message_u32(m, IFA_FLAGS, address->flags);
	if (address->priority != 0)
		message_u32(m, IFA_RT_PRIORITY, address->priority);
	message_u8(m, IFA_PROTO, address->protocol);
	/* Without, it never ends. */
	if (address->valid_s != ADDRESS_FOREVER)
		message_bytes(m, IFA_CACHEINFO, &times, sizeof(times));
	return 0;
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

static int encode_route(const struct route *route, uint16_t type, uint16_t flags,
                        const struct encode_names *names, struct message *m,
                        const char **ret_missing)
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
	struct nlattr *metrics;
	uint32_t out;
	int r = encode_ifindex(names, route->link, &out, ret_missing);

	if (r < 0)
		return r;
	message_begin(m, type, flags, &rtm, sizeof(rtm));
	message_u32(m, RTA_TABLE, route->table);
	if (route->dst.len > 0)
		put_addr(m, RTA_DST, &route->dst.addr);
	if (route->metric != 0)
		message_u32(m, RTA_PRIORITY, route->metric);
	put_gateway(m, route);
	if (out != 0)
		message_u32(m, RTA_OIF, out);
	put_addr(m, RTA_PREFSRC, &route->src);
	if (route->mtu != 0 && type == RTM_NEWROUTE) {
		metrics = message_nest(m, RTA_METRICS);
		message_u32(m, RTAX_MTU, route->mtu);
		message_end(m, metrics);
	}
	return 0;
}

/* --- rules --- */

static int encode_rule(const struct rule *rule, uint16_t type, uint16_t flags, struct message *m)
{
	const struct fib_rule_hdr hdr = {
	    .family = (uint8_t) rule->family,
	    .dst_len = rule->dst.len,
	    .src_len = rule->src.len,
	    .table = rule->table <= UINT8_MAX ? (uint8_t) rule->table : RT_TABLE_UNSPEC,
	    .action = rule->action,
	};

	message_begin(m, type, flags, &hdr, sizeof(hdr));
	message_u32(m, FRA_PRIORITY, rule->priority);
	put_addr(m, FRA_SRC, &rule->src.addr);
	put_addr(m, FRA_DST, &rule->dst.addr);
	if (rule->iif[0] != '\0')
		message_text(m, FRA_IIFNAME, rule->iif);
	if (rule->oif[0] != '\0')
		message_text(m, FRA_OIFNAME, rule->oif);
	if (rule->fwmask != 0) {
		message_u32(m, FRA_FWMARK, rule->fwmark);
		message_u32(m, FRA_FWMASK, rule->fwmask);
	}
	if (rule->action == FR_ACT_TO_TBL)
		message_u32(m, FRA_TABLE, rule->table);
	message_u8(m, FRA_PROTOCOL, rule->protocol);
	return 0;
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

	for (; RTNH_OK(hop, left); left -= (int) NLMSG_ALIGN(hop->rtnh_len), hop = RTNH_NEXT(hop))
		hop->rtnh_flags = settable(hop->rtnh_flags);
}

static void clear_route_states(struct nlmsghdr *nlh)
{
	const struct nlattr *table[RTA_MAX + 1];
	struct rtmsg *rtm = NLMSG_DATA(nlh);

	rtm->rtm_flags &= RTNH_F_ONLINK | RTNH_F_PERVASIVE;
	if (attr_read(nlh, sizeof(*rtm), table, ARRAY_SIZE(table)) == 0 &&
	    table[RTA_MULTIPATH] != NULL) {
		size_t at = (size_t) ((const uint8_t *) table[RTA_MULTIPATH] - (uint8_t *) nlh);

		clear_hop_states((struct nlattr *) (void *) ((uint8_t *) nlh + at));
	}
}

/* The link may have been made anew meanwhile, with another number. */
static void set_number(struct nlmsghdr *nlh, size_t at, uint32_t number)
{
	memcpy((uint8_t *) nlh + at, &number, sizeof(number));
}

static void set_route_link(struct nlmsghdr *nlh, uint32_t number)
{
	const struct nlattr *table[RTA_MAX + 1];

	if (attr_read(nlh, sizeof(struct rtmsg), table, ARRAY_SIZE(table)) == 0 &&
	    attr_len(table[RTA_OIF]) == sizeof(number))
		set_number(nlh, (size_t) ((const uint8_t *) attr_data(table[RTA_OIF]) - (uint8_t *) nlh),
		           number);
}

/* What was leased has gone on to end since it was read. */
static void set_times(struct nlmsghdr *nlh, const struct address *address)
{
	const struct nlattr *table[IFA_MAX + 1];
	struct ifa_cacheinfo times = {0};

	if (address->valid_s == ADDRESS_FOREVER ||
	    attr_read(nlh, sizeof(struct ifaddrmsg), table, ARRAY_SIZE(table)) < 0 ||
	    !attr_bytes(table[IFA_CACHEINFO], &times, sizeof(times)))
		return;
	times.ifa_valid = address->valid_s;
	times.ifa_prefered = address->preferred_s;
	memcpy((uint8_t *) (uintptr_t) attr_data(table[IFA_CACHEINFO]), &times, sizeof(times));
}

static int encode_raw(const struct raw_message *raw, const struct op *op, const char *link,
                      const struct encode_names *names, struct message *m, const char **ret_missing)
{
	struct nlmsghdr *nlh;
	uint32_t number;
	int r = encode_ifindex(names, link, &number, ret_missing);

	if (r < 0)
		return r;
	if (raw->len < NLMSG_LENGTH(sizeof(struct ifaddrmsg)))
		return -EINVAL;
	message_begin_copy(m, raw->data, raw->len);
	nlh = message_header(m);
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
	if (nlh->nlmsg_type == RTM_NEWADDR) {
		set_number(nlh, NLMSG_HDRLEN + offsetof(struct ifaddrmsg, ifa_index), number);
		set_times(nlh, &op->address);
	} else if (nlh->nlmsg_type == RTM_NEWROUTE) {
		clear_route_states(nlh);
		if (number != 0)
			set_route_link(nlh, number);
	}
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

static int encode(const struct op *op, const struct encode_names *names, struct message *m,
                  const char **ret_missing)
{
	switch (op->kind) {
	case OP_LINK_CREATE:
		return encode_link_create(&op->link, names, m, ret_missing);
	case OP_LINK_DELETE:
		return encode_link_delete(&op->link, names, m, ret_missing);
	case OP_LINK_SET:
		return encode_link_set(&op->link, op->attributes, names, m, ret_missing);
	case OP_BOND_SET:
		return encode_bond_set(&op->link, op->options, names, m, ret_missing);
	case OP_ADDRESS_ADD:
		return encode_address(&op->address, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, names, m,
		                      ret_missing);
	case OP_ADDRESS_CHANGE:
		return encode_address(&op->address, RTM_NEWADDR, NLM_F_REPLACE, names, m, ret_missing);
	case OP_ADDRESS_DELETE:
		return encode_address(&op->address, RTM_DELADDR, 0, names, m, ret_missing);
	case OP_ROUTE_ADD:
		return encode_route(&op->route, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, names, m,
		                    ret_missing);
	case OP_ROUTE_REPLACE:
		return encode_route(&op->route, RTM_NEWROUTE, NLM_F_REPLACE, names, m, ret_missing);
	case OP_ROUTE_DELETE:
		return encode_route(&op->route, RTM_DELROUTE, 0, names, m, ret_missing);
	case OP_RULE_ADD:
		return encode_rule(&op->rule, RTM_NEWRULE, NLM_F_CREATE | NLM_F_EXCL, m);
	case OP_RULE_DELETE:
		return encode_rule(&op->rule, RTM_DELRULE, 0, m);
	default:
		return -EINVAL;
	}
}

int encode_op(const struct op *op, const struct encode_names *names, struct message *ret_message,
              const char **ret_missing)
{
	const char *link;
	const struct raw_message *raw = op_raw(op, &link);
	int r;

	*ret_missing = "";
	if (raw != NULL)
		return encode_raw(raw, op, link, names, ret_message, ret_missing);
	r = encode(op, names, ret_message, ret_missing);
	return r < 0 ? r : message_check(ret_message);
}
