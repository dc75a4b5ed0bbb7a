/* SPDX-License-Identifier: Apache-2.0 */
/* What the watchdog has found, then a row a member: role, database, how far it is behind, alarms.
 */
#include "cli/top/panels.h"

#include <string.h>

#include "base/mono.h"
#include "cli/common/fields.h"
#include "cli/common/size.h"
#include "cli/top/graph.h"

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
