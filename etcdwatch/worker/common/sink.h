/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where bytes go. A stage of a pipeline is a sink that owns the next one: it is written to, does
 * something with the bytes, and writes what comes of it onwards. So any number of stages run in
 * bounded memory, and an error of any of them comes back from the first one's write or finish, with
 * a sentence in the `struct problem` that the stages share.
 *
 * A sink is written to, then finished once, then freed. After an error it is only freed.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct sink {
	int (*write)(struct sink *sink, const void *data, size_t len); /* all of it, or -errno */
	int (*finish)(struct sink *sink); /* no more comes; finishes the next one too */
	void (*free)(struct sink *sink);  /* and the next one */
};

static inline int sink_write(struct sink *sink, const void *data, size_t len)
{
	return len > 0 ? sink->write(sink, data, len) : 0;
}

static inline int sink_finish(struct sink *sink)
{
	return sink->finish(sink);
}

static inline void sink_free(struct sink *sink)
{
	if (sink != NULL)
		sink->free(sink);
}
DEFINE_AUTO(struct sink, sink_free);
