/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Of databases that survived, which has come furthest. The index of raft decides, as a member's
 * database has in it what was agreed on up to there and no more; then the term and the revision,
 * where an old version does not tell the index. What has not been applied yet is in the WAL alone,
 * and only etcd itself can bring it in. Pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rescuepick_candidate {
	bool is_sound;
	uint64_t index; /* of raft; 0: not known */
	uint64_t term;
	int64_t revision;
	uint64_t cluster_id; /* 0: not known */
	bool has_wal;
	uint64_t wal_commit;
	uint64_t n_writes; /* that only the WAL has, of those that are agreed on */
};

#define RESCUEPICK_NONE SIZE_MAX

enum rescuepick_reason {
	RESCUEPICK_NO_SOUND_ONE,
	RESCUEPICK_OTHER_CLUSTER, /* they are not of one cluster */
	RESCUEPICK_ONLY_SOUND_ONE,
	RESCUEPICK_HIGHEST_INDEX,
	RESCUEPICK_HIGHEST_REVISION, /* or term: the indices are equal or not known */
	RESCUEPICK_ALL_EQUAL,
};

struct rescuepick {
	enum rescuepick_reason reason;
	size_t best;   /* or RESCUEPICK_NONE */
	size_t second; /* of the sound ones; or RESCUEPICK_NONE */
	size_t by_wal; /* whose own etcd would have more than the best one; or RESCUEPICK_NONE */
};

struct rescuepick rescuepick_choose(const struct rescuepick_candidate *candidates, size_t n);
