/* SPDX-License-Identifier: Apache-2.0 */
/* Ranking of the nodes in the race, and the owner's reasons to hand over. Pure; see policy.h. */
#include "vipd/policy.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/mono.h"

/* The least time between two moves that no node takes, doubled with each. */
#define RETURN_US (2 * US_PER_S)
#define RETURNS_MAX 5

/* A move cuts connections, so a node whose health merely is not known yet is no reason for one. */
static int health_class(enum health_state state)
{
	switch (state) {
	case HEALTH_GOOD:
	case HEALTH_UNCHECKED:
		return 0;
	case HEALTH_UNKNOWN:
		return 1;
	case HEALTH_BAD:
	case HEALTH_STATES:
		break;
	}
	return 2;
}

/* 0: equals. */
static int compare_merits(const struct record_node *a, const struct record_node *b,
                          bool avoid_etcd_leader)
{
	if (a->eligible != b->eligible)
		return a->eligible ? -1 : 1;
	if (health_class(a->health) != health_class(b->health))
		return health_class(a->health) - health_class(b->health);
	if ((a->failed_epoch != 0) != (b->failed_epoch != 0))
		return a->failed_epoch != 0 ? 1 : -1;
	if (a->priority != b->priority)
		return a->priority > b->priority ? -1 : 1;
	if (avoid_etcd_leader && a->etcd_leader != b->etcd_leader)
		return a->etcd_leader ? 1 : -1;
	if (a->owned != b->owned)
		return a->owned < b->owned ? -1 : 1;
	return 0;
}

/* The name at which the order of a node's equals begins. */
static const char *first_of_equals(const struct facts *facts, const struct record_node *one,
                                   const char *skip, bool avoid_etcd_leader)
{
	const char *names[FACTS_NODES_MAX];
	size_t n = 0;

	for (size_t i = 0; i < facts->n_nodes; i++) {
		const char *name = facts->nodes[i].node;

		if ((skip == NULL || strcmp(name, skip) != 0) &&
		    compare_merits(&facts->nodes[i], one, avoid_etcd_leader) == 0)
			names[n++] = name;
	}
	return n > 0 ? names[facts->turn % n] : "";
}

int policy_compare(const struct facts *facts, const struct record_node *a,
                   const struct record_node *b, const char *skip, bool avoid_etcd_leader)
{
	int merits = compare_merits(a, b, avoid_etcd_leader);
	const char *first;

	if (merits != 0)
		return merits;
	first = first_of_equals(facts, a, skip, avoid_etcd_leader);
	if ((strcmp(a->node, first) < 0) != (strcmp(b->node, first) < 0))
		return strcmp(a->node, first) < 0 ? 1 : -1;
	return strcmp(a->node, b->node);
}

size_t policy_rank(const struct facts *facts, const struct record_node *me, const char *skip,
                   bool avoid_etcd_leader)
{
	size_t better = 0;

	for (size_t i = 0; i < facts->n_nodes; i++) {
		const struct record_node *n = &facts->nodes[i];

		if (strcmp(n->node, me->node) == 0 || (skip != NULL && strcmp(n->node, skip) == 0))
			continue;
		if (policy_compare(facts, n, me, skip, avoid_etcd_leader) < 0)
			better++;
	}
	return better;
}

const struct record_node *policy_successor(const struct facts *facts, const struct record_node *me,
                                           bool avoid_etcd_leader, int64_t asked_rev)
{
	const struct record_node *best = NULL;

	for (size_t i = 0; i < facts->n_nodes; i++) {
		const struct record_node *n = &facts->nodes[i];

		if (strcmp(n->node, me->node) == 0 || !n->eligible)
			continue;
		/* Of a version that answers none its key must do. */
		if (n->answered >= 0 && n->answered <= asked_rev)
			continue;
		if (best == NULL || policy_compare(facts, n, best, me->node, avoid_etcd_leader) < 0)
			best = n;
	}
	return best;
}

static const struct {
	const char *reason;
	bool planned;
} causes[POLICY_CAUSES] = {
    [POLICY_CAUSE_OTHER] = {"", false},
    [POLICY_CAUSE_HOLD] = {POLICY_REASON_HOLD, true},
    [POLICY_CAUSE_CARRIER] = {POLICY_REASON_CARRIER, false},
    [POLICY_CAUSE_HEALTH] = {POLICY_REASON_HEALTH, false},
    [POLICY_CAUSE_UNCHECKED] = {POLICY_REASON_UNCHECKED, true},
    [POLICY_CAUSE_PREEMPT] = {POLICY_REASON_PREEMPT, true},
    [POLICY_CAUSE_OUTSIDE] = {POLICY_REASON_OUTSIDE, false},
    [POLICY_CAUSE_BY_HAND] = {POLICY_REASON_BY_HAND, true},
    [POLICY_CAUSE_STOPPING] = {POLICY_REASON_STOPPING, true},
    [POLICY_CAUSE_RECONFIGURED] = {POLICY_REASON_RECONFIGURED, true},
    [POLICY_CAUSE_NO_OWNER] = {POLICY_REASON_NO_OWNER, true},
    [POLICY_CAUSE_OWN_RECORD] = {POLICY_REASON_OWN_RECORD, true},
    [POLICY_CAUSE_KEPT] = {POLICY_REASON_KEPT, true},
    [POLICY_CAUSE_TAKEN_BACK] = {POLICY_REASON_TAKEN_BACK, false},
};

enum policy_cause policy_cause_of(const char *reason)
{
	for (enum policy_cause c = POLICY_CAUSE_HOLD; c < POLICY_CAUSES; c++) {
		if (strcmp(reason, causes[c].reason) == 0)
			return c;
	}
	return POLICY_CAUSE_OTHER;
}

bool policy_is_planned(enum policy_cause cause)
{
	return causes[cause].planned;
}

/* POLICY_CAUSE_OTHER: none. */
static enum policy_cause cause_to_yield(const struct policy_input *in,
                                        const struct record_node *best)
{
	bool settled = in->owned_for_us >= in->policy->hold_down_us;

	if (in->on_hold)
		return POLICY_CAUSE_HOLD;
	if (!in->carrier)
		return POLICY_CAUSE_CARRIER;
	if (in->returns > 0 && in->owned_for_us < RETURN_US << MIN(in->returns, RETURNS_MAX))
		return POLICY_CAUSE_OTHER;
	/* The first move away from an unwell node is made at once. When the VIP came here because
	 * another was unwell, two API servers may be flapping, and it rests for the hold-down. But
	 * where the API server's process has ended, there are no connections left that a move could
	 * cut. */
	if (in->me->health == HEALTH_BAD && health_class(best->health) == 0 &&
	    (settled || in->tenure != POLICY_TENURE_HEALTH || in->api_is_gone))
		return POLICY_CAUSE_HEALTH;
	if (in->unchecked && settled && best->health == HEALTH_GOOD)
		return POLICY_CAUSE_UNCHECKED;
	if (in->cut_off && settled && best->health == HEALTH_GOOD && best->failed_epoch == 0)
		return POLICY_CAUSE_OUTSIDE;
	if (in->policy->preempt && settled && health_class(best->health) <= (in->unchecked ? 1 : 0) &&
	    best->failed_epoch == 0 && best->priority > in->me->priority)
		return POLICY_CAUSE_PREEMPT;
	return POLICY_CAUSE_OTHER;
}

struct policy_advice policy_advise(const struct policy_input *in)
{
	bool avoid = in->policy->avoid_etcd_leader;
	const struct record_node *best = policy_successor(in->facts, in->me, avoid, POLICY_UNASKED);
	const struct record_node *live = policy_successor(in->facts, in->me, avoid, in->asked_rev);
	struct policy_advice advice = {0};

	if (best == NULL || cause_to_yield(in, best) == POLICY_CAUSE_OTHER)
		return advice;
	if (in->asked_for_us >= POLICY_ASK_US) {
		advice.ask = true;
		return advice;
	}
	if (live == NULL || (live != best && in->asked_for_us < POLICY_BETTER_US))
		return advice;
	advice.cause = cause_to_yield(in, live);
	advice.reason = causes[advice.cause].reason;
	advice.yield = advice.cause != POLICY_CAUSE_OTHER;
	if (advice.yield)
		(void) snprintf(advice.successor, sizeof(advice.successor), "%s", live->node);
	return advice;
}
