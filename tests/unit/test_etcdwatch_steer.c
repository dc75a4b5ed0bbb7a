/* SPDX-License-Identifier: Apache-2.0 */
/* What may be done to which cluster: a line a case. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "check.h"
#include "clustercase.h"
#include "etcdwatch/steer/plans.h"
#include "etcdwatch/steer/steps.h"

/* Steps, one a line; then "! " and the refusal. Notes are left out. */
static char *told(const struct steps *steps)
{
	char *text = xstrdup("");

	for (size_t i = 0; i < steps->n; i++) {
		AUTO(free) char *before = text;
		char line[STEPS_TEXT_MAX];

		step_text(&steps->items[i], line);
		text = xasprintf("%s%s\n", before, line);
	}
	if (steps->refusal[0] != '\0') {
		free(text);
		text = xasprintf("! %s", steps->refusal);
	}
	return text;
}

static bool matches(const char *text, const char *want)
{
	/* Of a refusal, the part that says why. */
	return want[0] == '!' ? text[0] == '!' && strstr(text, want + 2) != NULL
	                      : strcmp(text, want) == 0;
}

static void check_steps(const char *cluster, const struct steps *steps, const char *want)
{
	AUTO(free) char *text = told(steps);

	if (!CHECK(matches(text, want)))
		(void) fprintf(stderr, "  %s:\n%s\n  want:\n%s\n", cluster, text, want);
}

/* --- going --- */

static void test_may_go(void)
{
	static const struct {
		const char *cluster;
		const char *member;
		bool may;
		const char *why; /* a part of it */
	} cases[] = {
	    {"a* b c", "b", true, "survives the loss of 0 members, now of 1"},
	    {"a* b c", "a", true, "survives the loss of 0"},
	    /* The dead one may go, and nobody else. */
	    {"a* b c-", "c", true, ""},
	    {"a* b c-", "b", false, "of the 2 voters that stay, 1 answers, and it takes 2"},
	    {"a* b c-", "a", false, "of the 2 voters that stay, 1 answers, and it takes 2"},
	    {"a* b c~", "b", false, "of the 2 voters that stay"},
	    {"a* b c?", "b", false, "of the 2 voters that stay"},
	    {"a* b c?", "c", true, ""},
	    {"a* b c!", "b", false, "of the 2 voters that stay"},
	    {"a* b c!", "c", true, ""},
	    /* No majority: nothing can be decided, whoever goes. */
	    {"a b- c-", "b", false, "no majority now: 1 of 3"},
	    {"a~ b~ c-", "c", false, "no majority now: 0 of 3"},
	    {"a* b", "b", true, ""},
	    {"a* b", "a", true, ""},
	    {"a b-", "b", false, "no majority now: 1 of 2"},
	    {"a*", "a", false, "only voter"},
	    /* Learners count for nothing, and may always go. */
	    {"a* bl", "a", false, "only voter"},
	    {"a* bl", "b", true, ""},
	    {"a* b c-l", "b", true, ""},
	    {"a* b- cl", "c", false, "no majority now: 1 of 2"},
	    {"a* b c d", "d", true, ""},
	    {"a* b c d-", "c", true, ""},
	    {"a* b c- d-", "c", false, "no majority now: 2 of 4"},
	    {"a* b c d-", "d", true, ""},
	    {"a* b c d e", "e", true, "survives the loss of 1 member, now of 2"},
	    {"a* b c d- e-", "a", false, "of the 4 voters that stay, 2 answer, and it takes 3"},
	    {"a* b c d- e-", "e", true, ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) struct survey *s = clustercase(cases[i].cluster);
		char why[QUORUMSAFE_TEXT_MAX];
		bool may = quorumsafe_may_go(s, survey_find(s, cases[i].member), why);

		if (!CHECK(may == cases[i].may) || !CHECK(strstr(why, cases[i].why) != NULL))
			(void) fprintf(stderr, "  %s, %s: %d '%s'\n", cases[i].cluster, cases[i].member, may,
			               why);
	}
}

static void test_may_go_if_listed(void)
{
	AUTO(free) struct survey *s = clustercase("a* b c");
	char why[QUORUMSAFE_TEXT_MAX];

	s->members[2].listed = false;
	CHECK(!quorumsafe_may_go(s, &s->members[2], why));
	s->members[2].listed = true;
	s->listed = false;
	CHECK(!quorumsafe_may_go(s, &s->members[2], why));
}

/* --- plans --- */

static void test_forfeit(void)
{
	static const struct {
		const char *cluster;
		const char *want;
	} cases[] = {
	    {"a*@ b c", "hand the leadership from a to c\n"},
	    {"a*@ b c-", "hand the leadership from a to b\n"},
	    {"a*@ b c!", "hand the leadership from a to b\n"},
	    {"a*@ bl c-", "! no other voter is healthy"},
	    {"a*@ b cC", "hand the leadership from a to b\n"},
	    {"a@ b* c", ""},
	    {"a* b c", "! no member of the cluster is this machine's"},
	    {"a@ b c", "! has no leader"},
	    {"a*@ b@ c", "hand the leadership from a to c\n"},
	    {"a* b@ c@", "! 2 members are this machine's"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) struct survey *s = clustercase(cases[i].cluster);
		AUTO(free) struct steps *steps = NEW0(struct steps);

		plan_forfeit(s, steps);
		check_steps(cases[i].cluster, steps, cases[i].want);
	}
}

static void test_remove(void)
{
	static const struct {
		const char *cluster;
		const char *word; /* NULL: leave */
		const char *want;
	} cases[] = {
	    {"a* b c", "c", "remove c (3) from the cluster\n"},
	    {"a* b c", "3", "remove c (3) from the cluster\n"},
	    {"a* b c", "a", "hand the leadership from a to c\nremove a (1) from the cluster\n"},
	    {"a* b c-", "c", "remove c (3) from the cluster\n"},
	    {"a* b c-", "b", "! b must not go: of the 2 voters"},
	    {"a* bC cC", "a", "! a leads, and no other voter may"},
	    {"a* b c", "d", "! no member 'd'"},
	    {"a* b b", "b", "! 2 members are called 'b'"},
	    {"a* b b", "3", "remove b (3) from the cluster\n"},
	    {"a* b c", "", "! no member ''"},
	    {"a* b c@", NULL, "remove c (3) from the cluster\n"},
	    {"a*@ b c", NULL, "hand the leadership from a to c\nremove a (1) from the cluster\n"},
	    {"a*@ b- c", NULL, "! a must not go"},
	    {"a*@", NULL, "! only voter"},
	    /* Whether one leads says nothing of which is meant. */
	    {"a*@ b@ c", NULL, "! 2 members are this machine's"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) struct survey *s = clustercase(cases[i].cluster);
		AUTO(free) struct steps *steps = NEW0(struct steps);

		if (cases[i].word != NULL)
			plan_remove(s, cases[i].word, steps);
		else
			plan_leave(s, steps);
		check_steps(cases[i].cluster, steps, cases[i].want);
		CHECK((steps->n > 0) == (steps->refusal[0] == '\0'));
	}
}

static void test_disarm(void)
{
	static const struct {
		const char *cluster;
		int64_t db, quota; /* of all */
		bool corrupt_too, unchecked;
		const char *want;
	} cases[] = {
	    {"a* b c", 1, 100, false, false, ""},
	    {"a*N b cN", 50, 100, false, false, "disarm NOSPACE of a\ndisarm NOSPACE of c\n"},
	    {"a*N b c", 95, 100, false, false, "disarm NOSPACE of a\n"},
	    {"a*N b c", 96, 100, false, false, "! a has no room yet, 96 bytes of 100"},
	    {"a*N b c", 101, 100, false, true, "! a has no room yet"},
	    {"a*N b c", 50, 0, false, false, "! a: its quota is not known"},
	    {"a*N b c", 50, 0, false, true, "disarm NOSPACE of a\n"},
	    {"a* b cN-", 50, 100, false, false, "! c: its size is not known"},
	    {"a* b cN?", 50, 100, false, false, "! c: its size is not known"},
	    {"a* b cN-", 50, 100, false, true, "disarm NOSPACE of c\n"},
	    /* One that is refused, and nothing is done. */
	    {"a* bN cN-", 50, 100, false, false, "! c: its size is not known"},
	    {"a*C b c", 50, 100, false, true, ""},
	    {"a*C b c", 50, 100, true, false, "disarm CORRUPT of a\n"},
	    {"a*CN b c", 50, 100, false, false, "disarm NOSPACE of a\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) struct survey *s = clustercase(cases[i].cluster);
		AUTO(free) struct steps *steps = NEW0(struct steps);
		const struct plan_disarm_options options = {cases[i].corrupt_too, cases[i].unchecked};

		for (size_t k = 0; k < s->n_answers; k++) {
			s->answers[k].db_bytes = cases[i].db;
			s->answers[k].quota_bytes = cases[i].quota;
		}
		plan_disarm(s, &options, steps);
		check_steps(cases[i].cluster, steps, cases[i].want);
		s->alarms_known = false;
		plan_disarm(s, &options, steps);
		check_steps(cases[i].cluster, steps, "! the alarms are not known");
	}
}

/* Of a member that was removed an alarm may be left. */
static void test_disarm_of_nobody(void)
{
	AUTO(free) struct survey *s = clustercase("a* b c");
	AUTO(free) struct steps *steps = NEW0(struct steps);
	const struct plan_disarm_options options = {0};

	clustercase_alarm(s, 77, ETCD_ALARM_NOSPACE);
	plan_disarm(s, &options, steps);
	check_steps("of 77", steps, "disarm NOSPACE of a member that is gone\n");
	CHECK_EQ_INT(steps->items[0].member, 77);
}

/* etcd has it so where it cannot tell who is wrong. */
static void test_corrupt_of_nobody(void)
{
	static const uint64_t ids[] = {0, 77};

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		AUTO(free) struct survey *s = clustercase("a*N b c");
		AUTO(free) struct steps *steps = NEW0(struct steps);
		const struct plan_disarm_options options = {.corrupt_too = true, .unchecked = true};

		clustercase_alarm(s, ids[i], ETCD_ALARM_CORRUPT);
		plan_defrag(s, NULL, &plan_defrag_by_hand, steps);
		check_steps("defrag", steps, "! the alarm CORRUPT stands");
		plan_recover(s, -1, steps);
		check_steps("recover", steps, "! the alarm CORRUPT stands");
		plan_disarm(s, &options, steps);
		check_steps("disarm", steps,
		            ids[i] == 0 ? "disarm NOSPACE of a\ndisarm CORRUPT of the cluster\n"
		                        : "disarm NOSPACE of a\ndisarm CORRUPT of a member that is gone\n");
	}
}

#define D(name, free) "defragment " name " (8.0 MB, of them " free " MB free)\n"

static void test_defrag(void)
{
	static const struct {
		const char *cluster;
		const char *word; /* NULL: all */
		const char *want;
	} cases[] = {
	    {"a* b c", NULL, ""},
	    {"a*F bF cF", NULL,
	     D("b", "4.0") D("c", "4.0") "hand the leadership from a to c\n" D("a", "4.0")},
	    {"aF b*F cF", NULL,
	     D("a", "4.0") D("c", "4.0") "hand the leadership from b to c\n" D("b", "4.0")},
	    /* One that has nothing to gain is left alone, and may lead. */
	    {"a*F b c", NULL, "hand the leadership from a to c\n" D("a", "4.0")},
	    {"a* bF c", NULL, D("b", "4.0")},
	    {"a*F bF clF", NULL, D("b", "4.0") "hand the leadership from a to b\n" D("a", "4.0")},
	    {"a*F", NULL, D("a", "4.0")},
	    /* By its name whatever it has to gain. */
	    {"a* b c", "b", D("b", "0.5")},
	    {"a* b c", "a", "hand the leadership from a to c\n" D("a", "0.5")},
	    {"a* b cl", "c", "! c is a learner"},
	    {"a* b c", "d", "! no member 'd'"},
	    {"a* b b", "b", "! 2 members are called 'b'"},
	    /* Only when all are well. */
	    {"a*F bF c-F", NULL, "! c: it is not healthy"},
	    {"a*F bF c~F", NULL, "! c: it is not healthy"},
	    {"a*F bF c?", NULL, "! c: it is not healthy"},
	    {"a*F bCF c", NULL, "! b: its alarm CORRUPT stands"},
	    {"a*F bF c-lF", NULL, "! c: it does not say how far it is"},
	    {"aF bF cF", NULL, "! no leader"},
	    {"a*F bF c<F", "b", D("b", "4.0")},
	    {"a*F bF c<oF", "b", "! c: it has yet to catch up"},
	    {"a*F bF cl<oF", "b", "! c: it has yet to catch up"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) struct survey *s = clustercase(cases[i].cluster);
		AUTO(free) struct steps *steps = NEW0(struct steps);

		plan_defrag(s, cases[i].word, &plan_defrag_by_hand, steps);
		check_steps(cases[i].cluster, steps, cases[i].want);
	}
}

static void test_defrag_thresholds(void)
{
	static const struct {
		struct plan_defrag_options options;
		const char *want;
	} cases[] = {
	    {{8000000, 0, 45, -1}, D("b", "4.0")},
	    {{8000001, 0, 45, -1}, ""},
	    {{0, 4000001, 0, -1}, ""},
	    {{0, 0, 50, -1}, D("b", "4.0")},
	    {{0, 0, 51, -1}, ""},
	    /* The disk of this machine's, and of no other. */
	    {{0, 0, 45, 4000000}, D("b", "4.0")},
	    {{0, 0, 45, 3999999}, "! b: its disk has 3999999 bytes free"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) struct survey *s = clustercase("a* b@F c");
		AUTO(free) struct steps *steps = NEW0(struct steps);

		plan_defrag(s, NULL, &cases[i].options, steps);
		check_steps("a* b@F c", steps, cases[i].want);
		s->members[1].local = false;
		plan_defrag(s, NULL, &cases[i].options, steps);
		CHECK(steps->refusal[0] == '\0');
	}
}

static void test_recover(void)
{
	static const struct {
		const char *cluster;
		int64_t quota;
		const char *want;
	} cases[] = {
	    {"a* b c", 9000000, ""},
	    {"a* bC c", 9000000, ""},
	    {"a*N b cN", 9000000,
	     "compact up to revision 53\n" D("b", "0.5")
	         D("c", "0.5") "hand the leadership from a to c\n" D(
	             "a", "0.5") "disarm NOSPACE of a\ndisarm NOSPACE of b\ndisarm NOSPACE of c\n"},
	    {"a*N", 9000000, "compact up to revision 51\n" D("a", "0.5") "disarm NOSPACE of a\n"},
	    {"a*N b c-", 9000000, "! c: it is not healthy"},
	    {"a*NC b c", 9000000, "! a: its alarm CORRUPT stands"},
	    {"a*N b c", 0, "! a: its quota is not known"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) struct survey *s = clustercase(cases[i].cluster);
		AUTO(free) struct steps *steps = NEW0(struct steps);

		for (size_t k = 0; k < s->n_answers; k++)
			s->answers[k].quota_bytes = cases[i].quota;
		plan_recover(s, -1, steps);
		check_steps(cases[i].cluster, steps, cases[i].want);
	}
}

static void test_of_one_cluster(void)
{
	static const struct {
		const char *cluster;
		bool may;
	} cases[] = {{"a* b c", true}, {"a* b c%", false}, {"a* b c%-", true}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) struct survey *s = clustercase(cases[i].cluster);
		AUTO(free) struct steps *steps = NEW0(struct steps);

		if (!CHECK(steps_of_one_cluster(s, steps) == cases[i].may))
			(void) fprintf(stderr, "  %s\n", cases[i].cluster);
		check_steps(cases[i].cluster, steps, cases[i].may ? "" : "! different clusters");
	}
}

/* Without room there is no lock, and what removes nobody does without. */
static void test_need_lock(void)
{
	AUTO(free) struct survey *s = clustercase("a*@NF bF cF");
	AUTO(free) struct steps *steps = NEW0(struct steps);
	const struct plan_disarm_options disarm = {.unchecked = true};

	for (size_t k = 0; k < s->n_answers; k++)
		s->answers[k].quota_bytes = 9000000;
	plan_leave(s, steps);
	CHECK(steps->n == 2 && steps_need_lock(steps));
	plan_remove(s, "b", steps);
	CHECK(steps->n == 1 && steps_need_lock(steps));
	plan_forfeit(s, steps);
	CHECK(steps->n == 1 && !steps_need_lock(steps));
	plan_disarm(s, &disarm, steps);
	CHECK(steps->n == 1 && !steps_need_lock(steps));
	plan_defrag(s, NULL, &plan_defrag_by_hand, steps);
	CHECK(steps->n == 4 && !steps_need_lock(steps));
	plan_recover(s, -1, steps);
	CHECK(steps->n > 4 && !steps_need_lock(steps));
}

/* The list did not come: what statuses tell is an alarm, but none that they tell says nothing. */
static void test_recover_unknown(void)
{
	static const struct {
		const char *cluster;
		const char *want;
	} cases[] = {
	    {"a*", "! the alarms are not known"},
	    {"a*N", "compact up to revision 51\n" D("a", "0.5") "disarm NOSPACE of a\n"},
	    {"a*C", "! a: its alarm CORRUPT stands"},
	    {"a", "! the cluster has no leader that answers"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) struct survey *s = clustercase(cases[i].cluster);
		AUTO(free) struct steps *steps = NEW0(struct steps);

		s->alarms_known = false;
		s->answers[0].quota_bytes = 9000000;
		plan_recover(s, -1, steps);
		check_steps(cases[i].cluster, steps, cases[i].want);
	}
}

/* What no member has stops the writes as well. */
static void test_recover_of_nobody(void)
{
	AUTO(free) struct survey *s = clustercase("a* b c");
	AUTO(free) struct steps *steps = NEW0(struct steps);

	for (size_t k = 0; k < s->n_answers; k++)
		s->answers[k].quota_bytes = 9000000;
	s->n_members = 2;
	clustercase_alarm(s, 77, ETCD_ALARM_NOSPACE);
	clustercase_alarm(s, 0, ETCD_ALARM_NOSPACE);
	clustercase_alarm(s, 1, ETCD_ALARM_NOSPACE);
	plan_recover(s, -1, steps);
	check_steps("of others", steps,
	            "compact up to revision 53\n" D("b", "0.5") "hand the leadership from a to b\n" D(
	                "a", "0.5") "disarm NOSPACE of a\ndisarm NOSPACE of b\n"
	                            "disarm NOSPACE of a member that is gone\n"
	                            "disarm NOSPACE of the cluster\n");
	CHECK_EQ_INT(steps->items[6].member, 77);

	/* Still there, and not listed any more. */
	s->n_members = 3;
	s->members[2].listed = false;
	s->alarms[0].member_id = 3;
	plan_recover(s, -1, steps);
	CHECK_EQ_INT(steps->n, 8);
	CHECK_EQ_INT(steps->items[6].member, 3);

	/* As many as there can be. */
	while (s->n_alarms < SURVEY_ALARMS_MAX)
		clustercase_alarm(s, 100 + s->n_alarms, ETCD_ALARM_NOSPACE);
	for (; s->n_members < SURVEY_MEMBERS_MAX; s->n_members++) {
		s->members[s->n_members] = s->members[0];
		s->members[s->n_members].id = 50 + s->n_members;
	}
	plan_recover(s, -1, steps);
	CHECK_EQ_INT(steps->n, 1 + 15 + 1 + 15 + SURVEY_ALARMS_MAX - 1);
}

/* --- between plan and deed --- */

static void check_step(const char *cluster, struct step step, bool may, const char *whom, bool done)
{
	AUTO(free) struct survey *s = clustercase(cluster);
	const struct survey_member *m = stepcheck_whom(&step, s);
	char why[STEPS_TEXT_MAX];

	if (!CHECK(stepcheck_may_begin(&step, s, why) == may) ||
	    !CHECK_EQ_STR(m != NULL ? m->name : "", whom) ||
	    !CHECK(stepcheck_is_done(&step, s) == done) || !CHECK((why[0] == '\0') == may))
		(void) fprintf(stderr, "  %s: '%s'\n", cluster, why);
}

static void test_check(void)
{
	struct step move = {.kind = STEP_MOVE_LEADER, .member = 1, .target = 3};
	struct step remove = {.kind = STEP_REMOVE, .member = 3};
	struct step compact = {.kind = STEP_COMPACT, .revision = 7};
	struct step defragment = {.kind = STEP_DEFRAGMENT, .member = 3};
	struct step disarm = {.kind = STEP_DISARM, .member = 3, .alarm = ETCD_ALARM_NOSPACE};

	check_step("a* b c", move, true, "a", false);
	check_step("a b* c", move, false, "a", false);
	check_step("a b c*", move, false, "a", true);
	check_step("a* b c-", move, false, "a", false);
	check_step("a* b cl", move, false, "a", false);
	check_step("a b c", move, false, "a", false);

	check_step("a* b c", remove, true, "a", false);
	check_step("a b c*", remove, true, "b", false);
	check_step("a* b- c", remove, false, "a", false);
	check_step("a* b", remove, false, "a", true);
	/* Nobody leads: a list that is short proves nothing. */
	check_step("a b", remove, false, "b", false);

	check_step("a* b cN", disarm, true, "a", false);
	check_step("a* b cC", disarm, true, "a", true);
	check_step("a- b- c-", disarm, false, "", true);
	disarm.quota_bytes = 8100000;
	check_step("a* b cN", disarm, false, "a", false);
	disarm.quota_bytes = 9000000;
	check_step("a* b cN", disarm, true, "a", false);

	check_step("a* b c", compact, true, "a", true);
	check_step("a b c", compact, true, "c", true);

	check_step("a* b c", defragment, true, "c", true);
	check_step("a b c*", defragment, false, "c", true);
	check_step("a* b- c", defragment, false, "c", false);
	check_step("a* b c-", defragment, false, "", false);
	check_step("a* b c<o", defragment, false, "c", false);
	check_step("al bl c*", defragment, true, "c", true);
}

/* How far behind one may be depends on its version. */
static void test_lag(void)
{
	static const struct {
		const char *version;
		bool well;
	} cases[] = {
	    {"3.4.37", false}, {"3.4.38", true}, {"3.5.22", false}, {"3.5.23", true}, {"3.6.0", false},
	    {"3.6.4", false},  {"3.6.5", true},  {"3.6.11", true},  {"3.7.0", true},  {"?", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) struct survey *s = clustercase("a* b c<");
		char why[STEPS_TEXT_MAX];

		(void) snprintf(s->answers[2].version, sizeof(s->answers[2].version), "%s",
		                cases[i].version);
		if (!CHECK(stepcheck_all_well(s, why) == cases[i].well))
			(void) fprintf(stderr, "  %s: %s\n", cases[i].version, why);
	}
}

static void test_answers(void)
{
	static const struct {
		enum step_kind kind;
		int r;
		bool ambiguous;
		bool goes_on;
	} cases[] = {
	    {STEP_COMPACT, 0, false, true},
	    {STEP_COMPACT, -ETIMEDOUT, true, false},
	    {STEP_COMPACT, -EAGAIN, false, false},
	    /* By one before, of whose answer nobody knew. */
	    {STEP_COMPACT, -ESTALE, false, true},
	    {STEP_DEFRAGMENT, 0, false, true},
	    {STEP_DEFRAGMENT, -ETIMEDOUT, true, false},
	    {STEP_DEFRAGMENT, -ESTALE, false, false},
	    {STEP_DISARM, -ETIMEDOUT, true, true},
	    {STEP_DISARM, -EACCES, false, false},
	    {STEP_REMOVE, -EHOSTUNREACH, true, true},
	    {STEP_MOVE_LEADER, -EPROTO, false, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct step step = {.kind = cases[i].kind};
		const struct etcd_outcome outcome = {.r = cases[i].r, .ambiguous = cases[i].ambiguous};

		if (!CHECK(stepcheck_may_have_done(&step, &outcome) == cases[i].goes_on))
			(void) fprintf(stderr, "  case %zu\n", i);
	}
}

int main(void)
{
	test_may_go();
	test_may_go_if_listed();
	test_forfeit();
	test_remove();
	test_disarm();
	test_disarm_of_nobody();
	test_corrupt_of_nobody();
	test_defrag();
	test_defrag_thresholds();
	test_recover();
	test_recover_unknown();
	test_recover_of_nobody();
	test_of_one_cluster();
	test_need_lock();
	test_check();
	test_lag();
	test_answers();
	return check_result();
}
