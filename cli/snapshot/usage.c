/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `etcd snapshot usage`: what fills etcd, by the beginning of the keys: as a file has them, or,
 * from etcdwatch, as they were counted when the newest snapshot was proven.
 */
#include "cli/snapshot/usage.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "bolt/usage.h"
#include "cli/common/cli.h"
#include "cli/common/fields.h"
#include "cli/common/table.h"
#include "cli/snapshot/file.h"

/* --- usage_render --- */

/* The parts as the catalogue has them, what all others have together, and all of it. */

static bool is_counted(const json_t *snapshot)
{
	return field_text(snapshot, "id") != NULL &&
	       json_is_array(json_object_get(json_object_get(snapshot, "usage"), "largest"));
}

const json_t *usage_find_newest(const json_t *snapshots)
{
	const json_t *snapshot, *newest = NULL;
	size_t i;

	json_array_foreach(snapshots, i, snapshot)
	{
		/* Times are written alike, so they sort as texts. */
		if (is_counted(snapshot) &&
		    (newest == NULL || strcmp(field_text_or_dash(snapshot, "started"),
		                              field_text_or_dash(newest, "started")) >= 0))
			newest = snapshot;
	}
	return newest;
}

static json_int_t others_of(const json_t *usage)
{
	json_int_t bytes = field_integer(usage, "bytes");
	const json_t *part;
	size_t i;

	json_array_foreach(json_object_get(usage, "largest"), i, part) bytes -=
	    field_integer(part, "bytes");
	return MAX(bytes, (json_int_t) 0);
}

static void add_row(struct table *table, const char *prefix, json_int_t bytes, json_int_t all)
{
	char text[SIZE_TEXT_MAX];

	table_cell(table, "%s", prefix);
	table_cell(table, "%s", size_text(bytes, text));
	table_cell(table, "%.1f%%", all > 0 ? 100 * (double) bytes / (double) all : 0.);
}

void usage_render(FILE *out, const json_t *snapshot)
{
	static const struct table_column columns[] = {
	    {"PREFIX", TABLE_LEFT},
	    {"BYTES", TABLE_RIGHT},
	    {"SHARE", TABLE_RIGHT},
	};
	AUTO(table_free) struct table *table = table_new(columns, ARRAY_SIZE(columns));
	const json_t *usage = json_object_get(snapshot, "usage"), *part;
	json_int_t all = field_integer(usage, "bytes"), others = others_of(usage);
	json_int_t missing = field_integer(usage, "missing");
	char text[SIZE_TEXT_MAX];
	size_t i;

	json_array_foreach(json_object_get(usage, "largest"), i, part)
	    add_row(table, field_text_or_dash(part, "prefix"), field_integer(part, "bytes"), all);
	if (others > 0)
		add_row(table, "(others)", others, all);
	add_row(table, "(all)", all, all);
	table_print(table, out);
	(void) fputs("in ", out);
	table_print_safe(out, field_text(snapshot, "id"));
	if (missing > 0)
		(void) fprintf(out, "; each may have up to %s more", size_text(missing, text));
	(void) fputc('\n', out);
}

static json_t *describe(const json_t *snapshot, const char *prefix, json_int_t bytes)
{
	return json_pack("{s:o, s:o, s:I, s:I}", "id", jsonval_text(field_text(snapshot, "id")),
	                 "prefix", jsonval_text(prefix), "bytes", bytes, "missing",
	                 prefix != NULL ? field_integer(json_object_get(snapshot, "usage"), "missing")
	                                : 0);
}

json_t *usage_parts(const json_t *snapshot)
{
	json_t *parts = json_array();
	const json_t *usage = json_object_get(snapshot, "usage"), *part;
	size_t i;

	json_array_foreach(json_object_get(usage, "largest"), i, part)(void)
	    json_array_append_new(parts, describe(snapshot, field_text_or_dash(part, "prefix"),
	                                          field_integer(part, "bytes")));
	if (others_of(usage) > 0)
		(void) json_array_append_new(parts, describe(snapshot, NULL, others_of(usage)));
	return parts;
}

/* --- usage --- */

/* As Kubernetes has them: "/registry/pods". */
#define DEPTH 2
#define ROWS 20
/* Targets may be slow. */
#define LIST_TIMEOUT_US (60 * US_PER_S)

static char *text_of(struct bytes prefix)
{
	return xstrndup((const char *) prefix.data, prefix.len);
}

static void print_part(const struct cli *cli, const struct usage_part *part, bool is_rest)
{
	AUTO(free) char *prefix = is_rest ? NULL : text_of(part->prefix);
	json_t *object =
	    json_pack("{s:o, s:I, s:I, s:I, s:I}", "prefix", jsonval_text(prefix), "bytes",
	              (json_int_t) part->bytes, "changes", (json_int_t) part->changes, "live_bytes",
	              (json_int_t) part->live_bytes, "keys", (json_int_t) part->keys);

	cli_print(cli, object);
	json_decref(object);
}

static void usage_add_row(struct table *table, const char *prefix, const struct usage_part *part,
                          uint64_t all_bytes)
{
	char bytes[SIZE_TEXT_MAX], live[SIZE_TEXT_MAX];

	table_cell(table, "%s", prefix);
	table_cell(table, "%s", size_text((int64_t) part->bytes, bytes));
	table_cell(table, "%.1f%%",
	           all_bytes > 0 ? 100 * (double) part->bytes / (double) all_bytes : 0.);
	table_cell(table, "%" PRIu64, part->changes);
	table_cell(table, "%s", size_text((int64_t) part->live_bytes, live));
	table_cell(table, "%" PRIu64, part->keys);
}

static void add(struct usage_part *sum, const struct usage_part *part)
{
	sum->bytes += part->bytes;
	sum->changes += part->changes;
	sum->live_bytes += part->live_bytes;
	sum->keys += part->keys;
}

static void print_table(const struct usage *usage)
{
	static const struct table_column columns[] = {
	    {"PREFIX", TABLE_LEFT},   {"BYTES", TABLE_RIGHT}, {"SHARE", TABLE_RIGHT},
	    {"CHANGES", TABLE_RIGHT}, {"LIVE", TABLE_RIGHT},  {"KEYS", TABLE_RIGHT},
	};
	AUTO(table_free) struct table *table = table_new(columns, ARRAY_SIZE(columns));
	struct usage_part all = *usage_rest(usage), others = *usage_rest(usage);

	for (size_t i = 0; i < usage_count(usage); i++) {
		add(&all, usage_at(usage, i));
		if (i >= ROWS)
			add(&others, usage_at(usage, i));
	}
	for (size_t i = 0; i < MIN(usage_count(usage), (size_t) ROWS); i++) {
		AUTO(free) char *prefix = text_of(usage_at(usage, i)->prefix);

		usage_add_row(table, prefix, usage_at(usage, i), all.bytes);
	}
	if (others.changes > 0)
		usage_add_row(table, "(others)", &others, all.bytes);
	usage_add_row(table, "(all)", &all, all.bytes);
	table_print(table, stdout);
}

static void print_parts(const struct cli *cli, const struct usage *usage)
{
	for (size_t i = 0; i < usage_count(usage); i++)
		print_part(cli, usage_at(usage, i), false);
	if (usage_rest(usage)->changes > 0)
		print_part(cli, usage_rest(usage), true);
}

/* --- of the newest snapshot --- */

static void collect(const json_t *object, int fd UNUSED, void *userdata)
{
	(void) json_array_append_new(userdata, json_deep_copy(object));
}

static void print_newest(const struct cli *cli, const json_t *newest)
{
	json_t *parts = usage_parts(newest);
	const json_t *part;
	size_t i;

	json_array_foreach(parts, i, part) cli_print(cli, part);
	json_decref(parts);
}

static int show_newest(const struct cli *cli, const json_t *snapshots)
{
	const json_t *newest = usage_find_newest(snapshots);

	if (newest == NULL) {
		(void) fputs(
		    "fairlead: no snapshot says what fills it: 'fairlead etcd snapshot save' takes "
		    "one\n",
		    stderr);
		return CLI_FAILED;
	}
	if (cli->output != CLI_TABLE)
		print_newest(cli, newest);
	else
		usage_render(stdout, newest);
	return etcd_flush();
}

static int ask_newest(const struct cli *cli)
{
	const char *words[] = {"etcd", "snapshot", "list", "--local"};
	AUTO(client_answer_free) struct client_answer *answer = NULL;
	json_t *snapshots = json_array();
	int code;

	code = cli_ask_each(cli, "etcdwatch", words, ARRAY_SIZE(words) - (cli->local ? 0 : 1),
	                    LIST_TIMEOUT_US, collect, snapshots, &answer);
	if (code == CLI_OK)
		code = show_newest(cli, snapshots);
	json_decref(snapshots);
	return code;
}

/* --- of a file --- */

static int show_file(const struct cli *cli, const char *name)
{
	AUTO(usage_free) struct usage *usage = NULL;
	struct etcd_file file;
	int r, code;

	code = etcd_file_find(cli, name, &file);
	if (code != CLI_OK) {
		etcd_file_fini(&file);
		return code;
	}
	r = usage_new(snapshot_db(file.snapshot), cli->depth != 0 ? cli->depth : DEPTH, &usage);
	if (r < 0)
		code = etcd_file_explain(&file, r);
	else if (cli->output != CLI_TABLE)
		print_parts(cli, usage);
	else
		print_table(usage);
	etcd_file_fini(&file);
	return code != CLI_OK ? code : etcd_flush();
}

int cli_etcd_snapshot_usage(const struct cli *cli, int argc UNUSED, char **argv)
{
	/* It was counted when it was proven, by two components. */
	if (strcmp(argv[0], "latest") == 0 && cli->depth == 0 && cli->n_given == 0)
		return ask_newest(cli);
	if (cli->local) {
		(void) fputs(
		    "fairlead: --local is about what etcdwatch says of 'latest': leave it out where "
		    "a snapshot is read\n",
		    stderr);
		return CLI_USAGE;
	}
	return show_file(cli, argv[0]);
}
