/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each column is a function from the object to its cell, each note one from the object to a line.
 * Both stand in tables, in the order in which they are shown.
 */
#include "cli/vip_render.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "base/macro.h"
#include "base/mono.h"
#include "cli/table.h"

/* --- fields ----------------------------------------------------------------------------------- */

/* NULL when it is not there, or not text. */
static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static const char *text_or_dash(const json_t *object, const char *key)
{
	const char *text = text_of(object, key);

	return text != NULL && text[0] != '\0' ? text : "-";
}

static bool is_true(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}

static bool is_false(const json_t *object, const char *key)
{
	return json_is_false(json_object_get(object, key));
}

/* --- the table -------------------------------------------------------------------------------- */

/* "2.45 s" of 2450. */
static void seconds_cell(struct table *table, const json_t *object, const char *key, int decimals)
{
	const json_t *ms = json_object_get(object, key);

	if (json_is_number(ms))
		table_cell(table, "%.*f s", decimals, json_number_value(ms) / 1000);
	else
		table_cell(table, "-");
}

static void rtt_cell(struct table *table, const json_t *object)
{
	const json_t *ms = json_object_get(object, "confirm_rtt_ms");

	if (json_is_number(ms))
		table_cell(table, "%.1f ms", json_number_value(ms));
	else
		table_cell(table, "-");
}

static void epoch_cell(struct table *table, const json_t *object)
{
	const json_t *epoch = json_object_get(object, "epoch");

	if (json_is_integer(epoch))
		table_cell(table, "%lld", (long long) json_integer_value(epoch));
	else
		table_cell(table, "-");
}

/* "12m", and "0s" for what two clocks put into the future. */
static void format_age(int64_t age_us, char *buf, size_t size)
{
	long long s = MAX(age_us, 0) / US_PER_S;

	if (s < 60)
		(void) snprintf(buf, size, "%llds", s);
	else if (s < 3600)
		(void) snprintf(buf, size, "%lldm", s / 60);
	else if (s < 48 * 3600LL)
		(void) snprintf(buf, size, "%lldh", s / 3600);
	else
		(void) snprintf(buf, size, "%lldd", s / 86400);
}

static void last_move_cell(struct table *table, const json_t *object, int64_t wall_now_us)
{
	const json_t *move = json_object_get(object, "last_move");
	const char *time_text = text_of(move, "time");
	struct tm tm = {0};
	char age[32];

	if (time_text == NULL || strptime(time_text, "%Y-%m-%dT%H:%M:%SZ", &tm) == NULL) {
		table_cell(table, "-");
		return;
	}
	format_age(wall_now_us - (int64_t) timegm(&tm) * US_PER_S, age, sizeof(age));
	table_cell(table, "%s ago, %s", age, text_or_dash(move, "reason"));
}

static void add_row(struct table *table, const json_t *object, int64_t wall_now_us)
{
	table_cell(table, "%s", text_or_dash(object, "vip"));
	table_cell(table, "%s", text_or_dash(object, "link"));
	table_cell(table, "%s", text_or_dash(object, "node"));
	table_cell(table, "%s", text_or_dash(object, "state"));
	table_cell(table, "%s", text_or_dash(object, "owner"));
	epoch_cell(table, object);
	seconds_cell(table, object, "fence_left_ms", 2);
	seconds_cell(table, object, "bound_ms", 1);
	rtt_cell(table, object);
	table_cell(table, "%s", text_or_dash(object, "health"));
	last_move_cell(table, object, wall_now_us);
}

/* --- the notes -------------------------------------------------------------------------------- */

static void note(FILE *out, const json_t *object, const char *what, const char *detail)
{
	(void) fputs("warning: ", out);
	table_print_safe(out, text_or_dash(object, "vip"));
	(void) fprintf(out, ": %s", what);
	table_print_safe(out, detail);
	(void) fputc('\n', out);
}

static void add_notes(FILE *out, const json_t *object)
{
	const char *state = text_of(object, "state");
	const char *health = text_of(object, "health");
	const char *foreign_mac = text_of(object, "foreign_mac");
	const json_t *warning;
	size_t i;

	if (state != NULL && strcmp(state, "down") == 0)
		note(out, object, "down: ", text_or_dash(object, "reason"));
	if (is_true(object, "hold"))
		note(out, object, "this node is on hold; 'fairlead vip unhold' ends that", "");
	if (health != NULL && strcmp(health, "bad") == 0)
		note(out, object,
		     "the API server of this node is not healthy: ", text_or_dash(object, "health_reason"));
	if (is_false(object, "etcd_ok"))
		note(out, object, "etcd does not answer; the last endpoint tried is ",
		     text_or_dash(object, "etcd_endpoint"));
	if (foreign_mac != NULL)
		note(out, object, "a host that is not the owner has claimed it: ", foreign_mac);
	json_array_foreach(json_object_get(object, "warnings"), i, warning)
	{
		if (json_is_string(warning))
			note(out, object, "", json_string_value(warning));
	}
}

void vip_render_status(FILE *out, const json_t *objects, int64_t wall_now_us)
{
	static const struct table_column columns[] = {
	    {"VIP", TABLE_LEFT},         {"LINK", TABLE_LEFT},      {"NODE", TABLE_LEFT},
	    {"STATE", TABLE_LEFT},       {"OWNER", TABLE_LEFT},     {"EPOCH", TABLE_RIGHT},
	    {"FENCE LEFT", TABLE_RIGHT}, {"BOUND", TABLE_RIGHT},    {"RTT", TABLE_RIGHT},
	    {"HEALTH", TABLE_LEFT},      {"LAST MOVE", TABLE_LEFT},
	};
	AUTO(table_free) struct table *table = NULL;
	const json_t *object;
	size_t i;

	if (json_array_size(objects) == 0) {
		(void) fputs("no VIP is configured on this node\n", out);
		return;
	}
	table = table_new(columns, ARRAY_SIZE(columns));
	json_array_foreach(objects, i, object)
	{
		add_row(table, object, wall_now_us);
	}
	table_print(table, out);
	json_array_foreach(objects, i, object)
	{
		add_notes(out, object);
	}
}
