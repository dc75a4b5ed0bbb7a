/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What can be seen on this node's own disk: when its certificates end, and the room where etcd's
 * data are. Looked at by a thread, since a disk may hang; then the last answer stays.
 */

#include <ev.h>

#include "base/cleanup.h"
#include "etcdwatch/rules/observation.h"

struct nodefacts;

struct nodefacts_options {
	/* Of those, the files that are there and have a certificate; at most OBSERVATION_FILES_MAX. */
	const char *const *certificates;
	size_t n_certificates;
	const char *data_directory;
};

/* Borrows the options until nodefacts_free(). 0, or -errno: the thread cannot be started. */
int nodefacts_new(struct ev_loop *ev, const struct nodefacts_options *options,
                  struct nodefacts **ret_facts);
void nodefacts_free(struct nodefacts *facts); /* waits for the disk */
DEFINE_AUTO(struct nodefacts, nodefacts_free);

/* Begins to look again, unless it is still at it. */
void nodefacts_look(struct nodefacts *facts);
/* As of the last look that ended. */
void nodefacts_fill(const struct nodefacts *facts, struct observation *o);
