/* SPDX-License-Identifier: Apache-2.0 */
/* From leases to what is wanted. Pure. What two of them say otherwise, the first one says. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "netconf/dhcp/lease.h"

struct merging {
	struct model *want;
	const struct lease_use *use;
	int64_t now_us;
	unsigned configured; /* enum host_attr: what the configuration says itself */
	bool no_search;
	struct conf_strings *notes;
};

static void note(const struct merging *m, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void note(const struct merging *m, const char *fmt, ...)
{
	AUTO(free) char *text = NULL;
	AUTO(free) char *line = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	line = xasprintf("the lease of %s: %s", m->use->link, text);
	host_add_text(m->notes, line);
}

/* --- addresses and routes --- */

/* A lease that is over is none. */
uint32_t lease_left_s(const struct lease *lease, int64_t now_us)
{
	int64_t left_s = (lease->ends_us - now_us) / US_PER_S;

	if (lease->ends_us == MONO_NEVER)
		return ADDRESS_FOREVER;
	return (uint32_t) MAX(1, MIN(left_s, ADDRESS_FOREVER - 1));
}

static void add_address(const struct merging *m, const struct prefix *prefix)
{
	struct model *want = m->want;
	struct address address = {.prefix = *prefix}, *added;
	char text[PREFIX_TEXT_MAX];

	(void) snprintf(address.link, sizeof(address.link), "%s", m->use->link);
	for (size_t i = 0; i < want->n_addresses; i++) {
		if (address_compare_key(&want->addresses[i], &address) != 0)
			continue;
		note(m, "the configuration has the address %s too", prefix_format(prefix, text));
		return;
	}
	added = model_add_address(want, m->use->link, prefix);
	added->origin = m->use->dhcp->origin;
	added->valid_s = added->preferred_s = lease_left_s(m->use->lease, m->now_us);
	/* The kernel's route to an IPv6 address that ends stays when that is deleted. */
	if (prefix->addr.family == AF_INET6)
		added->flags = IFA_F_NOPREFIXROUTE;
}

/* A gateway that no address of the lease has as a neighbour is on the link all the same. */
static bool is_off_link(const struct lease *lease, const struct addr *gateway)
{
	for (size_t i = 0; i < lease->n_addresses; i++) {
		if (prefix_contains(&lease->addresses[i], gateway))
			return false;
	}
	return true;
}

static bool is_broadcast(const struct prefix *prefix, const struct addr *addr)
{
	struct prefix net = *prefix;

	prefix_mask(&net);
	for (unsigned bit = net.len; bit < 32; bit++)
		net.addr.bytes[bit / 8] |= (uint8_t) (0x80u >> bit % 8);
	return prefix->len < 31 && addr_equal(&net.addr, addr);
}

/* Where the kernel has what belongs to the link: of a VRF, and of its ports, in the VRF's own. */
static uint32_t table_of(const struct merging *m, const char *name)
{
	const struct link *link = model_find_link(m->want, name);
	const struct link *master = link != NULL ? model_find_link(m->want, link->master) : NULL;

	if (link != NULL && link->kind == LINK_VRF)
		return link->table;
	return master != NULL && master->kind == LINK_VRF ? master->table : RT_TABLE_MAIN;
}

/* A gateway on the link it looks for on that alone; one that is not, in all of the table. */
static bool is_looked_at(const struct merging *m, const char *link, bool off_link)
{
	if (strcmp(link, m->use->link) == 0)
		return true;
	return off_link && table_of(m, link) == table_of(m, m->use->link);
}

/*
 * Why the kernel would refuse a route over it, and with it the change that the route is part of:
 * no server may keep the operator from changing the network. NULL: it would not. Its own address as
 * the gateway the kernel takes, as long as that is on the link.
 */
static const char *no_gateway(const struct merging *m, const struct addr *gateway)
{
	static const struct prefix everywhere = {.addr = {.family = AF_INET}};
	const struct model *want = m->want;
	bool off_link = is_off_link(m->use->lease, gateway);

	if (is_broadcast(&everywhere, gateway))
		return "a broadcast address";
	for (size_t i = 0; i < want->n_addresses; i++) {
		const struct prefix *prefix = &want->addresses[i].prefix;

		if (!is_looked_at(m, want->addresses[i].link, off_link))
			continue;
		if (prefix->addr.family == AF_INET && is_broadcast(prefix, gateway))
			return "a broadcast address";
		if (addr_equal(&prefix->addr, gateway) && off_link)
			return "an address of this host";
	}
	return NULL;
}

static void add_route(const struct merging *m, const struct lease_route *from)
{
	const struct lease *lease = m->use->lease;
	const char *why = no_gateway(m, &from->gateway);
	struct model *want = m->want;
	struct route *route;
	char text[MODEL_TEXT_MAX];

	if (why != NULL) {
		note(m, "a route is left out, as its gateway is %s: %s", why,
		     addr_format(&from->gateway, text));
		return;
	}
	route = model_add_route(want, &from->dst);
	route->table = table_of(m, m->use->link);
	route->metric = m->use->dhcp->metric;
	route->gateway = from->gateway;
	route->src = lease->addresses[0].addr;
	route->onlink = addr_is_set(&from->gateway) && is_off_link(lease, &from->gateway);
	route->origin = m->use->dhcp->origin;
	(void) snprintf(route->link, sizeof(route->link), "%s", m->use->link);
	route_normalise(route);
	for (size_t i = 0; i + 1 < want->n_routes; i++) {
		if (route_compare_key(&want->routes[i], route) != 0)
			continue;
		note(m, "there is another route of this metric already: %s", route_format(route, text));
		model_remove_route(want, want->n_routes - 1);
		return;
	}
}

/* --- the host --- */

static bool has_resolver(const struct host *host, const struct addr *addr)
{
	for (size_t i = 0; i < host->n_resolvers; i++) {
		if (addr_equal(&host->resolvers[i], addr))
			return true;
	}
	return false;
}

static void add_resolvers(const struct merging *m)
{
	const struct lease *lease = m->use->lease;
	struct host *host = &m->want->host;

	for (size_t i = 0; i < lease->n_resolvers && (m->configured & HOST_RESOLVERS) == 0; i++) {
		if (host->n_resolvers == LEASE_RESOLVERS_MAX || has_resolver(host, &lease->resolvers[i]))
			continue;
		host_add_resolver(host, &lease->resolvers[i]);
		host->has |= HOST_RESOLVERS;
	}
}

static bool has_domain(const struct host *host, const char *domain)
{
	for (size_t i = 0; i < host->search.n; i++) {
		if (strcmp(host->search.items[i], domain) == 0)
			return true;
	}
	return false;
}

static void add_search(const struct merging *m)
{
	const struct lease *lease = m->use->lease;
	struct host *host = &m->want->host;

	if ((m->configured & HOST_SEARCH) != 0 || m->no_search)
		return;
	for (size_t i = 0; i < lease->search.n; i++) {
		if (host->search.n == LEASE_DOMAINS_MAX || has_domain(host, lease->search.items[i]))
			continue;
		host_add_text(&host->search, lease->search.items[i]);
		host->has |= HOST_SEARCH;
	}
}

static void add_name(const struct merging *m)
{
	const char *name = m->use->lease->host_name;
	struct host *host = &m->want->host;
	size_t label = strcspn(name, ".");

	if ((host->has & HOST_NAME) != 0 || m->use->dhcp->ignore_hostname || label == 0)
		return;
	(void) snprintf(host->name, sizeof(host->name), "%.*s", (int) label, name);
	if (name[label] == '.')
		(void) snprintf(host->domain, sizeof(host->domain), "%s", name + label + 1);
	host->has |= HOST_NAME;
}

void lease_merge(struct model *want, const struct lease_use *uses, size_t n, int64_t now_us,
                 bool no_default_search, struct conf_strings *notes)
{
	struct merging m = {
	    .want = want,
	    .now_us = now_us,
	    .configured = want->host.has,
	    .no_search = no_default_search,
	    .notes = notes,
	};

	/* All addresses first, as routes depend on which there are. */
	for (size_t i = 0; i < n; i++) {
		m.use = &uses[i];
		for (size_t j = 0; j < uses[i].lease->n_addresses; j++)
			add_address(&m, &uses[i].lease->addresses[j]);
	}
	for (size_t i = 0; i < n; i++) {
		const struct lease *lease = uses[i].lease;

		m.use = &uses[i];
		for (size_t j = 0; j < lease->n_routes; j++)
			add_route(&m, &lease->routes[j]);
		add_resolvers(&m);
		add_search(&m);
		add_name(&m);
	}
	model_normalise(want);
}
