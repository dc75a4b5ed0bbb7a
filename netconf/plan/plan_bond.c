/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of a bond, at the least cost that the kernel allows: live where it can be; the bond
 * down with its ports kept; emptied but up; down and empty only for another mode. Before a bond
 * goes down its VLANs are told to hold on by loose binding, and what was lost on the bond itself is
 * put back as soon as it is up again.
 */
#include <string.h>

#include "base/mem.h"
#include "netconf/plan/plan_priv.h"

#define CARRIER_WAIT_MS \
	10000 /* LACP's slow rate aside, ports and switches agree well within it \
	       */
#define BOND_PORTS (BOND_BIT(BOND_PRIMARY) | BOND_BIT(BOND_ACTIVE_SLAVE))

static uint64_t of_constraint(uint64_t options, enum bond_constraint constraint)
{
	uint64_t chosen = 0;

	for (unsigned i = 0; i < BOND_OPTIONS; i++) {
		if (bond_options[i].constraint == constraint)
			chosen |= options & BOND_BIT(i);
	}
	return chosen;
}

static uint64_t delays(void)
{
	uint64_t options = 0;

	for (enum bond_option option = 0; option < BOND_OPTIONS; option++) {
		if (bond_options[option].needs_miimon)
			options |= BOND_BIT(option);
	}
	return options;
}

/* The kernel keeps delays as multiples of miimon, so that a new one changes them all; without
 * miimon it takes none, not even 0. */
static uint64_t with_delays(const struct bond *want, uint64_t options)
{
	if (bond_get(want, BOND_MIIMON) == 0)
		return options & ~delays();
	if ((options & BOND_BIT(BOND_MIIMON)) != 0)
		options |= want->has & delays();
	return options;
}

/* But for ports, and for a min_links that goes up: both wait until the ports are there. */
static uint64_t differing(const struct planner *p, const struct link *want)
{
	const struct link *now = model_find_link(p->now, want->name);
	uint64_t options;

	if (now == NULL || now->bond == NULL)
		return 0;
	options = bond_differs(want->bond, now->bond) & ~BOND_PORTS;
	if (want->bond->values[BOND_MIN_LINKS] > now->bond->values[BOND_MIN_LINKS])
		options &= ~BOND_BIT(BOND_MIN_LINKS);
	return with_delays(want->bond, options);
}

/* It has no ports yet. */
uint64_t plan_bond_creatable(const struct bond *bond)
{
	return with_delays(bond, bond->has) & ~BOND_PORTS;
}

static bool set_options(struct planner *p, const struct link *want, uint64_t options,
                        enum op_class class)
{
	struct op op = {.kind = OP_BOND_SET, .class = class, .options = options};

	if (options == 0)
		return true;
	memcpy(op.link.name, want->name, sizeof(op.link.name));
	op.link.kind = LINK_BOND;
	op.link.bond = xmemdup(want->bond, sizeof(*want->bond));
	return planner_push(p, &op);
}

void plan_wait_carrier(struct planner *p, const char *name)
{
	struct op op = {.kind = OP_WAIT_CARRIER, .class = OP_HITLESS, .wait_ms = CARRIER_WAIT_MS};

	memcpy(op.link.name, name, strlen(name));
	(void) planner_push(p, &op);
}

/* --- what going down costs --- */

static bool loses_objects(const struct model *now, const char *name)
{
	for (size_t i = 0; i < now->n_routes; i++) {
		if (strcmp(now->routes[i].link, name) == 0 && now->routes[i].owner != OWNER_KERNEL)
			return true;
	}
	for (size_t i = 0; i < now->n_addresses; i++) {
		const struct address *address = &now->addresses[i];

		if (strcmp(address->link, name) == 0 && address->prefix.addr.family == AF_INET6 &&
		    !addr_is_linklocal(&address->prefix.addr))
			return true;
	}
	return false;
}

enum op_class plan_down_class(const struct planner *p, const char *name)
{
	const struct link *link = model_find_link(p->now, name);

	if (link == NULL || !link->up)
		return OP_HITLESS;
	if (loses_objects(p->now, name))
		return OP_ADDRESS_BREAK;
	for (size_t i = 0; i < p->now->n_links; i++) {
		const struct link *child = &p->now->links[i];

		if (child->kind == LINK_VLAN && strcmp(child->parent, name) == 0 &&
		    (child->vlan_flags & LINK_VLAN_LOOSE_BINDING) == 0 &&
		    plan_down_class(p, child->name) == OP_ADDRESS_BREAK)
			return OP_ADDRESS_BREAK;
	}
	return OP_BLIP;
}

/* --- holding on to VLANs --- */

/* Sets or takes back loose binding on the VLANs of `before` that had none. */
static void bind_vlans(struct planner *p, const struct model *before, const char *bond, bool loose)
{
	for (size_t i = 0; i < before->n_links; i++) {
		struct link vlan = before->links[i];

		if (vlan.kind != LINK_VLAN || strcmp(vlan.parent, bond) != 0 ||
		    (vlan.vlan_flags & LINK_VLAN_LOOSE_BINDING) != 0)
			continue;
		if (loose)
			vlan.vlan_flags |= LINK_VLAN_LOOSE_BINDING;
		(void) planner_set(p, vlan.name, &vlan, LINK_HAS_VLAN_FLAGS, OP_HITLESS);
	}
}

/* --- ports out and in again --- */

static void release_ports(struct planner *p, const struct model *before, const char *bond)
{
	for (size_t i = 0; i < before->n_links; i++) {
		if (strcmp(before->links[i].master, bond) == 0)
			(void) planner_set(p, before->links[i].name, &(struct link){.master = ""},
			                   LINK_HAS_MASTER, OP_BLIP);
	}
}

/* In the order wanted, since the bond takes the first one's MAC; those that leave anyway, never. */
static void take_ports(struct planner *p, const struct model *before, const char *bond)
{
	struct link values = {0};

	memcpy(values.master, bond, strlen(bond));
	for (unsigned at = 0; at <= before->n_links; at++) {
		for (size_t i = 0; i < before->n_links; i++) {
			const struct link *link = &before->links[i];
			const struct link *want = model_find_link(p->want, link->name);
			unsigned position = want != NULL && strcmp(want->master, bond) == 0
			                        ? MIN(want->position, (unsigned) before->n_links)
			                        : (unsigned) before->n_links;

			if (strcmp(link->master, bond) != 0 || position != at)
				continue;
			(void) planner_set(p, link->name, &values, LINK_HAS_MASTER, OP_BLIP);
		}
	}
}

static size_t count_ports(const struct model *model, const char *bond)
{
	size_t n = 0;

	for (size_t i = 0; i < model->n_links; i++)
		n += strcmp(model->links[i].master, bond) == 0;
	return n;
}

/* --- changing --- */

/* Everything that is not live, in one go: the bond goes down at most once. */
static void change_closed(struct planner *p, const struct link *want, uint64_t options)
{
	const uint64_t down = of_constraint(options, BOND_NEEDS_DOWN);
	const uint64_t both = of_constraint(options, BOND_NEEDS_DOWN_EMPTY);
	const uint64_t empty = of_constraint(options, BOND_NEEDS_EMPTY);
	AUTO(model_free) struct model *before = model_copy(p->now);
	bool was_up = model_find_link(before, want->name)->up;
	bool has_ports = count_ports(before, want->name) > 0;
	bool shut = was_up && (down | both) != 0;
	bool clear = has_ports && (both | empty) != 0;

	if ((shut || clear) && !planner_allows(p, OP_BLIP))
		return;
	if (shut) {
		bind_vlans(p, before, want->name, true);
		(void) planner_set_up(p, want->name, false, plan_down_class(p, want->name));
	}
	if (clear)
		release_ports(p, before, want->name);
	(void) set_options(p, want, both, OP_HITLESS);
	(void) set_options(p, want, empty, OP_HITLESS);
	/* Another mode has other options. */
	(void) set_options(p, want, of_constraint(differing(p, want), BOND_NEEDS_DOWN), OP_HITLESS);
	if (clear)
		take_ports(p, before, want->name);
	if (shut) {
		(void) planner_set_up(p, want->name, true, OP_HITLESS);
		bind_vlans(p, before, want->name, false);
	}
	if (shut || clear) {
		plan_put_back(p);
		plan_wait_carrier(p, want->name);
	}
}

/* ARP's monitor goes by when a port last heard something, which none notes before it runs, or notes
 * as often as it asks. A port that was quiet for longer than the new one is patient counts as dead
 * until an answer comes. */
static bool may_seem_dead(const struct bond *want, const struct bond *now, uint64_t options)
{
	uint64_t patience =
	    (uint64_t) bond_get(want, BOND_ARP_INTERVAL) * bond_get(want, BOND_MISSED_MAX);
	uint32_t quiet = bond_get(now, BOND_ARP_INTERVAL);

	return (options & BOND_BIT(BOND_ARP_INTERVAL)) != 0 && patience > 0 &&
	       (quiet == 0 || quiet > patience);
}

/* Most of what the kernel changes at any time costs nothing. To the switch a bond of another system
 * is another bond: it agrees with its ports anew. */
static enum op_class live_class(const struct planner *p, const struct link *want, uint64_t options)
{
	const uint64_t system = BOND_BIT(BOND_AD_ACTOR_SYS_PRIO) | BOND_BIT(BOND_AD_ACTOR_SYSTEM);
	const struct link *now = model_find_link(p->now, want->name);

	if (!now->up || count_ports(p->now, want->name) == 0)
		return OP_HITLESS;
	return (options & system) != 0 || may_seem_dead(want->bond, now->bond, options) ? OP_BLIP
	                                                                                : OP_HITLESS;
}

static void change_live(struct planner *p, const struct link *want, uint64_t options)
{
	/* What is live for the new mode may be senseless in the old one. */
	if ((options & BOND_BIT(BOND_MODE)) != 0)
		return;
	options = of_constraint(options, BOND_LIVE);
	(void) set_options(p, want, options, live_class(p, want, options));
}

static void change(struct planner *p, const struct link *want)
{
	uint64_t options = differing(p, want);

	change_live(p, want, options);
	options &= ~of_constraint(options, BOND_LIVE);
	if (options != 0)
		change_closed(p, want, options);
	change_live(p, want, differing(p, want));
}

void plan_bonds(struct planner *p)
{
	for (size_t i = 0; i < p->want->n_links; i++) {
		if (p->want->links[i].bond != NULL && differing(p, &p->want->links[i]) != 0)
			change(p, &p->want->links[i]);
	}
}

static bool is_port_of(const struct link *port, const char *bond)
{
	return port != NULL && strcmp(port->master, bond) == 0;
}

/* Frames take the primary from the moment on in which it is one: where none may be lost, that is
 * when it was seen to carry them. */
static bool may_be_primary(const struct planner *p, const struct link *port)
{
	return planner_allows(p, OP_BLIP) || plan_port_is_live(p, port);
}

/* The one that is not there yet is waited for; nothing else is. */
void plan_bonds_primary(struct planner *p)
{
	for (size_t i = 0; i < p->want->n_links; i++) {
		const struct link *want = &p->want->links[i];
		const struct link *now = model_find_link(p->now, want->name), *port;
		uint64_t options;

		if (want->bond == NULL || now == NULL || now->bond == NULL)
			continue;
		options = bond_differs(want->bond, now->bond) & BOND_BIT(BOND_PRIMARY);
		port = model_find_link(p->now, want->bond->primary);
		if (options == 0)
			continue;
		if (want->bond->primary[0] == '\0' ||
		    (is_port_of(port, want->name) && may_be_primary(p, port)))
			(void) set_options(p, want, options, OP_HITLESS);
		else if (!is_port_of(port, want->name))
			planner_obstacle(p, PLAN_MISSING_LINK, &want->origin,
			                 "the primary port of '%s', '%s', is not there", want->name,
			                 want->bond->primary);
	}
}
