/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The leases that a rebuilt database has. The changes of keys say which key hangs on which lease,
 * in the order of revisions; that a lease was granted or is gone is told beside them, with no
 * revision, and may come somewhat late. So the keys decide: a lease on which keys hang is there,
 * whoever says that it is gone, or its keys would stay for ever; one without keys is there if it
 * was granted and nobody has said more.
 *
 * Memory: 100 bytes a lease, and 16 to 32 for each key that has ever hung on one. Beyond
 * LEASESET_KEYS_MAX of such keys they are no longer counted, and no lease is taken for gone: one
 * too many ends by itself, by its TTL.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bolt/bolt.h"
#include "bolt/bulk.h"
#include "bolt/mvcc.h"

#define LEASESET_KEYS_MAX ((size_t) 3 << 20)

struct leaseset;

struct leaseset *leaseset_new(size_t max_keys);
void leaseset_free(struct leaseset *set);
DEFINE_AUTO(struct leaseset, leaseset_free);

/* Those of a database. -EBADMSG and its fault, if what is there are no leases. */
int leaseset_load(struct leaseset *set, struct bolt *db);

/* The next change of a key. */
void leaseset_see_key(struct leaseset *set, struct bytes key, bool is_tombstone, int64_t lease);

/* What is told beside them; ttl_s 0: it is gone. */
void leaseset_see_lease(struct leaseset *set, int64_t id, int64_t ttl_s);

/* On how many leases keys hang of which nothing else is known. */
size_t leaseset_count_unknown(const struct leaseset *set);

/* Only these may still be told: of which nothing was known. */
void leaseset_see_late(struct leaseset *set, int64_t id, int64_t ttl_s);

/* Adds them, in order, to the bucket that has begun. */
int leaseset_write(struct leaseset *set, struct bulk *bulk, size_t *ret_n);
