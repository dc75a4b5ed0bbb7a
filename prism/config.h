/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What prism takes from the configuration: KubePrismConfig and the legacy
 * machine.features.kubePrism (port, TLS name), cluster.controlPlane.endpoint, and PrismConfig with
 * everything that Talos has no word for. Immutable once read: a reload reads a whole new one. Times
 * are microseconds.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/conf.h"
#include "base/endpoint.h"

#define CONFIG_LISTEN_MAX 8
#define CONFIG_UPSTREAMS_MAX 32 /* of one source */
#define CONFIG_HOST_MAX 253     /* a DNS name, RFC 1035 */

/* A host by name or by address. A name is resolved by the probe process, never here. */
struct config_host {
	char name[CONFIG_HOST_MAX + 1]; /* an address: canonical, without brackets */
	uint16_t port;
};

struct config_sources {
	struct config_host *hosts; /* `static`, and cluster.controlPlane.endpoint behind it */
	size_t n_hosts;
	char *file;            /* one ADDRESS[:PORT] a line, '#' comments; watched; NULL: none */
	bool has_local;        /* the API server of this node: auto, by kubeadm's manifest */
	struct endpoint local; /* 127.0.0.1:6443 */
	char *members_file;    /* etcd's member list as JSON (etcdctl member list -w json); NULL */
	char *members_socket;  /* the control socket of a daemon that knows it; NULL */
	uint16_t members_port; /* of the API server beside each member: 6443 */
	char *kubeconfig;      /* EndpointSlices of default/kubernetes with these credentials; NULL */
	int64_t slices_interval_us; /* 30 s */
};

struct config_health {
	bool enabled;           /* off: TCP connects only, and nothing may be discovered */
	char *path;             /* "/readyz" */
	char *server_name;      /* the name to verify: "kubernetes" */
	char *ca_file;          /* /etc/kubernetes/pki/ca.crt */
	char *client_cert_file; /* NULL: anonymous */
	char *client_key_file;
	char *token_file;
	int64_t interval_us; /* in steady state, 10 s */
	int64_t quick_us;    /* the same for one that carries connections and is quiet, 2 s */
	int64_t suspect_us;  /* while something is wrong or unknown, 1 s */
	int64_t timeout_us;  /* 1 s */
	unsigned rise;       /* good answers in a row until it counts as good again: 2 */
};

struct config_connect {
	int64_t hedge_us;    /* until the next upstream is tried as well: 250 ms */
	int64_t budget_us;   /* for all of them: 3 s */
	int64_t replay_us;   /* silence after which the first bytes go to another: 2 s; 0: never */
	size_t replay_bytes; /* how much is held for that: 16384; 0: never */
};

struct config_drain {
	int64_t idle_us;     /* a connection that is silent so long may be closed: 2 s */
	int64_t spread_us;   /* closings are spread over this: 10 s */
	int64_t deadline_us; /* then the busy ones go too: 5 min */
};

struct config_limits {
	unsigned max_connections; /* 0: as RLIMIT_NOFILE allows */
	int64_t idle_us;          /* silent for so long: closed; 0: never */
	int64_t half_closed_us;   /* one side has ended, and nothing moves: 1 min */
	int64_t max_age_us;       /* closed when idle, when older; 0: never */
};

enum config_when_down {
	CONFIG_WHEN_DOWN_RESET,  /* accept, then reset at once */
	CONFIG_WHEN_DOWN_REFUSE, /* stop listening */
};

struct config {
	struct endpoint listen[CONFIG_LISTEN_MAX]; /* 127.0.0.1:7445 and [::1]:7445 */
	size_t n_listen;
	struct endpoint metrics_at; /* AF_UNSPEC: nowhere but on the control socket */
	struct config_sources sources;
	struct config_health health;
	struct config_connect connect;
	struct config_drain drain;
	struct config_limits limits;
	enum config_when_down when_down;
	char *state_dir; /* the last good list of upstreams: /var/lib/fairlead/prism; "" : none */
	/* What is odd but goes on: "no CA: ...", for the log and for --check. */
	struct conf_strings notes;
};

/* What the defaults depend on. NULL instead of one: the machine as it is. */
struct config_env {
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

/* YAML that config_load() reads back as the same configuration, every key written out. */
void config_print(const struct config *config, FILE *out);
