/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Who ought to own a VIP. Pure: functions of what is known, no clock, no I/O. The takeover protocol
 * (election.h) keeps it safe whatever is decided here; this decides what is sensible.
 *
 * A node is better than another when, in this order: it is eligible (link with carrier, not on
 * hold); its API server's health is better (good or off by configuration, then unknown, also where
 * the check waits for its CA, then bad); it has not lately failed as an owner that the others could
 * not reach (outside.h); its priority is higher; it is not etcd's leader while the
 * other is (if that is wanted); it owns fewer VIPs. Equals come in the order of their names, which
 * begins at another name for each VIP (facts.turn), so that VIPs that start or move at the same
 * time go to different nodes. None of this moves a VIP that is held but what policy_advise() says.
 *
 * Nodes of different versions or configurations may disagree on the order: it only delays a take
 * (decide.h).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vipd/config.h"
#include "vipd/facts.h"
#include "vipd/record.h"

/*
 * Negative when a is the better one, positive when b is. Never 0 for two names. `skip` (may be
 * NULL) names a node that does not count: the owner that has fallen silent, whose key still stands
 * until its lease ends.
 */
int policy_compare(const struct facts *facts, const struct record_node *a,
                   const struct record_node *b, const char *skip, bool avoid_etcd_leader);

/* How many nodes in the race are better than `me`. */
size_t policy_rank(const struct facts *facts, const struct record_node *me, const char *skip,
                   bool avoid_etcd_leader);

/* The best eligible node other than `me`, or NULL; of those only that answered an `ask` later than
 * this revision, unless it is POLICY_UNASKED. */
#define POLICY_UNASKED INT64_MIN
const struct record_node *policy_successor(const struct facts *facts, const struct record_node *me,
                                           bool avoid_etcd_leader, int64_t asked_rev);

/*
 * Why a VIP changes hands. The text stands in the owner's record, in the log and in reports; what is
 * done about it hangs on the cause, which policy_cause_of() alone finds by the text.
 */
enum policy_cause {
	POLICY_CAUSE_OTHER, /* a failure, or a reason of another version */
	POLICY_CAUSE_HOLD,
	POLICY_CAUSE_CARRIER,
	POLICY_CAUSE_HEALTH,
	POLICY_CAUSE_UNCHECKED,
	POLICY_CAUSE_PREEMPT,
	POLICY_CAUSE_OUTSIDE,
	POLICY_CAUSE_BY_HAND,
	POLICY_CAUSE_STOPPING,
	POLICY_CAUSE_RECONFIGURED,
	POLICY_CAUSE_NO_OWNER,
	POLICY_CAUSE_OWN_RECORD,
	POLICY_CAUSE_KEPT,
	POLICY_CAUSE_TAKEN_BACK, /* an owner named a successor in vain */
	POLICY_CAUSES,
};

#define POLICY_REASON_HOLD "on hold"
#define POLICY_REASON_CARRIER "link down"
#define POLICY_REASON_HEALTH "unhealthy"
#define POLICY_REASON_UNCHECKED "health unknown"
#define POLICY_REASON_PREEMPT "preempted by priority"
#define POLICY_REASON_OUTSIDE "unreachable from outside"
#define POLICY_REASON_BY_HAND "moved by hand"
#define POLICY_REASON_STOPPING "stopping"
#define POLICY_REASON_RECONFIGURED "configured away"
#define POLICY_REASON_NO_OWNER "no owner"
#define POLICY_REASON_OWN_RECORD "own record found"
#define POLICY_REASON_KEPT "kept over a restart"
#define POLICY_REASON_TAKEN_BACK "taken back"

enum policy_cause policy_cause_of(const char *reason);

/* A move for this cause is wanted by an operator or the configuration, or is a first one. All other
 * moves follow a failure. */
bool policy_is_planned(enum policy_cause cause);

/* How this node came to own the VIP. */
enum policy_tenure {
	POLICY_TENURE_ORDINARY,
	POLICY_TENURE_HEALTH, /* the owner before handed it over because it was unwell */
};

/* What is known of candidates that are asked for a sign of life is good for so long; and so long a
 * better one may take to answer. */
#define POLICY_ASK_US (2 * US_PER_S)
#define POLICY_BETTER_US (300 * US_PER_MS)

struct policy_input {
	const struct facts *facts;
	const struct record_node *me; /* as it is now, not as etcd has it */
	const struct config_policy *policy;
	enum policy_tenure tenure;
	unsigned returns; /* how often in a row this node has handed it over and no node took it */
	int64_t owned_for_us;
	int64_t asked_rev; /* revision of the store before the candidates were last asked */
	int64_t asked_for_us;
	bool on_hold;
	bool carrier;
	bool unchecked;   /* my health is unknown because the check waits for its CA */
	bool api_is_gone; /* my API server is bad, and its process has ended (health.h) */
	bool cut_off;     /* the others cannot reach the VIP here, and a move for that is due */
};

struct policy_advice {
	bool ask; /* there is a reason to hand over: do the candidates live? */
	bool yield;
	char successor[NODECONF_NAME_MAX + 1]; /* with yield: always one that is better off */
	enum policy_cause cause;               /* with yield, and its text: */
	const char *reason;                    /* a constant: POLICY_REASON_... */
};

/* Should the owner hand over? It does so only to a node that is better off than itself and has
 * answered: the keys of dead ones stand until their leases end. */
struct policy_advice policy_advise(const struct policy_input *input);
