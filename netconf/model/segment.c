/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two links are followed down side by side, each in its own model, through VLANs, bonds and bridges
 * to the cards below. A name says nothing: a VLAN that is made anew under its old name can have
 * another tag, and a bond that takes a card over leads where the card led.
 */
#include "netconf/model/segment.h"

#include <string.h>

/* The kernel stacks no deeper (MAX_NEST_DEV). What was read while links changed might go round. */
#define DEPTH_MAX 8

struct models {
	const struct model *before, *after;
};

static bool is_same(const struct models *models, const struct link *from, const struct link *to,
                    unsigned depth);

static bool is_port_of(const struct link *link, const struct link *master)
{
	return strcmp(link->master, master->name) == 0;
}

static bool has_ports(const struct link *link)
{
	return link->kind == LINK_BOND || link->kind == LINK_BRIDGE;
}

/* One new port of a bridge is enough to hear of others. */
static bool are_all_ports_same(const struct models *models, const struct link *from,
                               const struct link *bridge, unsigned depth)
{
	for (size_t i = 0; i < models->after->n_links; i++) {
		const struct link *port = &models->after->links[i];

		if (is_port_of(port, bridge) && !is_same(models, from, port, depth))
			return false;
	}
	return true;
}

static bool is_any_port_same(const struct models *models, const struct link *from,
                             const struct link *bond, unsigned depth)
{
	for (size_t i = 0; i < models->after->n_links; i++) {
		const struct link *port = &models->after->links[i];

		if (is_port_of(port, bond) && is_same(models, from, port, depth))
			return true;
	}
	return false;
}

static bool was_any_port_same(const struct models *models, const struct link *master,
                              const struct link *to, unsigned depth)
{
	for (size_t i = 0; i < models->before->n_links; i++) {
		const struct link *port = &models->before->links[i];

		if (is_port_of(port, master) && is_same(models, port, to, depth))
			return true;
	}
	return false;
}

static bool is_parent_same(const struct models *models, const struct link *from,
                           const struct link *to, unsigned depth)
{
	return is_same(models, model_find_link(models->before, from->parent),
	               model_find_link(models->after, to->parent), depth);
}

static bool is_same(const struct models *models, const struct link *from, const struct link *to,
                    unsigned depth)
{
	if (from == NULL || to == NULL || depth == DEPTH_MAX)
		return false;
	depth++;
	if (to->kind == LINK_BRIDGE)
		return are_all_ports_same(models, from, to, depth);
	if (to->kind == LINK_BOND)
		return is_any_port_same(models, from, to, depth);
	if (has_ports(from))
		return was_any_port_same(models, from, to, depth);
	if (from->kind == LINK_VLAN && to->kind == LINK_VLAN)
		return from->vlan_id == to->vlan_id && from->vlan_protocol == to->vlan_protocol &&
		       is_parent_same(models, from, to, depth);
	/* The kernel gives no number twice: one that was made anew has another. */
	return from->kind == to->kind && from->ifindex == to->ifindex &&
	       ((from->parent[0] == '\0' && to->parent[0] == '\0') ||
	        is_parent_same(models, from, to, depth));
}

bool segment_is_same(const struct model *before, const char *from, const struct model *after,
                     const char *to)
{
	return is_same(&(struct models){before, after}, model_find_link(before, from),
	               model_find_link(after, to), 0);
}

bool segment_had_address(const struct model *before, const struct model *after,
                         const struct address *address)
{
	for (size_t i = 0; i < before->n_addresses; i++) {
		const struct address *had = &before->addresses[i];

		if (addr_equal(&had->prefix.addr, &address->prefix.addr) &&
		    segment_is_same(before, had->link, after, address->link))
			return true;
	}
	return false;
}

bool segment_is_open(const struct model *before, const struct model *after, const char *link)
{
	const struct link *now = model_find_link(before, link);

	return now != NULL && now->up && now->carrier && segment_is_same(before, link, after, link);
}
