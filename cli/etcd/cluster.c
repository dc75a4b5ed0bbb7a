/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns are talosctl's. Where it prints every node's answer below the other, nodes that know
 * the same members share their rows here: that they agree is what one wants to see. One that does
 * not answer has a row that says why.
 */
#include "cli/common/cli.h"

#include <stdlib.h>
#include <string.h>

#include "base/civil.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/table.h"
#include "cli/common/fields.h"

static void warn(FILE *out, const json_t *object, const char *text)
{
	color_print_state(out, "warning: ");
	table_print_safe(out, field_text_or_dash(object, "node"));
	(void) fputs(": ", out);
	table_print_safe(out, text);
	(void) fputc('\n', out);
}

/* "a,b" of an array of texts. */
static char *joined(const json_t *texts)
{
	char *all = xstrdup("");
	const json_t *text;
	size_t i;

	json_array_foreach(texts, i, text)
	{
		AUTO(free) char *before = all;

		all = xasprintf("%s%s%s", before, i > 0 ? "," : "",
		                json_is_string(text) ? json_string_value(text) : "?");
	}
	return all;
}

/* --- members --- */

static bool is_first_with(const json_t *objects, size_t at)
{
	const json_t *members = json_object_get(json_array_get(objects, at), "members");

	for (size_t i = 0; i < at; i++) {
		if (json_equal(json_object_get(json_array_get(objects, i), "members"), members))
			return false;
	}
	return true;
}

/* The names of all who say the same. */
static char *who_says(const json_t *objects, const json_t *members)
{
	char *names = xstrdup("");
	const json_t *object;
	size_t i;

	json_array_foreach(objects, i, object)
	{
		AUTO(free) char *before = NULL;

		if (!json_equal(json_object_get(object, "members"), members))
			continue;
		before = names;
		names = xasprintf("%s%s%s", before, before[0] != '\0' ? "," : "",
		                  field_text_or_dash(object, "node"));
	}
	return names;
}

static void add_member(struct table *table, const char *node, const json_t *member)
{
	AUTO(free) char *peer_urls = joined(json_object_get(member, "peer_urls"));
	AUTO(free) char *client_urls = joined(json_object_get(member, "client_urls"));

	table_cell(table, "%s", node);
	table_cell(table, "%s", field_text_or_dash(member, "id"));
	table_cell(table, "%s", field_text_or_dash(member, "hostname"));
	table_cell(table, "%s", peer_urls);
	table_cell(table, "%s", client_urls);
	table_cell(table, "%s", field_is_true(member, "learner") ? "true" : "false");
}

static void add_dashes(struct table *table, const json_t *object, size_t n)
{
	table_cell(table, "%s", field_text_or_dash(object, "node"));
	while (n-- > 0)
		table_cell(table, "-");
}

void cluster_render_members(FILE *out, const json_t *objects, int64_t wall_now_us UNUSED)
{
	static const struct table_column columns[] = {
	    {"NODE", TABLE_LEFT},      {"ID", TABLE_LEFT},          {"HOSTNAME", TABLE_LEFT},
	    {"PEER URLS", TABLE_LEFT}, {"CLIENT URLS", TABLE_LEFT}, {"LEARNER", TABLE_LEFT},
	};
	AUTO(table_free) struct table *table = table_new(columns, ARRAY_SIZE(columns));
	const json_t *object, *member;
	size_t i, k;

	json_array_foreach(objects, i, object)
	{
		const json_t *members = json_object_get(object, "members");
		AUTO(free) char *names = NULL;

		if (members == NULL) {
			add_dashes(table, object, ARRAY_SIZE(columns) - 1);
			continue;
		}
		if (!is_first_with(objects, i))
			continue;
		names = who_says(objects, members);
		json_array_foreach(members, k, member) add_member(table, names, member);
	}
	table_print(table, out);
	json_array_foreach(objects, i, object)
	{
		if (field_text(object, "error") != NULL)
			warn(out, object, field_text(object, "error"));
	}
}

/* --- status --- */

static void size_cells(struct table *table, const json_t *object)
{
	char size[SIZE_TEXT_MAX], in_use[SIZE_TEXT_MAX];
	json_int_t bytes = field_integer(object, "db_bytes");
	json_int_t used = field_integer(object, "in_use_bytes");

	table_cell(table, "%s", size_text(bytes, size));
	if (bytes > 0)
		table_cell(table, "%s (%.2f%%)", size_text(used, in_use),
		           100. * (double) used / (double) bytes);
	else
		table_cell(table, "%s", size_text(used, in_use));
}

static void add_status(struct table *table, const json_t *object)
{
	table_cell(table, "%s", field_text_or_dash(object, "node"));
	table_cell(table, "%s", field_text_or_dash(object, "member"));
	size_cells(table, object);
	table_cell(table, "%s", field_text_or_dash(object, "leader"));
	table_cell(table, "%lld", (long long) field_integer(object, "raft_index"));
	table_cell(table, "%lld", (long long) field_integer(object, "raft_term"));
	table_cell(table, "%lld", (long long) field_integer(object, "raft_applied_index"));
	table_cell(table, "%s", field_is_true(object, "learner") ? "true" : "false");
	table_cell(table, "%s", field_text_or_dash(object, "version"));
	table_cell(table, "%s", field_text_or_dash(object, "storage_version"));
	table_cell(table, "%s",
	           field_text(object, "errors") != NULL ? field_text(object, "errors") : "");
}

/* Only of what grows, and will be full. */
static void add_runway(FILE *out, const json_t *object)
{
	json_int_t left_s = field_integer(object, "quota_runway_s");
	char age[FIELD_AGE_MAX], growth[SIZE_TEXT_MAX], quota[SIZE_TEXT_MAX];

	if (!json_is_integer(json_object_get(object, "quota_runway_s")))
		return;
	table_print_safe(out, field_text_or_dash(object, "node"));
	(void) fprintf(out, ": grows by %s an hour; its quota of %s is reached in %s\n",
	               size_text(field_integer(object, "growth_bytes_per_hour"), growth),
	               size_text(field_integer(object, "quota_bytes"), quota),
	               field_age(left_s * US_PER_S, age));
}

void cluster_render_status(FILE *out, const json_t *objects, int64_t wall_now_us UNUSED)
{
	static const struct table_column columns[] = {
	    {"NODE", TABLE_LEFT},       {"MEMBER", TABLE_LEFT},
	    {"DB SIZE", TABLE_RIGHT},   {"IN USE", TABLE_RIGHT},
	    {"LEADER", TABLE_LEFT},     {"RAFT INDEX", TABLE_RIGHT},
	    {"RAFT TERM", TABLE_RIGHT}, {"RAFT APPLIED INDEX", TABLE_RIGHT},
	    {"LEARNER", TABLE_LEFT},    {"PROTOCOL", TABLE_LEFT},
	    {"STORAGE", TABLE_LEFT},    {"ERRORS", TABLE_LEFT},
	};
	AUTO(table_free) struct table *table = table_new(columns, ARRAY_SIZE(columns));
	const json_t *object;
	size_t i;

	json_array_foreach(objects, i, object)
	{
		const char *error = field_text(object, "error");

		if (error == NULL) {
			add_status(table, object);
			continue;
		}
		table_cell(table, "%s", field_text_or_dash(object, "node"));
		table_cell(table, "%s", field_text_or_dash(object, "member"));
		for (size_t k = 2; k < ARRAY_SIZE(columns) - 1; k++)
			table_cell(table, "-");
		table_cell(table, "%s", error);
	}
	table_print(table, out);
	json_array_foreach(objects, i, object) add_runway(out, object);
	json_array_foreach(objects, i, object)
	{
		AUTO(free)
		char *text = xasprintf("it gives no read that the others agree with: %s",
		                       field_text_or_dash(object, "serves_error"));

		if (field_is_false(object, "serves") && !field_is_true(object, "learner"))
			warn(out, object, text);
	}
}

/* --- alarms --- */

void cluster_render_alarms(FILE *out, const json_t *objects, int64_t wall_now_us UNUSED)
{
	static const struct table_column columns[] = {
	    {"NODE", TABLE_LEFT}, {"MEMBER", TABLE_LEFT}, {"ALARM", TABLE_LEFT}};
	AUTO(table_free) struct table *table = table_new(columns, ARRAY_SIZE(columns));
	const json_t *object;
	size_t i;

	json_array_foreach(objects, i, object)
	{
		table_cell(table, "%s", field_text_or_dash(object, "node"));
		table_cell(table, "%s", field_text_or_dash(object, "member"));
		table_cell(table, "%s", field_text_or_dash(object, "alarm"));
	}
	table_print(table, out);
}

/* --- findings --- */

/*
 * One line for all and one for their data, then two for each finding: what is wrong, and what to
 * do.
 */

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

int health_code(const json_t *objects)
{
	const char *status = field_text(json_array_get(objects, 0), "status");

	if (status == NULL)
		return CLI_FAILED;
	if (strcmp(status, "ok") == 0)
		return CLI_OK;
	return strcmp(status, "warning") == 0 ? CLI_WARNED : CLI_FAILED;
}
