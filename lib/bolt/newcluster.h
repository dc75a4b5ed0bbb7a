/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The members of a cluster that is made anew, as etcd's --initial-cluster has them:
 * "n1=https://10.0.0.1:2380,n2=https://10.0.0.2:2380", a name once for each of its peer URLs; and
 * the ids that they will have (memberid.h). Pure.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

#define NEWCLUSTER_MEMBERS_MAX 64

struct newcluster_member {
	char *name;
	char **peer_urls;
	size_t n_peer_urls;
	uint64_t id;
};

struct newcluster {
	struct newcluster_member *members; /* in the order of their first mention */
	size_t n_members;
	uint64_t id;
};

/* NULL, or what is wrong with the text, to be freed. */
char *newcluster_parse(const char *text, const char *token, struct newcluster **ret_cluster);
void newcluster_free(struct newcluster *cluster);
DEFINE_AUTO(struct newcluster, newcluster_free);

/* NULL: no member has that name, or that peer URL. */
const struct newcluster_member *newcluster_find(const struct newcluster *cluster, const char *name);
const struct newcluster_member *newcluster_find_url(const struct newcluster *cluster,
                                                    const char *peer_url);

/* With commas; to be freed. */
char *newcluster_urls(const struct newcluster_member *member);
