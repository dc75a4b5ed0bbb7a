/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What only the whole configuration can show about links: one that is described twice, a port of
 * two masters, a circle, MTUs that cannot be. Links are compared by the names that people wrote;
 * that two names are one device is known when the devices are (resolve.c). Addresses and routes: in
 * config_cross_route.c.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "netconf/config/config_priv.h"

/* --- the index of names --- */

static int compare_names(const void *a, const void *b)
{
	const struct whole_name *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order != 0 ? order : x->link < y->link ? -1 : x->link > y->link;
}

static void index_names(struct whole *w)
{
	w->names = xcalloc(w->config->n_links, sizeof(*w->names));
	for (size_t i = 0; i < w->config->n_links; i++) {
		if (w->config->links[i].ref.name != NULL)
			w->names[w->n_names++] = (struct whole_name){w->config->links[i].ref.name, i};
	}
	qsort(w->names, w->n_names, sizeof(*w->names), compare_names);
}

/* The index of the link that is described under this name; -1: none. */
static ssize_t whole_find_link(const struct whole *w, const char *name)
{
	size_t low = 0, high = w->n_names;

	while (name != NULL && low < high) {
		size_t middle = (low + high) / 2;
		int order = strcmp(w->names[middle].name, name);

		if (order == 0)
			return (ssize_t) w->names[middle].link;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return -1;
}

void whole_error(const struct whole *w, const struct place *place, const char *hint,
                 const char *fmt, ...)
{
	AUTO(free) char *what = NULL;
	size_t before = conf_enter(w->reading->conf, "%s", place->path);
	va_list ap;

	va_start(ap, fmt);
	what = xvasprintf(fmt, ap);
	va_end(ap);
	conf_error(w->reading->conf, place->at, hint, "%s", what);
	conf_leave(w->reading->conf, before);
}

void whole_note(const struct whole *w, const struct place *place, const char *hint,
                const char *what)
{
	size_t before = conf_enter(w->reading->conf, "%s", place->path);

	conf_note(w->reading->conf, place->at, hint, "%s", what);
	conf_leave(w->reading->conf, before);
}

/* "eth0", or how else the link is chosen. */
static const char *name_of(const struct config_link *link)
{
	return link->ref.name != NULL ? link->ref.name : "the chosen device";
}

/* --- names --- */

static void check_names(const struct whole *w)
{
	const struct config *config = w->config;

	for (size_t i = 1; i < w->n_names; i++) {
		size_t first = w->names[i - 1].link;

		if (strcmp(w->names[i - 1].name, w->names[i].name) != 0)
			continue;
		whole_error(w, &w->reading->links[w->names[i].link].self, "say all of a link in one place",
		            "'%s' is described twice, first at %s", w->names[i].name,
		            config_place_of(w->reading, &config->links[first].want.origin));
	}
	for (size_t i = 0; i < config->n_aliases; i++) {
		ssize_t link = whole_find_link(w, config->aliases[i].name);

		if (link >= 0 && config->links[link].want.kind != LINK_PHYSICAL)
			whole_error(w, &w->reading->links[link].self, NULL, "'%s' is an alias already, at %s",
			            config->aliases[i].name,
			            config_place_of(w->reading, &config->aliases[i].origin));
	}
}

/* Two entries with one selector: the same devices, described twice. */
static void check_selectors(const struct whole *w)
{
	const struct config *config = w->config;

	for (size_t i = 0; i < config->n_links; i++) {
		for (size_t k = 0; k < i && config->links[i].ref.selector != NULL; k++) {
			if (selector_equal(config->links[i].ref.selector, config->links[k].ref.selector))
				whole_error(w, &w->reading->links[i].self, "say all of a link in one place",
				            "has the selector of the entry at %s",
				            config_place_of(w->reading, &config->links[k].want.origin));
		}
		for (size_t k = 0; k < i && config->links[i].parent.selector != NULL; k++) {
			if (selector_equal(config->links[i].parent.selector,
			                   config->links[k].parent.selector) &&
			    config->links[i].want.vlan_id == config->links[k].want.vlan_id)
				whole_error(w, &w->reading->links[i].self, NULL,
				            "is VLAN %u a second time, first on line %u",
				            config->links[i].want.vlan_id, config->links[k].want.origin.line);
		}
	}
}

/* --- ports --- */

static void take_bridge_ports(const struct whole *w)
{
	for (size_t i = 0; i < w->reading->n_bridge_ports; i++) {
		struct bridge_port *port = &w->reading->bridge_ports[i];
		ssize_t master = whole_find_link(w, port->master);
		struct config_link *bridge = master >= 0 ? &w->config->links[master] : NULL;
		struct link_draft draft;

		if (bridge == NULL || bridge->want.kind != LINK_BRIDGE) {
			whole_error(w, &port->place, NULL, "is not a bridge that is described here");
			continue;
		}
		draft = (struct link_draft){w->reading, *bridge, w->reading->links[master]};
		for (size_t k = 0; k < bridge->n_ports && port->ref.name != NULL; k++) {
			if (strcmp(bridge->ports[k].name != NULL ? bridge->ports[k].name : "",
			           port->ref.name) == 0)
				config_ref_fini(&port->ref);
		}
		if (port->ref.name == NULL && port->ref.selector == NULL)
			continue; /* the bridge names it as well */
		config_add_port(&draft, &port->ref, port->place.at);
		*bridge = draft.link;
		w->reading->links[master] = draft.place;
	}
}

/* NULL, or why a link of this kind cannot be a port of that one. */
static const char *refuse_port(enum link_kind master, enum link_kind port)
{
	if (port == LINK_LOOPBACK)
		return "is the loopback, which can be no port";
	if (port == LINK_VRF)
		return "is a VRF, which can be no port";
	if (master == LINK_VRF)
		return NULL;
	if (port == LINK_WIREGUARD)
		return "is a WireGuard link, which has no Ethernet frames";
	if (master == LINK_BRIDGE)
		return port == LINK_BRIDGE ? "is a bridge itself" : NULL;
	if (port == LINK_BOND)
		return "is a bond itself";
	return port == LINK_BRIDGE ? "is a bridge, which can be no port of a bond" : NULL;
}

static void check_port_link(const struct whole *w, const struct config_link *master,
                            const struct place *place, size_t port_index)
{
	const struct config_link *port = &w->config->links[port_index];
	const struct link_place *port_place = &w->reading->links[port_index];
	const char *refusal = refuse_port(master->want.kind, port->want.kind);

	if (refusal != NULL)
		whole_error(w, place, NULL, "%s", refusal);
	if (port->is_ignored)
		whole_error(w, place, NULL, "has 'ignore: true'");
	if (master->want.kind == LINK_VRF)
		return;
	if (port->n_addresses > 0)
		whole_error(w, &port_place->addresses[0], NULL,
		            "is on a port of %s, where no address works", name_of(master));
	if (port->n_routes > 0)
		whole_error(w, &port_place->routes[0], NULL, "is a route on a port of %s, where none works",
		            name_of(master));
	if ((port->want.has & master->want.has & LINK_HAS_MTU) != 0 && master->want.kind == LINK_BOND &&
	    port->want.mtu != master->want.mtu)
		whole_error(w, &port_place->self, NULL,
		            "has the MTU %u, but as a port of %s it gets the MTU %u", port->want.mtu,
		            name_of(master), master->want.mtu);
	if (master->want.kind == LINK_BOND && (port->want.has & LINK_HAS_MAC) != 0)
		whole_error(w, &port_place->self, "give the bond one",
		            "has a 'hardwareAddr', but as a port of %s it gets the bond's",
		            name_of(master));
}

static int compare_ports(const void *a, const void *b)
{
	const struct whole_port *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	if (order != 0)
		return order;
	return x->master != y->master ? (x->master < y->master ? -1 : 1)
	                              : (x->item < y->item ? -1 : x->item > y->item);
}

static void index_ports(struct whole *w)
{
	for (size_t i = 0; i < w->config->n_links; i++)
		w->n_ports += w->config->links[i].n_ports;
	w->ports = xcalloc(w->n_ports, sizeof(*w->ports));
	w->n_ports = 0;
	for (size_t i = 0; i < w->config->n_links; i++) {
		const struct config_link *master = &w->config->links[i];

		for (size_t k = 0; k < master->n_ports; k++) {
			if (master->ports[k].name != NULL)
				w->ports[w->n_ports++] = (struct whole_port){master->ports[k].name, i, k};
		}
	}
	qsort(w->ports, w->n_ports, sizeof(*w->ports), compare_ports);
}

const struct config_link *whole_find_master(const struct whole *w, const char *name)
{
	for (size_t i = 0; i < w->n_ports && name != NULL; i++) {
		if (strcmp(w->ports[i].name, name) == 0)
			return &w->config->links[w->ports[i].master];
	}
	return NULL;
}

static void check_ports(const struct whole *w)
{
	for (size_t i = 0; i < w->n_ports; i++) {
		const struct whole_port *port = &w->ports[i];
		const struct config_link *master = &w->config->links[port->master];
		const struct place *place = &w->reading->links[port->master].ports[port->item];
		ssize_t link = whole_find_link(w, port->name);

		if (i > 0 && strcmp(w->ports[i - 1].name, port->name) == 0 &&
		    w->ports[i - 1].master != port->master)
			whole_error(w, place, NULL, "is a port of %s already",
			            name_of(&w->config->links[w->ports[i - 1].master]));
		if (strcmp(port->name, "lo") == 0)
			whole_error(w, place, NULL, "%s", refuse_port(master->want.kind, LINK_LOOPBACK));
		if (link >= 0)
			check_port_link(w, master, place, (size_t) link);
	}
}

/* --- VLANs --- */

static void check_vlan_parent(const struct whole *w, const struct config_link *vlan,
                              const struct link_place *place)
{
	const struct config_link *master = whole_find_master(w, vlan->parent.name);
	ssize_t at = whole_find_link(w, vlan->parent.name);
	const struct config_link *parent = at >= 0 ? &w->config->links[at] : NULL;

	if (master != NULL && master->want.kind == LINK_BOND)
		whole_error(w, &place->self, "put the VLAN on the bond",
		            "is a VLAN on '%s', which is a port of %s", vlan->parent.name, name_of(master));
	if (parent == NULL)
		return;
	if (parent->is_ignored)
		whole_error(w, &place->self, NULL, "is on '%s', which has 'ignore: true'",
		            vlan->parent.name);
	if (parent->want.kind == LINK_VRF || parent->want.kind == LINK_WIREGUARD)
		whole_error(w, &place->self, NULL, "is a VLAN on a %s, which has no Ethernet frames",
		            link_kind_name(parent->want.kind));
	if ((vlan->want.has & parent->want.has & LINK_HAS_MTU) != 0 &&
	    vlan->want.mtu > parent->want.mtu)
		whole_error(w, &place->self, NULL, "has the MTU %u, but '%s' below it has %u",
		            vlan->want.mtu, vlan->parent.name, parent->want.mtu);
	if ((parent->want.has & LINK_HAS_UP) != 0 && !parent->want.up && vlan->want.up)
		whole_error(w, &place->self, NULL, "is to be up, but '%s' below it is to be down",
		            vlan->parent.name);
}

static int compare_vlans(const void *a, const void *b)
{
	const struct config_link *x = *(const struct config_link *const *) a;
	const struct config_link *y = *(const struct config_link *const *) b;
	int order = strcmp(x->parent.name, y->parent.name);

	if (order == 0)
		order = (int) x->want.vlan_id - (int) y->want.vlan_id;
	if (order == 0)
		order = (int) (x->want.vlan_protocol == LINK_VLAN_8021AD) -
		        (int) (y->want.vlan_protocol == LINK_VLAN_8021AD);
	return order;
}

static void check_vlans(const struct whole *w)
{
	AUTO(free)
	const struct config_link **vlans = xcalloc(w->config->n_links, sizeof(*vlans));
	size_t n = 0;

	for (size_t i = 0; i < w->config->n_links; i++) {
		const struct config_link *link = &w->config->links[i];

		if (link->want.kind != LINK_VLAN)
			continue;
		check_vlan_parent(w, link, &w->reading->links[i]);
		if (link->parent.name != NULL && link->want.vlan_id > 0)
			vlans[n++] = link;
	}
	qsort(vlans, n, sizeof(*vlans), compare_vlans);
	for (size_t i = 1; i < n; i++) {
		if (compare_vlans(&vlans[i - 1], &vlans[i]) == 0)
			whole_error(w, &w->reading->links[vlans[i] - w->config->links].self, NULL,
			            "is VLAN %u on '%s', as '%s' is at %s", vlans[i]->want.vlan_id,
			            vlans[i]->parent.name, name_of(vlans[i - 1]),
			            config_place_of(w->reading, &vlans[i - 1]->want.origin));
	}
}

/* --- circles --- */

enum colour {
	WHITE, /* not seen */
	GREY,  /* on the way */
	BLACK, /* leads into no circle */
};

/* What a link stands on: a VLAN on its parent, a master on its ports. -1: no more. */
static ssize_t below(const struct whole *w, const struct config_link *link, size_t i)
{
	if (link->want.kind == LINK_VLAN)
		return i == 0 ? whole_find_link(w, link->parent.name) : -1;
	return i < link->n_ports ? whole_find_link(w, link->ports[i].name) : -1;
}

static size_t n_below(const struct config_link *link)
{
	return link->want.kind == LINK_VLAN ? 1 : link->n_ports;
}

struct step {
	size_t link, next;
};

/* Depth first with a stack of our own, for a chain may be as long as the configuration. */
static void check_circle_from(const struct whole *w, size_t start, enum colour *colours,
                              struct step *stack)
{
	size_t depth = 1;

	stack[0] = (struct step){start, 0};
	colours[start] = GREY;
	while (depth > 0) {
		struct step *top = &stack[depth - 1];
		const struct config_link *link = &w->config->links[top->link];
		ssize_t next;

		if (top->next == n_below(link)) {
			colours[top->link] = BLACK;
			depth--;
			continue;
		}
		next = below(w, link, top->next++);
		if (next < 0 || colours[next] == BLACK)
			continue;
		if (colours[next] == GREY) {
			whole_error(w, &w->reading->links[top->link].self, NULL,
			            "stands on '%s', which stands on it", name_of(&w->config->links[next]));
			continue;
		}
		colours[next] = GREY;
		stack[depth++] = (struct step){(size_t) next, 0};
	}
}

static void check_circles(const struct whole *w)
{
	AUTO(free) enum colour *colours = xcalloc(w->config->n_links, sizeof(*colours));
	AUTO(free) struct step *stack = xcalloc(w->config->n_links, sizeof(*stack));

	for (size_t i = 0; i < w->config->n_links; i++) {
		if (colours[i] == WHITE)
			check_circle_from(w, i, colours, stack);
	}
}

/* --- the rest --- */

static bool has_ipv6(const struct config_link *link)
{
	for (size_t i = 0; i < link->n_addresses; i++) {
		if (link->addresses[i].prefix.addr.family == AF_INET6)
			return true;
	}
	return false;
}

static void check_mtus(const struct whole *w)
{
	for (size_t i = 0; i < w->config->n_links; i++) {
		const struct config_link *link = &w->config->links[i];

		if ((link->want.has & LINK_HAS_MTU) != 0 && link->want.mtu < CONFIG_MTU_MIN_IPV6 &&
		    has_ipv6(link))
			whole_error(w, &w->reading->links[i].self, NULL,
			            "has the MTU %u and IPv6 addresses, which need %d", link->want.mtu,
			            CONFIG_MTU_MIN_IPV6);
	}
}

static void check_vrf_tables(const struct whole *w)
{
	for (size_t i = 0; i < w->config->n_links; i++) {
		for (size_t k = 0; k < i && w->config->links[i].want.table != 0; k++) {
			if (w->config->links[k].want.kind == LINK_VRF &&
			    w->config->links[k].want.table == w->config->links[i].want.table)
				whole_error(w, &w->reading->links[i].self, NULL,
				            "has the table %u, as the VRF '%s' has", w->config->links[i].want.table,
				            name_of(&w->config->links[k]));
		}
	}
}

void config_check_whole(struct config_reading *reading)
{
	struct whole w = {.reading = reading, .config = &reading->config};

	index_names(&w);
	take_bridge_ports(&w);
	index_ports(&w);
	check_names(&w);
	check_selectors(&w);
	check_ports(&w);
	check_vlans(&w);
	check_circles(&w);
	check_mtus(&w);
	check_vrf_tables(&w);
	whole_check_dhcp(&w);
	whole_check_addresses(&w);
	whole_check_routes(&w);
	free(w.names);
	free(w.ports);
}
