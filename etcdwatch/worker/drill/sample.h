/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Some of the users' keys in a snapshot: the first, the last, and some that a hash with a secret of
 * the moment picks, so that each time it is others. It takes one pass over the file and little
 * memory, however many keys there are. Keys that were deleted may be among them: a restored etcd
 * must not have them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bolt/bolt.h"
#include "bolt/mvcc.h"
#include "bolt/siphash.h"

#define SAMPLE_PICKED_MAX 16
#define SAMPLE_KEYS_MAX (SAMPLE_PICKED_MAX + 2)

struct sample;

struct sample_key {
	struct bytes key;    /* the sample's */
	struct mvcc_rev rev; /* of its newest entry */
	bool is_deleted;
};

/* As of `revision`, which the file reaches. Errors are told in the database's fault. */
int sample_draw(struct bolt *db, int64_t revision, const struct siphash *hash,
                struct sample **ret_sample);
void sample_free(struct sample *sample);
DEFINE_AUTO(struct sample, sample_free);

/* No two are the same key. */
size_t sample_count(const struct sample *sample);
const struct sample_key *sample_at(const struct sample *sample, size_t i);

/* There is the entry without a key that a raised revision leaves: counted as a key, and nobody can
 * read it. */
bool sample_has_empty_key(const struct sample *sample);

/* What the file has of a key that is not deleted. The cursor, which is one of bucket "key", owns
 * what ret_kv points to until it is used again. */
int sample_read(struct bolt *db, struct cursor *cursor, const struct sample_key *key,
                struct mvcc_kv *ret_kv);
