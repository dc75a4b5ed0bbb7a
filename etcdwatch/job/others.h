/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The newest snapshot of each other node, as far as is known here: by the keys in etcd that record
 * which node took the snapshot of a period (take/claim.h), and by the entries in the targets. Where
 * every node takes its own, etcd has no such keys. A job remembers what it read of the keys last,
 * as a restore asks for it when etcd is stopped. Pure.
 */

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "etcdwatch/take/claim.h"
#include "etcdwatch/target/inventory.h"

/* As many nodes are told of; a cluster has at most seven members or so. */
#define OTHERS_NODES_MAX 32
#define OTHERS_READ_MAX 64 /* keys */

struct others_one {
	char node[CLAIM_NODE_MAX];
	char id[CLAIM_ID_MAX];
	int64_t finished_s;
	int64_t revision;            /* 0: not known, as an older version recorded it */
	char agreed[CLAIM_NODE_MAX]; /* the member that confirmed it; "": none did, or not known */
	bool agreed_is_known;
};

/* The newest of each node. Zeroed: none. */
struct others {
	struct others_one items[OTHERS_NODES_MAX];
	size_t n;
	int64_t read_s; /* wall clock: when etcd's keys were read; 0: never */
};

/* The value of a key; what cannot be read is passed over. `self` is this node. */
void others_add_done(struct others *others, const char *self, const char *value, size_t len);
/* All keys. */
struct others others_of_done(const char *self, const struct etcd_range_result *done, int64_t now_s);
void others_add_entry(struct others *others, const char *self, const struct catalog_entry *entry);
