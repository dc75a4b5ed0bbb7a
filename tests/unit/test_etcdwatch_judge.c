/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every rule: no finding while all is well, raised after its time and not before, cleared after its
 * hold time and not before. And what holds for any observations: nothing flaps, and the same
 * observations give the same findings.
 */
#include "etcdwatch/health/judge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/health/trend.h"
#include "tests/unit/check.h"

#define STEP_S 10
#define MIB INT64_C(1048576)
#define WALL_S INT64_C(1795293000)
#define DAY_S INT64_C(86400)

/* A cluster of three that is well, and what one row makes worse in it. */
struct world {
	struct observation o;
	uint64_t fast, slow, very_slow; /* writes so far */
	uint64_t slow_commits, failed;
	int64_t grown_bytes;
};

static const double bounds[] = {0.001, 0.25, 0.5, 1, 2, INFINITY};
static const char *const expected[] = {"n1", "n2", "n3"};

static void fill_histogram(struct pagefigures_histogram *h, uint64_t fast, uint64_t slow,
                           uint64_t very_slow)
{
	const uint64_t counts[] = {
	    fast, fast, fast, fast + slow, fast + slow + very_slow, fast + slow + very_slow};

	h->n = ARRAY_SIZE(bounds);
	memcpy(h->bounds_s, bounds, sizeof(bounds));
	memcpy(h->counts, counts, sizeof(counts));
}

static void make_member(struct world *w, size_t i)
{
	struct observation_member *m = &w->o.members[i];

	*m = (struct observation_member){
	    .id = i + 1,
	    .listed = true,
	    .answer = OBSERVED_GOOD,
	    .cluster_id = 77,
	    .version = "3.5.16",
	    .leader_id = 1,
	    .raft_term = 5,
	    .committed = 100000,
	    .applied = 100000,
	    .db_bytes = 400 * MIB + w->grown_bytes,
	    .in_use_bytes = 300 * MIB,
	    .quota_bytes = 2048 * MIB,
	    .linearizable = OBSERVED_GOOD,
	    .serializable = OBSERVED_GOOD,
	    .list_known = true,
	    .n_list = 3,
	    .list_digest = 1234,
	    .page_known = true,
	    .data = OBSERVED_GOOD,
	    .not_after_s = WALL_S + 300 * DAY_S,
	    .clock_known = true,
	    .ahead_least_us = -600 * US_PER_MS,
	    .ahead_most_us = 600 * US_PER_MS,
	};
	(void) snprintf(m->name, sizeof(m->name), "n%zu", i + 1);
	m->page.started_s = 1;
	m->page.has_failed = true;
	m->page.proposals_failed = w->failed;
	fill_histogram(&m->page.fsync, w->fast, w->slow, w->very_slow);
	fill_histogram(&m->page.commit, w->fast, w->slow_commits, 0);
}

static void make_well(struct world *w, int64_t at_s)
{
	w->o = (struct observation){
	    .now_us = at_s * US_PER_S,
	    .wall_s = WALL_S,
	    .list_known = true,
	    .n_members = 3,
	    .alarms_known = true,
	    .data = OBSERVED_GOOD,
	    .expected = expected,
	    .n_expected = 3,
	    .n_files = 1,
	    .disk_known = true,
	    .data_directory = "/var/lib/etcd",
	    .free_bytes = 50000 * MIB,
	    .total_bytes = 100000 * MIB,
	    .n_jobs = 1,
	};
	(void) snprintf(w->o.files[0].path, sizeof(w->o.files[0].path), "/etc/peer.crt");
	w->o.files[0].not_after_s = WALL_S + 300 * DAY_S;
	w->o.jobs[0] = (struct observation_job){"hourly", WALL_S - 600, WALL_S + 6600, false};
	w->o.record = (struct observation_record){
	    .enabled = true,
	    .reached_s = WALL_S - 60,
	    .behind_s = 60,
	    .error = "",
	    .first_revision = 500,
	    .base_revision = 499,
	};
	w->fast += 100;
	for (size_t i = 0; i < 3; i++)
		make_member(w, i);
}

/* --- what each row makes worse -----------------------------------------------------------------
 */

static void no_answer(struct observation_member *m)
{
	m->answer = OBSERVED_BAD;
	m->linearizable = m->serializable = OBSERVED_NOTHING;
	m->list_known = m->page_known = m->clock_known = false;
	m->not_after_s = 0;
	(void) snprintf(m->error, sizeof(m->error), "refused");
}

static void no_leader(struct world *w, int64_t s UNUSED)
{
	for (size_t i = 0; i < 3; i++)
		w->o.members[i].leader_id = 0;
}

static void two_down(struct world *w, int64_t s UNUSED)
{
	no_answer(&w->o.members[1]);
	no_answer(&w->o.members[2]);
}

static void no_reads(struct world *w, int64_t s UNUSED)
{
	for (size_t i = 0; i < 3; i++)
		w->o.members[i].linearizable = OBSERVED_BAD;
}

static void one_down(struct world *w, int64_t s UNUSED)
{
	no_answer(&w->o.members[1]);
}

static void cut_off(struct world *w, int64_t s UNUSED)
{
	w->o.members[1].linearizable = OBSERVED_BAD;
}

static void own_leader(struct world *w, int64_t s UNUSED)
{
	w->o.members[1].leader_id = 2;
}

static void own_term(struct world *w, int64_t s UNUSED)
{
	w->o.members[1].raft_term = 6;
}

static void follows_none(struct world *w, int64_t s UNUSED)
{
	w->o.members[1].leader_id = 0;
}

static void lags(struct world *w, int64_t s UNUSED)
{
	w->o.members[1].applied -= 2001;
}

/* One more each minute, and then the same for ever. */
static void elections(struct world *w, int64_t s)
{
	for (size_t i = 0; i < 3; i++)
		w->o.members[i].raft_term += (uint64_t) MIN(s / 60, 4);
}

static void not_started(struct world *w, int64_t s UNUSED)
{
	w->o.members[1].name[0] = '\0';
	w->o.n_expected = 0;
}

static void learner(struct world *w, int64_t s UNUSED)
{
	w->o.members[1].learner = true;
}

static void four_voters(struct world *w, int64_t s UNUSED)
{
	w->o.n_members = 4;
	w->o.n_expected = 0;
	w->o.members[3] = w->o.members[2];
	w->o.members[3].id = 4;
}

static void two_voters(struct world *w, int64_t s UNUSED)
{
	w->o.n_members = 2;
	w->o.n_expected = 2;
}

static void other_version(struct world *w, int64_t s UNUSED)
{
	(void) snprintf(w->o.members[1].version, VIEW_VERSION_MAX, "3.5.15");
}

static void other_list(struct world *w, int64_t s UNUSED)
{
	w->o.members[1].list_digest = 4321;
}

static void other_cluster(struct world *w, int64_t s UNUSED)
{
	w->o.members[1].cluster_id = 78;
}

static void unexpected(struct world *w, int64_t s UNUSED)
{
	w->o.n_expected = 2;
}

static void missing(struct world *w, int64_t s UNUSED)
{
	static const char *const four[] = {"n1", "n2", "n3", "n4"};

	w->o.expected = four;
	w->o.n_expected = 4;
}

static void no_space(struct world *w, int64_t s UNUSED)
{
	w->o.members[1].no_space = true;
}

static void corrupt(struct world *w, int64_t s UNUSED)
{
	w->o.members[1].corrupt = true;
}

static void no_space_of_other(struct world *w, int64_t s UNUSED)
{
	w->o.other_no_space = true;
}

static void corrupt_of_other(struct world *w, int64_t s UNUSED)
{
	w->o.other_corrupt = true;
}

static void other_data(struct world *w, int64_t s UNUSED)
{
	w->o.members[1].data = OBSERVED_BAD;
}

static void different_data(struct world *w, int64_t s UNUSED)
{
	w->o.data = OBSERVED_BAD;
}

static void full(struct world *w, int64_t s UNUSED)
{
	w->o.members[1].db_bytes = w->o.members[1].quota_bytes / 100 * 96;
}

/* 10 MiB a minute, 1648 MiB to go: 2.7 hours when it begins. */
static void grows(struct world *w, int64_t s)
{
	w->o.members[1].db_bytes += s * 10 * MIB / 60;
	w->grown_bytes = MAX(w->grown_bytes, s * 10 * MIB / 60);
}

static void fragmented(struct world *w, int64_t s UNUSED)
{
	w->o.members[1].in_use_bytes = 199 * MIB;
}

static void slow(struct world *w, int64_t s UNUSED)
{
	w->slow += 5;
}

static void very_slow(struct world *w, int64_t s UNUSED)
{
	w->very_slow += 5;
}

static void slow_commits(struct world *w, int64_t s UNUSED)
{
	w->slow_commits += 5;
}

static void failing(struct world *w, int64_t s UNUSED)
{
	w->failed += 60;
}

static void file_14_days(struct world *w, int64_t s UNUSED)
{
	w->o.files[0].not_after_s = WALL_S + 14 * DAY_S - 1;
}

static void file_7_days(struct world *w, int64_t s UNUSED)
{
	w->o.files[0].not_after_s = WALL_S + 7 * DAY_S - 1;
}

static void wire_14_days(struct world *w, int64_t s UNUSED)
{
	w->o.members[1].not_after_s = WALL_S + 14 * DAY_S - 1;
}

static void wire_over(struct world *w, int64_t s UNUSED)
{
	w->o.members[1].not_after_s = WALL_S - 1;
}

static void ahead(struct world *w, int64_t s UNUSED)
{
	w->o.members[1].ahead_least_us = 1001 * US_PER_MS;
	w->o.members[1].ahead_most_us = 2100 * US_PER_MS;
}

static void behind(struct world *w, int64_t s UNUSED)
{
	w->o.members[1].ahead_least_us = -2100 * US_PER_MS;
	w->o.members[1].ahead_most_us = -1001 * US_PER_MS;
}

static void disk_low(struct world *w, int64_t s UNUSED)
{
	w->o.free_bytes = 9999 * MIB;
}

static void disk_very_low(struct world *w, int64_t s UNUSED)
{
	w->o.free_bytes = 1999 * MIB;
}

static void no_snapshot(struct world *w, int64_t s UNUSED)
{
	w->o.jobs[0].overdue_s = WALL_S;
}

static void no_drill(struct world *w, int64_t s UNUSED)
{
	w->o.jobs[0].drill_overdue = true;
}

static void gap(struct world *w, int64_t s UNUSED)
{
	w->o.record.base_revision = 498;
	w->o.record.first_lost = 499;
	w->o.record.last_lost = 499;
	(void) snprintf(w->o.record.lost_why, sizeof(w->o.record.lost_why), "compacted");
}

static void begun_anew(struct world *w, int64_t s UNUSED)
{
	w->o.record.base_revision = 0;
	(void) snprintf(w->o.record.lost_why, sizeof(w->o.record.lost_why), "went back");
}

static void record_begins_late(struct world *w, int64_t s UNUSED)
{
	w->o.record.base_revision = 498;
}

static void no_base(struct world *w, int64_t s UNUSED)
{
	w->o.record.base_revision = 0;
}

static void record_ended(struct world *w, int64_t s UNUSED)
{
	w->o.record.reached_s = WALL_S - 61;
	w->o.record.behind_s = 61;
}

static void record_ended_long_ago(struct world *w, int64_t s UNUSED)
{
	w->o.record.reached_s = WALL_S - 241;
	w->o.record.behind_s = 241;
}

static void nothing_recorded(struct world *w, int64_t s UNUSED)
{
	w->o.record.reached_s = 0;
	w->o.record.behind_s = 61;
	w->o.record.error = "the disk is full";
}

static void no_chain(struct world *w, int64_t s UNUSED)
{
	w->o.record.first_revision = 0;
}

static void record_off(struct world *w, int64_t s UNUSED)
{
	w->o.record = (struct observation_record){.behind_s = 1000};
}

#define HALF_HOUR 1800
#define WINDOW 300

static const struct row {
	enum rules_id rule;
	void (*worsen)(struct world *w, int64_t s);
	const char *subject;
	/* By how much later than its times it may be raised and cleared, because it is told from
	 * more than one observation. */
	int64_t later_s, longer_s;
} rows[] = {
    {RULE_NO_LEADER, no_leader, "", 0, 0},
    {RULE_QUORUM_LOST, two_down, "", 0, 0},
    {RULE_READS_FAIL, no_reads, "", 0, 0},
    {RULE_MEMBER_DOWN, one_down, "n2", 0, 0},
    {RULE_MEMBER_CUT_OFF, cut_off, "n2", 0, 0},
    {RULE_LEADERS_DIFFER, own_leader, "n2", 0, 0},
    {RULE_LEADERS_DIFFER, own_term, "n2", 0, 0},
    {RULE_LEADERS_DIFFER, follows_none, "n2", 0, 0},
    {RULE_APPLIED_LAG, lags, "n2", 0, 0},
    {RULE_ELECTIONS, elections, "", 240, 900},
    {RULE_MEMBER_NOT_STARTED, not_started, "2", 0, 0},
    {RULE_LEARNER_STAYS, learner, "n2", 0, 0},
    {RULE_EVEN_MEMBERS, four_voters, "", 0, 0},
    {RULE_EVEN_MEMBERS, two_voters, "", 0, 0},
    {RULE_VERSIONS_DIFFER, other_version, "", 0, 0},
    {RULE_LISTS_DIFFER, other_list, "n2", 0, 0},
    {RULE_CLUSTER_IDS_DIFFER, other_cluster, "", 0, 0},
    {RULE_MEMBER_UNEXPECTED, unexpected, "n3", 0, 0},
    {RULE_MEMBER_MISSING, missing, "n4", 0, 0},
    {RULE_NO_SPACE, no_space, "n2", 0, 0},
    {RULE_NO_SPACE, no_space_of_other, "", 0, 0},
    {RULE_CORRUPT, corrupt, "n2", 0, 0},
    {RULE_CORRUPT, corrupt_of_other, "", 0, 0},
    {RULE_DATA_DIFFERS, other_data, "n2", 0, 0},
    {RULE_DATA_DIFFERS, different_data, "", 0, 0},
    {RULE_QUOTA_LOW, full, "n2", 0, 0},
    {RULE_QUOTA_RUNWAY, grows, "n2", HALF_HOUR + 300, HALF_HOUR + 300},
    {RULE_FRAGMENTED, fragmented, "n2", 0, 0},
    {RULE_FSYNC_SLOW, slow, "n2", WINDOW, WINDOW},
    {RULE_FSYNC_VERY_SLOW, very_slow, "n2", WINDOW, WINDOW},
    {RULE_COMMIT_SLOW, slow_commits, "n2", WINDOW, WINDOW},
    {RULE_PROPOSALS_FAIL, failing, "n2", WINDOW, WINDOW},
    {RULE_CERTIFICATE_EXPIRES, file_14_days, "/etc/peer.crt", 0, 0},
    {RULE_CERTIFICATE_EXPIRES, wire_14_days, "n2", 0, 0},
    {RULE_CERTIFICATE_EXPIRES_SOON, file_7_days, "/etc/peer.crt", 0, 0},
    {RULE_CERTIFICATE_EXPIRES_SOON, wire_over, "n2", 0, 0},
    {RULE_CLOCK_SKEW, ahead, "n2", 0, 0},
    {RULE_CLOCK_SKEW, behind, "n2", 0, 0},
    {RULE_DISK_LOW, disk_low, "", 0, 0},
    {RULE_DISK_VERY_LOW, disk_very_low, "", 0, 0},
    {RULE_SNAPSHOT_OVERDUE, no_snapshot, "hourly", 0, 0},
    {RULE_DRILL_OVERDUE, no_drill, "hourly", 0, 0},
    {RULE_RECORD_GAP, gap, "", 0, 0},
    {RULE_RECORD_GAP, begun_anew, "", 0, 0},
    {RULE_RECORD_GAP, record_begins_late, "", 0, 0},
    {RULE_RECORD_GAP, no_base, "", 0, 0},
    {RULE_RECORD_BEHIND, record_ended, "", 0, 0},
    {RULE_RECORD_BEHIND, nothing_recorded, "", 0, 0},
    {RULE_RECORD_FAR_BEHIND, record_ended_long_ago, "", 0, 0},
};

/* --- what fills it -----------------------------------------------------------------------------
 */

/* Those that say that etcd is full name what fills it, as far as it is known and worth a word. */
static void test_filled(void)
{
	static const struct {
		int percents[2];
		size_t n;
		const char *more;
	} cases[] = {
	    {{0}, 0, ""},
	    {{4, 4}, 2, ""},
	    {{97, 2}, 2, "; in the newest snapshot 97 % is '/registry/events'"},
	    {{60, 31}, 2, "; in the newest snapshot 60 % is '/registry/events', 31 % '/registry/pods'"},
	};
	AUTO(free) struct rules_hits *hits = NEW0(struct rules_hits);
	AUTO(free) struct world *w = NEW0(struct world);
	AUTO(trend_free) struct trend *trend = trend_new();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		unsigned n = 0;

		make_well(w, 1000);
		full(w, 0);
		no_space(w, 0);
		w->o.n_parts = cases[i].n;
		for (size_t k = 0; k < cases[i].n; k++) {
			w->o.parts[k].percent = cases[i].percents[k];
			(void) snprintf(w->o.parts[k].prefix, sizeof(w->o.parts[k].prefix), "%s",
			                k == 0 ? "/registry/events" : "/registry/pods");
		}
		rules_look(&w->o, trend, hits);
		for (size_t k = 0; k < hits->n; k++) {
			const struct rules_hit *hit = &hits->items[k];
			const char *more = strchr(hit->sentence, ';');

			if (hit->unknown || (hit->rule != RULE_NO_SPACE && hit->rule != RULE_QUOTA_LOW))
				continue;
			CHECK_EQ_STR(more != NULL ? more : "", cases[i].more);
			n++;
		}
		CHECK_EQ_INT(n, 2);
	}
}

/* The runway too. */
static void grows_filled(struct world *w, int64_t s)
{
	grows(w, s);
	w->o.n_parts = 1;
	w->o.parts[0].percent = 90;
	(void) snprintf(w->o.parts[0].prefix, sizeof(w->o.parts[0].prefix), "/registry/x");
}

/* --- rows --------------------------------------------------------------------------------------
 */

static void ignore(const struct judge_finding *finding UNUSED, bool raised UNUSED,
                   void *userdata UNUSED)
{
}

static const struct judge_finding *find(const struct judge *j, enum rules_id rule,
                                        const char *subject)
{
	const struct judge_finding *findings[JUDGE_SLOTS_MAX];
	size_t n = judge_findings(j, findings);

	for (size_t i = 0; i < n; i++) {
		if (findings[i]->rule == &rules[rule] && strcmp(findings[i]->subject, subject) == 0)
			return findings[i];
	}
	return NULL;
}

static size_t count(const struct judge *j)
{
	const struct judge_finding *findings[JUDGE_SLOTS_MAX];

	return judge_findings(j, findings);
}

/* From `from_s` on until the finding is there, or is not; how long that took, or -1. */
static int64_t until(struct judge *j, struct world *w, const struct row *row, bool worse,
                     int64_t from_s, int64_t limit_s)
{
	for (int64_t s = 0; s <= limit_s; s += STEP_S) {
		make_well(w, from_s + s);
		if (worse)
			row->worsen(w, s);
		judge_look(j, &w->o, ignore, NULL);
		if ((find(j, row->rule, row->subject) != NULL) == worse)
			return s;
	}
	return -1;
}

static void run_row(const struct row *row)
{
	struct judge_settings settings;
	AUTO(judge_free) struct judge *j = NULL;
	AUTO(free) struct world *w = NEW0(struct world);
	const struct rules_rule *rule = &rules[row->rule];
	int64_t at_s = 1000, took_s;
	bool ok;

	judge_default_settings(&settings);
	j = judge_new(&settings);
	for (int64_t end_s = at_s + 3 * WINDOW; at_s < end_s; at_s += STEP_S) {
		make_well(w, at_s);
		judge_look(j, &w->o, ignore, NULL);
	}
	ok = CHECK_EQ_INT(count(j), 0);
	took_s = until(j, w, row, true, at_s, rule->after_s + row->later_s + STEP_S);
	ok &= CHECK(took_s >= (int64_t) rule->after_s);
	ok &= CHECK(row->later_s > 0 || took_s < (int64_t) rule->after_s + STEP_S);
	at_s += MAX(took_s, 0) + STEP_S;
	took_s = until(j, w, row, false, at_s, rule->hold_s + row->longer_s + STEP_S);
	ok &= CHECK(took_s >= (int64_t) rule->hold_s);
	ok &= CHECK(row->longer_s > 0 || took_s < (int64_t) rule->hold_s + STEP_S);
	if (!ok)
		(void) fprintf(stderr, "  at %s of '%s'\n", rule->id, row->subject);
}

static void test_rows(void)
{
	bool seen[RULES_N] = {false};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		run_row(&rows[i]);
		seen[rows[i].rule] = true;
	}
	for (size_t i = 0; i < RULES_N; i++) {
		if (!CHECK(seen[i]))
			(void) fprintf(stderr, "  no row for %s\n", rules[i].id);
		CHECK_EQ_INT(rules_find(rules[i].id), i);
	}
	CHECK_EQ_INT(rules_find("no-such-rule"), RULES_N);
}

/* --- what is between good and bad --------------------------------------------------------------
 */

static void look(struct judge *j, struct world *w, int64_t at_s,
                 void (*worsen)(struct world *w, int64_t s))
{
	make_well(w, at_s);
	if (worsen != NULL)
		worsen(w, 0);
	judge_look(j, &w->o, ignore, NULL);
}

static void test_interrupted(void)
{
	struct judge_settings settings;
	AUTO(judge_free) struct judge *j = NULL;
	AUTO(free) struct world *w = NEW0(struct world);

	judge_default_settings(&settings);
	j = judge_new(&settings);
	/* 20 s, then well for one round, then 20 s again. */
	look(j, w, 10, one_down);
	look(j, w, 30, one_down);
	look(j, w, 40, NULL);
	look(j, w, 50, one_down);
	look(j, w, 70, one_down);
	CHECK(find(j, RULE_MEMBER_DOWN, "n2") == NULL);
	look(j, w, 80, one_down);
	CHECK(find(j, RULE_MEMBER_DOWN, "n2") != NULL);
	/* It comes back for 20 s: that is still the same. */
	look(j, w, 90, NULL);
	look(j, w, 110, NULL);
	look(j, w, 115, one_down);
	CHECK_EQ_INT(find(j, RULE_MEMBER_DOWN, "n2")->since_us, 50 * US_PER_S);
	look(j, w, 120, NULL);
	look(j, w, 149, NULL);
	CHECK(find(j, RULE_MEMBER_DOWN, "n2") != NULL);
	look(j, w, 150, NULL);
	CHECK(find(j, RULE_MEMBER_DOWN, "n2") == NULL);
	/* Nobody looked for a long time. */
	look(j, w, 160, one_down);
	look(j, w, 1160, one_down);
	CHECK(find(j, RULE_MEMBER_DOWN, "n2") == NULL);
	look(j, w, 1190, one_down);
	CHECK(find(j, RULE_MEMBER_DOWN, "n2") != NULL);
}

static void not_asked(struct world *w, int64_t s UNUSED)
{
	no_answer(&w->o.members[1]);
	w->o.members[1].answer = OBSERVED_NOTHING;
}

static void not_compared(struct world *w, int64_t s UNUSED)
{
	w->o.data = OBSERVED_NOTHING;
	for (size_t i = 0; i < w->o.n_members; i++)
		w->o.members[i].data = OBSERVED_NOTHING;
}

static void gone(struct world *w, int64_t s UNUSED)
{
	w->o.members[1] = w->o.members[2];
	w->o.n_members = 2;
	w->o.n_expected = 0;
}

static void test_unknown(void)
{
	struct judge_settings settings;
	AUTO(judge_free) struct judge *j = NULL;
	AUTO(free) struct world *w = NEW0(struct world);

	judge_default_settings(&settings);
	j = judge_new(&settings);
	look(j, w, 10, not_asked);
	look(j, w, 100, not_asked);
	CHECK_EQ_INT(count(j), 0);
	look(j, w, 110, one_down);
	look(j, w, 140, one_down);
	CHECK(find(j, RULE_MEMBER_DOWN, "n2") != NULL);
	look(j, w, 1000, not_asked);
	look(j, w, 2000, not_asked);
	CHECK(find(j, RULE_MEMBER_DOWN, "n2") != NULL);
	/* A member that is no longer one is not down. */
	look(j, w, 2010, gone);
	look(j, w, 2040, gone);
	CHECK(find(j, RULE_MEMBER_DOWN, "n2") == NULL);
}

/* What nobody compared is neither the same nor different. */
static void test_not_compared(void)
{
	struct judge_settings settings;
	AUTO(judge_free) struct judge *j = NULL;
	AUTO(free) struct world *w = NEW0(struct world);

	judge_default_settings(&settings);
	j = judge_new(&settings);
	look(j, w, 10, not_compared);
	CHECK_EQ_INT(count(j), 0);
	look(j, w, 20, other_data);
	look(j, w, 30, not_compared);
	CHECK(find(j, RULE_DATA_DIFFERS, "n2") != NULL);
	CHECK_EQ_INT(count(j), 1);
	look(j, w, 40, NULL);
	CHECK_EQ_INT(count(j), 0);
}

static void test_stronger(void)
{
	struct judge_settings settings;
	AUTO(judge_free) struct judge *j = NULL;
	AUTO(free) struct world *w = NEW0(struct world);

	judge_default_settings(&settings);
	j = judge_new(&settings);
	look(j, w, 10, file_14_days);
	CHECK(find(j, RULE_CERTIFICATE_EXPIRES, "/etc/peer.crt") != NULL);
	look(j, w, 20, file_7_days);
	CHECK(find(j, RULE_CERTIFICATE_EXPIRES, "/etc/peer.crt") == NULL);
	CHECK(find(j, RULE_CERTIFICATE_EXPIRES_SOON, "/etc/peer.crt") != NULL);
	CHECK_EQ_INT(count(j), 1);
}

/* A record that is switched off, and one of which nothing is known yet. */
static void test_record(void)
{
	struct judge_settings settings;
	AUTO(judge_free) struct judge *j = NULL;
	AUTO(free) struct world *w = NEW0(struct world);
	const struct judge_finding *found;

	judge_default_settings(&settings);
	j = judge_new(&settings);
	look(j, w, 10, gap);
	look(j, w, 70, gap);
	found = find(j, RULE_RECORD_GAP, "");
	if (CHECK(found != NULL))
		CHECK_EQ_STR(found->sentence,
		             "revisions 499 to 499 are lost to the record (compacted), and no proven "
		             "snapshot is of the last of them or a later one");
	/* It stays while there is no chain, and goes with the snapshot. */
	look(j, w, 80, no_chain);
	CHECK(find(j, RULE_RECORD_GAP, "") != NULL);
	look(j, w, 90, NULL);
	CHECK_EQ_INT(count(j), 0);
	look(j, w, 100, record_off);
	look(j, w, 200, record_off);
	CHECK_EQ_INT(count(j), 0);
}

static void test_settings(void)
{
	struct judge_settings settings;
	AUTO(judge_free) struct judge *j = NULL;
	AUTO(free) struct world *w = NEW0(struct world);

	judge_default_settings(&settings);
	settings.of[RULE_CORRUPT].off = true;
	settings.of[RULE_MEMBER_DOWN].after_us = 0;
	settings.of[RULE_MEMBER_DOWN].hold_us = 0;
	j = judge_new(&settings);
	look(j, w, 10, corrupt);
	CHECK_EQ_INT(count(j), 0);
	look(j, w, 20, one_down);
	CHECK_EQ_INT(count(j), 1);
	look(j, w, 30, NULL);
	CHECK_EQ_INT(count(j), 0);
}

/* --- anything ----------------------------------------------------------------------------------
 */

#define ROUNDS 4000
#define CHANGES_MAX 20000

struct changes {
	struct change {
		enum rules_id rule;
		uint64_t number;
		bool raised;
		int64_t at_s;
	} items[CHANGES_MAX];
	size_t n;
	int64_t now_s;
};

static void note(const struct judge_finding *finding, bool raised, void *userdata)
{
	struct changes *c = userdata;

	if (c->n == CHANGES_MAX)
		return;
	c->items[c->n++] =
	    (struct change){(enum rules_id)(finding->rule - rules), finding->number, raised, c->now_s};
}

/* Several rows at once, for one round or for many, and rounds at odd intervals. */
static void live(unsigned seed, struct changes *ret)
{
	struct judge_settings settings;
	AUTO(judge_free) struct judge *j = NULL;
	AUTO(free) struct world *w = NEW0(struct world);
	bool worse[ARRAY_SIZE(rows)] = {false};
	int64_t at_s = 1000;

	judge_default_settings(&settings);
	j = judge_new(&settings);
	ret->n = 0;
	for (unsigned round = 0; round < ROUNDS; round++) {
		at_s += 1 + rand_r(&seed) % 30;
		make_well(w, at_s);
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			if (rand_r(&seed) % (worse[i] ? 20 : 200) == 0)
				worse[i] = !worse[i];
			if (worse[i])
				rows[i].worsen(w, rand_r(&seed) % 3000);
		}
		if (rand_r(&seed) % 10 == 0)
			w->o.list_known = w->o.alarms_known = w->o.disk_known = false;
		ret->now_s = at_s;
		judge_look(j, &w->o, note, ret);
	}
}

static void check_changes(const struct changes *c)
{
	CHECK(c->n > 100 && c->n < CHANGES_MAX);
	for (size_t i = 0; i < c->n; i++) {
		const struct change *change = &c->items[i], *last = NULL;

		for (size_t k = i; k-- > 0 && last == NULL;) {
			if (c->items[k].rule == change->rule && c->items[k].number == change->number)
				last = &c->items[k];
		}
		if (last == NULL) {
			CHECK(change->raised);
			continue;
		}
		CHECK(last->raised != change->raised);
		CHECK(change->at_s - last->at_s >= (int64_t) (change->raised ? rules[change->rule].after_s
		                                                             : rules[change->rule].hold_s));
	}
}

static void test_any(void)
{
	AUTO(free) struct changes *first = NEW0(struct changes);
	AUTO(free) struct changes *again = NEW0(struct changes);

	for (unsigned seed = 1; seed <= 3; seed++) {
		live(seed, first);
		check_changes(first);
		live(seed, again);
		CHECK_EQ_INT(first->n, again->n);
		CHECK(memcmp(first->items, again->items, first->n * sizeof(first->items[0])) == 0);
	}
}

/* One that was cut off raises the term by what it tried meanwhile: one election. */
static void test_elections(void)
{
	static const struct {
		int64_t s;
		uint64_t term, n;
	} cases[] = {
	    {0, 5, 0},    {10, 5, 0},   {20, 47, 1},   {30, 47, 1},   {60, 48, 2},  {120, 50, 3},
	    {919, 50, 3}, {920, 50, 2}, {1020, 50, 0}, {1030, 51, 1}, {1040, 3, 0}, {1050, 4, 1},
	};
	AUTO(trend_free) struct trend *trend = trend_new();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct world w = {0};
		uint64_t n = 77;

		make_well(&w, cases[i].s);
		w.o.now_us = cases[i].s * US_PER_S;
		for (size_t k = 0; k < 3; k++)
			w.o.members[k].raft_term = cases[i].term;
		trend_add(trend, &w.o);
		if (!CHECK(trend_elections(trend, &n)) || !CHECK_EQ_INT(n, cases[i].n))
			(void) fprintf(stderr, "  at %lld s\n", (long long) cases[i].s);
	}
}

/* What a defragmented database grows by until it is as large as before is no forecast. */
static void test_refill(void)
{
	struct judge_settings settings;
	AUTO(judge_free) struct judge *j = NULL;
	AUTO(free) struct world *w = NEW0(struct world);

	judge_default_settings(&settings);
	j = judge_new(&settings);
	for (int64_t s = 0; s <= 5 * 3600; s += STEP_S) {
		make_well(w, 1000 + s);
		w->o.members[1].db_bytes = 600 * MIB + MIN(s, 900) * 400 * MIB / 900;
		judge_look(j, &w->o, ignore, NULL);
		if (!CHECK(find(j, RULE_QUOTA_RUNWAY, "n2") == NULL)) {
			(void) fprintf(stderr, "  after %d s\n", (int) s);
			return;
		}
	}
}

static void test_runway_filled(void)
{
	const struct row row = {RULE_QUOTA_RUNWAY, grows_filled, "n2", 0, 0};
	struct judge_settings settings;
	AUTO(judge_free) struct judge *j = NULL;
	AUTO(free) struct world *w = NEW0(struct world);
	const struct judge_finding *f;

	judge_default_settings(&settings);
	j = judge_new(&settings);
	CHECK(until(j, w, &row, true, 1000, 3 * HALF_HOUR) > 0);
	f = find(j, RULE_QUOTA_RUNWAY, "n2");
	CHECK(f != NULL &&
	      strstr(f->sentence, "; in the newest snapshot 90 % is '/registry/x'") != NULL);
}

int main(void)
{
	test_filled();
	test_runway_filled();
	test_elections();
	test_rows();
	test_refill();
	test_interrupted();
	test_unknown();
	test_not_compared();
	test_stronger();
	test_record();
	test_settings();
	test_any();
	return check_result();
}
