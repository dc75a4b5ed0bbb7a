/* SPDX-License-Identifier: Apache-2.0 */
/* What has happened, the newest first, by this terminal's own time. */
#include "cli/top/panels.h"

#include <time.h>

#include "base/mono.h"

#define DAY_US (24 * 3600 * US_PER_S)

void panel_events(struct grid *grid, const struct model *model, int64_t now_us UNUSED,
                  int64_t wall_us, bool is_ascii UNUSED)
{
	for (size_t i = model->events.n; i > 0; i--) {
		const struct event *event = &model->events.items[i - 1];
		time_t second = (time_t) (event->wall_us / US_PER_S);
		bool is_recent = wall_us - event->wall_us < DAY_US;
		size_t row = grid_add_row(grid);
		struct tm tm = {0};
		char text[32];

		(void) localtime_r(&second, &tm);
		(void) strftime(text, sizeof(text), is_recent ? "%H:%M:%S" : "%m-%d %H:%M", &tm);
		(void) grid_put(grid, row, grid_put(grid, row, 1, GRID_DIM, "%-11s ", text),
		                panel_ink(event->level, GRID_PLAIN), "%s", event->text);
	}
}
