/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the list of endpoints. Calls and watches take references from here and report back who
 * answered; nothing here sends a request. One lazy timer looks whether a channel has fallen idle
 * (gRPC connects only when asked) and whether the certificate files have changed.
 */
#include "etcd/pool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"

#define TICK_S 1.
#define TICKS_A_PEM_CHECK 2
/* gRPC 1.51 waits for its timers until a time of the wall clock (abseil's futex). When that is set
 * back meanwhile, timers come as much later: an attempt to connect does not end, the next one does
 * not begin. The first attempt of a new channel needs no timer. Where nothing is wrong but the
 * member itself, it is one attempt more among many. */
#define TICKS_UNTIL_RENEWAL 10

struct endpoint {
	unsigned refs;
	struct url url;
	bool configured;
	struct channel *channel;
	unsigned ticks_unready; /* in a row, of its channel */
	uint64_t member_id;
	uint64_t cluster_id; /* that answered last; 0: none */
	int64_t heard_us;
};

struct pool {
	struct ev_loop *ev;
	struct pem *pem; /* NULL: no TLS */
	size_t answer_max_bytes;
	char *ca_file;
	char *cert_file;
	char *key_file;
	struct endpoint *endpoints[ETCD_ENDPOINTS_MAX]; /* configured ones first */
	const char *urls[ETCD_ENDPOINTS_MAX];           /* of the same */
	size_t n_endpoints;
	size_t primary;
	uint64_t expected; /* cluster id; 0: any */
	ev_timer tick;
	unsigned ticks;
};

struct endpoint *endpoint_ref(struct endpoint *endpoint)
{
	endpoint->refs++;
	return endpoint;
}

void endpoint_unref(struct endpoint *endpoint)
{
	if (endpoint == NULL || --endpoint->refs > 0)
		return;
	channel_unref(endpoint->channel);
	free(endpoint);
}

const char *endpoint_url(const struct endpoint *endpoint)
{
	return endpoint->url.text;
}

const struct url *endpoint_place(const struct endpoint *endpoint)
{
	return &endpoint->url;
}

struct channel *endpoint_channel(const struct endpoint *endpoint)
{
	return endpoint->channel;
}

uint64_t endpoint_member(const struct endpoint *endpoint)
{
	return endpoint->member_id;
}

void endpoint_set_heard(struct endpoint *endpoint, uint64_t cluster_id, uint64_t member_id,
                        int64_t heard_us)
{
	endpoint->cluster_id = cluster_id;
	endpoint->member_id = member_id;
	endpoint->heard_us = heard_us;
}

static struct endpoint *add(struct pool *pool, const struct url *url, bool configured)
{
	struct endpoint *endpoint = NEW0(struct endpoint);

	endpoint->refs = 1;
	endpoint->url = *url;
	endpoint->configured = configured;
	endpoint->channel = channel_new(url, pool->pem, pool->answer_max_bytes);
	pool->endpoints[pool->n_endpoints] = endpoint;
	pool->urls[pool->n_endpoints] = endpoint->url.text;
	pool->n_endpoints++;
	return endpoint;
}

static void drop(struct pool *pool, size_t index)
{
	struct endpoint *endpoint = pool->endpoints[index];

	log_debug("etcd_endpoint_dropped", "endpoint=%s", endpoint->url.text);
	pool->n_endpoints--;
	for (size_t i = index; i < pool->n_endpoints; i++) {
		pool->endpoints[i] = pool->endpoints[i + 1];
		pool->urls[i] = pool->urls[i + 1];
	}
	if (pool->primary == index)
		pool->primary = 0;
	else if (pool->primary > index)
		pool->primary--;
	endpoint_unref(endpoint);
}

/* The old one lives on under the calls that hold it. */
static void renew_channel(const struct pool *pool, struct endpoint *endpoint)
{
	channel_unref(endpoint->channel);
	endpoint->channel = channel_new(&endpoint->url, pool->pem, pool->answer_max_bytes);
	endpoint->ticks_unready = 0;
}

/* New channels with the new certificates. */
static void check_certificates(struct pool *pool)
{
	AUTO(pem_free) struct pem *pem = NULL;
	char error[ETCD_ERROR_TEXT_MAX];
	bool same;

	if (pool->pem == NULL || !pem_is_stale(pool->pem))
		return;
	if (pem_load(pool->ca_file, pool->cert_file, pool->key_file, error, &pem) < 0) {
		log_debug("etcd_certificates_unusable", "err=\"%s\"", error);
		return;
	}
	same = pem_equal(pem, pool->pem);
	pem_free(pool->pem);
	pool->pem = TAKE_PTR(pem);
	if (same)
		return;
	log_debug("etcd_certificates_changed", "file=%s", pool->ca_file);
	for (size_t i = 0; i < pool->n_endpoints; i++)
		renew_channel(pool, pool->endpoints[i]);
}

/* Also has a channel that has lost its connection try again. */
static void check_channel(const struct pool *pool, struct endpoint *endpoint)
{
	if (channel_state(endpoint->channel) == CHANNEL_READY)
		endpoint->ticks_unready = 0;
	else if (++endpoint->ticks_unready >= TICKS_UNTIL_RENEWAL)
		renew_channel(pool, endpoint);
}

static void tick_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct pool *pool = CONTAINER_OF(w, struct pool, tick);

	pool->ticks++;
	if (pool->ticks % TICKS_A_PEM_CHECK == 0)
		check_certificates(pool);
	for (size_t i = 0; i < pool->n_endpoints; i++)
		check_channel(pool, pool->endpoints[i]);
}

static int parse_endpoints(const struct etcd_options *options, struct url *urls,
                           char error[static ETCD_ERROR_TEXT_MAX])
{
	if (options->n_endpoints == 0 || options->n_endpoints > ETCD_ENDPOINTS_MAX) {
		(void) snprintf(error, ETCD_ERROR_TEXT_MAX, "%zu endpoints: 1 to %d are possible",
		                options->n_endpoints, ETCD_ENDPOINTS_MAX);
		return -EINVAL;
	}
	for (size_t i = 0; i < options->n_endpoints; i++) {
		const char *text = options->endpoints[i];

		if (url_parse(text, &urls[i]) < 0) {
			(void) snprintf(error, ETCD_ERROR_TEXT_MAX,
			                "endpoint is not a http or https URL: '%.180s'", text);
			return -EINVAL;
		}
		if (urls[i].scheme != urls[0].scheme) {
			(void) snprintf(error, ETCD_ERROR_TEXT_MAX,
			                "endpoint's scheme differs from that of the first: '%.180s'", text);
			return -EINVAL;
		}
	}
	return 0;
}

int pool_new(struct ev_loop *ev, const struct etcd_options *options, size_t answer_max_bytes,
             char ret_error[static ETCD_ERROR_TEXT_MAX], struct pool **ret_pool)
{
	AUTO(pool_free) struct pool *pool = NEW0(struct pool);
	struct url urls[ETCD_ENDPOINTS_MAX];
	int r;

	ret_error[0] = '\0';
	pool->ev = ev;
	pool->answer_max_bytes = answer_max_bytes;
	ev_timer_init(&pool->tick, tick_cb, TICK_S, TICK_S);
	r = parse_endpoints(options, urls, ret_error);
	if (r < 0)
		return r;
	if (urls[0].scheme == URL_HTTPS) {
		pool->ca_file = options->ca_file != NULL ? xstrdup(options->ca_file) : NULL;
		pool->cert_file = options->cert_file != NULL ? xstrdup(options->cert_file) : NULL;
		pool->key_file = options->key_file != NULL ? xstrdup(options->key_file) : NULL;
		r = pem_load(pool->ca_file, pool->cert_file, pool->key_file, ret_error, &pool->pem);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < options->n_endpoints; i++) {
		if (pool_find(pool, urls[i].text) == NULL)
			(void) add(pool, &urls[i], true);
	}
	ev_timer_start(ev, &pool->tick);
	*ret_pool = TAKE_PTR(pool);
	return 0;
}

void pool_free(struct pool *pool)
{
	if (pool == NULL)
		return;
	ev_timer_stop(pool->ev, &pool->tick);
	for (size_t i = 0; i < pool->n_endpoints; i++)
		endpoint_unref(pool->endpoints[i]);
	pem_free(pool->pem);
	free(pool->ca_file);
	free(pool->cert_file);
	free(pool->key_file);
	free(pool);
}

size_t pool_snapshot(const struct pool *pool, struct endpoint *ret_endpoints[ETCD_ENDPOINTS_MAX])
{
	for (size_t i = 0; i < pool->n_endpoints; i++)
		ret_endpoints[i] = endpoint_ref(pool->endpoints[(pool->primary + i) % pool->n_endpoints]);
	return pool->n_endpoints;
}

struct endpoint *pool_find(const struct pool *pool, const char *text)
{
	struct url url;

	if (url_parse(text, &url) < 0)
		return NULL;
	for (size_t i = 0; i < pool->n_endpoints; i++) {
		if (strcmp(pool->urls[i], url.text) == 0)
			return pool->endpoints[i];
	}
	return NULL;
}

struct endpoint *pool_pick(const struct pool *pool, const struct endpoint *avoid)
{
	struct endpoint *best = NULL;
	int best_cost = 0;

	for (size_t i = 0; i < pool->n_endpoints; i++) {
		struct endpoint *endpoint = pool->endpoints[(pool->primary + i) % pool->n_endpoints];
		int cost = (int) channel_state(endpoint->channel);

		if (endpoint == avoid)
			cost += CHANNEL_FAILED + 1;
		if (pool_is_foreign(pool, endpoint))
			cost += 2 * (CHANNEL_FAILED + 1);
		if (best == NULL || cost < best_cost) {
			best = endpoint;
			best_cost = cost;
		}
	}
	return best;
}

const struct pem *pool_pem(const struct pool *pool)
{
	return pool->pem;
}

void pool_set_primary(struct pool *pool, struct endpoint *endpoint)
{
	for (size_t i = 0; i < pool->n_endpoints; i++) {
		if (pool->endpoints[i] != endpoint || pool->primary == i)
			continue;
		log_debug("etcd_primary", "old=%s new=%s", pool->urls[pool->primary], endpoint->url.text);
		pool->primary = i;
	}
}

static bool all_configured_are_loopback(const struct pool *pool)
{
	for (size_t i = 0; i < pool->n_endpoints; i++) {
		if (pool->endpoints[i]->configured && !pool->endpoints[i]->url.loopback)
			return false;
	}
	return true;
}

/* Members advertise what their operator wrote, which may lead nowhere, or back to ourselves. */
static bool is_usable(const struct pool *pool, const char *text, struct url *ret_url)
{
	if (url_parse(text, ret_url) < 0 || ret_url->scheme != pool->endpoints[0]->url.scheme)
		return false;
	if (addr_is_unspecified(&ret_url->addr) || addr_is_multicast(&ret_url->addr) ||
	    addr_is_linklocal(&ret_url->addr))
		return false;
	return !ret_url->loopback || all_configured_are_loopback(pool);
}

void pool_set_discovered(struct pool *pool, const struct pool_member *members, size_t n_members)
{
	bool listed[ETCD_ENDPOINTS_MAX] = {false};
	size_t n_before = pool->n_endpoints;

	for (size_t i = 0; i < n_members; i++) {
		struct endpoint *endpoint;
		struct url url;

		if (!is_usable(pool, members[i].url, &url))
			continue;
		endpoint = pool_find(pool, url.text);
		for (size_t k = 0; k < n_before; k++)
			listed[k] |= endpoint == pool->endpoints[k];
		if (endpoint == NULL && pool->n_endpoints < ETCD_ENDPOINTS_MAX) {
			endpoint = add(pool, &url, false);
			log_debug("etcd_endpoint_added", "endpoint=%s", url.text);
		}
		if (endpoint != NULL)
			endpoint->member_id = members[i].member_id;
	}
	for (size_t k = n_before; k-- > 0;) {
		if (!listed[k] && !pool->endpoints[k]->configured)
			drop(pool, k);
	}
}

void pool_expect_cluster(struct pool *pool, uint64_t cluster_id)
{
	pool->expected = cluster_id;
}

bool pool_is_foreign(const struct pool *pool, const struct endpoint *endpoint)
{
	return pool->expected != 0 && endpoint->cluster_id != 0 &&
	       endpoint->cluster_id != pool->expected;
}

size_t pool_heard(const struct pool *pool, struct etcd_heard ret_heard[static ETCD_ENDPOINTS_MAX])
{
	for (size_t i = 0; i < pool->n_endpoints; i++) {
		const struct endpoint *endpoint = pool->endpoints[i];

		ret_heard[i] = (struct etcd_heard){
		    .endpoint = endpoint->url.text,
		    .cluster_id = endpoint->cluster_id,
		    .member_id = endpoint->heard_us != 0 ? endpoint->member_id : 0,
		    .heard_us = endpoint->heard_us,
		};
	}
	return pool->n_endpoints;
}

size_t pool_urls(const struct pool *pool, const char *const **ret_urls)
{
	*ret_urls = pool->urls;
	return pool->n_endpoints;
}
