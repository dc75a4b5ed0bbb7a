/* SPDX-License-Identifier: Apache-2.0 */
/* A row a job, with its drill, one for each target that is not as it should be, and the record. */
#include "cli/top/panels.h"

#include <string.h>

#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/fields.h"
#include "cli/common/sent.h"
#include "cli/common/size.h"
#include "cli/top/graph.h"

#define NAME_WIDTH 12
#define STATE_WIDTH 11
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
	size_t row = grid_add_row(grid), at = 1 + NAME_WIDTH;
	char age[FIELD_AGE_MAX];

	(void) grid_put(grid, row, 1, GRID_STRONG, "%.*s", NAME_WIDTH - 1,
	                field_text_or_dash(job, "job"));
	(void) grid_put(grid, row, at, is_bad ? GRID_WARNED : GRID_GOOD, "%s",
	                field_text_or_dash(job, "state"));
	at += STATE_WIDTH;
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
	at = grid_put(grid, row, 1 + NAME_WIDTH, is_bad ? GRID_WARNED : GRID_GOOD, "%s",
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
