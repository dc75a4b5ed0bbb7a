/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * All connections: takes what a listener accepted, counts, makes room when there are too many, and
 * once a second asks drain_judge() which are to be closed.
 */

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "prism/config.h"
#include "prism/handover.h"
#include "prism/upstream.h"

struct conns;

struct conns_counts {
	unsigned connections; /* now */
	unsigned dialling;    /* of them: no upstream yet */
	unsigned pipes;
	uint64_t accepted;
	uint64_t failed;  /* reset: no upstream could be reached */
	uint64_t evicted; /* the oldest silent ones, to make room */
	uint64_t shed;    /* new ones, for want of room, memory or descriptors */
	uint64_t closed_idle;
	uint64_t closed_half;
	uint64_t closed_aged;
	uint64_t bytes_up; /* from clients */
	uint64_t bytes_down;
};

/* A connection has ended: there is room for another. */
typedef void (*conns_room_fn)(void *userdata);

/* max: connections at once. What is passed is borrowed until conns_free(). */
struct conns *conns_new(struct ev_loop *ev, const struct config *config,
                        struct upstreams *upstreams, unsigned max, conns_room_fn room,
                        void *userdata);
void conns_free(struct conns *conns); /* closes all */
DEFINE_AUTO(struct conns, conns_free);

/* Whether another fits, if need be in place of one that has long been silent. */
bool conns_have_room(const struct conns *conns);
/* Takes fd, a nonblocking socket. */
void conns_accept(struct conns *conns, int fd);

/* In this turn of the loop each is asked whether it is to be closed. */
void conns_review(struct conns *conns);
/* From now on all are to go: the silent ones at once, the others when they fall silent. */
void conns_leave(struct conns *conns);

struct conns_counts conns_count(const struct conns *conns);
unsigned conns_max(const struct conns *conns);

/* All of them, for the process that follows in place; nothing is closed. */
void conns_save(const struct conns *conns, struct handover_writer *writer);
/* One that came over. Takes its descriptors. */
void conns_restore(struct conns *conns, const struct handover_conn *conn);
