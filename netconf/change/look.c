/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Observing and resolving, always one after the other, so that nobody plans with devices of
 * another moment than the network's.
 */
#include "netconf/change/look.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/mono.h"
#include "netconf/dhcp/dhcpfile.h"
#include "netconf/kernel/devices.h"
#include "netconf/config/config.h"

/* --- what is never touched --- */

struct ignoring {
	const struct resolution *resolution;
	const struct config *config;
};

static bool ignores(const struct ignoring *i, const char *link)
{
	return link[0] != '\0' && resolution_ignores(i->resolution, i->config, link);
}

static void disown(const struct ignoring *ignoring, struct model *have)
{
	for (size_t i = 0; i < have->n_links; i++) {
		if (have->links[i].owner == OWNER_OURS && ignores(ignoring, have->links[i].name))
			have->links[i].owner = OWNER_FOREIGN;
	}
	for (size_t i = 0; i < have->n_addresses; i++) {
		if (have->addresses[i].owner == OWNER_OURS && ignores(ignoring, have->addresses[i].link))
			have->addresses[i].owner = OWNER_FOREIGN;
	}
	for (size_t i = 0; i < have->n_routes; i++) {
		if (have->routes[i].owner == OWNER_OURS && ignores(ignoring, have->routes[i].link))
			have->routes[i].owner = OWNER_FOREIGN;
	}
}

static void forget(const struct ignoring *ignoring, struct resolution *resolution)
{
	struct model *want = resolution->model;
	size_t n_dhcps = 0;

	for (size_t i = 0; i < resolution->n_dhcps; i++) {
		if (!ignores(ignoring, resolution->dhcps[i].link))
			resolution->dhcps[n_dhcps++] = resolution->dhcps[i];
	}
	resolution->n_dhcps = n_dhcps;
	for (size_t i = want->n_links; i-- > 0;) {
		if (ignores(ignoring, want->links[i].name))
			model_remove_link(want, i);
	}
	for (size_t i = want->n_addresses; i-- > 0;) {
		if (ignores(ignoring, want->addresses[i].link))
			model_remove_address(want, i);
	}
	for (size_t i = want->n_routes; i-- > 0;) {
		if (ignores(ignoring, want->routes[i].link))
			model_remove_route(want, i);
	}
}

/* --- looking --- */

/* The link goes on with the key that it has, if it has one. */
static void on_unread_key(const char *path, int error, void *userdata)
{
	struct resolution *resolution = userdata;
	AUTO(free) char *line = xasprintf("'%s' has no key to be read: %s", path, strerror(-error));

	conf_strings_add(&resolution->waiting, line);
}

static void read_keys(struct resolution *resolution, const struct model *have)
{
	for (size_t i = 0; i < resolution->model->n_links; i++) {
		const struct link *want = &resolution->model->links[i];
		const struct link *old = model_find_link(have, want->name);

		if (want->wireguard != NULL)
			wireguard_read_keys(want->wireguard, old != NULL ? old->wireguard : NULL, on_unread_key,
			                    resolution);
	}
}

/* Also where no lease says anything of it: then it goes. */
static unsigned left_to_leases(const struct config *config, const struct resolution *resolution)
{
	unsigned parts = 0;

	for (size_t i = 0; i < resolution->n_dhcps; i++) {
		parts |= HOST_RESOLVERS | HOST_SEARCH;
		if (!resolution->dhcps[i].dhcp->ignore_hostname)
			parts |= HOST_NAME;
	}
	if (config->no_default_search)
		parts &= ~(unsigned) HOST_SEARCH;
	return parts & ~resolution->model->host.has;
}

static void merge_leases(const char *runtime_dir, const struct config *config,
                         struct resolution *resolution)
{
	AUTO(free) struct lease *leases = xcalloc(resolution->n_dhcps + 1, sizeof(*leases));
	AUTO(free) struct lease_use *uses = xcalloc(resolution->n_dhcps + 1, sizeof(*uses));
	int64_t now_us = mono_now_us();
	size_t n = 0;

	resolution->leased = left_to_leases(config, resolution);
	for (size_t i = 0; i < resolution->n_dhcps; i++) {
		const struct resolved_dhcp *resolved = &resolution->dhcps[i];
		AUTO(free)
		char *path = dhcpfile_lease_path(runtime_dir, resolved->link, resolved->dhcp);

		if (dhcpfile_read_lease(path, resolved->dhcp->family, now_us, &leases[n]) != 1)
			continue;
		uses[n] = (struct lease_use){&leases[n], resolved->link, resolved->dhcp};
		n++;
	}
	if (n > 0)
		lease_merge(resolution->model, uses, n, now_us, config->no_default_search,
		            &resolution->notes);
	for (size_t i = 0; i < n; i++)
		lease_fini(&leases[i]);
}

/* Only what is wanted is asked for: most machines have no bonds. */
static uint64_t find_lacking(struct kernel *kernel, const struct model *want)
{
	uint64_t wanted = 0;

	for (size_t i = 0; i < want->n_links; i++) {
		if (want->links[i].bond != NULL)
			wanted |= want->links[i].bond->has;
	}
	return wanted != 0 ? kernel_bond_lacks(kernel, wanted) : 0;
}

/* --- what is not there --- */

static bool has_port(const struct model *have, const char *master)
{
	for (size_t i = 0; i < have->n_links && master[0] != '\0'; i++) {
		if (strcmp(have->links[i].master, master) == 0)
			return true;
	}
	return false;
}

/* unnamed: what nobody could even find a name for. */
static struct look_missing find_missing(const struct model *want, const struct model *have,
                                        size_t unnamed)
{
	struct look_missing missing = {unnamed, unnamed};

	for (size_t i = 0; i < want->n_links; i++) {
		const struct link *link = &want->links[i];
		bool is_missing = link->kind == LINK_VLAN
		                      ? model_find_link(want, link->parent) == NULL &&
		                            model_find_link(have, link->parent) == NULL
		                      : !link_is_virtual(link) && model_find_link(have, link->name) == NULL;

		missing.n += is_missing;
		missing.n_needed += is_missing && !has_port(have, link->master);
	}
	return missing;
}

int look_take(struct kernel *kernel, const struct owned *owned, const char *runtime_dir,
              const struct config *config, struct look *ret_look)
{
	AUTO(devices_free) struct devices *devices = NULL;
	struct ignoring ignoring = {.config = config};
	const struct device *list;
	struct look look;
	size_t n, unnamed;
	int r;

	r = kernel_observe(kernel, &look.have);
	if (r < 0)
		return r;
	if (owned != NULL)
		owned_judge(owned, look.have);
	devices = devices_read(look.have);
	list = devices_list(devices, &n);
	look.resolution = resolve(config, list, n);
	unnamed = look.resolution->waiting.n;
	read_keys(look.resolution, look.have);
	ignoring.resolution = look.resolution;
	disown(&ignoring, look.have);
	forget(&ignoring, look.resolution);
	look.have->bond_lacks = find_lacking(kernel, look.resolution->model);
	look.missing = find_missing(look.resolution->model, look.have, unnamed);
	merge_leases(runtime_dir, config, look.resolution);
	*ret_look = look;
	return 0;
}

void look_fini(struct look *look)
{
	model_free(look->have);
	resolution_free(look->resolution);
	*look = (struct look){0};
}

struct conf_strings look_dhcp_links(const struct look *look)
{
	struct conf_strings links = {0};

	for (size_t i = 0; i < look->resolution->n_dhcps; i++) {
		if (!resolution_disputes(look->resolution, look->resolution->dhcps[i].link))
			host_add_text(&links, look->resolution->dhcps[i].link);
	}
	return links;
}

/* --- the operator's way --- */

static const struct route *best_default(const struct model *have)
{
	const struct route *best = NULL;

	for (size_t i = 0; i < have->n_routes; i++) {
		const struct route *route = &have->routes[i];

		if (route->dst.len == 0 && route->table == RT_TABLE_MAIN && route->type == RTN_UNICAST &&
		    route->link[0] != '\0' && (best == NULL || route->metric < best->metric))
			best = route;
	}
	return best;
}

void look_management(const struct model *have, const struct addr *local,
                     char ret_link[static IFNAMSIZ])
{
	const struct route *route;

	ret_link[0] = '\0';
	for (size_t i = 0; addr_is_set(local) && i < have->n_addresses; i++) {
		if (addr_equal(&have->addresses[i].prefix.addr, local)) {
			(void) snprintf(ret_link, IFNAMSIZ, "%s", have->addresses[i].link);
			return;
		}
	}
	route = best_default(have);
	if (route != NULL)
		(void) snprintf(ret_link, IFNAMSIZ, "%s", route->link);
}

/* "CLIENT CLIENTPORT SERVER SERVERPORT" */
struct addr look_ssh_address(const char *ssh_connection)
{
	AUTO(free) char *copy = xstrdup(ssh_connection != NULL ? ssh_connection : "");
	struct addr addr = {0};
	char *rest = NULL, *word = strtok_r(copy, " ", &rest);

	for (int i = 0; i < 2 && word != NULL; i++)
		word = strtok_r(NULL, " ", &rest);
	if (word == NULL || addr_parse(word, &addr) < 0)
		addr = (struct addr){0};
	return addr;
}
