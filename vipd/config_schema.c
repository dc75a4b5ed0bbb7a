/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of vipd's kinds: every key, its type, its range, its default; and what is done by
 * them. docs/config.md and fairlead.yaml(5)
 * describe these keys, and a test holds them to it.
 *
 * VIPPolicyConfig documents are only collected here: one with a name starts from what the one
 * without says, wherever that stands, so config.c reads them when all are known.
 */
#include "vipd/config_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/conf_check.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/probecert.h"

#define HOURS INT64_C(3600) * US_PER_S

static const char *const fence_names[] = {
    [CONFIG_FENCE_AUTO] = "auto",
    [CONFIG_FENCE_NFTABLES] = "nftables",
    [CONFIG_FENCE_LIFETIME] = "lifetime",
    NULL,
};

static const char *const announce_names[] = {
    [CONFIG_ANNOUNCE_LAYER2] = "layer2",
    [CONFIG_ANNOUNCE_BGP] = "bgp",
    NULL,
};

static const char *const conflict_names[] = {
    [CONFIG_CONFLICT_REFUSE] = "refuse",
    [CONFIG_CONFLICT_WARN] = "warn",
    [CONFIG_CONFLICT_OFF] = "off",
    NULL,
};

/* --- VIPPolicyConfig --- */

/* etcd counts leases in seconds. */
static void set_whole_seconds(struct conf *conf, const struct conf_field *field,
                              const struct conf_node *value, void *slot)
{
	int64_t us = -1;

	conf_set_duration(conf, field, value, &us);
	if (us < 0)
		return;
	if (us % US_PER_S != 0)
		conf_error(conf, value, NULL, "must be whole seconds");
	else
		*(int64_t *) slot = us;
}

static const char *check_health_url(const char *text,
                                    char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                                    const char **ret_hint)
{
	struct conf_url url;
	const char *wrong;

	*ret_hint = "such as https://127.0.0.1:6443/readyz";
	wrong = conf_parse_url(text, &url);
	if (wrong != NULL)
		return wrong;
	if (strchr(url.rest, '#') != NULL)
		return "has a fragment";
	if (!url.is_address) {
		*ret_hint = "write the address, such as 127.0.0.1; the name to verify is 'serverName'";
		return "has a host name, and vipd resolves none";
	}
	return NULL;
}

#define HEALTH(member) offsetof(struct config_health, member)
static const struct conf_field health_fields[] = {
    CONF_ROW("enabled", conf_bool, HEALTH(enabled), "true",
             "Off: the node counts as fit, whatever its API server does."),
    CONF_ROW("url", conf_string, HEALTH(url), "https://127.0.0.1:6443/readyz", "What is asked.",
             .word = "URL with an IP address as host", .check = check_health_url),
    CONF_ROW("serverName", conf_string, HEALTH(server_name), "kubernetes",
             "The name to verify in the certificate.", .check = conf_check_server_name),
    CONF_ROW("caFile", conf_string, HEALTH(ca_file), CONFIG_CA_FILE, "Verifies it.",
             .check = conf_check_file),
    CONF_ROW("clientCertFile", conf_string, HEALTH(client_cert_file), NULL,
             "Client certificate, where anonymous requests are refused. With `clientKeyFile`.",
             .def_word = "`/etc/fairlead/pki/probe.crt`, see below", .check = conf_check_file),
    CONF_ROW("clientKeyFile", conf_string, HEALTH(client_key_file), NULL, "Its key.",
             .def_word = "`/etc/fairlead/pki/probe.key`, see below", .flags = CONF_SECRET,
             .check = conf_check_file),
    CONF_ROW("interval", conf_duration, HEALTH(interval_us), "1s", "Between two questions.",
             .min = 100 * US_PER_MS, .max = 60 * US_PER_S),
    CONF_ROW("timeout", conf_duration, HEALTH(timeout_us), "1s",
             "A question without an answer counts as bad after this.", .min = 50 * US_PER_MS,
             .max = 60 * US_PER_S),
    CONF_ROW("rise", conf_unsigned, HEALTH(rise), "2",
             "Good answers in a row until the node is fit.", .min = 1, .max = 100),
    CONF_ROW("fall", conf_unsigned, HEALTH(fall), "3",
             "Bad answers in a row until it is not. A connection that this node itself refuses "
             "counts as all of them: no process listens.",
             .min = 1, .max = 100),
    {0},
};

#define POLICY(member) offsetof(struct config_policy, member)
static const struct conf_field announce_fields[] = {
    CONF_ROW("refresh", conf_duration, POLICY(announce_refresh_us), "1m",
             "The address is announced again this often while it is held. 0: never.",
             .flags = CONF_OR_ZERO, .min = US_PER_S, .max = 1 * HOURS),
    CONF_ROW("repeats", conf_unsigned, POLICY(announce_repeats), "5",
             "Announcements after taking the address, a second apart, behind the first three.",
             .min = 0, .max = 60),
    {0},
};

/* A word, or how layer 2 is to be told. */
static void set_announce(struct conf *conf, const struct conf_field *field,
                         const struct conf_node *value, void *slot)
{
	struct config_policy *policy = slot;

	if (value->shape == CONF_SCALAR && !conf_node_is_null(value)) {
		int choice = (int) policy->announce;

		conf_set_choice(conf, field, value, &choice);
		policy->announce = (enum config_announce) choice;
		return;
	}
	conf_set_map(conf, field, value, policy);
	policy->announce = CONFIG_ANNOUNCE_LAYER2;
}

static void print_announce(const struct conf_field *field, const void *slot,
                           struct conf_printer *printer)
{
	const struct config_policy *policy = slot;

	if (policy->announce == CONFIG_ANNOUNCE_LAYER2) {
		conf_map.print_block(field, slot, printer);
		return;
	}
	conf_print_key(printer, field->key);
	(void) fprintf(printer->out, " %s\n", announce_names[policy->announce]);
}

static bool equal_announce(const struct conf_field *field UNUSED, const void *a, const void *b)
{
	return ((const struct config_policy *) a)->announce ==
	       ((const struct config_policy *) b)->announce;
}

static const struct conf_type announce_type = {
    .set = set_announce, .print_block = print_announce, .equal = equal_announce, .is_map = true};

static void print_health(const struct conf_field *field, const void *slot,
                         struct conf_printer *printer)
{
	const struct config_health *health = slot;

	if (health->awaits_ca)
		(void) fprintf(printer->out, "# healthCheck begins when %s exists\n", health->ca_file);
	else
		conf_map.print_block(field, slot, printer);
}

static bool equal_health(const struct conf_field *field UNUSED, const void *a, const void *b)
{
	return ((const struct config_health *) a)->awaits_ca ==
	       ((const struct config_health *) b)->awaits_ca;
}

static const struct conf_type health_type = {
    .set = conf_set_map, .print_block = print_health, .equal = equal_health, .is_map = true};

#define DOCUMENT(member) offsetof(struct policy_document, member)
#define N_DOCUMENT_FIELDS 2 /* behind these come those of the policy, with which it begins */
const struct conf_field config_policy_fields[] = {
    CONF_ROW("name", conf_string, DOCUMENT(name), NULL,
             "The VIP that this document is for; without it, all.", .word = "address of a VIP"),
    CONF_ROW("leaseTTL", conf_duration, DOCUMENT(lease_ttl_us), "10s",
             "A dead node leaves the list of candidates after this; it does not decide how long a "
             "failover takes. One for the whole node: only in the document without `name`.",
             .word = "2s to 5m, whole seconds", .flags = CONF_ZERO_IS_NONE,
             .set = set_whole_seconds, .min = 2 * US_PER_S, .max = 300 * US_PER_S),
    CONF_ROW("fenceWindow", conf_duration, DOCUMENT(policy.fence_window_us), "0",
             "How long an owner goes on without a confirmation from etcd. It bounds two owners and "
             "sets how long a failover takes. 0: vipd chooses it.",
             .flags = CONF_OR_ZERO, .min = 500 * US_PER_MS, .max = 60 * US_PER_S),
    CONF_ROW("fence", conf_choice, DOCUMENT(policy.fence), "auto",
             "What takes the address away if vipd cannot. `nftables`: a rule that expires to the "
             "millisecond, and the lifetime of the address behind it. `lifetime`: the lifetime "
             "alone, in whole seconds, with a `fenceWindow` of at least 3s. `auto`: nftables where "
             "the kernel has it.",
             .choices = fence_names),
    CONF_ROW("priority", conf_int, DOCUMENT(policy.priority), "100",
             "Higher is preferred among healthy nodes.", .min = 0, .max = 1000),
    CONF_ROW("preempt", conf_bool, DOCUMENT(policy.preempt), "false",
             "Move the VIP to a healthy node of higher priority, though nothing is wrong. Every "
             "move cuts connections."),
    CONF_ROW("avoidEtcdLeader", conf_bool, DOCUMENT(policy.avoid_etcd_leader), "true",
             "Among equals prefer a node that is not etcd's leader, so that one death costs one "
             "failover. Among those that are still equal the node that owns the fewest VIPs comes "
             "first."),
    CONF_ROW("holdDown", conf_duration, DOCUMENT(policy.hold_down_us), "30s",
             "Least time between two moves that nothing forces.", .min = 0, .max = 1 * HOURS),
    CONF_ROW("healthCheck", health_type, DOCUMENT(policy.health), NULL,
             "The gate on this node's API server.", .fields = health_fields),
    CONF_ROW("announce", announce_type, DOCUMENT(policy), NULL,
             "How the network learns where the address is. `layer2`: ARP and neighbour "
             "advertisements on the link. `bgp`: a routing daemon of the node exports the address "
             "([bgp.md](bgp.md)). A map is `layer2` with the keys below.",
             .word = "`layer2`, `bgp`, or a map", .def_word = "`layer2`", .choices = announce_names,
             .fields = announce_fields),
    CONF_ROW("conflict", conf_choice, DOCUMENT(policy.conflict), "refuse",
             "What vipd does about another host that has the address. `refuse`: it takes no part "
             "while that host answers, but for the case below. `warn`: it takes the address and "
             "warns. `off`: it sends no probe. Only with `announce: layer2`.",
             .choices = conflict_names),
    CONF_ROW("destroySockets", conf_bool, DOCUMENT(policy.destroy_sockets), "true",
             "After losing the VIP, destroy its TCP sockets on this node, so that clients "
             "reconnect at once."),
    CONF_ROW("outsideCheck", conf_bool, DOCUMENT(policy.outside_check), "true",
             "Each other node connects to the VIP once a second; where most of them cannot, the "
             "owner hands it to another node. Off while `healthCheck` is off."),
    {0},
};

/* --- the configuration --- */

static const struct conf_field *const policy_fields = config_policy_fields + N_DOCUMENT_FIELDS;

void config_set_defaults(struct config *config)
{
	struct policy_document document = {0};

	conf_set_defaults(config_policy_fields, &document);
	config->lease_ttl_us = document.lease_ttl_us;
	config->policy = document.policy;
	config->policy.health.client_directory = PROBECERT_DIRECTORY;
}

bool config_policy_equal(const struct config_policy *a, const struct config_policy *b)
{
	return conf_equal(policy_fields, a, b);
}

void config_policy_copy(struct config_policy *to, const struct config_policy *from)
{
	*to = *from;
	conf_copy(policy_fields, to, from);
}

void config_policy_fini(struct config_policy *policy)
{
	conf_fini(policy_fields, policy);
}

void config_free(struct config *config)
{
	if (config == NULL)
		return;
	for (size_t i = 0; i < config->n_vips; i++) {
		config_policy_fini(&config->vips[i].policy);
		free(config->vips[i].origin);
		config_hcloud_free(config->vips[i].hcloud);
	}
	free(config->vips);
	conf_strings_fini(&config->notes);
	config_policy_fini(&config->policy);
	etcdconf_fini(&config->etcd);
	free(config);
}

/* name NULL: for all VIPs. */
static void print_policy(const struct config_policy *policy, char *name, int64_t lease_ttl_us,
                         FILE *out)
{
	struct policy_document document = {
	    .policy = *policy, .name = name, .lease_ttl_us = lease_ttl_us};

	conf_print_header(out, CONF_API_FAIRLEAD, "VIPPolicyConfig");
	conf_print(config_policy_fields, &document, "", out);
}

void config_print(const struct config *config, FILE *out)
{
	nodeconf_print(config->node_name, NODECONF_VIPD, &config->metrics_at, out);
	etcdconf_print(&config->etcd, out);
	print_policy(&config->policy, NULL, config->lease_ttl_us, out);
	for (size_t i = 0; i < config->n_vips; i++) {
		const struct config_vip *vip = &config->vips[i];
		char addr[ADDR_TEXT_MAX];

		conf_print_header(out, CONF_API_TALOS,
		                  vip->hcloud != NULL ? "HCloudVIPConfig" : "Layer2VIPConfig");
		conf_print_string(out, "name", addr_format(&vip->addr, addr));
		conf_print_string(out, "link", vip->link);
		if (vip->hcloud != NULL)
			conf_print(config_hcloud_fields, vip->hcloud, "", out);
		if (!config_policy_equal(&vip->policy, &config->policy))
			print_policy(&vip->policy, addr, 0, out);
	}
}

/* --- documents --- */

static void read_policy(struct conf *conf UNUSED, const struct conf_node *document, void *userdata)
{
	struct config_reading *reading = userdata;

	reading->policies =
	    xreallocarray(reading->policies, reading->n_policies + 1, sizeof(*reading->policies));
	reading->policies[reading->n_policies++] = document;
}

/* --- kinds that other daemons read as well --- */

static void read_etcd(struct conf *conf, const struct conf_node *document, void *userdata)
{
	etcdconf_read(&((struct config_reading *) userdata)->etcd, conf, document);
}

static void read_node(struct conf *conf, const struct conf_node *document, void *userdata)
{
	nodeconf_read(&((struct config_reading *) userdata)->node, conf, document);
}

static void read_hostname(struct conf *conf, const struct conf_node *document, void *userdata)
{
	nodeconf_read_hostname(&((struct config_reading *) userdata)->node, conf, document);
}

/* --- all --- */

const struct conf_kind config_kinds[] = {
    {CONF_KIND_LEGACY, config_legacy_fields, NULL},
    {"HostnameConfig", nodeconf_hostname_fields, read_hostname},
    {"Layer2VIPConfig", config_layer2_fields, config_read_layer2},
    {"HCloudVIPConfig", config_hcloud_document_fields, config_read_hcloud},
    {"NodeConfig", nodeconf_fields, read_node},
    {"EtcdClientConfig", etcdconf_fields, read_etcd},
    {"VIPPolicyConfig", config_policy_fields, read_policy},
    {0},
};
