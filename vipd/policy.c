/* SPDX-License-Identifier: Apache-2.0 */
/* Ranking of the nodes in the race, and the owner's reasons to hand over. Pure; see policy.h. */
#include "vipd/policy.h"

#include <stdio.h>
#include <string.h>

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
		return 2;
	}
	return 2;
}

int policy_compare(const struct record_node *a, const struct record_node *b, bool avoid_etcd_leader)
{
	if (a->eligible != b->eligible)
		return a->eligible ? -1 : 1;
	if (health_class(a->health) != health_class(b->health))
		return health_class(a->health) - health_class(b->health);
	if (a->priority != b->priority)
		return a->priority > b->priority ? -1 : 1;
	if (avoid_etcd_leader && a->etcd_leader != b->etcd_leader)
		return a->etcd_leader ? 1 : -1;
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
		if (policy_compare(n, me, avoid_etcd_leader) < 0)
			better++;
	}
	return better;
}

const struct record_node *policy_successor(const struct facts *facts, const struct record_node *me,
                                           bool avoid_etcd_leader)
{
	const struct record_node *best = NULL;

	for (size_t i = 0; i < facts->n_nodes; i++) {
		const struct record_node *n = &facts->nodes[i];

		if (strcmp(n->node, me->node) == 0 || !n->eligible)
			continue;
		if (best == NULL || policy_compare(n, best, avoid_etcd_leader) < 0)
			best = n;
	}
	return best;
}

static const char *reason_to_yield(const struct policy_input *in, const struct record_node *best)
{
	bool settled = in->owned_for_us >= in->policy->hold_down_us;

	if (in->on_hold)
		return POLICY_REASON_HOLD;
	if (!in->carrier)
		return POLICY_REASON_CARRIER;
	/* The first move away from an unwell node is made at once. When the VIP came here because
	 * another was unwell, two API servers may be flapping, and it rests for the hold-down. */
	if (in->me->health == HEALTH_BAD && health_class(best->health) == 0 &&
	    (settled || in->tenure != POLICY_TENURE_HEALTH))
		return POLICY_REASON_HEALTH;
	if (in->unchecked && settled && best->health == HEALTH_GOOD)
		return POLICY_REASON_UNCHECKED;
	if (in->policy->preempt && settled && health_class(best->health) <= (in->unchecked ? 1 : 0) &&
	    best->priority > in->me->priority)
		return POLICY_REASON_PREEMPT;
	return NULL;
}

struct policy_advice policy_advise(const struct policy_input *in)
{
	const struct record_node *best =
	    policy_successor(in->facts, in->me, in->policy->avoid_etcd_leader);
	struct policy_advice advice = {0};

	if (best == NULL)
		return advice;
	advice.reason = reason_to_yield(in, best);
	advice.yield = advice.reason != NULL;
	if (advice.yield)
		(void) snprintf(advice.successor, sizeof(advice.successor), "%s", best->node);
	return advice;
}
