/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Pipes for splice(2), pooled. A connection has one only while bytes are in flight, so few serve
 * many. A pipe with something left in it is closed, never pooled: what one client sent must not
 * reach another. An unprivileged user may have 16384 pages in pipes (pipe(7),
 * pipe-user-pages-soft); what does not get one is copied instead.
 */

#include <stddef.h>

#include "base/cleanup.h"

/* As many as that allowance has room for, with 4 KiB pages. */
#define PIPES_MAX 256

struct pipes;

struct pipe {
	int read_fd;
	int write_fd;
	size_t bytes; /* in it now; kept by whoever has it */
	struct pipe *next;
};

/* max: pipes in all, in use and in the pool. */
struct pipes *pipes_new(unsigned max);
void pipes_free(struct pipes *pipes); /* every pipe must have come back */
DEFINE_AUTO(struct pipes, pipes_free);

/* NULL when there is none to be had: go on without. */
struct pipe *pipes_get(struct pipes *pipes);
/* Takes one that another process had; the kernel knows what is in it. NULL: it is none, or no
 * memory; then its descriptors are still the caller's. */
struct pipe *pipes_adopt(struct pipes *pipes, int read_fd, int write_fd);
/* Back into the pool, or closed if anything is left in it. */
void pipes_put(struct pipes *pipes, struct pipe *pipe);

/* Closes what lies unused; called now and then. */
void pipes_trim(struct pipes *pipes);
unsigned pipes_count(const struct pipes *pipes);
