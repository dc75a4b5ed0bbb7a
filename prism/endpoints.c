/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of endpoints: read from a text, taken or refused, merged. Pure; endpoints.h has the rules.
 * The merge first collects what all sources name, each address once and under its one name, with a
 * bit for each source; then it leaves out loops and what is too many; then it sorts.
 */
#include "prism/endpoints.h"

#include <stdlib.h>
#include <string.h>

#define COLLECTED_MAX (ENDPOINTS_N_SOURCES * ENDPOINTS_MAX)

/* --- lists --- */

bool endpoints_contains(const struct endpoints_list *list, const struct endpoint *endpoint)
{
	for (size_t i = 0; i < list->n; i++) {
		if (endpoint_equal(&list->items[i], endpoint))
			return true;
	}
	return false;
}

bool endpoints_add(struct endpoints_list *list, const struct endpoint *endpoint)
{
	if (endpoints_contains(list, endpoint))
		return true;
	if (list->n == ENDPOINTS_MAX)
		return false;
	list->items[list->n++] = *endpoint;
	return true;
}

bool endpoints_accept(struct endpoints_list *list, const struct endpoints_list *update)
{
	if (update->n == 0 && list->n > 0)
		return false;
	*list = *update;
	return true;
}

bool endpoints_can_dial(const struct endpoint *endpoint)
{
	static const struct addr broadcast = {AF_INET, {255, 255, 255, 255}};
	const struct addr *a = &endpoint->addr;

	if (endpoint->port == 0 || !addr_is_set(a) || addr_is_unspecified(a) || addr_is_multicast(a))
		return false;
	if (a->family == AF_INET6 && addr_is_linklocal(a))
		return false;
	return !addr_equal(a, &broadcast);
}

/* --- a text --- */

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* One line without its newline: a comment, nothing, or an address. False when it is wrong. */
static bool parse_line(const char *line, size_t len, uint16_t default_port,
                       struct endpoints_list *list)
{
	const char *comment = memchr(line, '#', len);
	char text[ENDPOINT_TEXT_MAX];
	struct endpoint endpoint;

	if (comment != NULL)
		len = (size_t) (comment - line);
	while (len > 0 && is_space(line[len - 1]))
		len--;
	for (; len > 0 && is_space(line[0]); len--)
		line++;
	if (len == 0)
		return true;
	if (len >= sizeof(text))
		return false;
	memcpy(text, line, len);
	text[len] = '\0';
	if (endpoint_parse(text, default_port, &endpoint) < 0 || !endpoints_can_dial(&endpoint))
		return false;
	return endpoints_add(list, &endpoint);
}

void endpoints_parse_text(const char *text, uint16_t default_port, struct endpoints_list *ret_list,
                          unsigned *ret_bad_line)
{
	struct endpoints_list list = {.n = 0};
	unsigned bad_line = 0;

	for (unsigned number = 1; *text != '\0'; number++) {
		size_t len = strcspn(text, "\n");

		if (!parse_line(text, len, default_port, &list) && bad_line == 0)
			bad_line = number;
		text += len + (text[len] == '\n' ? 1 : 0);
	}
	*ret_list = list;
	*ret_bad_line = bad_line;
}

/* --- the merge --- */

struct collected {
	struct endpoints_entry items[COLLECTED_MAX];
	size_t n;
};

static bool is_own(const struct endpoints_self *self, const struct addr *address)
{
	if (addr_is_loopback(address))
		return true;
	for (size_t i = 0; i < self->n_addresses; i++) {
		if (addr_equal(&self->addresses[i], address))
			return true;
	}
	return false;
}

/* Where prism listens on every address, it does so on every own one; an IPv6 wildcard takes IPv4 as
 * well, unless it is told not to. */
static bool is_loop(const struct endpoints_self *self, const struct endpoint *endpoint)
{
	for (size_t i = 0; i < self->n_listeners; i++) {
		const struct endpoint *listener = &self->listeners[i];

		if (endpoint_equal(listener, endpoint))
			return true;
		if (listener->port == endpoint->port && addr_is_unspecified(&listener->addr) &&
		    is_own(self, &endpoint->addr))
			return true;
	}
	return false;
}

/* Whether it is another name of the local API server. Of the loopback addresses only the usual
 * ones, which the kernel lists among the own: 127.0.0.2 may well be something else. */
static bool is_local(const struct endpoints_self *self, const struct endpoint *local,
                     const struct endpoint *endpoint)
{
	if (endpoint->port != local->port)
		return false;
	for (size_t i = 0; i < self->n_addresses; i++) {
		if (addr_equal(&self->addresses[i], &endpoint->addr))
			return true;
	}
	return false;
}

static void collect(struct collected *all, const struct endpoint *endpoint, unsigned from)
{
	for (size_t i = 0; i < all->n; i++) {
		if (!endpoint_equal(&all->items[i].endpoint, endpoint))
			continue;
		all->items[i].from |= from;
		return;
	}
	all->items[all->n++] = (struct endpoints_entry){.endpoint = *endpoint, .from = from};
}

static int compare_entries(const void *a, const void *b)
{
	const struct endpoints_entry *x = a, *y = b;

	return endpoint_compare(&x->endpoint, &y->endpoint);
}

void endpoints_merge(const struct endpoints_list lists[static ENDPOINTS_N_SOURCES],
                     const struct endpoints_self *self, struct endpoints_merged *ret_merged)
{
	const struct endpoints_list *local = &lists[ENDPOINTS_LOCAL];
	struct endpoints_merged merged = {.n = 0};
	struct collected all = {.n = 0};

	for (unsigned source = 0; source < ENDPOINTS_N_SOURCES; source++) {
		for (size_t i = 0; i < lists[source].n; i++) {
			const struct endpoint *endpoint = &lists[source].items[i];

			if (!endpoints_can_dial(endpoint))
				continue;
			/* A loop first: prism may have an own address and the API server the loopback one, with
			 * the same port. */
			if (!is_loop(self, endpoint) && local->n > 0 &&
			    is_local(self, &local->items[0], endpoint))
				endpoint = &local->items[0];
			collect(&all, endpoint, ENDPOINTS_FROM(source));
		}
	}
	for (size_t i = 0; i < all.n; i++) {
		struct endpoints_entry *entry = &all.items[i];

		entry->local = (entry->from & ENDPOINTS_FROM(ENDPOINTS_LOCAL)) != 0;
		if (is_loop(self, &entry->endpoint))
			merged.n_loops++;
		else if (merged.n == ENDPOINTS_MAX)
			merged.n_dropped++;
		else
			merged.items[merged.n++] = *entry;
	}
	qsort(merged.items, merged.n, sizeof(merged.items[0]), compare_entries);
	*ret_merged = merged;
}

bool endpoints_merged_equal(const struct endpoints_merged *a, const struct endpoints_merged *b)
{
	if (a->n != b->n || a->n_loops != b->n_loops || a->n_dropped != b->n_dropped)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		if (!endpoint_equal(&a->items[i].endpoint, &b->items[i].endpoint) ||
		    a->items[i].from != b->items[i].from || a->items[i].local != b->items[i].local)
			return false;
	}
	return true;
}

/* --- sources --- */

bool endpoints_is_discovered(unsigned from)
{
	return (from & (ENDPOINTS_FROM(ENDPOINTS_STATIC) | ENDPOINTS_FROM(ENDPOINTS_LOCAL) |
	                ENDPOINTS_FROM(ENDPOINTS_FILE))) == 0;
}

static const char *const source_names[ENDPOINTS_N_SOURCES] = {
    [ENDPOINTS_STATIC] = "static",     [ENDPOINTS_LOCAL] = "local",
    [ENDPOINTS_DNS] = "dns",           [ENDPOINTS_FILE] = "file",
    [ENDPOINTS_MEMBERS] = "members",   [ENDPOINTS_SLICES] = "slices",
    [ENDPOINTS_LASTGOOD] = "lastgood",
};

const char *endpoints_source_name(enum endpoints_source source)
{
	return source_names[source];
}

bool endpoints_source_parse(const char *name, enum endpoints_source *ret_source)
{
	for (unsigned i = 0; i < ENDPOINTS_N_SOURCES; i++) {
		if (strcmp(source_names[i], name) != 0)
			continue;
		*ret_source = (enum endpoints_source) i;
		return true;
	}
	return false;
}
