/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses, routes and rules one by one: which two are the same, in which order they stand, and
 * the form in which the kernel reads them back. Where a rule here is not obvious, the kernel made
 * it.
 */
#include <stdio.h>
#include <string.h>

#include "netconf/model/model.h"

/* ip6_route_add(): IP6_RT_PRIO_USER */
#define IPV6_METRIC_DEFAULT 1024

/* --- addresses --- */

#define ADDRESS(key, type, member) RECORD_FIELD(key, RECORD_##type, struct address, member)
const struct record_field address_fields[] = {
    ADDRESS("link", TEXT, link),
    ADDRESS("prefix", PREFIX, prefix),
    /* ADDRESS_KEY */
    ADDRESS("peer", ADDR, peer),
    ADDRESS("priority", U32, priority),
    ADDRESS("flags", U32, flags),
    /* ADDRESS_ORDER */
    ADDRESS("owner", ENUM, owner),
    ADDRESS("protocol", U8, protocol),
    ADDRESS("scope", U8, scope),
    ADDRESS("state", U32, state),
    ADDRESS("valid_s", U32, valid_s),
    ADDRESS("preferred_s", U32, preferred_s),
    ADDRESS("raw", RAW, raw),
    {0},
};
#define ADDRESS_KEY 2
#define ADDRESS_ORDER 5

int address_compare_key(const struct address *a, const struct address *b)
{
	return record_order(address_fields, ADDRESS_KEY, a, b);
}

int address_compare(const struct address *a, const struct address *b)
{
	return record_order(address_fields, ADDRESS_ORDER, a, b);
}

void address_normalise(struct address *address)
{
	address->state |= address->flags & ~(uint32_t) ADDRESS_FLAGS_KEPT;
	address->flags &= ADDRESS_FLAGS_KEPT;
	/* Duplicate address detection is IPv6's; IPv4 takes the flag and forgets it. */
	if (address->prefix.addr.family == AF_INET)
		address->flags &= ~(uint32_t) IFA_F_NODAD;
	/* An address without a peer reads back as its own peer. */
	if (addr_equal(&address->peer, &address->prefix.addr))
		address->peer = (struct addr){0};
}

/* Both go by while it is looked, planned and written. A renewal is at half of the time. */
#define LIFETIME_SLACK_S 10U

static bool lifetime_differs(uint32_t want_s, uint32_t have_s)
{
	uint32_t apart_s = want_s > have_s ? want_s - have_s : have_s - want_s;

	if (want_s == ADDRESS_FOREVER || have_s == ADDRESS_FOREVER)
		return apart_s != 0;
	return apart_s > MIN(LIFETIME_SLACK_S, want_s / 4);
}

unsigned address_differs(const struct address *want, const struct address *have)
{
	unsigned differs =
	    record_differs(address_fields + ADDRESS_KEY, ADDRESS_ORDER - ADDRESS_KEY, want, have);

	if (lifetime_differs(want->valid_s, have->valid_s) ||
	    lifetime_differs(want->preferred_s, have->preferred_s))
		differs |= ADDRESS_LIFETIME;
	return differs;
}

bool address_is_like(const struct address *want, const struct address *have)
{
	unsigned differs = address_differs(want, have);

	return differs == 0 || (differs == ADDRESS_LIFETIME && want->valid_s != ADDRESS_FOREVER);
}

/* --- routes --- */

#define ROUTE(key, type, member) RECORD_FIELD(key, RECORD_##type, struct route, member)
const struct record_field route_fields[] = {
    ROUTE("table", U32, table),
    ROUTE("dst", PREFIX, dst),
    ROUTE("metric", U32, metric),
    ROUTE("tos", U8, tos),
    /* ROUTE_KEY */
    ROUTE("type", U8, type),
    ROUTE("link", TEXT, link),
    ROUTE("gateway", ADDR, gateway),
    ROUTE("src", ADDR, src),
    ROUTE("mtu", U32, mtu),
    ROUTE("onlink", BOOL, onlink),
    ROUTE("scope", U8, scope),
    ROUTE("opaque", BOOL, is_opaque),
    /* ROUTE_SAME */
    ROUTE("protocol", U8, protocol),
    /* ROUTE_ORDER */
    ROUTE("owner", ENUM, owner),
    ROUTE("raw", RAW, raw),
    {0},
};
#define ROUTE_KEY 4
#define ROUTE_SAME 12
#define ROUTE_ORDER 13

static int compare_route(const struct route *a, const struct route *b, size_t n)
{
	int order = (int) a->dst.addr.family - (int) b->dst.addr.family;

	return order != 0 ? order : record_order(route_fields, n, a, b);
}

int route_compare_key(const struct route *a, const struct route *b)
{
	return compare_route(a, b, ROUTE_KEY);
}

int route_compare(const struct route *a, const struct route *b)
{
	return compare_route(a, b, ROUTE_ORDER);
}

/* IPv6 has no scopes; for IPv4 these are the ones that ip(8) sends, and the kernel keeps. */
static uint8_t default_scope(const struct route *route)
{
	if (route->dst.addr.family == AF_INET6)
		return RT_SCOPE_UNIVERSE;
	switch (route->type) {
	case RTN_LOCAL:
	case RTN_NAT:
		return RT_SCOPE_HOST;
	case RTN_UNICAST:
		return addr_is_set(&route->gateway) ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK;
	case RTN_BROADCAST:
	case RTN_MULTICAST:
	case RTN_ANYCAST:
		return RT_SCOPE_LINK;
	default:
		return RT_SCOPE_UNIVERSE;
	}
}

static bool route_is_nowhere(const struct route *route)
{
	return route->type == RTN_BLACKHOLE || route->type == RTN_UNREACHABLE ||
	       route->type == RTN_PROHIBIT || route->type == RTN_THROW;
}

void route_normalise(struct route *route)
{
	prefix_mask(&route->dst);
	if (route->table == RT_TABLE_UNSPEC)
		route->table = RT_TABLE_MAIN;
	if (route->dst.addr.family == AF_INET6 && route->metric == 0)
		route->metric = IPV6_METRIC_DEFAULT;
	if (route->scope == RT_SCOPE_NOWHERE || route->dst.addr.family == AF_INET6)
		route->scope = default_scope(route);
	/* The kernel hangs those of IPv6 on lo. */
	if (route_is_nowhere(route)) {
		route->link[0] = '\0';
		route->gateway = (struct addr){0};
	}
}

unsigned route_differs(const struct route *want, const struct route *have)
{
	return record_differs(route_fields + ROUTE_KEY, ROUTE_SAME - ROUTE_KEY, want, have);
}

/* --- rules --- */

#define RULE(key, type, member) RECORD_FIELD(key, RECORD_##type, struct rule, member)
const struct record_field rule_fields[] = {
    RULE("family", U16, family),
    RULE("priority", U32, priority),
    RULE("src", PREFIX, src),
    RULE("dst", PREFIX, dst),
    RULE("iif", TEXT, iif),
    RULE("oif", TEXT, oif),
    RULE("fwmark", U32, fwmark),
    RULE("fwmask", U32, fwmask),
    RULE("action", U8, action),
    RULE("table", U32, table),
    RULE("opaque", BOOL, is_opaque),
    /* RULE_ORDER */
    RULE("owner", ENUM, owner),
    RULE("protocol", U8, protocol),
    RULE("raw", RAW, raw),
    {0},
};
#define RULE_ORDER 11

int rule_compare(const struct rule *a, const struct rule *b)
{
	return record_order(rule_fields, RULE_ORDER, a, b);
}

/* "from 0.0.0.0/0" is said by saying nothing. */
static void normalise_selector(struct prefix *prefix)
{
	prefix_mask(prefix);
	if (prefix->len == 0)
		*prefix = (struct prefix){0};
}

void rule_normalise(struct rule *rule)
{
	normalise_selector(&rule->src);
	normalise_selector(&rule->dst);
	if (rule->fwmark != 0 && rule->fwmask == 0)
		rule->fwmask = UINT32_MAX;
	if (rule->action != FR_ACT_TO_TBL)
		rule->table = RT_TABLE_UNSPEC;
}

/* --- in the words of ip(8) --- */

/* Addresses, routes and rules in the words of ip(8), which people who read plans know. */

static const char *or_default(const struct prefix *prefix, char buf[static PREFIX_TEXT_MAX])
{
	return prefix->len == 0 ? "default" : prefix_format(prefix, buf);
}

const char *address_format(const struct address *address, char buf[static MODEL_TEXT_MAX])
{
	char prefix[PREFIX_TEXT_MAX];
	FILE *out = fmemopen(buf, MODEL_TEXT_MAX, "w");

	buf[0] = '\0';
	if (out == NULL)
		return buf;
	(void) fprintf(out, "%s dev %s", prefix_format(&address->prefix, prefix), address->link);
	if (address->priority != 0)
		(void) fprintf(out, " metric %u", address->priority);
	if ((address->flags & IFA_F_NOPREFIXROUTE) != 0)
		(void) fputs(" noprefixroute", out);
	(void) fclose(out);
	return buf;
}

static const char *route_type_name(uint8_t type)
{
	static const char *const names[] = {
	    [RTN_UNICAST] = "",
	    [RTN_LOCAL] = "local ",
	    [RTN_BROADCAST] = "broadcast ",
	    [RTN_ANYCAST] = "anycast ",
	    [RTN_MULTICAST] = "multicast ",
	    [RTN_BLACKHOLE] = "blackhole ",
	    [RTN_UNREACHABLE] = "unreachable ",
	    [RTN_PROHIBIT] = "prohibit ",
	    [RTN_THROW] = "throw ",
	};

	return type < ARRAY_SIZE(names) && names[type] != NULL ? names[type] : "other ";
}

const char *route_format(const struct route *route, char buf[static MODEL_TEXT_MAX])
{
	char prefix[PREFIX_TEXT_MAX], addr[ADDR_TEXT_MAX];
	FILE *out = fmemopen(buf, MODEL_TEXT_MAX, "w");

	buf[0] = '\0';
	if (out == NULL)
		return buf;
	(void) fprintf(out, "%s%s", route_type_name(route->type), or_default(&route->dst, prefix));
	if (addr_is_set(&route->gateway))
		(void) fprintf(out, " via %s", addr_format(&route->gateway, addr));
	if (route->link[0] != '\0')
		(void) fprintf(out, " dev %s", route->link);
	if (addr_is_set(&route->src))
		(void) fprintf(out, " src %s", addr_format(&route->src, addr));
	if (route->metric != 0)
		(void) fprintf(out, " metric %u", route->metric);
	if (route->mtu != 0)
		(void) fprintf(out, " mtu %u", route->mtu);
	if (route->onlink)
		(void) fputs(" onlink", out);
	if (route->table != RT_TABLE_MAIN)
		(void) fprintf(out, " table %u", route->table);
	/* "default" alone does not say of which family. */
	if (route->dst.len == 0 && !addr_is_set(&route->gateway))
		(void) fputs(route->dst.addr.family == AF_INET6 ? " (IPv6)" : " (IPv4)", out);
	(void) fclose(out);
	return buf;
}

const char *rule_action_name(uint8_t action)
{
	static const char *const names[] = {
	    [FR_ACT_GOTO] = "goto",           [FR_ACT_NOP] = "nop",
	    [FR_ACT_BLACKHOLE] = "blackhole", [FR_ACT_UNREACHABLE] = "unreachable",
	    [FR_ACT_PROHIBIT] = "prohibit",
	};

	return action < ARRAY_SIZE(names) && names[action] != NULL ? names[action] : "other";
}

const char *rule_format(const struct rule *rule, char buf[static MODEL_TEXT_MAX])
{
	char prefix[PREFIX_TEXT_MAX];
	FILE *out = fmemopen(buf, MODEL_TEXT_MAX, "w");

	buf[0] = '\0';
	if (out == NULL)
		return buf;
	(void) fprintf(out, "%s%u:", rule->family == AF_INET6 ? "IPv6 " : "", rule->priority);
	if (addr_is_set(&rule->src.addr))
		(void) fprintf(out, " from %s", prefix_format(&rule->src, prefix));
	if (addr_is_set(&rule->dst.addr))
		(void) fprintf(out, " to %s", prefix_format(&rule->dst, prefix));
	if (rule->iif[0] != '\0')
		(void) fprintf(out, " iif %s", rule->iif);
	if (rule->oif[0] != '\0')
		(void) fprintf(out, " oif %s", rule->oif);
	if (rule->fwmask != 0)
		(void) fprintf(out, " fwmark 0x%x/0x%x", rule->fwmark, rule->fwmask);
	if (rule->action == FR_ACT_TO_TBL)
		(void) fprintf(out, " lookup %u", rule->table);
	else
		(void) fprintf(out, " %s", rule_action_name(rule->action));
	(void) fclose(out);
	return buf;
}
