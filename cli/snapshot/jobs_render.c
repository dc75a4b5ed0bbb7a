/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of jobs or of snapshots; below the jobs, a line for each thing that deserves a look.
 */
#include "cli/common/cli.h"
#include "cli/snapshot/jobs_render.h"

#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/snapshot/drill.h"
#include "cli/common/table.h"
#include "cli/common/fields.h"

/* --- jobs --- */

static void age_cell(struct table *table, const json_t *object, const char *key, const char *before)
{
	char age[FIELD_AGE_MAX];

	if (json_is_integer(json_object_get(object, key)))
		table_cell(table, "%s%s", before,
		           field_age((int64_t) field_integer(object, key) * US_PER_S, age));
	else
		table_cell(table, "-");
}

/* With how far it is in it, while it lasts. */
static void state_cell(struct table *table, const json_t *job)
{
	json_int_t of = field_integer(job, "taken_of_bytes");

	if (of > 0)
		table_cell(table, "%s %lld%%", field_text_or_dash(job, "state"),
		           (long long) (100 * (double) field_integer(job, "taken_bytes") / (double) of));
	else
		table_cell(table, "%s", field_text_or_dash(job, "state"));
}

static void due_cell(struct table *table, const json_t *job)
{
	if (field_integer(job, "next_due_s") <= 0 && !field_is_true(job, "period_done"))
		table_cell(table, "now");
	else
		age_cell(table, job, "next_due_s", "in ");
}

static void add_job(struct table *table, const json_t *job)
{
	char size[SIZE_TEXT_MAX];

	table_cell(table, "%s", field_text_or_dash(job, "job"));
	state_cell(table, job);
	table_cell(table, "%s", field_text_or_dash(job, "done_by"));
	age_cell(table, job, "last_good_age_s", "");
	table_cell(table, "%lld", (long long) field_integer(job, "snapshots"));
	table_cell(table, "%s", size_text(field_integer(job, "bytes"), size));
	due_cell(table, job);
}

static void add_target(struct table *table, const json_t *job, const json_t *target)
{
	AUTO(free) char *sent = sent_text(target);

	table_cell(table, "%s", field_text_or_dash(job, "job"));
	table_cell(table, "%s", field_text_or_dash(target, "target"));
	if (sent != NULL)
		table_cell(table, "%s %s", field_text_or_dash(target, "state"), sent);
	else
		table_cell(table, "%s", field_text_or_dash(target, "state"));
	age_cell(table, target, "last_age_s", "");
	table_cell(table, "%lld", (long long) field_integer(target, "pending"));
	if (json_is_integer(json_object_get(target, "snapshots")))
		table_cell(table, "%lld", (long long) field_integer(target, "snapshots"));
	else
		table_cell(table, "-");
}

/* Nothing if no job has any. */
static void print_targets(FILE *out, const json_t *jobs)
{
	static const struct table_column columns[] = {
	    {"JOB", TABLE_LEFT},          {"TARGET", TABLE_LEFT},   {"STATE", TABLE_STATE},
	    {"LAST STORED", TABLE_RIGHT}, {"PENDING", TABLE_RIGHT}, {"THERE", TABLE_RIGHT},
	};
	AUTO(table_free) struct table *table = table_new(columns, ARRAY_SIZE(columns));
	const json_t *job, *target;
	size_t n = 0, i, k;

	json_array_foreach(jobs, i, job)
	{
		json_array_foreach(json_object_get(job, "targets"), k, target)
		{
			add_target(table, job, target);
			n++;
		}
	}
	if (n == 0)
		return;
	(void) fputc('\n', out);
	table_print(table, out);
}

static void note(FILE *out, const json_t *job, const char *what, const char *text)
{
	color_print_state(out, "warning: ");
	table_line(out, "%s: %s%s", field_text_or_dash(job, "job"), what, text);
}

/* Nothing for none. */
static void count_note(FILE *out, const json_t *job, const char *key, const char *what)
{
	AUTO(free) char *text = xasprintf(": %lld", (long long) field_integer(job, key));

	if (field_integer(job, key) > 0)
		note(out, job, what, text);
}

static void add_target_notes(FILE *out, const json_t *job)
{
	const json_t *target;
	size_t i;

	json_array_foreach(json_object_get(job, "targets"), i, target)
	{
		AUTO(free) char *what = xasprintf("%s: ", field_text_or_dash(target, "target"));
		const char *error = field_text(target, "error");
		const char *frozen = field_text(target, "frozen");

		if (error != NULL)
			note(out, job, what, error);
		if (frozen != NULL)
			note(out, job, what, frozen);
	}
}

static void add_notes(FILE *out, const json_t *job)
{
	const char *error = field_text(job, "error");
	const char *frozen = field_text(job, "frozen");
	const char *odd = field_text(job, "odd_first");

	if (error != NULL)
		note(out, job, "", error);
	if (frozen != NULL)
		note(out, job, "", frozen);
	if (field_integer(job, "set_aside") > 0)
		note(out, job, "snapshots that did not pass their proof are in 'rejected'", "");
	count_note(out, job, "waiting", "kept beyond retention until each target has a copy");
	count_note(out, job, "unsent",
	           "removed since etcdwatch was started though a target had no copy");
	if (odd != NULL)
		note(out, job, "", odd);
	add_target_notes(out, job);
	drill_render_notes(out, job);
}

void etcdwatch_render_jobs(FILE *out, const json_t *objects, int64_t wall_now_us UNUSED)
{
	static const struct table_column columns[] = {
	    {"JOB", TABLE_LEFT},        {"STATE", TABLE_STATE}, {"DONE BY", TABLE_LEFT},
	    {"LAST HERE", TABLE_RIGHT}, {"HERE", TABLE_RIGHT},  {"SIZE", TABLE_RIGHT},
	    {"DUE", TABLE_RIGHT},
	};
	AUTO(table_free) struct table *table = table_new(columns, ARRAY_SIZE(columns));
	const json_t *job;
	size_t i;

	json_array_foreach(objects, i, job) add_job(table, job);
	table_print(table, out);
	print_targets(out, objects);
	json_array_foreach(objects, i, job) add_notes(out, job);
}

/* --- snapshots --- */

/* "local site far" */
static void places_cell(struct table *table, const json_t *places)
{
	const json_t *place;
	AUTO(free) char *text = xstrdup("");
	size_t i;

	json_array_foreach(places, i, place)
	{
		AUTO(free) char *before = text;

		text = xasprintf("%s%s%s", before, i > 0 ? " " : "",
		                 json_is_string(place) ? json_string_value(place) : "?");
	}
	table_cell(table, "%s", text[0] != '\0' ? text : "-");
}

static void add_snapshot(struct table *table, const json_t *snapshot)
{
	const char *agreed = field_text_or_dash(json_object_get(snapshot, "verified"), "hashkv");
	const char *source = field_text(json_object_get(snapshot, "member"), "name");
	char size[SIZE_TEXT_MAX];

	table_cell(table, "%s", field_text_or_dash(snapshot, "id"));
	table_cell(table, "%lld", (long long) field_integer(snapshot, "revision"));
	table_cell(table, "%lld", (long long) field_integer(snapshot, "live_keys"));
	table_cell(table, "%s", size_text(field_integer(snapshot, "file_bytes"), size));
	/* A member confirms its own snapshot only where it is the only one. */
	table_cell(table, "%s",
	           source != NULL && source[0] != '\0' && strcmp(source, agreed) == 0 ? "alone"
	                                                                              : agreed);
	table_cell(table, "%s", field_text_or_dash(snapshot, "signed"));
	places_cell(table, json_object_get(snapshot, "where"));
}

static void add_node(struct table *table, const json_t *node)
{
	table_cell(table, "%s", field_text_or_dash(node, "job"));
	table_cell(table, "%s", field_text_or_dash(node, "node"));
	table_cell(table, "%s", field_text_or_dash(node, "newest"));
	age_cell(table, node, "age_s", "");
	if (json_is_integer(json_object_get(node, "revision")))
		table_cell(table, "%lld", (long long) field_integer(node, "revision"));
	else
		table_cell(table, "?");
	table_cell(
	    table, "%s",
	    json_is_null(json_object_get(node, "compared")) ? "?" : field_text_or_dash(node, "agreed"));
	places_cell(table, json_object_get(node, "targets"));
}

/* What other nodes have on their disks; nothing if nothing is known of any. */
static void print_nodes(FILE *out, const json_t *objects)
{
	static const struct table_column columns[] = {
	    {"JOB", TABLE_LEFT},     {"NODE", TABLE_LEFT},      {"NEWEST THERE", TABLE_LEFT},
	    {"AGE", TABLE_RIGHT},    {"REVISION", TABLE_RIGHT}, {"AGREED", TABLE_LEFT},
	    {"TARGETS", TABLE_LEFT},
	};
	AUTO(table_free) struct table *table = table_new(columns, ARRAY_SIZE(columns));
	const json_t *object;
	size_t n = 0, i;

	json_array_foreach(objects, i, object)
	{
		if (field_text(object, "newest") == NULL)
			continue;
		add_node(table, object);
		n++;
	}
	if (n == 0)
		return;
	(void) fputc('\n', out);
	table_print(table, out);
}

void etcdwatch_render_list(FILE *out, const json_t *objects, int64_t wall_now_us UNUSED)
{
	static const struct table_column columns[] = {
	    {"SNAPSHOT", TABLE_LEFT}, {"REVISION", TABLE_RIGHT}, {"KEYS", TABLE_RIGHT},
	    {"SIZE", TABLE_RIGHT},    {"AGREED", TABLE_LEFT},    {"SIGNED", TABLE_LEFT},
	    {"WHERE", TABLE_LEFT},
	};
	AUTO(table_free) struct table *table = table_new(columns, ARRAY_SIZE(columns));
	const json_t *snapshot;
	size_t i;

	json_array_foreach(objects, i, snapshot)
	{
		if (field_text(snapshot, "id") != NULL)
			add_snapshot(table, snapshot);
	}
	table_print(table, out);
	print_nodes(out, objects);
	json_array_foreach(objects, i, snapshot)
	{
		const char *error = field_text(snapshot, "error");
		AUTO(free)
		char *what = xasprintf("cannot ask %s: ", field_text_or_dash(snapshot, "target"));

		if (error != NULL)
			note(out, snapshot, what, error);
	}
}

/* --- what goes --- */

void etcdwatch_render_prune(FILE *out, const json_t *objects, int64_t wall_now_us UNUSED)
{
	static const struct table_column columns[] = {
	    {"JOB", TABLE_LEFT},
	    {"WHERE", TABLE_LEFT},
	    {"SNAPSHOT", TABLE_LEFT},
	    {"KEPT FOR", TABLE_LEFT},
	};
	AUTO(table_free) struct table *table = table_new(columns, ARRAY_SIZE(columns));
	const json_t *row;
	size_t i;

	json_array_foreach(objects, i, row)
	{
		if (field_text(row, "id") == NULL)
			continue;
		table_cell(table, "%s", field_text_or_dash(row, "job"));
		table_cell(table, "%s", field_text_or_dash(row, "where"));
		table_cell(table, "%s", field_text(row, "id"));
		table_cell(table, "%s",
		           field_is_true(row, "goes") ? "- it goes" : field_text_or_dash(row, "kept_for"));
	}
	table_print(table, out);
	json_array_foreach(objects, i, row)
	{
		const char *frozen = field_text(row, "frozen");
		AUTO(free) char *what = xasprintf("%s: ", field_text_or_dash(row, "where"));

		if (frozen != NULL)
			note(out, row, what, frozen);
	}
}

void etcdwatch_render_deleted(FILE *out, const json_t *objects, int64_t wall_now_us UNUSED)
{
	const json_t *row;
	size_t i;

	json_array_foreach(objects, i, row)
	{
		table_line(out, "deleted %s from %s", field_text_or_dash(row, "id"),
		           field_text_or_dash(row, "where"));
	}
}

void etcdwatch_render_accepted(FILE *out, const json_t *objects, int64_t wall_now_us UNUSED)
{
	const json_t *row;
	size_t i;

	json_array_foreach(objects, i, row)
	{
		table_line(out, "%s: accepted as it is from revision %lld on",
		           field_text_or_dash(row, "job"), (long long) field_integer(row, "revision"));
	}
}

/* --- the key --- */

void etcdwatch_render_key(FILE *out, const json_t *objects, int64_t wall_now_us UNUSED)
{
	const json_t *answer = json_array_get(objects, 0);
	const json_t *keys = json_object_get(answer, "trusted_keys"), *key;
	const char *own = field_text(answer, "key");
	bool is_listed = false;
	size_t i;

	table_line(out, "%s %s%s%s", field_text_or_dash(answer, "node"),
	           own != NULL ? "signs by " : "signs nothing: the log has the reason",
	           own != NULL ? own : "",
	           own != NULL && !field_is_true(answer, "trusted") ? ", WHICH IS NOT TRUSTED" : "");
	(void) fputs("\nOn all nodes, with the key of each:\nkind: EtcdWatchConfig\ntrustedKeys:\n",
	             out);
	json_array_foreach(keys, i, key)
	{
		const char *text = json_is_string(key) ? json_string_value(key) : "?";

		table_line(out, "  - %s", text);
		is_listed |= own != NULL && strcmp(text, own) == 0;
	}
	if (own != NULL && !is_listed)
		table_line(out, "  - %s", own);
}

void etcdwatch_render_taken_over(FILE *out, const json_t *objects, int64_t wall_now_us UNUSED)
{
	const json_t *answer = json_array_get(objects, 0);

	table_line(out, "%s: %s belongs to this cluster, %s; before: %s",
	           field_text_or_dash(answer, "job"), field_text_or_dash(answer, "target"),
	           field_text_or_dash(answer, "owner"), field_text_or_dash(answer, "before"));
}
