/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A configuration as YAML: every document and key written out, so that a person sees what is in
 * force, in one fixed order, so that two outputs can be compared. It reads back as the same struct
 * config (tests/unit/test_vip_config.c holds it to that). Etcd's endpoints and files are written as
 * comments while they are the node's own, because writing them down would make them somebody's
 * choice; so is a health check that waits for the CA.
 */
#include "vipd/config_priv.h"

#include <string.h>

#include "base/mono.h"

static void print_health(const struct config_health *health, FILE *out)
{
	if (health->awaits_ca) {
		(void) fprintf(out, "# healthCheck begins when %s exists\n", health->ca_file);
		return;
	}
	(void) fputs("healthCheck:\n", out);
	conf_print_bool(out, "  enabled", health->enabled);
	conf_print_string(out, "  url", health->url);
	conf_print_string(out, "  serverName", health->server_name);
	conf_print_string(out, "  caFile", health->ca_file);
	conf_print_string(out, "  clientCertFile", health->client_cert_file);
	conf_print_string(out, "  clientKeyFile", health->client_key_file);
	conf_print_duration(out, "  interval", health->interval_us);
	conf_print_duration(out, "  timeout", health->timeout_us);
	(void) fprintf(out, "  rise: %u\n  fall: %u\n", health->rise, health->fall);
}

static void print_announce(const struct config_policy *policy, FILE *out)
{
	if (policy->announce != CONFIG_ANNOUNCE_LAYER2) {
		conf_print_string(out, "announce", config_announce_names[policy->announce]);
		return;
	}
	(void) fputs("announce:\n", out);
	conf_print_duration(out, "  refresh", policy->announce_refresh_us);
	(void) fprintf(out, "  repeats: %u\n", policy->announce_repeats);
}

static void print_policy(const struct config_policy *policy, FILE *out)
{
	conf_print_duration(out, "fenceWindow", policy->fence_window_us);
	conf_print_string(out, "fence", config_fence_names[policy->fence]);
	(void) fprintf(out, "priority: %d\n", policy->priority);
	conf_print_bool(out, "preempt", policy->preempt);
	conf_print_bool(out, "avoidEtcdLeader", policy->avoid_etcd_leader);
	conf_print_duration(out, "holdDown", policy->hold_down_us);
	print_health(&policy->health, out);
	print_announce(policy, out);
	conf_print_string(out, "conflict", config_conflict_names[policy->conflict]);
	conf_print_bool(out, "destroySockets", policy->destroy_sockets);
	conf_print_bool(out, "outsideCheck", policy->outside_check);
}

static bool strings_equal(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool health_equal(const struct config_health *a, const struct config_health *b)
{
	return a->enabled == b->enabled && a->awaits_ca == b->awaits_ca &&
	       strings_equal(a->url, b->url) && strings_equal(a->server_name, b->server_name) &&
	       strings_equal(a->ca_file, b->ca_file) &&
	       strings_equal(a->client_cert_file, b->client_cert_file) &&
	       strings_equal(a->client_key_file, b->client_key_file) &&
	       a->interval_us == b->interval_us && a->timeout_us == b->timeout_us &&
	       a->rise == b->rise && a->fall == b->fall;
}

bool config_policy_equal(const struct config_policy *a, const struct config_policy *b)
{
	return a->fence_window_us == b->fence_window_us && a->fence == b->fence &&
	       a->priority == b->priority && a->preempt == b->preempt &&
	       a->avoid_etcd_leader == b->avoid_etcd_leader && a->hold_down_us == b->hold_down_us &&
	       health_equal(&a->health, &b->health) && a->announce == b->announce &&
	       a->announce_refresh_us == b->announce_refresh_us &&
	       a->announce_repeats == b->announce_repeats && a->conflict == b->conflict &&
	       a->destroy_sockets == b->destroy_sockets && a->outside_check == b->outside_check;
}

void config_print(const struct config *config, FILE *out)
{
	nodeconf_print(config->node_name, NODECONF_VIPD, &config->metrics_at, out);
	etcdconf_print(&config->etcd, out);
	conf_print_header(out, CONF_API_FAIRLEAD, "VIPPolicyConfig");
	conf_print_duration(out, "leaseTTL", config->lease_ttl_us);
	print_policy(&config->policy, out);
	for (size_t i = 0; i < config->n_vips; i++) {
		const struct config_vip *vip = &config->vips[i];
		char addr[ADDR_TEXT_MAX];

		conf_print_header(out, CONF_API_TALOS,
		                  vip->hcloud != NULL ? "HCloudVIPConfig" : "Layer2VIPConfig");
		conf_print_string(out, "name", addr_format(&vip->addr, addr));
		conf_print_string(out, "link", vip->link);
		if (vip->hcloud != NULL)
			config_print_hcloud(vip->hcloud, out);
		if (config_policy_equal(&vip->policy, &config->policy))
			continue;
		conf_print_header(out, CONF_API_FAIRLEAD, "VIPPolicyConfig");
		conf_print_string(out, "name", addr);
		print_policy(&vip->policy, out);
	}
}
