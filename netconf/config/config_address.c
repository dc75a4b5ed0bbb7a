/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses and routes of one link, in either style. What is wrong with one by itself, or with two
 * of the same link, is found here; the rest waits for config_cross.c.
 */
#include <string.h>

#include "base/mem.h"
#include "netconf/config/config_priv.h"

/* --- addresses --- */

static const char *check_address_sort(const struct prefix *prefix)
{
	static const uint8_t broadcast[4] = {255, 255, 255, 255};

	if (addr_is_unspecified(&prefix->addr))
		return "is the unspecified address";
	if (addr_is_multicast(&prefix->addr))
		return "is a multicast address";
	if (prefix->addr.family == AF_INET &&
	    memcmp(prefix->addr.bytes, broadcast, sizeof(broadcast)) == 0)
		return "is the broadcast address";
	return prefix->len == 0 ? "has the prefix length 0" : NULL;
}

/* "10.0.0.0/24" is an address like any other for the kernel, and hardly ever meant. */
static void note_network(struct conf *conf, const struct conf_node *value,
                         const struct prefix *prefix)
{
	if (prefix->addr.family == AF_INET && prefix->len < 31 && prefix_is_masked(prefix))
		conf_note(conf, value, NULL, "is the address of the network itself");
}

static bool parse_address(struct conf *conf, const struct conf_node *value, bool bare_is_host,
                          struct prefix *ret_prefix)
{
	char text[PREFIX_TEXT_MAX];
	struct prefix prefix;
	const char *wrong;

	if (!conf_expect(conf, value, CONF_SCALAR))
		return false;
	if (prefix_parse(value->text, &prefix) < 0) {
		conf_error(conf, value, "such as 10.0.0.5/24 or fd00::5/64",
		           "is not an address with a prefix length");
		return false;
	}
	if (!bare_is_host && strchr(value->text, '/') == NULL) {
		conf_error(conf, value, prefix_format(&prefix, text), "has no prefix length");
		return false;
	}
	wrong = check_address_sort(&prefix);
	if (wrong != NULL) {
		conf_error(conf, value, NULL, "%s", wrong);
		return false;
	}
	note_network(conf, value, &prefix);
	*ret_prefix = prefix;
	return true;
}

/* True if the link may have it beside those that it has. */
static bool is_new_address(struct link_draft *draft, const struct conf_node *value,
                           const struct prefix *prefix)
{
	struct conf *conf = draft->reading->conf;
	char text[PREFIX_TEXT_MAX];

	for (size_t i = 0; i < draft->link.n_addresses; i++) {
		const struct prefix *other = &draft->link.addresses[i].prefix;
		unsigned line = draft->link.addresses[i].origin.line;

		if (!addr_equal(&other->addr, &prefix->addr))
			continue;
		if (other->len == prefix->len) {
			conf_error(conf, value, NULL, "is there twice, first on line %u", line);
			return false;
		}
		if (prefix->addr.family == AF_INET6) {
			conf_error(conf, value, NULL,
			           "is there as %s on line %u, and a link has an IPv6 address once",
			           prefix_format(other, text), line);
			return false;
		}
		conf_note(conf, value, NULL, "is there with another prefix length, too, on line %u", line);
	}
	return true;
}

static void add_address(struct link_draft *draft, const struct conf_node *value,
                        const struct prefix *prefix, uint32_t priority)
{
	struct config_link *link = &draft->link;
	size_t n = link->n_addresses;

	if (!is_new_address(draft, value, prefix))
		return;
	link->addresses = xreallocarray(link->addresses, n + 1, sizeof(*link->addresses));
	draft->place.addresses =
	    xreallocarray(draft->place.addresses, n + 1, sizeof(*draft->place.addresses));
	link->addresses[n] = (struct address){
	    .prefix = *prefix,
	    .priority = priority,
	    .valid_s = ADDRESS_FOREVER,
	    .preferred_s = ADDRESS_FOREVER,
	    .origin = config_origin(draft->reading, value),
	};
	draft->place.addresses[n] = config_place(draft->reading, value);
	link->n_addresses++;
}

struct address_draft {
	const struct conf_node *address;
	uint32_t priority;
};

static void keep_node(struct conf *conf UNUSED, const struct conf_field *field UNUSED,
                      const struct conf_node *value, void *slot)
{
	*(const struct conf_node **) slot = value;
}

const struct conf_field config_address_fields[] = {
    {.key = "address",
     .set = keep_node,
     .offset = offsetof(struct address_draft, address),
     .flags = CONF_REQUIRED},
    {.key = "routePriority",
     .set = config_set_u32,
     .offset = offsetof(struct address_draft, priority),
     .min = 0,
     .max = UINT32_MAX},
    {0},
};

static void read_address(struct conf *conf, const struct conf_node *item, void *userdata)
{
	struct address_draft address = {0};
	struct prefix prefix;
	size_t before;

	conf_read_map(conf, item, config_address_fields, &address);
	if (address.address == NULL)
		return;
	before = conf_enter(conf, "address");
	if (parse_address(conf, address.address, false, &prefix))
		add_address(userdata, address.address, &prefix, address.priority);
	conf_leave(conf, before);
}

void config_set_addresses(struct conf *conf, const struct conf_field *field UNUSED,
                          const struct conf_node *value, void *slot)
{
	conf_read_list(conf, value, CONFIG_ADDRESSES_MAX, read_address, slot);
}

static void read_legacy_address(struct conf *conf, const struct conf_node *item, void *userdata)
{
	struct prefix prefix;

	if (parse_address(conf, item, true, &prefix))
		add_address(userdata, item, &prefix, 0);
}

void config_set_legacy_addresses(struct conf *conf, const struct conf_field *field UNUSED,
                                 const struct conf_node *value, void *slot)
{
	conf_read_list(conf, value, CONFIG_ADDRESSES_MAX, read_legacy_address, slot);
}

void config_set_legacy_cidr(struct conf *conf, const struct conf_field *field UNUSED,
                            const struct conf_node *value, void *slot)
{
	read_legacy_address(conf, value, slot);
}

/* --- routes --- */

struct route_draft {
	const struct conf_node *dst_at;
	struct prefix dst;
	const struct conf_node *gateway_at, *source_at;
	struct addr gateway, source;
	uint32_t metric, mtu, table;
	bool onlink;
};

#define ROUTE(member) offsetof(struct route_draft, member)

static void set_dst(struct conf *conf, const struct conf_field *field,
                    const struct conf_node *value, void *slot)
{
	struct route_draft *route = slot;

	route->dst_at = value;
	config_set_network(conf, field, value, &route->dst);
}

static const char *check_hop(const struct addr *addr)
{
	if (addr_is_unspecified(addr))
		return "is the unspecified address";
	return addr_is_multicast(addr) ? "is a multicast address" : NULL;
}

/* Of a gateway or a source; an unspecified address is none for Talos, and a mistake here. */
static void set_hop(struct conf *conf, const struct conf_node *value, struct addr *addr)
{
	const char *wrong;

	config_set_addr(conf, NULL, value, addr);
	wrong = addr_is_set(addr) ? check_hop(addr) : NULL;
	if (wrong == NULL)
		return;
	conf_error(conf, value, "leave the key out", "%s", wrong);
	*addr = (struct addr){0};
}

static void set_gateway(struct conf *conf, const struct conf_field *field UNUSED,
                        const struct conf_node *value, void *slot)
{
	struct route_draft *route = slot;

	route->gateway_at = value;
	/* Written by generators for "none". */
	if (value->shape == CONF_SCALAR && value->quoted && value->text[0] == '\0')
		route->gateway_at = NULL;
	else
		set_hop(conf, value, &route->gateway);
}

static void set_source(struct conf *conf, const struct conf_field *field UNUSED,
                       const struct conf_node *value, void *slot)
{
	struct route_draft *route = slot;

	if (value->shape == CONF_SCALAR && value->quoted && value->text[0] == '\0')
		return;
	route->source_at = value;
	set_hop(conf, value, &route->source);
}

/* The others lead nowhere, and have no link. */
static void set_type(struct conf *conf, const struct conf_field *field UNUSED,
                     const struct conf_node *value, void *slot UNUSED)
{
	if (conf_expect(conf, value, CONF_SCALAR) && strcmp(value->text, "unicast") != 0)
		conf_error(conf, value, "a network that nobody may reach is a BlackholeRouteConfig",
		           "must be unicast on a link");
}

#define ROUTE_FIELDS_SHARED                                                       \
	{.key = "gateway", .set = set_gateway}, {.key = "source", .set = set_source}, \
	    {.key = "metric",                                                         \
	     .set = config_set_u32,                                                   \
	     .offset = ROUTE(metric),                                                 \
	     .min = 0,                                                                \
	     .max = UINT32_MAX},                                                      \
	    {.key = "mtu",                                                            \
	     .set = config_set_u32,                                                   \
	     .offset = ROUTE(mtu),                                                    \
	     .min = LINK_MTU_MIN,                                                     \
	     .max = LINK_MTU_MAX},                                                    \
	    {.key = "table", .set = config_set_table, .offset = ROUTE(table)},        \
	{                                                                             \
		.key = "onlink", .set = conf_set_bool, .offset = ROUTE(onlink)            \
	}

const struct conf_field config_route_fields[] = {
    {.key = "destination", .set = set_dst},
    {.key = "type", .set = set_type},
    {.key = "network",
     .flags = CONF_REFUSED,
     .refusal = "is the older style's key; here it is 'destination'"},
    ROUTE_FIELDS_SHARED,
    {0},
};

const struct conf_field config_legacy_route_fields[] = {
    {.key = "network", .set = set_dst},
    {.key = "destination",
     .flags = CONF_REFUSED,
     .refusal = "is a LinkConfig's key; here it is 'network'"},
    ROUTE_FIELDS_SHARED,
    {0},
};

/* A default route of the gateway's family where no destination is written. */
static bool complete_route(struct conf *conf, const struct conf_node *item,
                           struct route_draft *route)
{
	if (route->dst_at == NULL && !addr_is_set(&route->gateway)) {
		if (route->gateway_at == NULL && item->shape == CONF_MAP)
			conf_error(conf, item, NULL, "has neither a destination nor a gateway");
		return false;
	}
	if (route->dst_at == NULL)
		route->dst.addr.family = route->gateway.family;
	if (!addr_is_set(&route->dst.addr))
		return false;
	if (addr_is_set(&route->gateway) && route->gateway.family != route->dst.addr.family) {
		conf_error(conf, route->gateway_at, NULL, "is not of the destination's family");
		return false;
	}
	if (addr_is_set(&route->source) && route->source.family != route->dst.addr.family) {
		conf_error(conf, route->source_at, NULL, "is not of the destination's family");
		return false;
	}
	if (addr_is_multicast(&route->dst.addr)) {
		conf_error(conf, route->dst_at, NULL, "is a multicast network");
		return false;
	}
	if (route->onlink && !addr_is_set(&route->gateway)) {
		conf_error(conf, item, NULL, "has 'onlink' without a gateway");
		return false;
	}
	return true;
}

static void add_route(struct link_draft *draft, const struct conf_node *item,
                      const struct route_draft *route)
{
	struct config_link *link = &draft->link;
	size_t n = link->n_routes;

	link->routes = xreallocarray(link->routes, n + 1, sizeof(*link->routes));
	draft->place.routes = xreallocarray(draft->place.routes, n + 1, sizeof(*draft->place.routes));
	link->routes[n] = (struct route){
	    .dst = route->dst,
	    .table = route->table,
	    .metric = route->metric,
	    .type = RTN_UNICAST,
	    .gateway = route->gateway,
	    .src = route->source,
	    .mtu = route->mtu,
	    .onlink = route->onlink,
	    .scope = RT_SCOPE_NOWHERE,
	    .origin = config_origin(draft->reading, item),
	};
	route_normalise(&link->routes[n]);
	draft->place.routes[n] = config_place(draft->reading, item);
	link->n_routes++;
}

static void read_route_by(struct conf *conf, const struct conf_node *item,
                          const struct conf_field *fields, struct link_draft *draft)
{
	struct route_draft route = {.metric = CONFIG_METRIC_DEFAULT, .table = RT_TABLE_MAIN};

	conf_read_map(conf, item, fields, &route);
	if (complete_route(conf, item, &route))
		add_route(draft, item, &route);
}

static void read_route(struct conf *conf, const struct conf_node *item, void *userdata)
{
	read_route_by(conf, item, config_route_fields, userdata);
}

static void read_legacy_route(struct conf *conf, const struct conf_node *item, void *userdata)
{
	read_route_by(conf, item, config_legacy_route_fields, userdata);
}

void config_set_routes(struct conf *conf, const struct conf_field *field,
                       const struct conf_node *value, void *slot)
{
	bool is_legacy = field->fields == config_legacy_route_fields;

	conf_read_list(conf, value, CONFIG_ROUTES_MAX, is_legacy ? read_legacy_route : read_route,
	               slot);
}

/* --- rules, blackhole routes --- */

/* What hangs on no link: RoutingRuleConfig and BlackholeRouteConfig. */

/* --- RoutingRuleConfig --- */

struct rule_draft {
	struct rule rule;
	const struct conf_node *priority_at, *src_at, *dst_at;
	bool has_priority;
};

#define RULE(member) offsetof(struct rule_draft, member)

/* 0, 32766 and 32767 are the kernel's own. */
#define PRIORITY_MAX 32765

static void set_priority(struct conf *conf, const struct conf_field *field UNUSED,
                         const struct conf_node *value, void *slot)
{
	struct rule_draft *draft = slot;
	int64_t priority;

	if (!conf_expect(conf, value, CONF_SCALAR))
		return;
	draft->priority_at = value;
	if (conf_parse_int(value->text, &priority) < 0 || priority < 1 || priority > PRIORITY_MAX) {
		conf_error(conf, value, "1 to 32765", "is not the priority of a rule");
		return;
	}
	draft->rule.priority = (uint32_t) priority;
	draft->has_priority = true;
}

static void set_src(struct conf *conf, const struct conf_field *field,
                    const struct conf_node *value, void *slot)
{
	struct rule_draft *draft = slot;

	draft->src_at = value;
	config_set_network(conf, field, value, &draft->rule.src);
}

static void set_rule_dst(struct conf *conf, const struct conf_field *field,
                         const struct conf_node *value, void *slot)
{
	struct rule_draft *draft = slot;

	draft->dst_at = value;
	config_set_network(conf, field, value, &draft->rule.dst);
}

static void set_action(struct conf *conf, const struct conf_field *field UNUSED,
                       const struct conf_node *value, void *slot)
{
	static const char *const names[] = {"unicast", "blackhole", "unreachable", "prohibit", NULL};
	static const uint8_t actions[] = {FR_ACT_TO_TBL, FR_ACT_BLACKHOLE, FR_ACT_UNREACHABLE,
	                                  FR_ACT_PROHIBIT};
	static const struct conf_field choice = {.choices = names};
	struct rule_draft *draft = slot;
	int chosen = 0;

	conf_set_choice(conf, &choice, value, &chosen);
	draft->rule.action = actions[chosen];
}

const struct conf_field config_rule_fields[] = {
    {.key = "name", .set = set_priority, .flags = CONF_REQUIRED},
    {.key = "src", .set = set_src},
    {.key = "dst", .set = set_rule_dst},
    {.key = "table", .set = config_set_table, .offset = RULE(rule.table)},
    {.key = "action", .set = set_action},
    {.key = "iifName",
     .set = conf_set_text,
     .offset = RULE(rule.iif),
     .check = config_check_name,
     .size = IFNAMSIZ},
    {.key = "oifName",
     .set = conf_set_text,
     .offset = RULE(rule.oif),
     .check = config_check_name,
     .size = IFNAMSIZ},
    {.key = "fwMark", .set = config_set_mark, .offset = RULE(rule.fwmark)},
    {.key = "fwMask", .set = config_set_mark, .offset = RULE(rule.fwmask)},
    {0},
};

static bool check_rule(struct conf *conf, const struct conf_node *document,
                       struct rule_draft *draft)
{
	const struct rule *rule = &draft->rule;
	size_t errors = conf_error_count(conf);

	if (addr_is_set(&rule->src.addr) && addr_is_set(&rule->dst.addr) &&
	    rule->src.addr.family != rule->dst.addr.family)
		conf_error(conf, draft->dst_at, NULL, "is not of the family of 'src'");
	if (rule->action == FR_ACT_TO_TBL && rule->table == RT_TABLE_UNSPEC)
		conf_error(conf, document, NULL, "has neither a 'table' to look into nor another 'action'");
	if (rule->action != FR_ACT_TO_TBL && rule->table != RT_TABLE_UNSPEC)
		conf_note(conf, conf_node_find(document, "table"), NULL,
		          "has no effect with this 'action'");
	if (rule->fwmask != 0 && rule->fwmark == 0)
		conf_error(conf, conf_node_find(document, "fwMask"), NULL, "needs 'fwMark'");
	if ((rule->fwmark & rule->fwmask) != rule->fwmark && rule->fwmask != 0)
		conf_error(conf, conf_node_find(document, "fwMark"), NULL,
		           "has bits outside of 'fwMask', so no packet has this mark");
	return conf_error_count(conf) == errors && draft->has_priority;
}

static bool is_known_priority(struct config_reading *reading, const struct rule_draft *draft)
{
	const struct model *common = reading->config.common;

	for (size_t i = 0; i < common->n_rules; i++) {
		if (common->rules[i].priority != draft->rule.priority)
			continue;
		conf_error(reading->conf, draft->priority_at, NULL,
		           "is the priority of two rules, first at %s",
		           config_place_of(reading, &common->rules[i].origin));
		return true;
	}
	return false;
}

/* A rule that names no network is about both families. */
static void add_rule(struct config_reading *reading, const struct rule_draft *draft,
                     sa_family_t family)
{
	struct rule *rule = model_add_rule(reading->config.common, family, draft->rule.priority);

	*rule = draft->rule;
	rule->family = family;
}

void config_read_rule(struct conf *conf, const struct conf_node *document, void *userdata)
{
	struct config_reading *reading = userdata;
	struct rule_draft draft = {.rule = {.action = FR_ACT_TO_TBL}};
	sa_family_t family;
	size_t before;

	conf_read_map(conf, document, config_rule_fields, &draft);
	draft.rule.origin = config_origin(reading, document);
	before = conf_enter(conf, "name");
	if (draft.has_priority && is_known_priority(reading, &draft))
		draft.has_priority = false;
	conf_leave(conf, before);
	if (!check_rule(conf, document, &draft))
		return;
	family =
	    addr_is_set(&draft.rule.src.addr) ? draft.rule.src.addr.family : draft.rule.dst.addr.family;
	if (family != AF_INET6)
		add_rule(reading, &draft, AF_INET);
	if (family != AF_INET)
		add_rule(reading, &draft, AF_INET6);
}

/* --- BlackholeRouteConfig --- */

struct blackhole_draft {
	struct prefix dst;
	uint32_t metric;
};

#define BLACKHOLE(member) offsetof(struct blackhole_draft, member)
const struct conf_field config_blackhole_fields[] = {
    {.key = "name", .set = config_set_network, .offset = BLACKHOLE(dst), .flags = CONF_REQUIRED},
    {.key = "metric",
     .set = config_set_u32,
     .offset = BLACKHOLE(metric),
     .min = 0,
     .max = UINT32_MAX},
    {0},
};

void config_read_blackhole(struct conf *conf, const struct conf_node *document, void *userdata)
{
	struct config_reading *reading = userdata;
	struct model *common = reading->config.common;
	struct blackhole_draft draft = {.metric = CONFIG_METRIC_DEFAULT};
	struct route *route;

	conf_read_map(conf, document, config_blackhole_fields, &draft);
	if (!addr_is_set(&draft.dst.addr))
		return;
	route = model_add_route(common, &draft.dst);
	route->type = RTN_BLACKHOLE;
	route->metric = draft.metric;
	route->origin = config_origin(reading, document);
	route_normalise(route);
	reading->blackholes =
	    xreallocarray(reading->blackholes, common->n_routes, sizeof(*reading->blackholes));
	reading->blackholes[common->n_routes - 1] = config_place(reading, document);
}
