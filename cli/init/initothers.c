/* SPDX-License-Identifier: Apache-2.0 */
/* Other owners of VIPs, other balancers on prism's port, and who makes the network. */
#include "cli/init/initothers.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "cli/init/initfiles.h"

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
