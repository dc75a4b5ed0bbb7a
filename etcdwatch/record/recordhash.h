/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Asks a member for HashKV, to be recorded: what a database that is rebuilt up to that revision
 * must have. The member takes no writes while it reads its database for it, so it is a follower if
 * there is one, not the one that is recorded from if there is a third, and never more often than
 * wanted.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "etcd/etcd.h"

struct recordhash;

struct recordhash_answer {
	uint64_t member_id;
	int64_t revision;
	int64_t compact_revision; /* -1: none */
	uint32_t hash;
};

/* Not when nobody could say, which is logged. */
typedef void (*recordhash_fn)(const struct recordhash_answer *answer, void *userdata);

/* every_us 0: it is never asked for. */
struct recordhash *recordhash_new(struct etcd *etcd, int64_t every_us, recordhash_fn fn,
                                  void *userdata);
void recordhash_free(struct recordhash *hash); /* fn is not called any more */
DEFINE_AUTO(struct recordhash, recordhash_free);

/* This is a good moment to ask, if it is due. */
void recordhash_offer(struct recordhash *hash, int64_t revision, uint64_t recorded_member_id);
/* What a member says now of a revision whose hash is recorded: fn is called once, with NULL if no
 * member can tell. False: it is not asked, as hashes are not wanted or one was asked a short while
 * ago. */
bool recordhash_check(struct recordhash *hash, int64_t revision, uint64_t recorded_member_id,
                      recordhash_fn fn);
/* What is under way is of no use any more: the record goes on as another chain. */
void recordhash_forget(struct recordhash *hash);
