/* SPDX-License-Identifier: Apache-2.0 */
/* Fields that are missing show as "-", as a CLI and a daemon of different versions get along. */
#include "cli/snapshot/drill_render.h"

#include "base/macro.h"
#include "base/mono.h"
#include "cli/common/color.h"
#include "cli/common/fields.h"
#include "cli/common/table.h"

void drill_render_phase(FILE *out, const json_t *object)
{
	const char *phase = field_text(object, "phase");

	if (phase == NULL)
		return;
	table_print_safe(out, phase);
	(void) fputs(" ...\n", out);
	(void) fflush(out);
}

/* --- the result --- */

static void number_cell(struct table *table, const json_t *check, const char *key)
{
	if (json_is_integer(json_object_get(check, key)))
		table_cell(table, "%lld", (long long) field_integer(check, key));
	else
		table_cell(table, "-");
}

static void print_checks(FILE *out, const json_t *checks)
{
	static const struct table_column columns[] = {
	    {"CHECK", TABLE_LEFT},
	    {"WANTED", TABLE_RIGHT},
	    {"FOUND", TABLE_RIGHT},
	    {"", TABLE_STATE},
	};
	AUTO(table_free) struct table *table = table_new(columns, ARRAY_SIZE(columns));
	const json_t *check;
	size_t i;

	json_array_foreach(checks, i, check)
	{
		table_cell(table, "%s", field_text_or_dash(check, "check"));
		number_cell(table, check, "wanted");
		number_cell(table, check, "found");
		table_cell(table, "%s", field_is_true(check, "ok") ? "ok" : "DIFFERS");
	}
	table_print(table, out);
}

static double seconds(json_int_t ms)
{
	return (double) ms / 1000;
}

static void print_phases(FILE *out, json_t *phases, json_int_t took_ms)
{
	const char *name, *before = ": ";
	json_t *ms;

	(void) fprintf(out, "took %.1f s", seconds(took_ms));
	json_object_foreach(phases, name, ms)
	{
		(void) fputs(before, out);
		table_print_safe(out, name);
		(void) fprintf(out, " %.1f", seconds(json_integer_value(ms)));
		before = ", ";
	}
	(void) fputc('\n', out);
}

static void print_versions(FILE *out, json_t *versions)
{
	const char *of, *before = "";
	json_t *version;

	json_object_foreach(versions, of, version)
	{
		(void) fputs(before, out);
		table_print_safe(out, of);
		(void) fputc(' ', out);
		table_print_safe(out, field_text_or_dash(versions, of));
		before = ", ";
	}
	if (before[0] != '\0')
		(void) fputc('\n', out);
}

void drill_render_result(FILE *out, const json_t *object)
{
	const json_t *checks = json_object_get(object, "checks");

	if (!json_is_array(checks))
		return;
	if (json_array_size(checks) > 0)
		print_checks(out, checks);
	print_phases(out, json_object_get(object, "phases"), field_integer(object, "took_ms"));
	print_versions(out, json_object_get(object, "versions"));
}

/* --- in the status --- */

static void begin_note(FILE *out, const json_t *job)
{
	color_print_state(out, "warning: ");
	table_print_safe(out, field_text_or_dash(job, "job"));
}

void drill_render_notes(FILE *out, const json_t *job)
{
	const json_t *drill = json_object_get(job, "drill");
	char age[FIELD_AGE_MAX];

	if (field_is_true(drill, "failed")) {
		begin_note(out, job);
		(void) fputs(": the last drill failed: ", out);
		table_print_safe(out, field_text_or_dash(drill, "reason"));
		(void) fputc('\n', out);
	}
	if (!field_is_true(drill, "overdue"))
		return;
	begin_note(out, job);
	if (json_is_integer(json_object_get(drill, "last_good_age_s")))
		(void) fprintf(
		    out, ": a drill is overdue: the last good one was %s ago\n",
		    field_age((int64_t) field_integer(drill, "last_good_age_s") * US_PER_S, age));
	else
		(void) fputs(": a drill is overdue: none has gone well so far\n", out);
}
