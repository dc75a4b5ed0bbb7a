/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bonds in either style. Their keys are those of bond_options, so the tables are made from it: a
 * new option of the kernel's is one row there. What follows from two options together (a mode, a
 * monitor) is checked when all are read.
 */
#include <string.h>

#include "base/mem.h"
#include "netconf/config/config_priv.h"

/* The option that a row of the table is about. */
static enum bond_option option_of(const struct conf_field *field)
{
	return (enum bond_option) field->min;
}

/* --- one option --- */

static void set_number(struct conf *conf, const struct conf_node *value, enum bond_option option,
                       struct bond *bond)
{
	const struct bond_option_info *info = &bond_options[option];
	const struct conf_field choice = {.choices = info->choices};
	size_t errors = conf_error_count(conf);
	uint32_t number = 0;
	bool flag = false;
	int chosen = 0;

	if (info->is_bool) {
		conf_set_bool(conf, NULL, value, &flag);
		number = flag;
	} else if (info->choices != NULL) {
		conf_set_choice(conf, &choice, value, &chosen);
		number = (uint32_t) chosen;
	} else {
		(void) config_read_u32(conf, value, info->min, info->max, &number);
	}
	if (conf_error_count(conf) == errors)
		bond_set(bond, option, number);
}

struct target_reading {
	sa_family_t family;
	struct addr *targets;
	size_t n;
};

static void read_target(struct conf *conf, const struct conf_node *item, void *userdata)
{
	struct target_reading *r = userdata;
	struct addr addr = {0};

	config_set_addr(conf, NULL, item, &addr);
	if (!addr_is_set(&addr))
		return;
	if (addr.family != r->family)
		conf_error(conf, item, NULL, "is not an IPv%d address", r->family == AF_INET ? 4 : 6);
	else if (addr_is_unspecified(&addr) || addr_is_multicast(&addr) || addr_is_loopback(&addr))
		conf_error(conf, item, NULL, "is not the address of another host");
	else
		r->targets[r->n++] = addr;
}

static void set_targets(struct conf *conf, const struct conf_node *value, enum bond_option option,
                        struct bond *bond)
{
	bool is_ipv4 = bond_options[option].type == BOND_IPV4;
	struct target_reading r = {.family = is_ipv4 ? AF_INET : AF_INET6,
	                           .targets = is_ipv4 ? bond->arp_targets : bond->ns_targets};

	conf_read_list(conf, value, BOND_TARGETS_MAX, read_target, &r);
	*(is_ipv4 ? &bond->n_arp_targets : &bond->n_ns_targets) = r.n;
	bond->has |= BOND_BIT(option);
}

static void set_option(struct conf *conf, const struct conf_field *field,
                       const struct conf_node *value, void *slot)
{
	static const struct conf_field port = {.check = config_check_name, .size = IFNAMSIZ};
	struct bond *bond = ((struct link_draft *) slot)->link.want.bond;
	enum bond_option option = option_of(field);

	switch (bond_options[option].type) {
	case BOND_U8:
	case BOND_U16:
	case BOND_U32:
		set_number(conf, value, option, bond);
		break;
	case BOND_PORT:
		conf_set_text(conf, &port, value, bond->primary);
		bond->has |= BOND_BIT(option);
		break;
	case BOND_IPV4:
	case BOND_IPV6:
		set_targets(conf, value, option, bond);
		break;
	case BOND_MAC:
		config_set_mac(conf, field, value, &bond->ad_actor_system);
		bond->has |= BOND_BIT(option);
		break;
	}
}

/* --- the tables --- */

static void read_selector_port(struct conf *conf, const struct conf_node *item, void *userdata)
{
	struct config_ref ref = {.selector = config_read_selector(conf, item)};

	if (ref.selector != NULL)
		config_add_port(userdata, &ref, item);
}

static void set_selector_ports(struct conf *conf, const struct conf_field *field UNUSED,
                               const struct conf_node *value, void *slot)
{
	conf_read_list(conf, value, CONFIG_PORTS_MAX, read_selector_port, slot);
}

struct conf_field config_bond_fields[CONFIG_BOND_FIELDS_MAX] = {
    {.key = "name",
     .set = conf_set_string,
     .offset = offsetof(struct link_draft, link.ref.name),
     .flags = CONF_REQUIRED,
     .check = config_check_name},
    {.key = "links", .set = config_set_ports, .flags = CONF_REQUIRED},
    {.key = "mode",
     .flags = CONF_REFUSED,
     .refusal = "is the older style's key; here it is 'bondMode'"},
    {.key = "interfaces",
     .flags = CONF_REFUSED,
     .refusal = "is the older style's key; here it is 'links'"},
    CONFIG_LINK_FIELDS,
};

struct conf_field config_legacy_bond_fields[CONFIG_BOND_FIELDS_MAX] = {
    {.key = "interfaces", .set = config_set_ports},
    {.key = "deviceSelectors", .set = set_selector_ports, .fields = config_selector_fields},
    {.key = "bondMode",
     .flags = CONF_REFUSED,
     .refusal = "is a BondConfig's key; here it is 'mode'"},
    {.key = "links",
     .flags = CONF_REFUSED,
     .refusal = "is a BondConfig's key; here it is 'interfaces'"},
};

static void add_options(struct conf_field *table, bool is_legacy)
{
	while (table->key != NULL)
		table++;
	for (enum bond_option option = 0; option < BOND_OPTIONS; option++) {
		const struct bond_option_info *info = &bond_options[option];
		const char *key = is_legacy ? info->legacy_key : info->key;

		if (key != NULL)
			*table++ = (struct conf_field){.key = key,
			                               .set = set_option,
			                               .flags = option == BOND_MODE ? CONF_REQUIRED : 0,
			                               .min = (int64_t) option};
	}
}

void config_make_bond_tables(void)
{
	add_options(config_bond_fields, false);
	add_options(config_legacy_bond_fields, true);
}

/* --- options together --- */

struct bond_check {
	struct conf *conf;
	const struct conf_node *map;
	bool is_legacy;
	const struct config_link *link;
	struct bond *bond;
};

static const char *key_of(const struct bond_check *c, enum bond_option option)
{
	return c->is_legacy ? bond_options[option].legacy_key : bond_options[option].key;
}

/* An error, or a note, at the key of an option. */
static void report(const struct bond_check *c, bool is_error, enum bond_option option,
                   const char *hint, const char *what)
{
	const struct conf_node *at = conf_node_find(c->map, key_of(c, option));
	size_t before = conf_enter(c->conf, "%s", key_of(c, option));

	if (at == NULL)
		at = c->map;
	if (is_error)
		conf_error(c->conf, at, hint, "%s", what);
	else
		conf_note(c->conf, at, hint, "%s", what);
	conf_leave(c->conf, before);
}

/* What the kernel would refuse; harmless where it is what the kernel has anyhow. */
static void check_modes(const struct bond_check *c)
{
	enum bond_mode mode = bond_get(c->bond, BOND_MODE);

	for (enum bond_option option = 0; option < BOND_OPTIONS; option++) {
		const struct bond_option_info *info = &bond_options[option];
		bool is_scalar = info->type <= BOND_U32;
		AUTO(free) char *what = NULL;

		if (!bond_has(c->bond, option) || bond_mode_allows(mode, option))
			continue;
		what = xasprintf("means nothing in mode %s", bond_options[BOND_MODE].choices[mode]);
		report(c, !is_scalar || c->bond->values[option] != info->initial, option, NULL, what);
		c->bond->has &= ~BOND_BIT(option);
	}
}

static bool is_on(const struct bond_check *c, enum bond_option option)
{
	return bond_get(c->bond, option) > 0;
}

static void check_delays(const struct bond_check *c)
{
	uint32_t miimon = bond_get(c->bond, BOND_MIIMON);

	for (enum bond_option option = 0; option < BOND_OPTIONS; option++) {
		AUTO(free) char *what = NULL;
		uint32_t value = c->bond->values[option];

		if (!bond_options[option].needs_miimon || !bond_has(c->bond, option) || value == 0)
			continue;
		if (miimon == 0) {
			report(c, true, option, NULL, "needs miimon");
		} else if (value % miimon != 0) {
			what =
			    xasprintf("is no multiple of miimon, and is taken as %u", value - value % miimon);
			report(c, false, option, NULL, what);
		}
	}
}

static bool has_item(const struct bond_check *c, enum bond_option option)
{
	const struct conf_node *list =
	    key_of(c, option) != NULL ? conf_node_find(c->map, key_of(c, option)) : NULL;

	return list != NULL && list->n > 0;
}

static void check_monitors(const struct bond_check *c)
{
	bool has_arp = is_on(c, BOND_ARP_INTERVAL);
	bool has_targets = c->bond->n_arp_targets > 0 || c->bond->n_ns_targets > 0;
	/* What is wrong with the items of a list has been said. */
	bool has_items = has_item(c, BOND_ARP_IP_TARGET) || has_item(c, BOND_NS_IP6_TARGET);

	if (has_arp && is_on(c, BOND_MIIMON))
		report(c, true, BOND_ARP_INTERVAL, "the kernel has one monitor at a time",
		       "excludes miimon");
	else if (!has_arp && !is_on(c, BOND_MIIMON))
		report(c, false, BOND_MIIMON, "such as 100",
		       "is off, as arpInterval is: the bond will not notice that a port is dead");
	if (has_arp && !has_targets && !has_items)
		report(c, true, BOND_ARP_INTERVAL, NULL, "has no targets");
	if (!has_arp && has_targets)
		report(c, false, c->bond->n_arp_targets > 0 ? BOND_ARP_IP_TARGET : BOND_NS_IP6_TARGET, NULL,
		       "has no effect without arpInterval");
	if (!has_arp && is_on(c, BOND_ARP_VALIDATE))
		report(c, false, BOND_ARP_VALIDATE, NULL, "has no effect without arpInterval");
}

static void check_primary(const struct bond_check *c)
{
	bool has_selectors = false;

	if (!bond_has(c->bond, BOND_PRIMARY) || c->bond->primary[0] == '\0')
		return;
	for (size_t i = 0; i < c->link->n_ports; i++) {
		if (c->link->ports[i].name == NULL)
			has_selectors = true;
		else if (strcmp(c->link->ports[i].name, c->bond->primary) == 0)
			return;
	}
	/* Which names the selectors stand for is known when the devices are. */
	if (!has_selectors)
		report(c, true, BOND_PRIMARY, NULL, "is not one of the bond's ports");
}

/* What is wrong with the items of a list has been said; that it has none has not. */
static void check_ports(const struct bond_check *c)
{
	static const char *const lists[] = {"links", "interfaces", "deviceSelectors"};
	bool has_selectors = false, has_names = false, has_items = false;

	for (size_t i = 0; i < c->link->n_ports; i++) {
		has_selectors = has_selectors || c->link->ports[i].selector != NULL;
		has_names = has_names || c->link->ports[i].name != NULL;
	}
	if (has_selectors && has_names)
		conf_error(c->conf, c->map, NULL, "'interfaces' and 'deviceSelectors' exclude each other");
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const struct conf_node *list = conf_node_find(c->map, lists[i]);

		has_items = has_items || (list != NULL && list->n > 0);
	}
	if (!has_items && (c->is_legacy || conf_node_find(c->map, "links") != NULL))
		conf_error(c->conf, c->map, NULL, "has no ports");
	if (has_names && !has_selectors && bond_get(c->bond, BOND_MIN_LINKS) > c->link->n_ports)
		report(c, true, BOND_MIN_LINKS, NULL, "is more than the bond has ports");
}

void config_check_bond(struct link_draft *draft, const struct conf_node *map, bool is_legacy)
{
	const struct bond_check c = {draft->reading->conf, map, is_legacy, &draft->link,
	                             draft->link.want.bond};

	if (map->shape != CONF_MAP)
		return;
	check_ports(&c);
	if (!bond_has(c.bond, BOND_MODE))
		return;
	check_modes(&c);
	check_delays(&c);
	check_monitors(&c);
	check_primary(&c);
}

void config_read_bond(struct conf *conf, const struct conf_node *document, void *userdata)
{
	struct link_draft draft;

	config_link_draft_init(&draft, userdata, LINK_BOND, document);
	draft.link.want.bond = NEW0(struct bond);
	conf_read_map(conf, document, config_bond_fields, &draft);
	config_check_bond(&draft, document, false);
	config_link_draft_finish(&draft);
}
