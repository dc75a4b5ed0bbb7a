/* SPDX-License-Identifier: Apache-2.0 */
/* The table of panels; and all fields of their answers, for who wants to see more than fits. */
#include "cli/top/panels.h"

#include <string.h>

#include "base/mem.h"
#include "cli/common/fields.h"
#include "cli/common/table.h"

#define INDENT 2

const struct panel_kind panel_kinds[PANELS] = {
    [PANEL_VIP] = {"VIPs", {NODE_VIP, NODE_QUESTIONS}, panel_vip},
    [PANEL_PRISM] = {"prism", {NODE_PRISM, NODE_QUESTIONS}, panel_prism},
    [PANEL_ETCD] = {"etcd", {NODE_HEALTH, NODE_MEMBERS, NODE_ALARMS, NODE_QUESTIONS}, panel_etcd},
    [PANEL_SNAPSHOTS] = {"snapshots", {NODE_JOBS, NODE_RECORD, NODE_QUESTIONS}, panel_snapshots},
    [PANEL_NET] = {"network", {NODE_NET, NODE_QUESTIONS}, panel_net},
    [PANEL_EVENTS] = {"events", {NODE_QUESTIONS}, panel_events},
};

size_t panel_column(const json_t *objects, const char *key, size_t min, size_t max)
{
	size_t width = min, i;
	const json_t *object;

	json_array_foreach(objects, i, object) width =
	    MAX(width, table_width(field_text_or_dash(object, key)));
	return MIN(width, max) + 1;
}

static void add_value(struct grid *grid, size_t column, const char *key, json_t *value);

static void add_object(struct grid *grid, size_t column, json_t *object)
{
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value) add_value(grid, column, key, value);
}

static void add_value(struct grid *grid, size_t column, const char *key, json_t *value)
{
	AUTO(free) char *text = NULL;
	AUTO(free) char *line = NULL;
	json_t *item;
	size_t i;

	if (json_is_object(value) || (json_is_array(value) && json_array_size(value) > 0)) {
		(void) grid_put(grid, grid_add_row(grid), column, GRID_DIM, "%s", key);
		if (json_is_object(value))
			add_object(grid, column + INDENT, value);
		json_array_foreach(value, i, item)
		{
			if (i > 0 && json_is_object(item))
				(void) grid_add_row(grid);
			if (json_is_object(item))
				add_object(grid, column + INDENT, item);
			else
				add_value(grid, column + INDENT, "", item);
		}
		return;
	}
	text = json_is_string(value) ? xstrdup(json_string_value(value))
	                             : json_dumps(value, JSON_ENCODE_ANY);
	line = xasprintf("%s%s%s", key, key[0] != '\0' ? ": " : "", text != NULL ? text : "-");
	grid_add_text(grid, column, GRID_PLAIN, line);
}

void panel_details(struct grid *grid, const struct model *model, enum panel panel)
{
	const enum node_question *question = panel_kinds[panel].questions;

	for (; *question != NODE_QUESTIONS; question++) {
		json_t *object;
		size_t i;

		json_array_foreach(model_objects(model, *question), i, object)
		{
			(void) grid_add_row(grid);
			add_object(grid, 0, object);
		}
	}
}

enum grid_ink panel_ink(enum board_level level, enum grid_ink well)
{
	switch (level) {
	case BOARD_FAILED:
		return GRID_BAD;
	case BOARD_WARNED:
		return GRID_WARNED;
	case BOARD_ABSENT:
	case BOARD_OK:
		return well;
	}
	return GRID_PLAIN;
}
