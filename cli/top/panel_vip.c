/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row a VIP. The bar is the time that the fence still grants the owner; between two answers it
 * shrinks by itself, as the fence does.
 */
#include "cli/top/panels.h"

#include <string.h>

#include "base/mono.h"
#include "cli/common/fields.h"
#include "cli/top/graph.h"

#define ADDRESS_MIN 15
#define ADDRESS_MAX 26
#define OWNER_WIDTH 12
#define STATE_WIDTH 9
#define LEFT_WIDTH 7
#define FACTS_WIDTH 18 /* round trip and health, where there is room for them */
#define BAR_MIN 8
#define BAR_MAX 40

static enum grid_ink ink_of(const json_t *vip)
{
	if (field_text(vip, "owner") == NULL || field_is_false(vip, "etcd_ok"))
		return GRID_BAD;
	if (field_is_true(vip, "hold") || strcmp(field_text_or_dash(vip, "state"), "down") == 0)
		return GRID_WARNED;
	return GRID_GOOD;
}

static void draw_fence(struct grid *grid, size_t row, size_t at, size_t width, const json_t *vip,
                       double age_ms, bool is_ascii)
{
	const json_t *left = json_object_get(vip, "fence_left_ms");
	double window_ms = json_number_value(json_object_get(vip, "fence_window_ms"));
	double left_ms = MAX(json_number_value(left) - age_ms, 0);
	double part = window_ms > 0 ? left_ms / window_ms : 0;

	if (!json_is_number(left))
		return;
	at = graph_bar(grid, row, at, width, part, part > 0.3 ? GRID_GOOD : GRID_BAD, is_ascii);
	(void) grid_put(grid, row, at, GRID_PLAIN, " %4.1fs", left_ms / 1000);
}

static void draw_facts(struct grid *grid, size_t row, size_t at, const json_t *vip)
{
	const json_t *rtt = json_object_get(vip, "confirm_rtt_ms");
	const char *health = field_text_or_dash(vip, "health");

	if (json_is_number(rtt))
		(void) grid_put(grid, row, at, GRID_PLAIN, "%6.1fms", json_number_value(rtt));
	(void) grid_put(grid, row, at + 9, strcmp(health, "bad") == 0 ? GRID_BAD : GRID_PLAIN, "%s",
	                health);
}

static void draw_vip(struct grid *grid, const json_t *vip, size_t address, double age_ms,
                     bool is_ascii)
{
	size_t columns = grid_columns(grid), row = grid_add_row(grid);
	size_t owner_at = 1 + address, state_at = owner_at + OWNER_WIDTH;
	size_t bar_at = state_at + STATE_WIDTH, room = columns - MIN(columns, bar_at + LEFT_WIDTH);
	bool has_facts = room >= FACTS_WIDTH + BAR_MIN;
	size_t bar = MIN(room - (has_facts ? FACTS_WIDTH : 0), BAR_MAX);
	const char *owner = field_text(vip, "owner");
	const char *nobody = field_is_false(vip, "etcd_ok") ? "not known" : "nobody";
	enum grid_ink ink = ink_of(vip);

	(void) grid_put(grid, row, 1, GRID_STRONG, "%s", field_text_or_dash(vip, "vip"));
	(void) grid_put(grid, row, owner_at, ink, " %.*s", OWNER_WIDTH - 2,
	                owner != NULL ? owner : nobody);
	(void) grid_put(grid, row, state_at, ink, "%s",
	                field_is_true(vip, "hold") ? "on hold" : field_text_or_dash(vip, "state"));
	draw_fence(grid, row, bar_at, bar, vip, age_ms, is_ascii);
	if (has_facts)
		draw_facts(grid, row, bar_at + bar + LEFT_WIDTH, vip);
}

void panel_vip(struct grid *grid, const struct model *model, int64_t now_us, int64_t wall_us UNUSED,
               bool is_ascii)
{
	const json_t *vips = model_objects(model, NODE_VIP), *vip;
	double age_ms = (double) (now_us - model->sources[NODE_VIP].good_us) / (double) US_PER_MS;
	size_t address = panel_column(vips, "vip", ADDRESS_MIN, ADDRESS_MAX), i;

	json_array_foreach(vips, i, vip) draw_vip(grid, vip, address, age_ms, is_ascii);
	if (vips != NULL && json_array_size(vips) == 0)
		(void) grid_put(grid, grid_add_row(grid), 1, GRID_DIM, "no VIP is configured");
}
