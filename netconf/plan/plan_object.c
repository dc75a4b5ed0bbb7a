/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses, routes and rules. */
#include <string.h>

#include "netconf/plan/plan_priv.h"

/* --- addresses --- */

/*
 * Addresses: added before others are deleted, so that a link is never without one, and deleted so
 * that no other one of its subnet goes with it.
 */

static void push(struct planner *p, enum op_kind kind, const struct address *address,
                 enum op_class class)
{
	struct op op = {.kind = kind, .class = class, .address = *address};

	op.address.raw = (struct raw_message){0};
	(void) planner_push(p, &op);
}

/* --- one that goes --- */

static bool follows(const struct address *next, const struct address *primary)
{
	return (next->state & IFA_F_SECONDARY) != 0 && strcmp(next->link, primary->link) == 0 &&
	       next->prefix.len == primary->prefix.len &&
	       prefix_contains(&primary->prefix, &next->prefix.addr);
}

static bool has_secondaries(const struct planner *p, const struct address *primary)
{
	for (size_t i = 0; i < p->now->n_addresses; i++) {
		if (follows(&p->now->addresses[i], primary))
			return true;
	}
	return false;
}

/* Which of them is next the kernel knows, by the order in which they came. */
static void tell_successor(struct planner *p, const struct address *primary)
{
	char text[MODEL_TEXT_MAX];

	for (size_t i = 0; i < p->now->n_addresses; i++) {
		const struct address *next = &p->now->addresses[i];

		if (next->owner == OWNER_OURS || !follows(next, primary))
			continue;
		planner_note(p,
		             "address %s, which belongs to %s (protocol %u), may become the first of its "
		             "subnet: connections that name no source leave from it then",
		             address_format(next, text), plan_owner_name(next->protocol), next->protocol);
		return;
	}
}

/*
 * The kernel drops what else is in the subnet of an IPv4 address, unless a setting of the link says
 * otherwise; so for this moment it does. What is never gone needs nobody to put it back, which with
 * vipd's addresses nobody but vipd may.
 */
static void delete_address(struct planner *p, const struct address *address)
{
	const struct link *link = model_find_link(p->now, address->link);
	bool is_alone = address->prefix.addr.family != AF_INET ||
	                (address->state & IFA_F_SECONDARY) != 0 || !has_secondaries(p, address);
	bool promote = !is_alone && link != NULL && link_has(link, LINK_HAS_PROMOTE) && !link->promote;

	if (!is_alone)
		tell_successor(p, address);
	if (promote)
		(void) planner_set(p, address->link, &(struct link){.promote = true}, LINK_HAS_PROMOTE,
		                   OP_HITLESS);
	push(p, OP_ADDRESS_DELETE, address, OP_ADDRESS_BREAK);
	if (promote)
		(void) planner_set(p, address->link, &(struct link){.promote = false}, LINK_HAS_PROMOTE,
		                   OP_HITLESS);
}

/* --- those that come, or change --- */

/* The same address with another prefix length, which IPv6 does not take beside this one. */
static const struct address *twin_of(const struct planner *p, const struct address *want)
{
	for (size_t i = model_first_address(p->now, want->link);
	     model_is_address_of(p->now, i, want->link); i++) {
		const struct address *now = &p->now->addresses[i];

		if (now->prefix.len != want->prefix.len &&
		    addr_equal(&now->prefix.addr, &want->prefix.addr))
			return now;
	}
	return NULL;
}

static bool can_have(const struct planner *p, const struct address *want)
{
	const struct link *link = model_find_link(p->now, want->link);

	return link != NULL;
}

static void add(struct planner *p, const struct address *want)
{
	const struct address *twin = twin_of(p, want);

	if (!can_have(p, want))
		return;
	if (twin != NULL && want->prefix.addr.family == AF_INET6) {
		struct address old = *twin;

		if (old.owner != OWNER_OURS || !planner_allows(p, OP_ADDRESS_BREAK))
			return;
		delete_address(p, &old);
	}
	push(p, OP_ADDRESS_ADD, want, OP_HITLESS);
}

/* Flags and the peer are taken on adding only, but for whether the kernel makes a route of it,
 * which IPv6 takes later as well. To a single address nobody needs that route; the one that is
 * there goes with the time that the address had. */
static bool can_change(const struct address *want, const struct address *now)
{
	uint32_t flags = want->flags ^ now->flags;

	if (want->prefix.addr.family == AF_INET6 && want->prefix.len == 128)
		flags &= ~(uint32_t) IFA_F_NOPREFIXROUTE;
	return flags == 0 && addr_equal(&want->peer, &now->peer);
}

void plan_addresses(struct planner *p)
{
	for (size_t i = 0; i < p->want->n_addresses; i++) {
		const struct address *want = &p->want->addresses[i];
		const struct address *now = model_find_address(p->now, want->link, &want->prefix);

		if (now == NULL) {
			add(p, want);
			continue;
		}
		if (now->owner != OWNER_OURS || address_differs(want, now) == 0)
			continue;
		if (can_change(want, now)) {
			push(p, OP_ADDRESS_CHANGE, want, OP_HITLESS);
		} else if (planner_allows(p, OP_ADDRESS_BREAK)) {
			struct address old = *now;

			delete_address(p, &old);
			push(p, OP_ADDRESS_ADD, want, OP_HITLESS);
		}
	}
}

/* --- deleting --- */

static bool is_wanted(const struct planner *p, const struct address *now)
{
	return model_find_address(p->want, now->link, &now->prefix) != NULL;
}

static bool is_unwanted(const struct planner *p, const struct address *now)
{
	return now->owner == OWNER_OURS && !is_wanted(p, now) && !plan_link_goes(p, now->link);
}

void plan_addresses_delete(struct planner *p)
{
	AUTO(model_free) struct model *before = model_copy(p->now);

	if (!planner_allows(p, OP_ADDRESS_BREAK))
		return;
	/* Secondaries first: one that goes anyway must not take a primary's place. */
	for (size_t i = 0; i < before->n_addresses; i++) {
		const struct address *address = &before->addresses[i];

		if (is_unwanted(p, address) && (address->state & IFA_F_SECONDARY) != 0 &&
		    model_find_address(p->now, address->link, &address->prefix) != NULL)
			delete_address(p, address);
	}
	for (size_t i = 0; i < before->n_addresses; i++) {
		const struct address *address = &before->addresses[i];

		if (!is_unwanted(p, address) ||
		    model_find_address(p->now, address->link, &address->prefix) == NULL)
			continue;
		delete_address(p, address);
		plan_put_back(p);
	}
}

/* --- rules --- */

/*
 * Rules: a rule is what it says, so that changing one is adding another and deleting the first, in
 * that order. They come after the routes of the tables that they point to.
 */

static bool has_rule(const struct model *model, const struct rule *rule)
{
	for (size_t i = 0; i < model->n_rules; i++) {
		if (rule_compare(&model->rules[i], rule) == 0)
			return true;
	}
	return false;
}

static void push_rule(struct planner *p, enum op_kind kind, const struct rule *rule,
                      enum op_class class)
{
	struct op op = {.kind = kind, .class = class, .rule = *rule};

	op.rule.raw = (struct raw_message){0};
	(void) planner_push(p, &op);
}

void plan_rules(struct planner *p)
{
	AUTO(model_free) struct model *before = model_copy(p->now);

	/* One that is there by another program serves as well. */
	for (size_t i = 0; i < p->want->n_rules; i++) {
		if (!has_rule(before, &p->want->rules[i]))
			push_rule(p, OP_RULE_ADD, &p->want->rules[i], OP_HITLESS);
	}
	for (size_t i = 0; i < before->n_rules; i++) {
		const struct rule *rule = &before->rules[i];

		if (rule->owner == OWNER_OURS && !has_rule(p->want, rule))
			push_rule(p, OP_RULE_DELETE, rule, OP_ADDRESS_BREAK);
	}
}

/* --- routes --- */

/*
 * Routes: what a key (destination, table, metric, tos) leads to is replaced in place, so that there
 * is no moment without it; new keys are added before old ones go. Only ours are ever replaced: the
 * kernel's replacing does not ask whose a route is.
 */

static void push_route(struct planner *p, enum op_kind kind, const struct route *route,
                       enum op_class class)
{
	struct op op = {.kind = kind, .class = class, .route = *route};

	op.route.raw = (struct raw_message){0};
	(void) planner_push(p, &op);
}

/* Ours of that key; else anybody's. */
static const struct route *find_route(const struct model *model, const struct route *key)
{
	const struct route *found = NULL;

	for (size_t i = effect_first_route(model, key); i < model->n_routes; i++) {
		const struct route *route = &model->routes[i];

		if (route_compare_key(route, key) != 0)
			break;
		if (route->owner == OWNER_OURS)
			return route;
		found = route;
	}
	return found;
}

static bool can_have_route(const struct planner *p, const struct route *want)
{
	const struct link *link = model_find_link(p->now, want->link);

	return want->link[0] == '\0' || (link != NULL && link->up);
}

/* Those straight on a link first: gateways are reached by them. */
static void set_routes(struct planner *p, bool behind_gateway)
{
	for (size_t i = 0; i < p->want->n_routes; i++) {
		const struct route *want = &p->want->routes[i];
		const struct route *now = find_route(p->now, want);

		if (addr_is_set(&want->gateway) != behind_gateway)
			continue;
		if (!can_have_route(p, want)) {
			if (now == NULL)
				planner_obstacle(p, PLAN_MISSING_LINK, &want->origin,
				                 "'%s' is not up, so that it can have no route", want->link);
			continue;
		}
		if (now == NULL)
			push_route(p, OP_ROUTE_ADD, want, OP_HITLESS);
		else if (now->owner == OWNER_OURS && route_differs(want, now) != 0)
			push_route(p, OP_ROUTE_REPLACE, want, OP_HITLESS);
	}
}

void plan_routes(struct planner *p)
{
	set_routes(p, false);
	set_routes(p, true);
}

void plan_routes_delete(struct planner *p)
{
	AUTO(model_free) struct model *before = model_copy(p->now);

	for (size_t i = before->n_routes; i-- > 0;) {
		const struct route *route = &before->routes[i];

		if (route->owner == OWNER_OURS && !plan_link_goes(p, route->link) &&
		    find_route(p->want, route) == NULL)
			push_route(p, OP_ROUTE_DELETE, route, OP_ADDRESS_BREAK);
	}
}
