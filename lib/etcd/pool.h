/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The endpoints: configured and discovered, each with its channel, all kept connected, and which of
 * them goes first. Also owns the certificates, and gives every endpoint a new channel when they
 * change on disk.
 */

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "etcd/channel.h"
#include "etcd/etcd.h"
#include "etcd/url.h"

struct pool;

/* Counted: stays valid, though perhaps no longer in use, while somebody holds it. */
struct endpoint;

struct endpoint *endpoint_ref(struct endpoint *endpoint);
void endpoint_unref(struct endpoint *endpoint); /* NULL is fine */
const char *endpoint_url(const struct endpoint *endpoint);
const struct url *endpoint_place(const struct endpoint *endpoint);
/* The present channel: borrowed until the loop's next turn. */
struct channel *endpoint_channel(const struct endpoint *endpoint);
/* Which member answers there, as far as known; 0: unknown. Two URLs may lead to the same one. */
uint64_t endpoint_member(const struct endpoint *endpoint);
/* What the header of an answer from there said, and when it came. */
void endpoint_set_heard(struct endpoint *endpoint, uint64_t cluster_id, uint64_t member_id,
                        int64_t heard_us);

/* 0, or -errno with a sentence. With 0 the sentence is "" or a warning. */
int pool_new(struct ev_loop *ev, const struct etcd_options *options, size_t answer_max_bytes,
             char ret_error[static ETCD_ERROR_TEXT_MAX], struct pool **ret_pool);
void pool_free(struct pool *pool);
DEFINE_AUTO(struct pool, pool_free);

/* All endpoints, the primary first, the others in their order behind it, wrapped round. Each is
 * referenced for the caller. Returns how many. */
size_t pool_snapshot(const struct pool *pool, struct endpoint *ret_endpoints[ETCD_ENDPOINTS_MAX]);

/* NULL if there is none of that URL, however it is spelled. Borrowed. */
struct endpoint *pool_find(const struct pool *pool, const char *text);

/* The one to try for something long-lived: of the cluster that is meant, then connected, if
 * possible, and not `avoid` if there is another. Borrowed. */
struct endpoint *pool_pick(const struct pool *pool, const struct endpoint *avoid);

/* The certificates of today, for who makes a connection of his own: borrowed until the loop's next
 * turn. NULL: no TLS. */
const struct pem *pool_pem(const struct pool *pool);

/* This one gave an answer that only a member with a quorum can give: it goes first from now on. */
void pool_set_primary(struct pool *pool, struct endpoint *endpoint);

/* What the members say their client URLs are, with their ids. Adds those that can be used, and
 * drops discovered ones that are no longer listed. */
struct pool_member {
	const char *url;
	uint64_t member_id;
};
void pool_set_discovered(struct pool *pool, const struct pool_member *members, size_t n_members);

/* As etcd_expect_cluster(). */
void pool_expect_cluster(struct pool *pool, uint64_t cluster_id);
/* It last answered for another cluster than the one that is meant. */
bool pool_is_foreign(const struct pool *pool, const struct endpoint *endpoint);
/* As etcd_endpoints_heard(). */
size_t pool_heard(const struct pool *pool, struct etcd_heard ret_heard[static ETCD_ENDPOINTS_MAX]);

/* Borrowed until the set changes. */
size_t pool_urls(const struct pool *pool, const char *const **ret_urls);
