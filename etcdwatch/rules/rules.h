/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What is watched for: the rules, and each one's look at an observation. Pure. A look says of which
 * subjects (the cluster, a member, a file, a job) the rule holds at this moment; how long that must
 * last until it is a finding is judge.h's.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "etcdwatch/rules/observation.h"
#include "etcdwatch/rules/trend.h"

enum rules_id {
	RULE_NO_LEADER,
	RULE_QUORUM_LOST,
	RULE_READS_FAIL,
	RULE_MEMBER_DOWN,
	RULE_MEMBER_CUT_OFF,
	RULE_LEADERS_DIFFER,
	RULE_APPLIED_LAG,
	RULE_ELECTIONS,
	RULE_MEMBER_NOT_STARTED,
	RULE_LEARNER_STAYS,
	RULE_EVEN_MEMBERS,
	RULE_VERSIONS_DIFFER,
	RULE_LISTS_DIFFER,
	RULE_STORED_MEMBERS_DIFFER,
	RULE_CLUSTER_IDS_DIFFER,
	RULE_MEMBER_UNEXPECTED,
	RULE_MEMBER_MISSING,
	RULE_NO_SPACE,
	RULE_CORRUPT,
	RULE_DATA_DIFFERS,
	RULE_QUOTA_LOW,
	RULE_QUOTA_RUNWAY,
	RULE_FRAGMENTED,
	RULE_FSYNC_SLOW,
	RULE_FSYNC_VERY_SLOW,
	RULE_COMMIT_SLOW,
	RULE_PROPOSALS_FAIL,
	RULE_CERTIFICATE_EXPIRES,
	RULE_CERTIFICATE_EXPIRES_SOON,
	RULE_CLOCK_SKEW,
	RULE_DISK_LOW,
	RULE_DISK_VERY_LOW,
	RULE_SNAPSHOT_OVERDUE,
	RULE_DRILL_OVERDUE,
	RULE_RECORD_GAP,
	RULE_RECORD_BEHIND,
	RULE_RECORD_FAR_BEHIND,
	RULE_RECORD_TARGET_BEHIND,
	RULES_N,
};

enum rules_severity {
	RULES_WARNING,
	RULES_CRITICAL,
};

#define RULES_SENTENCE_MAX 512
#define RULES_SUBJECT_MAX OBSERVATION_PATH_MAX
/* A rule holds for at most so many; more are dropped. */
#define RULES_HITS_MAX 256

/* One that holds; or with `unknown`, one of which it cannot be told now. */
struct rules_hit {
	enum rules_id rule;
	uint64_t subject; /* 0: the cluster; else the id of a member, or stands for the name */
	char name[RULES_SUBJECT_MAX];
	bool unknown;
	char sentence[RULES_SENTENCE_MAX];
};

struct rules_hits {
	struct rules_hit items[RULES_HITS_MAX];
	size_t n;
};

struct rules_asked; /* rules_priv.h */
typedef void rules_look_fn(const struct rules_asked *asked);

struct rules_rule {
	const char *id; /* "no-leader" */
	enum rules_severity severity;
	unsigned after_s; /* it must hold for so long, without a break, to be a finding */
	unsigned hold_s;  /* it must not hold for so long to be none any more */
	rules_look_fn *look;
	int stronger;      /* the rule that says the same and worse, or -1 */
	const char *when;  /* for the documentation */
	const char *to_do; /* one or two sentences for whoever reads the finding */
};

extern const struct rules_rule rules[RULES_N];

const char *rules_severity_name(enum rules_severity severity); /* "warning", "critical" */
/* Its name, or its id in hexadecimal. */
const char *rules_name(const struct observation_member *member, char buf[static VIEW_NAME_MAX]);
/* RULES_N: there is none of that name. */
enum rules_id rules_find(const char *id);

/* Every rule's look, in the order of the table. */
void rules_look(const struct observation *o, const struct trend *trend,
                struct rules_hits *ret_hits);
