/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether another host has one of the IPv4 addresses that this one has had since a change, where
 * nobody could be asked before it: the link came up with the change, or leads elsewhere by it.
 * begin.c asks for all others first. Unlike IPv6 the kernel does not look by itself.
 */
#include <linux/if_addr.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fileio.h"
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

/* --- IPv6 --- */

/*
 * Whether another host has one of the IPv6 addresses that a change has added. The kernel asks for
 * each on its link before it uses it (RFC 4862, 5.4) and keeps one that somebody answers for, but
 * does nothing with it; only a flag of the address says so. Nothing is asked here: what the kernel
 * has found out is read from its list of addresses (net/ipv6/addrconf.c, if6_seq_show).
 */

#define LIST "/proc/self/net/if_inet6"
#define LIST_BYTES_MAX (16u << 20)
/* A second at most until it asks, and one for the answer. It does not ask while there is no
 * carrier. */
#define DAD_US (5 * US_PER_S)

struct duplicate {
	struct model *before, *after;
	int64_t deadline_us;
};

unsigned probe_address_flags(const char *text, const char *link, const struct addr *addr)
{
	char wanted[2 * sizeof(addr->bytes) + 1];

	for (size_t i = 0; i < sizeof(addr->bytes); i++)
		(void) snprintf(wanted + 2 * i, 3, "%02x", addr->bytes[i]);
	for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
		char name[IFNAMSIZ];
		unsigned flags;

		line += *line == '\n';
		/* sscanf(3) reads all that is behind the line, too. */
		if (strncmp(line, wanted, strlen(wanted)) == 0 &&
		    sscanf(line, "%*s %*x %*x %*x %x %15s", &flags, name) == 2 && strcmp(name, link) == 0)
			return flags;
	}
	return 0;
}

static bool is_new_ipv6(const struct duplicate *d, const struct address *address)
{
	return address->owner == OWNER_OURS && address->prefix.addr.family == AF_INET6 &&
	       !addr_is_linklocal(&address->prefix.addr) &&
	       model_find_address(d->before, address->link, &address->prefix) == NULL;
}

static void look_ipv6(struct probe *probe, const struct model *have)
{
	struct duplicate *d = probe->data;

	if (d->before == NULL) {
		d->before = model_copy(have);
		return;
	}
	model_free(d->after);
	d->after = model_copy(have);
	probe->needs_us = 0;
	for (size_t i = 0; i < have->n_addresses; i++) {
		/* A second more, so that it ends by itself. */
		if (is_new_ipv6(d, &have->addresses[i]))
			probe->needs_us = DAD_US + US_PER_S;
	}
}

static enum probe_verdict start_ipv6(struct probe *probe, int64_t now_us)
{
	struct duplicate *d = probe->data;

	if (d->after == NULL)
		return PROBE_GOOD;
	if (d->deadline_us == 0)
		d->deadline_us = now_us + DAD_US;
	return PROBE_RUNNING;
}

static enum probe_verdict poll_ipv6(struct probe *probe, int64_t now_us)
{
	struct duplicate *d = probe->data;
	AUTO(free) char *text = NULL;
	char named[ADDR_TEXT_MAX];
	bool is_asking = false;
	size_t len;

	/* There is none without IPv6. */
	if (file_read(LIST, LIST_BYTES_MAX, &text, &len) < 0)
		return PROBE_GOOD;
	for (size_t i = 0; i < d->after->n_addresses; i++) {
		const struct address *address = &d->after->addresses[i];
		unsigned flags;

		if (!is_new_ipv6(d, address))
			continue;
		flags = probe_address_flags(text, address->link, &address->prefix.addr);
		if ((flags & IFA_F_DADFAILED) != 0) {
			free(probe->loss);
			probe->loss =
			    xasprintf("another host on %s has the address %s (duplicate address detection)",
			              address->link, addr_format(&address->prefix.addr, named));
			return PROBE_LOST;
		}
		is_asking |= (flags & IFA_F_TENTATIVE) != 0;
	}
	return is_asking && now_us < d->deadline_us ? PROBE_RUNNING : PROBE_GOOD;
}

static void fini_ipv6(struct probe *probe)
{
	struct duplicate *d = probe->data;

	model_free(d->before);
	model_free(d->after);
	free(d);
}

void probe_duplicate_init(struct probe *probe)
{
	static const struct probe_kind kind = {look_ipv6, start_ipv6, poll_ipv6, fini_ipv6};

	*probe = (struct probe){.kind = &kind, .data = NEW0(struct duplicate)};
	probe->name = xstrdup("new addresses of IPv6");
}
