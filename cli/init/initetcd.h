/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How an etcd was told to run, wherever that is written: the arguments of its process or of its
 * static pod, a unit of systemd, files with its environment, its own YAML file. Options have the
 * names that they have as arguments, without the dashes.
 */

#include <stdbool.h>

#include "base/conf.h"
#include "cli/common/texts.h"

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
