/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From files to a struct config: reads every document by the tables of the config_*.c files, one
 * for each group of kinds, then checks what only the whole can show (config_cross.c).
 *
 * Nothing is half done: the caller gets a complete configuration or every error.
 */
#include "netconf/config/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/conf_check.h"
#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "netconf/config/config_priv.h"

/* Talos's links that are not made here. Passed over, they would be missed. */
static void refuse_link(struct conf *conf, const struct conf_node *document, void *userdata UNUSED)
{
	conf_error(conf, conf_node_find(document, "kind"),
	           "leave it out; what else makes the link may be named by other documents",
	           "netconf makes no links of this kind");
}

static const struct conf_field no_fields[] = {{0}};

/* Of the daemon, not of the network: it is read on its own (nodeconf_load()), and checked here. */
static void read_node(struct conf *conf, const struct conf_node *document, void *userdata)
{
	nodeconf_read(&((struct config_reading *) userdata)->node, conf, document);
}

/* Kinds that another daemon reads are in tables of its own: all of one set of files. */
const struct conf_kind config_kinds[] = {
    {CONF_KIND_LEGACY, config_legacy_fields, config_read_legacy},
    {"LinkConfig", config_link_fields, config_read_link},
    {"LinkAliasConfig", config_alias_fields, config_read_alias},
    {"BondConfig", config_bond_fields, config_read_bond},
    {"BridgeConfig", config_bridge_fields, config_read_bridge},
    {"VLANConfig", config_vlan_fields, config_read_vlan},
    {"DummyLinkConfig", config_dummy_fields, config_read_dummy},
    {"VethConfig", config_veth_fields, config_read_veth},
    {"VRFConfig", config_vrf_fields, config_read_vrf},
    {"WireguardConfig", config_wireguard_fields, config_read_wireguard},
    {"MacVLANConfig", no_fields, refuse_link},
    {"VXLANConfig", no_fields, refuse_link},
    {"NetworkWifiConfig", no_fields, refuse_link},
    {"DHCPv4Config", config_dhcp_fields, config_read_dhcp4},
    {"DHCPv6Config", config_dhcp_fields, config_read_dhcp6},
    {"EthernetConfig", config_ethernet_fields, config_read_ethernet},
    {"RoutingRuleConfig", config_rule_fields, config_read_rule},
    {"BlackholeRouteConfig", config_blackhole_fields, config_read_blackhole},
    {"HostnameConfig", config_hostname_fields, config_read_hostname},
    {"ResolverConfig", config_resolver_fields, config_read_resolver},
    {"StaticHostConfig", config_static_host_fields, config_read_static_host},
    {"TimeSyncConfig", config_time_fields, config_read_time},
    {"TCPProbeConfig", config_tcp_probe_fields, config_read_tcp_probe},
    {"HTTPProbeConfig", config_http_probe_fields, config_read_http_probe},
    {"NodeConfig", nodeconf_fields, read_node},
    {"NetworkPolicyConfig", config_policy_fields, config_read_policy},
    {0},
};

void config_make_tables(void)
{
	static bool is_done;

	if (is_done)
		return;
	config_make_bond_tables();
	config_make_link_tables();
	config_make_legacy_tables();
	is_done = true;
}

/* --- life --- */

static void services_fini(struct config *config)
{
	for (size_t i = 0; i < config->n_dhcps; i++) {
		config_ref_fini(&config->dhcps[i].ref);
		free(config->dhcps[i].duid);
	}
	for (size_t i = 0; i < config->n_ethernets; i++) {
		config_ref_fini(&config->ethernets[i].ref);
		ethernet_fini(&config->ethernets[i].ethernet);
	}
	for (size_t i = 0; i < config->n_probes; i++) {
		free(config->probes[i].name);
		free(config->probes[i].endpoint);
		free(config->probes[i].url);
	}
	free(config->dhcps);
	free(config->ethernets);
	free(config->probes);
}

static void config_fini(struct config *config)
{
	for (size_t i = 0; i < config->n_links; i++)
		config_link_fini(&config->links[i]);
	for (size_t i = 0; i < config->n_aliases; i++) {
		free(config->aliases[i].name);
		selector_fini(&config->aliases[i].selector);
	}
	services_fini(config);
	conf_fini(config_policy_fields, &config->policy);
	free(config->links);
	free(config->aliases);
	conf_strings_fini(&config->files);
	conf_strings_fini(&config->notes);
	model_free(config->common);
}

void config_free(struct config *config)
{
	if (config == NULL)
		return;
	config_fini(config);
	free(config);
}

/* What helped reading; the config itself may have been taken. */
static void reading_fini(struct config_reading *reading, size_t n_blackholes)
{
	for (size_t i = 0; i < reading->config.n_links; i++)
		config_link_place_fini(&reading->links[i], &reading->config.links[i]);
	for (size_t i = 0; i < reading->config.n_dhcps; i++)
		free(reading->dhcps[i].path);
	for (size_t i = 0; i < n_blackholes; i++)
		free(reading->blackholes[i].path);
	for (size_t i = 0; i < reading->n_bridge_ports; i++) {
		config_ref_fini(&reading->bridge_ports[i].ref);
		free(reading->bridge_ports[i].place.path);
	}
	free(reading->links);
	free(reading->dhcps);
	free(reading->blackholes);
	free(reading->bridge_ports);
}

/* --- loading --- */

/* Takes conf, in which all text has been added. */
static int read_config(struct conf *conf, conf_message_fn error, void *userdata,
                       struct config **ret_config)
{
	struct config_reading reading = {.conf = conf, .config = {.common = model_new()}};
	int r;

	config_make_tables();
	config_policy_init(&reading.config.policy);
	conf_read(conf, config_kinds, &reading);
	config_finish_host(&reading);
	config_check_whole(&reading);

	conf_files(conf, &reading.config.files);
	r = conf_finish(conf, error, userdata, &reading.config.notes);
	reading_fini(&reading, reading.config.common->n_routes);
	if (r == 0)
		*ret_config = xmemdup(&reading.config, sizeof(reading.config));
	else
		config_fini(&reading.config);
	conf_free(conf);
	return r;
}

int config_load(const char *const *paths, size_t n_paths, conf_message_fn error, void *userdata,
                struct config **ret_config)
{
	struct conf *conf = conf_new();

	conf_add_paths(conf, paths, n_paths);
	return read_config(conf, error, userdata, ret_config);
}

int config_load_text(const char *name, const char *text, size_t len,
                     const struct config_env *env UNUSED, conf_message_fn error, void *userdata,
                     struct config **ret_config)
{
	struct conf *conf = conf_new();

	conf_add_text(conf, name, text, len);
	return read_config(conf, error, userdata, ret_config);
}

/* NetworkPolicyConfig: how carefully a change is made, and what is nobody's business. */

#define PATTERNS_MAX 64

static const char *const drift_names[] = {
    [CONFIG_DRIFT_REPAIR] = "repair",
    [CONFIG_DRIFT_REPORT] = "report",
    NULL,
};

#define POLICY(member) offsetof(struct config_policy, member)

static const struct conf_field fight_fields[] = {
    CONF_ROW("rewrites", conf_unsigned, POLICY(fight.rewrites), "3",
             "How often the same object is set right within the window. Then it is left alone for "
             "10 s, and longer each time.",
             .min = 1, .max = 100),
    CONF_ROW("window", conf_duration, POLICY(fight.window_us), "1m", "The window.", .min = US_PER_S,
             .max = 3600 * US_PER_S),
    {0},
};

static const struct conf_field ownership_fields[] = {
    CONF_ROW("adopt", conf_bool, POLICY(adopt), "true",
             "An object that was made by hand as the configuration wants it is netconf's from the "
             "confirmation on, and goes when it is no longer wanted."),
    CONF_ROW("ignoreLinks", conf_strings, POLICY(ignore_links), NULL,
             "Patterns (`*`, `?`) of names of links that are never looked at.",
             .flags = CONF_SHOW_EMPTY, .max = PATTERNS_MAX, .check = config_check_ref),
    {0},
};

static const struct conf_field probes_fields[] = {
    CONF_ROW("gateways", conf_bool, POLICY(probe_gateways), "true",
             "Try whether the default gateways answer on their links."),
    CONF_ROW("etcd", conf_bool, POLICY(probe_etcd), "true",
             "Try the members of etcd that this node is connected to when the change begins."),
    CONF_ROW("apiServer", conf_bool, POLICY(probe_api_server), "true",
             "Try the API server that `/etc/kubernetes/kubelet.conf` names, unless that is on this "
             "machine."),
    CONF_ROW("duplicates", conf_bool, POLICY(probe_duplicates), "true",
             "Ask whether another host has a new address. Where a switch or a cloud answers for "
             "every address, this must be `false`."),
    CONF_ROW("timeout", conf_duration, POLICY(probe_timeout_us), "15s",
             "What worked before must work again within this time after the change.",
             .min = US_PER_S, .max = 300 * US_PER_S),
    {0},
};

const struct conf_field config_policy_fields[] = {
    CONF_ROW("confirmWithin", conf_duration, POLICY(confirm_us), "2m",
             "How long `net apply` waits for `net confirm`; `--confirm-within` goes before it.",
             .min = 5 * US_PER_S, .max = 3600 * US_PER_S),
    CONF_ROW("drift", conf_choice, POLICY(drift), "repair",
             "`repair`: what is ours, wanted and gone is set right if that costs no frame. "
             "`report`: it is only told.",
             .choices = drift_names),
    CONF_ROW("fight", conf_map, 0, NULL,
             "When netconf leaves an object alone that another process sets back.",
             .fields = fight_fields),
    CONF_ROW("ownership", conf_map, 0, NULL, "What is netconf's.", .fields = ownership_fields),
    CONF_ROW("probes", conf_map, 0, NULL, "What must still work after a change.",
             .fields = probes_fields),
    CONF_ROW("stateDir", conf_string, POLICY(state_dir), "/var/lib/fairlead/netconf",
             "What must not be forgotten. A change of it takes effect when netconf is started "
             "again.",
             .word = "directory", .check = conf_check_file),
    {0},
};

void config_policy_init(struct config_policy *policy)
{
	*policy = (struct config_policy){0};
	conf_set_defaults(config_policy_fields, policy);
}

void config_read_policy(struct conf *conf, const struct conf_node *document, void *userdata)
{
	struct config_reading *reading = userdata;

	reading->config.has_policy = true;
	if (conf_is_only_one(conf, document, &reading->policy))
		conf_read_map(conf, document, config_policy_fields, &reading->config.policy);
}

/* Files one behind the other. */

int sources_read(const struct conf_strings *files, char **ret_text)
{
	AUTO(free) char *all = xstrdup("");

	for (size_t i = 0; i < files->n; i++) {
		AUTO(free) char *text = NULL;
		char *longer;
		size_t len;
		int r = file_read(files->items[i], CONF_FILE_BYTES_MAX, &text, &len);

		if (r < 0)
			return r;
		longer = xasprintf("%s--- # %s\n%s\n", all, files->items[i], text);
		free(all);
		all = longer;
		if (strlen(all) > CONF_FILE_BYTES_MAX)
			return -EFBIG;
	}
	*ret_text = TAKE_PTR(all);
	return 0;
}
