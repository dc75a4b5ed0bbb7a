/* SPDX-License-Identifier: Apache-2.0 */
/* The parts as the catalogue has them, what all others have together, and all of it. */
#include "cli/snapshot/usage_render.h"

#include <inttypes.h>
#include <string.h>

#include "base/jsonval.h"
#include "base/macro.h"
#include "cli/common/fields.h"
#include "cli/common/size.h"
#include "cli/common/table.h"

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
