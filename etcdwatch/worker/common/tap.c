/* SPDX-License-Identifier: Apache-2.0 */
/* The result is written in finish only: half a pipeline has no digest. */
#include "etcdwatch/worker/common/tap.h"

#include "base/macro.h"
#include "base/mem.h"

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
