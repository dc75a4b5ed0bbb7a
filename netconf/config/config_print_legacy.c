/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What only Talos's older style can say, as one machine configuration: links that a deviceSelector
 * chooses, with the VLANs and the DHCP on them; bonds and bridges that have such ports; links that
 * are to be left alone.
 */
#include "netconf/config/config_out.h"

static bool has_selector_port(const struct config_link *link)
{
	for (size_t i = 0; i < link->n_ports; i++) {
		if (link->ports[i].selector != NULL)
			return true;
	}
	return false;
}

bool out_is_legacy(const struct config_link *link)
{
	return link->is_ignored || link->ref.selector != NULL || link->parent.selector != NULL ||
	       (link->want.kind == LINK_BOND && has_selector_port(link));
}

static void print_key(FILE *out, const char *indent, const char *key, const char *value)
{
	if (value == NULL)
		return;
	(void) fputs(indent, out);
	out_string(out, key, value);
}

static void print_selector(FILE *out, const char *indent, const struct selector *selector)
{
	print_key(out, indent, "busPath", selector->bus_path);
	print_key(out, indent, "hardwareAddr", selector->mac);
	print_key(out, indent, "permanentAddr", selector->permanent_mac);
	print_key(out, indent, "pciID", selector->pci_id);
	print_key(out, indent, "driver", selector->driver);
	if (selector->has_physical)
		(void) fprintf(out, "%sphysical: %s\n", indent, selector->physical ? "true" : "false");
}

/* --- addresses and routes --- */

static void print_hop(FILE *out, const char *indent, const char *key, const struct addr *addr)
{
	char text[ADDR_TEXT_MAX];

	if (addr_is_set(addr))
		(void) fprintf(out, "%s    %s: \"%s\"\n", indent, key, addr_format(addr, text));
}

static void print_shared(FILE *out, const char *indent, const struct config_link *link)
{
	char text[PREFIX_TEXT_MAX];

	out_attributes(out, indent, &link->want, link_attrs_of(LINK_PHYSICAL), true);
	if (link->n_addresses > 0)
		(void) fprintf(out, "%saddresses:\n", indent);
	for (size_t i = 0; i < link->n_addresses; i++)
		(void) fprintf(out, "%s  - \"%s\"\n", indent,
		               prefix_format(&link->addresses[i].prefix, text));
	if (link->n_routes > 0)
		(void) fprintf(out, "%sroutes:\n", indent);
	for (size_t i = 0; i < link->n_routes; i++) {
		const struct route *route = &link->routes[i];

		(void) fprintf(out, "%s  - network: \"%s\"\n", indent, prefix_format(&route->dst, text));
		print_hop(out, indent, "gateway", &route->gateway);
		print_hop(out, indent, "source", &route->src);
		(void) fprintf(out, "%s    metric: %u\n", indent, route->metric);
		if (route->mtu != 0)
			(void) fprintf(out, "%s    mtu: %u\n", indent, route->mtu);
		if (route->table != RT_TABLE_MAIN)
			(void) fprintf(out, "%s    table: \"%u\"\n", indent, route->table);
		if (route->onlink)
			(void) fprintf(out, "%s    onlink: true\n", indent);
	}
}

/* DHCP of a device without a name, or of a VLAN on it. */
static void print_dhcp(FILE *out, const char *indent, const struct config *config,
                       const struct selector *selector, unsigned vlan_id)
{
	const struct config_dhcp *of[2] = {NULL, NULL}; /* IPv4, IPv6 */
	const struct config_dhcp *any;

	for (size_t i = 0; i < config->n_dhcps; i++) {
		const struct config_dhcp *dhcp = &config->dhcps[i];

		if (selector_equal(dhcp->ref.selector, selector) && dhcp->vlan_id == vlan_id)
			of[dhcp->family == AF_INET ? 0 : 1] = dhcp;
	}
	any = of[0] != NULL ? of[0] : of[1];
	if (any == NULL)
		return;
	(void) fprintf(out, "%sdhcp: true\n%sdhcpOptions:\n%s  routeMetric: %u\n", indent, indent,
	               indent, any->metric);
	(void) fprintf(out, "%s  ipv4: %s\n%s  ipv6: %s\n", indent, of[0] != NULL ? "true" : "false",
	               indent, of[1] != NULL ? "true" : "false");
	if (of[1] != NULL && of[1]->duid != NULL)
		(void) fprintf(out, "%s  duidv6: \"%s\"\n", indent, of[1]->duid);
}

/* --- devices --- */

static void print_vlans(FILE *out, const struct config *config, const struct config_link *parent)
{
	bool begun = false;

	for (size_t i = 0; i < config->n_links; i++) {
		const struct config_link *vlan = &config->links[i];

		if (vlan->want.kind != LINK_VLAN ||
		    !selector_equal(vlan->parent.selector, parent->ref.selector))
			continue;
		if (!begun)
			(void) fputs("        vlans:\n", out);
		begun = true;
		(void) fprintf(out, "          - vlanId: %u\n", vlan->want.vlan_id);
		print_shared(out, "            ", vlan);
		print_dhcp(out, "            ", config, parent->ref.selector, vlan->want.vlan_id);
	}
}

static void print_bond(FILE *out, const struct config_link *link)
{
	(void) fputs("        bond:\n          deviceSelectors:\n", out);
	for (size_t i = 0; i < link->n_ports; i++) {
		(void) fputs("            -\n", out);
		print_selector(out, "              ", link->ports[i].selector);
	}
	out_bond(out, "          ", link->want.bond, true);
}

/* The bridge that this device names as its own. */
static void print_master(FILE *out, const struct config *config, const struct config_link *link)
{
	for (size_t i = 0; i < config->n_links; i++) {
		const struct config_link *bridge = &config->links[i];

		for (size_t k = 0; k < bridge->n_ports && bridge->want.kind == LINK_BRIDGE; k++) {
			if (!selector_equal(bridge->ports[k].selector, link->ref.selector))
				continue;
			(void) fputs("        bridgePort:\n          master: ", out);
			conf_write_string(out, bridge->ref.name);
			(void) fputc('\n', out);
		}
	}
}

static void print_device(FILE *out, const struct config *config, const struct config_link *link)
{
	(void) fputs("      -\n", out);
	print_key(out, "        ", "interface", link->ref.name);
	if (link->ref.selector != NULL) {
		(void) fputs("        deviceSelector:\n", out);
		print_selector(out, "          ", link->ref.selector);
	}
	if (link->is_ignored) {
		(void) fputs("        ignore: true\n", out);
		return;
	}
	if (link->want.kind == LINK_BOND)
		print_bond(out, link);
	print_shared(out, "        ", link);
	if (link->ref.selector == NULL)
		return;
	print_dhcp(out, "        ", config, link->ref.selector, 0);
	print_master(out, config, link);
	print_vlans(out, config, link);
}

void out_legacy(FILE *out, const struct config *config)
{
	bool begun = false;

	for (size_t i = 0; i < config->n_links; i++) {
		const struct config_link *link = &config->links[i];

		if (!out_is_legacy(link) || link->parent.selector != NULL)
			continue; /* VLANs stand with their device */
		if (!begun)
			(void) fputs("---\nversion: v1alpha1\nmachine:\n  network:\n    interfaces:\n", out);
		begun = true;
		print_device(out, config, link);
	}
}
