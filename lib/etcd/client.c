/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts a client together and takes it apart, in the one order that gRPC allows: cancel every call,
 * let its tags come home, destroy the channels, stop the queue, leave gRPC.
 */
#include "etcd/client.h"

#include <errno.h>
#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <openssl/crypto.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcd/auth.h"
#include "etcd/call.h"
#include "etcd/channel.h"
#include "etcd/pool.h"
#include "etcd/queue.h"
#include "etcd/url.h"

#define CALL_TIMEOUT_DEFAULT_MS 1000
#define HEDGE_DEFAULT_MS 300
/* gRPC's default of 4 MiB is less than etcd's larger answers. */
#define ANSWER_MAX_DEFAULT_BYTES ((size_t) 16 << 20)

/* Runs in any thread of gRPC's. */
static void log_from_grpc(gpr_log_func_args *args)
{
	const char *file = strrchr(args->file, '/');

	log_debug("grpc", "file=%s:%d text=\"%s\"", file != NULL ? file + 1 : args->file, args->line,
	          args->message);
}

/*
 * gRPC has detached threads that do handshakes, and grpc_shutdown() waits until their work is done,
 * not until they are gone. As they go they give back what OpenSSL keeps for each thread; by then
 * OpenSSL may have taken itself down, which it does at exit(3) if it is not told otherwise before
 * anything uses it: before main(), since a configuration that is read may take a digest.
 */
__attribute__((constructor)) static void keep_openssl(void)
{
	(void) OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
}

static int build(struct etcd *etcd, const struct etcd_options *options,
                 char error[static ETCD_ERROR_TEXT_MAX])
{
	int r;

	r = queue_new(etcd->ev, &etcd->queue);
	if (r < 0) {
		(void) snprintf(error, ETCD_ERROR_TEXT_MAX, "cannot start a thread: %s", strerror(-r));
		return r;
	}
	r = pool_new(etcd->ev, options, etcd->answer_max_bytes, error, &etcd->pool);
	if (r < 0)
		return r;
	if (options->user != NULL)
		etcd->auth = auth_new(etcd, options->user, options->password);
	if (options->discover_members)
		etcd->discovery = discovery_new(etcd);
	return 0;
}

int etcd_check(const struct etcd_options *options, char ret_error[static ETCD_ERROR_TEXT_MAX])
{
	AUTO(pem_free) struct pem *pem = NULL;
	bool secure = false;

	ret_error[0] = '\0';
	for (size_t i = 0; i < options->n_endpoints; i++) {
		struct url url;

		if (url_parse(options->endpoints[i], &url) < 0) {
			(void) snprintf(ret_error, ETCD_ERROR_TEXT_MAX, "not an endpoint: '%s'",
			                options->endpoints[i]);
			return -EINVAL;
		}
		secure = secure || url.scheme == URL_HTTPS;
	}
	if (!secure)
		return 0;
	return pem_load(options->ca_file, options->cert_file, options->key_file, ret_error, &pem);
}

int etcd_new(struct ev_loop *ev, const struct etcd_options *options,
             char ret_error[static ETCD_ERROR_TEXT_MAX], struct etcd **ret_etcd)
{
	AUTO(etcd_free) struct etcd *etcd = NEW0(struct etcd);
	unsigned timeout_ms = options->call_timeout_ms;
	unsigned hedge_ms = options->hedge_ms;
	sigset_t all;
	sigset_t before;
	int r;

	ret_error[0] = '\0';
	etcd->ev = ev;
	etcd->call_timeout_us = (timeout_ms != 0 ? timeout_ms : CALL_TIMEOUT_DEFAULT_MS) * US_PER_MS;
	etcd->hedge_us = (hedge_ms != 0 ? hedge_ms : HEDGE_DEFAULT_MS) * US_PER_MS;
	etcd->answer_max_bytes =
	    options->answer_max_bytes != 0 ? options->answer_max_bytes : ANSWER_MAX_DEFAULT_BYTES;
	LIST_INIT(&etcd->calls);
	LIST_INIT(&etcd->watches);
	LIST_INIT(&etcd->snapshots);
	gpr_set_log_function(log_from_grpc);
	/* gRPC starts threads of its own here, and they inherit the mask. */
	(void) sigfillset(&all);
	(void) pthread_sigmask(SIG_SETMASK, &all, &before);
	grpc_init();
	r = build(etcd, options, ret_error);
	(void) pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r < 0)
		return r;
	*ret_etcd = TAKE_PTR(etcd);
	return 0;
}

void etcd_free(struct etcd *etcd)
{
	if (etcd == NULL)
		return;
	while (!LIST_EMPTY(&etcd->watches))
		etcd_watch_free(LIST_FIRST(&etcd->watches));
	while (!LIST_EMPTY(&etcd->snapshots))
		etcd_snapshot_cancel(LIST_FIRST(&etcd->snapshots));
	while (!LIST_EMPTY(&etcd->calls))
		etcd_call_cancel(LIST_FIRST(&etcd->calls));
	discovery_free(etcd->discovery);
	auth_free(etcd->auth);
	if (etcd->queue != NULL)
		queue_drain(etcd->queue);
	pool_free(etcd->pool);
	queue_free(etcd->queue);
	grpc_shutdown();
	free(etcd);
}

void etcd_expect_cluster(struct etcd *etcd, uint64_t cluster_id)
{
	etcd->undecided = cluster_id == 0;
	pool_expect_cluster(etcd->pool, cluster_id);
	calls_look_again(etcd);
}

size_t etcd_endpoints_heard(const struct etcd *etcd,
                            struct etcd_heard ret_heard[static ETCD_ENDPOINTS_MAX])
{
	return pool_heard(etcd->pool, ret_heard);
}

void etcd_add_endpoints(struct etcd *etcd, const char *const *endpoints, size_t n_endpoints)
{
	struct pool_member members[ETCD_ENDPOINTS_MAX];
	size_t n = MIN(n_endpoints, (size_t) ETCD_ENDPOINTS_MAX);

	for (size_t i = 0; i < n; i++)
		members[i] = (struct pool_member){.url = endpoints[i]};
	pool_set_discovered(etcd->pool, members, n);
}

size_t etcd_endpoints(const struct etcd *etcd, const char *const **ret_endpoints)
{
	return pool_urls(etcd->pool, ret_endpoints);
}

bool etcd_endpoint_is_connected(const struct etcd *etcd, const char *endpoint)
{
	const struct endpoint *found = pool_find(etcd->pool, endpoint);

	return found != NULL && channel_state(endpoint_channel(found)) == CHANNEL_READY;
}
