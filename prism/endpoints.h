/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From what the sources say to one list of upstreams. Pure. Each source keeps the last list that it
 * gave; an empty list never replaces one that is not. The merged list is sorted, has no doubles,
 * and never holds a listener of this process: that would be a loop. An address of this node with
 * the port of the local API server is the local API server, by another name. What cannot be dialled
 * (unspecified, multicast, broadcast, link-local IPv6 without its link, port 0) is left out.
 *
 * The list on disk stands in for sources that have not spoken since the start: names, members and
 * EndpointSlices may all need an API server before they can say where one is. An address on disk is
 * used until every source that had named it has spoken (lastgood.h); one that has spoken does not
 * speak for the others. So an EndpointSlice that has lost a crashed API server does not take away
 * what only etcd's member list could confirm, and a name that resolves to one address does not take
 * away the two others.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/endpoint.h"

#define ENDPOINTS_MAX 64 /* upstreams in all */

enum endpoints_source {
	ENDPOINTS_STATIC,
	ENDPOINTS_LOCAL,
	ENDPOINTS_DNS, /* names in `static` and in cluster.controlPlane.endpoint */
	ENDPOINTS_FILE,
	ENDPOINTS_MEMBERS,
	ENDPOINTS_SLICES,
	ENDPOINTS_LASTGOOD, /* what was known at the start, and its sources have not spoken yet */
};
#define ENDPOINTS_N_SOURCES (ENDPOINTS_LASTGOOD + 1)
#define ENDPOINTS_FROM(source) (1u << (source))

struct endpoints_list {
	struct endpoint items[ENDPOINTS_MAX];
	size_t n;
};

struct endpoints_entry {
	struct endpoint endpoint;
	unsigned from; /* bits ENDPOINTS_FROM() */
	bool local;
};

struct endpoints_merged {
	struct endpoints_entry items[ENDPOINTS_MAX];
	size_t n;
	size_t n_loops;   /* left out: would have been a listener of our own */
	size_t n_dropped; /* left out: more than ENDPOINTS_MAX */
};

/* Takes a source's new list. False, and nothing changes, when it is empty and the old one is not.
 */
bool endpoints_accept(struct endpoints_list *list, const struct endpoints_list *update);

struct endpoints_self {
	const struct endpoint *listeners; /* 0.0.0.0 and :: stand for every own address */
	size_t n_listeners;
	const struct addr *addresses; /* of this node */
	size_t n_addresses;
};

/* When there are too many, the sources of the lower numbers go first. */
void endpoints_merge(const struct endpoints_list lists[static ENDPOINTS_N_SOURCES],
                     const struct endpoints_self *self, struct endpoints_merged *ret_merged);

bool endpoints_merged_equal(const struct endpoints_merged *a, const struct endpoints_merged *b);

/* True when nothing but discovery speaks for it: its identity must be verified before use. The
 * configuration and the file are the operator's own word. */
bool endpoints_is_discovered(unsigned from);
const char *endpoints_source_name(enum endpoints_source source); /* "static", "dns", ... */
bool endpoints_source_parse(const char *name, enum endpoints_source *ret_source);

/* Adds one that is not there yet. False when there is no room. */
bool endpoints_add(struct endpoints_list *list, const struct endpoint *endpoint);
bool endpoints_contains(const struct endpoints_list *list, const struct endpoint *endpoint);
/* Whether it can be an upstream at all: see above. */
bool endpoints_can_dial(const struct endpoint *endpoint);

/*
 * A text of one ADDRESS[:PORT] a line with '#' comments; empty lines and doubles are fine. A line
 * that is wrong, or one too many, is left out, and the others are still taken: *ret_bad_line is the
 * number of the first such line, 0 when there is none.
 */
void endpoints_parse_text(const char *text, uint16_t default_port, struct endpoints_list *ret_list,
                          unsigned *ret_bad_line);
