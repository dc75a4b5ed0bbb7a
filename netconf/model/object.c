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

static int compare_numbers(uint32_t a, uint32_t b)
{
	return a < b ? -1 : a > b;
}

/* The first that is not 0. */
static int first_of(const int *orders, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (orders[i] != 0)
			return orders[i];
	}
	return 0;
}

/* --- addresses --- */

int address_compare_key(const struct address *a, const struct address *b)
{
	int order = strcmp(a->link, b->link);

	return order != 0 ? order : prefix_compare(&a->prefix, &b->prefix);
}

int address_compare(const struct address *a, const struct address *b)
{
	const int orders[] = {
	    address_compare_key(a, b),
	    addr_compare(&a->peer, &b->peer),
	    compare_numbers(a->priority, b->priority),
	    compare_numbers(a->flags, b->flags),
	};

	return first_of(orders, ARRAY_SIZE(orders));
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
	unsigned differs = 0;

	if (want->priority != have->priority)
		differs |= ADDRESS_PRIORITY;
	if (want->flags != have->flags)
		differs |= ADDRESS_FLAGS;
	if (!addr_equal(&want->peer, &have->peer))
		differs |= ADDRESS_PEER;
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

int route_compare_key(const struct route *a, const struct route *b)
{
	const int orders[] = {
	    compare_numbers(a->dst.addr.family, b->dst.addr.family),
	    compare_numbers(a->table, b->table),
	    prefix_compare(&a->dst, &b->dst),
	    compare_numbers(a->metric, b->metric),
	    compare_numbers(a->tos, b->tos),
	};

	return first_of(orders, ARRAY_SIZE(orders));
}

int route_compare(const struct route *a, const struct route *b)
{
	const int orders[] = {
	    route_compare_key(a, b),
	    compare_numbers(a->type, b->type),
	    strcmp(a->link, b->link),
	    addr_compare(&a->gateway, &b->gateway),
	    addr_compare(&a->src, &b->src),
	    compare_numbers(a->mtu, b->mtu),
	    compare_numbers(a->onlink, b->onlink),
	    compare_numbers(a->scope, b->scope),
	    compare_numbers(a->protocol, b->protocol),
	};

	return first_of(orders, ARRAY_SIZE(orders));
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
	unsigned differs = 0;

	if (want->type != have->type)
		differs |= ROUTE_TYPE;
	if (!addr_equal(&want->gateway, &have->gateway))
		differs |= ROUTE_GATEWAY;
	if (strcmp(want->link, have->link) != 0)
		differs |= ROUTE_LINK;
	if (!addr_equal(&want->src, &have->src))
		differs |= ROUTE_SRC;
	if (want->mtu != have->mtu)
		differs |= ROUTE_MTU;
	if (want->onlink != have->onlink)
		differs |= ROUTE_ONLINK;
	if (want->scope != have->scope)
		differs |= ROUTE_SCOPE;
	if (want->is_opaque != have->is_opaque)
		differs |= ROUTE_OPAQUE;
	return differs;
}

/* --- rules --- */

int rule_compare_key(const struct rule *a, const struct rule *b)
{
	const int orders[] = {
	    compare_numbers(a->family, b->family),
	    compare_numbers(a->priority, b->priority),
	};

	return first_of(orders, ARRAY_SIZE(orders));
}

int rule_compare(const struct rule *a, const struct rule *b)
{
	const int orders[] = {
	    rule_compare_key(a, b),
	    prefix_compare(&a->src, &b->src),
	    prefix_compare(&a->dst, &b->dst),
	    strcmp(a->iif, b->iif),
	    strcmp(a->oif, b->oif),
	    compare_numbers(a->fwmark, b->fwmark),
	    compare_numbers(a->fwmask, b->fwmask),
	    compare_numbers(a->action, b->action),
	    compare_numbers(a->table, b->table),
	    compare_numbers(a->is_opaque, b->is_opaque),
	};

	return first_of(orders, ARRAY_SIZE(orders));
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
