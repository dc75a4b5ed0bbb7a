/* SPDX-License-Identifier: Apache-2.0 */
/* The legacy style said anew in documents, for the devices of a machine. */
#include <errno.h>
#include <stdlib.h>

#include "netconf/config/resolve.h"
#include "tests/unit/netdevices.h"

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

int main(void)
{
	test_convert();
	test_convert_ignored();
	test_not_convertible();
	return check_result();
}
