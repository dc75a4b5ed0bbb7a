/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a step does to a network besides what it says: a link that goes down loses its routes and
 * takes its VLANs along, a port gets its bond's MTU, a primary address dies with its secondaries.
 * The planner does each step to a model, so that it knows what is there when the next one comes,
 * and what the kernel dropped meanwhile. Facts: kernels 6.1 and 6.18, tried.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "netconf/plan_priv.h"

#define MTU_INITIAL 1500

/* --- sorted lists --- */

/* Moves the last element to where it belongs; each list is sorted but for its last. */
static void settle_last(void *list, size_t n, size_t size,
                        int (*compare)(const void *, const void *))
{
	char *base = list, *last = base + (n - 1) * size;
	AUTO(free) void *kept = xmemdup(last, size);
	size_t low = 0, high = n - 1;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(base + middle * size, kept) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	memmove(base + (low + 1) * size, base + low * size, (n - 1 - low) * size);
	memcpy(base + low * size, kept, size);
}

static int compare_links(const void *a, const void *b)
{
	return link_compare(a, b);
}

static int compare_addresses(const void *a, const void *b)
{
	return address_compare(a, b);
}

static int compare_routes(const void *a, const void *b)
{
	return route_compare(a, b);
}

static int compare_rules(const void *a, const void *b)
{
	return rule_compare(a, b);
}

static void copy_raw(struct raw_message *raw)
{
	if (raw->data != NULL)
		raw->data = xmemdup(raw->data, raw->len);
}

void effect_insert_address(struct model *model, const struct address *address)
{
	struct address *copy = model_add_address(model, address->link, &address->prefix);

	*copy = *address;
	copy_raw(&copy->raw);
	settle_last(model->addresses, model->n_addresses, sizeof(*copy), compare_addresses);
}

void effect_insert_route(struct model *model, const struct route *route)
{
	struct route *copy = model_add_route(model, &route->dst);

	*copy = *route;
	copy_raw(&copy->raw);
	settle_last(model->routes, model->n_routes, sizeof(*copy), compare_routes);
}

void effect_insert_wanted_route(struct model *want, const struct route *route)
{
	for (size_t i = 0; i < want->n_routes; i++) {
		if (route_compare_key(&want->routes[i], route) == 0)
			return;
	}
	effect_insert_route(want, route);
}

static void insert_rule(struct model *model, const struct rule *rule)
{
	struct rule *copy = model_add_rule(model, rule->family, rule->priority);

	*copy = *rule;
	copy_raw(&copy->raw);
	settle_last(model->rules, model->n_rules, sizeof(*copy), compare_rules);
}

static void lose_address(struct model *now, size_t i, struct model *lost)
{
	effect_insert_address(lost, &now->addresses[i]);
	model_remove_address(now, i);
}

static void lose_route(struct model *now, size_t i, struct model *lost)
{
	effect_insert_route(lost, &now->routes[i]);
	model_remove_route(now, i);
}

/* --- up and down --- */

static bool on_link(const char *link, const char *name)
{
	return strcmp(link, name) == 0;
}

/* Those of the kernel are made anew when the link comes up, as long as it has the address. */
static void lose_routes(struct model *now, const char *name, sa_family_t family, struct model *lost)
{
	for (size_t i = now->n_routes; i-- > 0;) {
		const struct route *route = &now->routes[i];

		if (on_link(route->link, name) && route->owner != OWNER_KERNEL &&
		    (family == AF_UNSPEC || route->dst.addr.family == family))
			lose_route(now, i, lost);
	}
}

static void lose_ipv6(struct model *now, const char *name, struct model *lost)
{
	for (size_t i = now->n_addresses; i-- > 0;) {
		const struct address *address = &now->addresses[i];

		if (on_link(address->link, name) && address->prefix.addr.family == AF_INET6 &&
		    !addr_is_linklocal(&address->prefix.addr))
			lose_address(now, i, lost);
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
	lose_routes(now, link->name, AF_UNSPEC, lost);
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

static void set_master(struct model *now, struct link *link, const char *name, struct model *lost)
{
	const struct link *old = model_find_link(now, link->master);
	const struct link *master = model_find_link(now, name);
	bool was_up = link->up;

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

static void set_link(struct model *now, const struct op *op, struct model *lost)
{
	struct link *link = model_find_link(now, op->link.name);
	const struct link *to = &op->link;

	if (link == NULL)
		return;
	link->has |= op->attributes;
	if ((op->attributes & LINK_HAS_MAC) != 0)
		link->mac = to->mac;
	if ((op->attributes & LINK_HAS_MULTICAST) != 0)
		link->multicast = to->multicast;
	if ((op->attributes & LINK_HAS_VLAN_FLAGS) != 0)
		link->vlan_flags = to->vlan_flags;
	if ((op->attributes & LINK_HAS_STP) != 0)
		link->stp = to->stp;
	if ((op->attributes & LINK_HAS_VLAN_FILTERING) != 0)
		link->vlan_filtering = to->vlan_filtering;
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
	link->up = false;
	link->carrier = false;
	link->master[0] = '\0';
	link->has |= LINK_HAS_UP | LINK_HAS_MTU | LINK_HAS_MASTER | LINK_HAS_MULTICAST;
	if (!link_has(values, LINK_HAS_MULTICAST))
		link->multicast = true;
	settle_last(now->links, now->n_links, sizeof(*link), compare_links);
	link = model_find_link(now, values->name);
	parent = model_find_link(now, link->parent);
	if (!link_has(values, LINK_HAS_MTU))
		link->mtu = parent != NULL ? parent->mtu : MTU_INITIAL;
	if (link->kind == LINK_BOND) {
		free(link->bond);
		link->bond = new_bond(values->bond);
	}
	if (link->kind == LINK_VLAN && !link_has(values, LINK_HAS_VLAN_FLAGS)) {
		link->vlan_flags = LINK_VLAN_REORDER_HDR;
		link->has |= LINK_HAS_VLAN_FLAGS;
	}
	link->has |= link->kind == LINK_BRIDGE ? LINK_HAS_STP | LINK_HAS_VLAN_FILTERING : 0;
}

static void create_link(struct model *now, const struct link *values)
{
	struct link peer = {.kind = LINK_VETH, .has = LINK_HAS_PEER};

	insert_link(now, values);
	if (values->kind != LINK_VETH)
		return;
	memcpy(peer.name, values->peer, sizeof(peer.name));
	memcpy(peer.peer, values->name, sizeof(peer.peer));
	insert_link(now, &peer);
}

static void delete_link(struct model *now, const char *gone, struct model *lost)
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
	for (size_t i = now->n_addresses; i-- > 0;) {
		if (on_link(now->addresses[i].link, name))
			lose_address(now, i, lost);
	}
	for (size_t i = now->n_routes; i-- > 0;) {
		if (on_link(now->routes[i].link, name))
			lose_route(now, i, lost);
	}
	link = model_find_link(now, name);
	model_remove_link(now, (size_t) (link - now->links));
	for (size_t i = 0; i < now->n_links;) {
		const struct link *child = &now->links[i];

		if (child->kind == LINK_VLAN && on_link(child->parent, name)) {
			delete_link(now, child->name, lost);
			i = 0;
		} else {
			i++;
		}
	}
	if (peer[0] != '\0')
		delete_link(now, peer, lost);
}

static void set_bond(struct model *now, const struct op *op)
{
	struct link *link = model_find_link(now, op->link.name);

	if (link == NULL || link->bond == NULL)
		return;
	for (enum bond_option option = 0; option < BOND_OPTIONS; option++) {
		if ((op->options & BOND_BIT(option)) == 0)
			continue;
		bond_set(link->bond, option, op->link.bond->values[option]);
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

/* --- addresses --- */

static bool has_address(const struct model *now, const char *link, sa_family_t family)
{
	for (size_t i = 0; i < now->n_addresses; i++) {
		if (on_link(now->addresses[i].link, link) && now->addresses[i].prefix.addr.family == family)
			return true;
	}
	return false;
}

static bool same_subnet(const struct address *a, const struct address *b)
{
	return on_link(a->link, b->link) && a->prefix.len == b->prefix.len &&
	       prefix_contains(&a->prefix, &b->prefix.addr);
}

static void delete_address(struct model *now, const struct address *gone, struct model *lost)
{
	const struct address *found = model_find_address(now, gone->link, &gone->prefix);
	bool is_primary;

	if (found == NULL)
		return;
	is_primary = found->prefix.addr.family == AF_INET && (found->state & IFA_F_SECONDARY) == 0;
	model_remove_address(now, (size_t) (found - now->addresses));
	for (size_t i = now->n_addresses; i-- > 0 && is_primary;) {
		if ((now->addresses[i].state & IFA_F_SECONDARY) != 0 &&
		    same_subnet(&now->addresses[i], gone))
			lose_address(now, i, lost);
	}
	/* Routes that leave from it go, and all of its family with the last one. */
	for (size_t i = now->n_routes; i-- > 0;) {
		if (now->routes[i].dst.addr.family == AF_INET &&
		    addr_equal(&now->routes[i].src, &gone->prefix.addr) &&
		    now->routes[i].owner != OWNER_KERNEL)
			lose_route(now, i, lost);
	}
	if (gone->prefix.addr.family == AF_INET && !has_address(now, gone->link, AF_INET))
		lose_routes(now, gone->link, AF_INET, lost);
}

static void add_address(struct model *now, const struct op *op)
{
	struct address address = op->address;

	for (size_t i = 0; i < now->n_addresses && address.prefix.addr.family == AF_INET; i++) {
		if (same_subnet(&now->addresses[i], &address))
			address.state |= IFA_F_SECONDARY;
	}
	if (!op->is_restoring) {
		address.owner = OWNER_OURS;
		address.protocol = NETCONF_PROTOCOL;
	}
	effect_insert_address(now, &address);
}

static void change_address(struct model *now, const struct address *to)
{
	struct address *found = model_find_address(now, to->link, &to->prefix);

	if (found == NULL)
		return;
	found->priority = to->priority;
	found->valid_s = to->valid_s;
	found->preferred_s = to->preferred_s;
}

/* --- routes and rules --- */

static void remove_route(struct model *now, const struct route *gone)
{
	for (size_t i = 0; i < now->n_routes; i++) {
		if (route_compare_key(&now->routes[i], gone) == 0 && now->routes[i].owner == OWNER_OURS) {
			model_remove_route(now, i);
			return;
		}
	}
}

static void add_route(struct model *now, const struct op *op)
{
	struct route route = op->route;

	if (!op->is_restoring) {
		route.owner = OWNER_OURS;
		route.protocol = NETCONF_PROTOCOL;
	}
	effect_insert_route(now, &route);
}

static void add_rule(struct model *now, const struct op *op)
{
	struct rule rule = op->rule;

	if (!op->is_restoring) {
		rule.owner = OWNER_OURS;
		rule.protocol = NETCONF_PROTOCOL;
	}
	insert_rule(now, &rule);
}

static void remove_rule(struct model *now, const struct rule *gone)
{
	for (size_t i = 0; i < now->n_rules; i++) {
		if (rule_compare(&now->rules[i], gone) == 0 && now->rules[i].owner == OWNER_OURS) {
			model_remove_rule(now, i);
			return;
		}
	}
}

static void set_wireguard(struct model *now, const struct link *to)
{
	struct link *link = model_find_link(now, to->name);

	if (link == NULL || to->wireguard == NULL)
		return;
	wireguard_free(link->wireguard);
	link->wireguard = wireguard_copy(to->wireguard);
}

/* --- all of them --- */

void effect_apply(struct model *now, const struct op *op, struct model *lost)
{
	switch (op->kind) {
	case OP_LINK_CREATE:
		create_link(now, &op->link);
		break;
	case OP_LINK_DELETE:
		delete_link(now, op->link.name, lost);
		break;
	case OP_LINK_SET:
		set_link(now, op, lost);
		break;
	case OP_BOND_SET:
		set_bond(now, op);
		break;
	case OP_WIREGUARD_SET:
		set_wireguard(now, &op->link);
		break;
	case OP_ADDRESS_ADD:
		add_address(now, op);
		break;
	case OP_ADDRESS_CHANGE:
		change_address(now, &op->address);
		break;
	case OP_ADDRESS_DELETE:
		delete_address(now, &op->address, lost);
		break;
	case OP_ROUTE_ADD:
		add_route(now, op);
		break;
	case OP_ROUTE_REPLACE:
		remove_route(now, &op->route);
		add_route(now, op);
		break;
	case OP_ROUTE_DELETE:
		remove_route(now, &op->route);
		break;
	case OP_RULE_ADD:
		add_rule(now, op);
		break;
	case OP_RULE_DELETE:
		remove_rule(now, &op->rule);
		break;
	case OP_WAIT_CARRIER:
	case OP_KINDS:
		break;
	}
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
