/* SPDX-License-Identifier: Apache-2.0 */
/* A row an upstream, with its round-trip time of the last minute; and one of prism as a whole. */
#include "cli/top/panels.h"

#include <string.h>

#include "base/mono.h"
#include "cli/common/fields.h"
#include "cli/common/size.h"
#include "cli/top/graph.h"

#define NAME_MIN 18
#define NAME_MAX 28
#define STATE_WIDTH 11
#define SINCE_WIDTH 6
#define RTT_WIDTH 9
#define CONNECTIONS_WIDTH 12
#define WIDE_COLUMNS 70

static enum grid_ink ink_of(const json_t *upstream)
{
	const char *state = field_text_or_dash(upstream, "state");

	if (strcmp(state, "ready") == 0 || strcmp(state, "alive") == 0)
		return GRID_GOOD;
	if (field_is_false(upstream, "usable") && !field_is_true(upstream, "drained"))
		return GRID_BAD;
	return GRID_WARNED;
}

/* What there is room for only on a wide screen: for how long it has been so. */
static size_t draw_since(struct grid *grid, size_t row, size_t at, const json_t *upstream)
{
	double since_s = json_number_value(json_object_get(upstream, "since_s"));
	char age[FIELD_AGE_MAX];

	if (grid_columns(grid) < WIDE_COLUMNS)
		return at;
	(void) grid_put(grid, row, at, GRID_DIM, "%5s",
	                field_age((int64_t) (since_s * (double) US_PER_S), age));
	return at + SINCE_WIDTH;
}

static void draw_upstream(struct grid *grid, const struct model *model, const json_t *upstream,
                          size_t name_cells, bool is_ascii)
{
	const char *name = field_text(upstream, "upstream");
	const struct model_samples *samples = model_samples_of(model, name);
	const json_t *rtt = json_object_get(upstream, "rtt_ms");
	size_t columns = grid_columns(grid), row = grid_add_row(grid), at = 1 + name_cells, spark;

	(void) grid_put(grid, row, 1, GRID_STRONG, "%s", name);
	(void) grid_put(grid, row, at, ink_of(upstream), " %s",
	                field_is_true(upstream, "drained") ? "drained"
	                                                   : field_text_or_dash(upstream, "state"));
	at = draw_since(grid, row, at + STATE_WIDTH, upstream);
	if (json_is_number(rtt))
		(void) grid_put(grid, row, at, GRID_PLAIN, "%6.1fms ", json_number_value(rtt));
	at += RTT_WIDTH;
	spark = MIN(columns - MIN(columns, at + CONNECTIONS_WIDTH), MODEL_SAMPLES);
	if (samples != NULL)
		at = graph_spark(grid, row, at, spark, samples->ms, samples->n, GRID_PLAIN, is_ascii);
	(void) grid_put(grid, row, at, GRID_PLAIN, "%6lld conns",
	                (long long) field_integer(upstream, "connections"));
}

static void draw_overview(struct grid *grid, const json_t *overview)
{
	size_t row = grid_add_row(grid), at;
	char up[SIZE_TEXT_MAX], down[SIZE_TEXT_MAX];
	long long failed = (long long) field_integer(overview, "failed");
	bool is_off = field_integer(overview, "usable") == 0;

	at = grid_put(grid, row, 1, is_off ? GRID_BAD : GRID_PLAIN, "%lld of %lld upstreams usable",
	              (long long) field_integer(overview, "usable"),
	              (long long) field_integer(overview, "upstreams"));
	at = grid_put(grid, row, at, GRID_PLAIN, "; %lld of %lld conns",
	              (long long) field_integer(overview, "connections"),
	              (long long) field_integer(overview, "max_connections"));
	at = grid_put(grid, row, at, failed > 0 ? GRID_WARNED : GRID_PLAIN, "; %lld failed", failed);
	(void) grid_put(grid, row, at, GRID_DIM, "; up %s, down %s",
	                size_text(field_integer(overview, "bytes_up"), up),
	                size_text(field_integer(overview, "bytes_down"), down));
}

void panel_prism(struct grid *grid, const struct model *model, int64_t now_us UNUSED,
                 int64_t wall_us UNUSED, bool is_ascii)
{
	const json_t *objects = model_objects(model, NODE_PRISM), *object;
	size_t name = panel_column(objects, "upstream", NAME_MIN, NAME_MAX), i;

	json_array_foreach(objects, i, object)
	{
		if (field_text(object, "upstream") != NULL)
			draw_upstream(grid, model, object, name, is_ascii);
	}
	if (json_array_size(objects) > 0)
		draw_overview(grid, json_array_get(objects, 0));
}
