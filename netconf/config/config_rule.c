/* SPDX-License-Identifier: Apache-2.0 */
/* What hangs on no link: RoutingRuleConfig and BlackholeRouteConfig. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "netconf/config/config_priv.h"

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

static void set_dst(struct conf *conf, const struct conf_field *field,
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
    {.key = "dst", .set = set_dst},
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
