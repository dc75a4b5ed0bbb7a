/* SPDX-License-Identifier: Apache-2.0 */
/* Who is better than whom, who comes next, and when an owner should go. */
#include "vipd/policy.h"

#include "base/macro.h"
#include "base/mono.h"
#include "tests/unit/check.h"

#define GOOD HEALTH_GOOD
#define BAD HEALTH_BAD
#define UNKNOWN HEALTH_UNKNOWN
#define UNCHECKED HEALTH_UNCHECKED
#define NOBODY                           \
	{                                    \
		"", "", 0, UNKNOWN, false, false \
	}
#define HOLD_DOWN_US (60 * US_PER_S)

/* {name, instance, priority, health, eligible, etcd_leader} */
static struct facts facts_of(const struct record_node *nodes, size_t n)
{
	struct facts f;

	facts_init(&f);
	for (size_t i = 0; i < n && nodes[i].node[0] != '\0'; i++)
		f.nodes[f.n_nodes++] = nodes[i];
	return f;
}

static void test_compare(void)
{
	static const struct {
		const char *name;
		struct record_node better, worse;
		bool avoid;
	} cases[] = {
	    {"eligible before health",
	     {"b", "", 1, BAD, true, true},
	     {"a", "", 9, GOOD, false, false},
	     true},
	    {"health before priority",
	     {"b", "", 1, GOOD, true, true},
	     {"a", "", 9, BAD, true, false},
	     true},
	    {"unchecked before unknown",
	     {"b", "", 1, UNCHECKED, true, false},
	     {"a", "", 9, UNKNOWN, true, false},
	     true},
	    {"unknown before bad",
	     {"b", "", 1, UNKNOWN, true, false},
	     {"a", "", 9, BAD, true, false},
	     true},
	    {"unchecked is as good as good",
	     {"a", "", 5, UNCHECKED, true, false},
	     {"b", "", 5, GOOD, true, false},
	     true},
	    {"good is as good as unchecked",
	     {"a", "", 5, GOOD, true, false},
	     {"b", "", 5, UNCHECKED, true, false},
	     true},
	    {"priority before etcd's leader",
	     {"b", "", 6, GOOD, true, true},
	     {"a", "", 5, GOOD, true, false},
	     true},
	    {"not etcd's leader before the name",
	     {"b", "", 5, GOOD, true, false},
	     {"a", "", 5, GOOD, true, true},
	     true},
	    {"unless that is not wanted",
	     {"a", "", 5, GOOD, true, true},
	     {"b", "", 5, GOOD, true, false},
	     false},
	    {"the name at last",
	     {"a", "", 5, GOOD, true, false},
	     {"b", "", 5, GOOD, true, false},
	     true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (!CHECK(policy_compare(&cases[i].better, &cases[i].worse, cases[i].avoid) < 0) ||
		    !CHECK(policy_compare(&cases[i].worse, &cases[i].better, cases[i].avoid) > 0))
			(void) fprintf(stderr, "case: %s\n", cases[i].name);
	}
}

#define COMBINATIONS (2 * 4 * 2 * 2)

/* Every kind of node against every other, and every third: it is an order. */
static void test_order(void)
{
	static const enum health_state healths[] = {GOOD, BAD, UNKNOWN, UNCHECKED};
	struct record_node n[COMBINATIONS];

	for (size_t i = 0; i < COMBINATIONS; i++) {
		n[i] = (struct record_node){.eligible = (i & 1) != 0,
		                            .etcd_leader = (i & 2) != 0,
		                            .priority = (i & 4) != 0 ? 100 : 50,
		                            .health = healths[i / 8]};
		(void) snprintf(n[i].node, sizeof(n[i].node), "n%02zu", (i * 7) % COMBINATIONS);
	}
	for (size_t i = 0; i < COMBINATIONS; i++) {
		for (size_t j = 0; j < COMBINATIONS; j++) {
			int ij = policy_compare(&n[i], &n[j], true);

			CHECK((i == j) == (ij == 0));
			CHECK((ij < 0) == (policy_compare(&n[j], &n[i], true) > 0));
			for (size_t k = 0; k < COMBINATIONS; k++) {
				if (ij < 0 && policy_compare(&n[j], &n[k], true) < 0)
					CHECK(policy_compare(&n[i], &n[k], true) < 0);
			}
		}
	}
}

static void test_rank_and_successor(void)
{
	static const struct {
		const char *name;
		struct record_node me;
		struct record_node nodes[4];
		const char *skip;
		size_t rank;
		const char *successor;
	} cases[] = {
	    {"alone",
	     {"b", "", 5, GOOD, true, false},
	     {{"b", "", 5, GOOD, true, false}},
	     NULL,
	     0,
	     NULL},
	    {"nobody has a key yet", {"b", "", 5, GOOD, true, false}, {NOBODY}, NULL, 0, NULL},
	    {"in the middle",
	     {"b", "", 5, GOOD, true, false},
	     {{"a", "", 5, GOOD, true, false},
	      {"b", "", 5, GOOD, true, false},
	      {"c", "", 5, GOOD, true, false}},
	     NULL,
	     1,
	     "a"},
	    {"as it is now, not as etcd has it",
	     {"b", "", 5, BAD, true, false},
	     {{"a", "", 5, UNKNOWN, true, false},
	      {"b", "", 9, GOOD, true, false},
	      {"c", "", 5, UNKNOWN, true, false}},
	     NULL,
	     2,
	     "a"},
	    {"the silent owner does not count",
	     {"b", "", 5, GOOD, true, false},
	     {{"a", "", 5, GOOD, true, false},
	      {"b", "", 5, GOOD, true, false},
	      {"c", "", 7, GOOD, true, false}},
	     "c",
	     1,
	     "c"},
	    {"who is not eligible is no successor",
	     {"b", "", 5, BAD, true, false},
	     {{"a", "", 9, GOOD, false, false}, {"b", "", 5, GOOD, true, false}},
	     NULL,
	     0,
	     NULL},
	    {"but one of bad health is",
	     {"b", "", 5, GOOD, true, false},
	     {{"a", "", 9, GOOD, false, false}, {"c", "", 1, BAD, true, false}},
	     NULL,
	     0,
	     "c"},
	    {"the best of several",
	     {"b", "", 5, GOOD, true, false},
	     {{"a", "", 5, UNKNOWN, true, false},
	      {"c", "", 5, GOOD, true, true},
	      {"d", "", 5, GOOD, true, false}},
	     NULL,
	     0,
	     "d"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct facts f = facts_of(cases[i].nodes, ARRAY_SIZE(cases[i].nodes));
		const struct record_node *best = policy_successor(&f, &cases[i].me, true);

		if (!CHECK_EQ_INT(policy_rank(&f, &cases[i].me, cases[i].skip, true), cases[i].rank) ||
		    !CHECK_EQ_STR(best != NULL ? best->node : NULL, cases[i].successor))
			(void) fprintf(stderr, "case: %s\n", cases[i].name);
	}
}

/* One other node beside me. */
static const struct advise_case {
	const char *name;
	struct record_node me, other;
	bool preempt, on_hold, no_carrier, came_for_health;
	int64_t owned_for_us;
	const char *reason; /* NULL: stay */
} advise_cases[] = {
    {"all is well",
     {"b", "", 5, GOOD, true, false},
     {"a", "", 9, GOOD, true, false},
     false,
     false,
     false,
     false,
     HOLD_DOWN_US,
     NULL},
    {"nobody is there",
     {"b", "", 5, BAD, true, false},
     NOBODY,
     true,
     true,
     true,
     false,
     HOLD_DOWN_US,
     NULL},
    {"the other is not eligible",
     {"b", "", 5, BAD, true, false},
     {"a", "", 9, GOOD, false, false},
     true,
     true,
     true,
     false,
     HOLD_DOWN_US,
     NULL},

    {"on hold",
     {"b", "", 5, GOOD, false, false},
     {"a", "", 1, GOOD, true, false},
     false,
     true,
     false,
     false,
     0,
     POLICY_REASON_HOLD},
    {"on hold, though the other is unwell",
     {"b", "", 5, GOOD, false, false},
     {"a", "", 1, BAD, true, false},
     false,
     true,
     false,
     false,
     0,
     POLICY_REASON_HOLD},
    {"link down",
     {"b", "", 5, GOOD, false, false},
     {"a", "", 1, BAD, true, false},
     false,
     false,
     true,
     false,
     0,
     POLICY_REASON_CARRIER},
    {"hold is named before the link",
     {"b", "", 5, GOOD, false, false},
     {"a", "", 1, BAD, true, false},
     false,
     true,
     true,
     false,
     0,
     POLICY_REASON_HOLD},

    {"unwell, the other is well",
     {"b", "", 5, BAD, true, false},
     {"a", "", 1, GOOD, true, false},
     false,
     false,
     false,
     false,
     0,
     POLICY_REASON_HEALTH},
    {"unwell, the other is unchecked",
     {"b", "", 5, BAD, true, false},
     {"a", "", 1, UNCHECKED, true, false},
     false,
     false,
     false,
     false,
     0,
     POLICY_REASON_HEALTH},
    {"unwell, but so is the other",
     {"b", "", 5, BAD, true, false},
     {"a", "", 9, BAD, true, false},
     false,
     false,
     false,
     false,
     HOLD_DOWN_US,
     NULL},
    {"unwell, and nothing is known of the other",
     {"b", "", 5, BAD, true, false},
     {"a", "", 9, UNKNOWN, true, false},
     false,
     false,
     false,
     false,
     HOLD_DOWN_US,
     NULL},
    {"not known to be unwell",
     {"b", "", 5, UNKNOWN, true, false},
     {"a", "", 9, GOOD, true, false},
     false,
     false,
     false,
     false,
     HOLD_DOWN_US,
     NULL},
    {"no verdict yet, nor of the other of higher priority",
     {"b", "", 5, UNKNOWN, true, false},
     {"a", "", 9, UNKNOWN, true, false},
     .preempt = true,
     .owned_for_us = HOLD_DOWN_US},
    {"unwell, came here for health, rests",
     {"b", "", 5, BAD, true, false},
     {"a", "", 9, GOOD, true, false},
     false,
     false,
     false,
     true,
     HOLD_DOWN_US - 1,
     NULL},
    {"unwell, came here for health, has rested",
     {"b", "", 5, BAD, true, false},
     {"a", "", 9, GOOD, true, false},
     false,
     false,
     false,
     true,
     HOLD_DOWN_US,
     POLICY_REASON_HEALTH},
    {"hold does not rest",
     {"b", "", 5, GOOD, false, false},
     {"a", "", 9, GOOD, true, false},
     false,
     true,
     false,
     true,
     0,
     POLICY_REASON_HOLD},
    {"nor does a link",
     {"b", "", 5, GOOD, false, false},
     {"a", "", 9, GOOD, true, false},
     false,
     false,
     true,
     true,
     0,
     POLICY_REASON_CARRIER},

    {"higher priority, preempting",
     {"b", "", 5, GOOD, true, false},
     {"a", "", 6, GOOD, true, false},
     true,
     false,
     false,
     false,
     HOLD_DOWN_US,
     POLICY_REASON_PREEMPT},
    {"higher priority, preempting, too early",
     {"b", "", 5, GOOD, true, false},
     {"a", "", 6, GOOD, true, false},
     true,
     false,
     false,
     false,
     HOLD_DOWN_US - 1,
     NULL},
    {"higher priority, not preempting",
     {"b", "", 5, GOOD, true, false},
     {"a", "", 6, GOOD, true, false},
     false,
     false,
     false,
     false,
     HOLD_DOWN_US,
     NULL},
    {"the same priority",
     {"b", "", 5, GOOD, true, true},
     {"a", "", 5, GOOD, true, false},
     true,
     false,
     false,
     false,
     HOLD_DOWN_US,
     NULL},
    {"higher priority, but unwell",
     {"b", "", 5, GOOD, true, false},
     {"a", "", 6, BAD, true, false},
     true,
     false,
     false,
     false,
     HOLD_DOWN_US,
     NULL},
    {"higher priority, not known to be well",
     {"b", "", 5, GOOD, true, false},
     {"a", "", 6, UNKNOWN, true, false},
     true,
     false,
     false,
     false,
     HOLD_DOWN_US,
     NULL},
};

/* The check of this node waits for its CA. */
static const struct advise_case unchecked_cases[] = {
    {"unchecked, the other is well",
     {"b", "", 5, UNKNOWN, true, false},
     {"a", "", 1, GOOD, true, false},
     .owned_for_us = HOLD_DOWN_US,
     .reason = POLICY_REASON_UNCHECKED},
    {"unchecked, the other is well, rests",
     {"b", "", 5, UNKNOWN, true, false},
     {"a", "", 1, GOOD, true, false},
     .owned_for_us = HOLD_DOWN_US - 1},
    {"unchecked, so is the other, or has no verdict",
     {"b", "", 5, UNKNOWN, true, false},
     {"a", "", 5, UNKNOWN, true, false},
     .preempt = true,
     .owned_for_us = HOLD_DOWN_US},
    {"unchecked, the other is unchecked by configuration",
     {"b", "", 5, UNKNOWN, true, false},
     {"a", "", 5, UNCHECKED, true, false},
     .owned_for_us = HOLD_DOWN_US},
    {"unchecked, so is the other of higher priority",
     {"b", "", 5, UNKNOWN, true, false},
     {"a", "", 9, UNKNOWN, true, false},
     .preempt = true,
     .owned_for_us = HOLD_DOWN_US,
     .reason = POLICY_REASON_PREEMPT},
};

static void test_advise(const struct advise_case *cases, size_t n, bool unchecked)
{
	for (size_t i = 0; i < n; i++) {
		const struct advise_case *c = &cases[i];
		const struct record_node nodes[] = {c->other, {"b", "", 5, GOOD, true, false}};
		struct facts f = facts_of(nodes, c->other.node[0] != '\0' ? 2 : 0);
		struct config_policy policy = {
		    .preempt = c->preempt, .avoid_etcd_leader = true, .hold_down_us = HOLD_DOWN_US};
		struct policy_input in = {
		    .facts = &f,
		    .me = &c->me,
		    .policy = &policy,
		    .tenure = c->came_for_health ? POLICY_TENURE_HEALTH : POLICY_TENURE_ORDINARY,
		    .owned_for_us = c->owned_for_us,
		    .on_hold = c->on_hold,
		    .carrier = !c->no_carrier,
		    .unchecked = unchecked,
		};
		struct policy_advice advice = policy_advise(&in);
		bool ok = CHECK_EQ_INT(advice.yield, c->reason != NULL);

		ok = CHECK_EQ_STR(advice.reason, c->reason) && ok;
		ok = CHECK_EQ_STR(advice.successor, c->reason != NULL ? "a" : "") && ok;
		if (!ok)
			(void) fprintf(stderr, "case: %s\n", c->name);
	}
}

int main(void)
{
	test_compare();
	test_order();
	test_rank_and_successor();
	test_advise(advise_cases, ARRAY_SIZE(advise_cases), false);
	test_advise(unchecked_cases, ARRAY_SIZE(unchecked_cases), true);
	return check_result();
}
