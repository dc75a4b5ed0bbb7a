/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links of containers and of the network that they share are only for who names them: they come and
 * go with their programs, and hardly any of them reaches the nodes' clients. Ports of bonds and
 * bridges, which have no addresses of their own, are left out.
 */
#include "cli/init/initlinks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/containerlink.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/fields.h"
#include "cli/common/output.h"

#define IP_TIMEOUT_US (5 * US_PER_S)
#define IP_BYTES_MAX (16 << 20)

/* Overlays and switches of a network plugin, too: no VIP is there but by --link. */
static bool is_of_containers(const char *name)
{
	return containerlink_is(name) || strncmp(name, "vxlan", 5) == 0 || strncmp(name, "ovs", 3) == 0;
}

/* NULL: only --link chooses it. A node that is itself a container has its way out over a veth. */
static const char *kind_of(const json_t *link, bool has_default)
{
	static const char *const kinds[] = {"bond", "vlan", "bridge"};
	const char *kind = field_text(json_object_get(link, "linkinfo"), "info_kind");
	const char *type = field_text(link, "link_type");

	if (kind == NULL || kind[0] == '\0')
		return type != NULL && strcmp(type, "ether") == 0 ? "device" : NULL;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(kind, kinds[i]) == 0)
			return kinds[i];
	}
	return strcmp(kind, "veth") == 0 && has_default ? "device" : NULL;
}

/* NULL: it may be chosen. */
static const char *why_only_by_name(const json_t *link, const char *name, const char *kind)
{
	const char *real = field_text(json_object_get(link, "linkinfo"), "info_kind");

	if (kind != NULL)
		return is_of_containers(name) ? "of containers" : NULL;
	return real != NULL && strcmp(real, "veth") == 0 ? "a veth without a default route"
	                                                 : "no device, bond, VLAN or bridge";
}

static void take_address(const json_t *address, struct initfacts_link *link)
{
	const char *local = field_text(address, "local"), *scope = field_text(address, "scope");
	struct prefix prefix;

	if (local == NULL || scope == NULL || strcmp(scope, "global") != 0 ||
	    addr_parse(local, &prefix.addr) < 0)
		return;
	prefix.len = (uint8_t) field_integer(address, "prefixlen");
	link->prefixes = xreallocarray(link->prefixes, link->n_prefixes + 1, sizeof(*link->prefixes));
	link->prefixes[link->n_prefixes++] = prefix;
}

static bool leads_away(const json_t *routes, const char *name)
{
	const json_t *route;
	size_t i;

	json_array_foreach(routes, i, route)
	{
		const char *device = field_text(route, "dev");

		if (device != NULL && strcmp(device, name) == 0)
			return true;
	}
	return false;
}

static void take_link(const json_t *object, const json_t *routes, struct initfacts *f)
{
	const char *name = field_text(object, "ifname"), *type = field_text(object, "link_type"), *kind;
	struct initfacts_link *link;
	bool has_default;
	const json_t *item;
	size_t i;

	if (name == NULL)
		return;
	has_default = leads_away(routes, name);
	kind = kind_of(object, has_default);
	if (kind == NULL && (type == NULL || strcmp(type, "ether") != 0))
		return;
	if (json_object_get(object, "master") != NULL)
		return;
	f->links = xreallocarray(f->links, f->n_links + 1, sizeof(*f->links));
	link = &f->links[f->n_links++];
	*link = (struct initfacts_link){.kind = kind != NULL ? kind : "device",
	                                .has_default = has_default,
	                                .not_by_itself = why_only_by_name(object, name, kind)};
	(void) snprintf(link->name, sizeof(link->name), "%s", name);
	json_array_foreach(json_object_get(object, "addr_info"), i, item) take_address(item, link);
}

static void take_gateway(const json_t *route, struct initfacts *f)
{
	const char *text = field_text(route, "gateway");
	struct addr gateway;

	if (text == NULL || addr_parse(text, &gateway) < 0)
		return;
	f->gateways = xreallocarray(f->gateways, f->n_gateways + 1, sizeof(*f->gateways));
	f->gateways[f->n_gateways++] = gateway;
}

void initlinks_take(const json_t *addresses, const json_t *routes, struct initfacts *f)
{
	const json_t *object;
	size_t i;

	f->links_are_known = true;
	json_array_foreach(addresses, i, object) take_link(object, routes, f);
	json_array_foreach(routes, i, object) take_gateway(object, f);
}

static json_t *ask(const char *const *words)
{
	struct output output;
	json_t *json = NULL;

	if (output_run(words, IP_TIMEOUT_US, IP_BYTES_MAX, &output) == 0 && output.exit_code == 0)
		json = json_loads(output.text, 0, NULL);
	output_fini(&output);
	return json;
}

void initlinks_look(struct initfacts *f)
{
	static const char *const addresses_words[] = {"ip", "-json", "-details", "address", NULL};
	static const char *const routes_words[] = {"ip", "-json", "route", "show", "default", NULL};
	static const char *const routes6_words[] = {"ip",   "-6",      "-json", "route",
	                                            "show", "default", NULL};
	json_t *addresses = ask(addresses_words), *routes = ask(routes_words);
	json_t *routes6 = ask(routes6_words);

	if (routes == NULL)
		routes = json_array();
	(void) json_array_extend(routes, routes6);
	if (addresses != NULL)
		initlinks_take(addresses, routes, f);
	json_decref(addresses);
	json_decref(routes);
	json_decref(routes6);
}
