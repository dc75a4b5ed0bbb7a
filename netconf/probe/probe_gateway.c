/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether one of the default gateways of a family answers on its link. Which ones these are is
 * looked up anew after the change, since they may be what was changed. That there is none any more
 * is a loss, too.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/mono.h"
#include "netconf/kernel/neighbour.h"
#include "netconf/probe/probe_priv.h"

#define GATEWAYS_MAX 16
#define ASK_US (4 * US_PER_S)

struct target {
	char link[IFNAMSIZ];
	struct addr addr;
};

struct gateways {
	sa_family_t family;
	struct neighbours *neighbours;
	struct target targets[GATEWAYS_MAX];
	size_t n;
	int64_t deadline_us;
};

static void look(struct probe *probe, const struct model *have)
{
	struct gateways *g = probe->data;

	g->n = 0;
	for (size_t i = 0; i < have->n_routes && g->n < GATEWAYS_MAX; i++) {
		const struct route *route = &have->routes[i];

		if (route->dst.len != 0 || route->dst.addr.family != g->family ||
		    !addr_is_set(&route->gateway) || route->table != RT_TABLE_MAIN)
			continue;
		memcpy(g->targets[g->n].link, route->link, IFNAMSIZ);
		g->targets[g->n++].addr = route->gateway;
	}
}

static enum probe_verdict start(struct probe *probe, int64_t now_us)
{
	struct gateways *g = probe->data;
	bool is_asked = false;

	if (g->neighbours == NULL && neighbours_new(&g->neighbours) < 0)
		return PROBE_BAD;
	g->deadline_us = now_us + ASK_US;
	for (size_t i = 0; i < g->n; i++) {
		if (neighbours_ask(g->neighbours, g->targets[i].link, &g->targets[i].addr) == 0)
			is_asked = true;
	}
	return is_asked ? PROBE_RUNNING : PROBE_BAD;
}

static enum probe_verdict poll(struct probe *probe, int64_t now_us)
{
	struct gateways *g = probe->data;
	bool is_asking = false;

	for (size_t i = 0; i < g->n; i++) {
		switch (neighbours_state(g->neighbours, g->targets[i].link, &g->targets[i].addr)) {
		case NEIGHBOUR_ANSWERS:
			return PROBE_GOOD;
		case NEIGHBOUR_ASKING:
			is_asking = true;
			break;
		case NEIGHBOUR_SILENT:
			break;
		}
	}
	return is_asking && now_us < g->deadline_us ? PROBE_RUNNING : PROBE_BAD;
}

static void fini(struct probe *probe)
{
	struct gateways *g = probe->data;

	neighbours_free(g->neighbours);
	free(g);
}

void probe_gateway_init(struct probe *probe, sa_family_t family)
{
	static const struct probe_kind kind = {look, start, poll, fini};
	struct gateways *g = NEW0(struct gateways);

	g->family = family;
	*probe = (struct probe){.kind = &kind, .data = g};
	probe->name = xasprintf("the default gateway of %s", family == AF_INET ? "IPv4" : "IPv6");
}
