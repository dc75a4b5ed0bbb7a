/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Putting back what the kernel dropped on the way. Ours that are still wanted come back as wanted;
 * another program's come back just as they were. vipd's addresses do not: their lifetime is the
 * fence that keeps two nodes from having one address, and only vipd knows whether it still may.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "netconf/plan/plan_priv.h"

static void copy_raw(struct raw_message *raw)
{
	if (raw->data != NULL)
		raw->data = xmemdup(raw->data, raw->len);
}

static bool is_up(const struct planner *p, const char *name)
{
	const struct link *link = model_find_link(p->now, name);

	return name[0] == '\0' || (link != NULL && link->up);
}

static bool is_their_address(const struct planner *p, const struct address *address)
{
	return address->owner != OWNER_OURS && address->owner != OWNER_KERNEL &&
	       address->protocol != PLAN_VIPD_PROTOCOL &&
	       model_find_address(p->now, address->link, &address->prefix) == NULL;
}

static void put_back_address(struct planner *p, const struct address *address)
{
	const struct address *want = model_find_address(p->want, address->link, &address->prefix);
	struct op op = {
	    .kind = OP_ADDRESS_ADD, .class = OP_HITLESS, .is_restoring = true, .address = *address};

	if (address->owner == OWNER_OURS) {
		if (want == NULL || model_find_address(p->now, want->link, &want->prefix) != NULL)
			return;
		op.address = *want;
		op.address.raw = (struct raw_message){0};
		op.address.owner = OWNER_OURS;
	} else if (is_their_address(p, address)) {
		copy_raw(&op.address.raw);
	} else {
		return;
	}
	(void) planner_push(p, &op);
}

static bool has_key_at(const struct model *model, size_t at, const struct route *key)
{
	return at < model->n_routes && route_compare_key(&model->routes[at], key) == 0;
}

static bool has_same(const struct model *model, const struct route *route)
{
	for (size_t i = 0; i < model->n_routes; i++) {
		if (route_compare(&model->routes[i], route) == 0)
			return true;
	}
	return false;
}

/* What is put back in its place: ours as it is wanted, which may be elsewhere; another program's
 * just as it was. False: nothing. */
static bool put_back_as(const struct planner *p, const struct route *route, struct route *ret_as)
{
	size_t wanted, present;

	if (route->owner != OWNER_OURS) {
		*ret_as = *route;
		return route->owner != OWNER_KERNEL && !has_same(p->now, route);
	}
	wanted = effect_first_route(p->want, route);
	present = effect_first_route(p->now, route);
	if (!has_key_at(p->want, wanted, route) || has_key_at(p->now, present, route))
		return false;
	*ret_as = p->want->routes[wanted];
	ret_as->raw = (struct raw_message){0};
	ret_as->owner = OWNER_OURS;
	return true;
}

static void put_back_route(struct planner *p, const struct route *as)
{
	struct op op = {.kind = OP_ROUTE_ADD, .class = OP_HITLESS, .is_restoring = true, .route = *as};

	copy_raw(&op.route.raw);
	(void) planner_push(p, &op);
}

/* The kernel takes no gateway that nothing leads to: the address that does may come later. */
static bool has_way(const struct planner *p, const struct route *route)
{
	if (!addr_is_set(&route->gateway) || route->onlink || addr_is_linklocal(&route->gateway))
		return true;
	for (size_t i = 0; i < p->now->n_addresses; i++) {
		const struct address *address = &p->now->addresses[i];

		if (strcmp(address->link, route->link) == 0 &&
		    address->prefix.addr.family == route->gateway.family &&
		    prefix_contains(&address->prefix, &route->gateway))
			return true;
	}
	for (size_t i = 0; i < p->now->n_routes; i++) {
		const struct route *other = &p->now->routes[i];

		if (strcmp(other->link, route->link) == 0 && !addr_is_set(&other->gateway) &&
		    other->owner != OWNER_KERNEL && other->dst.addr.family == route->gateway.family &&
		    prefix_contains(&other->dst, &route->gateway))
			return true;
	}
	return false;
}

/* Nor one that leaves from an address that it does not have. */
static bool has_source(const struct planner *p, const struct route *route)
{
	for (size_t i = 0; i < p->now->n_addresses; i++) {
		if (addr_equal(&p->now->addresses[i].prefix.addr, &route->src))
			return true;
	}
	return !addr_is_set(&route->src);
}

/* What cannot come back yet (its link is closed, nothing leads to its gateway) stays in the list.
 */
static void put_back_routes(struct planner *p, bool behind_gateway)
{
	struct model *lost = p->lost;
	size_t kept = 0;

	for (size_t i = 0; i < lost->n_routes; i++) {
		struct route as;
		bool is_due = put_back_as(p, &lost->routes[i], &as);

		if (is_due && (!is_up(p, as.link) || !has_way(p, &as) || !has_source(p, &as) ||
		               (addr_is_set(&as.gateway) || as.is_opaque) != behind_gateway)) {
			lost->routes[kept++] = lost->routes[i];
			continue;
		}
		if (is_due)
			put_back_route(p, &as);
		free(lost->routes[i].raw.data);
	}
	lost->n_routes = kept;
}

/* To add one back drops nothing: the list does not grow meanwhile. */
static void put_back_addresses(struct planner *p)
{
	struct model *lost = p->lost;
	size_t kept = 0;

	for (size_t i = 0; i < lost->n_addresses; i++) {
		if (is_up(p, lost->addresses[i].link)) {
			put_back_address(p, &lost->addresses[i]);
			free(lost->addresses[i].raw.data);
		} else {
			lost->addresses[kept++] = lost->addresses[i];
		}
	}
	lost->n_addresses = kept;
}

void plan_put_back(struct planner *p)
{
	put_back_addresses(p);
	put_back_routes(p, false);
	put_back_routes(p, true);
}

/* Ours were not wanted any more. */
void plan_tell_lost(struct planner *p)
{
	char text[MODEL_TEXT_MAX];

	for (size_t i = 0; i < p->lost->n_addresses; i++) {
		const struct address *address = &p->lost->addresses[i];

		if (is_their_address(p, address))
			planner_note(p, "address %s, which belongs to %s (protocol %u), is lost with its link",
			             address_format(address, text), plan_owner_name(address->protocol),
			             address->protocol);
	}
	for (size_t i = 0; i < p->lost->n_routes; i++) {
		const struct route *route = &p->lost->routes[i];

		if (route->owner != OWNER_OURS && route->owner != OWNER_KERNEL && !has_same(p->now, route))
			planner_note(
			    p,
			    "route %s, which belongs to %s (protocol %u), is lost: the kernel drops it, "
			    "and takes it back no more",
			    route_format(route, text), plan_owner_name(route->protocol), route->protocol);
	}
}
