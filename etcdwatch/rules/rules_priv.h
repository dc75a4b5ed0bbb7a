/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the rules_*.c files share: the looks that the table of rules.c names, and how each tells
 * what it has seen. Nobody else includes this.
 */

#include "base/macro.h"
#include "etcdwatch/rules/rules.h"

struct rules_asked {
	const struct observation *o;
	const struct trend *trend;
	enum rules_id rule;
	struct rules_hits *hits;
};

/* The rule holds, of the cluster, of a member, of whatever has that name. */
void rules_hit_cluster(const struct rules_asked *asked, const char *fmt, ...) PRINTF_LIKE(2, 3);
void rules_hit_member(const struct rules_asked *asked, const struct observation_member *member,
                      const char *fmt, ...) PRINTF_LIKE(3, 4);
void rules_hit_name(const struct rules_asked *asked, const char *name, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* It cannot be told; what was found before stays. */
void rules_unknown_cluster(const struct rules_asked *asked);
void rules_unknown_member(const struct rules_asked *asked, const struct observation_member *member);
void rules_unknown_name(const struct rules_asked *asked, const char *name);

bool rules_answers(const struct observation_member *member);
size_t rules_count_voters(const struct observation *o);

/* rules_members.c: who is there, and whether they agree. */
rules_look_fn rules_no_leader, rules_quorum_lost, rules_reads_fail, rules_member_down,
    rules_member_cut_off, rules_leaders_differ, rules_applied_lag, rules_elections;
/* rules_members.c: who belongs to it. */
rules_look_fn rules_not_started, rules_learner, rules_even, rules_versions, rules_lists,
    rules_stored_members, rules_cluster_ids, rules_unexpected, rules_missing;
/* rules_node.c: what is in the databases, and how they keep up. */
rules_look_fn rules_no_space, rules_corrupt, rules_data, rules_quota, rules_runway,
    rules_fragmented, rules_fsync, rules_commit, rules_proposals;
/* rules_node.c: what they stand on: certificates, clocks, disks, snapshots, the record. */
rules_look_fn rules_certificate, rules_clock, rules_disk, rules_snapshot, rules_drill,
    rules_record_gap, rules_record_behind, rules_record_target;
