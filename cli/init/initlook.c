/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was found on the node is freed and named here; the links that may carry a VIP, and what else
 * does what fairlead is to do, are looked for.
 */
#include "cli/init/initfacts.h"

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
#include "cli/init/initfiles.h"

static void fini_network(struct initfacts *f)
{
	for (size_t i = 0; i < f->n_links; i++)
		free(f->links[i].prefixes);
	free(f->links);
	free(f->gateways);
	texts_fini(&f->rivals);
	free(f->rival_vip);
	free(f->network_source);
}

void initfacts_fini(struct initfacts *f)
{
	free(f->hostname);
	free(f->hidden);
	free(f->etcd_endpoint);
	free(f->etcd_ca);
	free(f->cluster);
	free(f->etcd_cert);
	free(f->etcd_key);
	free(f->etcd_data);
	texts_fini(&f->members);
	free(f->stopped_etcd);
	free(f->api_ca);
	free(f->anonymous);
	free(f->api_client_cert);
	free(f->api_client_key);
	free(f->server);
	free(f->api_names);
	free(f->api_cert);
	for (size_t i = 0; i < f->n_certificates; i++)
		free(f->certificates[i].path);
	free(f->certificates);
	fini_network(f);
	*f = (struct initfacts){0};
}

const char *initfacts_kind_name(enum init_kind kind)
{
	switch (kind) {
	case INIT_NOTHING:
		return "nothing";
	case INIT_KUBEADM:
		return "kubeadm";
	case INIT_K3S:
		return "k3s";
	case INIT_RKE2:
		return "rke2";
	case INIT_ETCD:
		return "etcd";
	}
	return "nothing";
}

/* --- links --- */

/*
 * Links of containers and of the network that they share are only for who names them: they come and
 * go with their programs, and hardly any of them reaches the nodes' clients. Ports of bonds and
 * bridges, which have no addresses of their own, are left out.
 */

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

/* --- other programs --- */

/* Other owners of VIPs, other balancers on prism's port, and who makes the network. */

#define MANIFESTS "/etc/kubernetes/manifests"
#define KEEPALIVED_CONF "/etc/keepalived/keepalived.conf"
#define HAPROXY_CONF "/etc/haproxy/haproxy.cfg"

/* The address in the environment of kube-vip's container; to be freed. */
static char *kube_vip_address(const struct conf_node *pod)
{
	const struct conf_node *env = initfiles_find(pod, "spec", "containers", "0", "env", NULL);

	for (size_t i = 0; env != NULL && env->shape == CONF_LIST && i < env->n; i++) {
		const struct conf_node *name = initfiles_find(env->values[i], "name", NULL);
		const struct conf_node *value = initfiles_find(env->values[i], "value", NULL);

		if (name != NULL && value != NULL && name->shape == CONF_SCALAR &&
		    value->shape == CONF_SCALAR &&
		    (strcmp(name->text, "address") == 0 || strcmp(name->text, "vip_address") == 0))
			return xstrdup(value->text);
	}
	return NULL;
}

static void look_for_kube_vip(const char *root, struct initfacts *f)
{
	struct texts names = {0};

	initfiles_list(root, MANIFESTS, ".yaml", &names);
	for (size_t i = 0; i < names.n; i++) {
		AUTO(free) char *path = xasprintf(MANIFESTS "/%s", names.items[i]);
		AUTO(conf_free) struct conf *conf = NULL;
		const struct conf_node *pod = initfiles_yaml(root, path, &conf);
		const struct conf_node *image =
		    initfiles_find(pod, "spec", "containers", "0", "image", NULL);

		if (image == NULL || image->shape != CONF_SCALAR || strstr(image->text, "kube-vip") == NULL)
			continue;
		texts_add(&f->rivals,
		          "kube-vip runs here (%s): take its manifest away on every node before vipd "
		          "starts on the first",
		          path);
		if (f->rival_vip == NULL)
			f->rival_vip = kube_vip_address(pod);
	}
	texts_fini(&names);
}

/* The first address in virtual_ipaddress { }; to be freed. */
static char *keepalived_address(const char *text)
{
	const char *block = strstr(text, "virtual_ipaddress");

	block = block != NULL ? strchr(block, '{') : NULL;
	if (block == NULL)
		return NULL;
	block += 1 + strspn(block + 1, " \t\r\n");
	return xstrndup(block, strcspn(block, "/ \t\r\n}"));
}

static void look_for_keepalived(const char *root, struct initfacts *f)
{
	AUTO(free) char *text = initfiles_text(root, KEEPALIVED_CONF);

	if (text == NULL)
		return;
	texts_add(&f->rivals, "keepalived is configured here (" KEEPALIVED_CONF
	                      "): stop it on every node before vipd starts on the first");
	if (f->rival_vip == NULL)
		f->rival_vip = keepalived_address(text);
}

/* A listener on port 7445 (0x1D15) in state 0A (proc(5), net/tcp), while prism does not run. */
static bool is_port_taken(const char *root)
{
	static const char *const tables[] = {"/proc/net/tcp", "/proc/net/tcp6"};

	if (initfiles_exist(root, "/run/fairlead/prism.sock"))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		AUTO(free) char *text = initfiles_text(root, tables[i]);

		for (const char *p = text; p != NULL && (p = strstr(p, ":1D15 ")) != NULL; p++) {
			const char *state = strchr(p + 6, ' ');

			if (state != NULL && strncmp(state, " 0A ", 4) == 0)
				return true;
		}
	}
	return false;
}

static void look_for_balancers(const char *root, struct initfacts *f)
{
	AUTO(free) char *text = initfiles_text(root, HAPROXY_CONF);

	if (text != NULL && strstr(text, ":7445") != NULL)
		texts_add(&f->rivals, "haproxy has port 7445 (" HAPROXY_CONF
		                      "), which is prism's: stop it before prism starts");
	else if (is_port_taken(root))
		texts_add(&f->rivals, "something listens on port 7445, which is prism's: stop it before "
		                      "prism starts, or give prism another with PrismConfig's listen");
}

static bool has_interfaces(const char *root)
{
	AUTO(free) char *text = initfiles_text(root, "/etc/network/interfaces");

	for (const char *p = text; p != NULL && (p = strstr(p, "iface ")) != NULL; p++) {
		if (strncmp(p + 6, "lo ", 3) != 0)
			return true;
	}
	return false;
}

static void look_for_network(const char *root, struct initfacts *f)
{
	static const struct {
		const char *name, *directory, *end;
	} sources[] = {
	    {"netplan", "/etc/netplan", ".yaml"},
	    {"systemd-networkd", "/etc/systemd/network", ".network"},
	    {"NetworkManager", "/etc/NetworkManager/system-connections", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(sources) && f->network_source == NULL; i++) {
		struct texts names = {0};

		initfiles_list(root, sources[i].directory, sources[i].end, &names);
		if (names.n > 0)
			f->network_source = xasprintf("%s (%s)", sources[i].name, sources[i].directory);
		texts_fini(&names);
	}
	if (f->network_source == NULL && has_interfaces(root))
		f->network_source = xstrdup("ifupdown (/etc/network/interfaces)");
}

/* It is put into the configuration, so it is an address and nothing else: neither a macro nor a
 * name, and no lines of their own. */
static void check_rival_vip(struct initfacts *f)
{
	struct addr addr;

	if (f->rival_vip != NULL && addr_parse(f->rival_vip, &addr) < 0)
		free(TAKE_PTR(f->rival_vip));
}

void initothers_look(const char *root, struct initfacts *f)
{
	look_for_kube_vip(root, f);
	check_rival_vip(f);
	look_for_keepalived(root, f);
	check_rival_vip(f);
	look_for_balancers(root, f);
	look_for_network(root, f);
}
