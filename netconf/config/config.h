/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What netconf takes from the configuration: Talos's documents about links, addresses, routes,
 * rules, names and time in both styles, and NetworkPolicyConfig. Immutable once read: a reload
 * reads a whole new one. Times are microseconds.
 *
 * What is read here is not yet a model: a link may be called by an alternative name, an alias or a
 * selector, and which device that is depends on the machine. resolve.h turns it into one, as often
 * as devices come and go.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/conf.h"
#include "netconf/model/ethernet.h"
#include "netconf/model/host.h"
#include "netconf/model/model.h"
#include "netconf/config/selector.h"
#include "netconf/model/wireguard.h"

#define CONFIG_LINKS_MAX 4096
#define CONFIG_PORTS_MAX 64        /* of one bond, bridge or VRF */
#define CONFIG_ADDRESSES_MAX 1024  /* of one link */
#define CONFIG_ROUTES_MAX 4096     /* of one link */
#define CONFIG_REF_MAX 127         /* characters of an alternative name */
#define CONFIG_METRIC_DEFAULT 1024 /* Talos's, of routes and DHCP */

/* A link as somebody called it. */
struct config_ref {
	char *name;                /* kernel's, alternative or alias; NULL: selector */
	struct selector *selector; /* every device that matches */
};

/* A link and what was said of it. */
struct config_link {
	struct link want;         /* kind, origin, the attributes that have a key, bond, wireguard */
	struct config_ref ref;    /* a VLAN of the older style on a selector has none: PARENT.ID */
	bool is_ignored;          /* `ignore: true`: never touched */
	struct config_ref parent; /* VLAN */
	char *peer;               /* veth: the other end, which is a config_link of its own */
	bool is_peer;             /* veth: of which the first end's document speaks */
	struct config_ref *ports; /* bond, bridge, VRF: in order */
	size_t n_ports;
	bool has_hidden_keys; /* WireGuard: printed by config_print(), so a key is not in the file */
	struct address *addresses; /* without a link's name */
	size_t n_addresses;
	struct route *routes; /* the same */
	size_t n_routes;
};

struct config_alias {
	char *name; /* "net0", or "net%d": one for each that matches */
	struct selector selector;
	bool takes_first; /* of several that match, where the name has no "%d" */
	struct origin origin;
};

enum config_client_id {
	CONFIG_CLIENT_ID_NONE,
	CONFIG_CLIENT_ID_MAC,
	CONFIG_CLIENT_ID_DUID,
};

struct config_dhcp {
	struct config_ref ref;
	unsigned vlan_id;   /* != 0: on this VLAN of ref, of the older style */
	sa_family_t family; /* AF_INET or AF_INET6 */
	uint32_t metric;    /* 1024 */
	bool ignore_hostname;
	enum config_client_id client_id; /* mac */
	char *duid;                      /* "00:01:..."; NULL: none */
	struct origin origin;
};

struct config_ethernet {
	struct config_ref ref;
	struct ethernet ethernet;
	struct origin origin;
};

/* TCPProbeConfig, HTTPProbeConfig */
struct config_probe {
	char *name;
	char *endpoint; /* "host:port"; NULL: url */
	char *url;
	int64_t interval_us;        /* 1 s */
	int64_t timeout_us;         /* 10 s */
	unsigned failure_threshold; /* failures in a row that are forgiven: 0 */
	struct origin origin;
};

enum config_drift {
	CONFIG_DRIFT_REPAIR, /* ours, and only what is hitless */
	CONFIG_DRIFT_REPORT,
};

/* NetworkPolicyConfig */
struct config_policy {
	int64_t confirm_us; /* an apply without --confirm-within waits so long: 2 min */
	enum config_drift drift;
	struct config_fight {
		unsigned rewrites; /* at most so many repairs of one object within any ... */
		int64_t window_us;
	} fight;                          /* 3 in 1 min */
	bool adopt;                       /* the first run takes over what is as it is wanted */
	struct conf_strings ignore_links; /* patterns of names that are never looked at */
	bool probe_gateways, probe_etcd, probe_api_server; /* what worked before must work after */
	bool probe_duplicates;                             /* whether another host has a new address */
	int64_t probe_timeout_us;                          /* for all of them, after a change: 15 s */
	char *state_dir;                                   /* /var/lib/fairlead/netconf */
};

struct config {
	struct config_link *links;
	size_t n_links;
	struct config_alias *aliases;
	size_t n_aliases;
	struct config_dhcp *dhcps;
	size_t n_dhcps;
	struct config_ethernet *ethernets;
	size_t n_ethernets;
	struct config_probe *probes;
	size_t n_probes;
	struct model *common; /* what hangs on no link: rules, blackhole routes, the host, file names */
	bool no_default_search; /* the domain of the host's name is not searched by itself */
	struct config_policy policy;
	bool has_policy;           /* somebody wrote it */
	struct conf_strings files; /* that it was read from, in their order */
	struct conf_strings notes; /* what is odd but goes on: for the log and for --check */
};

/* What reading depends on besides the files: nothing, so it is always NULL. The tests of every
 * daemon's configuration are the same. */
struct config_env;

/*
 * Reads files, directories' *.yaml files, or (no paths) the default places. Every error is reported
 * through `error` as one "file:line:col: path: what is wrong: 'value'" each; then -EINVAL. 0 on
 * success.
 */
int config_load(const char *const *paths, size_t n_paths, conf_message_fn error, void *userdata,
                struct config **ret_config);
/* The same from a text; `name` stands for the file in messages. */
int config_load_text(const char *name, const char *text, size_t len, const struct config_env *env,
                     conf_message_fn error, void *userdata, struct config **ret_config);
void config_free(struct config *config);
DEFINE_AUTO(struct config, config_free);

/*
 * YAML in the style of many documents that config_load() reads back as the same configuration. Only
 * links that a deviceSelector chooses stand in the older style, which alone can say that. Secrets
 * stand as "<hidden>".
 */
void config_print(const struct config *config, FILE *out);

/*
 * From the older style to that of many documents: names what only a deviceSelector chooses, by an
 * alias for each, if it chooses exactly one of these devices, and turns `ignore` into the policy's
 * ignoreLinks. -EINVAL if that cannot be, with a line for each reason; the configuration is then
 * half converted and good for nothing.
 */
int config_convert(struct config *config, const struct device *devices, size_t n_devices,
                   conf_message_fn error, void *userdata);
/* Without the policy unless it says something. */
void config_print_converted(const struct config *config, FILE *out);

/*
 * The files of a configuration as one text, so that what was applied can be kept as it was,
 * whatever becomes of the files. Comments and secrets are in it.
 */

/* Each file a part of the stream of documents, with its name in a comment. The caller frees it. 0,
 * -EFBIG: more than one file may have; or -errno. */
int sources_read(const struct conf_strings *files, char **ret_text);

/*
 * Keys that a configuration only names files for. Blocking, when a network is about to be planned.
 */

typedef void (*wireguard_unread_fn)(const char *path, int error, void *userdata);

/* Each key with a file is read from it: 32 bytes in base64, as wg(8) has them. One that cannot be
 * read is told of, with its -errno (-EINVAL: it is no key). The private key is left as it is on the
 * link then: `has` has it no more. A peer has the preshared key that it has on the link (`have`;
 * NULL: there is none), and one that is not there is not made without. */
void wireguard_read_keys(struct wireguard *wireguard, const struct wireguard *have,
                         wireguard_unread_fn unread, void *userdata);

/*
 * The way back from a network that is there to a configuration that says the same, so that somebody
 * can begin with what the node has. Pure.
 */

/*
 * What an administrator made of the observed network: links with their ports, static addresses and
 * routes, rules. What programs make and take away by themselves (leases, VIPs, containers' links,
 * routing daemons' routes) is not described. What of the rest there is no word for is told in
 * `ret_left_out`, which the caller ends. config_print_converted() prints it.
 */
struct config *config_describe(const struct model *have, struct conf_strings *ret_left_out);
