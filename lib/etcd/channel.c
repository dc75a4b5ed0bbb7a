/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes gRPC channels, each for exactly one endpoint. (Several addresses behind one channel would
 * break the name check of TLS and leave the failover to gRPC, which waits up to 20 s for a
 * black-holed address.) Holds no state but the channel; pool.c decides what to connect to.
 */
#include "etcd/channel.h"

#include <assert.h>
#include <grpc/grpc_security.h>
#include <stdlib.h>

#include "base/macro.h"
#include "base/mem.h"

/* Ping a silent connection that has calls in flight. etcd takes pings no faster than every 5 s. */
#define KEEPALIVE_MS 10000
#define KEEPALIVE_TIMEOUT_MS 3000
/* The minimum is the time that one attempt to connect may take; the maximum is how late a member
 * that came back is noticed. */
#define RECONNECT_INITIAL_MS 200
#define RECONNECT_MIN_MS 1000
#define RECONNECT_MAX_MS 2000
#define RESOLVE_MIN_INTERVAL_MS 5000

struct channel {
	unsigned refs;
	grpc_channel *grpc;
};

static grpc_arg int_arg(const char *key, int value)
{
	/* gRPC's struct wants a char *, and copies it. */
	return (grpc_arg){
	    .type = GRPC_ARG_INTEGER, .key = (char *) (uintptr_t) key, .value.integer = value};
}

struct channel *channel_new(const struct url *url, const struct pem *pem, size_t receive_max_bytes)
{
	struct channel *channel = NEW0(struct channel);
	grpc_channel_credentials *credentials =
	    pem != NULL ? pem_credentials(pem) : grpc_insecure_credentials_create();
	grpc_arg args[] = {
	    {.type = GRPC_ARG_STRING,
	     .key = (char *) (uintptr_t) GRPC_ARG_DEFAULT_AUTHORITY,
	     .value.string = (char *) (uintptr_t) url->authority},
	    /* Proxy variables would redirect even numeric addresses. */
	    int_arg("grpc.enable_http_proxy", 0),
	    int_arg("grpc.enable_retries", 0),
	    int_arg("grpc.use_local_subchannel_pool", 1),
	    int_arg("grpc.service_config_disable_resolution", 1),
	    int_arg("grpc.keepalive_time_ms", KEEPALIVE_MS),
	    int_arg("grpc.keepalive_timeout_ms", KEEPALIVE_TIMEOUT_MS),
	    int_arg("grpc.keepalive_permit_without_calls", 0),
	    int_arg("grpc.http2.max_pings_without_data", 0),
	    int_arg("grpc.initial_reconnect_backoff_ms", RECONNECT_INITIAL_MS),
	    int_arg("grpc.min_reconnect_backoff_ms", RECONNECT_MIN_MS),
	    int_arg("grpc.max_reconnect_backoff_ms", RECONNECT_MAX_MS),
	    int_arg("grpc.dns_min_time_between_resolutions_ms", RESOLVE_MIN_INTERVAL_MS),
	    int_arg("grpc.max_receive_message_length", (int) receive_max_bytes),
	    /* With probes, gRPC takes windows of 4 to 16 MiB by its own guess. */
	    int_arg("grpc.http2.bdp_probe", 0),
	};
	grpc_channel_args list = {.num_args = ARRAY_SIZE(args), .args = args};

	assert((url->scheme == URL_HTTPS) == (pem != NULL));
	channel->refs = 1;
	channel->grpc = grpc_channel_create(url->target, credentials, &list);
	grpc_channel_credentials_release(credentials);
	(void) channel_state(channel);
	return channel;
}

struct channel *channel_ref(struct channel *channel)
{
	channel->refs++;
	return channel;
}

void channel_unref(struct channel *channel)
{
	if (channel == NULL || --channel->refs > 0)
		return;
	grpc_channel_destroy(channel->grpc);
	free(channel);
}

grpc_channel *channel_grpc(const struct channel *channel)
{
	return channel->grpc;
}

enum channel_state channel_state(const struct channel *channel)
{
	switch (grpc_channel_check_connectivity_state(channel->grpc, 1)) {
	case GRPC_CHANNEL_READY:
		return CHANNEL_READY;
	case GRPC_CHANNEL_IDLE:
	case GRPC_CHANNEL_CONNECTING:
		return CHANNEL_CONNECTING;
	case GRPC_CHANNEL_TRANSIENT_FAILURE:
	case GRPC_CHANNEL_SHUTDOWN:
		break;
	}
	return CHANNEL_FAILED;
}
