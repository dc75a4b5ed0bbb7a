/* SPDX-License-Identifier: Apache-2.0 */
/* Counts for each object, and the causes that are not counted. */
#include "netconf/fight.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

/* Of what other processes deleted and changed, so many are remembered, the newest. */
#define WRITES_MAX 128

struct object {
	char *step;
	int64_t *counted_us; /* repairs within the window */
	size_t n_counted;
	int64_t last_us;  /* the last repair, counted or not; 0: there was none */
	int64_t since_us; /* left alone */
	int64_t from_us;  /* the last time */
	int64_t until_us; /* it waits */
	unsigned level;   /* how often it was left alone; 0: not */
	bool is_refused, is_lost;
	char by[KERNEL_BY_MAX];
};

/* A link by its name: when it last went down or came up, and when it was last made. */
struct seen_link {
	char name[IFNAMSIZ];
	int ifindex;
	bool carries;
	int64_t flapped_us, made_us;
};

struct fight {
	struct object *objects;
	size_t n_objects;
	struct seen_link *links;
	size_t n_links;
	int64_t lost_us;    /* messages: every link may have flapped */
	int64_t changed_us; /* what was refused may be taken */
	struct write {
		struct kernel_news news;
		int64_t when_us;
	} writes[WRITES_MAX];
	size_t n_writes;
};

struct fight *fight_new(void)
{
	struct fight *fight = NEW0(struct fight);

	fight->lost_us = INT64_MIN;
	return fight;
}

static void object_fini(struct object *object)
{
	free(object->step);
	free(object->counted_us);
}

void fight_free(struct fight *fight)
{
	if (fight == NULL)
		return;
	for (size_t i = 0; i < fight->n_objects; i++)
		object_fini(&fight->objects[i]);
	free(fight->objects);
	free(fight->links);
	free(fight);
}

static struct object *find(const struct fight *fight, const char *step)
{
	for (size_t i = 0; i < fight->n_objects; i++) {
		if (strcmp(fight->objects[i].step, step) == 0)
			return &fight->objects[i];
	}
	return NULL;
}

static struct object *find_or_add(struct fight *fight, const char *step)
{
	struct object *object = find(fight, step);

	if (object != NULL)
		return object;
	fight->objects = xreallocarray(fight->objects, fight->n_objects + 1, sizeof(*fight->objects));
	object = &fight->objects[fight->n_objects++];
	*object = (struct object){.step = xstrdup(step)};
	return object;
}

static const struct object *find_op(const struct fight *fight, const struct op *op)
{
	char text[OP_TEXT_MAX];

	return find(fight, op_format(op, text));
}

/* --- what the kernel tells --- */

static struct seen_link *find_link(const struct fight *fight, const char *name)
{
	for (size_t i = 0; i < fight->n_links; i++) {
		if (strcmp(fight->links[i].name, name) == 0)
			return &fight->links[i];
	}
	return NULL;
}

/* Of a link that was not told of before, the state before is not known: it has changed. One that is
 * gone is forgotten, as names of containers' links do not come back. */
static bool on_link(struct fight *fight, const struct kernel_news *news, int64_t now_us)
{
	struct seen_link *link = find_link(fight, news->link);
	bool is_new = link == NULL || link->ifindex != news->ifindex;

	if (news->is_gone) {
		if (link != NULL)
			*link = fight->links[--fight->n_links];
		return true;
	}
	if (!is_new && link->carries == news->carries)
		return false;
	if (link == NULL) {
		fight->links = xreallocarray(fight->links, fight->n_links + 1, sizeof(*fight->links));
		link = &fight->links[fight->n_links++];
		memcpy(link->name, news->link, sizeof(link->name));
	}
	if (is_new)
		link->made_us = now_us;
	link->ifindex = news->ifindex;
	link->carries = news->carries;
	link->flapped_us = now_us;
	return true;
}

bool fight_on_news(struct fight *fight, const struct kernel_news *news, int64_t now_us)
{
	bool has_flapped = news->kind == KERNEL_NEWS_LOST ||
	                   (news->kind == KERNEL_NEWS_LINK && on_link(fight, news, now_us));

	if (news->by[0] != '\0')
		fight->writes[fight->n_writes++ % WRITES_MAX] = (struct write){*news, now_us};
	if (news->kind == KERNEL_NEWS_LOST)
		fight->lost_us = now_us;
	if (!has_flapped && (news->kind != KERNEL_NEWS_ADDRESS || news->is_gone))
		return false;
	fight->changed_us = now_us;
	for (size_t i = 0; i < fight->n_objects; i++) {
		if (fight->objects[i].is_refused)
			fight->objects[i].until_us = MIN(fight->objects[i].until_us, now_us);
	}
	return has_flapped;
}

/* --- what cannot be without what --- */

static bool is_link_step(const struct op *op)
{
	return op->kind <= OP_WIREGUARD_SET || op->kind == OP_WAIT_CARRIER;
}

static bool is_address_step(const struct op *op)
{
	return op->kind >= OP_ADDRESS_ADD && op->kind <= OP_ADDRESS_DELETE;
}

static bool is_route_step(const struct op *op)
{
	return op->kind >= OP_ROUTE_ADD && op->kind <= OP_ROUTE_DELETE;
}

/* The kernel has none of it while the link is down or not there. */
static bool needs_link(const struct op *op, const struct op *link)
{
	const char *name = link->link.name;
	bool is_up = link->kind == OP_LINK_SET && (link->attributes & LINK_HAS_UP) != 0;

	if (link->kind != OP_LINK_CREATE && !is_up)
		return false;
	if (is_link_step(op))
		return strcmp(op->link.parent, name) == 0 ||
		       (!is_up && (strcmp(op->link.name, name) == 0 || strcmp(op->link.master, name) == 0));
	return strcmp(op_link(op), name) == 0;
}

static bool needs_address(const struct op *op, const struct op *add)
{
	const struct address *address = &add->address;

	return add->kind == OP_ADDRESS_ADD && is_route_step(op) &&
	       strcmp(op->route.link, address->link) == 0 &&
	       (prefix_contains(&address->prefix, &op->route.gateway) ||
	        addr_equal(&op->route.src, &address->prefix.addr));
}

/* IPv4: the kernel deletes the secondary addresses of a subnet with its primary. */
static bool goes_with(const struct op *op, const struct op *first)
{
	return op->kind == OP_ADDRESS_ADD && first->kind == OP_ADDRESS_ADD &&
	       strcmp(op->address.link, first->address.link) == 0 &&
	       op->address.prefix.addr.family == AF_INET &&
	       op->address.prefix.len == first->address.prefix.len &&
	       prefix_contains(&first->address.prefix, &op->address.prefix.addr);
}

/* --- the decision --- */

void fight_look_at(struct fight *fight, const char *step)
{
	struct object *object = find(fight, step);

	if (object != NULL)
		object->is_lost = true;
}

/* An object that has stood for the window is forgotten. */
void fight_look(struct fight *fight, const struct plan *plan, int64_t window_us, int64_t now_us)
{
	char text[OP_TEXT_MAX];
	size_t n = 0;

	for (size_t i = 0; i < fight->n_objects; i++) {
		struct object *object = &fight->objects[i];

		object->is_lost = false;
		if (MAX(object->last_us, object->until_us) + window_us < now_us)
			object_fini(object);
		else
			fight->objects[n++] = *object;
	}
	fight->n_objects = n;
	for (size_t i = 0; i < plan->n_ops; i++)
		fight_look_at(fight, op_format(&plan->ops[i], text));
}

static bool can_be_without(const struct op *op, const struct op *lost, const struct model *have)
{
	if (needs_link(op, lost))
		return false;
	if (!needs_address(op, lost))
		return true;
	for (size_t i = 0; i < have->n_addresses; i++) {
		if (strcmp(have->addresses[i].link, op->route.link) == 0 &&
		    prefix_contains(&have->addresses[i].prefix, &op->route.gateway))
			return true;
	}
	return false;
}

void fight_hold(const struct fight *fight, struct plan *plan, const struct model *have,
                int64_t now_us)
{
	AUTO(free) struct op *held = xreallocarray(NULL, plan->n_ops + 1, sizeof(*held));
	size_t n_held = 0, n = 0;

	for (size_t i = 0; i < plan->n_ops; i++) {
		const struct object *object = find_op(fight, &plan->ops[i]);
		bool waits = object != NULL && now_us < object->until_us;

		for (size_t k = 0; k < n_held && !waits; k++)
			waits = !can_be_without(&plan->ops[i], &held[k], have);
		if (waits)
			held[n_held++] = plan->ops[i];
		else
			plan->ops[n++] = plan->ops[i];
	}
	plan->n_ops = n;
	for (size_t k = 0; k < n_held; k++)
		op_fini(&held[k]);
}

/* Since then, the kernel has dropped what is on that link. */
static bool has_flapped(const struct fight *fight, const char *name, bool is_made, int64_t since_us)
{
	const struct seen_link *link = find_link(fight, name);

	return fight->lost_us > since_us ||
	       (link != NULL && (is_made ? link->made_us : link->flapped_us) > since_us);
}

/* The kernel has dropped it, or set it back, since it was last repaired. */
static bool is_kernels(const struct fight *fight, const struct plan *plan, size_t i,
                       int64_t since_us)
{
	const struct op *op = &plan->ops[i];

	for (size_t k = 0; k < i; k++) {
		if (needs_link(op, &plan->ops[k]) || needs_address(op, &plan->ops[k]) ||
		    goes_with(op, &plan->ops[k]))
			return true;
	}
	if (!is_link_step(op))
		return has_flapped(fight, op_link(op), false, since_us);
	return has_flapped(fight, op->link.parent, true, since_us) ||
	       (op->kind != OP_LINK_CREATE && (has_flapped(fight, op->link.name, true, since_us) ||
	                                       has_flapped(fight, op->link.master, true, since_us)));
}

static void find_writer(const struct fight *fight, const struct op *op, struct object *object)
{
	object->by[0] = '\0';
	for (size_t i = 0; i < MIN(fight->n_writes, (size_t) WRITES_MAX); i++) {
		const struct write *write = &fight->writes[i];
		const struct kernel_news *news = &write->news;
		bool is_it = is_route_step(op) ? news->kind == KERNEL_NEWS_ROUTE &&
		                                     prefix_equal(&news->prefix, &op->route.dst)
		             : is_address_step(op)
		                 ? news->kind == KERNEL_NEWS_ADDRESS &&
		                       prefix_equal(&news->prefix, &op->address.prefix)
		                 : news->kind == KERNEL_NEWS_LINK && strcmp(news->link, op_link(op)) == 0;

		if (is_it && write->when_us > object->last_us)
			memcpy(object->by, news->by, sizeof(object->by));
	}
}

static bool is_too_often(struct object *object, const struct config_fight *rule, int64_t now_us)
{
	size_t n = 0;

	for (size_t i = 0; i < object->n_counted; i++) {
		if (object->counted_us[i] > now_us - rule->window_us)
			object->counted_us[n++] = object->counted_us[i];
	}
	object->n_counted = n;
	if (n >= rule->rewrites)
		return true;
	object->counted_us = xreallocarray(object->counted_us, n + 1, sizeof(*object->counted_us));
	object->counted_us[object->n_counted++] = now_us;
	return false;
}

/* After a pause one repair shows whether the other process is still at it. */
static bool may(struct object *object, bool is_excused, const struct config_fight *rule,
                int64_t now_us)
{
	bool is_probe = object->level > 0 && object->last_us < object->until_us;
	bool is_fought =
	    !is_excused && !is_probe && (object->level > 0 || is_too_often(object, rule, now_us));

	if (now_us < object->until_us)
		return false;
	object->is_refused = false;
	object->is_lost = true;
	if (!is_fought) {
		object->last_us = now_us;
		return true;
	}
	if (object->level++ == 0)
		object->since_us = now_us;
	object->from_us = now_us;
	object->until_us =
	    now_us + MIN(FIGHT_PAUSE_US << MIN(object->level - 1, 10U), FIGHT_PAUSE_MAX_US);
	return false;
}

static void count(struct fight *fight, const struct plan *plan, size_t i,
                  const struct config_fight *rule, int64_t now_us)
{
	const struct op *op = &plan->ops[i];
	char text[OP_TEXT_MAX];
	struct object *object = find_or_add(fight, op_format(op, text));
	int64_t since_us = object->last_us > 0 ? object->last_us : now_us - rule->window_us;

	if (!may(object, is_kernels(fight, plan, i, since_us), rule, now_us))
		find_writer(fight, op, object);
}

void fight_count(struct fight *fight, struct plan *plan, const struct model *have,
                 const struct config_fight *rule, int64_t now_us)
{
	fight_hold(fight, plan, have, now_us);
	for (size_t i = 0; i < plan->n_ops; i++)
		count(fight, plan, i, rule, now_us);
	fight_hold(fight, plan, have, now_us);
}

bool fight_may_step(struct fight *fight, const char *step, const struct config_fight *rule,
                    int64_t now_us)
{
	return may(find_or_add(fight, step), false, rule, now_us);
}

void fight_refused(struct fight *fight, const struct plan *left, int64_t now_us)
{
	char text[OP_TEXT_MAX];

	for (size_t i = 0; i < left->n_ops; i++) {
		struct object *object = find_or_add(fight, op_format(&left->ops[i], text));

		if (object->n_counted > 0 && object->counted_us[object->n_counted - 1] == object->last_us)
			object->n_counted--;
		if (fight->changed_us > object->last_us)
			continue;
		object->is_refused = true;
		object->until_us = now_us + FIGHT_PAUSE_US;
	}
}

/* --- telling --- */

int64_t fight_next_us(const struct fight *fight, int64_t now_us)
{
	int64_t next_us = MONO_NEVER;

	for (size_t i = 0; i < fight->n_objects; i++) {
		if (fight->objects[i].until_us > now_us)
			next_us = MIN(next_us, fight->objects[i].until_us);
	}
	return next_us;
}

bool fight_get(const struct fight *fight, size_t i, int64_t now_us, struct fight_left *ret_left)
{
	for (size_t k = 0; k < fight->n_objects; k++) {
		const struct object *object = &fight->objects[k];

		if (!object->is_lost || object->level == 0 || object->until_us <= now_us || i-- > 0)
			continue;
		*ret_left = (struct fight_left){.step = object->step,
		                                .by = object->by,
		                                .since_us = object->since_us,
		                                .from_us = object->from_us,
		                                .until_us = object->until_us};
		return true;
	}
	return false;
}
