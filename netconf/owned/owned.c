/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of what is ours without a mark: who is in it, who comes in and who leaves. Pure but for
 * its file, which is next door.
 */
#include "netconf/owned/owned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "netconf/owned/owned_priv.h"

struct owned *owned_new(void)
{
	struct owned *owned = NEW0(struct owned);

	owned->list = model_new();
	return owned;
}

void owned_free(struct owned *owned)
{
	if (owned == NULL)
		return;
	model_free(owned->list);
	free(owned->saved);
	free(owned);
}

size_t owned_count(const struct owned *owned)
{
	const struct model *list = owned->list;
	size_t n = list->n_addresses + list->n_routes + list->n_rules;

	for (size_t i = 0; i < list->n_links; i++)
		n += list->links[i].owner == OWNER_OURS;
	return n;
}

/* Not sorted: the list is short, and grows while it is read. */
static struct link *find_link(const struct owned *owned, const char *name)
{
	for (size_t i = 0; i < owned->list->n_links; i++) {
		if (strcmp(owned->list->links[i].name, name) == 0)
			return &owned->list->links[i];
	}
	return NULL;
}

struct link *owned_number(struct owned *owned, const char *name, int ifindex)
{
	struct link *link = find_link(owned, name);

	if (link == NULL)
		link = model_add_link(owned->list, name, LINK_OTHER);
	if (ifindex != 0)
		link->ifindex = ifindex;
	return link;
}

static int number_of(const struct model *have, const char *name)
{
	const struct link *link = model_find_link(have, name);

	return link != NULL ? link->ifindex : 0;
}

/* --- who is in it --- */

/* The link of the list is the one that is there. "": none is needed. */
static bool same_link(const struct owned *owned, const struct model *have, const char *name)
{
	const struct link *link = find_link(owned, name);

	return name[0] == '\0' ||
	       (link != NULL && (link->ifindex == 0 || link->ifindex == number_of(have, name)));
}

static bool lists_link(const struct owned *owned, const struct model *have, const struct link *link)
{
	const struct link *listed = find_link(owned, link->name);

	return listed != NULL && listed->owner == OWNER_OURS && same_link(owned, have, link->name);
}

static int compare_listed(const void *a, const void *b)
{
	const struct address *left = a, *right = b;
	int order = address_compare_key(left, right);

	return order != 0 ? order : (int) left->protocol - (int) right->protocol;
}

void owned_sort(struct owned *owned)
{
	if (owned->list->n_addresses > 1)
		qsort(owned->list->addresses, owned->list->n_addresses, sizeof(*owned->list->addresses),
		      compare_listed);
}

static bool lists_address(const struct owned *owned, const struct model *have,
                          const struct address *address)
{
	const struct model *list = owned->list;

	return list->n_addresses > 0 &&
	       bsearch(address, list->addresses, list->n_addresses, sizeof(*list->addresses),
	               compare_listed) != NULL &&
	       same_link(owned, have, address->link);
}

static bool lists_route(const struct owned *owned, const struct model *have,
                        const struct route *route)
{
	for (size_t i = 0; i < owned->list->n_routes; i++) {
		const struct route *listed = &owned->list->routes[i];

		if (route_compare_key(listed, route) == 0 && listed->protocol == route->protocol &&
		    listed->type == route->type && addr_equal(&listed->gateway, &route->gateway) &&
		    strcmp(listed->link, route->link) == 0 && !route->is_opaque)
			return same_link(owned, have, route->link);
	}
	return false;
}

static bool lists_rule(const struct owned *owned, const struct rule *rule)
{
	for (size_t i = 0; i < owned->list->n_rules; i++) {
		const struct rule *listed = &owned->list->rules[i];

		if (rule_compare(listed, rule) == 0 && listed->protocol == rule->protocol)
			return true;
	}
	return false;
}

void owned_judge(const struct owned *owned, struct model *have)
{
	for (size_t i = 0; i < have->n_links; i++) {
		if (link_is_virtual(&have->links[i]) && lists_link(owned, have, &have->links[i]))
			have->links[i].owner = OWNER_OURS;
	}
	for (size_t i = 0; i < have->n_addresses; i++) {
		if (lists_address(owned, have, &have->addresses[i]))
			have->addresses[i].owner = OWNER_OURS;
	}
	for (size_t i = 0; i < have->n_routes; i++) {
		if (lists_route(owned, have, &have->routes[i]))
			have->routes[i].owner = OWNER_OURS;
	}
	for (size_t i = 0; i < have->n_rules; i++) {
		if (lists_rule(owned, &have->rules[i]))
			have->rules[i].owner = OWNER_OURS;
	}
}

/* --- who comes in --- */

static void list_address(struct owned *owned, const struct model *have,
                         const struct address *address, uint8_t protocol)
{
	model_add_address(owned->list, address->link, &address->prefix)->protocol = protocol;
	(void) owned_number(owned, address->link, number_of(have, address->link));
}

static void list_route(struct owned *owned, const struct model *have, const struct route *route)
{
	struct route *listed = model_add_route(owned->list, &route->dst);

	*listed = *route;
	listed->raw = (struct raw_message){0};
	if (route->link[0] != '\0')
		(void) owned_number(owned, route->link, number_of(have, route->link));
}

static void list_rule(struct owned *owned, const struct rule *rule)
{
	struct rule *listed = model_add_rule(owned->list, rule->family, rule->priority);

	*listed = *rule;
	listed->raw = (struct raw_message){0};
}

/* One that does has marked its own of IPv6, and ours that are there. Where none has a mark, nobody
 * knows. */
static bool keeps_marks(const struct model *have)
{
	for (size_t i = 0; i < have->n_addresses; i++) {
		if (have->addresses[i].protocol != IFAPROT_UNSPEC)
			return true;
	}
	return false;
}

/* A link that is made anew gets another number. Until it is looked at again it is told by its name,
 * and what it carries is ours like what the old one had. */
static void forget_number(struct owned *owned, const char *name)
{
	struct link *link = find_link(owned, name);

	if (link != NULL)
		link->ifindex = 0;
}

void owned_expect(struct owned *owned, const struct plan *plan, const struct model *have)
{
	if (keeps_marks(have))
		return;
	for (size_t i = 0; i < plan->n_ops; i++) {
		const struct op *op = &plan->ops[i];

		if (op->kind == OP_ADDRESS_ADD && op->address.owner == OWNER_OURS)
			list_address(owned, have, &op->address, IFAPROT_UNSPEC);
	}
	for (size_t i = 0; i < plan->n_ops; i++) {
		if (plan->ops[i].kind != OP_LINK_CREATE)
			continue;
		forget_number(owned, plan->ops[i].link.name);
		forget_number(owned, plan->ops[i].link.peer);
	}
	owned_sort(owned);
}

/* --- who stays --- */

/* Of those that run no daemon and will not miss it. */
static bool is_by_hand(uint8_t protocol)
{
	return protocol == RTPROT_UNSPEC || protocol == RTPROT_BOOT || protocol == RTPROT_STATIC;
}

static bool adopts_link(const struct model *want, const struct link *have)
{
	const struct link *wanted = want != NULL ? model_find_link(want, have->name) : NULL;

	return wanted != NULL && have->owner == OWNER_FOREIGN && link_is_virtual(wanted) &&
	       have->group == 0 && link_differs(wanted, have) == 0;
}

static bool adopts_address(const struct model *want, const struct address *have)
{
	const struct address *wanted =
	    want != NULL ? model_find_address(want, have->link, &have->prefix) : NULL;

	return wanted != NULL && have->owner == OWNER_FOREIGN && have->protocol == IFAPROT_UNSPEC &&
	       address_is_like(wanted, have);
}

static bool adopts_route(const struct model *want, const struct route *have)
{
	if (want == NULL || have->owner != OWNER_FOREIGN || !is_by_hand(have->protocol))
		return false;
	for (size_t i = 0; i < want->n_routes; i++) {
		if (route_compare_key(&want->routes[i], have) == 0 &&
		    route_differs(&want->routes[i], have) == 0)
			return true;
	}
	return false;
}

static bool adopts_rule(const struct model *want, const struct rule *have)
{
	if (want == NULL || have->owner != OWNER_FOREIGN || !is_by_hand(have->protocol))
		return false;
	for (size_t i = 0; i < want->n_rules; i++) {
		if (rule_compare(&want->rules[i], have) == 0)
			return true;
	}
	return false;
}

void owned_settle(struct owned *owned, const struct model *want, const struct model *have)
{
	AUTO(owned_free) struct owned *next = owned_new();
	struct model *list;

	for (size_t i = 0; i < have->n_links; i++) {
		const struct link *link = &have->links[i];

		if (lists_link(owned, have, link) || adopts_link(want, link))
			owned_number(next, link->name, link->ifindex)->owner = OWNER_OURS;
	}
	for (size_t i = 0; i < have->n_addresses; i++) {
		const struct address *address = &have->addresses[i];

		if (lists_address(owned, have, address) || adopts_address(want, address))
			list_address(next, have, address, address->protocol);
	}
	for (size_t i = 0; i < have->n_routes; i++) {
		if (lists_route(owned, have, &have->routes[i]) || adopts_route(want, &have->routes[i]))
			list_route(next, have, &have->routes[i]);
	}
	for (size_t i = 0; i < have->n_rules; i++) {
		if (lists_rule(owned, &have->rules[i]) || adopts_rule(want, &have->rules[i]))
			list_rule(next, &have->rules[i]);
	}
	owned_sort(next);
	list = owned->list;
	owned->list = next->list;
	next->list = list;
}
