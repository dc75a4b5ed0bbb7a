/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What only the whole configuration can show about addresses, routes and DHCP: two that are the
 * same, a gateway that nothing leads to.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "netconf/config/config_priv.h"

/* --- DHCP --- */

static bool refs_equal(const struct config_dhcp *a, const struct config_dhcp *b)
{
	return a->ref.name != NULL && b->ref.name != NULL && strcmp(a->ref.name, b->ref.name) == 0 &&
	       a->vlan_id == b->vlan_id;
}

void whole_check_dhcp(const struct whole *w)
{
	for (size_t i = 0; i < w->config->n_dhcps; i++) {
		const struct config_dhcp *dhcp = &w->config->dhcps[i];
		const struct config_link *master = whole_find_master(w, dhcp->ref.name);

		if (master != NULL && master->want.kind != LINK_VRF)
			whole_error(w, &w->reading->dhcps[i], NULL,
			            "asks for an address of '%s', which is a port of '%s'", dhcp->ref.name,
			            master->ref.name);
		for (size_t k = 0; k < i; k++) {
			if (w->config->dhcps[k].family == dhcp->family &&
			    refs_equal(&w->config->dhcps[k], dhcp))
				whole_error(w, &w->reading->dhcps[i], NULL,
				            "is DHCP on '%s' a second time, first at %s", dhcp->ref.name,
				            config_place_of(w->reading, &w->config->dhcps[k].origin));
		}
	}
}

static bool has_dhcp(const struct whole *w, const struct config_link *link, sa_family_t family)
{
	for (size_t i = 0; i < w->config->n_dhcps; i++) {
		const struct config_dhcp *dhcp = &w->config->dhcps[i];

		if (dhcp->family == family && (dhcp->ref.name == NULL || link->ref.name == NULL ||
		                               strcmp(dhcp->ref.name, link->ref.name) == 0))
			return true;
	}
	return false;
}

/* --- addresses --- */

struct address_ref {
	const struct addr *addr;
	size_t link, item;
};

static int compare_addresses(const void *a, const void *b)
{
	const struct address_ref *x = a, *y = b;
	int order = addr_compare(x->addr, y->addr);

	return order != 0 ? order : x->link < y->link ? -1 : x->link > y->link;
}

void whole_check_addresses(const struct whole *w)
{
	AUTO(free) struct address_ref *refs = NULL;
	size_t n = 0;

	for (size_t i = 0; i < w->config->n_links; i++)
		n += w->config->links[i].n_addresses;
	refs = xcalloc(n, sizeof(*refs));
	n = 0;
	for (size_t i = 0; i < w->config->n_links; i++) {
		for (size_t k = 0; k < w->config->links[i].n_addresses; k++)
			refs[n++] = (struct address_ref){&w->config->links[i].addresses[k].prefix.addr, i, k};
	}
	qsort(refs, n, sizeof(*refs), compare_addresses);
	for (size_t i = 1; i < n; i++) {
		const struct address_ref *a = &refs[i - 1], *b = &refs[i];

		/* Every link may have the same link-local address. */
		if (addr_equal(a->addr, b->addr) && a->link != b->link && !addr_is_linklocal(a->addr))
			whole_note(w, &w->reading->links[b->link].addresses[b->item], NULL,
			           "is the address of two links");
	}
}

/* --- routes --- */

struct route_ref {
	struct route route; /* in the table that it will be in */
	const struct place *place;
};

static int compare_routes(const void *a, const void *b)
{
	const struct route_ref *x = a, *y = b;
	int order = route_compare_key(&x->route, &y->route);

	if (order != 0)
		return order;
	return x->route.origin.line < y->route.origin.line   ? -1
	       : x->route.origin.line > y->route.origin.line ? 1
	                                                     : 0;
}

/* Of a VRF and its ports, where no other is written, that of the VRF. */
static uint32_t table_of(const struct whole *w, const struct config_link *link,
                         const struct route *route)
{
	const struct config_link *vrf =
	    link->want.kind == LINK_VRF ? link : whole_find_master(w, link->ref.name);

	if (route->table != RT_TABLE_MAIN || vrf == NULL || vrf->want.kind != LINK_VRF)
		return route->table;
	return vrf->want.table;
}

static size_t collect_routes(const struct whole *w, struct route_ref **ret_refs)
{
	const struct model *common = w->config->common;
	size_t n = common->n_routes;
	struct route_ref *refs;

	for (size_t i = 0; i < w->config->n_links; i++)
		n += w->config->links[i].n_routes;
	refs = xcalloc(n, sizeof(*refs));
	n = 0;
	for (size_t i = 0; i < common->n_routes; i++)
		refs[n++] = (struct route_ref){common->routes[i], &w->reading->blackholes[i]};
	for (size_t i = 0; i < w->config->n_links; i++) {
		const struct config_link *link = &w->config->links[i];

		for (size_t k = 0; k < link->n_routes && !link->is_ignored; k++) {
			refs[n] = (struct route_ref){link->routes[k], &w->reading->links[i].routes[k]};
			refs[n++].route.table = table_of(w, link, &link->routes[k]);
		}
	}
	*ret_refs = refs;
	return n;
}

static void check_twice(const struct whole *w)
{
	AUTO(free) struct route_ref *refs = NULL;
	size_t n = collect_routes(w, &refs);

	qsort(refs, n, sizeof(*refs), compare_routes);
	for (size_t i = 1; i < n; i++) {
		const struct route *first = &refs[i - 1].route;
		char prefix[PREFIX_TEXT_MAX];

		if (route_compare_key(first, &refs[i].route) != 0)
			continue;
		whole_error(w, refs[i].place, "give one another metric",
		            "is the second route to %s with metric %u in table %u, first at %s",
		            prefix_format(&first->dst, prefix), first->metric, first->table,
		            config_place_of(w->reading, &first->origin));
	}
}

/* Something of this link leads to the gateway: an address's network, or a route without gateway. */
static bool is_reachable(const struct config_link *link, const struct addr *gateway)
{
	for (size_t i = 0; i < link->n_addresses; i++) {
		if (prefix_contains(&link->addresses[i].prefix, gateway))
			return true;
	}
	for (size_t i = 0; i < link->n_routes; i++) {
		if (!addr_is_set(&link->routes[i].gateway) &&
		    prefix_contains(&link->routes[i].dst, gateway))
			return true;
	}
	return gateway->family == AF_INET6 && addr_is_linklocal(gateway);
}

static bool has_address_of(const struct config_link *link, sa_family_t family)
{
	for (size_t i = 0; i < link->n_addresses; i++) {
		if (link->addresses[i].prefix.addr.family == family)
			return true;
	}
	return false;
}

static bool is_own_address(const struct config_link *link, const struct addr *addr)
{
	for (size_t i = 0; i < link->n_addresses; i++) {
		if (addr_equal(&link->addresses[i].prefix.addr, addr))
			return true;
	}
	return false;
}

static void check_gateways(const struct whole *w, const struct config_link *link,
                           const struct link_place *place)
{
	for (size_t i = 0; i < link->n_routes; i++) {
		const struct route *route = &link->routes[i];

		if (!addr_is_set(&route->gateway))
			continue;
		if (is_own_address(link, &route->gateway))
			whole_error(w, &place->routes[i], NULL, "has a gateway that is the link's own address");
		else if (!route->onlink && !is_reachable(link, &route->gateway) &&
		         has_address_of(link, route->dst.addr.family) &&
		         !has_dhcp(w, link, route->dst.addr.family))
			whole_note(w, &place->routes[i], "add 'onlink: true' if it is there nevertheless",
			           "has a gateway that is in no network of this link");
	}
}

void whole_check_routes(const struct whole *w)
{
	check_twice(w);
	for (size_t i = 0; i < w->config->n_links; i++)
		check_gateways(w, &w->config->links[i], &w->reading->links[i]);
}
