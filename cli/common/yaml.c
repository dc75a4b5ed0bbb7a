/* SPDX-License-Identifier: Apache-2.0 */
/* A line a scalar; a list's items stand under their key, and an item's fields behind its dash. */
#include "cli/common/yaml.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/conf.h"
#include "base/mem.h"
#include "base/printable.h"

#define INDENT 2

static void print_value(FILE *out, json_t *value, int depth, bool behind_dash);

static bool is_block(json_t *value)
{
	return json_object_size(value) > 0 || json_array_size(value) > 0;
}

static void print_scalar(FILE *out, json_t *value)
{
	AUTO(free)
	char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));

	printable_write_json(out, text != NULL ? text : "null");
	(void) fputc('\n', out);
}

static void print_indent(FILE *out, int depth)
{
	(void) fprintf(out, "%*s", depth * INDENT, "");
}

static void print_object(FILE *out, json_t *object, int depth, bool behind_dash)
{
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value)
	{
		if (!behind_dash)
			print_indent(out, depth);
		behind_dash = false;
		conf_write_string(out, key);
		(void) fputs(is_block(value) ? ":\n" : ": ", out);
		print_value(out, value, depth + 1, false);
	}
}

static void print_array(FILE *out, json_t *array, int depth, bool behind_dash)
{
	json_t *value;
	size_t i;

	json_array_foreach(array, i, value)
	{
		if (!behind_dash)
			print_indent(out, depth);
		behind_dash = false;
		(void) fputs("- ", out);
		print_value(out, value, depth + 1, true);
	}
}

/* behind_dash: the first line is begun already. */
static void print_value(FILE *out, json_t *value, int depth, bool behind_dash)
{
	if (!is_block(value))
		print_scalar(out, value);
	else if (json_is_object(value))
		print_object(out, value, depth, behind_dash);
	else
		print_array(out, value, depth, behind_dash);
}

void yaml_print(FILE *out, json_t *value)
{
	(void) fputs("---\n", out);
	print_value(out, value, 0, false);
}
