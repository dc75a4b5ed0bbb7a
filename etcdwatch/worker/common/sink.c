/* SPDX-License-Identifier: Apache-2.0 */
#include "etcdwatch/worker/common/sink.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"

/* --- memsink --- */

/* Bytes behind each other, and a NUL at the end. */

static int memory_write(struct sink *sink, const void *data, size_t len)
{
	struct memsink *memory = CONTAINER_OF(sink, struct memsink, sink);

	if (len >= memory->size - memory->len)
		return -EMSGSIZE;
	memcpy(memory->text + memory->len, data, len);
	memory->len += len;
	return 0;
}

static int memory_finish(struct sink *sink)
{
	struct memsink *memory = CONTAINER_OF(sink, struct memsink, sink);

	memory->text[memory->len] = '\0';
	return 0;
}

void memsink_init(struct memsink *memory, char *text, size_t size)
{
	*memory = (struct memsink){
	    .sink = {memory_write, memory_finish, sink_free_nothing}, .text = text, .size = size};
}

/* --- tap --- */

/* The result is written in finish only: half a pipeline has no digest. */

struct tap {
	struct sink sink;
	struct sink *next;
	struct digest *digest;
	uint64_t n_bytes;
	struct tap_result *result;
};

static int tap_write(struct sink *sink, const void *data, size_t len)
{
	struct tap *tap = CONTAINER_OF(sink, struct tap, sink);

	digest_update(tap->digest, data, len);
	tap->n_bytes += len;
	return tap->next != NULL ? sink_write(tap->next, data, len) : 0;
}

static int tap_finish(struct sink *sink)
{
	struct tap *tap = CONTAINER_OF(sink, struct tap, sink);

	tap->result->n_bytes = tap->n_bytes;
	(void) digest_finish_hex(tap->digest, tap->result->sha256);
	return tap->next != NULL ? sink_finish(tap->next) : 0;
}

static void tap_free(struct sink *sink)
{
	struct tap *tap = CONTAINER_OF(sink, struct tap, sink);

	sink_free(tap->next);
	digest_free(tap->digest);
	free(tap);
}

struct sink *tap_new(struct sink *next, struct tap_result *result)
{
	struct tap *tap = NEW0(struct tap);

	tap->sink = (struct sink){tap_write, tap_finish, tap_free};
	tap->next = next;
	tap->digest = digest_new(DIGEST_SHA256);
	tap->result = result;
	return &tap->sink;
}

/* --- bound --- */

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
