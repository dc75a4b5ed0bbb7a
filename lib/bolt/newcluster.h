/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The members of a cluster that is made anew, as etcd's --initial-cluster has them:
 * "n1=https://10.0.0.1:2380,n2=https://10.0.0.2:2380", a name once for each of its peer URLs; and
 * the ids that they will have (newcluster.h). Pure.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

/*
 * The ids that etcd gives to a cluster that is made anew, by a restore or a first start: digests of
 * its members' peer URLs and of its token. So the same URLs with the same token are the same
 * cluster to a member that was left behind, which is why a restore takes a new token. Members that
 * are added later have other ids.
 *
 * Source: read off etcd 3.4 to 3.6, and measured against 3.4.23 and 3.5.16. Pure.
 */

/* The order of the URLs does not matter. */
uint64_t memberid_of_member(const char *const *peer_urls, size_t n, const char *token);

/* Nor does that of the ids. */
uint64_t memberid_of_cluster(const uint64_t *member_ids, size_t n);

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
