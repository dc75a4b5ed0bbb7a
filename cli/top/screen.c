/* SPDX-License-Identifier: Apache-2.0 */
/* What a cell means becomes a colour here, or on a terminal without colours something else that
 * tells. ncurses sends only what has changed. */
#include "cli/top/screen.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/mem.h"

#define ESCAPE 27
#define ESCAPE_DELAY_MS 50 /* how long the rest of a key's sequence may take */
#define ROW_MAX 1024

struct screen {
	SCREEN *terminal;
	bool is_ascii;
	bool has_colours;
	chtype inks[GRID_CHOSEN + 1];
};

enum pair {
	PAIR_GOOD = 1,
	PAIR_WARNED,
	PAIR_BAD,
	PAIR_TITLE,
};

static void set_inks(struct screen *s)
{
	s->inks[GRID_PLAIN] = A_NORMAL;
	s->inks[GRID_DIM] = A_DIM;
	s->inks[GRID_STRONG] = A_BOLD;
	s->inks[GRID_CHOSEN] = A_REVERSE | A_BOLD;
	s->inks[GRID_GOOD] = s->has_colours ? COLOR_PAIR(PAIR_GOOD) : A_NORMAL;
	s->inks[GRID_WARNED] = s->has_colours ? COLOR_PAIR(PAIR_WARNED) : A_BOLD;
	s->inks[GRID_BAD] = s->has_colours ? COLOR_PAIR(PAIR_BAD) | A_BOLD : A_STANDOUT;
	s->inks[GRID_TITLE] = s->has_colours ? COLOR_PAIR(PAIR_TITLE) | A_BOLD : A_BOLD;
}

static void start_colours(struct screen *s)
{
	s->has_colours = has_colors() && start_color() == OK;
	if (!s->has_colours)
		return;
	(void) use_default_colors();
	(void) init_pair(PAIR_GOOD, COLOR_GREEN, -1);
	(void) init_pair(PAIR_WARNED, COLOR_YELLOW, -1);
	(void) init_pair(PAIR_BAD, COLOR_RED, -1);
	(void) init_pair(PAIR_TITLE, COLOR_CYAN, -1);
}

/* The fonts of these have no eighths of a block, whatever the locale says. */
static bool is_plain_terminal(const char *name)
{
	return name == NULL || strcmp(name, "linux") == 0 || strncmp(name, "vt", 2) == 0 ||
	       strcmp(name, "ansi") == 0;
}

/* A terminal on which nothing can be put anywhere (TERM=dumb) is known, and of no use. */
static bool has_places(void)
{
	const char *how = tigetstr("cup");

	return how != NULL && how != (const char *) -1;
}

int screen_new(bool has_colours, struct screen **ret_screen)
{
	struct screen *s = NEW0(struct screen);

	(void) setlocale(LC_CTYPE, "");
	s->is_ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0 || is_plain_terminal(getenv("TERM"));
	s->terminal = newterm(NULL, stdout, stdin);
	if (s->terminal != NULL && !has_places()) {
		(void) endwin();
		delscreen(TAKE_PTR(s->terminal));
	}
	if (s->terminal == NULL) {
		free(s);
		return -EOPNOTSUPP;
	}
	if (has_colours)
		start_colours(s);
	set_inks(s);
	(void) cbreak();
	(void) noecho();
	(void) nonl();
	(void) keypad(stdscr, true);
	(void) nodelay(stdscr, true);
	(void) set_escdelay(ESCAPE_DELAY_MS);
	(void) curs_set(0);
	*ret_screen = s;
	return 0;
}

void screen_free(struct screen *s)
{
	if (s == NULL)
		return;
	/* Where a terminal has no second screen to come back from, the prompt is to have a line. */
	(void) move(LINES - 1, 0);
	(void) clrtoeol();
	(void) refresh();
	(void) endwin();
	delscreen(s->terminal);
	free(s);
}

bool screen_is_ascii(const struct screen *s)
{
	return s->is_ascii;
}

void screen_size(struct screen *s UNUSED, size_t *ret_rows, size_t *ret_columns)
{
	struct winsize size = {0};

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0 &&
	    is_term_resized(size.ws_row, size.ws_col))
		(void) resizeterm(size.ws_row, size.ws_col);
	*ret_rows = (size_t) LINES;
	*ret_columns = (size_t) COLS;
}

static void show_row(const struct screen *s, const struct grid *grid, size_t row)
{
	size_t columns = MIN(grid_columns(grid), ROW_MAX), at = 0;

	while (at < columns) {
		enum grid_ink ink = grid_at(grid, row, at)->ink;
		wchar_t run[ROW_MAX + 1];
		size_t n = 0, begin = at;

		for (; at < columns && grid_at(grid, row, at)->ink == ink; at++) {
			uint32_t c = grid_at(grid, row, at)->character;

			run[n++] = s->is_ascii && c > '~' ? L'?' : (wchar_t) c;
		}
		(void) attrset((int) s->inks[ink]);
		(void) mvaddnwstr((int) row, (int) begin, run, (int) n);
	}
}

void screen_show(struct screen *s, const struct grid *grid)
{
	(void) erase();
	for (size_t row = 0; row < grid_rows(grid); row++)
		show_row(s, grid, row);
	(void) attrset(A_NORMAL);
	(void) refresh();
}

void screen_redraw(struct screen *s UNUSED)
{
	(void) clearok(curscr, true);
}

enum screen_key screen_key(struct screen *s UNUSED)
{
	static const struct {
		int code;
		enum screen_key key;
	} keys[] = {
	    {ERR, SCREEN_NONE},          {'q', SCREEN_QUIT},
	    {'\t', SCREEN_NEXT},         {KEY_RIGHT, SCREEN_NEXT},
	    {KEY_BTAB, SCREEN_BEFORE},   {KEY_LEFT, SCREEN_BEFORE},
	    {KEY_UP, SCREEN_UP},         {KEY_DOWN, SCREEN_DOWN},
	    {KEY_PPAGE, SCREEN_PAGE_UP}, {KEY_NPAGE, SCREEN_PAGE_DOWN},
	    {KEY_HOME, SCREEN_HOME},     {KEY_END, SCREEN_END},
	    {'\r', SCREEN_ENTER},        {'\n', SCREEN_ENTER},
	    {KEY_ENTER, SCREEN_ENTER},   {ESCAPE, SCREEN_BACK},
	    {'p', SCREEN_PAUSE},         {'l', SCREEN_REDRAW},
	    {'L' - '@', SCREEN_REDRAW},  {'?', SCREEN_HELP},
	    {'h', SCREEN_HELP},
	};
	int code = getch();

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (keys[i].code == code)
			return keys[i].key;
	}
	return SCREEN_OTHER;
}
