/* SPDX-License-Identifier: Apache-2.0 */
/* One line for all and one for their data, then two for each finding: what is wrong, and what to
 * do. */
#include "cli/etcd/health_render.h"

#include <string.h>

#include "base/civil.h"
#include "base/mono.h"
#include "cli/common/color.h"
#include "cli/common/fields.h"
#include "cli/common/table.h"

static void render_summary(FILE *out, const json_t *summary)
{
	(void) fputs("etcd: ", out);
	color_print_state(out, field_text_or_dash(summary, "status"));
	if (json_object_get(summary, "members") == NULL)
		(void) fputs(", nobody has been asked yet", out);
	else
		(void) fprintf(out,
		               ", %" JSON_INTEGER_FORMAT " critical, %" JSON_INTEGER_FORMAT
		               " warning, %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
		               " members answer",
		               field_integer(summary, "critical"), field_integer(summary, "warning"),
		               field_integer(summary, "answer"), field_integer(summary, "members"));
	(void) fputc('\n', out);
}

static bool is_down(const json_t *objects, const char *member)
{
	const json_t *finding;
	size_t i;

	json_array_foreach(objects, i, finding)
	{
		if (i > 0 && strcmp(field_text_or_dash(finding, "id"), "member-down") == 0 &&
		    strcmp(field_text_or_dash(finding, "subject"), member) == 0)
			return true;
	}
	return false;
}

/* The rule waits before it finds that a member is down, and says why then. */
static void render_silent(FILE *out, const json_t *objects)
{
	const json_t *member;
	size_t i;

	json_array_foreach(json_object_get(json_array_get(objects, 0), "silent"), i, member)
	{
		const char *name = field_text_or_dash(member, "member");

		if (is_down(objects, name))
			continue;
		table_print_safe(out, name);
		(void) fputs(json_is_true(json_object_get(member, "denied")) ? " " : " does not answer: ",
		             out);
		table_print_safe(out, field_text_or_dash(member, "error"));
		(void) fputc('\n', out);
	}
}

/* Nothing is known where data are not compared at all. */
static void render_data(FILE *out, const json_t *summary, int64_t wall_now_us)
{
	int64_t compared_s = field_integer(summary, "compared_s");
	int64_t next_s = field_integer(summary, "compare_next_s");
	char text[CIVIL_TEXT_MAX];

	if (compared_s == 0 && next_s == 0)
		return;
	if (compared_s == 0)
		(void) fputs("data: not compared yet", out);
	else
		(void) fprintf(out, "data: %s at %s",
		               json_is_true(json_object_get(summary, "compared_same")) ? "the same"
		                                                                       : "different",
		               civil_format(compared_s, text));
	if (next_s * US_PER_S > wall_now_us)
		(void) fprintf(out, ", next compared at %s", civil_format(next_s, text));
	else if (next_s > 0)
		(void) fputs(", next compared as soon as nothing speaks against it", out);
	(void) fputc('\n', out);
}

static void render_finding(FILE *out, const json_t *finding, int64_t wall_now_us)
{
	char age[FIELD_AGE_MAX];

	(void) field_age(wall_now_us - field_integer(finding, "since_s") * US_PER_S, age);
	(void) fputc('\n', out);
	color_print_state(out, field_text_or_dash(finding, "severity"));
	(void) fprintf(out, "  %s  ", age);
	table_print_safe(out, field_text_or_dash(finding, "id"));
	(void) fputs(": ", out);
	table_print_safe(out, field_text_or_dash(finding, "sentence"));
	(void) fputs("\n  ", out);
	table_print_safe(out, field_text_or_dash(finding, "to_do"));
	(void) fputc('\n', out);
}

void health_render(FILE *out, const json_t *objects, int64_t wall_now_us)
{
	const json_t *object;
	size_t i;

	json_array_foreach(objects, i, object)
	{
		if (i > 0) {
			render_finding(out, object, wall_now_us);
			continue;
		}
		render_summary(out, object);
		render_silent(out, objects);
		render_data(out, object, wall_now_us);
	}
}
