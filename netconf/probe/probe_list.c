/* SPDX-License-Identifier: Apache-2.0 */
/* Which probes a configuration asks for, and what of this machine they are about. */
#include <stdlib.h>
#include <string.h>

#include "base/conf.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/mono.h"
#include "netconf/probe/probe_priv.h"

#define KUBECONFIG "/etc/kubernetes/kubelet.conf"
#define FILE_BYTES_MAX (16u << 20)
#define HTTPS_PORT 443
#define CLUSTER_TIMEOUT_US (3 * US_PER_S)

static struct probe *add(struct probe **list, size_t *n)
{
	*list = xreallocarray(*list, *n + 1, sizeof(**list));
	return &(*list)[(*n)++];
}

/* "host:port", "[::1]:port", and with a port to fall back on also "host". 0 as a port: none. */
static void add_tcp(struct probe **list, size_t *n, const char *name, const char *endpoint,
                    uint16_t fallback, int64_t timeout_us)
{
	const char *colon = strrchr(endpoint, ':');
	AUTO(free) char *host = NULL;
	int64_t port = fallback;

	if (colon != NULL && strchr(colon, ']') != NULL)
		colon = NULL;
	host = colon != NULL ? xstrndup(endpoint, (size_t) (colon - endpoint)) : xstrdup(endpoint);
	if (colon != NULL && conf_parse_int(colon + 1, &port) < 0)
		return;
	if (host[0] == '[') {
		memmove(host, host + 1, strlen(host));
		host[strcspn(host, "]")] = '\0';
	}
	if (port > 0 && port <= UINT16_MAX)
		probe_tcp_init(add(list, n), name, host, (uint16_t) port, timeout_us);
}

static void add_api_server(struct probe **list, size_t *n)
{
	AUTO(free) char *text = NULL;
	AUTO(free) char *endpoint = NULL;
	size_t len;

	if (file_read(KUBECONFIG, FILE_BYTES_MAX, &text, &len) < 0)
		return;
	endpoint = probe_api_server(text);
	if (endpoint != NULL)
		add_tcp(list, n, "the API server", endpoint, HTTPS_PORT, CLUSTER_TIMEOUT_US);
}

static void add_etcd(struct probe **list, size_t *n)
{
	static const char *const paths[] = {"/proc/self/net/tcp", "/proc/self/net/tcp6"};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct endpoint peers[PROBE_PEERS_MAX];
		AUTO(free) char *text = NULL;
		size_t len, n_peers;

		if (file_read(paths[i], FILE_BYTES_MAX, &text, &len) < 0)
			continue;
		n_peers = probe_etcd_peers(text, peers);
		for (size_t k = 0; k < n_peers; k++) {
			char host[ADDR_TEXT_MAX];

			probe_tcp_init(add(list, n), "a member of etcd", addr_format(&peers[k].addr, host),
			               peers[k].port, CLUSTER_TIMEOUT_US);
		}
	}
}

static void add_configured(struct probe **list, size_t *n, const struct probe_host *host,
                           const struct config_probe *configured)
{
	struct probe probe;

	if (configured->endpoint != NULL)
		add_tcp(list, n, configured->name, configured->endpoint, 0, configured->timeout_us);
	else if (probe_http_init(&probe, host, configured->name, configured->url,
	                         configured->timeout_us) == 0)
		*add(list, n) = probe;
}

void probe_make_list(const struct probe_host *host, const struct config *config,
                     struct probe **ret_list, size_t *ret_n)
{
	*ret_list = NULL;
	*ret_n = 0;
	if (config->policy.probe_gateways) {
		probe_gateway_init(add(ret_list, ret_n), AF_INET);
		probe_gateway_init(add(ret_list, ret_n), AF_INET6);
	}
	if (config->policy.probe_duplicates) {
		probe_duplicate_init(add(ret_list, ret_n));
		probe_arp_init(add(ret_list, ret_n), host->ev);
	}
	if (config->policy.probe_api_server)
		add_api_server(ret_list, ret_n);
	if (config->policy.probe_etcd)
		add_etcd(ret_list, ret_n);
	for (size_t i = 0; i < config->n_probes; i++)
		add_configured(ret_list, ret_n, host, &config->probes[i]);
}
