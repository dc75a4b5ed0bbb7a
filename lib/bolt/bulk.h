/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Writes a new bbolt database from buckets and entries that come in order: leaves are filled and
 * written one behind the other, branches as soon as they are full, the meta pages last. What comes
 * out is a whole copy as a transaction of bbolt writes one: two good meta pages, no page that is
 * free, no list of free pages (etcd keeps none), small buckets inline. The same entries make the
 * same bytes.
 *
 * Memory: 1 MiB, and for each level of the tree what its page holds; a large value is held once.
 *
 * Blocking. Nothing is synced: that is for the one who owns the file, when it is whole.
 */

#include <stdint.h>

#include "base/cleanup.h"
#include "bolt/bytes.h"

struct bulk;

/* Into `fd`, which is empty, open for writing, and borrowed until bulk_free(). `page_bytes` as in
 * bolt.h. */
struct bulk *bulk_new(int fd, uint32_t page_bytes);
void bulk_free(struct bulk *b);
DEFINE_AUTO(struct bulk, bulk_free);

/*
 * Begins an outermost bucket, and adds an entry to it; both are copied. Names of buckets and keys
 * in a bucket ascend strictly: else, or where one is empty or longer than PAGE_KEY_BYTES_MAX,
 * -EINVAL; -EMSGSIZE for a value that page.h would not read; or -errno of writing. After an error
 * it is only freed.
 */
int bulk_begin(struct bulk *b, struct bytes name);
int bulk_add(struct bulk *b, struct bytes key, struct bytes value);

/* The end. The file has so many bytes now, in whole pages. */
int bulk_finish(struct bulk *b, uint64_t *ret_bytes);
