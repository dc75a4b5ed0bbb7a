/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The leases of a record: a watch says which lease a key hangs on, and nothing of the lease. So
 * each one that is seen is asked for its TTL, and again when that is over, to tell that it is gone;
 * and when it is seen again, as it may have been revoked and granted anew with another TTL.
 * A few a second at the most; how many are remembered is bounded, and beyond that they are not
 * asked for.
 */

#include <ev.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "etcd/etcd.h"

#define RECORDLEASES_MAX ((size_t) 1 << 16)

struct recordleases;

/* ttl_s as it was granted; 0: the lease is gone. Never from inside a call. */
typedef void (*recordleases_fn)(int64_t id, int64_t ttl_s, void *userdata);

struct recordleases *recordleases_new(struct ev_loop *ev, struct etcd *etcd, recordleases_fn fn,
                                      void *userdata);
void recordleases_free(struct recordleases *leases);
DEFINE_AUTO(struct recordleases, recordleases_free);

void recordleases_see(struct recordleases *leases, int64_t id);
/* All that were seen. */
void recordleases_forget(struct recordleases *leases);
size_t recordleases_count(const struct recordleases *leases);
