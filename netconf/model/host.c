/* SPDX-License-Identifier: Apache-2.0 */
/* What a machine knows besides its links, as a value. */
#include "netconf/model/host.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void host_add_text(struct conf_strings *strings, const char *text)
{
	strings->items = xreallocarray(strings->items, strings->n + 1, sizeof(*strings->items));
	strings->items[strings->n++] = xstrdup(text);
}

static void copy_texts(const struct conf_strings *from, struct conf_strings *ret_copy)
{
	*ret_copy = (struct conf_strings){0};
	for (size_t i = 0; i < from->n; i++)
		host_add_text(ret_copy, from->items[i]);
}

void host_copy(const struct host *host, struct host *ret_copy)
{
	*ret_copy = *host;
	ret_copy->resolvers = xmemdup(host->resolvers, host->n_resolvers * sizeof(*host->resolvers));
	copy_texts(&host->search, &ret_copy->search);
	copy_texts(&host->time_servers, &ret_copy->time_servers);
	ret_copy->entries = xcalloc(host->n_entries, sizeof(*host->entries));
	for (size_t i = 0; i < host->n_entries; i++) {
		ret_copy->entries[i].addr = host->entries[i].addr;
		copy_texts(&host->entries[i].names, &ret_copy->entries[i].names);
	}
}

void host_fini(struct host *host)
{
	for (size_t i = 0; i < host->n_entries; i++)
		conf_strings_fini(&host->entries[i].names);
	free(host->entries);
	free(host->resolvers);
	conf_strings_fini(&host->search);
	conf_strings_fini(&host->time_servers);
	*host = (struct host){0};
}

void host_add_resolver(struct host *host, const struct addr *addr)
{
	host->resolvers =
	    xreallocarray(host->resolvers, host->n_resolvers + 1, sizeof(*host->resolvers));
	host->resolvers[host->n_resolvers++] = *addr;
}

struct host_entry *host_add_entry(struct host *host, const struct addr *addr)
{
	for (size_t i = 0; i < host->n_entries; i++) {
		if (addr_equal(&host->entries[i].addr, addr))
			return &host->entries[i];
	}
	host->entries = xreallocarray(host->entries, host->n_entries + 1, sizeof(*host->entries));
	host->entries[host->n_entries] = (struct host_entry){.addr = *addr};
	return &host->entries[host->n_entries++];
}

static int compare_entries(const void *a, const void *b)
{
	return addr_compare(&((const struct host_entry *) a)->addr,
	                    &((const struct host_entry *) b)->addr);
}

void host_normalise(struct host *host)
{
	if (host->n_entries > 0)
		qsort(host->entries, host->n_entries, sizeof(*host->entries), compare_entries);
}
