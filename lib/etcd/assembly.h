/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Makes whole revisions out of the messages of a watch: joins fragments, drops what was seen
 * already. etcd splits neither a revision over messages nor a message otherwise than by marked
 * fragments, so only the newest revision of a fragment that others follow can be incomplete. That
 * is all that is held back.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "etcd/etcd.h"
#include "etcd/proto/etcd.pb-c.h"

/* Of one revision that is still incomplete: so many times the limit on a received message. */
#define ASSEMBLY_HELD_FACTOR 4u

struct assembly {
	int64_t next_revision; /* what was below it has been handed out */
	Pb__Event **events;    /* complete ones first */
	size_t n_events;
	size_t n_room;
	size_t n_complete;
	size_t held_bytes;
	size_t held_max_bytes;
	bool is_partial; /* more fragments are to come */
};

void assembly_init(struct assembly *assembly, int64_t next_revision, size_t held_max_bytes);
void assembly_fini(struct assembly *assembly);

/* A new stream: what is held will come again. */
void assembly_reset(struct assembly *assembly);

/*
 * Takes the events out of message. 0, or -EPROTO: revisions run backwards; -E2BIG: one revision,
 * the one of the last event, is larger than the limit. Afterwards n_complete events may be handed
 * out: assembly_events(), then assembly_drop_complete().
 */
int assembly_add(struct assembly *assembly, Pb__WatchResponse *message);

/* The complete events, for the caller to free; what they point to is the assembly's. */
struct etcd_event *assembly_events(const struct assembly *assembly);
void assembly_drop_complete(struct assembly *assembly);

/* Of the last event that is held; there must be one. */
int64_t assembly_last_revision(const struct assembly *assembly);
