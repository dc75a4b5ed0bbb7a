/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A link is described if it has something to say, or if one that has hangs on it. What is described
 * is so in full, or the plan from it to what is there would not be empty; so whatever has an
 * attribute that documents have no key for is left out as a whole.
 */
#include "netconf/config/config.h"

#include <stdlib.h>
#include <string.h>

#include "base/containerlink.h"
#include "base/mem.h"
#include "netconf/config/config_priv.h"

#define MTU_USUAL 1500

struct describing {
	const struct model *have;
	struct conf_strings *left_out;
	struct config *config;
	bool *keeps; /* of have->links */
};

static void leave_out(struct describing *d, const char *text, const char *why)
{
	AUTO(free) char *line = xasprintf("%s: %s", text, why);

	conf_strings_add(d->left_out, line);
}

/* --- addresses --- */

static bool is_host_prefix(const struct prefix *prefix)
{
	return prefix->len == addr_len_bytes(&prefix->addr) * 8;
}

/* NULL: it is described; "" without a word: it is nobody's who writes configurations. */
static const char *address_why_not(const struct address *a)
{
	/* Kernels before 5.18 do not mark what they gave to lo. */
	if (a->owner == OWNER_KERNEL || addr_is_loopback(&a->prefix.addr) ||
	    (a->prefix.addr.family == AF_INET6 && addr_is_linklocal(&a->prefix.addr)))
		return "";
	if (addr_is_linklocal(&a->prefix.addr))
		return "is link-local, as programs and clouds give them";
	if (a->valid_s != ADDRESS_FOREVER)
		return "has a lifetime: a lease (DHCPv4Config, DHCPv6Config) or a VIP";
	if (is_host_prefix(&a->prefix))
		return "may be a VIP, which the program has that put it there";
	if (addr_is_set(&a->peer) || a->flags != 0 || a->scope != RT_SCOPE_UNIVERSE)
		return "has attributes that documents have no key for";
	return NULL;
}

static bool has_static_address(const struct model *have, const char *link)
{
	for (size_t i = 0; i < have->n_addresses; i++) {
		if (strcmp(have->addresses[i].link, link) == 0 &&
		    address_why_not(&have->addresses[i]) == NULL)
			return true;
	}
	return false;
}

static void describe_addresses(struct describing *d, struct config_link *link, const char *name)
{
	for (size_t i = 0; i < d->have->n_addresses; i++) {
		const struct address *a = &d->have->addresses[i];
		const char *why = strcmp(a->link, name) == 0 ? address_why_not(a) : "";
		char text[MODEL_TEXT_MAX];

		if (why != NULL) {
			if (why[0] != '\0')
				leave_out(d, address_format(a, text), why);
			continue;
		}
		link->addresses =
		    xreallocarray(link->addresses, link->n_addresses + 1, sizeof(*link->addresses));
		link->addresses[link->n_addresses++] =
		    (struct address){.prefix = a->prefix, .priority = a->priority};
	}
}

/* Whoever misses an address shall find it among what was left out. */
static void tell_addresses(struct describing *d, const struct link *link)
{
	for (size_t i = 0; i < d->have->n_addresses; i++) {
		const struct address *a = &d->have->addresses[i];
		const char *why = address_why_not(a);
		char text[MODEL_TEXT_MAX];

		if (strcmp(a->link, link->name) != 0)
			continue;
		if (why == NULL)
			why = "is on a link that documents have no kind for";
		if (why[0] != '\0')
			leave_out(d, address_format(a, text), why);
	}
}

/* --- routes and rules --- */

/* By whom: an administrator, a boot script, or us. */
static bool is_made_by_hand(uint8_t protocol)
{
	return protocol == RTPROT_BOOT || protocol == RTPROT_STATIC || protocol == NETCONF_PROTOCOL;
}

static void describe_routes(struct describing *d, struct config_link *link, const char *name)
{
	for (size_t i = 0; i < d->have->n_routes; i++) {
		const struct route *r = &d->have->routes[i];
		char text[MODEL_TEXT_MAX];

		if (strcmp(r->link, name) != 0 || !is_made_by_hand(r->protocol))
			continue;
		if (r->is_opaque || r->type != RTN_UNICAST || r->tos != 0) {
			leave_out(d, route_format(r, text), "has attributes that documents have no key for");
			continue;
		}
		link->routes = xreallocarray(link->routes, link->n_routes + 1, sizeof(*link->routes));
		link->routes[link->n_routes++] = (struct route){.dst = r->dst,
		                                                .table = r->table,
		                                                .metric = r->metric,
		                                                .type = r->type,
		                                                .gateway = r->gateway,
		                                                .src = r->src,
		                                                .mtu = r->mtu,
		                                                .onlink = r->onlink};
	}
}

static void describe_common(struct describing *d)
{
	char text[MODEL_TEXT_MAX];

	for (size_t i = 0; i < d->have->n_rules; i++) {
		const struct rule *from = &d->have->rules[i];
		struct rule *to;

		/* ip(8) writes no protocol into rules. */
		if (from->protocol != RTPROT_UNSPEC && !is_made_by_hand(from->protocol))
			continue;
		if (from->is_opaque || from->fwmark != 0) {
			leave_out(d, rule_format(from, text),
			          from->is_opaque ? "has attributes that documents have no key for"
			                          : "goes by a mark, which may be that of a CNI");
			continue;
		}
		to = model_add_rule(d->config->common, from->family, from->priority);
		*to = *from;
		to->raw = (struct raw_message){0};
	}
	for (size_t i = 0; i < d->have->n_routes; i++) {
		const struct route *from = &d->have->routes[i];
		struct route *to;

		if (from->type != RTN_BLACKHOLE || !is_made_by_hand(from->protocol) || from->is_opaque ||
		    from->table != RT_TABLE_MAIN)
			continue;
		to = model_add_route(d->config->common, &from->dst);
		to->metric = from->metric;
		to->type = RTN_BLACKHOLE;
	}
}

/* --- which links --- */

/* Bridges of containers, too: what makes them describes them. */
static bool is_of_containers(const char *name)
{
	return containerlink_is(name) || strncmp(name, "cbr", 3) == 0 || strncmp(name, "lxdbr", 5) == 0;
}

static bool has_ports(const struct model *have, const char *master)
{
	for (size_t i = 0; i < have->n_links; i++) {
		if (strcmp(have->links[i].master, master) == 0)
			return true;
	}
	return false;
}

/* The module makes one by itself, "bond0"; documents have none. */
static bool is_empty_bond(const struct model *have, const struct link *link)
{
	return link->kind == LINK_BOND && !has_ports(have, link->name);
}

static bool says_something(struct describing *d, const struct link *link)
{
	if (is_of_containers(link->name))
		return false;
	switch (link->kind) {
	case LINK_PHYSICAL:
	case LINK_VETH:
	case LINK_DUMMY:
		return has_static_address(d->have, link->name);
	case LINK_BOND:
		if (is_empty_bond(d->have, link))
			leave_out(d, link->name, "is a bond without ports");
		return !is_empty_bond(d->have, link);
	case LINK_VLAN:
	case LINK_BRIDGE:
	case LINK_VRF:
		return true;
	case LINK_WIREGUARD:
		leave_out(d, link->name, "its keys are secret: write a WireguardConfig");
		return false;
	case LINK_LOOPBACK:
	case LINK_OTHER:
		return false;
	}
	return false;
}

static bool keeps(const struct describing *d, const char *name)
{
	for (size_t i = 0; i < d->have->n_links; i++) {
		if (strcmp(d->have->links[i].name, name) == 0)
			return d->keeps[i];
	}
	return false;
}

static bool is_below_kept(const struct describing *d, const struct link *link)
{
	for (size_t i = 0; i < d->have->n_links; i++) {
		const struct link *upper = &d->have->links[i];

		if (d->keeps[i] && upper->kind == LINK_VLAN && strcmp(upper->parent, link->name) == 0)
			return true;
	}
	return false;
}

static void choose_links(struct describing *d)
{
	bool again = true;

	for (size_t i = 0; i < d->have->n_links; i++)
		d->keeps[i] = says_something(d, &d->have->links[i]);
	while (again) {
		again = false;
		for (size_t i = 0; i < d->have->n_links; i++) {
			const struct link *link = &d->have->links[i];

			if (!d->keeps[i] && !is_of_containers(link->name) && link->kind != LINK_OTHER &&
			    link->kind != LINK_WIREGUARD && !is_empty_bond(d->have, link) &&
			    (keeps(d, link->master) || is_below_kept(d, link)))
				d->keeps[i] = again = true;
		}
	}
}

/* --- a link --- */

static void describe_ports(const struct describing *d, struct config_link *to, const char *name)
{
	for (size_t i = 0; i < d->have->n_links; i++) {
		if (!d->keeps[i] || strcmp(d->have->links[i].master, name) != 0)
			continue;
		to->ports = xreallocarray(to->ports, to->n_ports + 1, sizeof(*to->ports));
		to->ports[to->n_ports++] = (struct config_ref){.name = xstrdup(d->have->links[i].name)};
	}
}

/* Only what a new bond would not have by itself. Which port is active is nobody's wish. */
static struct bond *describe_bond(const struct bond *have)
{
	struct bond *bond = xmemdup(have, sizeof(*have));

	bond_normalise(bond);
	for (enum bond_option option = 0; option < BOND_OPTIONS; option++) {
		const struct bond_option_info *info = &bond_options[option];
		char text[BOND_VALUE_TEXT_MAX];
		bool is_usual;

		if (!bond_has(bond, option) || option == BOND_MODE)
			continue;
		if (info->type <= BOND_U32)
			is_usual = bond->values[option] == info->initial;
		else if (info->type == BOND_MAC)
			is_usual = mac_equal(&bond->ad_actor_system, &(struct mac){0});
		else
			is_usual = bond_format_value(bond, option, text)[0] == '\0';
		if (is_usual || info->key == NULL || option == BOND_ACTIVE_SLAVE)
			bond->has &= ~BOND_BIT(option);
	}
	return bond;
}

static void describe_link(struct describing *d, const struct link *from)
{
	struct config *config = d->config;
	struct config_link *to;

	config->links = xreallocarray(config->links, config->n_links + 1, sizeof(*config->links));
	to = &config->links[config->n_links++];
	*to = (struct config_link){.ref = {.name = xstrdup(from->name)}};
	to->want.kind = from->kind == LINK_VETH ? LINK_PHYSICAL : from->kind;
	link_set(&to->want, from, link_attrs_with(LINK_DESCRIBED) & from->has);
	to->want.mtu = from->mtu;
	/* A VLAN begins with its parent's, a bridge follows its ports: only a card has it by itself. */
	if ((from->has & LINK_HAS_MTU) != 0 &&
	    (to->want.kind != LINK_PHYSICAL || from->mtu != MTU_USUAL))
		to->want.has |= LINK_HAS_MTU;
	if (from->kind == LINK_VLAN)
		to->parent.name = xstrdup(from->parent);
	if (from->kind == LINK_BOND || from->kind == LINK_BRIDGE || from->kind == LINK_VRF)
		describe_ports(d, to, from->name);
	if (from->kind == LINK_BOND)
		to->want.bond = describe_bond(from->bond);
	/* Such a bond has no carrier, and documents refuse it. */
	if (to->want.bond != NULL && bond_has(to->want.bond, BOND_MIN_LINKS) &&
	    to->want.bond->values[BOND_MIN_LINKS] > to->n_ports) {
		leave_out(d, from->name, "its minLinks is more than it has ports");
		to->want.bond->has &= ~BOND_BIT(BOND_MIN_LINKS);
	}
	describe_addresses(d, to, from->name);
	describe_routes(d, to, from->name);
}

struct config *config_describe(const struct model *have, struct conf_strings *ret_left_out)
{
	AUTO(free) bool *kept = xcalloc(have->n_links + 1, sizeof(*kept));
	struct describing d = {
	    .have = have, .left_out = ret_left_out, .config = NEW0(struct config), .keeps = kept};

	d.config->common = model_new();
	config_policy_init(&d.config->policy);
	choose_links(&d);
	for (size_t i = 0; i < have->n_links; i++) {
		const struct link *link = &have->links[i];

		if (d.keeps[i])
			describe_link(&d, link);
		else if (!is_of_containers(link->name) && link->kind != LINK_WIREGUARD)
			tell_addresses(&d, link);
	}
	describe_common(&d);
	return d.config;
}
