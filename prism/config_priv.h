/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the config_*.c files share: the state of one reading, between the documents and the finished
 * struct config. Nobody else includes this, save tests that walk the tables.
 */

#include "base/conf.h"
#include "base/nodeconf.h"
#include "prism/config.h"

/* The settings for the probe process are one message (CHECKER_MESSAGE_MAX), whatever is in them. */
#define CONFIG_FILE_BYTES_MAX 255
#define CONFIG_NAMES_MAX 16 /* hosts by name */

#define CONFIG_CA_FILE "/etc/kubernetes/pki/ca.crt"
#define CONFIG_API_PORT 6443

/* A host as a document of Talos has it. */
struct written_host {
	struct config_host host;
	const struct conf_node *at; /* NULL: none has it */
	char *path;
};

enum local_choice {
	LOCAL_AUTO,
	LOCAL_OFF,
	LOCAL_WRITTEN, /* the address is in config.sources.local */
};

/* Talos's KubePrism, in whichever style. */
struct kubeprism {
	const struct conf_node *at; /* the document or the legacy map; NULL: neither is there */
	bool is_legacy;
	bool enabled; /* of the legacy map, where nothing said means off */
	unsigned port;
	const struct conf_node *port_at;
	char *port_path;
	char *server_name;
};

struct config_reading {
	struct config config; /* being filled; first, so that rows have one offset in both */
	struct conf *conf;
	const struct config_env *env;
	const struct conf_node *document; /* PrismConfig, or NULL */
	size_t n_static;                  /* hosts of `static` */
	enum local_choice local;
	const struct conf_node *local_at;
	struct kubeprism kubeprism;
	struct nodeconf node;              /* of which prism has no use but the ports */
	struct written_host endpoint;      /* of the control plane */
	unsigned api_port;                 /* of this node's API server; 0: not said */
	bool checks_are_off_by_themselves; /* there is no CA */
};

/* config_schema.c: every kind that prism reads; conf_read()'s userdata is a struct config_reading.
 */
extern const struct conf_kind config_kinds[];
void config_set_defaults(struct config *config);

/* config_talos.c: Talos's own documents; each target is a struct config_reading. */
extern const struct conf_field config_legacy_fields[];
extern const struct conf_field config_kubeprism_fields[];
extern const struct conf_field config_cluster_fields[];
extern const struct conf_field config_apiserver_fields[];
void config_read_kubeprism(struct conf *conf, const struct conf_node *document, void *userdata);

/* config_schema.c: texts that become values: NULL, or what is wrong with them. */
/* HOST[:PORT], the host by name or by address. An address becomes its canonical text. */
const char *config_parse_host(const char *text, uint16_t default_port, struct config_host *ret_host,
                              const char **ret_hint);
/* https://HOST[:PORT], of which a path is passed over. */
const char *config_parse_url(const char *text, struct config_host *ret_host, const char **ret_hint);
/* False: it is a name. */
bool config_host_is_address(const struct config_host *host, struct endpoint *ret_endpoint);
