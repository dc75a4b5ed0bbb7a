/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From files to a struct config: reads every document by the tables of config_schema.c and
 * config_talos.c, then checks what only the whole can
 * show: duplicate VIPs, policies without a VIP, settings that exclude each other.
 *
 * Nothing is half done: the caller gets a complete configuration or every error.
 */
#include "vipd/config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/mono.h"
#include "vipd/config_priv.h"

/* With a window below this the lifetime, which counts in seconds, has nothing left to grant. */
#define LIFETIME_WINDOW_MIN_US (3 * US_PER_S)

/* --- life --- */

static void reading_fini(struct config_reading *reading)
{
	for (size_t i = 0; i < reading->n_vips; i++) {
		free(reading->vips[i].path);
		config_hcloud_free(reading->vips[i].hcloud);
	}
	free(reading->vips);
	free(reading->policies);
	nodeconf_fini(&reading->node);
	etcdconf_reading_fini(&reading->etcd);
	config_free(reading->config);
	conf_free(reading->conf);
}

/* --- VIPs --- */

static int compare_entries(const void *a, const void *b)
{
	const struct vip_entry *x = a, *y = b;

	return addr_compare(&x->addr, &y->addr);
}

/* Stable, so that of two that are equal the first one in the files stays first. */
static void sort_entries(struct vip_entry *entries, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct vip_entry moved = entries[i];
		size_t to = i;

		for (; to > 0 && compare_entries(&moved, &entries[to - 1]) < 0; to--)
			entries[to] = entries[to - 1];
		entries[to] = moved;
	}
}

static void report_duplicate(struct conf *conf, const struct vip_entry *first,
                             const struct vip_entry *second)
{
	AUTO(free) char *origin = conf_origin(conf, first->at);
	size_t before = conf_enter(conf, "%s", second->path);

	conf_error(conf, second->at, NULL, "this VIP is configured twice, first at %s", origin);
	conf_leave(conf, before);
}

/* The range goes to one server, and each of the two may have another owner. */
static void report_shared_range(struct conf *conf, const struct vip_entry *first,
                                const struct vip_entry *second)
{
	AUTO(free) char *origin = conf_origin(conf, first->at);
	size_t before = conf_enter(conf, "%s", second->path);

	conf_error(conf, second->at, "one VIP is all that a floating IPv6 range can have",
	           "is in the same /64 as the VIP at %s", origin);
	conf_leave(conf, before);
}

static void build_vips(struct config_reading *reading)
{
	struct config *config = reading->config;
	const struct vip_entry *kept = NULL, *ranged = NULL;

	if (reading->n_vips > CONFIG_VIPS_MAX) {
		conf_error(reading->conf, reading->vips[CONFIG_VIPS_MAX].at, NULL, "more than %d VIPs",
		           CONFIG_VIPS_MAX);
		return;
	}
	sort_entries(reading->vips, reading->n_vips);
	config->vips = xcalloc(reading->n_vips, sizeof(*config->vips));
	for (size_t i = 0; i < reading->n_vips; i++) {
		struct vip_entry *entry = &reading->vips[i];
		struct config_vip *vip;

		if (kept != NULL && addr_equal(&kept->addr, &entry->addr)) {
			report_duplicate(reading->conf, kept, entry);
			continue;
		}
		kept = entry;
		if (entry->hcloud != NULL && config_hcloud_is_range(&entry->addr)) {
			if (ranged != NULL && config_hcloud_same_range(&ranged->addr, &entry->addr))
				report_shared_range(reading->conf, ranged, entry);
			ranged = entry;
		}
		vip = &config->vips[config->n_vips++];
		vip->addr = entry->addr;
		memcpy(vip->link, entry->link, sizeof(vip->link));
		vip->hcloud = TAKE_PTR(entry->hcloud);
		vip->origin = conf_origin(reading->conf, entry->at);
	}
}

/* --- policies --- */

static void check_policy(struct conf *conf, const struct conf_node *document,
                         const struct config_policy *policy)
{
	const char *key = conf_node_find(document, "fenceWindow") != NULL ? "fenceWindow" : "fence";
	const struct config_health *health = &policy->health;

	if (policy->fence == CONFIG_FENCE_LIFETIME && policy->fence_window_us > 0 &&
	    policy->fence_window_us < LIFETIME_WINDOW_MIN_US) {
		size_t before = conf_enter(conf, "%s", key);

		conf_error(conf, conf_node_find(document, key),
		           "the kernel counts lifetimes in whole seconds",
		           "with 'fence: lifetime' the fenceWindow must be at least 3s");
		conf_leave(conf, before);
	}
	if ((health->client_cert_file == NULL) != (health->client_key_file == NULL)) {
		size_t before = conf_enter(conf, "healthCheck");

		conf_error(conf, conf_node_find(document, "healthCheck"), NULL,
		           "clientCertFile and clientKeyFile go together");
		conf_leave(conf, before);
	}
}

/* Without the CA the check cannot tell the API server from another. Where no document asks for the
 * check and there is no CA, this is no kubeadm node, or not yet. */
static void resolve_health(struct config_reading *reading, struct config_policy *policy)
{
	if (reading->env->file_exists(policy->health.ca_file))
		return;
	policy->health.awaits_ca = true;
	conf_note(reading->conf, NULL, "write a healthCheck section to say how to check, or not to",
	          "the health check begins when %s exists", policy->health.ca_file);
}

static void read_policy(struct config_reading *reading, const struct conf_node *document,
                        struct policy_document *policy)
{
	size_t before = conf_enter(reading->conf, "VIPPolicyConfig");

	conf_read_map(reading->conf, document, config_policy_fields, policy);
	check_policy(reading->conf, document, &policy->policy);
	conf_leave(reading->conf, before);
}

static bool has_key(const struct conf_node *document, const char *key)
{
	return conf_node_find(document, key) != NULL;
}

/* The policy without a name, and at most one of them. */
static void read_default_policy(struct config_reading *reading)
{
	struct config *config = reading->config;
	struct policy_document target = {.lease_ttl_us = config->lease_ttl_us,
	                                 .policy = config->policy};
	const struct conf_node *first = NULL;

	for (size_t i = 0; i < reading->n_policies; i++) {
		const struct conf_node *document = reading->policies[i];

		if (has_key(document, "name"))
			continue;
		if (first != NULL) {
			AUTO(free) char *origin = conf_origin(reading->conf, first);

			conf_error(reading->conf, document,
			           "one is for a single VIP if it has its address as 'name'",
			           "a second VIPPolicyConfig for all VIPs, first at %s", origin);
			continue;
		}
		first = document;
		read_policy(reading, document, &target);
	}
	if (first == NULL || !has_key(first, "healthCheck"))
		resolve_health(reading, &target.policy);
	config->policy = target.policy;
	config->lease_ttl_us = target.lease_ttl_us;
}

static struct config_vip *find_vip(struct config *config, const struct addr *addr)
{
	for (size_t i = 0; i < config->n_vips; i++) {
		if (addr_equal(&config->vips[i].addr, addr))
			return &config->vips[i];
	}
	return NULL;
}

/* The VIP that a policy's name means; NULL if it means none, which has been reported. */
static struct config_vip *vip_of_policy(struct config_reading *reading,
                                        const struct conf_node *document)
{
	const struct conf_node *name = conf_node_find(document, "name");
	char scratch[CONF_SCRATCH_BYTES];
	const char *hint = NULL, *wrong;
	struct config_vip *vip = NULL;
	struct addr addr;

	if (!conf_expect(reading->conf, name, CONF_SCALAR))
		return NULL;
	wrong = config_check_vip(name->text, &addr, scratch, &hint);
	if (wrong != NULL) {
		conf_error(reading->conf, name, hint, "%s", wrong);
		return NULL;
	}
	vip = find_vip(reading->config, &addr);
	if (vip == NULL)
		conf_error(reading->conf, name, "give it a Layer2VIPConfig, or remove this policy",
		           "is the address of no configured VIP");
	return vip;
}

static void read_named_policy(struct config_reading *reading, const struct conf_node *document,
                              const struct conf_node **first)
{
	struct config *config = reading->config;
	struct policy_document target = {0};
	size_t before = conf_enter(reading->conf, "VIPPolicyConfig");
	size_t inner = conf_enter(reading->conf, "name");
	struct config_vip *vip = vip_of_policy(reading, document);

	if (vip != NULL && first[vip - config->vips] != NULL) {
		AUTO(free) char *origin = conf_origin(reading->conf, first[vip - config->vips]);

		conf_error(reading->conf, conf_node_find(document, "name"), NULL,
		           "a second policy for this VIP, first at %s", origin);
		vip = NULL;
	}
	conf_leave(reading->conf, inner);
	if (has_key(document, "leaseTTL")) {
		(void) conf_enter(reading->conf, "leaseTTL");
		conf_error(reading->conf, conf_node_find(document, "leaseTTL"),
		           "set it in the VIPPolicyConfig without a name",
		           "is one for all VIPs of the node");
	}
	if (vip != NULL && vip->hcloud != NULL && has_key(document, "announce"))
		conf_note(reading->conf, conf_node_find(document, "announce"), NULL,
		          "'announce' is not used: Hetzner Cloud is told where this VIP is");
	conf_leave(reading->conf, before);

	/* Read in any case, for its other errors. */
	config_policy_copy(&target.policy, &config->policy);
	target.policy.health.awaits_ca &= !has_key(document, "healthCheck");
	read_policy(reading, document, &target);
	free(target.name);
	if (vip == NULL) {
		config_policy_fini(&target.policy);
		return;
	}
	first[vip - config->vips] = document;
	config_policy_fini(&vip->policy);
	vip->policy = target.policy;
}

static void read_policies(struct config_reading *reading)
{
	struct config *config = reading->config;
	AUTO(free) const struct conf_node **first = xcalloc(config->n_vips, sizeof(*first));

	read_default_policy(reading);
	for (size_t i = 0; i < config->n_vips; i++)
		config_policy_copy(&config->vips[i].policy, &config->policy);
	for (size_t i = 0; i < reading->n_policies; i++) {
		if (has_key(reading->policies[i], "name"))
			read_named_policy(reading, reading->policies[i], first);
	}
}

/* --- loading --- */

static bool file_exists(const char *path)
{
	return access(path, F_OK) == 0;
}

/* Takes conf, in which all text has been added. */
static int read_config(struct conf *conf, const struct config_env *env, conf_message_fn error,
                       void *userdata, struct config **ret_config)
{
	struct config_env actual = {.file_exists = file_exists};
	struct config_reading reading = {.conf = conf, .env = &actual, .config = NEW0(struct config)};
	int r;

	if (env != NULL && env->hostname != NULL)
		actual.hostname = env->hostname;
	if (env != NULL && env->file_exists != NULL)
		actual.file_exists = env->file_exists;
	config_set_defaults(reading.config);
	etcdconf_set_defaults(&reading.etcd);
	conf_read(conf, config_kinds, &reading);
	etcdconf_resolve(&reading.etcd, conf, actual.file_exists);
	nodeconf_resolve(&reading.node, conf, actual.hostname);
	build_vips(&reading);
	read_policies(&reading);
	if (reading.n_vips == 0)
		conf_note(conf, NULL, NULL, "no VIP is configured: there is nothing to do");

	r = conf_finish(conf, error, userdata, &reading.config->notes);
	if (r == 0) {
		memcpy(reading.config->node_name, reading.node.name, sizeof(reading.node.name));
		reading.config->metrics_at = reading.node.metrics[NODECONF_VIPD];
		reading.config->etcd = etcdconf_take(&reading.etcd);
		*ret_config = TAKE_PTR(reading.config);
	}
	reading_fini(&reading);
	return r;
}

int config_load_env(const char *const *paths, size_t n_paths, const struct config_env *env,
                    conf_message_fn error, void *userdata, struct config **ret_config)
{
	struct conf *conf = conf_new();

	conf_add_paths(conf, paths, n_paths);
	return read_config(conf, env, error, userdata, ret_config);
}

int config_load(const char *const *paths, size_t n_paths, conf_message_fn error, void *userdata,
                struct config **ret_config)
{
	return config_load_env(paths, n_paths, NULL, error, userdata, ret_config);
}

int config_load_text(const char *name, const char *text, size_t len, const struct config_env *env,
                     conf_message_fn error, void *userdata, struct config **ret_config)
{
	struct conf *conf = conf_new();

	conf_add_text(conf, name, text, len);
	return read_config(conf, env, error, userdata, ret_config);
}
