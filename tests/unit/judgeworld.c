/* SPDX-License-Identifier: Apache-2.0 */
/* One thing is made worse by each function, and nothing besides. */
#include "tests/unit/judgeworld.h"

#include <math.h>
#include <stdio.h>

#include "base/macro.h"
#include "tests/unit/check.h"

#define WALL_S INT64_C(1795293000)
#define DAY_S INT64_C(86400)

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

void make_well(struct world *w, int64_t at_s)
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
	    .targets = {{"hourly/s3", "", WALL_S - 150, 90, 90}, {"hourly/b", "", 0, 90, 90}},
	    .n_targets = 2,
	};
	w->fast += 100;
	for (size_t i = 0; i < 3; i++)
		make_member(w, i);
}

/* --- what is worse --- */

void no_answer(struct observation_member *m)
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

void one_down(struct world *w, int64_t s UNUSED)
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

static void stored_members(struct world *w, int64_t s UNUSED)
{
	w->o.members_differ = "'n3' is a learner in the database and a voter in the member list";
	w->o.members_differ_in = "20261121T203000Z-hourly-n1-r80";
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

void no_space(struct world *w, int64_t s UNUSED)
{
	w->o.members[1].no_space = true;
}

void corrupt(struct world *w, int64_t s UNUSED)
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

void other_data(struct world *w, int64_t s UNUSED)
{
	w->o.members[1].data = OBSERVED_BAD;
}

static void different_data(struct world *w, int64_t s UNUSED)
{
	w->o.data = OBSERVED_BAD;
}

void full(struct world *w, int64_t s UNUSED)
{
	w->o.members[1].db_bytes = w->o.members[1].quota_bytes / 100 * 96;
}

/* 10 MiB a minute, 1648 MiB to go: 2.7 hours when it begins. */
void grows(struct world *w, int64_t s)
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

void file_14_days(struct world *w, int64_t s UNUSED)
{
	w->o.files[0].not_after_s = WALL_S + 14 * DAY_S - 1;
}

void file_7_days(struct world *w, int64_t s UNUSED)
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

void gap(struct world *w, int64_t s UNUSED)
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

static void target_is_late(struct world *w, int64_t s UNUSED)
{
	w->o.record.targets[0].lacks_s = 91;
}

static void target_has_nothing(struct world *w, int64_t s UNUSED)
{
	w->o.record.targets[1].lacks_s = 91;
	w->o.record.targets[1].error = "denied";
}

void no_chain(struct world *w, int64_t s UNUSED)
{
	w->o.record.first_revision = 0;
}

void record_off(struct world *w, int64_t s UNUSED)
{
	w->o.record = (struct observation_record){.behind_s = 1000};
}

const struct row rows[N_ROWS] = {
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
    {RULE_STORED_MEMBERS_DIFFER, stored_members, "", 0, 0},
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
    {RULE_RECORD_TARGET_BEHIND, target_is_late, "hourly/s3", 0, 0},
    {RULE_RECORD_TARGET_BEHIND, target_has_nothing, "hourly/b", 0, 0},
};

/* --- what is found --- */

void ignore(const struct judge_finding *finding UNUSED, bool raised UNUSED, void *userdata UNUSED)
{
}

const struct judge_finding *find(const struct judge *j, enum rules_id rule, const char *subject)
{
	const struct judge_finding *findings[JUDGE_SLOTS_MAX];
	size_t n = judge_findings(j, findings);

	for (size_t i = 0; i < n; i++) {
		if (findings[i]->rule == &rules[rule] && strcmp(findings[i]->subject, subject) == 0)
			return findings[i];
	}
	return NULL;
}

size_t count(const struct judge *j)
{
	const struct judge_finding *findings[JUDGE_SLOTS_MAX];

	return judge_findings(j, findings);
}

int64_t until(struct judge *j, struct world *w, const struct row *row, bool worse, int64_t from_s,
              int64_t limit_s)
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

void look(struct judge *j, struct world *w, int64_t at_s,
          void (*worsen)(struct world *w, int64_t s))
{
	make_well(w, at_s);
	if (worsen != NULL)
		worsen(w, 0);
	judge_look(j, &w->o, ignore, NULL);
}
