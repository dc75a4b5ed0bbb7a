/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What vipd takes from the configuration: the VIPs (Layer2VIPConfig, HCloudVIPConfig, and `vip` in
 * a legacy `machine:` document's interfaces and VLANs), how to reach etcd (EtcdClientConfig), who
 * this node is (NodeConfig) and the policy (VIPPolicyConfig). Immutable once read: a reload reads a
 * whole new one and swaps. Times are microseconds.
 */

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/addr.h"
#include "base/cleanup.h"
#include "base/conf.h"
#include "base/nodeconf.h"
#include "etcd/etcdconf.h"

#define CONFIG_VIPS_MAX 64
#define CONFIG_CA_FILE "/etc/kubernetes/pki/ca.crt" /* of the API server */

enum config_fence {
	CONFIG_FENCE_AUTO, /* nftables where the kernel has it, else lifetime */
	CONFIG_FENCE_NFTABLES,
	CONFIG_FENCE_LIFETIME,
};

/* How the network learns where the address is. */
enum config_announce {
	CONFIG_ANNOUNCE_LAYER2, /* ARP and neighbour advertisements on its link */
	CONFIG_ANNOUNCE_BGP,    /* a routing daemon of the node exports the address on its link */
};

/* What to do about another host that has the VIP already. */
enum config_conflict {
	CONFIG_CONFLICT_REFUSE, /* do not take it first; warn of it later */
	CONFIG_CONFLICT_WARN,
	CONFIG_CONFLICT_OFF, /* do not ask */
};

struct config_health {
	bool enabled;
	bool
	    awaits_ca; /* by default, on a node that is not kubeadm's yet: begins once ca_file exists */
	char *url;     /* https://127.0.0.1:6443/readyz; the host is an IP address */
	char *server_name;      /* name to verify; "kubernetes" */
	char *ca_file;          /* /etc/kubernetes/pki/ca.crt */
	char *client_cert_file; /* NULL: the pair in client_directory, or anonymous */
	char *client_key_file;
	const char *client_directory; /* of probecert.h; NULL: none. Not configurable */
	int64_t interval_us;
	int64_t timeout_us;
	unsigned rise;
	unsigned fall;
};

/* How the election and the announcements behave; one for all VIPs or overridden for one. */
struct config_policy {
	int64_t fence_window_us; /* T_f; 0: chosen from etcd's election timeout (policy.h) */
	enum config_fence fence;
	int priority; /* 0..1000, higher is preferred; default 100 */
	bool preempt; /* move back to a healthy node of higher priority */
	bool avoid_etcd_leader;
	int64_t hold_down_us; /* least time between two moves that are not forced */
	struct config_health health;
	enum config_announce announce;
	int64_t announce_refresh_us;   /* CONFIG_ANNOUNCE_LAYER2; 0: never */
	unsigned announce_repeats;     /* the same; at one second each, behind the first three */
	enum config_conflict conflict; /* the same */
	bool destroy_sockets;
	bool outside_check; /* with health.enabled (outside.h) */
};

/* A VIP whose packets Hetzner Cloud sends to the server that it is told (hcloud.h). */
struct config_hcloud {
	char *api_token;      /* one of these two */
	char *api_token_file; /* read anew when it is used */
	int64_t server_id;    /* this server's; 0: the metadata service knows it */
	char *endpoint;       /* https://api.hetzner.cloud/v1 */
	char *ca_file;        /* verifies the endpoint; NULL: the system's */
	char *metadata;       /* the whole URL; the host is an IP address */
};

struct config_vip {
	struct addr addr;
	char link[IFNAMSIZ];
	struct config_hcloud *hcloud; /* NULL: policy.announce says how */
	struct config_policy policy;
	/* Where it was configured, for messages: "/etc/fairlead/config.yaml:12". */
	char *origin;
};

struct config {
	char node_name[NODECONF_NAME_MAX + 1];
	struct endpoint metrics_at; /* AF_UNSPEC: nowhere but on the control socket */
	struct etcdconf etcd;
	int64_t lease_ttl_us;        /* of the node's presence, whole seconds; default 10 s */
	struct config_policy policy; /* what a VIP without a policy of its own has */
	struct config_vip *vips;     /* sorted by address, no duplicates */
	size_t n_vips;
	/* What is odd but goes on: "the health check begins when ..."; for the log and for --check. */
	struct conf_strings notes;
};

/* What the defaults depend on. NULL instead of one: the machine as it is. */
struct config_env {
	const char *hostname;
	bool (*file_exists)(const char *path);
};

/*
 * Reads a file, or a directory's *.yaml files in order, or (paths empty) the default places:
 * /etc/fairlead/config.yaml and /etc/fairlead/conf.d. Every error in every file is reported through
 * `error` as one "file:line:col: path: what is wrong: 'value'" each; then -EINVAL. 0 on success.
 */
int config_load(const char *const *paths, size_t n_paths, conf_message_fn error, void *userdata,
                struct config **ret_config);
int config_load_env(const char *const *paths, size_t n_paths, const struct config_env *env,
                    conf_message_fn error, void *userdata, struct config **ret_config);
/* The same from a text; `name` stands for the file in messages. */
int config_load_text(const char *name, const char *text, size_t len, const struct config_env *env,
                     conf_message_fn error, void *userdata, struct config **ret_config);
void config_free(struct config *config);
DEFINE_AUTO(struct config, config_free);

bool config_policy_equal(const struct config_policy *a, const struct config_policy *b);

/* YAML that config_load() reads back as the same configuration, every key written out. Passwords
 * are not in it: there is only the name of their file. */
void config_print(const struct config *config, FILE *out);
