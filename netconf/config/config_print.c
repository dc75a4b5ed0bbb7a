/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A configuration as YAML, in the style of many documents and in one fixed order, so that two
 * outputs can be compared. What nobody said of a link is not printed: it is left as it is on the
 * machine, and no default stands for it. Links: config_print_link.c.
 */
#include <string.h>

#include "netconf/config/config_out.h"

/* --- lists --- */

void out_string(FILE *out, const char *key, const char *value)
{
	conf_print_string(out, key, value);
}

void out_strings(FILE *out, const char *indent, const char *key, const struct conf_strings *strings)
{
	(void) fprintf(out, "%s%s:%s\n", indent, key, strings->n == 0 ? " []" : "");
	for (size_t i = 0; i < strings->n; i++) {
		(void) fprintf(out, "%s  - ", indent);
		conf_write_string(out, strings->items[i]);
		(void) fputc('\n', out);
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
	if (rule->action == FR_ACT_BLACKHOLE)
		(void) fputs("action: blackhole\n", out);
	if (rule->action == FR_ACT_UNREACHABLE)
		(void) fputs("action: unreachable\n", out);
	if (rule->action == FR_ACT_PROHIBIT)
		(void) fputs("action: prohibit\n", out);
	out_string(out, "iifName", rule->iif[0] != '\0' ? rule->iif : NULL);
	out_string(out, "oifName", rule->oif[0] != '\0' ? rule->oif : NULL);
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
		out_strings(out, "  ", "domains", &host->search);
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
	out_strings(out, "  ", is_ptp ? "devices" : "servers", &host->time_servers);
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
		out_strings(out, "", "hostnames", &host->entries[i].names);
	}
	if ((host->has & HOST_TIME) != 0)
		print_time(out, host);
}

/* --- services --- */

static void print_dhcp(FILE *out, const struct config_dhcp *dhcp)
{
	static const char *const client_ids[] = {"none", "mac", "duid"};

	conf_print_header(out, CONF_API_TALOS,
	                  dhcp->family == AF_INET ? "DHCPv4Config" : "DHCPv6Config");
	out_string(out, "name", dhcp->ref.name);
	(void) fprintf(out, "routeMetric: %u\n", dhcp->metric);
	if (dhcp->ignore_hostname)
		conf_print_bool(out, "ignoreHostname", true);
	out_string(out, "clientIdentifier", client_ids[dhcp->client_id]);
	if (dhcp->duid != NULL)
		(void) fprintf(out, "duidRaw: \"%s\"\n", dhcp->duid);
}

static void print_settings(FILE *out, const struct ethernet *ethernet, const char *section)
{
	bool begun = false;

	for (enum ethernet_setting i = 0; i < ETHERNET_SETTINGS; i++) {
		const struct ethernet_setting_info *info = &ethernet_settings[i];

		if ((ethernet->has & (1u << i)) == 0 || strcmp(info->section, section) != 0)
			continue;
		if (!begun)
			(void) fprintf(out, "%s:\n", section);
		begun = true;
		if (info->is_bool)
			(void) fprintf(out, "  %s: %s\n", info->key, ethernet->values[i] ? "true" : "false");
		else
			(void) fprintf(out, "  %s: %u\n", info->key, ethernet->values[i]);
	}
}

static void print_ethernet(FILE *out, const struct config_ethernet *config)
{
	const struct ethernet *ethernet = &config->ethernet;

	conf_print_header(out, CONF_API_TALOS, "EthernetConfig");
	out_string(out, "name", config->ref.name);
	if (ethernet->n_features > 0)
		(void) fputs("features:\n", out);
	for (size_t i = 0; i < ethernet->n_features; i++) {
		(void) fputs("  ", out);
		conf_write_string(out, ethernet->features[i].name);
		(void) fprintf(out, ": %s\n", ethernet->features[i].on ? "true" : "false");
	}
	print_settings(out, ethernet, "rings");
	print_settings(out, ethernet, "channels");
	if (!ethernet->has_wake)
		return;
	(void) fprintf(out, "wakeOnLan:%s\n", ethernet->wake == 0 ? " []" : "");
	for (unsigned i = 0; ethernet_wake_modes[i] != NULL; i++) {
		if ((ethernet->wake & (1u << i)) != 0)
			(void) fprintf(out, "  - %s\n", ethernet_wake_modes[i]);
	}
}

static void print_probe(FILE *out, const struct config_probe *probe)
{
	conf_print_header(out, CONF_API_TALOS,
	                  probe->url != NULL ? "HTTPProbeConfig" : "TCPProbeConfig");
	out_string(out, "name", probe->name);
	out_string(out, "endpoint", probe->endpoint);
	out_string(out, "url", probe->url);
	conf_print_duration(out, "interval", probe->interval_us);
	conf_print_duration(out, "timeout", probe->timeout_us);
	(void) fprintf(out, "failureThreshold: %u\n", probe->failure_threshold);
}

/* --- the policy --- */

static void print_policy(FILE *out, const struct config_policy *policy)
{
	conf_print_header(out, CONF_API_FAIRLEAD, "NetworkPolicyConfig");
	conf_print_duration(out, "confirmWithin", policy->confirm_us);
	out_string(out, "drift", config_drift_names[policy->drift]);
	(void) fprintf(out, "fight:\n  rewrites: %u\n", policy->fight_rewrites);
	conf_print_duration(out, "  window", policy->fight_window_us);
	(void) fputs("ownership:\n", out);
	conf_print_bool(out, "  adopt", policy->adopt);
	out_strings(out, "  ", "ignoreLinks", &policy->ignore_links);
	(void) fputs("probes:\n", out);
	conf_print_bool(out, "  gateways", policy->probe_gateways);
	conf_print_bool(out, "  etcd", policy->probe_etcd);
	conf_print_bool(out, "  apiServer", policy->probe_api_server);
	conf_print_bool(out, "  duplicates", policy->probe_duplicates);
	conf_print_duration(out, "  timeout", policy->probe_timeout_us);
	out_string(out, "stateDir", policy->state_dir);
}

static void print_talos(const struct config *config, FILE *out)
{
	for (size_t i = 0; i < config->n_aliases; i++) {
		conf_print_header(out, CONF_API_TALOS, "LinkAliasConfig");
		out_string(out, "name", config->aliases[i].name);
		(void) fputs("selector:\n", out);
		out_string(out, "  match", config->aliases[i].selector.text);
		if (config->aliases[i].takes_first)
			conf_print_bool(out, "  requireUniqueMatch", false);
	}
	out_legacy(out, config);
	for (size_t i = 0; i < config->n_links; i++) {
		if (!out_is_legacy(&config->links[i]) && !config->links[i].is_peer)
			out_link(out, config, &config->links[i]);
	}
	for (size_t i = 0; i < config->n_dhcps; i++) {
		if (config->dhcps[i].ref.name != NULL)
			print_dhcp(out, &config->dhcps[i]);
	}
	for (size_t i = 0; i < config->n_ethernets; i++)
		print_ethernet(out, &config->ethernets[i]);
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
