/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a machine knows besides its links: its name, who resolves names, who tells the time. Pure
 * values; a struct host owns what it points to.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/conf.h"
#include "base/conf_check.h"

#define HOST_LABEL_MAX 63 /* RFC 1035, section 2.3.4 */

/* A line of /etc/hosts. */
struct host_entry {
	struct addr addr;
	struct conf_strings names;
};

enum host_attr {
	HOST_NAME = 1 << 0,
	HOST_RESOLVERS = 1 << 1,
	HOST_SEARCH = 1 << 2,
	HOST_ENTRIES = 1 << 3,
	HOST_TIME = 1 << 4,
	HOST_ALL = (1 << 5) - 1,
};

struct host {
	unsigned has;                       /* enum host_attr: what somebody asked for */
	char name[HOST_LABEL_MAX + 1];      /* up to the first dot */
	char domain[CONF_DNS_NAME_MAX + 1]; /* behind it; "": none */
	struct addr *resolvers;             /* in the order of asking */
	size_t n_resolvers;
	struct conf_strings search; /* domains; has and empty: none */
	struct host_entry *entries; /* sorted by address */
	size_t n_entries;
	bool time_enabled;
	struct conf_strings time_servers; /* names, addresses, or PTP devices: /dev/ptp0 */
};

void host_copy(const struct host *host, struct host *ret_copy);
void host_fini(struct host *host);
void host_add_resolver(struct host *host, const struct addr *addr);
/* The entry of this address, new if need be; borrowed until the next one. */
struct host_entry *host_add_entry(struct host *host, const struct addr *addr);
void host_add_text(struct conf_strings *strings, const char *text);

void host_normalise(struct host *host);
