/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of vipd's kinds: every key, its type, its range. docs/config.md and fairlead.yaml(5)
 * describe these keys, and a test holds them to it.
 *
 * VIPPolicyConfig documents are only collected here: one with a name starts from what the one
 * without says, wherever that stands, so config.c reads them when all are known.
 */
#include "vipd/config_priv.h"

#include <string.h>

#include "base/conf_check.h"
#include "base/mem.h"
#include "base/mono.h"

#define HOURS INT64_C(3600) * US_PER_S

const char *const config_fence_names[] = {
    [CONFIG_FENCE_AUTO] = "auto",
    [CONFIG_FENCE_NFTABLES] = "nftables",
    [CONFIG_FENCE_LIFETIME] = "lifetime",
    NULL,
};

const char *const config_announce_names[] = {
    [CONFIG_ANNOUNCE_LAYER2] = "layer2",
    [CONFIG_ANNOUNCE_BGP] = "bgp",
    NULL,
};

const char *const config_conflict_names[] = {
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

#define HEALTH(member) offsetof(struct config_health, member)
static const struct conf_field health_fields[] = {
    {.key = "enabled", .set = conf_set_bool, .offset = HEALTH(enabled)},
    {.key = "url", .set = conf_set_string, .offset = HEALTH(url), .check = config_check_health_url},
    {.key = "serverName",
     .set = conf_set_string,
     .offset = HEALTH(server_name),
     .check = conf_check_server_name},
    {.key = "caFile", .set = conf_set_string, .offset = HEALTH(ca_file), .check = conf_check_file},
    {.key = "clientCertFile",
     .set = conf_set_string,
     .offset = HEALTH(client_cert_file),
     .check = conf_check_file},
    {.key = "clientKeyFile",
     .set = conf_set_string,
     .offset = HEALTH(client_key_file),
     .flags = CONF_SECRET,
     .check = conf_check_file},
    {.key = "interval",
     .set = conf_set_duration,
     .offset = HEALTH(interval_us),
     .min = 100 * US_PER_MS,
     .max = 60 * US_PER_S},
    {.key = "timeout",
     .set = conf_set_duration,
     .offset = HEALTH(timeout_us),
     .min = 50 * US_PER_MS,
     .max = 60 * US_PER_S},
    {.key = "rise", .set = conf_set_unsigned, .offset = HEALTH(rise), .min = 1, .max = 100},
    {.key = "fall", .set = conf_set_unsigned, .offset = HEALTH(fall), .min = 1, .max = 100},
    {0},
};

#define POLICY(member) offsetof(struct config_policy, member)
static const struct conf_field announce_fields[] = {
    {.key = "refresh",
     .set = conf_set_duration,
     .flags = CONF_OR_ZERO,
     .offset = POLICY(announce_refresh_us),
     .min = US_PER_S,
     .max = 1 * HOURS},
    {.key = "repeats",
     .set = conf_set_unsigned,
     .offset = POLICY(announce_repeats),
     .min = 0,
     .max = 60},
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

#define DOCUMENT(member) offsetof(struct policy_document, member)
const struct conf_field config_policy_fields[] = {
    {.key = "name", .set = conf_set_string, .offset = DOCUMENT(name)},
    {.key = "fenceWindow",
     .set = conf_set_duration,
     .flags = CONF_OR_ZERO,
     .offset = DOCUMENT(policy.fence_window_us),
     .min = 500 * US_PER_MS,
     .max = 60 * US_PER_S},
    {.key = "fence",
     .set = conf_set_choice,
     .offset = DOCUMENT(policy.fence),
     .choices = config_fence_names},
    {.key = "leaseTTL",
     .set = set_whole_seconds,
     .offset = DOCUMENT(lease_ttl_us),
     .min = 2 * US_PER_S,
     .max = 300 * US_PER_S},
    {.key = "priority",
     .set = conf_set_int,
     .offset = DOCUMENT(policy.priority),
     .min = 0,
     .max = 1000},
    {.key = "preempt", .set = conf_set_bool, .offset = DOCUMENT(policy.preempt)},
    {.key = "avoidEtcdLeader", .set = conf_set_bool, .offset = DOCUMENT(policy.avoid_etcd_leader)},
    {.key = "holdDown",
     .set = conf_set_duration,
     .offset = DOCUMENT(policy.hold_down_us),
     .min = 0,
     .max = 1 * HOURS},
    {.key = "healthCheck",
     .set = conf_set_map,
     .offset = DOCUMENT(policy.health),
     .fields = health_fields},
    {.key = "announce",
     .set = set_announce,
     .offset = DOCUMENT(policy),
     .choices = config_announce_names,
     .fields = announce_fields},
    {.key = "conflict",
     .set = conf_set_choice,
     .offset = DOCUMENT(policy.conflict),
     .choices = config_conflict_names},
    {.key = "destroySockets", .set = conf_set_bool, .offset = DOCUMENT(policy.destroy_sockets)},
    {.key = "outsideCheck", .set = conf_set_bool, .offset = DOCUMENT(policy.outside_check)},
    {0},
};

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
    {CONF_KIND_LEGACY, config_legacy_fields, config_read_legacy},
    {"HostnameConfig", nodeconf_hostname_fields, read_hostname},
    {"Layer2VIPConfig", config_layer2_fields, config_read_layer2},
    {"HCloudVIPConfig", config_hcloud_document_fields, config_read_hcloud},
    {"NodeConfig", nodeconf_fields, read_node},
    {"EtcdClientConfig", etcdconf_fields, read_etcd},
    {"VIPPolicyConfig", config_policy_fields, read_policy},
    {0},
};
