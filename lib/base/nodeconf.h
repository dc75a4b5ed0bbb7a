/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Who this node is, for every daemon that asks: a NodeConfig says so, else the host name of a Talos
 * document, else the machine. In the order of calls: the readers while conf_read() runs, then
 * nodeconf_resolve(), then nodeconf_fini().
 */

#include "base/conf.h"

#define NODECONF_NAME_MAX 63

struct nodeconf {
	char name[NODECONF_NAME_MAX + 1]; /* what it is about; the rest is for reading it */
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

void nodeconf_print(const char *name, FILE *out);
