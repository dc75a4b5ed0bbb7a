/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Who ought to own a VIP. Pure: functions of what is known, no clock, no I/O. The takeover protocol
 * (election.h) keeps it safe whatever is decided here; this decides what is sensible.
 *
 * A node is better than another when, in this order: it is eligible (link with carrier, not on
 * hold); its API server's health is better (good or off by configuration, then unknown, also where
 * the check waits for its CA, then bad); its priority is higher; it is not etcd's leader while the
 * other is (if that is wanted); its name sorts first.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vipd/config.h"
#include "vipd/facts.h"
#include "vipd/record.h"

/* Negative when a is the better one, positive when b is. Never 0 for two names. */
int policy_compare(const struct record_node *a, const struct record_node *b,
                   bool avoid_etcd_leader);

/*
 * How many nodes in the race are better than `me`. `skip` (may be NULL) names one that does not
 * count: the owner that has fallen silent, whose key still stands until its lease ends.
 */
size_t policy_rank(const struct facts *facts, const struct record_node *me, const char *skip,
                   bool avoid_etcd_leader);

/* The best eligible node other than `me`, or NULL. */
const struct record_node *policy_successor(const struct facts *facts, const struct record_node *me,
                                           bool avoid_etcd_leader);

/* How this node came to own the VIP. */
enum policy_tenure {
	POLICY_TENURE_ORDINARY,
	POLICY_TENURE_HEALTH, /* the owner before handed it over because it was unwell */
};

struct policy_input {
	const struct facts *facts;
	const struct record_node *me; /* as it is now, not as etcd has it */
	const struct config_policy *policy;
	enum policy_tenure tenure;
	int64_t owned_for_us;
	bool on_hold;
	bool carrier;
	bool unchecked; /* my health is unknown because the check waits for its CA */
};

struct policy_advice {
	bool yield;
	char successor[NODECONF_NAME_MAX + 1]; /* with yield: always one that is better off */
	const char *reason;                    /* a constant: POLICY_REASON_... */
};

#define POLICY_REASON_HOLD "on hold"
#define POLICY_REASON_CARRIER "link down"
#define POLICY_REASON_HEALTH "unhealthy"
#define POLICY_REASON_UNCHECKED "health unknown"
#define POLICY_REASON_PREEMPT "preempted by priority"

/* Should the owner hand over? It never does when nobody is better off than itself. */
struct policy_advice policy_advise(const struct policy_input *input);
