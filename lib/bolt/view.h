/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The users' keys that are alive at one revision, in their order: what a Range at that revision
 * would have answered, without the values, which are read again when they are asked for. It takes
 * one pass over the bucket, and about 100 bytes of memory for each key that matches, and the key.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bolt/bolt.h"
#include "bolt/bytes.h"
#include "bolt/mvcc.h"

struct view_key {
	struct bytes key; /* the view's */
	struct mvcc_rev rev;
	int64_t create_revision;
	int64_t version;
	int64_t lease;
	size_t value_len;
	uint32_t value_crc; /* CRC-32C, to compare */
};

/* Which keys. */
struct view_match {
	struct bytes key;
	bool is_prefix; /* all that begin so; else this one */
};

struct view;

/* `revision` as for mvcc_choose_revision(), -ERANGE too. The database is borrowed until
 * view_free().
 */
int view_new(struct bolt *db, int64_t revision, const struct view_match *match,
             struct view **ret_view);
void view_free(struct view *view);
DEFINE_AUTO(struct view, view_free);

int64_t view_revision(const struct view *view);
size_t view_count(const struct view *view);
const struct view_key *view_at(const struct view *view, size_t i);

/* The whole of key i, valid until the next call. */
int view_read(struct view *view, size_t i, struct mvcc_kv *ret_kv);
