/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line about the node, what wants attention and what to do about it, the panels, a line about the
 * keys. The panels stand one below the other,
 * on a wide screen in two columns. Each has its title and as many rows as it wants while there is
 * room; then the longest gives way, and says in its title how much it hides.
 */
#include "cli/top/layout.h"

#include <time.h>

#include "base/mono.h"
#include "cli/common/fields.h"

#define WIDE_COLUMNS 110
#define HORIZONTAL 0x2500 /* a line, of which the titles are part */
#define EVENTS_ROWS_MIN 2
#define CLOCK_WIDTH 8
#define MATTER_INDENT 3

/* A panel on its way to the screen. */
struct piece {
	enum panel panel;
	struct grid *rows; /* owned */
	size_t n;          /* that are shown */
};

/* --- the first line and the last --- */

/* `n_shown` of them have rows of their own; where there is no room for any, the first is here. */
static void draw_matters(struct grid *grid, size_t at, const struct board *board, size_t n_shown)
{
	enum grid_ink ink = panel_ink(board_worst(board), GRID_GOOD);

	at = grid_put(grid, 0, at, ink, "%zu to look at", board->n_matters);
	if (n_shown == 0)
		(void) grid_put(grid, 0, at, ink, ": %s", board->matters[0].what);
	else if (n_shown < board->n_matters)
		(void) grid_put(grid, 0, at, GRID_DIM, ", %zu shown; all: fairlead status", n_shown);
}

static void draw_state(struct grid *grid, size_t at, const struct board *board, size_t n_shown)
{
	enum board_level worst = board_worst(board);

	if (board->n_running == 0)
		(void) grid_put(grid, 0, at, GRID_BAD, "no daemon answers");
	else if (worst <= BOARD_OK)
		(void) grid_put(grid, 0, at, GRID_GOOD, "all is well");
	else if (board->n_matters > 0)
		draw_matters(grid, at, board, n_shown);
	else
		(void) grid_put(grid, 0, at, panel_ink(worst, GRID_GOOD), "%s", board_level_name(worst));
}

static void draw_head(struct grid *grid, const struct layout *layout, const struct model *model,
                      const struct board *board, size_t n_shown, int64_t wall_us)
{
	time_t second = (time_t) (wall_us / US_PER_S);
	size_t columns = grid_columns(grid), at;
	struct tm tm = {0};
	char text[32];

	at = grid_put(grid, 0, 0, GRID_STRONG, "fairlead %s ", board->node != NULL ? board->node : "");
	if (model_is_told(model))
		draw_state(grid, at, board, n_shown);
	else
		(void) grid_put(grid, 0, at, GRID_DIM, "asking the daemons");
	(void) localtime_r(&second, &tm);
	(void) strftime(text, sizeof(text), "%H:%M:%S", &tm);
	at = columns - CLOCK_WIDTH - 1;
	if (layout->is_paused)
		(void) grid_put(grid, 0, at - 7, GRID_WARNED, " PAUSED");
	(void) grid_put(grid, 0, at, GRID_PLAIN, " %s", text);
}

static void draw_foot(struct grid *grid, const struct layout *layout)
{
	(void) grid_put(grid, grid_rows(grid) - 1, 0, GRID_DIM, "%s",
	                layout->has_details || layout->has_help
	                    ? "q quit   arrows scroll   enter back   ? help"
	                    : "q quit   tab panel   enter details   p pause   ? help");
}

/* --- what wants attention --- */

static void add_matter(struct grid *rows, const struct board_matter *matter)
{
	grid_add_text(rows, 1, panel_ink(matter->level, GRID_PLAIN), matter->what);
	if (matter->to_do[0] != '\0')
		grid_add_text(rows, MATTER_INDENT, GRID_PLAIN, matter->to_do);
}

/* The worst first, each whole, with what to do: as many as fit into so many rows. Returns how many.
 */
static size_t add_matters(struct grid *rows, const struct board *board, size_t limit)
{
	for (size_t i = 0; i < board->n_matters; i++) {
		AUTO(grid_free) struct grid *one = grid_new(0, grid_columns(rows));
		size_t n = grid_rows(rows);

		add_matter(one, &board->matters[i]);
		if (n + grid_rows(one) > limit)
			return i;
		for (size_t k = 0; k < grid_rows(one); k++)
			(void) grid_add_row(rows);
		grid_copy(rows, n, 0, one, 0, grid_rows(one));
	}
	return board->n_matters;
}

/* --- panels --- */

/* Of the panel's questions the first whose answer is old, else the first that has none;
 * NODE_QUESTIONS: all is as it should be. */
static enum node_question troubled(const struct model *model, enum panel panel)
{
	const enum node_question *question;

	for (question = panel_kinds[panel].questions; *question != NODE_QUESTIONS; question++) {
		if (model_is_stale(model, *question))
			return *question;
	}
	for (question = panel_kinds[panel].questions; *question != NODE_QUESTIONS; question++) {
		if (model_is_missing(model, *question))
			return *question;
	}
	return NODE_QUESTIONS;
}

/* "etcdwatch does not answer; this is 12s old", or why there is nothing. */
static void draw_trouble(struct grid *grid, size_t row, size_t at, const struct model *model,
                         enum panel panel, int64_t now_us)
{
	enum node_question question = troubled(model, panel);
	char age[FIELD_AGE_MAX];

	if (question == NODE_QUESTIONS)
		return;
	if (model_is_stale(model, question))
		(void) grid_put(grid, row, at, GRID_BAD, "%s %s; this is %s old ",
		                node_questions[question].daemon, model_trouble(model, question),
		                field_age(now_us - model->sources[question].good_us, age));
	else
		(void) grid_put(grid, row, at, GRID_WARNED, "%s %s ", node_questions[question].daemon,
		                model_trouble(model, question));
}

static void draw_title(struct grid *grid, size_t row, size_t column, size_t columns,
                       const struct piece *piece, const struct layout *layout,
                       const struct model *model, int64_t now_us)
{
	const struct panel_kind *kind = &panel_kinds[piece->panel];
	size_t hidden = grid_rows(piece->rows) - piece->n, at = column;

	for (size_t i = 0; i < columns; i++)
		(void) grid_put_character(grid, row, column + i, GRID_DIM,
		                          layout->is_ascii ? '-' : HORIZONTAL);
	at = grid_put(grid, row, at + 1, piece->panel == layout->chosen ? GRID_CHOSEN : GRID_TITLE,
	              " %s ", kind->title);
	if (hidden > 0)
		at = grid_put(grid, row, at, GRID_DIM, " %zu more ", hidden);
	draw_trouble(grid, row, at + 1, model, piece->panel, now_us);
}

static struct piece new_piece(enum panel panel, const struct layout *layout,
                              const struct model *model, size_t columns, int64_t now_us,
                              int64_t wall_us)
{
	struct piece piece = {.panel = panel, .rows = grid_new(0, columns)};
	enum node_question question = troubled(model, panel);

	panel_kinds[panel].draw(piece.rows, model, now_us, wall_us, layout->is_ascii);
	piece.n = grid_rows(piece.rows);
	if (question != NODE_QUESTIONS && model_is_stale(model, question))
		grid_dim(piece.rows, 0, 0, piece.n, columns);
	return piece;
}

/* Rows that it has at least, if it wants them. */
static size_t least_of(const struct piece *piece)
{
	size_t least = piece->panel == PANEL_EVENTS ? EVENTS_ROWS_MIN : 1;

	return MIN(least, grid_rows(piece->rows));
}

/* So that they and their titles fit. */
static void fit(struct piece *pieces, size_t n, size_t rows)
{
	for (;;) {
		struct piece *longest = NULL;
		size_t total = n;

		for (size_t i = 0; i < n; i++) {
			total += pieces[i].n;
			/* Of two that are as long the later one, as it matters less. */
			if (pieces[i].n > least_of(&pieces[i]) &&
			    (longest == NULL || pieces[i].n >= longest->n))
				longest = &pieces[i];
		}
		if (total <= rows || longest == NULL)
			return;
		longest->n -= MIN(total - rows, 1);
	}
}

static void draw_pieces(struct grid *grid, size_t row, struct piece *pieces, size_t n,
                        size_t column, const struct layout *layout, const struct model *model,
                        int64_t now_us)
{
	fit(pieces, n, grid_rows(grid) - 1 - row);
	for (size_t i = 0; i < n; i++) {
		draw_title(grid, row, column, grid_columns(pieces[i].rows), &pieces[i], layout, model,
		           now_us);
		grid_copy(grid, row + 1, column, pieces[i].rows, 0, pieces[i].n);
		row += 1 + pieces[i].n;
		grid_free(pieces[i].rows);
	}
}

static void draw_panels(struct grid *grid, size_t row, const struct layout *layout,
                        const struct model *model, int64_t now_us, int64_t wall_us)
{
	static const enum panel left[] = {PANEL_VIP, PANEL_PRISM, PANEL_EVENTS};
	static const enum panel right[] = {PANEL_ETCD, PANEL_SNAPSHOTS, PANEL_NET};
	size_t columns = grid_columns(grid), half = columns / 2;
	struct piece pieces[PANELS];

	if (columns < WIDE_COLUMNS) {
		for (size_t i = 0; i < PANELS; i++)
			pieces[i] = new_piece((enum panel) i, layout, model, columns, now_us, wall_us);
		draw_pieces(grid, row, pieces, PANELS, 0, layout, model, now_us);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(left); i++)
		pieces[i] = new_piece(left[i], layout, model, half - 1, now_us, wall_us);
	draw_pieces(grid, row, pieces, ARRAY_SIZE(left), 0, layout, model, now_us);
	for (size_t i = 0; i < ARRAY_SIZE(right); i++)
		pieces[i] = new_piece(right[i], layout, model, columns - half, now_us, wall_us);
	draw_pieces(grid, row, pieces, ARRAY_SIZE(right), half, layout, model, now_us);
}

/* --- one panel alone, help --- */

/* Returns how many of the rows are seen, or are above those that are. */
static size_t draw_scrolled(struct grid *grid, struct layout *layout, const struct grid *rows)
{
	size_t shown = grid_rows(grid) - 3, n = grid_rows(rows);

	layout->scroll = MIN(layout->scroll, n > shown ? n - shown : 0);
	grid_copy(grid, 2, 0, rows, layout->scroll, shown);
	return MIN(layout->scroll + shown, n);
}

static void draw_details(struct grid *grid, struct layout *layout, const struct model *model,
                         int64_t now_us, int64_t wall_us)
{
	struct piece piece =
	    new_piece(layout->chosen, layout, model, grid_columns(grid), now_us, wall_us);

	panel_details(piece.rows, model, layout->chosen);
	piece.n = draw_scrolled(grid, layout, piece.rows);
	draw_title(grid, 1, 0, grid_columns(grid), &piece, layout, model, now_us);
	grid_free(piece.rows);
}

static void draw_help(struct grid *grid, struct layout *layout)
{
	static const char *const lines[] = {
	    "q         quit",
	    "tab       the next panel; so do the arrows right and down",
	    "backtab   the one before; so do the arrows left and up",
	    "enter     all that is known of the panel, and back",
	    "arrows    scroll there; page up, page down, home, end too",
	    "p         pause: nothing is asked, nothing changes; and on",
	    "l         draw the screen anew",
	    "?         this help, and back",
	    "",
	    "A panel whose daemon does not answer stays as it was, dim, with its age.",
	    "The bar of a VIP is the time for which the fence lets its owner go on.",
	    "Events are what has changed while this runs, and what the daemons tell.",
	};
	struct grid *rows = grid_new(0, grid_columns(grid));

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		(void) grid_put(rows, grid_add_row(rows), 1, GRID_PLAIN, "%s", lines[i]);
	(void) draw_scrolled(grid, layout, rows);
	grid_free(rows);
}

static void draw_too_small(struct grid *grid)
{
	struct grid *rows = grid_new(0, MAX(grid_columns(grid), 1));

	grid_add_text(rows, 0, GRID_PLAIN, "too small: 60 columns and 15 rows are needed (q quits)");
	grid_copy(grid, 0, 0, rows, 0, grid_rows(rows));
	grid_free(rows);
}

struct grid *layout_draw(struct layout *layout, const struct model *model, size_t rows,
                         size_t columns, int64_t now_us, int64_t wall_us)
{
	struct grid *grid = grid_new(rows, columns);
	bool has_panels = !layout->has_help && !layout->has_details;
	struct grid *matters;
	struct board board = {0};
	size_t n_shown = 0;

	if (rows < LAYOUT_ROWS_MIN || columns < LAYOUT_COLUMNS_MIN) {
		draw_too_small(grid);
		return grid;
	}
	model_fill_board(model, &board, wall_us);
	matters = grid_new(0, columns);
	if (has_panels && model_is_told(model))
		n_shown = add_matters(matters, &board, (rows - LAYOUT_ROWS_MIN) * 2 / 3);
	draw_head(grid, layout, model, &board, n_shown, wall_us);
	grid_copy(grid, 1, 0, matters, 0, grid_rows(matters));
	if (layout->has_help)
		draw_help(grid, layout);
	else if (layout->has_details)
		draw_details(grid, layout, model, now_us, wall_us);
	else
		draw_panels(grid, 1 + grid_rows(matters), layout, model, now_us, wall_us);
	draw_foot(grid, layout);
	grid_free(matters);
	board_fini(&board);
	return grid;
}
