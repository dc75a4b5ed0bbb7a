/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules are those that kernels 6.1 and 6.18 were seen to follow. Whatever happens to the model
 * goes through a few functions that note its cost, the dearest of a step counts.
 */
#include "fakekernel_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

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

void fakekernel_costs(struct fakekernel *k, enum op_class class)
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

static uint32_t table_of(const struct fakekernel *k, const char *name)
{
	const struct link *link = model_find_link(k->m, name);
	const struct link *master = link != NULL ? model_find_link(k->m, link->master) : NULL;

	return master != NULL && master->kind == LINK_VRF ? master->table : RT_TABLE_MAIN;
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
		route->table = table_of(k, a->link);
		route->protocol = RTPROT_KERNEL;
		route->metric = a->priority != 0                    ? a->priority
		                : a->prefix.addr.family == AF_INET6 ? 256
		                                                    : 0;
		route->src = a->prefix.addr.family == AF_INET ? a->prefix.addr : (struct addr){0};
	}
	model_normalise(k->m);
}

/* A bond has all options, also those that its mode does not tell of. */
static void complete(struct bond *bond)
{
	for (enum bond_option option = 0; option < BOND_OPTIONS; option++) {
		if (!bond_has(bond, option))
			bond->values[option] = bond_options[option].initial;
	}
}

struct fakekernel *fakekernel_new(const struct model *start)
{
	struct fakekernel *k = NEW0(struct fakekernel);

	k->m = model_copy(start);
	for (size_t i = 0; i < k->m->n_links; i++) {
		k->m->links[i].has |= LINK_HAS_PROMOTE;
		if (k->m->links[i].bond != NULL)
			complete(k->m->links[i].bond);
	}
	fakekernel_settle_carriers(k);
	fakekernel_rest(k);
	connect_all(k);
	return k;
}

/* --- losing --- */

void fakekernel_drop_routes(struct fakekernel *k, const char *link, sa_family_t family)
{
	for (size_t i = k->m->n_routes; i-- > 0;) {
		struct route *route = &k->m->routes[i];

		if (!is(route->link, link) || (family != 0 && route->dst.addr.family != family))
			continue;
		if (route->owner != OWNER_KERNEL)
			fakekernel_costs(k, OP_ADDRESS_BREAK);
		model_remove_route(k->m, i);
	}
}

/* --- addresses --- */

static bool same_subnet(const struct address *a, const struct address *b)
{
	return is(a->link, b->link) && a->prefix.len == b->prefix.len &&
	       prefix_contains(&a->prefix, &b->prefix.addr);
}

/* By its mark; what has another one is ours only by our own files, and so is what the step says. */
static enum owner owner_of(uint8_t protocol, enum owner said)
{
	return protocol == NETCONF_PROTOCOL ? OWNER_OURS : said;
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
	added->owner = owner_of(added->protocol, added->owner);
	return 0;
}

static int delete_address(struct fakekernel *k, const struct address *gone)
{
	struct address *found = model_find_address(k->m, gone->link, &gone->prefix);
	struct address old;
	const struct link *link = model_find_link(k->m, gone->link);
	bool promotes = k->promote || (link != NULL && link->promote);
	bool promoted = false, last = true;

	if (found == NULL)
		return -EADDRNOTAVAIL;
	old = *found;
	old.raw = (struct raw_message){0};
	fakekernel_costs(k, OP_ADDRESS_BREAK);
	model_remove_address(k->m, (size_t) (found - k->m->addresses));
	for (size_t i = k->m->n_addresses;
	     i-- > 0 && old.prefix.addr.family == AF_INET && !(old.state & IFA_F_SECONDARY);) {
		struct address *a = &k->m->addresses[i];

		if (!same_subnet(a, &old) || !(a->state & IFA_F_SECONDARY))
			continue;
		if (!promotes)
			model_remove_address(k->m, i);
		else if (!promoted)
			a->state &= ~(uint32_t) IFA_F_SECONDARY;
		promoted = promotes;
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
		fakekernel_drop_routes(k, old.link, AF_INET);
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
	if (to->prefix.addr.family == AF_INET6)
		found->flags = to->flags;
	return 0;
}

/* --- routes and rules --- */

static bool has_local(const struct fakekernel *k, const struct addr *addr)
{
	for (size_t i = 0; i < k->m->n_addresses; i++) {
		if (addr_equal(&k->m->addresses[i].prefix.addr, addr))
			return true;
	}
	return false;
}

static int check_route(const struct fakekernel *k, const struct route *route)
{
	const struct link *link = model_find_link(k->m, route->link);

	if (route->link[0] == '\0')
		return 0;
	if (link == NULL)
		return -ENODEV;
	if (!link->up)
		return -ENETDOWN;
	if (addr_is_set(&route->src) && !has_local(k, &route->src))
		return -EINVAL;
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
	added->owner = owner_of(added->protocol, added->owner);
}

static int set_route(struct fakekernel *k, const struct op *op)
{
	struct route *old = find_key(k, &op->route);
	int r = check_route(k, &op->route);

	if (op->kind == OP_ROUTE_DELETE) {
		if (old == NULL || old->protocol != op->route.protocol)
			return -ESRCH;
		fakekernel_costs(k, OP_ADDRESS_BREAK);
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
		fakekernel_costs(k, OP_ADDRESS_BREAK);
		model_remove_rule(k->m, i);
		return 0;
	}
	if (i < k->m->n_rules)
		return -EEXIST;
	model_add_rule(k->m, op->rule.family, op->rule.priority);
	i = k->m->n_rules - 1;
	k->m->rules[i] = op->rule;
	k->m->rules[i].raw = (struct raw_message){0};
	k->m->rules[i].owner = owner_of(op->rule.protocol, op->rule.owner);
	return 0;
}

static int carry_out(struct fakekernel *k, const struct op *op)
{
	switch (op->kind) {
	case OP_LINK_CREATE:
		return fakekernel_create_link(k, op);
	case OP_LINK_DELETE:
		return fakekernel_delete_link(k, op->link.name);
	case OP_LINK_SET:
		return fakekernel_set_link(k, op);
	case OP_BOND_SET:
		return fakekernel_set_bond(k, op);
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
		return fakekernel_set_wireguard(k, op);
	case OP_WAIT_CARRIER:
		fakekernel_agree(k, op->link.name);
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
	fakekernel_settle_carriers(k);
	connect_all(k);
	*ret_cost = k->cost;
	return r;
}
