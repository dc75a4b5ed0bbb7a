/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the config_*.c files share: the state of one reading, between the documents and the finished
 * struct config. Nobody else includes this, save tests that walk the tables.
 */

#include "base/conf.h"
#include "vipd/config.h"

/* A VIP as a document had it; both styles of Talos end here. */
struct vip_entry {
	struct addr addr;
	char link[IFNAMSIZ];
	const struct conf_node *at; /* the address */
	char *path;
	struct config_hcloud *hcloud; /* owned, or NULL */
};

/* What a document says of one VIP, before it is known whether all of it is right. */
struct legacy_vip {
	struct addr addr;
	const struct conf_node *at;
	struct config_hcloud *hcloud; /* owned, or NULL */
};

/* What one VIPPolicyConfig fills. */
struct policy_document {
	struct config_policy policy; /* first, so that its rows have one offset in both */
	char *name;                  /* the VIP that it is for; NULL: all others */
	int64_t lease_ttl_us;
};

struct config_reading {
	struct conf *conf;
	const struct config_env *env;
	struct config *config; /* being filled */
	struct vip_entry *vips;
	size_t n_vips;
	const struct conf_node **policies; /* VIPPolicyConfig documents, read last */
	size_t n_policies;
	struct nodeconf node;
	struct etcdconf_reading etcd;
};

/* config_schema.c: every kind that vipd reads; conf_read()'s userdata is a struct config_reading.
 */
extern const struct conf_kind config_kinds[];
extern const struct conf_field config_policy_fields[]; /* target: struct policy_document */
void config_set_defaults(struct config *config);
void config_policy_copy(struct config_policy *to, const struct config_policy *from);
void config_policy_fini(struct config_policy *policy);

/* config_talos.c: single values (NULL, or what is wrong with the text), and Talos's own documents.
 */
const char *config_check_link(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                              const char **ret_hint);
const char *config_check_vip(const char *text, struct addr *ret_addr,
                             char scratch[static CONF_SCRATCH_BYTES], const char **ret_hint);
extern const struct conf_field config_legacy_fields[]; /* target: struct config_reading */
extern const struct conf_field config_layer2_fields[];
void config_read_layer2(struct conf *conf, const struct conf_node *document, void *userdata);
/* A conf_set_fn for the address in a struct legacy_vip. */
void config_set_vip(struct conf *conf, const struct conf_field *field,
                    const struct conf_node *value, void *slot);
/* Takes hcloud, which may be NULL. */
void config_add_vip(struct config_reading *reading, const struct legacy_vip *vip, const char *link,
                    struct config_hcloud *hcloud);

/* config_hcloud.c */
extern const struct conf_field config_hcloud_fields[];          /* target: struct config_hcloud */
extern const struct conf_field config_hcloud_document_fields[]; /* of HCloudVIPConfig */
void config_read_hcloud(struct conf *conf, const struct conf_node *document, void *userdata);
/* A conf_set_fn: the slot is a struct config_hcloud *, which it makes. */
void config_set_hcloud(struct conf *conf, const struct conf_field *field,
                       const struct conf_node *value, void *slot);
/* A floating IPv6 address is one of a /64, which is assigned as a whole. */
bool config_hcloud_is_range(const struct addr *vip);
bool config_hcloud_same_range(const struct addr *a, const struct addr *b); /* of two such */
void config_hcloud_free(struct config_hcloud *hcloud);
DEFINE_AUTO(struct config_hcloud, config_hcloud_free);
