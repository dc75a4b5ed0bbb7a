/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which device is meant: patterns, expressions, aliases, alternative names; and what the
 * configuration becomes when the devices are known.
 */
#include "netconf/config/resolve.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "netconf/kernel/devices.h"
#include "tests/unit/check.h"

static const char *const altnames_of_2[] = {"enp3s0-with-a-long-name"};

static const struct device devices[] = {
    {.name = "eth0",
     .is_physical = true,
     .mac = {{2, 0, 0, 0, 0, 0xa3}},
     .has_permanent_mac = true,
     .permanent_mac = {{2, 0, 0, 0, 0, 0xa3}},
     .bus_path = "0000:01:00.0",
     .pci_id = "8086:1533",
     .driver = "igb",
     .kind = ""},
    {.name = "eth1",
     .is_physical = true,
     .mac = {{2, 0, 0, 0, 0, 0xa1}},
     .bus_path = "0000:01:00.1",
     .pci_id = "8086:1533",
     .driver = "igb",
     .kind = ""},
    {.name = "eth2",
     .altnames = altnames_of_2,
     .n_altnames = 1,
     .is_physical = true,
     .mac = {{2, 0, 0, 0, 0, 0xa2}},
     .bus_path = "0000:02:00.0",
     .pci_id = "1af4:1000",
     .driver = "virtio_net",
     .kind = ""},
    /* It borrows the address of eth0. */
    {.name = "vlan9",
     .mac = {{2, 0, 0, 0, 0, 0xa3}},
     .bus_path = "",
     .pci_id = "",
     .driver = "",
     .kind = "vlan"},
    {.name = "lo", .bus_path = "", .pci_id = "", .driver = "", .kind = ""},
};

static void keep_message(const char *message, void *userdata)
{
	char **last = userdata;

	free(*last);
	*last = xstrdup(message);
}

static struct config *load(const char *text)
{
	struct config *config = NULL;
	AUTO(free) char *last = NULL;

	if (config_load_text("t", text, strlen(text), NULL, keep_message, &last, &config) < 0) {
		(void) fprintf(stderr, "%s\n%s\n", text, last);
		exit(1);
	}
	return config;
}

/* --- patterns and expressions --- */

static void test_glob(void)
{
	static const struct {
		const char *pattern, *text;
		bool matches;
	} cases[] = {
	    {"", "", true},
	    {"", "a", false},
	    {"*", "", true},
	    {"*", "abc", true},
	    {"a*", "abc", true},
	    {"*c", "abc", true},
	    {"a*c", "abc", true},
	    {"a*d", "abc", false},
	    {"a?c", "abc", true},
	    {"?", "", false},
	    {"*b*", "abc", true},
	    {"**", "x", true},
	    {"a*b*c", "aXbXbYc", true},
	    {"ABC", "abc", true},
	    {"a*bc", "abcbd", false},
	    {"*ab", "aab", true},
	    {"00:*", "00:1f", true},
	    {"a", "ab", false},
	    {"ab", "a", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (!CHECK_EQ_INT(selector_glob(cases[i].pattern, cases[i].text), cases[i].matches))
			(void) fprintf(stderr, "  for '%s' and '%s'\n", cases[i].pattern, cases[i].text);
	}
}

static void test_expressions(void)
{
	static const struct {
		const char *text;
		const char *matches; /* a letter for each device that it chooses */
	} cases[] = {
	    {"true", "01234"},
	    {"false", ""},
	    {"mac(link.permanent_addr) == \"02:00:00:00:00:a3\"", "0"},
	    {"mac(link.permanent_addr) == ''", "1234"},
	    {"mac(link.hardware_addr) == '02:00:00:00:00:a3'", "03"},
	    {"glob(\"02:00:*\", mac(link.permanent_addr))", "0"},
	    {"link.driver == 'igb'", "01"},
	    {"glob('igb', link.driver)", "01"},
	    {"glob(link.driver, 'igb')", "01"},
	    {"glob(link.kind, link.kind)", "01234"},
	    {"glob('*', '*')", "01234"},
	    {"link.driver != \"igb\"", "234"},
	    {"'igb' == link.driver && link.bus_path.endsWith('.1')", "1"},
	    {"link.driver == 'virtio_net' || link.kind == 'vlan'", "23"},
	    {"!(link.driver == 'igb' || link.name == 'lo')", "23"},
	    {"!!true && !false", "01234"},
	    {"link.bus_path.startsWith('0000:01') && !link.bus_path.contains('00.1')", "0"},
	    {"link.pci_id == '8086:1533' && link.driver == 'igb' || link.name == 'lo'", "014"},
	    {"link.name == 'lo' || link.pciid == '8086:1533' && link.driver == 'x'", "4"},
	    {" ( ( true ) ) ", "01234"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(expression_free) struct expression *e = NULL;
		char got[ARRAY_SIZE(devices) + 1] = "";
		const char *wrong = NULL;
		size_t at, n = 0;

		if (!CHECK_EQ_INT(expression_parse(cases[i].text, &wrong, &at, &e), 0)) {
			(void) fprintf(stderr, "  %s: %s\n", cases[i].text, wrong);
			continue;
		}
		for (size_t k = 0; k < ARRAY_SIZE(devices); k++) {
			if (expression_matches(e, &devices[k]))
				got[n++] = (char) ('0' + k);
		}
		if (!CHECK_EQ_STR(got, cases[i].matches))
			(void) fprintf(stderr, "  for %s\n", cases[i].text);
	}
}

/* Neither depth nor length of what somebody writes is a danger. */
static void test_expression_limits(void)
{
	char text[4096];
	struct expression *e = NULL;
	const char *wrong = NULL;
	size_t at = 0;

	memset(text, '(', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	CHECK_EQ_INT(expression_parse(text, &wrong, &at, &e), -EINVAL);
	CHECK_EQ_STR(wrong, "the expression is nested too deep");
	CHECK_EQ_INT(at, EXPRESSION_DEPTH_MAX);
	memset(text, '!', sizeof(text) - 1);
	CHECK_EQ_INT(expression_parse(text, &wrong, &at, &e), -EINVAL);
	text[0] = '\0';
	for (int i = 0; i < 40; i++)
		(void) strcat(text, i == 0 ? "true" : "&&true");
	CHECK_EQ_INT(expression_parse(text, &wrong, &at, &e), -EINVAL);
	CHECK_EQ_STR(wrong, "the expression is too long");
	CHECK(e == NULL);
}

static void test_selectors(void)
{
	char igb[] = "igb", bus[] = "*:01:00.0", mac[] = "02:*:A3";
	struct selector s = {.driver = igb};

	CHECK(selector_matches(&s, &devices[0]) && selector_matches(&s, &devices[1]));
	CHECK(!selector_matches(&s, &devices[2]));
	s.bus_path = bus;
	CHECK(selector_matches(&s, &devices[0]) && !selector_matches(&s, &devices[1]));
	s = (struct selector){.permanent_mac = mac};
	CHECK(selector_matches(&s, &devices[0]) && !selector_matches(&s, &devices[3]));
	s = (struct selector){.mac = mac};
	CHECK(selector_matches(&s, &devices[3]));
	CHECK(!resolve_is_candidate(&s, &devices[3]) && resolve_is_candidate(&s, &devices[0]));
	s.has_physical = true;
	CHECK(resolve_is_candidate(&s, &devices[3]) && selector_matches(&s, &devices[3]));
	CHECK(!selector_matches(&s, &devices[0]));
	CHECK(!resolve_is_candidate(&s, &devices[4]));
}

/* --- resolving --- */

#define KIND(kind) "---\napiVersion: v1alpha1\nkind: " kind "\n"
#define LINK KIND("LinkConfig")
#define ALIAS KIND("LinkAliasConfig")
#define BOND KIND("BondConfig")
#define VLAN KIND("VLANConfig")
#define DHCP4 KIND("DHCPv4Config")
#define ETHERNET KIND("EthernetConfig")
#define RULE KIND("RoutingRuleConfig")
#define VRF KIND("VRFConfig")
#define LEGACY "---\nmachine:\n  network:\n    interfaces:\n"

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

/* --- converting --- */

static void check_converted(const char *text, const char *want)
{
	AUTO(config_free) struct config *c = load(text);
	AUTO(free) char *got = NULL;
	AUTO(free) char *last = NULL;
	size_t len;
	FILE *out;

	CHECK_EQ_INT(config_convert(c, devices, ARRAY_SIZE(devices), keep_message, &last), 0);
	out = open_memstream(&got, &len);
	config_print_converted(c, out);
	(void) fclose(out);
	CHECK_EQ_STR(got, want);
	config_free(load(got));
}

static void test_convert(void)
{
	check_converted(LEGACY "      - deviceSelector: {driver: virtio_net, hardwareAddr: 02:*:A2}\n"
	                       "        addresses: [10.0.0.5]\n"
	                       "        dhcp: true\n"
	                       "        dhcpOptions: {routeMetric: 5}\n"
	                       "        vlans: [{vlanId: 5, mtu: 1400, dhcp: true}]\n",
	                ALIAS "name: link0\n"
	                      "selector:\n"
	                      "  match: \"glob(\\\"02:*:a2\\\", mac(link.hardware_addr)) && "
	                      "glob(\\\"virtio_net\\\", link.driver)\"\n" LINK "name: link0\n"
	                      "up: true\n"
	                      "addresses:\n"
	                      "  - address: \"10.0.0.5/32\"\n" VLAN "name: eth2.5\n"
	                      "parent: link0\n"
	                      "vlanID: 5\n"
	                      "up: true\n"
	                      "mtu: 1400\n" DHCP4 "name: link0\n"
	                      "routeMetric: 5\n"
	                      "clientIdentifier: mac\n" DHCP4 "name: eth2.5\n"
	                      "routeMetric: 1024\n"
	                      "clientIdentifier: mac\n");
	check_converted(
	    LEGACY "      - interface: bond0\n"
	           "        bond:\n"
	           "          mode: active-backup\n"
	           "          miimon: 100\n"
	           "          primary: eth2\n"
	           "          deviceSelectors: [{permanentAddr: '*:a3'}, {driver: virtio*}]\n",
	    ALIAS "name: link0\n"
	          "selector:\n"
	          "  match: \"glob(\\\"*:a3\\\", mac(link.permanent_addr))\"\n" ALIAS "name: link1\n"
	          "selector:\n"
	          "  match: \"glob(\\\"virtio*\\\", link.driver)\"\n" BOND "name: bond0\n"
	          "links:\n"
	          "  - link0\n"
	          "  - link1\n"
	          "bondMode: \"active-backup\"\n"
	          "miimon: 100\n"
	          "primary: \"link1\"\n"
	          "up: true\n");
	check_converted(LEGACY "      - interface: eth0\n", LINK "name: eth0\n"
	                                                         "up: true\n");
}

static void test_convert_ignored(void)
{
	AUTO(config_free)
	struct config *c = load(LEGACY "      - interface: eth9\n"
	                               "        ignore: true\n"
	                               "      - deviceSelector: {driver: virtio_net}\n"
	                               "        ignore: true\n");

	CHECK_EQ_INT(config_convert(c, devices, ARRAY_SIZE(devices), NULL, NULL), 0);
	CHECK_EQ_INT(c->n_links, 0);
	CHECK_EQ_INT(c->policy.ignore_links.n, 2);
	CHECK_EQ_STR(c->policy.ignore_links.items[1], "eth2");
}

static void test_not_convertible(void)
{
	static const struct {
		const char *selector, *message;
	} cases[] = {
	    {"{driver: igb}",
	     "t:5: the deviceSelector matches 2 devices of this machine, and an alias is "
	     "of one: name it with 'interface'"},
	    {"{driver: x}",
	     "t:5: the deviceSelector matches 0 devices of this machine, and an alias is "
	     "of one: name it with 'interface'"},
	    {"{physical: false, hardwareAddr: 02:*}",
	     "t:5: the deviceSelector has no equal in a LinkAliasConfig"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) char *text = xasprintf(LEGACY "      - deviceSelector: %s\n", cases[i].selector);
		AUTO(config_free) struct config *c = load(text);
		AUTO(free) char *last = NULL;

		CHECK_EQ_INT(config_convert(c, devices, ARRAY_SIZE(devices), keep_message, &last), -EINVAL);
		CHECK_EQ_STR(last, cases[i].message);
	}
}

/* --- this machine --- */

static void test_devices(void)
{
	AUTO(model_free) struct model *m = model_new();
	AUTO(devices_free) struct devices *read = NULL;
	const struct device *list;
	struct link *link;
	size_t n;

	(void) model_add_link(m, "lo", LINK_LOOPBACK);
	link = model_add_link(m, "nosuchlink", LINK_OTHER);
	(void) snprintf(link->kind_name, sizeof(link->kind_name), "tun");
	link->mac.bytes[0] = 2;
	link->altnames = xcalloc(1, sizeof(*link->altnames));
	link->altnames[link->n_altnames++] = xstrdup("other");
	read = devices_read(m);
	list = devices_list(read, &n);
	if (!CHECK_EQ_INT(n, 2))
		return;
	CHECK_EQ_STR(list[0].name, "lo");
	CHECK(!list[0].is_physical && !list[1].is_physical);
	CHECK_EQ_STR(list[1].kind, "tun");
	CHECK_EQ_STR(list[1].driver, "");
	CHECK_EQ_STR(list[1].altnames[0], "other");
}

int main(void)
{
	test_glob();
	test_expressions();
	test_expression_limits();
	test_selectors();
	test_names();
	test_aliases();
	test_aliases_of_several();
	test_chosen();
	test_one_device_twice();
	test_one_device_asked_twice();
	test_vrf();
	test_later();
	test_many();
	test_convert();
	test_convert_ignored();
	test_not_convertible();
	test_devices();
	return check_result();
}
