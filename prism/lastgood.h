/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Upstreams that were found by sources which may be silent at the next start, on disk: names,
 * etcd's members and EndpointSlices may all need an API server before they can say where one is,
 * and the file of addresses may come late. Each address is kept with the sources that named it, and
 * stands in for each of them until that source has spoken. What is read is never believed: it is
 * used only after its TLS identity was verified anew.
 *
 * The file is text, "dns,slices 10.0.0.5:6443" a line between a first and a last line that tell a
 * whole file from a piece of one. It is replaced at once or not at all, by a thread of its own,
 * because a disk may stall; soon after a change, then once a minute at most.
 */

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "prism/endpoints.h"

/* The sources that it stands in for. */
#define LASTGOOD_SOURCES                                              \
	(ENDPOINTS_FROM(ENDPOINTS_DNS) | ENDPOINTS_FROM(ENDPOINTS_FILE) | \
	 ENDPOINTS_FROM(ENDPOINTS_MEMBERS) | ENDPOINTS_FROM(ENDPOINTS_SLICES))

struct lastgood_entry {
	struct endpoint endpoint;
	unsigned from; /* of LASTGOOD_SOURCES, never 0 */
};

struct lastgood {
	struct lastgood_entry items[ENDPOINTS_MAX];
	size_t n;
};

/* --- pure --- */

/* Adds, or adds sources to one that is there. from is cut down to LASTGOOD_SOURCES; when nothing is
 * left, or there is no room, nothing happens. */
void lastgood_add(struct lastgood *list, const struct endpoint *endpoint, unsigned from);
/* The sources that named it, 0 when it is not there. */
unsigned lastgood_from(const struct lastgood *list, const struct endpoint *endpoint);
/* What still stands in for one of `silent`, a set of sources. */
void lastgood_select(const struct lastgood *list, unsigned silent,
                     struct endpoints_list *ret_selected);
bool lastgood_equal(const struct lastgood *a, const struct lastgood *b);

/* The caller frees. */
char *lastgood_print(const struct lastgood *list);
/* 0, or -EBADMSG for anything that lastgood_print() would not have written. */
int lastgood_parse(const char *text, size_t len, struct lastgood *ret_list);

/* --- the file --- */

struct lastgood_file;

/* Reads it; blocks, so only at the start. *ret_list is empty, and the result -errno, when it could
 * not be read; the object is there all the same. path is copied. */
int lastgood_file_new(struct ev_loop *ev, const char *path, struct lastgood *ret_list,
                      struct lastgood_file **ret_file);
/* Writes what has not been written yet, and waits for it. */
void lastgood_file_free(struct lastgood_file *file);
DEFINE_AUTO(struct lastgood_file, lastgood_file_free);

/* This is to be on disk. An empty list is not: what is there is better. */
void lastgood_file_put(struct lastgood_file *file, const struct lastgood *list);
