/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a step on a link does besides what it says: one that goes down loses its routes and takes
 * its VLANs along, a port gets its bond's MTU, a link that is deleted takes all that is on it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "netconf/plan/plan_priv.h"

#define MTU_INITIAL 1500

static bool on_link(const char *link, const char *name)
{
	return strcmp(link, name) == 0;
}

static int compare_links(const void *a, const void *b)
{
	return link_compare(a, b);
}

/* --- up and down --- */

static void lose_ipv6(struct model *now, const char *name, struct model *lost)
{
	for (size_t i = now->n_addresses; i-- > 0;) {
		const struct address *address = &now->addresses[i];

		if (on_link(address->link, name) && address->prefix.addr.family == AF_INET6 &&
		    !addr_is_linklocal(&address->prefix.addr))
			effect_lose_address(now, i, lost);
	}
}

static bool follows_parent(const struct link *link, const char *parent)
{
	return link->kind == LINK_VLAN && strcmp(link->parent, parent) == 0 &&
	       (link->vlan_flags & LINK_VLAN_LOOSE_BINDING) == 0;
}

static void go_down(struct model *now, struct link *link, struct model *lost)
{
	if (!link->up)
		return;
	link->up = false;
	effect_lose_routes(now, link->name, AF_UNSPEC, lost);
	lose_ipv6(now, link->name, lost);
	for (size_t i = 0; i < now->n_links; i++) {
		if (follows_parent(&now->links[i], link->name))
			go_down(now, &now->links[i], lost);
	}
}

static void go_up(struct model *now, struct link *link)
{
	if (link->up)
		return;
	link->up = true;
	for (size_t i = 0; i < now->n_links; i++) {
		if (follows_parent(&now->links[i], link->name))
			go_up(now, &now->links[i]);
	}
}

/* --- MTU, master --- */

static void set_mtu(struct model *now, struct link *link, uint32_t mtu)
{
	bool is_bond = link->kind == LINK_BOND;

	link->mtu = mtu;
	for (size_t i = 0; i < now->n_links; i++) {
		struct link *other = &now->links[i];

		if (is_bond && on_link(other->master, link->name) && other->mtu != mtu)
			set_mtu(now, other, mtu);
		else if (other->kind == LINK_VLAN && on_link(other->parent, link->name) && other->mtu > mtu)
			set_mtu(now, other, mtu);
	}
}

uint32_t effect_table_of(const struct model *model, const char *master)
{
	const struct link *link = model_find_link(model, master);

	return link != NULL && link->kind == LINK_VRF ? link->table : RT_TABLE_MAIN;
}

static void set_master(struct model *now, struct link *link, const char *name, struct model *lost)
{
	const struct link *old = model_find_link(now, link->master);
	const struct link *master = model_find_link(now, name);
	bool was_up = link->up;

	effect_move_connected(now, link->name, effect_table_of(now, link->master),
	                      effect_table_of(now, name));
	if (old != NULL && old->kind == LINK_BOND)
		go_down(now, link, lost);
	(void) snprintf(link->master, sizeof(link->master), "%s", name);
	if (master != NULL && master->kind == LINK_BOND) {
		go_up(now, link);
		set_mtu(now, link, master->mtu);
	}
	/* A VRF shuts its new port and opens it again, and so does one that lets it go. */
	if (was_up &&
	    ((master != NULL && master->kind == LINK_VRF) || (old != NULL && old->kind == LINK_VRF))) {
		go_down(now, link, lost);
		go_up(now, link);
	}
}

void effect_link_set(struct model *now, const struct op *op, struct model *lost)
{
	struct link *link = model_find_link(now, op->link.name);
	const struct link *to = &op->link;

	if (link == NULL)
		return;
	link_set(link, to, op->attributes & link_attrs_with(LINK_SET));
	link->has |= op->attributes;
	if ((op->attributes & LINK_HAS_MTU) != 0)
		set_mtu(now, link, to->mtu);
	if ((op->attributes & LINK_HAS_MASTER) != 0)
		set_master(now, link, to->master, lost);
	if ((op->attributes & LINK_HAS_UP) != 0 && to->up)
		go_up(now, link);
	else if ((op->attributes & LINK_HAS_UP) != 0)
		go_down(now, link, lost);
}

/* --- making and deleting --- */

static struct bond *new_bond(const struct bond *given)
{
	struct bond *bond = NEW0(struct bond);

	bond->has = BOND_BIT(BOND_OPTIONS) - 1;
	for (unsigned i = 0; i < BOND_OPTIONS; i++)
		bond->values[i] = bond_options[i].initial;
	if (given == NULL)
		return bond;
	for (enum bond_option option = 0; option < BOND_OPTIONS; option++) {
		if (bond_has(given, option))
			bond->values[option] = given->values[option];
	}
	bond->ad_actor_system = given->ad_actor_system;
	memcpy(bond->arp_targets, given->arp_targets, sizeof(bond->arp_targets));
	memcpy(bond->ns_targets, given->ns_targets, sizeof(bond->ns_targets));
	bond->n_arp_targets = given->n_arp_targets;
	bond->n_ns_targets = given->n_ns_targets;
	bond_normalise(bond);
	return bond;
}

static void insert_link(struct model *now, const struct link *values)
{
	struct link *link = model_add_link(now, values->name, values->kind);
	const struct link *parent;

	link_copy(values, link);
	link->owner = OWNER_OURS;
	link->group = NETCONF_PROTOCOL;
	link->carrier = false;
	link_begin(link, LINK_HAS_UP | LINK_HAS_MASTER | ~values->has);
	effect_settle_last(now->links, now->n_links, sizeof(*link), compare_links);
	link = model_find_link(now, values->name);
	parent = model_find_link(now, link->parent);
	if (!link_has(values, LINK_HAS_MTU))
		link->mtu = parent != NULL ? parent->mtu : MTU_INITIAL;
	if (link->kind == LINK_BOND) {
		free(link->bond);
		link->bond = new_bond(values->bond);
	}
}

void effect_link_create(struct model *now, const struct link *values)
{
	struct link peer = {.kind = LINK_VETH, .has = LINK_HAS_PEER};

	insert_link(now, values);
	if (values->kind != LINK_VETH)
		return;
	memcpy(peer.name, values->peer, sizeof(peer.name));
	memcpy(peer.peer, values->name, sizeof(peer.peer));
	insert_link(now, &peer);
}

void effect_link_delete(struct model *now, const char *gone, struct model *lost)
{
	char name[IFNAMSIZ], peer[IFNAMSIZ];
	struct link *link = model_find_link(now, gone);

	if (link == NULL)
		return;
	memcpy(name, link->name, sizeof(name));
	memcpy(peer, link->kind == LINK_VETH ? link->peer : "", link->kind == LINK_VETH ? IFNAMSIZ : 1);
	for (size_t i = 0; i < now->n_links; i++) {
		if (on_link(now->links[i].master, name))
			set_master(now, &now->links[i], "", lost);
	}
	effect_lose_all_on(now, name, lost);
	link = model_find_link(now, name);
	model_remove_link(now, (size_t) (link - now->links));
	for (size_t i = 0; i < now->n_links;) {
		const struct link *child = &now->links[i];

		if (child->kind == LINK_VLAN && on_link(child->parent, name)) {
			effect_link_delete(now, child->name, lost);
			i = 0;
		} else {
			i++;
		}
	}
	if (peer[0] != '\0')
		effect_link_delete(now, peer, lost);
}

void effect_bond_set(struct model *now, const struct op *op)
{
	struct link *link = model_find_link(now, op->link.name);

	if (link == NULL || link->bond == NULL)
		return;
	for (enum bond_option option = 0; option < BOND_OPTIONS; option++) {
		if ((op->options & BOND_BIT(option)) == 0)
			continue;
		bond_set(link->bond, option, op->link.bond->values[option]);
		/* One monitor switches the other off. */
		if (option == BOND_MIIMON && op->link.bond->values[option] > 0) {
			bond_set(link->bond, BOND_ARP_INTERVAL, 0);
			bond_set(link->bond, BOND_ARP_VALIDATE, 0);
		}
		switch (bond_options[option].type) {
		case BOND_PORT:
			if (option == BOND_PRIMARY)
				memcpy(link->bond->primary, op->link.bond->primary, IFNAMSIZ);
			else
				memcpy(link->bond->active_port, op->link.bond->active_port, IFNAMSIZ);
			break;
		case BOND_IPV4:
			memcpy(link->bond->arp_targets, op->link.bond->arp_targets,
			       sizeof(link->bond->arp_targets));
			link->bond->n_arp_targets = op->link.bond->n_arp_targets;
			break;
		case BOND_IPV6:
			memcpy(link->bond->ns_targets, op->link.bond->ns_targets,
			       sizeof(link->bond->ns_targets));
			link->bond->n_ns_targets = op->link.bond->n_ns_targets;
			break;
		case BOND_MAC:
			link->bond->ad_actor_system = op->link.bond->ad_actor_system;
			break;
		case BOND_U8:
		case BOND_U16:
		case BOND_U32:
			break;
		}
	}
	bond_normalise(link->bond);
}

void effect_wireguard_set(struct model *now, const struct link *to)
{
	struct link *link = model_find_link(now, to->name);

	if (link == NULL || to->wireguard == NULL)
		return;
	wireguard_free(link->wireguard);
	link->wireguard = wireguard_copy(to->wireguard);
}

/* The kernel has link-local addresses of IPv6 on whatever is open. */
static bool has_addresses(const struct model *model, const char *name)
{
	for (size_t i = model_first_address(model, name); model_is_address_of(model, i, name); i++) {
		const struct address *address = &model->addresses[i];

		if (address->owner != OWNER_KERNEL || address->prefix.addr.family != AF_INET6 ||
		    !addr_is_linklocal(&address->prefix.addr))
			return true;
	}
	return false;
}

const struct link *effect_other_end(const struct model *model, const char *name)
{
	const struct link *link = model_find_link(model, name);

	return link != NULL && link->kind == LINK_VETH ? model_find_link(model, link->peer) : NULL;
}

bool effect_carries(const struct model *model, const char *name)
{
	if (has_addresses(model, name))
		return true;
	for (size_t i = 0; i < model->n_routes; i++) {
		if (model->routes[i].owner != OWNER_KERNEL && on_link(model->routes[i].link, name))
			return true;
	}
	return false;
}

bool effect_is_used(const struct model *model, const char *name)
{
	if (effect_carries(model, name))
		return true;
	for (size_t i = 0; i < model->n_links; i++) {
		const struct link *link = &model->links[i];

		if (on_link(link->parent, name) || on_link(link->master, name) ||
		    (on_link(link->name, name) && link->master[0] != '\0'))
			return true;
	}
	return false;
}

bool effect_is_below(const struct model *model, const char *below, const char *name)
{
	const struct link *link = model_find_link(model, name), *other;

	if (strcmp(below, name) == 0)
		return true;
	if (link != NULL && link->kind == LINK_VLAN && link->parent[0] != '\0' &&
	    effect_is_below(model, below, link->parent))
		return true;
	other = model_find_link(model, below);
	return other != NULL && other->master[0] != '\0' && strcmp(other->master, below) != 0 &&
	       effect_is_below(model, other->master, name);
}
