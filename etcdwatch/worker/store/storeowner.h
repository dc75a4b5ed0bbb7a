/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whose the objects below a prefix are: the object <prefix>fairlead-owner.json, written at first
 * use and compared before anything else is done there, so that two clusters that share a bucket by
 * mistake neither list nor remove each other's snapshots:
 *
 *	{"version": 1, "owner": "<32 hexadecimal digits>", "node": "cp-1", "since": "2026-..."}
 *
 * The owner is a cluster's id in etcd (etcdwatch/owner.h), the node the one that wrote it.
 *
 * Codes of a refusal: FOREIGN, another cluster's; OWNER_UNKNOWN, this cluster's id is not known;
 * and those of s3target.h.
 */

#include "etcdwatch/worker/common/options.h"
#include "etcdwatch/worker/common/result.h"
#include "web/s3.h"

struct storeowner {
	const char *id; /* of this cluster; "": not known; NULL: nothing is compared */
	const char *node;
	const char *prefix;
};

#define STOREOWNER_OPTIONS 3

/* --owner ID --owner-node NAME --owner-prefix PREFIX, for options_parse(), of struct storeowner. */
extern const struct options_entry storeowner_options[STOREOWNER_OPTIONS];

/* Writes the marker where there is none, and reads it back. Without the right to read it, only what
 * removes something is refused. */
int storeowner_check(struct s3 *s3, const struct storeowner *owner, bool removes,
                     struct problem *problem);
/* Replaces another cluster's. *ret_before, to be freed: whose it was, or NULL. */
int storeowner_take_over(struct s3 *s3, const struct storeowner *owner, struct problem *problem,
                         char **ret_before);
