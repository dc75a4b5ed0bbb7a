/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a step does to a network besides what it says: here to addresses, routes and rules. The
 * planner does each step to a model, so that it knows what is there when the next one comes, and
 * what the kernel dropped meanwhile. Facts: kernels 6.1 and 6.18, tried.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "netconf/plan/plan_priv.h"

/* --- sorted lists --- */

/* Moves the last element to where it belongs; each list is sorted but for its last. */
void effect_settle_last(void *list, size_t n, size_t size,
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

void effect_insert_address(struct model *model, const struct address *address)
{
	struct address *copy = model_add_address(model, address->link, &address->prefix);

	*copy = *address;
	raw_copy(&copy->raw);
	effect_settle_last(model->addresses, model->n_addresses, sizeof(*copy), compare_addresses);
}

void effect_insert_route(struct model *model, const struct route *route)
{
	struct route *copy = model_add_route(model, &route->dst);

	*copy = *route;
	raw_copy(&copy->raw);
	effect_settle_last(model->routes, model->n_routes, sizeof(*copy), compare_routes);
}

size_t effect_first_route(const struct model *model, const struct route *key)
{
	size_t low = 0, high = model->n_routes;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (route_compare_key(&model->routes[middle], key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void effect_insert_wanted_route(struct model *want, const struct route *route)
{
	size_t at = effect_first_route(want, route);

	if (at == want->n_routes || route_compare_key(&want->routes[at], route) != 0)
		effect_insert_route(want, route);
}

static void insert_rule(struct model *model, const struct rule *rule)
{
	struct rule *copy = model_add_rule(model, rule->family, rule->priority);

	*copy = *rule;
	raw_copy(&copy->raw);
	effect_settle_last(model->rules, model->n_rules, sizeof(*copy), compare_rules);
}

void effect_lose_address(struct model *now, size_t i, struct model *lost)
{
	effect_insert_address(lost, &now->addresses[i]);
	model_remove_address(now, i);
}

static void effect_lose_route(struct model *now, size_t i, struct model *lost)
{
	effect_insert_route(lost, &now->routes[i]);
	model_remove_route(now, i);
}

/* --- addresses --- */

static bool on_link(const char *link, const char *name)
{
	return strcmp(link, name) == 0;
}

/* In one pass: a network may have thousands. */
static void lose_routes_if(struct model *now, struct model *lost,
                           bool (*goes)(const struct route *route, const void *what),
                           const void *what)
{
	size_t kept = 0;

	for (size_t i = 0; i < now->n_routes; i++) {
		if (goes(&now->routes[i], what)) {
			effect_insert_route(lost, &now->routes[i]);
			free(now->routes[i].raw.data);
		} else {
			now->routes[kept++] = now->routes[i];
		}
	}
	now->n_routes = kept;
}

struct on_link_of_family {
	const char *name;
	sa_family_t family; /* AF_UNSPEC: any */
};

static bool is_made_by_others(const struct route *route, const void *what)
{
	const struct on_link_of_family *of = what;

	return route->owner != OWNER_KERNEL && on_link(route->link, of->name) &&
	       (of->family == AF_UNSPEC || route->dst.addr.family == of->family);
}

/* Those of the kernel are made anew when the link comes up, as long as it has the address. */
void effect_lose_routes(struct model *now, const char *name, sa_family_t family, struct model *lost)
{
	const struct on_link_of_family of = {name, family};

	lose_routes_if(now, lost, is_made_by_others, &of);
}

struct gone_link {
	const char *name;
	const struct address *addresses;
	size_t n_addresses;
};

static bool goes_with_link(const struct route *route, const void *what)
{
	const struct gone_link *gone = what;

	if (on_link(route->link, gone->name))
		return true;
	if (route->dst.addr.family != AF_INET || route->owner == OWNER_KERNEL ||
	    !addr_is_set(&route->src))
		return false;
	for (size_t i = 0; i < gone->n_addresses; i++) {
		if (addr_equal(&route->src, &gone->addresses[i].prefix.addr))
			return true;
	}
	return false;
}

/* Also those that leave from its addresses by other links. */
void effect_lose_all_on(struct model *now, const char *name, struct model *lost)
{
	size_t first = model_first_address(now, name);
	struct gone_link gone = {.name = name};

	while (model_is_address_of(now, first + gone.n_addresses, name))
		gone.n_addresses++;
	gone.addresses = &now->addresses[first];
	lose_routes_if(now, lost, goes_with_link, &gone);
	for (size_t i = 0; i < gone.n_addresses; i++)
		effect_insert_address(lost, &now->addresses[first + i]);
	model_remove_addresses(now, first, gone.n_addresses);
}

void effect_move_connected(struct model *model, const char *name, uint32_t from, uint32_t to)
{
	bool moved = false;

	for (size_t i = 0; i < model->n_routes && from != to; i++) {
		struct route *route = &model->routes[i];

		if (!on_link(route->link, name) || route->owner != OWNER_KERNEL || route->table != from)
			continue;
		route->table = to;
		moved = true;
	}
	if (moved)
		model_normalise(model);
}

static bool has_address(const struct model *now, const char *link, sa_family_t family)
{
	for (size_t i = model_first_address(now, link); model_is_address_of(now, i, link); i++) {
		if (now->addresses[i].prefix.addr.family == family)
			return true;
	}
	return false;
}

static bool same_subnet(const struct address *a, const struct address *b)
{
	return a->prefix.len == b->prefix.len && prefix_contains(&a->prefix, &b->prefix.addr) &&
	       on_link(a->link, b->link);
}

/* Which one is the kernel's choice: the first of its list, which nobody else needs to know. */
static void promote(struct model *now, const struct address *gone)
{
	for (size_t i = model_first_address(now, gone->link); model_is_address_of(now, i, gone->link);
	     i++) {
		if ((now->addresses[i].state & IFA_F_SECONDARY) != 0 &&
		    same_subnet(&now->addresses[i], gone)) {
			now->addresses[i].state &= ~(uint32_t) IFA_F_SECONDARY;
			return;
		}
	}
}

static void lose_secondaries(struct model *now, const struct address *gone, struct model *lost)
{
	size_t i = model_first_address(now, gone->link);

	while (model_is_address_of(now, i, gone->link)) {
		if ((now->addresses[i].state & IFA_F_SECONDARY) != 0 &&
		    same_subnet(&now->addresses[i], gone))
			effect_lose_address(now, i, lost);
		else
			i++;
	}
}

static void delete_address(struct model *now, const struct address *gone, struct model *lost)
{
	const struct address *found = model_find_address(now, gone->link, &gone->prefix);
	const struct link *link = model_find_link(now, gone->link);
	bool is_primary, promotes = link != NULL && link->promote;

	if (found == NULL)
		return;
	is_primary = found->prefix.addr.family == AF_INET && (found->state & IFA_F_SECONDARY) == 0;
	model_remove_address(now, (size_t) (found - now->addresses));
	if (is_primary && promotes)
		promote(now, gone);
	else if (is_primary)
		lose_secondaries(now, gone, lost);
	/* Routes that leave from it go, and all of its family with the last one. */
	for (size_t i = now->n_routes; i-- > 0;) {
		if (now->routes[i].dst.addr.family == AF_INET &&
		    addr_equal(&now->routes[i].src, &gone->prefix.addr) &&
		    now->routes[i].owner != OWNER_KERNEL)
			effect_lose_route(now, i, lost);
	}
	if (gone->prefix.addr.family == AF_INET && !has_address(now, gone->link, AF_INET))
		effect_lose_routes(now, gone->link, AF_INET, lost);
}

static void add_address(struct model *now, const struct op *op)
{
	struct address address = op->address;

	for (size_t i = model_first_address(now, address.link);
	     model_is_address_of(now, i, address.link) && address.prefix.addr.family == AF_INET; i++) {
		if (same_subnet(&now->addresses[i], &address))
			address.state |= IFA_F_SECONDARY;
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
	if (to->prefix.addr.family == AF_INET6)
		found->flags = to->flags;
}

/* --- routes and rules --- */

static void remove_route(struct model *now, const struct route *gone)
{
	for (size_t i = effect_first_route(now, gone);
	     i < now->n_routes && route_compare_key(&now->routes[i], gone) == 0; i++) {
		if (now->routes[i].owner == OWNER_OURS) {
			model_remove_route(now, i);
			return;
		}
	}
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

/* --- all of them --- */

void effect_apply(struct model *now, const struct op *op, struct model *lost)
{
	switch (op->kind) {
	case OP_LINK_CREATE:
		effect_link_create(now, &op->link);
		break;
	case OP_LINK_DELETE:
		effect_link_delete(now, op->link.name, lost);
		break;
	case OP_LINK_SET:
		effect_link_set(now, op, lost);
		break;
	case OP_BOND_SET:
		effect_bond_set(now, op);
		break;
	case OP_WIREGUARD_SET:
		effect_wireguard_set(now, &op->link);
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
		effect_insert_route(now, &op->route);
		break;
	case OP_ROUTE_REPLACE:
		remove_route(now, &op->route);
		effect_insert_route(now, &op->route);
		break;
	case OP_ROUTE_DELETE:
		remove_route(now, &op->route);
		break;
	case OP_RULE_ADD:
		insert_rule(now, &op->rule);
		break;
	case OP_RULE_DELETE:
		remove_rule(now, &op->rule);
		break;
	case OP_WAIT_CARRIER:
	case OP_KINDS:
		break;
	}
}

/* --- putting back what is lost --- */

/*
 * Putting back what the kernel dropped on the way. Ours that are still wanted come back as wanted;
 * another program's come back just as they were. vipd's addresses do not: their lifetime is the
 * fence that keeps two nodes from having one address, and only vipd knows whether it still may.
 */

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
		raw_copy(&op.address.raw);
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

	raw_copy(&op.route.raw);
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
