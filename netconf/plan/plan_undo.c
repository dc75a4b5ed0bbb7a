/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rolling back: of the network as it was, only what the plan that is undone has touched is wanted
 * back. What others have changed meanwhile stays as they made it.
 */
#include <string.h>

#include "netconf/plan/plan_priv.h"

static bool is_link_op(const struct op *op)
{
	return op->kind <= OP_WIREGUARD_SET;
}

/* Attributes that a step on this link set. */
static unsigned attributes_set(const struct plan *undone, const char *name)
{
	unsigned attributes = 0;

	for (size_t i = 0; i < undone->n_ops; i++) {
		const struct op *op = &undone->ops[i];

		if (op->kind == OP_LINK_SET && strcmp(op->link.name, name) == 0)
			attributes |= op->attributes;
	}
	return attributes;
}

static bool touches(const struct plan *undone, const char *name)
{
	for (size_t i = 0; i < undone->n_ops; i++) {
		if (is_link_op(&undone->ops[i]) && strcmp(undone->ops[i].link.name, name) == 0)
			return true;
	}
	return false;
}

/* The kernel carries a change on: to a bond's ports, to the VLANs on a link, to a veth's end
 * and to the VLANs on that. */
static bool is_affected(const struct planner *p, const struct link *link)
{
	const struct plan *undone = p->options->undone;
	const struct link *at = link;

	if (touches(undone, link->name) || (link->master[0] != '\0' && touches(undone, link->master)) ||
	    (link->kind == LINK_VETH && touches(undone, link->peer)))
		return true;
	while (at != NULL && at->kind == LINK_VLAN) {
		const struct link *end = effect_other_end(p->want, at->parent);

		if (touches(undone, at->parent) || (end != NULL && touches(undone, end->name)))
			return true;
		at = model_find_link(p->want, at->parent);
	}
	return false;
}

/* Whether a link that was not there before is there by that plan. */
static bool was_created(const struct plan *undone, const struct link *link)
{
	for (size_t i = 0; i < undone->n_ops; i++) {
		const struct op *op = &undone->ops[i];

		if (op->kind == OP_LINK_CREATE &&
		    (strcmp(op->link.name, link->name) == 0 || strcmp(op->link.peer, link->name) == 0))
			return true;
	}
	return false;
}

static void choose_links(struct planner *p)
{
	const struct plan *undone = p->options->undone;

	for (size_t i = p->want->n_links; i-- > 0;) {
		struct link *link = &p->want->links[i];
		unsigned given = link_attrs_with(LINK_BORROWED);

		if (!is_affected(p, link)) {
			/* Ours and left alone: wanted by its name, so that it is not deleted. */
			link->has &= ~link_attrs_with(LINK_SET | LINK_ORDERED);
			if (link->bond != NULL)
				link->bond->has = 0;
			continue;
		}
		/* A port borrows its bond's, and a bond its first port's; what a step did not set, others
		 * may have. */
		link->has &= ~given | attributes_set(undone, link->name);
		if (link->bond != NULL)
			link->bond->has &= ~BOND_BIT(BOND_ACTIVE_SLAVE);
	}
	for (size_t i = 0; i < p->have->n_links; i++) {
		const struct link *link = &p->have->links[i];
		struct link *kept;

		if (link->owner != OWNER_OURS || model_find_link(p->want, link->name) != NULL ||
		    was_created(undone, link))
			continue;
		kept = model_add_link(p->want, link->name, link->kind);
		link_copy(link, kept);
		kept->has = 0;
	}
	model_normalise(p->want);
}

/* --- what was dropped --- */

static bool is_back(const struct op *op, const struct model *have)
{
	if (op->kind == OP_ADDRESS_ADD)
		return model_find_address(have, op->address.link, &op->address.prefix) != NULL;
	for (size_t i = 0; i < have->n_routes && op->kind == OP_ROUTE_ADD; i++) {
		if (route_compare(&have->routes[i], &op->route) == 0)
			return true;
	}
	return false;
}

bool plan_settle(struct plan *carried_out, const struct model *have)
{
	bool is_any = false;

	for (size_t i = 0; i < carried_out->n_ops; i++) {
		struct op *op = &carried_out->ops[i];

		if (op->is_restoring && !op->is_settled && is_back(op, have)) {
			op->is_settled = true;
			is_any = true;
		}
	}
	return is_any;
}

bool plan_unsettle(struct plan *undone, const struct model *have)
{
	bool is_any = false;

	for (size_t i = 0; i < undone->n_ops; i++) {
		if (undone->ops[i].is_settled && is_back(&undone->ops[i], have)) {
			undone->ops[i].is_settled = false;
			is_any = true;
		}
	}
	return is_any;
}

static void forget_settled(struct model *lost, const struct op *op)
{
	const struct address *address;

	if (op->kind == OP_ADDRESS_ADD) {
		address = model_find_address(lost, op->address.link, &op->address.prefix);
		if (address != NULL)
			model_remove_address(lost, (size_t) (address - lost->addresses));
	} else if (op->kind == OP_ROUTE_ADD) {
		for (size_t i = lost->n_routes; i-- > 0;) {
			if (route_compare(&lost->routes[i], &op->route) == 0)
				model_remove_route(lost, i);
		}
	}
}

/* Whose lease has ended meanwhile may be another host's. */
static bool is_over(const struct planner *p, const struct address *address)
{
	return address->valid_s != ADDRESS_FOREVER && address->valid_s <= p->options->undone_age_s;
}

static void age(const struct planner *p, struct address *address)
{
	uint32_t age_s = p->options->undone_age_s;

	if (address->valid_s == ADDRESS_FOREVER)
		return;
	address->valid_s -= age_s;
	if (address->preferred_s != ADDRESS_FOREVER)
		address->preferred_s -= MIN(age_s, address->preferred_s);
}

/* What ends goes on to end when it does now: its lease may have been renewed since. */
static void keep_lifetimes(struct planner *p)
{
	for (size_t i = p->want->n_addresses; i-- > 0;) {
		struct address *want = &p->want->addresses[i];
		const struct address *now = model_find_address(p->have, want->link, &want->prefix);

		if (want->valid_s != ADDRESS_FOREVER && now != NULL && now->valid_s != ADDRESS_FOREVER) {
			want->valid_s = now->valid_s;
			want->preferred_s = now->preferred_s;
		} else if (is_over(p, want)) {
			model_remove_address(p->want, i);
		} else {
			age(p, want);
		}
	}
}

static void lose_address(struct planner *p, const struct address *address)
{
	struct address aged = *address;

	if (is_over(p, address))
		return;
	age(p, &aged);
	effect_insert_address(p->lost, &aged);
}

/*
 * What the kernel dropped because of the undone plan's steps: those that it could put back are
 * steps of its own; of others (routes of a link that stays down, of the last address that went)
 * only the network as it was before knows. What was back already, and is not there now, its owner
 * has taken away.
 */
static void choose_lost(struct planner *p)
{
	AUTO(model_free) struct model *then = model_copy(p->want);
	const struct plan *undone = p->options->undone;

	for (size_t i = 0; i < undone->n_ops; i++) {
		effect_apply(then, &undone->ops[i], p->lost);
		if (undone->ops[i].is_settled)
			forget_settled(p->lost, &undone->ops[i]);
	}

	for (size_t i = 0; i < undone->n_ops; i++) {
		const struct op *op = &undone->ops[i];

		if (!op->is_restoring || op->is_settled)
			continue;
		if (op->kind == OP_ADDRESS_ADD)
			lose_address(p, &op->address);
		else if (op->kind == OP_ROUTE_ADD)
			effect_insert_route(p->lost, &op->route);
	}
}

void plan_undo(struct planner *p)
{
	keep_lifetimes(p);
	choose_lost(p);
	choose_links(p);
	for (size_t i = p->want->n_addresses; i-- > 0;) {
		if (p->want->addresses[i].owner != OWNER_OURS)
			model_remove_address(p->want, i);
	}
	for (size_t i = p->want->n_routes; i-- > 0;) {
		if (p->want->routes[i].owner != OWNER_OURS)
			model_remove_route(p->want, i);
	}
	for (size_t i = p->want->n_rules; i-- > 0;) {
		if (p->want->rules[i].owner != OWNER_OURS)
			model_remove_rule(p->want, i);
	}
}

/* --- what can be undone now --- */

/* What was found and is gone leaves what is wanted back. */

/* On which link a step is; "": on none. */
static const char *link_of(const struct op *op)
{
	if (op->kind >= OP_ADDRESS_ADD && op->kind <= OP_ADDRESS_DELETE)
		return op->address.link;
	if (op->kind >= OP_ROUTE_ADD && op->kind <= OP_ROUTE_DELETE)
		return op->route.link;
	return op->link.name;
}

static bool is_touched(const struct plan *undone, const char *name)
{
	for (size_t i = 0; i < undone->n_ops; i++) {
		if (strcmp(link_of(&undone->ops[i]), name) == 0)
			return true;
	}
	return false;
}

static bool is_on(const struct model *before, const struct link *link, const char *name)
{
	for (size_t i = 0; link != NULL && i < before->n_links; i++) {
		if (strcmp(link->name, name) == 0)
			return true;
		link = link->kind == LINK_VLAN ? model_find_link(before, link->parent) : NULL;
	}
	return false;
}

/* By a step on it, or on a VLAN above it. */
static bool is_needed(const struct model *before, const struct plan *undone, const char *name)
{
	for (size_t i = 0; i < before->n_links; i++) {
		const struct link *link = &before->links[i];

		if (is_touched(undone, link->name) && is_on(before, link, name))
			return true;
	}
	return false;
}

struct model *wayback_make(const struct model *before, const struct plan *undone,
                           const struct model *have, char ret_missing[static IFNAMSIZ])
{
	struct model *want = model_copy(before);

	ret_missing[0] = '\0';
	for (size_t i = want->n_links; i-- > 0;) {
		const struct link *link = &want->links[i];

		if (link->owner == OWNER_OURS || model_find_link(have, link->name) != NULL)
			continue;
		if (!link_is_virtual(link) && is_needed(before, undone, link->name))
			memcpy(ret_missing, link->name, IFNAMSIZ);
		model_remove_link(want, i);
	}
	return want;
}
