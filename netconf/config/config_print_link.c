/* SPDX-License-Identifier: Apache-2.0 */
/* Links as documents, one each; a veth pair is one document of two. */
#include <string.h>

#include "netconf/config/config_out.h"

static void print_addr(FILE *out, const char *indent, const char *key, const struct addr *addr)
{
	char text[ADDR_TEXT_MAX];

	if (addr_is_set(addr))
		(void) fprintf(out, "%s%s: \"%s\"\n", indent, key, addr_format(addr, text));
}

static void print_addresses(FILE *out, const char *indent, const struct config_link *link)
{
	char text[PREFIX_TEXT_MAX];

	if (link->n_addresses > 0)
		(void) fprintf(out, "%saddresses:\n", indent);
	for (size_t i = 0; i < link->n_addresses; i++) {
		(void) fprintf(out, "%s  - address: \"%s\"\n", indent,
		               prefix_format(&link->addresses[i].prefix, text));
		if (link->addresses[i].priority != 0)
			(void) fprintf(out, "%s    routePriority: %u\n", indent, link->addresses[i].priority);
	}
}

static void print_routes(FILE *out, const char *indent, const struct config_link *link)
{
	char text[PREFIX_TEXT_MAX], deeper[16];

	(void) snprintf(deeper, sizeof(deeper), "%s    ", indent);
	if (link->n_routes > 0)
		(void) fprintf(out, "%sroutes:\n", indent);
	for (size_t i = 0; i < link->n_routes; i++) {
		const struct route *route = &link->routes[i];

		(void) fprintf(out, "%s  - destination: \"%s\"\n", indent,
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

void out_attributes(FILE *out, const char *indent, const struct link *link, unsigned attributes,
                    bool is_legacy)
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
	out_attributes(out, indent, &link->want, LINK_HAS_MAC, false);
	out_attributes(out, indent, &link->want,
	               link_attrs_of(LINK_PHYSICAL) & ~(unsigned) LINK_HAS_MAC, false);
	print_addresses(out, indent, link);
	print_routes(out, indent, link);
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

void out_bond(FILE *out, const char *indent, const struct bond *bond, bool is_legacy)
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
		out_string(out, "    presharedKeyFile", peer->preshared_key_file);
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
		out_string(out, "privateKeyFile", wireguard->private_key_file);
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
	out_string(out, "  name", link->peer);
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

void out_link(FILE *out, const struct config *config, const struct config_link *link)
{
	enum link_kind kind = link->want.kind;

	conf_print_header(out, CONF_API_TALOS,
	                  documents[kind] != NULL ? documents[kind] : documents[LINK_PHYSICAL]);
	out_string(out, "name", link->ref.name);
	if (kind == LINK_BOND || kind == LINK_BRIDGE || kind == LINK_VRF)
		print_ports(out, link);
	if (kind == LINK_BOND)
		out_bond(out, "", link->want.bond, false);
	if (kind == LINK_VLAN)
		out_string(out, "parent", link->parent.name);
	out_attributes(out, "", &link->want, link_attrs_of(kind) & ~link_attrs_of(LINK_PHYSICAL),
	               false);
	if (kind == LINK_VRF)
		(void) fprintf(out, "table: \"%u\"\n", link->want.table);
	if (kind == LINK_VETH)
		print_peer_end(out, config, link);
	if (kind == LINK_WIREGUARD)
		print_wireguard(out, link->want.wireguard);
	print_shared(out, "", link);
}
