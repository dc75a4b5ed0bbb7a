/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links in their order: made from the bottom up and deleted from the top down; MTUs raised from the
 * bottom up and lowered from the top down; nothing is opened above what is closed. What cannot be
 * changed in a link (a VLAN's number, protocol or parent) is changed by making it anew.
 */
#include <string.h>

#include "base/mem.h"
#include "netconf/plan/plan_priv.h"

/* What only making anew can change. */
static unsigned fixed(void)
{
	return LINK_HAS_KIND |
	       (link_attrs_with(LINK_GIVEN) & ~link_attrs_with(LINK_SET | LINK_ORDERED));
}

static unsigned depth(const struct model *model, const struct link *link)
{
	unsigned n = 0;

	while (link != NULL && link->kind == LINK_VLAN && n < model->n_links) {
		link = model_find_link(model, link->parent);
		n++;
	}
	return n;
}

/* --- deleting --- */

/* The kernel deletes it with the link of that name, which it is on. */
static bool is_on(const struct link *link, const char *name)
{
	return (link->kind == LINK_VLAN || link->kind == LINK_OTHER) && strcmp(link->parent, name) == 0;
}

/* With the VLANs that go with it: those that nothing is on cost no more than itself. */
static enum op_class cost_of(const struct planner *p, const struct link *link)
{
	enum op_class class = link->up ? OP_BLIP : OP_HITLESS;

	if (link->master[0] != '\0' || effect_carries(p->now, link->name))
		return OP_ADDRESS_BREAK;
	for (size_t i = 0; i < p->now->n_links && class != OP_ADDRESS_BREAK; i++) {
		const struct link *other = &p->now->links[i];

		if (strcmp(other->master, link->name) == 0)
			return OP_ADDRESS_BREAK;
		if (is_on(other, link->name))
			class = other->kind == LINK_VLAN ? MAX(class, cost_of(p, other)) : OP_ADDRESS_BREAK;
	}
	return class;
}

static void delete_link(struct planner *p, const char *name)
{
	const struct link *link = model_find_link(p->now, name);
	struct op op = {.kind = OP_LINK_DELETE};
	const struct link *end;

	if (link == NULL)
		return;
	op.class = cost_of(p, link);
	end = effect_other_end(p->now, name);
	if (end != NULL)
		op.class = MAX(op.class, cost_of(p, end));
	memcpy(op.link.name, link->name, sizeof(op.link.name));
	op.link.kind = link->kind;
	(void) planner_push(p, &op);
}

/* Another program's, or of a kind that only others make. */
static bool is_foreign(const struct link *link)
{
	return link->owner != OWNER_OURS || link->kind == LINK_OTHER;
}

static const char *foreign_at(const struct planner *p, const char *name, char buf[static 256])
{
	const struct model *now = p->now;

	for (size_t i = 0; i < now->n_links; i++) {
		const struct link *link = &now->links[i];

		if (!is_on(link, name))
			continue;
		if (is_foreign(link))
			return strcpy(buf, link->name);
		if (foreign_at(p, link->name, buf) != NULL)
			return buf;
	}
	for (size_t i = model_first_address(now, name); model_is_address_of(now, i, name); i++) {
		const struct address *address = &now->addresses[i];

		if (address->owner == OWNER_FOREIGN && address->protocol != PLAN_VIPD_PROTOCOL)
			return address_format(address, buf);
	}
	for (size_t i = 0; i < now->n_routes; i++) {
		if (now->routes[i].owner == OWNER_FOREIGN && strcmp(now->routes[i].link, name) == 0)
			return route_format(&now->routes[i], buf);
	}
	return NULL;
}

/* Another program's object that would die with the link, or with its other end: a link on it, an
 * address, a route. NULL: none. vipd's addresses are no hindrance, since vipd moves its address
 * elsewhere. */
static const char *foreign_on(const struct planner *p, const char *name, char buf[static 256])
{
	const struct link *end = effect_other_end(p->now, name);
	const char *found = foreign_at(p, name, buf);

	return found == NULL && end != NULL ? foreign_at(p, end->name, buf) : found;
}

static bool foreign_link_on(const struct planner *p, const char *name)
{
	for (size_t i = 0; i < p->now->n_links; i++) {
		const struct link *link = &p->now->links[i];

		if (is_on(link, name) && (is_foreign(link) || foreign_link_on(p, link->name)))
			return true;
	}
	return false;
}

/* The same number on the same link, under another name: the kernel takes it once. */
static bool is_in_the_way(const struct planner *p, const struct link *link)
{
	for (size_t i = 0; i < p->want->n_links; i++) {
		const struct link *want = &p->want->links[i];

		if (link->kind == LINK_VLAN && want->kind == LINK_VLAN &&
		    strcmp(want->name, link->name) != 0 && strcmp(want->parent, link->parent) == 0 &&
		    want->vlan_id == link->vlan_id && want->vlan_protocol == link->vlan_protocol)
			return true;
	}
	return false;
}

/* A link that another program uses stays with all that we have on it, since their routes may need
 * our addresses. */
void plan_keep_link(struct planner *p, const struct link *link)
{
	struct link *kept = model_add_link(p->want, link->name, link->kind);

	link_copy(link, kept);
	kept->has = 0;
	if (kept->bond != NULL)
		kept->bond->has = 0;
	model_normalise(p->want);
	for (size_t i = 0; i < p->now->n_addresses; i++) {
		const struct address *address = &p->now->addresses[i];

		if (strcmp(address->link, link->name) == 0 && address->owner == OWNER_OURS &&
		    model_find_address(p->want, address->link, &address->prefix) == NULL)
			effect_insert_address(p->want, address);
	}
	for (size_t i = 0; i < p->now->n_routes; i++) {
		const struct route *route = &p->now->routes[i];

		if (strcmp(route->link, link->name) == 0 && route->owner == OWNER_OURS)
			effect_insert_wanted_route(p->want, route);
	}
}

static void delete_unwanted(struct planner *p, const struct link *link)
{
	const struct origin nowhere = {0};
	char text[256];

	if (p->options->undone == NULL && foreign_on(p, link->name, text) != NULL) {
		planner_obstacle(p, PLAN_COLLISION, &nowhere, "'%s' is kept: another program uses it: %s",
		                 link->name, text);
		plan_keep_link(p, link);
		return;
	}
	if (is_in_the_way(p, link)) {
		delete_link(p, link->name);
		return;
	}
	p->late = xreallocarray(p->late, p->n_late + 1, sizeof(*p->late));
	memcpy(p->late[p->n_late++], link->name, IFNAMSIZ);
}

static void delete_changed(struct planner *p, const struct link *link, const struct link *want)
{
	if (p->options->undone == NULL && foreign_link_on(p, link->name)) {
		planner_obstacle(p, PLAN_COLLISION, &want->origin,
		                 "'%s' cannot be made anew: another program has a link on it", link->name);
		return;
	}
	delete_link(p, link->name);
}

static void delete_old(struct planner *p)
{
	AUTO(model_free) struct model *before = model_copy(p->now);

	for (size_t i = 0; i < before->n_links; i++) {
		const struct link *link = &before->links[i];
		const struct link *want = model_find_link(p->want, link->name);

		if (link->owner != OWNER_OURS || model_find_link(p->now, link->name) == NULL)
			continue;
		if (want == NULL)
			delete_unwanted(p, link);
		else if (link_is_virtual(want) && (link_differs(want, link) & fixed()) != 0)
			delete_changed(p, link, want);
	}
}

/* Of a veth one end is deleted, and the step says nothing of the other: what is on either has steps
 * of its own, so that their classes are counted, and undoing knows of them. */
bool plan_link_goes(const struct planner *p, const char *name)
{
	const struct link *link = model_find_link(p->now, name);

	return link != NULL && link->owner == OWNER_OURS && link->kind != LINK_VETH &&
	       p->options->only_on == NULL && model_find_link(p->want, name) == NULL;
}

/*
 * The kernel waits when it takes links away, as long for one as for all that go with it: VLANs go
 * with what they are on, where all of that goes. Not with a veth, which waits for them.
 */
static void delete_lowest(struct planner *p)
{
	for (size_t i = 0; i < p->n_late; i++) {
		const struct link *link = model_find_link(p->now, p->late[i]);

		if (link != NULL && link->kind != LINK_VETH &&
		    (link->kind != LINK_VLAN || !plan_link_goes(p, link->parent)))
			delete_link(p, p->late[i]);
	}
}

void plan_links_delete(struct planner *p)
{
	bool again = true;

	delete_lowest(p);
	/* What is left, as it may be deleted while what it is on may not: from the top down. */
	while (again) {
		unsigned deepest = 0;
		const char *next = NULL;

		again = false;
		for (size_t i = 0; i < p->n_late; i++) {
			const struct link *link = model_find_link(p->now, p->late[i]);

			if (link != NULL && (next == NULL || depth(p->now, link) > deepest)) {
				next = p->late[i];
				deepest = depth(p->now, link);
			}
		}
		if (next != NULL) {
			delete_link(p, next);
			again = model_find_link(p->now, next) == NULL;
		}
	}
}

/* --- making --- */

static bool can_create(const struct planner *p, const struct link *want)
{
	return link_is_virtual(want) && model_find_link(p->now, want->name) == NULL &&
	       (want->kind != LINK_VLAN || model_find_link(p->now, want->parent) != NULL);
}

static void create_link(struct planner *p, const struct link *want)
{
	const struct link *parent = model_find_link(p->now, want->parent);
	struct op op = {.kind = OP_LINK_CREATE, .class = OP_HITLESS};

	link_copy(want, &op.link);
	op.link.has &= link_attrs_with(LINK_GIVEN);
	/* The parent's is raised later. */
	if (want->kind == LINK_VLAN && parent != NULL && want->mtu > parent->mtu)
		op.link.has &= ~(unsigned) LINK_HAS_MTU;
	wireguard_free(op.link.wireguard);
	op.link.wireguard = NULL;
	if (op.link.bond != NULL)
		op.link.bond->has &= plan_bond_creatable(op.link.bond);
	(void) planner_push(p, &op);
}

void plan_links_create(struct planner *p)
{
	bool again = true;

	delete_old(p);
	while (again) {
		again = false;
		for (size_t i = 0; i < p->want->n_links; i++) {
			if (can_create(p, &p->want->links[i])) {
				create_link(p, &p->want->links[i]);
				again = true;
			}
		}
	}
}

/* --- setting --- */

static bool is_bond_port(const struct planner *p, const struct link *now)
{
	const struct link *master = model_find_link(p->now, now->master);

	return master != NULL && master->kind == LINK_BOND;
}

static const struct link *differing(const struct planner *p, const struct link *want,
                                    unsigned attributes)
{
	const struct link *now = model_find_link(p->now, want->name);

	return now != NULL && (link_differs(want, now) & attributes) != 0 ? now : NULL;
}

static void set_mtu_at(struct planner *p, unsigned at, bool raise)
{
	for (size_t i = 0; i < p->want->n_links; i++) {
		const struct link *want = &p->want->links[i];
		const struct link *now = differing(p, want, LINK_HAS_MTU);

		if (now != NULL && depth(p->want, want) == at && (want->mtu > now->mtu) == raise &&
		    !is_bond_port(p, now))
			(void) planner_set_mtu(p, want->name, want->mtu);
	}
}

/* How many VLANs stand on each other. */
static unsigned deepest_of(const struct model *model)
{
	unsigned deepest = 0;

	for (size_t i = 0; i < model->n_links; i++)
		deepest = MAX(deepest, depth(model, &model->links[i]));
	return deepest;
}

static void set_mtus(struct planner *p, unsigned deepest)
{
	for (unsigned at = 0; at <= deepest; at++)
		set_mtu_at(p, at, true);
	for (unsigned at = deepest + 1; at-- > 0;)
		set_mtu_at(p, at, false);
}

static void set_plain(struct planner *p, const struct link *want)
{
	const struct link *now = model_find_link(p->now, want->name);
	unsigned differs = now != NULL ? link_differs(want, now) & link_attrs_with(LINK_SET) : 0;
	bool blips = (differs & link_attrs_with(LINK_BLIPS)) != 0;

	if (differs != 0)
		(void) planner_set(p, want->name, want, differs, now->up && blips ? OP_BLIP : OP_HITLESS);
}

static void set_wireguard(struct planner *p, const struct link *want)
{
	struct op op = {.kind = OP_WIREGUARD_SET, .class = OP_HITLESS};

	if (want->wireguard == NULL || differing(p, want, LINK_HAS_WIREGUARD) == NULL)
		return;
	memcpy(op.link.name, want->name, sizeof(op.link.name));
	op.link.kind = want->kind;
	op.link.wireguard = wireguard_copy(want->wireguard);
	(void) planner_push(p, &op);
}

/* It is no port yet, and as a closed link it can become one without loss: who knows what others do
 * with one that is open. */
static bool is_opened_by_entering(const struct planner *p, const struct link *want,
                                  const struct link *now)
{
	return want->up && p->options->undone == NULL && link_has(want, LINK_HAS_MASTER) &&
	       want->master[0] != '\0' && strcmp(want->master, now->master) != 0;
}

/* Opened from the bottom up: above a closed parent there is only ENETDOWN. */
static void open_at(struct planner *p, unsigned at)
{
	for (size_t i = 0; i < p->want->n_links; i++) {
		const struct link *want = &p->want->links[i];
		const struct link *now = differing(p, want, LINK_HAS_UP), *parent;

		if (now == NULL || depth(p->want, want) != at || is_opened_by_entering(p, want, now))
			continue;
		parent = model_find_link(p->now, now->parent);
		if (!want->up)
			(void) planner_set_up(p, want->name, false, plan_down_class(p, want->name));
		else if (parent == NULL || parent->up)
			(void) planner_set_up(p, want->name, true, OP_HITLESS);
		else
			planner_obstacle(p, PLAN_IMPOSSIBLE, &want->origin,
			                 "'%s' cannot be up while '%s' is down", want->name, parent->name);
	}
}

void plan_links_set(struct planner *p)
{
	unsigned deepest = deepest_of(p->want);

	set_mtus(p, deepest);
	for (size_t i = 0; i < p->want->n_links; i++) {
		set_plain(p, &p->want->links[i]);
		set_wireguard(p, &p->want->links[i]);
	}
	for (unsigned at = 0; at <= deepest; at++)
		open_at(p, at);
}
