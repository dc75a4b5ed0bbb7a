/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether one of the default gateways of a family answers on its link. Which ones these are is
 * looked up anew after the change, since they may be what was changed. That there is none any more
 * is a loss, too.
 *
 * The kernel itself asks, by ARP or neighbour discovery, when it is told to (RTM_NEWNEIGH,
 * rtnetlink(7)): no raw socket, and what it knows is asked again, not believed. An entry that the
 * kernel believes in is set to NUD_PROBE: it goes on being used while the neighbour is asked again.
 * One that it does not have is made by NTF_USE.
 */
#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/mono.h"
#include "net/netlink.h"
#include "netconf/probe/probe_priv.h"

#define GATEWAYS_MAX 16
#define ASK_US (4 * US_PER_S)

struct target {
	char link[IFNAMSIZ];
	struct addr addr;
};

struct gateways {
	sa_family_t family;
	struct netlink *nl;
	struct target targets[GATEWAYS_MAX];
	size_t n;
	int64_t deadline_us;
};

/* --- one neighbour --- */

struct entry {
	uint16_t state; /* NUD_*; 0: there is none */
	uint8_t lladdr[32];
	size_t n_lladdr;
};

static void on_entry(const struct nlmsghdr *nlh, void *userdata)
{
	const struct nlattr *table[NDA_MAX + 1];
	struct entry *entry = userdata;
	struct ndmsg ndm;

	if (nlh->nlmsg_type != RTM_NEWNEIGH || !attr_read(nlh, &ndm, sizeof(ndm), table, NDA_MAX + 1))
		return;
	entry->state = ndm.ndm_state;
	if (attr_len(table[NDA_LLADDR]) <= sizeof(entry->lladdr) &&
	    attr_bytes(table[NDA_LLADDR], entry->lladdr, attr_len(table[NDA_LLADDR])))
		entry->n_lladdr = attr_len(table[NDA_LLADDR]);
}

static void begin(struct message *m, uint16_t type, uint16_t flags, const struct ndmsg *ndm,
                  const struct addr *addr)
{
	message_begin(m, type, flags, ndm, sizeof(*ndm));
	message_bytes(m, NDA_DST, addr->bytes, addr_len_bytes(addr));
}

static void find(struct netlink *nl, const struct ndmsg *ndm, const struct addr *addr,
                 struct entry *ret_entry)
{
	AUTO(message_free) struct message *m = message_new();

	*ret_entry = (struct entry){0};
	begin(m, RTM_GETNEIGH, 0, ndm, addr);
	if (netlink_ask(nl, m, on_entry, ret_entry) < 0)
		*ret_entry = (struct entry){0};
}

static struct ndmsg header(const struct target *target)
{
	return (struct ndmsg){
	    .ndm_family = (uint8_t) target->addr.family,
	    .ndm_ifindex = (int) if_nametoindex(target->link),
	};
}

static int ask(struct netlink *nl, const struct target *target)
{
	AUTO(message_free) struct message *m = message_new();
	struct ndmsg ndm = header(target);
	struct entry entry;

	if (ndm.ndm_ifindex == 0)
		return -ENODEV;
	find(nl, &ndm, &target->addr, &entry);
	if ((entry.state & (NUD_PERMANENT | NUD_NOARP)) != 0)
		return 0;
	if ((entry.state & (NUD_REACHABLE | NUD_STALE | NUD_DELAY)) != 0 && entry.n_lladdr > 0) {
		ndm.ndm_state = NUD_PROBE;
		begin(m, RTM_NEWNEIGH, NLM_F_REPLACE, &ndm, &target->addr);
		message_bytes(m, NDA_LLADDR, entry.lladdr, entry.n_lladdr);
	} else {
		ndm.ndm_flags = NTF_USE;
		begin(m, RTM_NEWNEIGH, NLM_F_CREATE, &ndm, &target->addr);
	}
	return netlink_ask(nl, m, NULL, NULL);
}

static enum probe_verdict state_of(struct netlink *nl, const struct target *target)
{
	struct ndmsg ndm = header(target);
	struct entry entry;

	if (ndm.ndm_ifindex == 0)
		return PROBE_BAD;
	find(nl, &ndm, &target->addr, &entry);
	/* STALE: it has answered, and somebody's packet told of another way since. */
	if ((entry.state & (NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_STALE | NUD_DELAY)) != 0)
		return PROBE_GOOD;
	return (entry.state & (NUD_INCOMPLETE | NUD_PROBE)) != 0 ? PROBE_RUNNING : PROBE_BAD;
}

/* --- the probe --- */

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

	if (g->nl == NULL && netlink_new(NULL, NETLINK_ROUTE, &g->nl) < 0)
		return PROBE_BAD;
	g->deadline_us = now_us + ASK_US;
	for (size_t i = 0; i < g->n; i++) {
		if (ask(g->nl, &g->targets[i]) == 0)
			is_asked = true;
	}
	return is_asked ? PROBE_RUNNING : PROBE_BAD;
}

static enum probe_verdict poll(struct probe *probe, int64_t now_us)
{
	struct gateways *g = probe->data;
	bool is_asking = false;

	for (size_t i = 0; i < g->n; i++) {
		enum probe_verdict state = state_of(g->nl, &g->targets[i]);

		if (state == PROBE_GOOD)
			return PROBE_GOOD;
		is_asking = is_asking || state == PROBE_RUNNING;
	}
	return is_asking && now_us < g->deadline_us ? PROBE_RUNNING : PROBE_BAD;
}

static void fini(struct probe *probe)
{
	struct gateways *g = probe->data;

	netlink_free(g->nl);
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
