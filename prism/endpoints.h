/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From what the sources say to one list of upstreams. Pure. Each source keeps the last list that it
 * gave; an empty list never replaces one that is not. The merged list is sorted, has no doubles,
 * and never holds a listener of this process: that would be a loop. An address of this node with
 * the port of the local API server is the local API server, by another name.
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
	ENDPOINTS_LASTGOOD, /* what was on disk at the start: dropped when a source that found them
	                       speaks */
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

void endpoints_merge(const struct endpoints_list lists[static ENDPOINTS_N_SOURCES],
                     const struct endpoints_self *self, struct endpoints_merged *ret_merged);

/* True when nothing but discovery speaks for it: its identity must be verified before use. */
bool endpoints_is_discovered(unsigned from);
const char *endpoints_source_name(enum endpoints_source source); /* "static", "dns", ... */

/* A text of one ADDRESS[:PORT] a line with '#' comments. Lines that are wrong are counted, the
 * first one's number is in *ret_bad_line (1-based, 0: none), and the others are still taken. */
void endpoints_parse_text(const char *text, uint16_t default_port, struct endpoints_list *ret_list,
                          unsigned *ret_bad_line);
