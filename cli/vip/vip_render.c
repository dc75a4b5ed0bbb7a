/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is short and in every object is a column, and the table fits 80 of them with addresses and
 * names of usual length. What is made of words, the last move and what deserves a look, is a line
 * of its own below.
 */
#include "cli/vip/vip_render.h"

#include <string.h>
#include <time.h>

#include "base/macro.h"
#include "base/mono.h"
#include "cli/common/color.h"
#include "cli/common/fields.h"
#include "cli/common/table.h"

/* --- the table --- */

/* "2.45s" of 2450. */
static void seconds_cell(struct table *table, const json_t *object, const char *key, int decimals)
{
	const json_t *ms = json_object_get(object, key);

	if (json_is_number(ms))
		table_cell(table, "%.*fs", decimals, json_number_value(ms) / 1000);
	else
		table_cell(table, "-");
}

static void rtt_cell(struct table *table, const json_t *object)
{
	const json_t *ms = json_object_get(object, "confirm_rtt_ms");

	if (json_is_number(ms))
		table_cell(table, "%.1fms", json_number_value(ms));
	else
		table_cell(table, "-");
}

static void epoch_cell(struct table *table, const json_t *object)
{
	if (json_is_integer(json_object_get(object, "epoch")))
		table_cell(table, "%lld", (long long) field_integer(object, "epoch"));
	else
		table_cell(table, "-");
}

static void add_row(struct table *table, const json_t *object)
{
	table_cell(table, "%s", field_text_or_dash(object, "vip"));
	table_cell(table, "%s", field_text_or_dash(object, "link"));
	table_cell(table, "%s", field_text_or_dash(object, "state"));
	table_cell(table, "%s", field_text_or_dash(object, "owner"));
	epoch_cell(table, object);
	seconds_cell(table, object, "fence_left_ms", 2);
	seconds_cell(table, object, "bound_ms", 1);
	rtt_cell(table, object);
	table_cell(table, "%s", field_text_or_dash(object, "health"));
}

/* --- the last move --- */

/* "10.0.0.5: moved from n2 12m ago in 3.2 s: owner silent". To whom it moved is the
 * table's to say. */
static void print_move(FILE *out, const json_t *object, int64_t wall_now_us)
{
	const json_t *move = json_object_get(object, "last_move");
	const json_t *duration_ms = json_object_get(move, "duration_ms");
	const char *time_text = field_text(move, "time");
	const char *from = field_text(move, "from");
	struct tm tm = {0};
	char age[FIELD_AGE_MAX];

	if (time_text == NULL || strptime(time_text, "%Y-%m-%dT%H:%M:%SZ", &tm) == NULL)
		return;
	table_print_safe(out, field_text_or_dash(object, "vip"));
	(void) fputs(": moved from ", out);
	table_print_safe(out, from != NULL ? from : "nobody");
	(void) fprintf(out, " %s ago", field_age(wall_now_us - (int64_t) timegm(&tm) * US_PER_S, age));
	if (json_is_number(duration_ms))
		(void) fprintf(out, " in %.1f s", json_number_value(duration_ms) / 1000);
	(void) fputs(": ", out);
	table_print_safe(out, field_text_or_dash(move, "reason"));
	(void) fputc('\n', out);
}

/* --- the notes --- */

static void note(FILE *out, const json_t *object, const char *what, const char *detail)
{
	color_print_state(out, "warning: ");
	table_print_safe(out, field_text_or_dash(object, "vip"));
	(void) fprintf(out, ": %s", what);
	table_print_safe(out, detail);
	(void) fputc('\n', out);
}

static void add_notes(FILE *out, const json_t *object)
{
	const char *state = field_text(object, "state");
	const char *health = field_text(object, "health");
	const char *foreign_mac = field_text(object, "foreign_mac");
	const char *foreign_node = field_text(object, "foreign_node");
	const char *link_problem = field_text(object, "link_problem");
	const json_t *warning;
	size_t i;

	if (link_problem != NULL)
		note(out, object, "", link_problem);
	if (state != NULL && strcmp(state, "down") == 0)
		note(out, object, "down: ", field_text_or_dash(object, "reason"));
	if (field_is_true(object, "hold"))
		note(out, object, "this node is on hold; 'fairlead vip unhold' ends that", "");
	if (health != NULL && strcmp(health, "bad") == 0)
		note(out, object, "the API server of this node is not healthy: ",
		     field_text_or_dash(object, "health_reason"));
	/* Else vipd has not asked etcd for it. */
	if (field_is_false(object, "etcd_ok") &&
	    (link_problem == NULL || field_text(object, "etcd_endpoint") != NULL))
		note(out, object, "etcd does not answer; the last endpoint tried is ",
		     field_text_or_dash(object, "etcd_endpoint"));
	if (foreign_mac != NULL)
		note(out, object,
		     field_is_true(object, "in_use") ? "a host that is not the owner answers for it: "
		                                     : "a host that is not the owner has claimed it: ",
		     foreign_mac);
	if (foreign_mac != NULL && foreign_node != NULL)
		note(out, object, "that is node ", foreign_node);
	json_array_foreach(json_object_get(object, "warnings"), i, warning)
	{
		if (json_is_string(warning) &&
		    (link_problem == NULL || strcmp(json_string_value(warning), link_problem) != 0))
			note(out, object, "", json_string_value(warning));
	}
}

void vip_render_status(FILE *out, const json_t *objects, int64_t wall_now_us)
{
	static const struct table_column columns[] = {
	    {"VIP", TABLE_LEFT},    {"LINK", TABLE_LEFT},   {"STATE", TABLE_STATE},
	    {"OWNER", TABLE_LEFT},  {"EPOCH", TABLE_RIGHT}, {"FENCE", TABLE_RIGHT},
	    {"BOUND", TABLE_RIGHT}, {"RTT", TABLE_RIGHT},   {"HEALTH", TABLE_STATE},
	};
	AUTO(table_free) struct table *table = NULL;
	const json_t *object;
	size_t i;

	if (json_array_size(objects) == 0) {
		(void) fputs("no VIP is configured on this node\n", out);
		return;
	}
	(void) fputs("node ", out);
	table_print_safe(out, field_text_or_dash(json_array_get(objects, 0), "node"));
	(void) fputc('\n', out);
	table = table_new(columns, ARRAY_SIZE(columns));
	json_array_foreach(objects, i, object)
	{
		add_row(table, object);
	}
	table_print(table, out);
	json_array_foreach(objects, i, object)
	{
		print_move(out, object, wall_now_us);
	}
	json_array_foreach(objects, i, object)
	{
		add_notes(out, object);
	}
}
