/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whether the members hold the same data, told from the hash that each makes of all its keys and
 * their history (HashKV). Pure: whom to ask, what the answers mean, what stays known of each member
 * from one comparison to the next, and when to compare again.
 *
 * Hashes compare only at one revision and where the same was compacted away. A member holds up its
 * own writes while it computes one, so the leader, for which all writes wait, comes last and is
 * passed over where the others suffice; but once a day it is asked all the same, or nobody would
 * ever learn that it is the leader whose data are wrong.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "etcdwatch/rules/observation.h"

/* One difference is none yet: this many comparisons, one after the other. */
#define HASHES_CONFIRMED 2

struct hashes_member {
	uint64_t id;
	char name[VIEW_NAME_MAX];
	char endpoint[VIEW_URL_MAX];
	bool answered;
	/* What follows only then. */
	int64_t revision;
	int64_t compact_revision;
	uint32_t hash;
};

/* One comparison. */
struct hashes {
	struct hashes_member members[VIEW_MEMBERS_MAX]; /* in the order of asking; the leader is last */
	size_t n;
	uint64_t voters[VIEW_MEMBERS_MAX]; /* of the cluster, whether they can be asked or not */
	size_t n_voters;
	uint64_t leader;  /* 0: it cannot be asked */
	int64_t revision; /* that all of them have; 0: as each is at that moment */
	/* Before 3.5 a member asked for that computes it. Later ones keep what they computed when they
	 * compacted, and tell that for every revision up to there. */
	bool may_ask_at_present;
};

/* False: they cannot be compared now, because fewer than two voters answer, not all that do run
 * one version (some count deleted keys in another way), or etcd has no room and is being made some,
 * perhaps. */
bool hashes_plan(const struct observation *o, struct hashes *ret_hashes);

struct hashes_known {
	uint64_t id;        /* 0: the cluster, in which nobody can tell whose data are right */
	unsigned n_differs; /* comparisons that say so, without one that says otherwise */
	bool compared;      /* there was one */
	int64_t compared_us;
};

/* What is known by all comparisons so far. Zeroed: nothing. */
struct hashes_memory {
	struct hashes_known items[VIEW_MEMBERS_MAX + 1];
	size_t n;
};

/* Whether the leader has to be asked too: the others do not agree, or are too few, or it differed
 * when it was last asked, or it was not compared for a day. */
bool hashes_need_leader(const struct hashes *hashes, const struct hashes_memory *memory,
                        int64_t now_us);

/* What is known of those that are no members any more; and all, where one voter is left, as nobody
 * can be compared then. True: there was something. */
bool hashes_forget(struct hashes_memory *memory, const struct observation *o);

enum hashes_result {
	HASHES_NOTHING, /* no two of them could be compared */
	HASHES_SAME,
	HASHES_DIFFER,
};

/* What the answers say, and puts it into the memory. */
enum hashes_result hashes_judge(const struct hashes *hashes, struct hashes_memory *memory,
                                int64_t now_us);

/* Some did when last compared, confirmed or not. */
bool hashes_have_differed(const struct hashes_memory *memory);

/* Some do, for certain. */
bool hashes_are_confirmed(const struct hashes_memory *memory);

/* The `data` of the members, and of the cluster. */
void hashes_fill(const struct hashes_memory *memory, struct observation *o);

/*
 * How long to wait until the next one, at the least; `spread` is 0 to 999, by chance. A difference
 * is looked at again soon, what came to nothing a little later; and whatever the result, no more
 * than a tenth of the time is spent on it.
 */
int64_t hashes_pause_us(enum hashes_result result, const struct hashes_memory *memory,
                        int64_t every_us, int64_t took_us, unsigned spread);
