/* SPDX-License-Identifier: Apache-2.0 */
/* Who takes: verdicts and classes by tables, and what holds for any order. */
#include "etcdwatch/take/rank.h"

#include <stdlib.h>

#include "base/macro.h"
#include "tests/unit/check.h"

#define MEMBERS_MAX 5
#define JOB "hourly"
#define PERIOD_S 1795293000

/* A member as it should be, and what is not so. */
enum {
	NOT_STARTED = 1 << 0,
	LEARNER = 1 << 1,
	CORRUPT = 1 << 2,
	SILENT = 1 << 3,
};

struct row {
	uint64_t id; /* 0 ends the list */
	unsigned flags;
	uint64_t leader_id;
	uint64_t committed, applied;
	const char *verdict;
	unsigned class; /* of candidates: those of a lower one are before it */
};

static const struct {
	const char *name;
	struct row rows[MEMBERS_MAX + 1];
	uint64_t self_id;
	bool self_unfit;
	uint64_t leader_id;
} tables[] = {
    {"three that are well",
     {{1, 0, 2, 100, 100, "candidate", 0},
      {2, 0, 2, 100, 100, "candidate", 1},
      {3, 0, 2, 100, 100, "candidate", 0}},
     1,
     false,
     2},
    {"one alone", {{7, 0, 7, 100, 100, "candidate", 0}}, 7, false, 7},
    {"nobody", {{0}}, 0, false, 0},
    {"a learner, and one that was never started",
     {{1, LEARNER, 2, 100, 100, "learner", 0},
      {2, 0, 2, 100, 100, "candidate", 0},
      {3, NOT_STARTED | SILENT, 0, 0, 0, "not-started", 0}},
     1,
     false,
     2},
    {"only the leader answers",
     {{1, SILENT, 0, 0, 0, "silent", 0},
      {2, 0, 2, 100, 100, "candidate", 0},
      {3, SILENT, 0, 0, 0, "silent", 0}},
     2,
     false,
     2},
    {"what a silent one once said does not count",
     {{1, SILENT, 1, 90000, 90000, "silent", 0},
      {2, SILENT, 1, 90000, 90000, "silent", 0},
      {3, 0, 3, 100, 100, "candidate", 0}},
     3,
     false,
     3},
    {"as far behind as may be, and one further",
     {{1, 0, 3, 5000, 3000, "candidate", 0},
      {2, 0, 3, 5000, 2999, "behind", 0},
      {3, 0, 3, 5000, 5000, "candidate", 1}},
     1,
     false,
     3},
    {"behind what others have committed",
     {{1, 0, 3, 1000, 1000, "behind", 0},
      {2, 0, 3, 4990, 4980, "candidate", 0},
      {3, 0, 3, 5000, 5000, "candidate", 1}},
     1,
     false,
     3},
    {"a leader that does not apply",
     {{1, 0, 3, 5000, 5000, "candidate", 0},
      {2, 0, 3, 5000, 5000, "candidate", 0},
      {3, 0, 3, 5000, 1000, "behind", 0}},
     1,
     false,
     3},
    {"a learner's index is no measure",
     {{1, LEARNER, 3, 90000, 100, "learner", 0}, {3, 0, 3, 5000, 5000, "candidate", 0}},
     3,
     false,
     3},
    {"one without a leader",
     {{1, 0, 0, 100, 100, "leaderless", 0},
      {2, 0, 3, 100, 100, "candidate", 0},
      {3, 0, 3, 100, 100, "candidate", 1}},
     2,
     false,
     3},
    {"a deposed leader that still follows itself, with a log of its own",
     {{1, 0, 1, 99999, 99999, "leaderless", 0},
      {2, 0, 3, 100, 100, "candidate", 0},
      {3, 0, 3, 100, 100, "candidate", 1}},
     2,
     false,
     3},
    {"no leader at all",
     {{1, 0, 0, 100, 100, "leaderless", 0}, {2, 0, 0, 100, 100, "leaderless", 0}},
     1,
     false,
     0},
    {"two leaders with as many followers",
     {{1, 0, 1, 100, 100, "candidate", 0}, {2, 0, 2, 100, 100, "leaderless", 0}},
     1,
     false,
     1},
    {"the same, as another node lists them",
     {{2, 0, 2, 100, 100, "leaderless", 0}, {1, 0, 1, 100, 100, "candidate", 0}},
     1,
     false,
     1},
    {"one that applied more than anybody says is committed",
     {{1, 0, 2, 100, 200, "candidate", 0}, {2, 0, 2, 100, 100, "candidate", 1}},
     1,
     false,
     2},
    {"a leader that is no member any more",
     {{1, 0, 9, 100, 100, "candidate", 0}, {2, 0, 9, 100, 100, "candidate", 0}},
     1,
     false,
     9},
    {"this node passes",
     {{1, 0, 3, 100, 100, "unfit", 0},
      {2, 0, 3, 100, 100, "candidate", 0},
      {3, 0, 3, 100, 100, "candidate", 1}},
     1,
     true,
     3},
    {"only this one passes", {{1, 0, 1, 100, 100, "unfit", 0}}, 1, true, 1},
    {"a corrupt one comes last, behind the leader",
     {{1, CORRUPT, 2, 100, 100, "candidate", 2},
      {2, 0, 2, 100, 100, "candidate", 1},
      {3, 0, 2, 100, 100, "candidate", 0}},
     1,
     false,
     2},
    {"all corrupt",
     {{1, CORRUPT, 2, 100, 100, "candidate", 2}, {2, CORRUPT, 2, 100, 100, "candidate", 2}},
     1,
     false,
     2},
    {"indices at the end of numbers",
     {{1, 0, 2, UINT64_MAX, UINT64_MAX, "candidate", 0},
      {2, 0, 2, UINT64_MAX, UINT64_MAX - 2000, "candidate", 1},
      {3, 0, 2, 0, 0, "behind", 0}},
     1,
     false,
     2},
};

static struct rank_member make_member(const struct row *row)
{
	return (struct rank_member){
	    .id = row->id,
	    .is_started = (row->flags & NOT_STARTED) == 0,
	    .is_learner = (row->flags & LEARNER) != 0,
	    .is_corrupt = (row->flags & CORRUPT) != 0,
	    .answered = (row->flags & SILENT) == 0,
	    .leader_id = row->leader_id,
	    .committed = row->committed,
	    .applied = row->applied,
	};
}

static void run_table(size_t t)
{
	struct rank_member members[MEMBERS_MAX];
	struct rank_facts facts = {members, 0, tables[t].self_id, !tables[t].self_unfit, JOB, PERIOD_S};
	const struct row *rows = tables[t].rows;
	struct rank_order order;
	size_t n_candidates = 0;

	for (; rows[facts.n_members].id != 0; facts.n_members++)
		members[facts.n_members] = make_member(&rows[facts.n_members]);
	rank_decide(&facts, &order);
	CHECK_EQ_INT(order.n, facts.n_members);
	CHECK_EQ_INT(order.leader_id, tables[t].leader_id);
	for (size_t i = 0; i < facts.n_members; i++) {
		const struct rank_place *place = rank_find(&order, rows[i].id);
		bool is_candidate = strcmp(rows[i].verdict, "candidate") == 0;

		if (!CHECK(place != NULL) ||
		    !CHECK_EQ_STR(rank_verdict_name(place->verdict), rows[i].verdict) ||
		    !CHECK_EQ_INT(place->delay_us,
		                  is_candidate ? (place - order.places) * RANK_STEP_US : 0))
			(void) fprintf(stderr, "  '%s', member %zu\n", tables[t].name, i);
		n_candidates += is_candidate;
		for (size_t k = 0; k < facts.n_members && is_candidate; k++) {
			if (strcmp(rows[k].verdict, "candidate") == 0 && rows[k].class < rows[i].class &&
			    !CHECK(rank_find(&order, rows[k].id) < place))
				(void) fprintf(stderr, "  '%s', members %zu and %zu\n", tables[t].name, k, i);
		}
	}
	CHECK_EQ_INT(order.n_candidates, n_candidates);
	CHECK(rank_find(&order, 4711) == NULL);
}

/* --- what holds for any --- */

static void make_cluster(struct rank_member members[MEMBERS_MAX], uint64_t distance)
{
	static const uint64_t leader_id = 0x1e9e05c52164694d;

	for (size_t i = 0; i < MEMBERS_MAX; i++) {
		const struct row row = {leader_id + i * distance, 0, leader_id, 100, 100, "", 0};

		members[i] = make_member(&row);
	}
}

/* Every node has the members in its own order, and all must come to the same. */
static void test_all_agree(void)
{
	struct rank_member members[MEMBERS_MAX], turned[MEMBERS_MAX];
	struct rank_facts facts = {members, MEMBERS_MAX, 1, true, JOB, PERIOD_S};
	struct rank_order first, other;

	make_cluster(members, 0x1234567);
	rank_decide(&facts, &first);
	for (size_t by = 1; by < MEMBERS_MAX; by++) {
		for (size_t i = 0; i < MEMBERS_MAX; i++)
			turned[i] = members[(i + by) % MEMBERS_MAX];
		facts.members = turned;
		facts.self_id = by;
		rank_decide(&facts, &other);
		for (size_t i = 0; i < MEMBERS_MAX; i++)
			CHECK(other.places[i].id == first.places[i].id);
	}
}

/* The others move up, and do not change places. */
static void test_one_is_missing(void)
{
	struct rank_member members[MEMBERS_MAX];
	struct rank_facts facts = {members, MEMBERS_MAX, 1, true, JOB, PERIOD_S};
	struct rank_order all, less;

	for (size_t missing = 0; missing < MEMBERS_MAX; missing++) {
		size_t at = 0;

		make_cluster(members, 0x1234567);
		rank_decide(&facts, &all);
		members[missing].answered = false;
		rank_decide(&facts, &less);
		CHECK_EQ_INT(less.n_candidates, MEMBERS_MAX - 1);
		for (size_t i = 0; i < MEMBERS_MAX; i++) {
			if (all.places[i].id != members[missing].id)
				CHECK(less.places[at++].id == all.places[i].id);
		}
	}
}

/* Each follower takes about as often as the others, whatever the ids; the leader never first. */
static void check_takers_change(uint64_t distance)
{
	enum { PERIODS = 4000 };
	struct rank_member members[MEMBERS_MAX];
	struct rank_facts facts = {members, MEMBERS_MAX, 1, true, JOB, PERIOD_S};
	unsigned first[MEMBERS_MAX] = {0}, same_for_other_job = 0;

	make_cluster(members, distance);
	for (unsigned period = 0; period < PERIODS; period++) {
		struct rank_order order, other;

		facts.period_s = PERIOD_S + period * INT64_C(3600);
		facts.job = JOB;
		rank_decide(&facts, &order);
		for (size_t i = 0; i < MEMBERS_MAX; i++)
			first[i] += order.places[0].id == members[i].id;
		facts.job = "nightly";
		rank_decide(&facts, &other);
		same_for_other_job += other.places[0].id == order.places[0].id;
	}
	CHECK_EQ_INT(first[0], 0);
	for (size_t i = 1; i < MEMBERS_MAX; i++) {
		if (!CHECK(first[i] > PERIODS / 4 - 150 && first[i] < PERIODS / 4 + 150))
			(void) fprintf(stderr, "  member %zu is first %u times\n", i, first[i]);
	}
	CHECK(same_for_other_job < PERIODS / 3);
}

static void test_too_many(void)
{
	struct rank_member members[RANK_MEMBERS_MAX + 1] = {{0}};
	struct rank_facts facts = {members, RANK_MEMBERS_MAX + 1, 1, true, JOB, PERIOD_S};
	struct rank_order order;

	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		const struct row row = {i + 1, 0, 1, 100, 100, "", 0};

		members[i] = make_member(&row);
	}
	rank_decide(&facts, &order);
	CHECK_EQ_INT(order.n, RANK_MEMBERS_MAX);
	CHECK_EQ_INT(order.n_candidates, RANK_MEMBERS_MAX);
	CHECK(order.places[RANK_MEMBERS_MAX - 1].id == 1);
}

int main(void)
{
	for (size_t t = 0; t < ARRAY_SIZE(tables); t++)
		run_table(t);
	test_all_agree();
	test_one_is_missing();
	check_takers_change(1);
	check_takers_change(0x1234567);
	check_takers_change(UINT64_C(1) << 56);
	test_too_many();
	return check_result();
}
