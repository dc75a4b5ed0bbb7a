/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A configuration as YAML: every document and key written out, so that a person sees what is in
 * force, in one fixed order, so that two outputs can be compared. It reads back as the same struct
 * config (tests/unit/test_vip_config.c holds it to that). Etcd's endpoints and files are written as
 * comments while they are the node's own, because writing them down would make them somebody's
 * choice.
 */
#include "vipd/config_priv.h"

#include <string.h>

#include "base/mono.h"

static void print_header(FILE *out, const char *api, const char *kind)
{
	(void) fprintf(out, "---\napiVersion: %s\nkind: %s\n", api, kind);
}

static void print_string(FILE *out, const char *key, const char *value)
{
	if (value == NULL)
		return;
	(void) fprintf(out, "%s: ", key);
	conf_write_string(out, value);
	(void) fputc('\n', out);
}

/* The same behind a prefix that may turn it into a comment. */
static void print_own_string(FILE *out, const char *own, const char *key, const char *value)
{
	if (value == NULL)
		return;
	(void) fputs(own, out);
	print_string(out, key, value);
}

static void print_bool(FILE *out, const char *key, bool value)
{
	(void) fprintf(out, "%s: %s\n", key, value ? "true" : "false");
}

static void print_duration(FILE *out, const char *key, int64_t us)
{
	char text[CONF_DURATION_TEXT_MAX];

	(void) fprintf(out, "%s: %s\n", key, conf_format_duration(us, text));
}

static void print_etcd(const struct config *config, FILE *out)
{
	const struct config_etcd *etcd = &config->etcd;
	const char *own = config->etcd_is_default ? "# " : "";

	print_header(out, CONF_API_FAIRLEAD, "EtcdClientConfig");
	(void) fprintf(out, "%sendpoints:\n", own);
	for (size_t i = 0; i < etcd->n_endpoints; i++) {
		(void) fprintf(out, "%s  - ", own);
		conf_write_string(out, etcd->endpoints[i]);
		(void) fputc('\n', out);
	}
	print_own_string(out, own, "caFile", etcd->ca_file);
	print_own_string(out, own, "certFile", etcd->cert_file);
	print_own_string(out, own, "keyFile", etcd->key_file);
	print_string(out, "user", etcd->user);
	print_string(out, "passwordFile", etcd->password_file);
	print_bool(out, "discoverMembers", etcd->discover_members);
	print_string(out, "prefix", etcd->prefix);
	print_duration(out, "callTimeout", etcd->call_timeout_us);
	print_duration(out, "hedgeDelay", etcd->hedge_us);
}

static void print_health(const struct config_health *health, FILE *out)
{
	(void) fputs("healthCheck:\n", out);
	print_bool(out, "  enabled", health->enabled);
	print_string(out, "  url", health->url);
	print_string(out, "  serverName", health->server_name);
	print_string(out, "  caFile", health->ca_file);
	print_string(out, "  clientCertFile", health->client_cert_file);
	print_string(out, "  clientKeyFile", health->client_key_file);
	print_duration(out, "  interval", health->interval_us);
	print_duration(out, "  timeout", health->timeout_us);
	(void) fprintf(out, "  rise: %u\n  fall: %u\n", health->rise, health->fall);
}

static void print_policy(const struct config_policy *policy, FILE *out)
{
	print_duration(out, "fenceWindow", policy->fence_window_us);
	print_string(out, "fence", config_fence_names[policy->fence]);
	(void) fprintf(out, "priority: %d\n", policy->priority);
	print_bool(out, "preempt", policy->preempt);
	print_bool(out, "avoidEtcdLeader", policy->avoid_etcd_leader);
	print_duration(out, "holdDown", policy->hold_down_us);
	print_health(&policy->health, out);
	(void) fputs("announce:\n", out);
	print_duration(out, "  refresh", policy->announce_refresh_us);
	(void) fprintf(out, "  repeats: %u\n", policy->announce_repeats);
	print_bool(out, "destroySockets", policy->destroy_sockets);
}

static bool strings_equal(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool health_equal(const struct config_health *a, const struct config_health *b)
{
	return a->enabled == b->enabled && strings_equal(a->url, b->url) &&
	       strings_equal(a->server_name, b->server_name) && strings_equal(a->ca_file, b->ca_file) &&
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
	       health_equal(&a->health, &b->health) &&
	       a->announce_refresh_us == b->announce_refresh_us &&
	       a->announce_repeats == b->announce_repeats && a->destroy_sockets == b->destroy_sockets;
}

void config_print(const struct config *config, FILE *out)
{
	print_header(out, CONF_API_FAIRLEAD, "NodeConfig");
	print_string(out, "name", config->node_name);
	print_etcd(config, out);
	print_header(out, CONF_API_FAIRLEAD, "VIPPolicyConfig");
	print_duration(out, "leaseTTL", config->lease_ttl_us);
	print_policy(&config->policy, out);
	for (size_t i = 0; i < config->n_vips; i++) {
		const struct config_vip *vip = &config->vips[i];
		char addr[ADDR_TEXT_MAX];

		print_header(out, CONF_API_TALOS, "Layer2VIPConfig");
		print_string(out, "name", addr_format(&vip->addr, addr));
		print_string(out, "link", vip->link);
		if (config_policy_equal(&vip->policy, &config->policy))
			continue;
		print_header(out, CONF_API_FAIRLEAD, "VIPPolicyConfig");
		print_string(out, "name", addr);
		print_policy(&vip->policy, out);
	}
}
