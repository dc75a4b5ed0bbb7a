/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes: what a key (destination, table, metric, tos) leads to is replaced in place, so that there
 * is no moment without it; new keys are added before old ones go. Only ours are ever replaced: the
 * kernel's replacing does not ask whose a route is.
 */
#include <string.h>

#include "base/mem.h"
#include "netconf/plan/plan_priv.h"

static void push(struct planner *p, enum op_kind kind, const struct route *route,
                 enum op_class class)
{
	struct op op = {.kind = kind, .class = class, .route = *route};

	op.route.raw = (struct raw_message){0};
	(void) planner_push(p, &op);
}

/* Ours of that key; else anybody's. */
static const struct route *find(const struct model *model, const struct route *key)
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

static bool can_have(const struct planner *p, const struct route *want)
{
	const struct link *link = model_find_link(p->now, want->link);

	return want->link[0] == '\0' || (link != NULL && link->up);
}

/* Those straight on a link first: gateways are reached by them. */
static void set_routes(struct planner *p, bool behind_gateway)
{
	for (size_t i = 0; i < p->want->n_routes; i++) {
		const struct route *want = &p->want->routes[i];
		const struct route *now = find(p->now, want);

		if (addr_is_set(&want->gateway) != behind_gateway)
			continue;
		if (!can_have(p, want)) {
			if (now == NULL)
				planner_obstacle(p, PLAN_MISSING_LINK, &want->origin,
				                 "'%s' is not up, so that it can have no route", want->link);
			continue;
		}
		if (now == NULL)
			push(p, OP_ROUTE_ADD, want, OP_HITLESS);
		else if (now->owner == OWNER_OURS && route_differs(want, now) != 0)
			push(p, OP_ROUTE_REPLACE, want, OP_HITLESS);
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
		    find(p->want, route) == NULL)
			push(p, OP_ROUTE_DELETE, route, OP_ADDRESS_BREAK);
	}
}
