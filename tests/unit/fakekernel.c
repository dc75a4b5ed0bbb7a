/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules are those that kernels 6.1 and 6.18 were seen to follow. Whatever happens to the model
 * goes through a few functions that note its cost, the dearest of a step counts.
 */
#include "fakekernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct fakekernel {
	struct model *m;
	bool promote;
	enum op_class cost;
};

struct fakekernel *fakekernel_new(const struct model *start)
{
	struct fakekernel *k = NEW0(struct fakekernel);

	k->m = model_copy(start);
	return k;
}

void fakekernel_free(struct fakekernel *k)
{
	if (k == NULL)
		return;
	model_free(k->m);
	free(k);
}

void fakekernel_promote(struct fakekernel *k, bool promote)
{
	k->promote = promote;
}

const struct model *fakekernel_observe(const struct fakekernel *k)
{
	return k->m;
}

static void costs(struct fakekernel *k, enum op_class class)
{
	k->cost = MAX(k->cost, class);
}

static bool is(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

/* --- connected routes --- */

static bool has_connected(const struct fakekernel *k, const struct address *a)
{
	const struct link *link = model_find_link(k->m, a->link);

	return link != NULL && link->up && (a->flags & IFA_F_NOPREFIXROUTE) == 0 &&
	       a->prefix.len < (a->prefix.addr.family == AF_INET ? 32 : 128);
}

/* Made anew from the addresses, as the kernel keeps them. */
static void connect_all(struct fakekernel *k)
{
	for (size_t i = k->m->n_routes; i-- > 0;) {
		if (k->m->routes[i].owner == OWNER_KERNEL)
			model_remove_route(k->m, i);
	}
	for (size_t i = 0; i < k->m->n_addresses; i++) {
		const struct address *a = &k->m->addresses[i];
		struct route *route;

		if (!has_connected(k, a) || (a->state & IFA_F_SECONDARY) != 0)
			continue;
		route = model_add_route(k->m, &a->prefix);
		memcpy(route->link, a->link, IFNAMSIZ);
		route->owner = OWNER_KERNEL;
		route->protocol = RTPROT_KERNEL;
		route->metric = a->priority != 0                    ? a->priority
		                : a->prefix.addr.family == AF_INET6 ? 256
		                                                    : 0;
		route->src = a->prefix.addr.family == AF_INET ? a->prefix.addr : (struct addr){0};
	}
	model_normalise(k->m);
}

/* --- losing --- */

static void drop_routes(struct fakekernel *k, const char *link, sa_family_t family)
{
	for (size_t i = k->m->n_routes; i-- > 0;) {
		struct route *route = &k->m->routes[i];

		if (!is(route->link, link) || (family != 0 && route->dst.addr.family != family))
			continue;
		if (route->owner != OWNER_KERNEL)
			costs(k, OP_ADDRESS_BREAK);
		model_remove_route(k->m, i);
	}
}

static void close_link(struct fakekernel *k, struct link *link)
{
	if (!link->up)
		return;
	link->up = false;
	costs(k, OP_BLIP);
	drop_routes(k, link->name, 0);
	for (size_t i = k->m->n_addresses; i-- > 0;) {
		if (is(k->m->addresses[i].link, link->name) &&
		    k->m->addresses[i].prefix.addr.family == AF_INET6) {
			costs(k, OP_ADDRESS_BREAK);
			model_remove_address(k->m, i);
		}
	}
	for (size_t i = 0; i < k->m->n_links; i++) {
		struct link *vlan = &k->m->links[i];

		if (vlan->kind == LINK_VLAN && is(vlan->parent, link->name) &&
		    !(vlan->vlan_flags & LINK_VLAN_LOOSE_BINDING))
			close_link(k, vlan);
	}
}

static int open_link(struct fakekernel *k, struct link *link)
{
	const struct link *parent = model_find_link(k->m, link->parent);

	if (link->kind == LINK_VLAN && parent != NULL && !parent->up &&
	    !(link->vlan_flags & LINK_VLAN_LOOSE_BINDING))
		return -ENETDOWN;
	if (link->up)
		return 0;
	link->up = true;
	for (size_t i = 0; i < k->m->n_links; i++) {
		struct link *vlan = &k->m->links[i];

		if (vlan->kind == LINK_VLAN && is(vlan->parent, link->name) &&
		    !(vlan->vlan_flags & LINK_VLAN_LOOSE_BINDING))
			(void) open_link(k, vlan);
	}
	return 0;
}

/* --- links --- */

static int resize(struct fakekernel *k, struct link *link, uint32_t mtu)
{
	const struct link *parent = model_find_link(k->m, link->parent);

	if (link->kind == LINK_VLAN && parent != NULL && mtu > parent->mtu)
		return -ERANGE;
	if (link->mtu != mtu && link->up && link->kind == LINK_PHYSICAL)
		costs(k, OP_BLIP);
	link->mtu = mtu;
	for (size_t i = 0; i < k->m->n_links; i++) {
		struct link *other = &k->m->links[i];

		if (link->kind == LINK_BOND && is(other->master, link->name))
			(void) resize(k, other, mtu);
		if (other->kind == LINK_VLAN && is(other->parent, link->name) && other->mtu > mtu)
			(void) resize(k, other, mtu);
	}
	return 0;
}

static int set_master(struct fakekernel *k, struct link *link, const char *name)
{
	struct link *old = model_find_link(k->m, link->master);
	struct link *master = model_find_link(k->m, name);

	if (name[0] != '\0' && master == NULL)
		return -ENODEV;
	if (old != NULL && link->up)
		costs(k, OP_BLIP);
	if (old != NULL && old->kind == LINK_BOND)
		close_link(k, link);
	link->master[0] = '\0';
	if (master == NULL)
		return 0;
	if (master->kind == LINK_BOND && link->up)
		return -EPERM;
	if (master->kind == LINK_VRF && link->up) {
		close_link(k, link);
		(void) open_link(k, link);
	}
	(void) snprintf(link->master, sizeof(link->master), "%s", name);
	if (master->kind == LINK_BOND) {
		(void) resize(k, link, master->mtu);
		(void) open_link(k, link);
	}
	return 0;
}

static int set_link(struct fakekernel *k, const struct op *op)
{
	struct link *link = model_find_link(k->m, op->link.name);
	int r = 0;

	if (link == NULL)
		return -ENODEV;
	if (op->attributes & LINK_HAS_MAC)
		link->mac = op->link.mac;
	if (op->attributes & LINK_HAS_MULTICAST)
		link->multicast = op->link.multicast;
	if (op->attributes & LINK_HAS_VLAN_FLAGS)
		link->vlan_flags = op->link.vlan_flags;
	if (op->attributes & LINK_HAS_STP)
		link->stp = op->link.stp;
	if (op->attributes & LINK_HAS_VLAN_FILTERING)
		link->vlan_filtering = op->link.vlan_filtering;
	if (op->attributes & LINK_HAS_MTU)
		r = resize(k, link, op->link.mtu);
	if (r == 0 && (op->attributes & LINK_HAS_MASTER))
		r = set_master(k, link, op->link.master);
	if (r == 0 && (op->attributes & LINK_HAS_UP)) {
		if (op->link.up)
			r = open_link(k, link);
		else
			close_link(k, link);
	}
	return r;
}

static struct bond *make_bond(const struct bond *given)
{
	struct bond *bond = NEW0(struct bond);

	for (unsigned i = 0; i < BOND_OPTIONS; i++) {
		bond->values[i] = bond_options[i].initial;
		if (given != NULL && bond_has(given, (enum bond_option) i))
			bond->values[i] = given->values[i];
	}
	bond->has = BOND_BIT(BOND_OPTIONS) - 1;
	bond_normalise(bond);
	return bond;
}

static int create_link(struct fakekernel *k, const struct op *op)
{
	const struct link *parent = model_find_link(k->m, op->link.parent);
	struct link *link;

	if (model_find_link(k->m, op->link.name) != NULL)
		return -EEXIST;
	if (op->link.kind == LINK_VLAN && parent == NULL)
		return -ENODEV;
	for (size_t i = 0; i < k->m->n_links && op->link.kind == LINK_VLAN; i++) {
		link = &k->m->links[i];
		if (link->kind == LINK_VLAN && is(link->parent, op->link.parent) &&
		    link->vlan_id == op->link.vlan_id && link->vlan_protocol == op->link.vlan_protocol)
			return -EEXIST;
	}
	if (parent != NULL && link_has(&op->link, LINK_HAS_MTU) && op->link.mtu > parent->mtu)
		return -ERANGE;
	link = model_add_link(k->m, op->link.name, op->link.kind);
	parent = model_find_link(k->m, op->link.parent);
	if (!link_has(&op->link, LINK_HAS_MTU))
		link->mtu = op->link.parent[0] != '\0' && parent != NULL ? parent->mtu : 1500;
	else
		link->mtu = op->link.mtu;
	link->has = op->link.has | LINK_HAS_UP | LINK_HAS_MTU | LINK_HAS_MASTER | LINK_HAS_MULTICAST;
	link->multicast = true;
	link->mac = op->link.mac;
	memcpy(link->parent, op->link.parent, IFNAMSIZ);
	memcpy(link->peer, op->link.peer, IFNAMSIZ);
	link->vlan_id = op->link.vlan_id;
	link->vlan_protocol = op->link.vlan_protocol;
	link->vlan_flags = op->link.has & LINK_HAS_VLAN_FLAGS ? op->link.vlan_flags : 1;
	link->table = op->link.table;
	link->stp = op->link.stp;
	link->vlan_filtering = op->link.vlan_filtering;
	if (link->kind == LINK_VLAN)
		link->has |= LINK_HAS_VLAN_FLAGS;
	if (link->kind == LINK_BRIDGE)
		link->has |= LINK_HAS_STP | LINK_HAS_VLAN_FILTERING;
	if (link->kind == LINK_BOND)
		link->bond = make_bond(op->link.bond);
	link->owner = OWNER_OURS;
	link->group = NETCONF_PROTOCOL;
	model_normalise(k->m);
	return 0;
}

static int delete_link(struct fakekernel *k, const char *gone)
{
	struct link *link = model_find_link(k->m, gone);
	char name[IFNAMSIZ];

	if (link == NULL)
		return -ENODEV;
	memcpy(name, link->name, sizeof(name));
	for (size_t i = 0; i < k->m->n_links; i++) {
		if (is(k->m->links[i].master, name))
			(void) set_master(k, &k->m->links[i], "");
	}
	for (size_t i = 0; i < k->m->n_links;) {
		if (k->m->links[i].kind == LINK_VLAN && is(k->m->links[i].parent, name)) {
			(void) delete_link(k, k->m->links[i].name);
			i = 0;
		} else {
			i++;
		}
	}
	close_link(k, model_find_link(k->m, name));
	drop_routes(k, name, 0);
	for (size_t i = k->m->n_addresses; i-- > 0;) {
		if (is(k->m->addresses[i].link, name)) {
			costs(k, OP_ADDRESS_BREAK);
			model_remove_address(k->m, i);
		}
	}
	link = model_find_link(k->m, name);
	model_remove_link(k->m, (size_t) (link - k->m->links));
	return 0;
}

/* --- bonds --- */

static int may_set(const struct fakekernel *k, const struct link *link, enum bond_option option,
                   const struct op *op)
{
	bool has_ports = false;
	const struct link *port;

	for (size_t i = 0; i < k->m->n_links; i++)
		has_ports |= is(k->m->links[i].master, link->name);
	if (!bond_mode_allows((enum bond_mode) link->bond->values[BOND_MODE], option))
		return -EACCES;
	switch (bond_options[option].constraint) {
	case BOND_NEEDS_DOWN_EMPTY:
		return has_ports ? -ENOTEMPTY : link->up ? -EBUSY : 0;
	case BOND_NEEDS_EMPTY:
		return has_ports ? -ENOTEMPTY : 0;
	case BOND_NEEDS_DOWN:
		return link->up ? -EBUSY : 0;
	case BOND_LIVE:
		break;
	}
	port = model_find_link(k->m, op->link.bond->primary);
	if (option == BOND_PRIMARY && op->link.bond->primary[0] != '\0' && port == NULL)
		return -ENODEV;
	return 0;
}

static int set_bond(struct fakekernel *k, const struct op *op)
{
	struct link *link = model_find_link(k->m, op->link.name);

	if (link == NULL)
		return -ENODEV;
	if (link->bond == NULL)
		return -EOPNOTSUPP;
	for (enum bond_option option = 0; option < BOND_OPTIONS; option++) {
		int r;

		if ((op->options & BOND_BIT(option)) == 0)
			continue;
		r = may_set(k, link, option, op);
		if (r < 0)
			return r;
		link->bond->values[option] = op->link.bond->values[option];
		if (option == BOND_PRIMARY)
			memcpy(link->bond->primary, op->link.bond->primary, IFNAMSIZ);
	}
	link->bond->has = BOND_BIT(BOND_OPTIONS) - 1;
	bond_normalise(link->bond);
	return 0;
}

/* --- addresses --- */

static bool same_subnet(const struct address *a, const struct address *b)
{
	return is(a->link, b->link) && a->prefix.len == b->prefix.len &&
	       prefix_contains(&a->prefix, &b->prefix.addr);
}

static int add_address(struct fakekernel *k, const struct op *op)
{
	const struct address *new = &op->address;
	struct address *added;
	uint32_t state = 0;

	if (model_find_link(k->m, new->link) == NULL)
		return -ENODEV;
	for (size_t i = 0; i < k->m->n_addresses; i++) {
		const struct address *a = &k->m->addresses[i];

		if (is(a->link, new->link) && addr_equal(&a->prefix.addr, &new->prefix.addr) &&
		    (a->prefix.len == new->prefix.len || new->prefix.addr.family == AF_INET6))
			return -EEXIST;
		if (new->prefix.addr.family == AF_INET && same_subnet(a, new))
			state = IFA_F_SECONDARY;
	}
	added = model_add_address(k->m, new->link, &new->prefix);
	*added = *new;
	added->raw = (struct raw_message){0};
	if (new->raw.data != NULL)
		added->raw = (struct raw_message){xmemdup(new->raw.data, new->raw.len), new->raw.len};
	added->state = state;
	if (!op->is_restoring) {
		added->owner = OWNER_OURS;
		added->protocol = NETCONF_PROTOCOL;
	}
	return 0;
}

static int delete_address(struct fakekernel *k, const struct address *gone)
{
	struct address *found = model_find_address(k->m, gone->link, &gone->prefix);
	struct address old;
	bool promoted = false, last = true;

	if (found == NULL)
		return -EADDRNOTAVAIL;
	old = *found;
	old.raw = (struct raw_message){0};
	costs(k, OP_ADDRESS_BREAK);
	model_remove_address(k->m, (size_t) (found - k->m->addresses));
	for (size_t i = k->m->n_addresses;
	     i-- > 0 && old.prefix.addr.family == AF_INET && !(old.state & IFA_F_SECONDARY);) {
		struct address *a = &k->m->addresses[i];

		if (!same_subnet(a, &old) || !(a->state & IFA_F_SECONDARY))
			continue;
		if (!k->promote)
			model_remove_address(k->m, i);
		else if (!promoted)
			a->state &= ~(uint32_t) IFA_F_SECONDARY;
		promoted = k->promote;
	}
	for (size_t i = 0; i < k->m->n_addresses; i++)
		last &= !is(k->m->addresses[i].link, old.link) ||
		        k->m->addresses[i].prefix.addr.family != AF_INET;
	for (size_t i = k->m->n_routes; i-- > 0;) {
		if (k->m->routes[i].dst.addr.family == AF_INET &&
		    addr_equal(&k->m->routes[i].src, &old.prefix.addr))
			model_remove_route(k->m, i);
	}
	if (old.prefix.addr.family == AF_INET && last)
		drop_routes(k, old.link, AF_INET);
	return 0;
}

static int change_address(struct fakekernel *k, const struct address *to)
{
	struct address *found = model_find_address(k->m, to->link, &to->prefix);

	if (found == NULL)
		return -EADDRNOTAVAIL;
	found->priority = to->priority;
	found->valid_s = to->valid_s;
	found->preferred_s = to->preferred_s;
	return 0;
}

/* --- routes and rules --- */

static int check_route(const struct fakekernel *k, const struct route *route)
{
	const struct link *link = model_find_link(k->m, route->link);

	if (route->link[0] == '\0')
		return 0;
	if (link == NULL)
		return -ENODEV;
	if (!link->up)
		return -ENETDOWN;
	if (!addr_is_set(&route->gateway) || route->onlink)
		return 0;
	for (size_t i = 0; i < k->m->n_routes; i++) {
		const struct route *r = &k->m->routes[i];

		if (is(r->link, route->link) && !addr_is_set(&r->gateway) &&
		    r->dst.addr.family == route->gateway.family &&
		    prefix_contains(&r->dst, &route->gateway))
			return 0;
	}
	return route->gateway.family == AF_INET6 ? -EHOSTUNREACH : -ENETUNREACH;
}

static struct route *find_key(const struct fakekernel *k, const struct route *key)
{
	for (size_t i = 0; i < k->m->n_routes; i++) {
		if (route_compare_key(&k->m->routes[i], key) == 0)
			return &k->m->routes[i];
	}
	return NULL;
}

static void put_route(struct fakekernel *k, const struct op *op)
{
	struct route *added = model_add_route(k->m, &op->route.dst);

	*added = op->route;
	added->raw = (struct raw_message){0};
	if (op->route.raw.data != NULL)
		added->raw =
		    (struct raw_message){xmemdup(op->route.raw.data, op->route.raw.len), op->route.raw.len};
	if (!op->is_restoring) {
		added->owner = OWNER_OURS;
		added->protocol = NETCONF_PROTOCOL;
	}
}

static int set_route(struct fakekernel *k, const struct op *op)
{
	struct route *old = find_key(k, &op->route);
	int r = check_route(k, &op->route);

	if (op->kind == OP_ROUTE_DELETE) {
		if (old == NULL || old->protocol != NETCONF_PROTOCOL)
			return -ESRCH;
		costs(k, OP_ADDRESS_BREAK);
		model_remove_route(k->m, (size_t) (old - k->m->routes));
		return 0;
	}
	if (r < 0)
		return r;
	if (op->kind == OP_ROUTE_ADD && old != NULL)
		return -EEXIST;
	if (op->kind == OP_ROUTE_REPLACE && old == NULL)
		return -ENOENT;
	if (old != NULL)
		model_remove_route(k->m, (size_t) (old - k->m->routes));
	put_route(k, op);
	return 0;
}

static int set_rule(struct fakekernel *k, const struct op *op)
{
	size_t i = 0;

	while (i < k->m->n_rules && rule_compare(&k->m->rules[i], &op->rule) != 0)
		i++;
	if (op->kind == OP_RULE_DELETE) {
		if (i == k->m->n_rules)
			return -ENOENT;
		costs(k, OP_ADDRESS_BREAK);
		model_remove_rule(k->m, i);
		return 0;
	}
	if (i < k->m->n_rules)
		return -EEXIST;
	model_add_rule(k->m, op->rule.family, op->rule.priority);
	i = k->m->n_rules - 1;
	k->m->rules[i] = op->rule;
	k->m->rules[i].raw = (struct raw_message){0};
	k->m->rules[i].owner = OWNER_OURS;
	k->m->rules[i].protocol = NETCONF_PROTOCOL;
	return 0;
}

static int carry_out(struct fakekernel *k, const struct op *op)
{
	switch (op->kind) {
	case OP_LINK_CREATE:
		return create_link(k, op);
	case OP_LINK_DELETE:
		return delete_link(k, op->link.name);
	case OP_LINK_SET:
		return set_link(k, op);
	case OP_BOND_SET:
		return set_bond(k, op);
	case OP_ADDRESS_ADD:
		return add_address(k, op);
	case OP_ADDRESS_CHANGE:
		return change_address(k, &op->address);
	case OP_ADDRESS_DELETE:
		return delete_address(k, &op->address);
	case OP_ROUTE_ADD:
	case OP_ROUTE_REPLACE:
	case OP_ROUTE_DELETE:
		return set_route(k, op);
	case OP_RULE_ADD:
	case OP_RULE_DELETE:
		return set_rule(k, op);
	case OP_WIREGUARD_SET:
	case OP_WAIT_CARRIER:
		return 0;
	case OP_KINDS:
		break;
	}
	return -EINVAL;
}

int fakekernel_carry_out(struct fakekernel *k, const struct op *op, enum op_class *ret_cost)
{
	int r;

	k->cost = OP_HITLESS;
	r = carry_out(k, op);
	connect_all(k);
	*ret_cost = k->cost;
	return r;
}
