/* SPDX-License-Identifier: Apache-2.0 */
/* Tables, and the colours of the words that daemons say of states. */
#include "cli/common/table.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/printable.h"
#include "cli/common/cli.h"

/* ECMA-48, "select graphic rendition". */
#define GOOD "\033[32m"
#define WARN "\033[33m"
#define BAD "\033[31m"
#define PLAIN "\033[0m"

static bool is_on;

static const struct {
	const char *word;
	const char *color;
} words[] = {
    {"ok", GOOD},         {"good", GOOD},      {"ready", GOOD},        {"owner", GOOD},
    {"stored", GOOD},     {"confirmed", GOOD}, {"warning", WARN},      {"note", WARN},
    {"alive", WARN},      {"busy", WARN},      {"taking", WARN},       {"yielding", WARN},
    {"unverified", WARN}, {"waiting", WARN},   {"awaiting", WARN},     {"missing", WARN},
    {"critical", BAD},    {"bad", BAD},        {"down", BAD},          {"hung", BAD},
    {"not_ready", BAD},   {"untrusted", BAD},  {"failed", BAD},        {"differs", BAD},
    {"half-undone", BAD}, {"rejected", BAD},   {"address-break", BAD}, {"management-path", BAD},
    {"blip", WARN},       {"error", BAD},
};

bool color_is_wanted(enum color_when when, bool is_terminal, const char *no_color, const char *term)
{
	switch (when) {
	case COLOR_ALWAYS:
		return true;
	case COLOR_NEVER:
		return false;
	case COLOR_AUTO:
		break;
	}
	return is_terminal && (no_color == NULL || no_color[0] == '\0') &&
	       (term == NULL || strcmp(term, "dumb") != 0);
}

void color_setup(enum color_when when)
{
	is_on = color_is_wanted(when, isatty(STDOUT_FILENO) != 0, getenv("NO_COLOR"), getenv("TERM"));
}

/* Of the first word; NULL: none. */
static const char *color_of(const char *state)
{
	size_t len = strcspn(state, " :");

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strlen(words[i].word) == len && strncasecmp(words[i].word, state, len) == 0)
			return words[i].color;
	}
	return NULL;
}

void color_print_state(FILE *out, const char *state)
{
	const char *color = is_on && out != stderr ? color_of(state) : NULL;

	if (color != NULL)
		(void) fputs(color, out);
	table_print_safe(out, state);
	if (color != NULL)
		(void) fputs(PLAIN, out);
}

/* --- tables --- */

/* Cells in one growing array, row after row; the widths are counted when it is printed. */

#define GAP 2
#define DOTS "..."
#define DOTS_WIDTH 3

struct table {
	const struct table_column *columns;
	size_t n_columns;
	char **cells;
	size_t n_cells;
};

struct table *table_new(const struct table_column *columns, size_t n_columns)
{
	struct table *table = NEW0(struct table);

	table->columns = columns;
	table->n_columns = n_columns;
	for (size_t i = 0; i < n_columns; i++)
		table_cell(table, "%s", columns[i].title);
	return table;
}

void table_free(struct table *table)
{
	if (table == NULL)
		return;
	for (size_t i = 0; i < table->n_cells; i++)
		free(table->cells[i]);
	free(table->cells);
	free(table);
}

void table_cell(struct table *table, const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	table->cells = xreallocarray(table->cells, table->n_cells + 1, sizeof(*table->cells));
	table->cells[table->n_cells++] = text;
}

/* In UTF-8 every byte but those that continue one. */
static bool begins_character(char c)
{
	return ((unsigned char) c & 0xc0) != 0x80;
}

size_t table_width(const char *text)
{
	size_t width = 0;

	for (const char *p = text; *p != '\0'; p++)
		width += begins_character(*p);
	return width;
}

static size_t width_of_column(const struct table *table, size_t column)
{
	size_t width = 0;

	for (size_t i = column; i < table->n_cells; i += table->n_columns)
		width = MAX(width, table_width(table->cells[i]));
	return width;
}

/* Leaves so many characters, the dots among them. */
static void cut(char *text, size_t width)
{
	size_t kept = 0;
	char *p = text;

	if (table_width(text) <= width)
		return;
	for (; kept < width - DOTS_WIDTH || !begins_character(*p); p++)
		kept += begins_character(*p);
	(void) strcpy(p, DOTS);
}

size_t table_fit_last(struct table *table, size_t width)
{
	size_t last = table->n_columns - 1;
	size_t taken = last * GAP;
	size_t room;

	for (size_t c = 0; c < last; c++)
		taken += width_of_column(table, c);
	room = MAX(width - MIN(width, taken), MAX(table_width(table->columns[last].title), DOTS_WIDTH));
	for (size_t i = last; i < table->n_cells; i += table->n_columns)
		cut(table->cells[i], room);
	return room;
}

static void print_spaces(FILE *out, size_t n)
{
	(void) fprintf(out, "%*s", (int) n, "");
}

static void print_cell(const struct table *table, size_t column, const char *cell, FILE *out)
{
	if (table->columns[column].align == TABLE_STATE)
		color_print_state(out, cell);
	else
		table_print_safe(out, cell);
}

static void print_row(const struct table *table, const size_t *widths, char *const *row, FILE *out)
{
	size_t pending = 0; /* spaces, which nothing may follow */

	for (size_t c = 0; c < table->n_columns; c++) {
		size_t fill = widths[c] - table_width(row[c]);
		bool right = table->columns[c].align == TABLE_RIGHT;

		if (row[c][0] != '\0') {
			print_spaces(out, pending + (right ? fill : 0));
			print_cell(table, c, row[c], out);
			pending = right ? 0 : fill;
		} else {
			pending += widths[c];
		}
		pending += GAP;
	}
	(void) fputc('\n', out);
}

void table_print(const struct table *table, FILE *out)
{
	AUTO(free) size_t *widths = xcalloc(table->n_columns, sizeof(*widths));

	assert(table->n_cells % table->n_columns == 0);
	for (size_t c = 0; c < table->n_columns; c++)
		widths[c] = width_of_column(table, c);
	for (size_t i = 0; i < table->n_cells; i += table->n_columns)
		print_row(table, widths, table->cells + i, out);
}

void table_print_safe(FILE *out, const char *text)
{
	size_t len;

	for (const char *p = text; *p != '\0'; p += len) {
		if (printable_is_hidden(printable_utf8_next(p, &len)))
			(void) fputc('?', out);
		else
			(void) fwrite(p, 1, len, out);
	}
}

static void PRINTF_LIKE(3, 0) print_line(FILE *out, const char *before, const char *fmt, va_list ap)
{
	AUTO(free) char *text = xvasprintf(fmt, ap);

	(void) fputs(before, out);
	table_print_safe(out, text);
	(void) fputc('\n', out);
}

void table_line(FILE *out, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_line(out, "", fmt, ap);
	va_end(ap);
}

int cli_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_line(stderr, "fairlead: ", fmt, ap);
	va_end(ap);
	return CLI_FAILED;
}
