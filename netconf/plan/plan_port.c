/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has which master. The ports of our bonds, bridges and VRFs are a closed set: who is not
 * wanted there leaves. They change one at a time, new ones first, and the next one waits until the
 * bond has its carrier. Where a bond would have fewer ports than its min_links meanwhile, that
 * number is lowered for the time, which costs nothing, while the missing carrier would cost
 * everything.
 */
#include <string.h>

#include "base/mem.h"
#include "netconf/plan/plan_priv.h"

/* The master that the port should have; NULL: it is left as it is. */
static const char *wanted_master(const struct planner *p, const struct link *now)
{
	const struct link *want = model_find_link(p->want, now->name);
	const struct link *master = model_find_link(p->now, now->master);
	const struct link *wanted;

	if (want != NULL && link_has(want, LINK_HAS_MASTER))
		return want->master;
	wanted = model_find_link(p->want, now->master);
	/* A set of ours is closed, unless the master only stays for another program's sake. */
	if (master != NULL && master->owner == OWNER_OURS && wanted != NULL && wanted->has != 0 &&
	    p->options->undone == NULL)
		return "";
	return NULL;
}

static bool is_bond(const struct planner *p, const char *name)
{
	const struct link *link = model_find_link(p->now, name);

	return link != NULL && link->kind == LINK_BOND;
}

/* One that can be counted on: open, and not one that was open before and carried nothing. Where
 * nothing may be lost, only what is seen counts: a port of that very master that carries frames. */
bool plan_port_is_live(const struct planner *p, const struct link *port)
{
	const struct link *had = model_find_link(p->have, port->name);
	bool was_port = had != NULL && strcmp(had->master, port->master) == 0;
	bool is_seen = had != NULL && (was_port ? link_carries(had) : had->carrier);

	if (!planner_allows(p, OP_BLIP))
		return port->up && was_port && is_seen;
	return port->up && (is_seen || had == NULL || !had->up);
}

static size_t count_live(const struct planner *p, const char *master)
{
	size_t n = 0;

	for (size_t i = 0; i < p->now->n_links; i++) {
		const struct link *port = &p->now->links[i];

		n += strcmp(port->master, master) == 0 && plan_port_is_live(p, port);
	}
	return n;
}

/* --- min_links --- */

static void set_min_links(struct planner *p, const char *bond, uint32_t n, enum op_class class)
{
	struct op op = {.kind = OP_BOND_SET, .class = class, .options = BOND_BIT(BOND_MIN_LINKS)};

	memcpy(op.link.name, bond, strlen(bond));
	op.link.kind = LINK_BOND;
	op.link.bond = NEW0(struct bond);
	bond_set(op.link.bond, BOND_MIN_LINKS, n);
	(void) planner_push(p, &op);
}

/* Before it leaves. */
static void spare_port(struct planner *p, const struct link *port)
{
	const struct link *bond = model_find_link(p->now, port->master);
	size_t left = count_live(p, port->master) - (plan_port_is_live(p, port) ? 1 : 0);

	if (bond != NULL && bond->bond != NULL && bond->bond->values[BOND_MIN_LINKS] > left)
		set_min_links(p, bond->name, (uint32_t) left, OP_HITLESS);
}

/* Ports that may carry something: all that are open but for those without a cable. What LACP has
 * not agreed on yet may be agreed on the next moment. */
static size_t count_possible(const struct planner *p, const char *bond)
{
	size_t n = 0;

	for (size_t i = 0; i < p->now->n_links; i++) {
		const struct link *port = &p->now->links[i];
		const struct link *had = model_find_link(p->have, port->name);

		n += strcmp(port->master, bond) == 0 && port->up &&
		     (had == NULL || !had->up || had->carrier);
	}
	return n;
}

/* A bond that carries nothing has nothing to lose. */
static enum op_class min_links_class(const struct planner *p, const struct link *bond, uint32_t n)
{
	bool may_carry =
	    bond->up && count_possible(p, bond->name) >= MAX(1u, bond->bond->values[BOND_MIN_LINKS]);

	return may_carry && count_live(p, bond->name) < n ? OP_BLIP : OP_HITLESS;
}

/* What is wanted, and what was lowered for the time. */
static void set_all_min_links(struct planner *p)
{
	for (size_t i = 0; i < p->now->n_links; i++) {
		const struct link *now = &p->now->links[i];
		const struct link *want = model_find_link(p->want, now->name);
		const struct link *had = model_find_link(p->have, now->name);
		uint32_t n;

		if (now->bond == NULL)
			continue;
		if (want != NULL && want->bond != NULL && bond_has(want->bond, BOND_MIN_LINKS))
			n = want->bond->values[BOND_MIN_LINKS];
		else if (had != NULL && had->bond != NULL)
			n = had->bond->values[BOND_MIN_LINKS];
		else
			continue;
		if (now->bond->values[BOND_MIN_LINKS] != n)
			set_min_links(p, now->name, n, min_links_class(p, now, n));
	}
}

/* --- one port --- */

static void leave(struct planner *p, const char *port)
{
	const struct link *now = model_find_link(p->now, port);

	if (is_bond(p, now->master))
		spare_port(p, now);
	(void) planner_set(p, port, &(struct link){.master = ""}, LINK_HAS_MASTER,
	                   MAX(OP_BLIP, plan_down_class(p, port)));
}

static void enter(struct planner *p, const char *port, const char *master)
{
	const struct link *now = model_find_link(p->now, port);
	const struct link *want = model_find_link(p->want, port);
	enum op_class down = effect_is_used(p->now, port) ? plan_down_class(p, port) : OP_HITLESS;
	struct link values = {0};

	memcpy(values.master, master, strlen(master));
	/* A bond gives its ports its own; a bridge takes theirs, if it has none that was asked for. */
	if (!is_bond(p, master) && want != NULL && (link_differs(want, now) & LINK_HAS_MTU) != 0)
		(void) planner_set_mtu(p, port, want->mtu);
	if (is_bond(p, master) && now->up)
		(void) planner_set_up(p, port, false, down);
	(void) planner_set(p, port, &values, LINK_HAS_MASTER, down);
}

static bool is_vrf(const struct planner *p, const char *name)
{
	const struct link *link = model_find_link(p->now, name);

	return link != NULL && link->kind == LINK_VRF;
}

/* A bond with its first port begins; one that had others must not lose the next too soon. */
static void move(struct planner *p, const char *port, const char *master)
{
	const struct link *now = model_find_link(p->now, port);

	if (now->master[0] != '\0')
		leave(p, port);
	if (master[0] == '\0')
		return;
	enter(p, port, master);
	if (is_vrf(p, master))
		plan_put_back(p);
	/* Where nothing may be lost, nothing leaves. */
	if (is_bond(p, master) && model_find_link(p->now, master)->up && planner_allows(p, OP_BLIP))
		plan_wait_carrier(p, port);
}

/* --- all of them --- */

enum round { ROUND_FREE, ROUND_MOVING, ROUND_LEAVING };

static bool belongs_to(enum round round, const struct link *now, const char *master)
{
	switch (round) {
	case ROUND_FREE:
		return now->master[0] == '\0' && master[0] != '\0';
	case ROUND_MOVING:
		return now->master[0] != '\0' && master[0] != '\0';
	case ROUND_LEAVING:
		return master[0] == '\0';
	}
	return false;
}

struct change {
	char port[IFNAMSIZ], master[IFNAMSIZ];
	unsigned position;
	bool is_done;
};

static int compare_changes(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	int order = strcmp(x->master, y->master);

	if (order == 0)
		order = x->position < y->position ? -1 : x->position > y->position;
	return order != 0 ? order : strcmp(x->port, y->port);
}

/* The one whose leaving is felt least, so that of two that change places neither is ever empty. */
static struct change *choose(const struct planner *p, struct change *changes, size_t n)
{
	struct change *best = NULL;
	size_t most = 0;

	for (size_t i = 0; i < n; i++) {
		const struct link *now = model_find_link(p->now, changes[i].port);
		size_t left = now->master[0] != '\0' ? count_live(p, now->master) : 0;

		if (changes[i].is_done || (best != NULL && left <= most))
			continue;
		best = &changes[i];
		most = left;
	}
	return best;
}

/* A new port costs its bond or bridge nothing, and itself nothing if nobody uses it yet. */
static bool may_enter(const struct planner *p, const struct link *now, const char *master)
{
	const struct link *link = model_find_link(p->now, master);

	return planner_allows(p, OP_BLIP) ||
	       (link->owner == OWNER_OURS && !effect_is_used(p->now, now->name));
}

static void run(struct planner *p, enum round round)
{
	AUTO(free) struct change *changes = xcalloc(p->now->n_links + 1, sizeof(*changes));
	size_t n = 0;

	for (size_t i = 0; i < p->now->n_links; i++) {
		const struct link *now = &p->now->links[i];
		const struct link *want = model_find_link(p->want, now->name);
		const char *master = wanted_master(p, now);

		if (master == NULL || strcmp(master, now->master) == 0 || !belongs_to(round, now, master))
			continue;
		/* Where the master waits, so does its port. */
		if (master[0] != '\0' &&
		    (model_find_link(p->now, master) == NULL || !may_enter(p, now, master)))
			continue;
		memcpy(changes[n].port, now->name, IFNAMSIZ);
		memcpy(changes[n].master, master, strlen(master));
		changes[n++].position = want != NULL ? want->position : 0;
	}
	qsort(changes, n, sizeof(*changes), compare_changes);
	for (struct change *next = choose(p, changes, n); next != NULL; next = choose(p, changes, n)) {
		next->is_done = true;
		move(p, next->port, next->master);
	}
}

void plan_ports(struct planner *p)
{
	run(p, ROUND_FREE);
	/* One that leaves costs those on it. */
	if (planner_allows(p, OP_BLIP)) {
		run(p, ROUND_MOVING);
		run(p, ROUND_LEAVING);
	}
	set_all_min_links(p);
	plan_bonds_primary(p);
}
