/* SPDX-License-Identifier: Apache-2.0 */
/* The change that is under way, with the seconds that are left; how the network is; leases. */
#include "cli/top/panels.h"

#include <string.h>

#include "base/mono.h"
#include "cli/common/fields.h"

static void draw_change(struct grid *grid, const json_t *change, double age_s)
{
	const char *phase = field_text_or_dash(change, "phase");
	double left_s = MAX(json_number_value(json_object_get(change, "left_s")) - age_s, 0);
	size_t row = grid_add_row(grid), at;

	if (strcmp(phase, "awaiting") == 0) {
		at = grid_put(grid, row, 1, GRID_BAD, "undone in %.0f s", left_s);
		(void) grid_put(grid, row, at, GRID_PLAIN, " unless you say: fairlead net confirm %s",
		                field_text_or_dash(change, "id"));
		return;
	}
	at = grid_put(grid, row, 1, GRID_WARNED, "a change is %s", phase);
	at = grid_put(grid, row, at, GRID_PLAIN, ", %.0f s left", left_s);
	if (field_text(change, "reason") != NULL)
		(void) grid_put(grid, row, at, GRID_PLAIN, "  %s", field_text(change, "reason"));
}

static void draw_drift(struct grid *grid, const json_t *status)
{
	const json_t *drift = json_object_get(status, "drift");
	const char *state = field_text_or_dash(drift, "state");
	const char *duplicate = field_text(drift, "duplicate");

	if (strcmp(state, "none") == 0)
		(void) grid_put(grid, grid_add_row(grid), 1, GRID_GOOD, "as it was confirmed");
	else if (strcmp(state, "differs") == 0 || strcmp(state, "fight") == 0)
		(void) grid_put(grid, grid_add_row(grid), 1, GRID_WARNED, "%s: %lld steps, the first: %s",
		                state, (long long) field_integer(drift, "steps"),
		                field_text_or_dash(drift, "first"));
	if (duplicate != NULL && duplicate[0] != '\0')
		(void) grid_put(grid, grid_add_row(grid), 1, GRID_WARNED, "another host has %s", duplicate);
}

static void draw_lease(struct grid *grid, const json_t *lease)
{
	const json_t *left = json_object_get(lease, "left_s");
	const char *address = json_string_value(json_array_get(json_object_get(lease, "addresses"), 0));
	size_t row = grid_add_row(grid), at;
	char age[FIELD_AGE_MAX];

	at = grid_put(grid, row, 1, GRID_PLAIN, "DHCP %s IPv%lld ", field_text_or_dash(lease, "link"),
	              (long long) field_integer(lease, "family"));
	at = grid_put(grid, row, at, address != NULL ? GRID_PLAIN : GRID_WARNED, "%s",
	              address != NULL ? address : "no lease");
	if (json_is_number(left))
		(void) grid_put(grid, row, at, GRID_DIM, " for %s",
		                field_age((int64_t) (json_number_value(left) * (double) US_PER_S), age));
}

void panel_net(struct grid *grid, const struct model *model, int64_t now_us, int64_t wall_us UNUSED,
               bool is_ascii UNUSED)
{
	const json_t *status = json_array_get(model_objects(model, NODE_NET), 0), *lease;
	const json_t *blocked = json_object_get(status, "blocked");
	double age_s = (double) (now_us - model->sources[NODE_NET].good_us) / (double) US_PER_S;
	size_t i;

	if (status == NULL)
		return;
	if (json_is_object(blocked))
		(void) grid_put(grid, grid_add_row(grid), 1, GRID_WARNED, "nothing can be changed: %s",
		                field_text_or_dash(blocked, "reason"));
	else if (json_is_object(json_object_get(status, "change")))
		draw_change(grid, json_object_get(status, "change"), age_s);
	else if (!field_is_true(status, "confirmed"))
		(void) grid_put(grid, grid_add_row(grid), 1, GRID_DIM, "nothing was ever confirmed");
	draw_drift(grid, status);
	json_array_foreach(json_object_get(status, "leases"), i, lease) draw_lease(grid, lease);
}
