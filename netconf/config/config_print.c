/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A configuration as YAML, in the style of many documents and in one fixed order, so that two
 * outputs can be compared. What nobody said of a link is not printed: it is left as it is on the
 * machine, and no default stands for it.
 */
#include <string.h>

#include "netconf/config/config_priv.h"

/* --- lists --- */

static void print_strings(FILE *out, const char *indent, const char *key,
                          const struct conf_strings *strings)
{
	(void) fprintf(out, "%s%s:%s\n", indent, key, strings->n == 0 ? " []" : "");
	for (size_t i = 0; i < strings->n; i++) {
		(void) fprintf(out, "%s  - ", indent);
		conf_write_string(out, strings->items[i]);
		(void) fputc('\n', out);
	}
}

/* --- links as documents, one each; a veth pair is one document of two --- */

static void print_addr(FILE *out, const char *indent, const char *key, const struct addr *addr)
{
	char text[ADDR_TEXT_MAX];

	if (addr_is_set(addr))
		(void) fprintf(out, "%s%s: \"%s\"\n", indent, key, addr_format(addr, text));
}

/* The older style has addresses as texts, and no metric of their own. */
static void print_addresses(FILE *out, const char *indent, const struct config_link *link,
                            bool is_legacy)
{
	char text[PREFIX_TEXT_MAX];

	if (link->n_addresses > 0)
		(void) fprintf(out, "%saddresses:\n", indent);
	for (size_t i = 0; i < link->n_addresses; i++) {
		(void) fprintf(out, "%s  - %s\"%s\"\n", indent, is_legacy ? "" : "address: ",
		               prefix_format(&link->addresses[i].prefix, text));
		if (!is_legacy && link->addresses[i].priority != 0)
			(void) fprintf(out, "%s    routePriority: %u\n", indent, link->addresses[i].priority);
	}
}

static void print_routes(FILE *out, const char *indent, const struct config_link *link,
                         bool is_legacy)
{
	char text[PREFIX_TEXT_MAX], deeper[16];

	(void) snprintf(deeper, sizeof(deeper), "%s    ", indent);
	if (link->n_routes > 0)
		(void) fprintf(out, "%sroutes:\n", indent);
	for (size_t i = 0; i < link->n_routes; i++) {
		const struct route *route = &link->routes[i];

		(void) fprintf(out, "%s  - %s: \"%s\"\n", indent, is_legacy ? "network" : "destination",
		               prefix_format(&route->dst, text));
		print_addr(out, deeper, "gateway", &route->gateway);
		print_addr(out, deeper, "source", &route->src);
		(void) fprintf(out, "%smetric: %u\n", deeper, route->metric);
		if (route->mtu != 0)
			(void) fprintf(out, "%smtu: %u\n", deeper, route->mtu);
		if (route->table != RT_TABLE_MAIN)
			(void) fprintf(out, "%stable: \"%u\"\n", deeper, route->table);
		if (route->onlink)
			(void) fprintf(out, "%sonlink: true\n", deeper);
	}
}

/* The map of the key is begun where the key before was not in it. */
static void print_key(FILE *out, const char *indent, const char *key, const char *before)
{
	const char *dot = strchr(key, '.');
	int len = dot != NULL ? (int) (dot - key) : 0;

	if (dot == NULL) {
		(void) fprintf(out, "%s%s: ", indent, key);
		return;
	}
	if (strncmp(before, key, (size_t) len + 1) != 0)
		(void) fprintf(out, "%s%.*s:\n", indent, len, key);
	(void) fprintf(out, "%s  %s: ", indent, dot + 1);
}

static void print_attributes(FILE *out, const char *indent, const struct link *link,
                             unsigned attributes, bool is_legacy)
{
	char text[LINK_VALUE_TEXT_MAX];
	const char *before = "";

	for (size_t i = 0; i < LINK_ATTRS; i++) {
		const struct link_attr_info *info = &link_attrs[i];
		const char *key = is_legacy ? info->legacy_key : info->key;
		const char *value = link_format_value(link, info, text);

		if (key == NULL || (attributes & link->has & info->attr) == 0)
			continue;
		print_key(out, indent, key, before);
		before = key;
		if (info->field.type == RECORD_BOOL)
			(void) fputs(record_number(&info->field, link) != 0 ? "true\n" : "false\n", out);
		else if (info->field.type == RECORD_MAC || info->words != NULL)
			(void) fprintf(out, "\"%s\"\n", value);
		else
			(void) fprintf(out, "%s\n", value);
	}
}

static void print_shared(FILE *out, const char *indent, const struct config_link *link)
{
	print_attributes(out, indent, &link->want, LINK_HAS_MAC, false);
	print_attributes(out, indent, &link->want,
	                 link_attrs_of(LINK_PHYSICAL) & ~(unsigned) LINK_HAS_MAC, false);
	print_addresses(out, indent, link, false);
	print_routes(out, indent, link, false);
}

/* A port that a selector chooses names its bridge itself. */
static void print_ports(FILE *out, const struct config_link *link)
{
	size_t n = 0;

	for (size_t i = 0; i < link->n_ports; i++)
		n += link->ports[i].name != NULL;
	(void) fprintf(out, "links:%s\n", n == 0 ? " []" : "");
	for (size_t i = 0; i < link->n_ports; i++) {
		if (link->ports[i].name == NULL)
			continue;
		(void) fputs("  - ", out);
		conf_write_string(out, link->ports[i].name);
		(void) fputc('\n', out);
	}
}

/* --- bonds --- */

static void print_targets(FILE *out, const char *indent, const struct addr *targets, size_t n)
{
	char text[ADDR_TEXT_MAX];

	(void) fputs(n == 0 ? " []\n" : "\n", out);
	for (size_t i = 0; i < n; i++)
		(void) fprintf(out, "%s  - \"%s\"\n", indent, addr_format(&targets[i], text));
}

static void print_bond(FILE *out, const char *indent, const struct bond *bond, bool is_legacy)
{
	char text[BOND_VALUE_TEXT_MAX];

	for (enum bond_option option = 0; option < BOND_OPTIONS; option++) {
		const struct bond_option_info *info = &bond_options[option];
		const char *key = is_legacy ? info->legacy_key : info->key;

		if (!bond_has(bond, option) || key == NULL)
			continue;
		(void) fprintf(out, "%s%s:", indent, key);
		if (info->type == BOND_IPV4)
			print_targets(out, indent, bond->arp_targets, bond->n_arp_targets);
		else if (info->type == BOND_IPV6)
			print_targets(out, indent, bond->ns_targets, bond->n_ns_targets);
		else if (info->is_bool)
			(void) fputs(bond->values[option] != 0 ? " true\n" : " false\n", out);
		else if (info->choices == NULL && info->type <= BOND_U32)
			(void) fprintf(out, " %u\n", bond->values[option]);
		else
			(void) fprintf(out, " \"%s\"\n", bond_format_value(bond, option, text));
	}
}

/* --- WireGuard --- */

static void print_peer(FILE *out, const struct wireguard_peer *peer)
{
	char key[WIREGUARD_KEY_TEXT_MAX], endpoint[ENDPOINT_TEXT_MAX], prefix[PREFIX_TEXT_MAX];

	(void) fprintf(out, "  - publicKey: \"%s\"\n", wireguard_key_format(&peer->public_key, key));
	if (peer->preshared_key_file != NULL)
		conf_print_string(out, "    presharedKeyFile", peer->preshared_key_file);
	else if (peer->has_preshared_key)
		(void) fputs("    presharedKey: \"" CONFIG_HIDDEN "\"\n", out);
	if (addr_is_set(&peer->endpoint.addr))
		(void) fprintf(out, "    endpoint: \"%s\"\n", endpoint_format(&peer->endpoint, endpoint));
	if (peer->keepalive_s != 0)
		(void) fprintf(out, "    persistentKeepaliveInterval: %us\n", peer->keepalive_s);
	if (peer->n_allowed > 0)
		(void) fputs("    allowedIPs:\n", out);
	for (size_t i = 0; i < peer->n_allowed; i++)
		(void) fprintf(out, "      - \"%s\"\n", prefix_format(&peer->allowed[i], prefix));
}

static void print_wireguard(FILE *out, const struct wireguard *wireguard)
{
	if (wireguard->private_key_file != NULL)
		conf_print_string(out, "privateKeyFile", wireguard->private_key_file);
	else
		(void) fputs("privateKey: \"" CONFIG_HIDDEN "\"\n", out);
	if ((wireguard->has & WIREGUARD_LISTEN_PORT) != 0)
		(void) fprintf(out, "listenPort: %u\n", wireguard->listen_port);
	if ((wireguard->has & WIREGUARD_FWMARK) != 0)
		(void) fprintf(out, "firewallMark: 0x%x\n", wireguard->fwmark);
	if (wireguard->n_peers > 0)
		(void) fputs("peers:\n", out);
	for (size_t i = 0; i < wireguard->n_peers; i++)
		print_peer(out, &wireguard->peers[i]);
}

/* --- kinds --- */

static void print_peer_end(FILE *out, const struct config *config, const struct config_link *link)
{
	(void) fputs("peer:\n", out);
	conf_print_string(out, "  name", link->peer);
	for (size_t i = 0; i < config->n_links; i++) {
		if (config->links[i].is_peer && config->links[i].ref.name != NULL && link->peer != NULL &&
		    strcmp(config->links[i].ref.name, link->peer) == 0)
			print_shared(out, "  ", &config->links[i]);
	}
}

static const char *const documents[] = {
    [LINK_BOND] = "BondConfig",
    [LINK_VLAN] = "VLANConfig",
    [LINK_BRIDGE] = "BridgeConfig",
    [LINK_DUMMY] = "DummyLinkConfig",
    [LINK_VETH] = "VethConfig",
    [LINK_VRF] = "VRFConfig",
    [LINK_WIREGUARD] = "WireguardConfig",
    [LINK_PHYSICAL] = "LinkConfig",
    [LINK_OTHER] = NULL,
};

static void print_link(FILE *out, const struct config *config, const struct config_link *link)
{
	enum link_kind kind = link->want.kind;

	conf_print_header(out, CONF_API_TALOS,
	                  documents[kind] != NULL ? documents[kind] : documents[LINK_PHYSICAL]);
	conf_print_string(out, "name", link->ref.name);
	if (kind == LINK_BOND || kind == LINK_BRIDGE || kind == LINK_VRF)
		print_ports(out, link);
	if (kind == LINK_BOND)
		print_bond(out, "", link->want.bond, false);
	if (kind == LINK_VLAN)
		conf_print_string(out, "parent", link->parent.name);
	print_attributes(out, "", &link->want, link_attrs_of(kind) & ~link_attrs_of(LINK_PHYSICAL),
	                 false);
	if (kind == LINK_VRF)
		(void) fprintf(out, "table: \"%u\"\n", link->want.table);
	if (kind == LINK_VETH)
		print_peer_end(out, config, link);
	if (kind == LINK_WIREGUARD)
		print_wireguard(out, link->want.wireguard);
	print_shared(out, "", link);
}

/* --- the older style --- */

/*
 * What only Talos's older style can say, as one machine configuration: links that a deviceSelector
 * chooses, with the VLANs and the DHCP on them; bonds and bridges that have such ports; links that
 * are to be left alone.
 */

static bool has_selector_port(const struct config_link *link)
{
	for (size_t i = 0; i < link->n_ports; i++) {
		if (link->ports[i].selector != NULL)
			return true;
	}
	return false;
}

static bool is_legacy(const struct config_link *link)
{
	return link->is_ignored || link->ref.selector != NULL || link->parent.selector != NULL ||
	       (link->want.kind == LINK_BOND && has_selector_port(link));
}

static void print_text(FILE *out, const char *indent, const char *key, const char *value)
{
	if (value == NULL)
		return;
	(void) fputs(indent, out);
	conf_print_string(out, key, value);
}

static void print_selector(FILE *out, const char *indent, const struct selector *selector)
{
	print_text(out, indent, "busPath", selector->bus_path);
	print_text(out, indent, "hardwareAddr", selector->mac);
	print_text(out, indent, "permanentAddr", selector->permanent_mac);
	print_text(out, indent, "pciID", selector->pci_id);
	print_text(out, indent, "driver", selector->driver);
	if (selector->has_physical)
		(void) fprintf(out, "%sphysical: %s\n", indent, selector->physical ? "true" : "false");
}

static void print_legacy_shared(FILE *out, const char *indent, const struct config_link *link)
{
	print_attributes(out, indent, &link->want, link_attrs_of(LINK_PHYSICAL), true);
	print_addresses(out, indent, link, true);
	print_routes(out, indent, link, true);
}

/* DHCP of a device without a name, or of a VLAN on it. */
static void print_legacy_dhcp(FILE *out, const char *indent, const struct config *config,
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
		print_legacy_shared(out, "            ", vlan);
		print_legacy_dhcp(out, "            ", config, parent->ref.selector, vlan->want.vlan_id);
	}
}

static void print_legacy_bond(FILE *out, const struct config_link *link)
{
	(void) fputs("        bond:\n          deviceSelectors:\n", out);
	for (size_t i = 0; i < link->n_ports; i++) {
		(void) fputs("            -\n", out);
		print_selector(out, "              ", link->ports[i].selector);
	}
	print_bond(out, "          ", link->want.bond, true);
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
	print_text(out, "        ", "interface", link->ref.name);
	if (link->ref.selector != NULL) {
		(void) fputs("        deviceSelector:\n", out);
		print_selector(out, "          ", link->ref.selector);
	}
	if (link->is_ignored) {
		(void) fputs("        ignore: true\n", out);
		return;
	}
	if (link->want.kind == LINK_BOND)
		print_legacy_bond(out, link);
	print_legacy_shared(out, "        ", link);
	if (link->ref.selector == NULL)
		return;
	print_legacy_dhcp(out, "        ", config, link->ref.selector, 0);
	print_master(out, config, link);
	print_vlans(out, config, link);
}

static void print_legacy(FILE *out, const struct config *config)
{
	bool begun = false;

	for (size_t i = 0; i < config->n_links; i++) {
		const struct config_link *link = &config->links[i];

		if (!is_legacy(link) || link->parent.selector != NULL)
			continue; /* VLANs stand with their device */
		if (!begun)
			(void) fputs("---\nversion: v1alpha1\nmachine:\n  network:\n    interfaces:\n", out);
		begun = true;
		print_device(out, config, link);
	}
}

/* --- rules and blackholes --- */

static void print_prefix(FILE *out, const char *key, const struct prefix *prefix)
{
	char text[PREFIX_TEXT_MAX];

	if (addr_is_set(&prefix->addr))
		(void) fprintf(out, "%s: \"%s\"\n", key, prefix_format(prefix, text));
}

static void print_rule(FILE *out, const struct rule *rule)
{
	conf_print_header(out, CONF_API_TALOS, "RoutingRuleConfig");
	(void) fprintf(out, "name: \"%u\"\n", rule->priority);
	print_prefix(out, "src", &rule->src);
	print_prefix(out, "dst", &rule->dst);
	if (rule->table != RT_TABLE_UNSPEC)
		(void) fprintf(out, "table: \"%u\"\n", rule->table);
	if (rule->action != FR_ACT_TO_TBL)
		(void) fprintf(out, "action: %s\n", rule_action_name(rule->action));
	conf_print_string(out, "iifName", rule->iif[0] != '\0' ? rule->iif : NULL);
	conf_print_string(out, "oifName", rule->oif[0] != '\0' ? rule->oif : NULL);
	if (rule->fwmark != 0)
		(void) fprintf(out, "fwMark: 0x%x\n", rule->fwmark);
	if (rule->fwmask != 0)
		(void) fprintf(out, "fwMask: 0x%x\n", rule->fwmask);
}

static void print_common(FILE *out, const struct model *common)
{
	char text[PREFIX_TEXT_MAX];

	for (size_t i = 0; i < common->n_rules; i++) {
		/* One document may be two rules, one a family; they stand beside each other. */
		if (i == 0 || common->rules[i].priority != common->rules[i - 1].priority)
			print_rule(out, &common->rules[i]);
	}
	for (size_t i = 0; i < common->n_routes; i++) {
		conf_print_header(out, CONF_API_TALOS, "BlackholeRouteConfig");
		(void) fprintf(out, "name: \"%s\"\nmetric: %u\n",
		               prefix_format(&common->routes[i].dst, text), common->routes[i].metric);
	}
}

/* --- the host --- */

static void print_hostname(FILE *out, const struct host *host)
{
	conf_print_header(out, CONF_API_TALOS, "HostnameConfig");
	if (host->domain[0] == '\0')
		(void) fprintf(out, "hostname: \"%s\"\n", host->name);
	else
		(void) fprintf(out, "hostname: \"%s.%s\"\n", host->name, host->domain);
}

static void print_resolver(FILE *out, const struct host *host, bool no_default_search)
{
	char text[ADDR_TEXT_MAX];

	conf_print_header(out, CONF_API_TALOS, "ResolverConfig");
	if ((host->has & HOST_RESOLVERS) != 0)
		(void) fprintf(out, "nameservers:%s\n", host->n_resolvers == 0 ? " []" : "");
	for (size_t i = 0; i < host->n_resolvers; i++)
		(void) fprintf(out, "  - address: \"%s\"\n", addr_format(&host->resolvers[i], text));
	if ((host->has & HOST_SEARCH) == 0 && !no_default_search)
		return;
	(void) fputs("searchDomains:\n", out);
	if ((host->has & HOST_SEARCH) != 0)
		print_strings(out, "  ", "domains", &host->search);
	if (no_default_search)
		(void) fputs("  disableDefault: true\n", out);
}

static void print_time(FILE *out, const struct host *host)
{
	bool is_ptp = host->time_servers.n > 0 && host->time_servers.items[0][0] == '/';

	conf_print_header(out, CONF_API_TALOS, "TimeSyncConfig");
	conf_print_bool(out, "enabled", host->time_enabled);
	if (host->time_servers.n == 0)
		return;
	(void) fputs(is_ptp ? "ptp:\n" : "ntp:\n", out);
	print_strings(out, "  ", is_ptp ? "devices" : "servers", &host->time_servers);
}

static void print_host(FILE *out, const struct config *config)
{
	const struct host *host = &config->common->host;
	char text[ADDR_TEXT_MAX];

	if ((host->has & HOST_NAME) != 0)
		print_hostname(out, host);
	if ((host->has & (HOST_RESOLVERS | HOST_SEARCH)) != 0 || config->no_default_search)
		print_resolver(out, host, config->no_default_search);
	for (size_t i = 0; i < host->n_entries; i++) {
		conf_print_header(out, CONF_API_TALOS, "StaticHostConfig");
		(void) fprintf(out, "name: \"%s\"\n", addr_format(&host->entries[i].addr, text));
		print_strings(out, "", "hostnames", &host->entries[i].names);
	}
	if ((host->has & HOST_TIME) != 0)
		print_time(out, host);
}

/* --- services --- */

static void print_probe(FILE *out, const struct config_probe *probe)
{
	bool is_http = probe->url != NULL;

	conf_print_header(out, CONF_API_TALOS, is_http ? "HTTPProbeConfig" : "TCPProbeConfig");
	conf_print(is_http ? config_http_probe_fields : config_tcp_probe_fields, probe, "", out);
}

static void print_policy(FILE *out, const struct config_policy *policy)
{
	conf_print_header(out, CONF_API_FAIRLEAD, "NetworkPolicyConfig");
	conf_print(config_policy_fields, policy, "", out);
}

static void print_talos(const struct config *config, FILE *out)
{
	for (size_t i = 0; i < config->n_aliases; i++) {
		conf_print_header(out, CONF_API_TALOS, "LinkAliasConfig");
		conf_print_string(out, "name", config->aliases[i].name);
		(void) fputs("selector:\n", out);
		conf_print_string(out, "  match", config->aliases[i].selector.text);
		if (config->aliases[i].takes_first)
			conf_print_bool(out, "  requireUniqueMatch", false);
	}
	print_legacy(out, config);
	for (size_t i = 0; i < config->n_links; i++) {
		if (!is_legacy(&config->links[i]) && !config->links[i].is_peer)
			print_link(out, config, &config->links[i]);
	}
	for (size_t i = 0; i < config->n_dhcps; i++) {
		if (config->dhcps[i].ref.name == NULL)
			continue;
		conf_print_header(out, CONF_API_TALOS,
		                  config->dhcps[i].family == AF_INET ? "DHCPv4Config" : "DHCPv6Config");
		conf_print(config_dhcp_fields, &config->dhcps[i], "", out);
	}
	for (size_t i = 0; i < config->n_ethernets; i++)
		config_print_ethernet(&config->ethernets[i], out);
	print_common(out, config->common);
	print_host(out, config);
	for (size_t i = 0; i < config->n_probes; i++)
		print_probe(out, &config->probes[i]);
}

void config_print(const struct config *config, FILE *out)
{
	print_policy(out, &config->policy);
	print_talos(config, out);
}

void config_print_converted(const struct config *config, FILE *out)
{
	if (config->has_policy || config->policy.ignore_links.n > 0)
		print_policy(out, &config->policy);
	print_talos(config, out);
}
