/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether another host has one of the IPv4 addresses that this one has had since a change, where
 * nobody could be asked before it: the link came up with the change, or leads elsewhere by it.
 * begin.c asks for all others first. Unlike IPv6 the kernel does not look by itself.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/mono.h"
#include "netconf/model/segment.h"
#include "netconf/probe/arpask.h"
#include "netconf/probe/probe_priv.h"

/* A link that has just been opened has its carrier within a few seconds, or it has no
 * cable. */
#define CARRIER_US (5 * US_PER_S)
/* It ends by itself, in a second. */
#define ASK_US (10 * US_PER_S)

struct arp {
	struct ev_loop *ev;
	struct model *before, *after;
	struct arpask *ask; /* NULL: nobody is to be asked, or all have been */
	bool is_asking;     /* it waits no more for carriers */
	int64_t carrier_deadline_us;
};

static bool is_new(const struct arp *arp, const struct address *address)
{
	return address->owner == OWNER_OURS && address->prefix.addr.family == AF_INET &&
	       !segment_had_address(arp->before, arp->after, address) &&
	       !segment_is_open(arp->before, arp->after, address->link);
}

static void look(struct probe *probe, const struct model *have)
{
	struct arp *arp = probe->data;

	if (arp->before == NULL) {
		arp->before = model_copy(have);
		return;
	}
	model_free(arp->after);
	arp->after = model_copy(have);
}

static void on_asked(const char *holder, void *userdata)
{
	struct probe *probe = userdata;
	struct arp *arp = probe->data;

	arp->ask = NULL;
	if (holder == NULL)
		return;
	free(probe->loss);
	probe->loss = xstrdup(holder);
}

static enum probe_verdict start(struct probe *probe, int64_t now_us)
{
	struct arp *arp = probe->data;
	size_t n = 0;
	int r;

	for (size_t i = 0; arp->after != NULL && i < arp->after->n_addresses; i++)
		n += is_new(arp, &arp->after->addresses[i]);
	if (n == 0)
		return PROBE_GOOD;
	r = arpask_new(arp->ev, arp->after, &arp->ask);
	if (r < 0) {
		(void) log_warning_errno(r, "arp_not_asked", "addresses=%zu", n);
		return PROBE_GOOD;
	}
	arp->carrier_deadline_us = now_us + CARRIER_US;
	probe->needs_us = CARRIER_US + ASK_US;
	return PROBE_RUNNING;
}

static bool has_to_wait(const struct arp *arp)
{
	for (size_t i = 0; i < arp->after->n_addresses; i++) {
		const struct address *address = &arp->after->addresses[i];

		if (is_new(arp, address) && arpask_has_to_wait(arp->ask, address->link))
			return true;
	}
	return false;
}

static void ask(struct probe *probe)
{
	struct arp *arp = probe->data;

	for (size_t i = 0; i < arp->after->n_addresses; i++) {
		const struct address *address = &arp->after->addresses[i];

		if (is_new(arp, address))
			arpask_add(arp->ask, address->link, &address->prefix.addr, "");
	}
	arp->is_asking = true;
	arpask_start(arp->ask, on_asked, probe);
}

static enum probe_verdict poll(struct probe *probe, int64_t now_us)
{
	struct arp *arp = probe->data;

	if (arp->ask == NULL)
		return probe->loss == NULL ? PROBE_GOOD : PROBE_LOST;
	if (!arp->is_asking && (now_us >= arp->carrier_deadline_us || !has_to_wait(arp)))
		ask(probe);
	return PROBE_RUNNING;
}

static void fini(struct probe *probe)
{
	struct arp *arp = probe->data;

	arpask_free(arp->ask);
	model_free(arp->before);
	model_free(arp->after);
	free(arp);
}

void probe_arp_init(struct probe *probe, struct ev_loop *ev)
{
	static const struct probe_kind kind = {look, start, poll, fini};
	struct arp *arp = NEW0(struct arp);

	arp->ev = ev;
	*probe = (struct probe){.kind = &kind, .data = arp};
	probe->name = xstrdup("new addresses of IPv4");
}
