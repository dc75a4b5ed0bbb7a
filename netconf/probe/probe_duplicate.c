/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether another host has one of the IPv6 addresses that a change has added. The kernel asks for
 * each on its link before it uses it (RFC 4862, 5.4) and keeps one that somebody answers for, but
 * does nothing with it; only a flag of the address says so. Nothing is asked here: what the kernel
 * has found out is read from its list of addresses (net/ipv6/addrconf.c, if6_seq_show).
 */
#include <linux/if_addr.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fileio.h"
#include "base/mem.h"
#include "base/mono.h"
#include "netconf/probe/probe_priv.h"

#define LIST "/proc/self/net/if_inet6"
#define LIST_BYTES_MAX (16u << 20)
/* A second at most until it asks, and one for the answer. It does not ask while there is no
 * carrier. */
#define ASK_US (5 * US_PER_S)

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

static bool is_new(const struct duplicate *d, const struct address *address)
{
	return address->owner == OWNER_OURS && address->prefix.addr.family == AF_INET6 &&
	       !addr_is_linklocal(&address->prefix.addr) &&
	       model_find_address(d->before, address->link, &address->prefix) == NULL;
}

static void look(struct probe *probe, const struct model *have)
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
		if (is_new(d, &have->addresses[i]))
			probe->needs_us = ASK_US + US_PER_S;
	}
}

static enum probe_verdict start(struct probe *probe, int64_t now_us)
{
	struct duplicate *d = probe->data;

	if (d->after == NULL)
		return PROBE_GOOD;
	if (d->deadline_us == 0)
		d->deadline_us = now_us + ASK_US;
	return PROBE_RUNNING;
}

static enum probe_verdict poll(struct probe *probe, int64_t now_us)
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

		if (!is_new(d, address))
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

static void fini(struct probe *probe)
{
	struct duplicate *d = probe->data;

	model_free(d->before);
	model_free(d->after);
	free(d);
}

void probe_duplicate_init(struct probe *probe)
{
	static const struct probe_kind kind = {look, start, poll, fini};

	*probe = (struct probe){.kind = &kind, .data = NEW0(struct duplicate)};
	probe->name = xstrdup("new addresses of IPv6");
}
