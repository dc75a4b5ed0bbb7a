/* SPDX-License-Identifier: Apache-2.0 */
/* Which probes a configuration asks for. */
#include <stdlib.h>

#include "base/mem.h"
#include "netconf/probe_priv.h"

static struct probe *add(struct probe **list, size_t *n)
{
	*list = xreallocarray(*list, *n + 1, sizeof(**list));
	return &(*list)[(*n)++];
}

void probe_make_list(const struct config *config, struct probe **ret_list, size_t *ret_n)
{
	*ret_list = NULL;
	*ret_n = 0;
	if (config->policy.probe_gateways) {
		probe_gateway_init(add(ret_list, ret_n), AF_INET);
		probe_gateway_init(add(ret_list, ret_n), AF_INET6);
	}
	for (size_t i = 0; i < config->n_probes; i++) {
		const struct config_probe *probe = &config->probes[i];

		if (probe->endpoint != NULL)
			probe_tcp_init(add(ret_list, ret_n), probe->name, probe->endpoint, probe->timeout_us);
	}
}
