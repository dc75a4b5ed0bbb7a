/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the configuration becomes when the devices are known: names, aliases, what is chosen by what
 * a device is. How one is chosen is in test_netconf_selector.c.
 */
#include "netconf/config/resolve.h"

#include <stdlib.h>

#include "tests/unit/netdevices.h"

static struct resolution *resolve_all(const struct config *config)
{
	return resolve(config, devices, ARRAY_SIZE(devices));
}

/* The names of all links, with their masters. */
static void check_links(const struct resolution *r, const char *want)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	for (size_t i = 0; i < r->model->n_links; i++) {
		const struct link *link = &r->model->links[i];

		(void) fprintf(out, "%s%s", i > 0 ? " " : "", link->name);
		if (link->master[0] != '\0')
			(void) fprintf(out, "<%s.%u", link->master, link->position);
		if (link->parent[0] != '\0')
			(void) fprintf(out, "@%s", link->parent);
	}
	(void) fclose(out);
	CHECK_EQ_STR(text, want);
	free(text);
}

static void test_names(void)
{
	AUTO(config_free)
	struct config *c = load(LINK "name: enp3s0-with-a-long-name\n"
	                             "mtu: 1400\n"
	                             "addresses: [{address: 10.0.0.1/24}]\n"
	                             "routes: [{gateway: 10.0.0.2}]\n" LINK "name: eth9\n" LINK
	                             "name: lo\n" LINK "name: an-unknown-alternative-name\n" ETHERNET
	                             "name: enp3s0-with-a-long-name\n" DHCP4 "name: eth8\n");
	AUTO(resolution_free) struct resolution *r = resolve_all(c);

	check_links(r, "eth2 eth8 eth9 lo");
	CHECK_EQ_INT(r->model->links[0].mtu, 1400);
	CHECK_EQ_INT(r->model->links[0].has, LINK_HAS_UP | LINK_HAS_MTU);
	CHECK_EQ_INT(r->model->links[3].kind, LINK_LOOPBACK);
	CHECK_EQ_STR(r->model->addresses[0].link, "eth2");
	CHECK_EQ_STR(r->model->routes[0].link, "eth2");
	CHECK_EQ_INT(r->model->routes[0].scope, RT_SCOPE_UNIVERSE);
	CHECK_EQ_STR(r->ethernets[0].link, "eth2");
	CHECK_EQ_STR(r->dhcps[0].link, "eth8");
	CHECK_EQ_INT(r->waiting.n, 1);
	CHECK_EQ_STR(r->waiting.items[0], "t:17: waits for 'an-unknown-alternative-name': no device is "
	                                  "known by that name");
	CHECK_EQ_INT(r->problems.n, 0);
}

/* Each takes the first that has none yet. */
static void test_aliases_of_several(void)
{
	AUTO(config_free)
	struct config *c = load(
	    ALIAS "name: one\n"
	          "selector: {match: \"link.driver == 'virtio_net'\"}\n" ALIAS "name: first\n"
	          "selector: {match: 'true', requireUniqueMatch: false}\n" ALIAS "name: second\n"
	          "selector: {match: 'true', requireUniqueMatch: false, skipAliasedLinks: true}\n" ALIAS
	          "name: third\n"
	          "selector: {match: 'true', requireUniqueMatch: false}\n");
	AUTO(resolution_free) struct resolution *r = resolve_all(c);

	if (CHECK_EQ_INT(r->n_aliases, 3)) {
		CHECK_EQ_STR(r->aliases[1].name, "first");
		CHECK_EQ_STR(r->aliases[1].link, "eth1");
		CHECK_EQ_STR(r->aliases[2].name, "second");
		CHECK_EQ_STR(r->aliases[2].link, "eth0");
	}
	if (CHECK_EQ_INT(r->waiting.n, 1))
		CHECK_EQ_STR(r->waiting.items[0],
		             "t:17: the alias 'third' matches 0 devices and must match one");
}

static void test_aliases(void)
{
	AUTO(config_free)
	struct config *c =
	    load(ALIAS "name: one\n"
	               "selector: {match: \"link.driver == 'virtio_net'\"}\n" ALIAS "name: net%d\n"
	               "selector: {match: 'true'}\n" ALIAS "name: none\n"
	               "selector: {match: 'false'}\n" ALIAS "name: many\n"
	               "selector: {match: 'true'}\n" BOND "name: bond0\n"
	               "links: [net1, net0, net7]\n"
	               "bondMode: active-backup\n"
	               "miimon: 100\n"
	               "primary: net1\n" VLAN "name: v\n"
	               "parent: one\n"
	               "vlanID: 5\n" LINK "name: none\n" RULE "name: 5\n"
	               "iifName: one\n"
	               "table: 7\n");
	AUTO(resolution_free) struct resolution *r = resolve_all(c);

	/* By hardware address: eth1, then eth0; eth2 has an alias already. */
	check_links(r, "bond0 eth0<bond0.0 eth1<bond0.1 v@eth2");
	CHECK_EQ_STR(r->model->links[0].bond->primary, "eth0");
	CHECK_EQ_STR(r->model->rules[0].iif, "eth2");
	if (CHECK_EQ_INT(r->n_aliases, 3)) {
		CHECK_EQ_STR(r->aliases[0].name, "one");
		CHECK_EQ_STR(r->aliases[0].link, "eth2");
		CHECK_EQ_STR(r->aliases[2].name, "net1");
		CHECK_EQ_STR(r->aliases[2].link, "eth0");
	}
	CHECK_EQ_INT(r->problems.n, 0);
	if (CHECK_EQ_INT(r->waiting.n, 4)) {
		CHECK_EQ_STR(r->waiting.items[0],
		             "t:12: the alias 'none' matches 0 devices and must match one");
		CHECK_EQ_STR(r->waiting.items[1],
		             "t:17: the alias 'many' matches 0 devices and must match one");
		CHECK_EQ_STR(r->waiting.items[2],
		             "t:36: waits for 'none': no device is known by that name");
		CHECK_EQ_STR(r->waiting.items[3],
		             "t:22: waits for 'net7': no device is known by that name");
	}
}

static void test_chosen(void)
{
	AUTO(config_free)
	struct config *c =
	    load(LEGACY "      - deviceSelector: {driver: igb}\n"
	                "        mtu: 1400\n"
	                "        addresses: [10.0.0.1/32]\n"
	                "        dhcp: true\n"
	                "        vlans: [{vlanId: 7, dhcp: true, addresses: [10.7.0.1]}]\n"
	                "      - deviceSelector: {driver: nothing}\n"
	                "      - interface: bond0\n"
	                "        bond:\n"
	                "          mode: 802.3ad\n"
	                "          deviceSelectors: [{driver: virtio*}]\n"
	                "      - interface: eth7\n"
	                "        ignore: true\n");
	AUTO(resolution_free) struct resolution *r = resolve_all(c);

	check_links(r, "bond0 eth0 eth0.7@eth0 eth1 eth1.7@eth1 eth2<bond0.0");
	CHECK_EQ_INT(r->model->n_addresses, 4);
	CHECK_EQ_STR(r->model->addresses[1].link, "eth0.7");
	CHECK_EQ_INT(r->n_dhcps, 4);
	CHECK_EQ_STR(r->dhcps[3].link, "eth1.7");
	CHECK_EQ_INT(r->waiting.n, 1);
	CHECK(resolution_ignores(r, c, "eth7") && !resolution_ignores(r, c, "eth0"));
}

/* With the names alone nothing was wrong. */
static void test_one_device_twice(void)
{
	AUTO(config_free)
	struct config *c = load(LEGACY "      - deviceSelector: {driver: virtio_net}\n"
	                               "        addresses: [10.0.0.1/32]\n"
	                               "      - interface: eth2\n"
	                               "      - interface: bond0\n"
	                               "        bond: {mode: 802.3ad, interfaces: [eth2, eth0]}\n"
	                               "      - interface: bond1\n"
	                               "        bond:\n"
	                               "          mode: 802.3ad\n"
	                               "          deviceSelectors: [{driver: igb}]\n" DHCP4
	                               "name: enp3s0-with-a-long-name\n");
	AUTO(resolution_free) struct resolution *r = resolve_all(c);

	if (!CHECK_EQ_INT(r->problems.n, 4))
		return;
	CHECK_EQ_STR(r->problems.items[0],
	             "t:7: is about 'eth2', as is t:5: say all of a link in one place");
	CHECK_EQ_STR(r->problems.items[1],
	             "t:5: has addresses or routes for 'eth2', which is a port of 'bond0'");
	CHECK_EQ_STR(r->problems.items[2],
	             "t:10: has 'eth0' as a port, which is a port of 'bond0' already");
	CHECK_EQ_STR(r->problems.items[3], "t:15: is DHCP on 'eth2', which is a port of 'bond0'");
	CHECK(resolution_disputes(r, "eth2") && resolution_disputes(r, "eth0"));
	CHECK(!resolution_disputes(r, "bond0") && !resolution_disputes(r, "bond1"));
}

/* The routes of a VRF's ports are the VRF's, where nothing else is said. */
static void test_vrf(void)
{
	AUTO(config_free)
	struct config *c = load(
	    VRF "name: blue\n"
	        "links: [eth0]\n"
	        "table: 77\n"
	        "routes: [{destination: 10.8.0.0/16}]\n" LINK "name: eth0\n"
	        "addresses: [{address: 10.0.0.1/24}]\n"
	        "routes: [{gateway: 10.0.0.2}, {gateway: 10.0.0.3, table: 5}]\n" LINK "name: eth1\n"
	        "routes: [{gateway: 10.0.0.2}]\n");
	AUTO(resolution_free) struct resolution *r = resolve_all(c);

	check_links(r, "blue eth0<blue.0 eth1");
	if (!CHECK_EQ_INT(r->model->n_routes, 4))
		return;
	CHECK_EQ_INT(r->model->routes[0].table, 5);
	CHECK_EQ_INT(r->model->routes[1].table, 77);
	CHECK_EQ_INT(r->model->routes[2].table, 77);
	CHECK_EQ_INT(r->model->routes[3].table, RT_TABLE_MAIN);
	CHECK_EQ_STR(r->model->routes[3].link, "eth1");
}

/* Nor with what is asked of a link besides what it is. */
static void test_one_device_asked_twice(void)
{
	AUTO(config_free)
	struct config *c =
	    load(DHCP4 "name: eth2\n" DHCP4 "name: enp3s0-with-a-long-name\n"
	               "---\napiVersion: v1alpha1\nkind: DHCPv6Config\n"
	               "name: enp3s0-with-a-long-name\n" ETHERNET "name: enp3s0-with-a-long-name\n"
	               "rings: {rx: 64}\n" ETHERNET "name: eth2\n"
	               "rings: {rx: 128}\n" ETHERNET "name: eth1\n"
	               "rings: {rx: 128}\n");
	AUTO(resolution_free) struct resolution *r = resolve_all(c);

	if (!CHECK_EQ_INT(r->problems.n, 2))
		return;
	CHECK_EQ_STR(r->problems.items[0], "t:6: is DHCPv4 of 'eth2', as is t:2: say it in one place");
	CHECK_EQ_STR(r->problems.items[1],
	             "t:19: is Ethernet of 'eth2', as is t:14: say it in one place");
	CHECK(resolution_disputes(r, "eth2") && !resolution_disputes(r, "eth1"));
}

/* A device that comes changes nothing but what it is about. */
static void test_later(void)
{
	AUTO(config_free)
	struct config *c = load(LEGACY "      - deviceSelector: {driver: igb}\n"
	                               "      - interface: br0\n"
	                               "        bridge: {interfaces: [eth5]}\n"
	                               "      - deviceSelector: {driver: virtio_net}\n"
	                               "        bridgePort: {master: br0}\n");
	AUTO(resolution_free) struct resolution *before = resolve(c, devices, 1);
	AUTO(resolution_free) struct resolution *after = resolve_all(c);

	check_links(before, "br0 eth0 eth5<br0.0");
	check_links(after, "br0 eth0 eth1 eth2<br0.1 eth5<br0.0");
	CHECK(before->waiting.n == 2 && after->waiting.n == 0);
}

/* A thousand links are no work. */
static void test_many(void)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	struct config *c;
	struct resolution *r;

	for (int i = 1; i <= 1000; i++)
		(void) fprintf(out,
		               VLAN "name: v%d\n"
		                    "parent: eth0\n"
		                    "vlanID: %d\n"
		                    "addresses: [{address: 10.%d.%d.1/24}]\n",
		               i, i, i / 250, i % 250);
	(void) fclose(out);
	c = load(text);
	r = resolve_all(c);
	CHECK(r->model->n_links == 1000 && r->model->n_addresses == 1000);
	resolution_free(r);
	config_free(c);
	free(text);
}

int main(void)
{
	test_names();
	test_aliases();
	test_aliases_of_several();
	test_chosen();
	test_one_device_twice();
	test_one_device_asked_twice();
	test_vrf();
	test_later();
	test_many();
	return check_result();
}
