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
#include "base/macro.h"
#include "etcdwatch/worker/common/result.h"
#include "web/digest.h"

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

/* For a sink that has nothing to do then. */
static inline int sink_finish_nothing(struct sink *sink UNUSED)
{
	return 0;
}

static inline void sink_free_nothing(struct sink *sink UNUSED)
{
}

static inline void sink_free(struct sink *sink)
{
	if (sink != NULL)
		sink->free(sink);
}
DEFINE_AUTO(struct sink, sink_free);

/* The end of a pipeline in memory: a short text, such as a program's answer. */

struct memsink {
	struct sink sink;
	char *text; /* the caller's; ends with NUL once the sink is finished */
	size_t size;
	size_t len;
};

/* Borrows text, of size bytes. More than fits is -EMSGSIZE. Freeing the sink frees nothing. */
void memsink_init(struct memsink *memory, char *text, size_t size);

/* A stage that changes nothing: it counts and hashes what passes. */

/* What passed, once the tap was finished; the owner's, and outlives the tap. */
struct tap_result {
	uint64_t n_bytes;
	char sha256[DIGEST_HEX_MAX];
};

/* Takes `next`, which may be NULL: then what passed is gone. Borrows `result`. */
struct sink *tap_new(struct sink *next, struct tap_result *result);

/*
 * A stage that changes nothing, and lets no more through than is known to come: what some
 * kilobytes unpack to may be more than any disk has room for.
 */

/* Takes `next`; borrows `name`, of the file that it comes from, and `problem`. One byte more than
 * the maximum is -EBADMSG and MISMATCH, before any of it is passed on. */
struct sink *bound_new(uint64_t max_bytes, const char *name, struct sink *next,
                       struct problem *problem);
