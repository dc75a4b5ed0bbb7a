/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What cannot be had: a link that is not there, with all that depends on it, and what would
 * overwrite another program's object. Each is told, and leaves `want`; everything else goes on.
 */

#include "netconf/plan/plan_priv.h"

const char *plan_owner_name(uint8_t protocol)
{
	switch (protocol) {
	case PLAN_VIPD_PROTOCOL:
		return "vipd";
	case RTPROT_KERNEL:
		return "the kernel";
	case RTPROT_BOOT:
		return "an administrator or a script";
	case RTPROT_STATIC:
		return "an administrator";
	case RTPROT_RA:
		return "router advertisements";
	case RTPROT_DHCP:
		return "a DHCP client";
	case RTPROT_BIRD:
		return "BIRD";
	case RTPROT_ZEBRA:
	case RTPROT_BGP:
	case RTPROT_ISIS:
	case RTPROT_OSPF:
	case RTPROT_RIP:
	case RTPROT_EIGRP:
		return "FRR";
	default:
		return "another program";
	}
}

/* --- links --- */

/* What another program has made is taken as it is if that is just what is wanted. */
static bool collides(const struct link *want, const struct link *have, unsigned *ret_differs)
{
	*ret_differs = link_differs(want, have);
	return link_is_virtual(want) && have->owner != OWNER_OURS && *ret_differs != 0;
}

/* True if it had to go. */
static bool check_link(struct planner *p, const struct link *link)
{
	const struct link *have = model_find_link(p->have, link->name);
	const struct link *wanted_parent = model_find_link(p->want, link->parent);
	unsigned differs;

	if (have == NULL && !link_is_virtual(link)) {
		planner_obstacle(p, PLAN_MISSING_LINK, &link->origin, "there is no link '%s'", link->name);
		return true;
	}
	if (link->kind == LINK_VLAN && link_has(link, LINK_HAS_PARENT) && have == NULL &&
	    wanted_parent == NULL && model_find_link(p->have, link->parent) == NULL) {
		planner_obstacle(p, PLAN_MISSING_LINK, &link->origin,
		                 "'%s' waits for '%s', which is not there", link->name, link->parent);
		return true;
	}
	if (have != NULL && p->options->undone == NULL && collides(link, have, &differs)) {
		planner_obstacle(p, PLAN_COLLISION, &link->origin,
		                 "'%s' was made by another program, and its %s is not the one wanted",
		                 link->name, link_attr_name(differs));
		return true;
	}
	return false;
}

/* Until nothing goes any more, since what goes can be a parent. */
static void check_links(struct planner *p)
{
	bool again = true;

	while (again) {
		again = false;
		for (size_t i = p->want->n_links; i-- > 0;) {
			if (check_link(p, &p->want->links[i])) {
				model_remove_link(p->want, i);
				again = true;
			}
		}
	}
}

/* The kernel would pass them over. As it has them without being asked, they are had. */
static void check_options(struct planner *p, const struct link *link)
{
	uint64_t lacking = link->bond->has & p->have->bond_lacks;

	for (enum bond_option option = 0; option < BOND_OPTIONS; option++) {
		const struct bond_option_info *info = &bond_options[option];
		bool is_list = info->type == BOND_IPV6;

		if ((lacking & BOND_BIT(option)) == 0)
			continue;
		link->bond->has &= ~BOND_BIT(option);
		if (is_list ? link->bond->n_ns_targets > 0 : link->bond->values[option] != info->initial)
			planner_obstacle(p, PLAN_IMPOSSIBLE, &link->origin,
			                 "'%s': this kernel's bonds have no %s ('%s'): leave it out, or take a "
			                 "newer kernel",
			                 link->name, info->name, info->key);
	}
}

static void check_bonds(struct planner *p)
{
	for (size_t i = 0; i < p->want->n_links; i++) {
		if (p->want->links[i].bond != NULL)
			check_options(p, &p->want->links[i]);
	}
}

static bool has_link(const struct planner *p, const char *name)
{
	return name[0] == '\0' || model_find_link(p->want, name) != NULL ||
	       model_find_link(p->have, name) != NULL;
}

/* --- addresses --- */

/* vipd's may be gone the next moment, so that even the same one is not the one wanted. */
static bool address_collides(const struct address *want, const struct address *have)
{
	return have->owner != OWNER_OURS &&
	       (have->protocol == PLAN_VIPD_PROTOCOL || !address_is_like(want, have));
}

/* What another program has in its place: the same, otherwise; of IPv6, which takes an address only
 * once, also with another prefix length. NULL: nothing. */
static const struct address *in_the_way_of(const struct planner *p, const struct address *want)
{
	for (size_t i = model_first_address(p->have, want->link);
	     model_is_address_of(p->have, i, want->link); i++) {
		const struct address *have = &p->have->addresses[i];
		bool is_same = have->prefix.len == want->prefix.len;

		if (!addr_equal(&have->prefix.addr, &want->prefix.addr))
			continue;
		if (is_same ? address_collides(want, have)
		            : have->owner != OWNER_OURS && want->prefix.addr.family == AF_INET6)
			return have;
	}
	return NULL;
}

static void check_addresses(struct planner *p)
{
	for (size_t i = p->want->n_addresses; i-- > 0;) {
		const struct address *want = &p->want->addresses[i], *have;
		char text[MODEL_TEXT_MAX], theirs[MODEL_TEXT_MAX];

		have = p->options->undone == NULL ? in_the_way_of(p, want) : NULL;
		if (!has_link(p, want->link)) {
			planner_obstacle(p, PLAN_MISSING_LINK, &want->origin, "address %s waits for its link",
			                 address_format(want, text));
			model_remove_address(p->want, i);
		} else if (have != NULL) {
			planner_obstacle(p, PLAN_COLLISION, &want->origin,
			                 "address %s is refused: %s belongs to %s (protocol %u)",
			                 address_format(want, text), address_format(have, theirs),
			                 plan_owner_name(have->protocol), have->protocol);
			model_remove_address(p->want, i);
		}
	}
}

/* --- routes --- */

static const struct route *other_of_key(const struct model *model, const struct route *route)
{
	const struct route *found = NULL;

	for (size_t i = effect_first_route(model, route);
	     i < model->n_routes && route_compare_key(&model->routes[i], route) == 0; i++) {
		if (model->routes[i].owner != OWNER_OURS &&
		    (found == NULL || route_differs(route, &model->routes[i]) == 0))
			found = &model->routes[i];
	}
	return found;
}

/* One of ours with that key stays until its successor can be had. */
static void keep_old(struct planner *p, const struct route *key, size_t i)
{
	for (size_t k = 0; k < p->have->n_routes; k++) {
		const struct route *have = &p->have->routes[k];

		if (have->owner == OWNER_OURS && route_compare_key(have, key) == 0) {
			model_remove_route(p->want, i);
			effect_insert_route(p->want, have);
			return;
		}
	}
	model_remove_route(p->want, i);
}

/* What there is, with the kernel's own routes where they will be: a link that goes into a VRF, or
 * leaves one, takes them along. The caller frees it. */
static struct model *with_moved_routes(const struct planner *p)
{
	struct model *model = model_copy(p->have);

	for (size_t i = 0; i < p->want->n_links; i++) {
		const struct link *want = &p->want->links[i];
		const struct link *have = model_find_link(p->have, want->name);

		if (have != NULL && link_has(want, LINK_HAS_MASTER))
			effect_move_connected(model, want->name, effect_table_of(p->have, have->master),
			                      effect_table_of(p->want, want->master));
	}
	return model;
}

static void check_routes(struct planner *p)
{
	AUTO(model_free) struct model *then = with_moved_routes(p);

	for (size_t i = p->want->n_routes; i-- > 0;) {
		const struct route want = p->want->routes[i];
		const struct route *have = other_of_key(then, &want);
		char text[MODEL_TEXT_MAX], theirs[MODEL_TEXT_MAX];

		if (!has_link(p, want.link)) {
			planner_obstacle(p, PLAN_MISSING_LINK, &want.origin, "route %s waits for its link",
			                 route_format(&want, text));
			keep_old(p, &want, i);
		} else if (have != NULL && route_differs(&want, have) != 0 && p->options->undone == NULL) {
			planner_obstacle(p, PLAN_COLLISION, &want.origin,
			                 "route %s is refused: %s belongs to %s (protocol %u)",
			                 route_format(&want, text), route_format(have, theirs),
			                 plan_owner_name(have->protocol), have->protocol);
			keep_old(p, &want, i);
		}
	}
}

/* --- addresses that others' routes leave from --- */

static bool has_addr(const struct model *model, const struct addr *addr)
{
	for (size_t i = 0; i < model->n_addresses; i++) {
		if (addr_equal(&model->addresses[i].prefix.addr, addr))
			return true;
	}
	return false;
}

/* Ours, and nobody else's, and not wanted any more. NULL: none such. */
static const struct address *going(const struct planner *p, const struct addr *addr)
{
	const struct address *ours = NULL;

	if (!addr_is_set(addr) || has_addr(p->want, addr))
		return NULL;
	for (size_t i = 0; i < p->have->n_addresses; i++) {
		const struct address *have = &p->have->addresses[i];

		if (!addr_equal(&have->prefix.addr, addr))
			continue;
		if (have->owner != OWNER_OURS)
			return NULL;
		ours = have;
	}
	return ours;
}

static void keep_address(struct planner *p, const struct address *address)
{
	const struct link *link = model_find_link(p->have, address->link);

	while (link != NULL && link->owner == OWNER_OURS &&
	       model_find_link(p->want, link->name) == NULL) {
		plan_keep_link(p, link);
		link = model_find_link(p->have, link->parent);
	}
	if (model_find_address(p->want, address->link, &address->prefix) == NULL)
		effect_insert_address(p->want, address);
}

/* The kernel drops an IPv4 route with the address that it leaves from, wherever it leads, and takes
 * it back with no other; of IPv6 it forgets the source. */
static void check_sources(struct planner *p)
{
	for (size_t i = 0; i < p->have->n_routes; i++) {
		const struct route *route = &p->have->routes[i];
		const struct address *address = going(p, &route->src);
		const struct origin nowhere = {0};
		char text[MODEL_TEXT_MAX], theirs[MODEL_TEXT_MAX];

		if (route->owner == OWNER_OURS || route->owner == OWNER_KERNEL || address == NULL)
			continue;
		planner_obstacle(p, PLAN_COLLISION, &nowhere,
		                 "address %s is kept: it is the source of route %s, which belongs to %s "
		                 "(protocol %u): delete that route, or give it another source, first",
		                 address_format(address, text), route_format(route, theirs),
		                 plan_owner_name(route->protocol), route->protocol);
		keep_address(p, address);
	}
}

void plan_obstacles(struct planner *p)
{
	check_links(p);
	check_bonds(p);
	check_addresses(p);
	check_routes(p);
	/* To undo a change is to delete what it has made, also if a lease has ended it. */
	if (p->options->undone == NULL && p->options->only_on == NULL &&
	    planner_allows(p, OP_ADDRESS_BREAK))
		check_sources(p);
}
