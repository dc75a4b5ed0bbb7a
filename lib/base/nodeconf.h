/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * NodeConfig, which is for all daemons of a node.
 *
 * Who this node is, for every daemon that asks: a NodeConfig says so, else the host name of a Talos
 * document, else the machine. In the order of calls: the readers while conf_read() runs, then
 * nodeconf_resolve(), then nodeconf_fini().
 *
 * And where on this machine each daemon's metrics are to be had, besides its control socket.
 */

#include "base/conf.h"
#include "base/endpoint.h"

#define NODECONF_NAME_MAX 63

enum nodeconf_daemon {
	NODECONF_VIPD,
	NODECONF_PRISM,
	NODECONF_ETCDWATCH,
	NODECONF_NETCONF,
	NODECONF_N_DAEMONS,
};

struct nodeconf {
	char name[NODECONF_NAME_MAX + 1];
	struct endpoint metrics[NODECONF_N_DAEMONS]; /* AF_UNSPEC: no port */
	/* The rest is for reading it. */
	const struct conf_node *document; /* NodeConfig, or NULL */
	const struct conf_node *hostname; /* of a Talos document, or NULL */
	char *hostname_path;
};

/* The tables of the kinds NodeConfig and HostnameConfig; both targets are a struct nodeconf. */
extern const struct conf_field nodeconf_fields[];
extern const struct conf_field nodeconf_hostname_fields[];

void nodeconf_read(struct nodeconf *node, struct conf *conf, const struct conf_node *document);
void nodeconf_read_hostname(struct nodeconf *node, struct conf *conf,
                            const struct conf_node *document);
/* For machine.network.hostname of the legacy document: a conf_set_fn, with a struct nodeconf as the
 * slot. */
void nodeconf_set_hostname(struct conf *conf, const struct conf_field *field,
                           const struct conf_node *value, void *slot);

/* Fills in the name where no NodeConfig has; `hostname` NULL: that of the machine. */
void nodeconf_resolve(struct nodeconf *node, struct conf *conf, const char *hostname);
void nodeconf_fini(struct nodeconf *node);

/* Reports "<what> <by>" at the port of a daemon that has one. */
void nodeconf_refuse_port(const struct nodeconf *node, struct conf *conf,
                          enum nodeconf_daemon daemon, const char *what, const char *by);

/*
 * Reads NodeConfig alone, and passes over whatever is wrong in other documents. For a daemon that
 * applies the rest of its configuration at another time. No name is filled in. 0; or -EINVAL with
 * every error told.
 */
int nodeconf_load(const char *const *paths, size_t n_paths, conf_message_fn error, void *userdata,
                  struct nodeconf *ret_node);

/* What one daemon uses of it. name NULL: nothing, as an address that is AF_UNSPEC; without either
 * there is no document. */
void nodeconf_print(const char *name, enum nodeconf_daemon daemon, const struct endpoint *metrics,
                    FILE *out);
