/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first object is prism as a whole; those behind it, which have the key "upstream", are the
 * rows of the table. Its last column is made of words and is cut, so that the table fits 80 columns
 * with addresses of usual length; a reason that was cut stands whole below.
 */
#include "cli/common/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/table.h"
#include "cli/common/fields.h"

#define SCREEN_COLUMNS 80
#define AGE_MAX_S 1e10 /* what is older is no age */

/* --- prism as a whole --- */

/* "listening on 127.0.0.1:7445, [::1]:7445; 5 of 30000 connections; checks on" */
static void print_overview(FILE *out, const json_t *overview)
{
	const json_t *listener;
	const char *separator = "listening on ";
	size_t i;

	if (json_array_size(json_object_get(overview, "listeners")) == 0)
		(void) fputs("not listening", out);
	json_array_foreach(json_object_get(overview, "listeners"), i, listener)
	{
		(void) fputs(separator, out);
		table_print_safe(out, field_text_or_dash(listener, "endpoint"));
		separator = ", ";
	}
	(void) fprintf(out, "; %lld of %lld connections; checks %s\n",
	               (long long) field_integer(overview, "connections"),
	               (long long) field_integer(overview, "max_connections"),
	               field_is_false(overview, "checks") ? "off" : "on");
}

/* --- the table --- */

static void since_cell(struct table *table, const json_t *upstream)
{
	const json_t *since = json_object_get(upstream, "since_s");
	double since_s = json_number_value(since);
	char age[FIELD_AGE_MAX];

	if (json_is_number(since) && since_s >= 0 && since_s < AGE_MAX_S)
		table_cell(table, "%s", field_age((int64_t) since_s * US_PER_S, age));
	else
		table_cell(table, "-");
}

static void rtt_cell(struct table *table, const json_t *upstream)
{
	const json_t *ms = json_object_get(upstream, "rtt_ms");

	if (json_is_number(ms) && json_number_value(ms) < 1)
		table_cell(table, "%.0fus", json_number_value(ms) * 1000);
	else if (json_is_number(ms))
		table_cell(table, "%.1fms", json_number_value(ms));
	else
		table_cell(table, "-");
}

static void connections_cell(struct table *table, const json_t *upstream)
{
	if (json_is_integer(json_object_get(upstream, "connections")))
		table_cell(table, "%lld", (long long) field_integer(upstream, "connections"));
	else
		table_cell(table, "-");
}

/* "static,slices" */
static void sources_cell(struct table *table, const json_t *upstream)
{
	AUTO(free) char *text = NULL;
	const json_t *source;
	size_t i;

	json_array_foreach(json_object_get(upstream, "sources"), i, source)
	{
		const char *name = json_string_value(source);
		char *longer = xasprintf("%s%s%s", text != NULL ? text : "", text != NULL ? "," : "",
		                         name != NULL ? name : "-");

		free(text);
		text = longer;
	}
	table_cell(table, "%s", text != NULL ? text : "-");
}

/* Why it is not as it should be: of one that is ready and in use there is nothing to say, and one
 * that nobody is connected to has nobody to leave it. */
static char *reason_of(const json_t *upstream)
{
	const char *state = field_text(upstream, "state");
	const char *reason = field_text(upstream, "reason");
	const char *leaving = "";

	if (field_is_true(upstream, "drained"))
		leaving = "drained";
	else if (json_is_number(json_object_get(upstream, "leaving_s")) &&
	         field_integer(upstream, "connections") > 0)
		leaving = "leaving";
	if (reason == NULL || (state != NULL && strcmp(state, "ready") == 0))
		reason = "";
	return xasprintf("%s%s%s", leaving, leaving[0] != '\0' && reason[0] != '\0' ? ": " : "",
	                 reason);
}

static void add_row(struct table *table, const json_t *upstream)
{
	AUTO(free) char *reason = reason_of(upstream);

	table_cell(table, "%s", field_text_or_dash(upstream, "upstream"));
	table_cell(table, "%s", field_text_or_dash(upstream, "state"));
	since_cell(table, upstream);
	rtt_cell(table, upstream);
	connections_cell(table, upstream);
	sources_cell(table, upstream);
	table_cell(table, "%s", reason);
}

static bool is_upstream(const json_t *object)
{
	return json_object_get(object, "upstream") != NULL;
}

static void print_upstreams(FILE *out, const json_t *objects)
{
	static const struct table_column columns[] = {
	    {"UPSTREAM", TABLE_LEFT}, {"STATE", TABLE_STATE}, {"SINCE", TABLE_RIGHT},
	    {"RTT", TABLE_RIGHT},     {"CONNS", TABLE_RIGHT}, {"SOURCES", TABLE_LEFT},
	    {"REASON", TABLE_LEFT},
	};
	AUTO(table_free) struct table *table = table_new(columns, ARRAY_SIZE(columns));
	const json_t *object;
	size_t i, room;

	json_array_foreach(objects, i, object)
	{
		if (is_upstream(object))
			add_row(table, object);
	}
	room = table_fit_last(table, SCREEN_COLUMNS);
	table_print(table, out);
	json_array_foreach(objects, i, object)
	{
		AUTO(free) char *reason = reason_of(object);

		if (!is_upstream(object) || table_width(reason) <= room)
			continue;
		table_print_safe(out, field_text_or_dash(object, "upstream"));
		(void) fputs(": ", out);
		table_print_safe(out, reason);
		(void) fputc('\n', out);
	}
}

/* --- what deserves a look --- */

static void note(FILE *out, const char *what, const char *detail)
{
	color_print_state(out, "warning: ");
	(void) fputs(what, out);
	table_print_safe(out, detail);
	(void) fputc('\n', out);
}

static void note_upstreams(FILE *out, const json_t *overview)
{
	if (!json_is_integer(json_object_get(overview, "usable")) ||
	    field_integer(overview, "usable") > 0)
		return;
	if (field_integer(overview, "upstreams") == 0)
		note(out, "no upstream is known: every connection fails", "");
	else
		note(out, "no upstream is in good order: each connection tries all of them", "");
}

static void note_unknown(FILE *out, const json_t *objects)
{
	const char *unknown = upstream_unknown(objects, "reason");

	if (unknown == NULL)
		return;
	note(out, UPSTREAM_UNKNOWN_TEXT, unknown);
	(void) fputs(UPSTREAM_UNKNOWN_TO_DO "\n", out);
}

static void note_listeners(FILE *out, const json_t *overview)
{
	const json_t *listener;
	size_t i;

	json_array_foreach(json_object_get(overview, "listeners"), i, listener)
	{
		if (field_is_false(listener, "open"))
			note(out, "not listening while no upstream is usable: ",
			     field_text_or_dash(listener, "endpoint"));
	}
}

static void note_sources(FILE *out, const json_t *overview)
{
	const json_t *source;
	size_t i;

	json_array_foreach(json_object_get(overview, "sources"), i, source)
	{
		const char *error = field_text(source, "error");
		AUTO(free) char *text = NULL;

		if (error == NULL)
			continue;
		text = xasprintf("%s: %s", field_text_or_dash(source, "source"), error);
		note(out, "source ", text);
	}
}

static void add_notes(FILE *out, const json_t *overview)
{
	const json_t *text;
	size_t i;

	note_upstreams(out, overview);
	note_listeners(out, overview);
	if (field_is_false(overview, "accepting"))
		note(out, "out of file descriptors: accepting is paused", "");
	if (field_is_false(overview, "probing"))
		note(out, "the probe process does not run: health is judged by traffic alone", "");
	note_sources(out, overview);
	json_array_foreach(json_object_get(overview, "notes"), i, text)
	{
		if (json_is_string(text))
			note(out, "", json_string_value(text));
	}
}

void prism_render_status(FILE *out, const json_t *objects, int64_t wall_now_us UNUSED)
{
	const json_t *overview = json_array_get(objects, 0);
	bool has_overview = overview != NULL && !is_upstream(overview);

	if (has_overview)
		print_overview(out, overview);
	print_upstreams(out, objects);
	if (has_overview)
		add_notes(out, overview);
	note_unknown(out, objects);
}

/* --- the commands --- */

#define DAEMON "prism"
#define TIMEOUT_US (5 * US_PER_S)

static int change(const struct cli *cli, const char *word, const char *upstream,
                  struct client_answer **ret_answer)
{
	const char *words[] = {"prism", word, upstream};
	int code = cli_ask(cli, DAEMON, words, ARRAY_SIZE(words), TIMEOUT_US, ret_answer);

	if (code == CLI_OK && cli->output != CLI_TABLE)
		cli_print_answer(cli, *ret_answer);
	return code;
}

int cli_prism_drain(const struct cli *cli, int argc UNUSED, char **argv)
{
	AUTO(client_answer_free) struct client_answer *answer = NULL;
	int code = change(cli, "drain", argv[0], &answer);

	if (code != CLI_OK || cli->output != CLI_TABLE)
		return code;
	table_print_safe(stdout, argv[0]);
	(void) printf(": drained: new connections go elsewhere while another upstream can take them; "
	              "%lld are open\n",
	              (long long) field_integer(json_array_get(answer->objects, 0), "connections"));
	return CLI_OK;
}

int cli_prism_undrain(const struct cli *cli, int argc UNUSED, char **argv)
{
	AUTO(client_answer_free) struct client_answer *answer = NULL;
	int code = change(cli, "undrain", argv[0], &answer);

	if (code != CLI_OK || cli->output != CLI_TABLE)
		return code;
	table_print_safe(stdout, argv[0]);
	(void) puts(": no longer drained: it takes new connections again");
	return CLI_OK;
}
