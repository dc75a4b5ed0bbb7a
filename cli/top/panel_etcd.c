/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the watchdog has found, then a row a member: role, database, how far it is behind, alarms.
 */
#include "cli/top/panels.h"

#include <string.h>

#include "base/mono.h"
#include "cli/common/fields.h"
#include "cli/top/grid.h"

#define NAME_WIDTH 16
#define NAME_WIDTH_NARROW 13
#define ROLE_WIDTH 10
#define BAR_WIDTH 10
#define BAR_WIDTH_NARROW 6
#define WIDE_COLUMNS 70
#define TEXT_WIDTH 9
#define LAG_WIDTH 9
#define LAG_MUCH 1000 /* entries */
#define FULL 0.8      /* of the quota, from which on it is shown as near */

static const char *role_of(const json_t *member)
{
	if (field_is_true(member, "leads"))
		return "leader";
	return field_is_true(member, "learner") ? "learner" : "follower";
}

/* The farthest that any member has come. */
static json_int_t newest_index(const json_t *members)
{
	json_int_t newest = 0;
	const json_t *member;
	size_t i;

	json_array_foreach(members, i, member) newest =
	    MAX(newest, field_integer(member, "raft_index"));
	return newest;
}

/* The column behind them; the same if there is none. */
static size_t draw_alarms(struct grid *grid, size_t row, size_t at, const json_t *alarms,
                          const char *node)
{
	const json_t *alarm;
	size_t i;

	json_array_foreach(alarms, i, alarm)
	{
		if (strcmp(field_text_or_dash(alarm, "node"), node) == 0)
			at = grid_put(grid, row, at, GRID_BAD, " %s", field_text_or_dash(alarm, "alarm"));
	}
	return at;
}

static size_t draw_database(struct grid *grid, size_t row, size_t at, const json_t *member,
                            bool is_ascii)
{
	json_int_t bytes = field_integer(member, "db_bytes"),
	           quota = field_integer(member, "quota_bytes");
	double part = quota > 0 ? (double) bytes / (double) quota : 0;
	size_t bar = grid_columns(grid) < WIDE_COLUMNS ? BAR_WIDTH_NARROW : BAR_WIDTH;
	char size[SIZE_TEXT_MAX];

	(void) graph_bar(grid, row, at, bar, part, part > FULL ? GRID_BAD : GRID_GOOD, is_ascii);
	(void) grid_put(grid, row, at + bar, GRID_PLAIN, " %8s", size_text(bytes, size));
	return at + bar + TEXT_WIDTH;
}

static void draw_figures(struct grid *grid, size_t row, size_t at, const json_t *member,
                         json_int_t newest)
{
	const json_t *read_ms = json_object_get(member, "read_ms");
	json_int_t lag = newest - field_integer(member, "raft_applied_index");

	(void) grid_put(grid, row, at, lag > LAG_MUCH ? GRID_WARNED : GRID_PLAIN, " lag %-4lld",
	                (long long) MAX(lag, 0));
	at += LAG_WIDTH;
	if (json_is_number(read_ms))
		(void) grid_put(grid, row, at, GRID_PLAIN, "%7.1fms", json_number_value(read_ms));
	else if (field_is_false(member, "serves"))
		(void) grid_put(grid, row, at, GRID_BAD, " no reads");
}

static void draw_member(struct grid *grid, const json_t *member, json_int_t newest,
                        const json_t *alarms, bool is_ascii)
{
	const char *node = field_text_or_dash(member, "node");
	size_t name = grid_columns(grid) < WIDE_COLUMNS ? NAME_WIDTH_NARROW : NAME_WIDTH;
	size_t row = grid_add_row(grid), at = 1 + name, behind;

	(void) grid_put(grid, row, 1, GRID_STRONG, "%.*s", (int) name - 1, node);
	if (field_text(member, "error") != NULL) {
		(void) grid_put(grid, row, at, GRID_BAD, "%s", field_text(member, "error"));
		return;
	}
	(void) grid_put(grid, row, at, field_is_true(member, "leads") ? GRID_GOOD : GRID_PLAIN, "%s",
	                role_of(member));
	at = draw_database(grid, row, at + ROLE_WIDTH, member, is_ascii);
	behind = draw_alarms(grid, row, at, alarms, node);
	/* An alarm matters more than these do. */
	if (behind == at)
		draw_figures(grid, row, at, member, newest);
}

static void draw_finding(struct grid *grid, const json_t *finding, int64_t wall_us)
{
	bool is_critical = strcmp(field_text_or_dash(finding, "severity"), "critical") == 0;
	size_t row = grid_add_row(grid), at;
	char age[FIELD_AGE_MAX];

	at = grid_put(grid, row, 1, is_critical ? GRID_BAD : GRID_WARNED, "%s",
	              field_text_or_dash(finding, "id"));
	(void) grid_put(grid, row, at, GRID_PLAIN, " %s: %s",
	                field_age(wall_us - field_integer(finding, "since_s") * US_PER_S, age),
	                field_text_or_dash(finding, "sentence"));
}

void panel_etcd(struct grid *grid, const struct model *model, int64_t now_us UNUSED,
                int64_t wall_us, bool is_ascii)
{
	const json_t *health = model_objects(model, NODE_HEALTH);
	const json_t *members = model_objects(model, NODE_MEMBERS);
	const json_t *alarms = model_objects(model, NODE_ALARMS), *object;
	json_int_t newest = newest_index(members);
	size_t i;

	json_array_foreach(health, i, object)
	{
		if (i > 0 && strcmp(field_text_or_dash(object, "severity"), "critical") == 0)
			draw_finding(grid, object, wall_us);
	}
	json_array_foreach(members, i, object) draw_member(grid, object, newest, alarms, is_ascii);
	json_array_foreach(health, i, object)
	{
		if (i > 0 && strcmp(field_text_or_dash(object, "severity"), "critical") != 0)
			draw_finding(grid, object, wall_us);
	}
}

/* --- snapshots --- */

/*
 * A row a job, with its drill, one for each target that is not as it should be, and the record.
 */

#define JOB_WIDTH 12
#define JOB_STATE_WIDTH 11
#define BAR_WIDTH 10

static const char *age_of(const json_t *object, const char *key, char age[static FIELD_AGE_MAX])
{
	if (!json_is_integer(json_object_get(object, key)))
		return "-";
	return field_age((int64_t) field_integer(object, key) * US_PER_S, age);
}

static size_t draw_drill(struct grid *grid, size_t row, size_t at, const json_t *drill)
{
	char age[FIELD_AGE_MAX];

	if (!json_is_object(drill))
		return at;
	if (field_text(drill, "phase") != NULL)
		return grid_put(grid, row, at, GRID_STRONG, "  drill: %s", field_text(drill, "phase"));
	if (field_is_true(drill, "failed"))
		return grid_put(grid, row, at, GRID_BAD, "  drill failed %s",
		                age_of(drill, "last_age_s", age));
	return grid_put(grid, row, at, field_is_true(drill, "overdue") ? GRID_WARNED : GRID_PLAIN,
	                "  drill %s", age_of(drill, "last_good_age_s", age));
}

static void draw_job(struct grid *grid, const json_t *job, bool is_ascii)
{
	bool is_bad = field_text(job, "error") != NULL || field_text(job, "frozen") != NULL;
	json_int_t of = field_integer(job, "taken_of_bytes");
	size_t row = grid_add_row(grid), at = 1 + JOB_WIDTH;
	char age[FIELD_AGE_MAX];

	(void) grid_put(grid, row, 1, GRID_STRONG, "%.*s", JOB_WIDTH - 1,
	                field_text_or_dash(job, "job"));
	(void) grid_put(grid, row, at, is_bad ? GRID_WARNED : GRID_GOOD, "%s",
	                field_text_or_dash(job, "state"));
	at += JOB_STATE_WIDTH;
	if (of > 0)
		at = graph_bar(grid, row, at, BAR_WIDTH,
		               (double) field_integer(job, "taken_bytes") / (double) of, GRID_GOOD,
		               is_ascii);
	else
		at = grid_put(grid, row, at, GRID_PLAIN, "next %-4s", age_of(job, "next_due_s", age));
	at = grid_put(grid, row, at, GRID_PLAIN, "  proven %s", age_of(job, "last_good_age_s", age));
	at = draw_drill(grid, row, at, json_object_get(job, "drill"));
	(void) grid_put(grid, row, at, GRID_DIM, "  %lld kept",
	                (long long) field_integer(job, "snapshots"));
}

static void draw_target(struct grid *grid, const json_t *target, bool is_ascii)
{
	const char *error = field_text(target, "error");
	long long pending = (long long) field_integer(target, "pending");
	AUTO(free) char *sent = sent_text(target);
	size_t row, at;

	if (error == NULL && pending == 0)
		return;
	row = grid_add_row(grid);
	at = grid_put(grid, row, 3, GRID_PLAIN, "to %s: ", field_text_or_dash(target, "target"));
	if (error != NULL) {
		(void) grid_put(grid, row, at, GRID_WARNED, "%s", error);
		return;
	}
	at = grid_put(grid, row, at, GRID_PLAIN, "%s ", field_text_or_dash(target, "state"));
	if (sent != NULL) {
		at = graph_bar(grid, row, at, BAR_WIDTH, sent_part(target), GRID_GOOD, is_ascii);
		at = grid_put(grid, row, at, GRID_PLAIN, " %s%s", sent, pending > 1 ? "," : "");
	}
	/* The one that is being sent is one of them. */
	if (sent == NULL || pending > 1)
		(void) grid_put(grid, row, at, GRID_PLAIN, " %lld pending", pending);
}

static void draw_targets(struct grid *grid, const json_t *job, bool is_ascii)
{
	const json_t *target;
	size_t i;

	json_array_foreach(json_object_get(job, "targets"), i, target)
	    draw_target(grid, target, is_ascii);
}

static void draw_record(struct grid *grid, const json_t *status)
{
	const json_t *behind_ms = json_object_get(status, "recoverable_age_ms");
	bool is_bad = field_text(status, "error") != NULL;
	size_t row, at;
	char size[SIZE_TEXT_MAX];

	if (status == NULL)
		return;
	row = grid_add_row(grid);
	(void) grid_put(grid, row, 1, GRID_STRONG, "record");
	at = grid_put(grid, row, 1 + JOB_WIDTH, is_bad ? GRID_WARNED : GRID_GOOD, "%s",
	              field_text_or_dash(status, "state"));
	if (json_is_number(behind_ms))
		at = grid_put(grid, row, at, GRID_PLAIN, "  whole until %.1fs ago",
		              json_number_value(behind_ms) / 1000);
	(void) grid_put(grid, row, at, GRID_DIM, "  %s",
	                size_text(field_integer(status, "bytes"), size));
}

void panel_snapshots(struct grid *grid, const struct model *model, int64_t now_us UNUSED,
                     int64_t wall_us UNUSED, bool is_ascii)
{
	const json_t *jobs = model_objects(model, NODE_JOBS), *job;
	size_t i;

	json_array_foreach(jobs, i, job) draw_job(grid, job, is_ascii);
	draw_record(grid, json_array_get(model_objects(model, NODE_RECORD), 0));
	json_array_foreach(jobs, i, job) draw_targets(grid, job, is_ascii);
}
