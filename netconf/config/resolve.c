/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the configuration, one after the other, into a model. What a name stands for is
 * looked up in resolve_names.c.
 */
#include "netconf/config/resolve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "netconf/config/resolve_priv.h"
#include "netconf/model/link.h"

/* --- links of the model --- */

static size_t hash(const char *name)
{
	size_t h = 5381;

	for (; *name != '\0'; name++)
		h = h * 33 + (unsigned char) *name;
	return h;
}

static struct known *find_slot(struct known *table, size_t cap, const char *name)
{
	size_t i = hash(name) & (cap - 1);

	while (table[i].name[0] != '\0' && strcmp(table[i].name, name) != 0)
		i = (i + 1) & (cap - 1);
	return &table[i];
}

static void grow_known(struct resolver *r)
{
	size_t cap = MAX(r->cap_known * 2, (size_t) 64);
	struct known *table = xcalloc(cap, sizeof(*table));

	for (size_t i = 0; i < r->cap_known; i++) {
		if (r->known[i].name[0] != '\0')
			*find_slot(table, cap, r->known[i].name) = r->known[i];
	}
	free(r->known);
	r->known = table;
	r->cap_known = cap;
}

/* The link of this name, made if there is none: found and up. */
static struct known *want_link(struct resolver *r, const char *name, const struct origin *origin)
{
	struct known *known;
	struct link *link;

	if (r->n_known * 2 >= r->cap_known)
		grow_known(r);
	known = find_slot(r->known, r->cap_known, name);
	if (known->name[0] != '\0')
		return known;
	(void) snprintf(known->name, sizeof(known->name), "%s", name);
	known->index = r->resolution->model->n_links;
	r->n_known++;
	link = model_add_link(r->resolution->model, name,
	                      strcmp(name, "lo") == 0 ? LINK_LOOPBACK : LINK_PHYSICAL);
	link->has = LINK_HAS_UP;
	link->up = true;
	link->origin = *origin;
	return known;
}

static struct link *link_of(struct resolver *r, const struct known *known)
{
	return &r->resolution->model->links[known->index];
}

static void describe(struct resolver *r, const char *name, const struct config_link *config)
{
	struct known *known = want_link(r, name, &config->want.origin);
	struct link *link = link_of(r, known);
	char first[MODEL_ORIGIN_TEXT_MAX];

	if (known->is_described) {
		resolver_dispute(
		    r, name, &config->want.origin,
		    "is about '%s', as is %s: say all of a link in one place", name,
		    model_format_origin(r->config->common, &known->described_by->want.origin, first));
		return;
	}
	known->is_described = true;
	known->described_by = config;
	if (config->want.kind != LINK_PHYSICAL)
		link->kind = config->want.kind;
	link->origin = config->want.origin;
	link_set(link, &config->want, config->want.has);
	if (config->peer != NULL)
		(void) snprintf(link->peer, sizeof(link->peer), "%s", config->peer);
	if (config->want.bond != NULL)
		link->bond = xmemdup(config->want.bond, sizeof(*config->want.bond));
	if (config->want.wireguard != NULL)
		link->wireguard = wireguard_copy(config->want.wireguard);
}

static void add_addresses(struct resolver *r, const char *name, const struct config_link *config)
{
	struct model *model = r->resolution->model;

	for (size_t i = 0; i < config->n_addresses; i++) {
		struct address *address = model_add_address(model, name, &config->addresses[i].prefix);

		*address = config->addresses[i];
		(void) snprintf(address->link, sizeof(address->link), "%s", name);
	}
	for (size_t i = 0; i < config->n_routes; i++) {
		struct route *route = model_add_route(model, &config->routes[i].dst);

		*route = config->routes[i];
		(void) snprintf(route->link, sizeof(route->link), "%s", name);
	}
}

static void set_parent(struct resolver *r, const char *name, const char *parent,
                       const struct config_link *config)
{
	struct link *link = link_of(r, want_link(r, name, &config->want.origin));

	(void) snprintf(link->parent, sizeof(link->parent), "%s", parent);
	link->has |= LINK_HAS_PARENT;
}

static void add_vlan(struct resolver *r, const struct config_link *config)
{
	struct names parents;

	resolver_find_names(r, &config->parent, &config->want.origin, &parents);
	for (size_t i = 0; i < parents.n; i++) {
		char formed[IFNAMSIZ];
		const char *name = config->ref.name;

		if (name == NULL) {
			vlanname_form(parents.items[i], config->want.vlan_id, formed);
			name = formed;
		}
		describe(r, name, config);
		set_parent(r, name, parents.items[i], config);
		add_addresses(r, name, config);
	}
	names_fini(&parents);
}

static void add_link(struct resolver *r, const struct config_link *config)
{
	struct names names;

	if (config->want.kind == LINK_VLAN) {
		add_vlan(r, config);
		return;
	}
	resolver_find_names(r, &config->ref, &config->want.origin, &names);
	for (size_t i = 0; i < names.n; i++) {
		if (config->is_ignored) {
			host_add_text(&r->resolution->ignored, names.items[i]);
			continue;
		}
		describe(r, names.items[i], config);
		add_addresses(r, names.items[i], config);
	}
	names_fini(&names);
}

/* --- ports --- */

static bool has_addresses(const struct config_link *config)
{
	return config != NULL && (config->n_addresses > 0 || config->n_routes > 0);
}

static void add_port(struct resolver *r, const struct config_link *master, const char *name,
                     unsigned position)
{
	struct known *known = want_link(r, name, &master->want.origin);
	struct link *port = link_of(r, known);

	if (link_has(port, LINK_HAS_MASTER) && strcmp(port->master, master->ref.name) != 0) {
		resolver_dispute(r, name, &master->want.origin,
		                 "has '%s' as a port, which is a port of '%s' already", name, port->master);
		return;
	}
	if (link_has(port, LINK_HAS_MASTER))
		return;
	if (master->want.kind != LINK_VRF && has_addresses(known->described_by))
		resolver_dispute(r, name, &known->described_by->want.origin,
		                 "has addresses or routes for '%s', which is a port of '%s'", name,
		                 master->ref.name);
	(void) snprintf(port->master, sizeof(port->master), "%s", master->ref.name);
	port->position = position;
	port->has |= LINK_HAS_MASTER;
}

static void add_ports(struct resolver *r, const struct config_link *master)
{
	unsigned position = 0;

	for (size_t i = 0; i < master->n_ports; i++) {
		struct names names;

		resolver_find_names(r, &master->ports[i], &master->want.origin, &names);
		for (size_t k = 0; k < names.n; k++)
			add_port(r, master, names.items[k], position++);
		names_fini(&names);
	}
	/* The bond may know its primary by another name than the kernel does. */
	if (master->want.kind == LINK_BOND && master->want.bond->primary[0] != '\0') {
		struct link *bond = link_of(r, want_link(r, master->ref.name, &master->want.origin));
		const char *primary =
		    resolver_find_name(r, master->want.bond->primary, &master->want.origin);

		if (primary != NULL)
			(void) snprintf(bond->bond->primary, sizeof(bond->bond->primary), "%s", primary);
		else
			bond->bond->has &= ~BOND_BIT(BOND_PRIMARY);
	}
}

/* --- what is done about links --- */

/* A port of a bond or a bridge, which can have no address. */
static bool is_busy_port(struct resolver *r, const struct link *link)
{
	const struct known *master = find_slot(r->known, r->cap_known, link->master);

	return link->master[0] != '\0' && link_of(r, master)->kind != LINK_VRF;
}

static void dispute_twin(struct resolver *r, const char *link, const struct origin *origin,
                         const char *what, const struct origin *first)
{
	char where[MODEL_ORIGIN_TEXT_MAX];

	resolver_dispute(r, link, origin, "is %s of '%s', as is %s: say it in one place", what, link,
	                 model_format_origin(r->config->common, first, where));
}

/* What stands twice under one name is an error of the configuration's. */
static void dispute_other_dhcp(struct resolver *r, const struct resolved_dhcp *resolved)
{
	const struct resolution *resolution = r->resolution;
	sa_family_t family = resolved->dhcp->family;

	for (size_t i = 0; i < resolution->n_dhcps; i++) {
		const struct resolved_dhcp *other = &resolution->dhcps[i];

		if (other->dhcp->family != family || strcmp(other->link, resolved->link) != 0)
			continue;
		dispute_twin(r, resolved->link, &resolved->dhcp->origin,
		             family == AF_INET ? "DHCPv4" : "DHCPv6", &other->dhcp->origin);
		return;
	}
}

static void add_dhcp(struct resolver *r, const struct config_dhcp *dhcp)
{
	struct resolution *resolution = r->resolution;
	struct names names;

	resolver_find_names(r, &dhcp->ref, &dhcp->origin, &names);
	for (size_t i = 0; i < names.n; i++) {
		struct resolved_dhcp resolved = {.dhcp = dhcp};
		const struct link *link;

		if (dhcp->vlan_id != 0)
			vlanname_form(names.items[i], dhcp->vlan_id, resolved.link);
		else
			memcpy(resolved.link, names.items[i], sizeof(resolved.link));
		link = link_of(r, want_link(r, resolved.link, &dhcp->origin));
		if (is_busy_port(r, link))
			resolver_dispute(r, resolved.link, &dhcp->origin,
			                 "is DHCP on '%s', which is a port of '%s'", resolved.link,
			                 link->master);
		dispute_other_dhcp(r, &resolved);
		resolution->dhcps =
		    xreallocarray(resolution->dhcps, resolution->n_dhcps + 1, sizeof(*resolution->dhcps));
		resolution->dhcps[resolution->n_dhcps++] = resolved;
	}
	names_fini(&names);
}

static void add_ethernet(struct resolver *r, const struct config_ethernet *ethernet)
{
	struct resolution *resolution = r->resolution;
	const char *name = resolver_find_name(r, ethernet->ref.name, &ethernet->origin);
	struct resolved_ethernet *resolved;

	if (name == NULL)
		return;
	for (size_t i = 0; i < resolution->n_ethernets; i++) {
		if (strcmp(resolution->ethernets[i].link, name) == 0)
			dispute_twin(r, name, &ethernet->origin, "Ethernet",
			             &resolution->ethernets[i].config->origin);
	}
	resolution->ethernets = xreallocarray(resolution->ethernets, resolution->n_ethernets + 1,
	                                      sizeof(*resolution->ethernets));
	resolved = &resolution->ethernets[resolution->n_ethernets++];
	*resolved = (struct resolved_ethernet){.config = ethernet};
	(void) snprintf(resolved->link, sizeof(resolved->link), "%s", name);
}

/* A rule may name a link that is not there, now or ever; an alias stands for one that is. */
static void name_links_of_rules(struct resolver *r)
{
	struct model *model = r->resolution->model;

	for (size_t i = 0; i < model->n_rules; i++) {
		struct rule *rule = &model->rules[i];
		const struct alias *iif = resolver_alias_of(r, rule->iif),
		                   *oif = resolver_alias_of(r, rule->oif);

		if (iif != NULL)
			memcpy(rule->iif, iif->device->name, sizeof(rule->iif));
		if (oif != NULL)
			memcpy(rule->oif, oif->device->name, sizeof(rule->oif));
	}
}

/* --- tables --- */

/* What comes in by a VRF's port is looked up in the VRF's table, so that is where its routes
 * belong; the kernel moves only those that it makes itself. */
static void place_routes(struct resolver *r)
{
	struct model *model = r->resolution->model;

	for (size_t i = 0; i < model->n_routes; i++) {
		struct route *route = &model->routes[i];
		const struct link *vrf = model_find_link(model, route->link);

		if (vrf != NULL && vrf->kind != LINK_VRF)
			vrf = model_find_link(model, vrf->master);
		if (vrf != NULL && vrf->kind == LINK_VRF && route->table == RT_TABLE_MAIN)
			route->table = vrf->table;
	}
}

/* --- the whole --- */

static void take_aliases(struct resolver *r)
{
	struct resolution *resolution = r->resolution;

	resolution->aliases = xcalloc(r->n_aliases, sizeof(*resolution->aliases));
	resolution->n_aliases = r->n_aliases;
	for (size_t i = 0; i < r->n_aliases; i++) {
		resolution->aliases[i].name = r->aliases[i].name;
		memcpy(resolution->aliases[i].link, r->aliases[i].device->name,
		       sizeof(resolution->aliases[i].link));
	}
	free(r->aliases);
}

struct resolution *resolve(const struct config *config, const struct device *devices,
                           size_t n_devices)
{
	struct resolver r = {.config = config, .devices = devices, .n_devices = n_devices};

	r.resolution = NEW0(struct resolution);
	r.resolution->model = model_copy(config->common);
	for (size_t i = 0; i < config->n_aliases; i++)
		resolver_find_alias(&r, &config->aliases[i]);
	for (size_t i = 0; i < config->n_links; i++)
		add_link(&r, &config->links[i]);
	for (size_t i = 0; i < config->n_links; i++) {
		if (!config->links[i].is_ignored && config->links[i].ref.name != NULL)
			add_ports(&r, &config->links[i]);
	}
	for (size_t i = 0; i < config->n_dhcps; i++)
		add_dhcp(&r, &config->dhcps[i]);
	for (size_t i = 0; i < config->n_ethernets; i++)
		add_ethernet(&r, &config->ethernets[i]);
	name_links_of_rules(&r);
	model_normalise(r.resolution->model);
	place_routes(&r);
	model_normalise(r.resolution->model);
	take_aliases(&r);
	free(r.known);
	return r.resolution;
}

void resolution_free(struct resolution *resolution)
{
	if (resolution == NULL)
		return;
	model_free(resolution->model);
	for (size_t i = 0; i < resolution->n_aliases; i++)
		free(resolution->aliases[i].name);
	free(resolution->aliases);
	free(resolution->dhcps);
	free(resolution->ethernets);
	conf_strings_fini(&resolution->ignored);
	conf_strings_fini(&resolution->waiting);
	conf_strings_fini(&resolution->problems);
	conf_strings_fini(&resolution->disputed);
	conf_strings_fini(&resolution->notes);
	free(resolution);
}

bool resolution_disputes(const struct resolution *resolution, const char *link)
{
	for (size_t i = 0; i < resolution->disputed.n; i++) {
		if (strcmp(resolution->disputed.items[i], link) == 0)
			return true;
	}
	return false;
}

bool resolution_ignores(const struct resolution *resolution, const struct config *config,
                        const char *link)
{
	for (size_t i = 0; i < resolution->ignored.n; i++) {
		if (strcmp(resolution->ignored.items[i], link) == 0)
			return true;
	}
	for (size_t i = 0; i < config->policy.ignore_links.n; i++) {
		if (selector_glob(config->policy.ignore_links.items[i], link))
			return true;
	}
	return false;
}
