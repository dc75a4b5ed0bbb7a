/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What each panel shows: rows that are added to a grid of the panel's width, the most important
 * first, because a small screen cuts off the last. Pure.
 */

#include "cli/top/grid.h"
#include "cli/top/model.h"

enum panel {
	PANEL_VIP,
	PANEL_PRISM,
	PANEL_ETCD,
	PANEL_SNAPSHOTS,
	PANEL_NET,
	PANEL_EVENTS,
	PANELS, /* how many there are */
};

#define PANEL_QUESTIONS_MAX 3

struct panel_kind {
	const char *title;
	/* What it is made of; the first that is old speaks for its age. Ended by NODE_QUESTIONS. */
	enum node_question questions[PANEL_QUESTIONS_MAX + 1];
	void (*draw)(struct grid *grid, const struct model *model, int64_t now_us, int64_t wall_us,
	             bool is_ascii);
};

extern const struct panel_kind panel_kinds[PANELS];

void panel_etcd(struct grid *grid, const struct model *model, int64_t now_us, int64_t wall_us,
                bool is_ascii);
void panel_snapshots(struct grid *grid, const struct model *model, int64_t now_us, int64_t wall_us,
                     bool is_ascii);

/* How wide the column of this key is, with a blank behind it, for the widest of them. */
size_t panel_column(const json_t *objects, const char *key, size_t min, size_t max);

/* Of a level; `well` is the ink of what needs no attention. */
enum grid_ink panel_ink(enum board_level level, enum grid_ink well);

/* All fields of what the panel is made of. */
void panel_details(struct grid *grid, const struct model *model, enum panel panel);
