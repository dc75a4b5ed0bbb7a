/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * EtcdClientConfig, for every daemon that uses etcd: how to reach it. In the order of calls:
 * etcdconf_set_defaults(), etcdconf_read() while conf_read() runs, etcdconf_resolve(); then the
 * value is taken out of the reading, and etcdconf_reading_fini() frees the rest. Needs nothing of
 * gRPC.
 */

#include "base/conf.h"

struct etcdconf {
	char **endpoints;
	size_t n_endpoints;
	char *ca_file;
	char *cert_file;
	char *key_file;
	char *user;
	char *password_file;
	bool discover_members;
	char *prefix; /* "fairlead/v1/": all keys of fairlead begin with it */
	int64_t call_timeout_us;
	int64_t hedge_us;
	/* Neither endpoints nor certificates were given: they are the node's own (kubeadm). */
	bool is_default;
};

void etcdconf_fini(struct etcdconf *etcd);

struct etcdconf_reading {
	struct etcdconf etcd;
	const struct conf_node *document; /* EtcdClientConfig, or NULL */
	bool is_whole;                    /* every key of it could be read */
};

extern const struct conf_field etcdconf_fields[]; /* target: struct etcdconf */

void etcdconf_set_defaults(struct etcdconf_reading *reading);
void etcdconf_read(struct etcdconf_reading *reading, struct conf *conf,
                   const struct conf_node *document);
/* After all documents: what none said, and what does not go together. The client certificate is the
 * first of kubeadm's of which both files exist. */
void etcdconf_resolve(struct etcdconf_reading *reading, struct conf *conf,
                      bool (*file_exists)(const char *path));
struct etcdconf etcdconf_take(struct etcdconf_reading *reading);
void etcdconf_reading_fini(struct etcdconf_reading *reading);

/* Endpoints and files are written as comments while they are the node's own, because writing them
 * down would make them somebody's choice. */
void etcdconf_print(const struct etcdconf *etcd, FILE *out);
