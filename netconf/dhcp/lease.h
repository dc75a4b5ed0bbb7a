/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a DHCP server gave, as the client tells it in its hook's environment, and what that adds to
 * the network that is wanted. Pure. All of it comes from the network: what is no valid name or
 * address is left out, and so is more than a limit.
 * Sources: dhcpcd-run-hooks(8); RFC 2131, 2132, 3397, 3442, 8415.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/conf.h"
#include "netconf/config/config.h"
#include "netconf/model/model.h"

#define LEASE_ADDRESSES_MAX 8
#define LEASE_ROUTES_MAX 64
#define LEASE_RESOLVERS_MAX 16
#define LEASE_DOMAINS_MAX 32

struct lease_route {
	struct prefix dst;   /* masked */
	struct addr gateway; /* AF_UNSPEC: on the link itself */
};

struct lease {
	struct prefix addresses[LEASE_ADDRESSES_MAX];
	size_t n_addresses;
	struct lease_route routes[LEASE_ROUTES_MAX];
	size_t n_routes;
	struct addr resolvers[LEASE_RESOLVERS_MAX];
	size_t n_resolvers;
	struct conf_strings search;
	char host_name[CONF_DNS_NAME_MAX + 1]; /* "": none was given */
	struct addr server;                    /* for people; AF_UNSPEC: not told, as by IPv6 */
	int64_t ends_us;                       /* CLOCK_BOOTTIME; MONO_NEVER */
};

enum lease_event {
	LEASE_OTHER, /* it says nothing about a lease: as it was */
	LEASE_TAKEN, /* taken, or renewed */
	LEASE_LOST,
};

/*
 * `text` is KEY=VALUE, a NUL behind each, as env(1) -0 writes it, with `fairlead_uptime`, the
 * seconds since the boot at which it was written. Only of LEASE_TAKEN there is a lease, which the
 * caller ends. enum lease_event, or -EBADMSG.
 */
int lease_read(const char *text, size_t len, sa_family_t family, struct lease *ret_lease);
void lease_fini(struct lease *lease);
/* But for who gave it, and when it ends. */
bool lease_equal(const struct lease *a, const struct lease *b);

/* At now_us (CLOCK_BOOTTIME), in whole seconds, as the kernel counts: 1 to ADDRESS_FOREVER. */
uint32_t lease_left_s(const struct lease *lease, int64_t now_us);

/* A lease, the link that it is for, and what the configuration says of it. All borrowed. */
struct lease_use {
	const struct lease *lease;
	const char *link;
	const struct config_dhcp *dhcp;
};

/*
 * Adds them to what is wanted at now_us (CLOCK_BOOTTIME), and normalises it. An address ends in the
 * kernel when its lease does, whatever becomes of netconf: it may be another's then. The
 * configuration goes before leases, and a lease before those behind it: an address or a route that
 * is there already is left out, with a note; a host's name, resolvers and search domains count
 * where the configuration has none.
 */
void lease_merge(struct model *want, const struct lease_use *uses, size_t n, int64_t now_us,
                 bool no_default_search, struct conf_strings *notes);
