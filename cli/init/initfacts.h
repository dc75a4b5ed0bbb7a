/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What `fairlead init` finds on a node: what of Kubernetes and etcd is there, and their files; how
 * etcd was told to run; the links that may carry a VIP; what else does what fairlead is to do.
 * Values only. Paths are those of the node, without the root that they were read below. Texts are
 * owned; NULL: not found.
 */

#include <jansson.h>
#include <linux/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/conf.h"
#include "cli/common/texts.h"

enum init_kind {
	INIT_NOTHING,
	INIT_KUBEADM,
	INIT_K3S,
	INIT_RKE2,
	INIT_ETCD, /* etcd by itself: a service, or just a process */
};

enum init_role {
	INIT_NO_ROLE,
	INIT_CONTROL_PLANE,
	INIT_WORKER,
};

struct initfacts_link {
	char name[IFNAMSIZ];
	const char *kind; /* "device", "bond", "vlan", "bridge": a constant */
	bool has_default; /* a default route leads over it */
	const char
	    *not_by_itself;      /* why only --link chooses it, a constant; NULL: init may choose it */
	struct prefix *prefixes; /* its addresses, not masked */
	size_t n_prefixes;
};

struct initfacts_certificate {
	char *path;
	int error;           /* why it cannot be used, as -errno; 0: it can */
	int64_t not_after_s; /* when it ends, seconds since 1970 */
};

struct initfacts {
	char *hostname;
	enum init_kind kind;
	enum init_role role;
	char *hidden; /* what this user may not look at, and would say what the node is */

	char *etcd_endpoint; /* of this node's member, or one of an external cluster */
	char *etcd_ca, *etcd_cert, *etcd_key;
	bool etcd_cert_is_server; /* there was only the certificate that etcd serves with */
	bool etcd_is_default;     /* as the daemons find it by themselves */
	bool etcd_is_external;    /* no member runs here */
	char *etcd_data;
	char *
	    cluster; /* "etcd-" and a sum of etcd_ca, the same on all nodes and on no other cluster's */
	struct texts members; /* hosts of the members that this one was begun with */

	char *stopped_etcd; /* the unit of an etcd that is installed, and does not run */

	bool has_api_ca; /* kubeadm's ca.crt is there as well, so API servers run there */
	char *api_ca, *api_client_cert, *api_client_key; /* NULL: as the daemons find them */
	char *server;                                    /* host[:port] that kubelet speaks to */
	struct addr *api_names;                          /* addresses in the API server's certificate */
	size_t n_api_names;
	char *api_cert;
	char *
	    anonymous; /* why the API server refuses anonymous requests to /readyz; NULL: it does not */
	bool has_probe_certificate;

	struct initfacts_certificate *certificates;
	size_t n_certificates;

	bool links_are_known; /* false: it is not the running system that was looked at */
	struct initfacts_link *links;
	size_t n_links;
	struct addr *gateways; /* of the default routes */
	size_t n_gateways;

	struct texts rivals;  /* sentences: what else does what fairlead is to do */
	char *rival_vip;      /* the address that such a program has */
	char *network_source; /* what configures the network: "netplan (/etc/netplan)" */
};

void initfacts_fini(struct initfacts *facts);

/* "k3s", for sentences. */
const char *initfacts_kind_name(enum init_kind kind);

void initcluster_look(const char *root, struct initfacts *facts);

enum initetcd_option {
	INITETCD_DATA_DIR,
	INITETCD_LISTEN,
	INITETCD_CERT,
	INITETCD_KEY,
	INITETCD_CA,
	INITETCD_CLUSTER,
	INITETCD_N_OPTIONS,
};

struct initetcd {
	char *values[INITETCD_N_OPTIONS]; /* NULL: not said; the first to say it counts */
};

void initetcd_fini(struct initetcd *etcd);

/* The words of a command line, "--key=value" or "--key" and "value". */
void initetcd_take_words(struct initetcd *etcd, const struct texts *words);

/* The arguments of the first container of a static pod. */
void initetcd_take_pod(struct initetcd *etcd, const struct conf_node *pod);
void initetcd_pod_words(const struct conf_node *pod, struct texts *ret_words);

/* An etcd that is a service or only a process: whether there is one that runs, or below the root of
 * an image, one that is installed. Else *ret_stopped is the unit of one that does not run, or NULL.
 */
bool initetcd_take_service(struct initetcd *etcd, const char *root, const char **ret_stopped);

/* Where a client on this node reaches it; to be freed. */
char *initetcd_endpoint(const struct initetcd *etcd);
/* Hosts of the members that it was begun with. */
void initetcd_hosts(const struct initetcd *etcd, struct texts *ret_hosts);

/* From the objects of `ip -json -details address` and `ip -json route show default`. Pure. */
void initlinks_take(const json_t *addresses, const json_t *routes, struct initfacts *facts);

/* Asks ip(8) on the running system. Without it nothing is known of links. */
void initlinks_look(struct initfacts *facts);

void initothers_look(const char *root, struct initfacts *facts);
