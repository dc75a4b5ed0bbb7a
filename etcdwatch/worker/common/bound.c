/* SPDX-License-Identifier: Apache-2.0 */
#include "etcdwatch/worker/common/bound.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/macro.h"
#include "base/mem.h"

struct bound {
	struct sink sink;
	struct sink *next;
	const char *name;
	uint64_t max_bytes;
	uint64_t n_bytes; /* that have passed */
	struct problem *problem;
};

static int bound_write(struct sink *sink, const void *data, size_t len)
{
	struct bound *b = CONTAINER_OF(sink, struct bound, sink);

	if (len > b->max_bytes - b->n_bytes)
		return problem_set(b->problem, -EBADMSG, "MISMATCH",
		                   "'%s' is not what the catalogue says: a snapshot of %" PRIu64
		                   " bytes should be in it, and %" PRIu64
		                   " or more are; nothing of it was kept: take "
		                   "another copy, or another snapshot",
		                   b->name, b->max_bytes, b->n_bytes + len);
	b->n_bytes += len;
	return sink_write(b->next, data, len);
}

static int bound_finish(struct sink *sink)
{
	return sink_finish(CONTAINER_OF(sink, struct bound, sink)->next);
}

static void bound_free(struct sink *sink)
{
	struct bound *b = CONTAINER_OF(sink, struct bound, sink);

	sink_free(b->next);
	free(b);
}

struct sink *bound_new(uint64_t max_bytes, const char *name, struct sink *next,
                       struct problem *problem)
{
	struct bound *b = NEW0(struct bound);

	b->sink = (struct sink){bound_write, bound_finish, bound_free};
	b->next = next;
	b->name = name;
	b->max_bytes = max_bytes;
	b->problem = problem;
	return &b->sink;
}
