/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses, routes and rules in the words of ip(8), which people who read plans know. */
#include <stdio.h>

#include "netconf/model/model.h"

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
	switch (type) {
	case RTN_UNICAST:
		return "";
	case RTN_LOCAL:
		return "local ";
	case RTN_BROADCAST:
		return "broadcast ";
	case RTN_ANYCAST:
		return "anycast ";
	case RTN_MULTICAST:
		return "multicast ";
	case RTN_BLACKHOLE:
		return "blackhole ";
	case RTN_UNREACHABLE:
		return "unreachable ";
	case RTN_PROHIBIT:
		return "prohibit ";
	case RTN_THROW:
		return "throw ";
	default:
		return "other ";
	}
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

static const char *rule_action_name(uint8_t action)
{
	switch (action) {
	case FR_ACT_BLACKHOLE:
		return "blackhole";
	case FR_ACT_UNREACHABLE:
		return "unreachable";
	case FR_ACT_PROHIBIT:
		return "prohibit";
	case FR_ACT_GOTO:
		return "goto";
	case FR_ACT_NOP:
		return "nop";
	default:
		return "other";
	}
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
