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

/* --- comparing --- */

static bool texts_equal(const struct conf_strings *a, const struct conf_strings *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		if (strcmp(a->items[i], b->items[i]) != 0)
			return false;
	}
	return true;
}

static bool resolvers_equal(const struct host *a, const struct host *b)
{
	if (a->n_resolvers != b->n_resolvers)
		return false;
	for (size_t i = 0; i < a->n_resolvers; i++) {
		if (!addr_equal(&a->resolvers[i], &b->resolvers[i]))
			return false;
	}
	return true;
}

static bool entries_equal(const struct host *a, const struct host *b)
{
	if (a->n_entries != b->n_entries)
		return false;
	for (size_t i = 0; i < a->n_entries; i++) {
		if (!addr_equal(&a->entries[i].addr, &b->entries[i].addr) ||
		    !texts_equal(&a->entries[i].names, &b->entries[i].names))
			return false;
	}
	return true;
}

unsigned host_differs(const struct host *want, const struct host *have)
{
	unsigned differs = ~have->has;

	if (strcmp(want->name, have->name) != 0 || strcmp(want->domain, have->domain) != 0)
		differs |= HOST_NAME;
	if (!resolvers_equal(want, have))
		differs |= HOST_RESOLVERS;
	if (!texts_equal(&want->search, &have->search))
		differs |= HOST_SEARCH;
	if (!entries_equal(want, have))
		differs |= HOST_ENTRIES;
	if (want->time_enabled != have->time_enabled ||
	    !texts_equal(&want->time_servers, &have->time_servers))
		differs |= HOST_TIME;
	return differs & want->has;
}
