/* SPDX-License-Identifier: Apache-2.0 */
/* Long texts go on below their beginning. Control characters of what daemons say are shown as '?'.
 */
#include "cli/status/board_render.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/common/color.h"
#include "cli/common/table.h"

#define LEVEL_WIDTH 7
#define PART_WIDTH 9
#define GAP 2
#define TEXT_AT (LEVEL_WIDTH + GAP + PART_WIDTH + GAP)
#define TO_DO_AT (LEVEL_WIDTH + GAP)

static const char *word_of(enum board_level level)
{
	switch (level) {
	case BOARD_ABSENT:
		return "-";
	case BOARD_OK:
		return "ok";
	case BOARD_WARNED:
		return "WARNING";
	case BOARD_FAILED:
		return "FAILED";
	}
	return "?";
}

static void print_level(FILE *out, enum board_level level)
{
	const char *word = word_of(level);

	color_print_state(out, word);
	(void) fprintf(out, "%*s", (int) (LEVEL_WIDTH + GAP - strlen(word)), "");
}

/* From column `at` on; it ends its last line. */
static void print_wrapped(FILE *out, const char *text, size_t at, size_t width)
{
	AUTO(free) char *words = xstrdup(text);
	char *rest = NULL;
	size_t column = at;

	for (char *word = strtok_r(words, " \n", &rest); word != NULL;
	     word = strtok_r(NULL, " \n", &rest)) {
		size_t len = table_width(word);

		if (column > at && column + 1 + len > width) {
			(void) fprintf(out, "\n%*s", (int) at, "");
			column = at;
		} else if (column > at) {
			(void) fputc(' ', out);
			column++;
		}
		table_print_safe(out, word);
		column += len;
	}
	(void) fputc('\n', out);
}

static void print_head(FILE *out, const struct board *board)
{
	size_t n_failed = 0, n_warned = 0;

	for (size_t i = 0; i < board->n_matters; i++) {
		n_failed += board->matters[i].level == BOARD_FAILED ? 1 : 0;
		n_warned += board->matters[i].level == BOARD_WARNED ? 1 : 0;
	}
	(void) fputs("node ", out);
	table_print_safe(out, board->node != NULL ? board->node : "-");
	if (board->n_running == 0)
		(void) fputs(": no daemon answers", out);
	else if (n_failed + n_warned == 0 && board_worst(board) <= BOARD_OK)
		(void) fputs(": all is well", out);
	else
		(void) fprintf(out, ": %zu failed, %zu warning%s", n_failed, n_warned,
		               n_warned == 1 ? "" : "s");
	(void) fputs("\n\n", out);
}

void board_print(FILE *out, const struct board *board, size_t width)
{
	print_head(out, board);
	for (size_t i = 0; i < board->n_lines; i++) {
		const struct board_line *line = &board->lines[i];

		print_level(out, line->level);
		(void) fprintf(out, "%-*s  ", PART_WIDTH, line->part);
		print_wrapped(out, line->text, TEXT_AT, width);
	}
	for (size_t i = 0; i < board->n_matters; i++) {
		const struct board_matter *matter = &board->matters[i];

		(void) fputs(i == 0 ? "\n" : "", out);
		print_level(out, matter->level);
		print_wrapped(out, matter->what, TO_DO_AT, width);
		if (matter->to_do[0] == '\0')
			continue;
		(void) fprintf(out, "%*s", TO_DO_AT, "");
		print_wrapped(out, matter->to_do, TO_DO_AT, width);
	}
}

json_t *board_json(const struct board *board)
{
	json_t *parts = json_array(), *attention = json_array();

	for (size_t i = 0; i < board->n_lines; i++) {
		const struct board_line *line = &board->lines[i];

		(void) json_array_append_new(parts,
		                             json_pack("{s:s, s:s, s:s}", "part", line->part, "status",
		                                       board_level_name(line->level), "text", line->text));
	}
	for (size_t i = 0; i < board->n_matters; i++) {
		const struct board_matter *matter = &board->matters[i];

		(void) json_array_append_new(attention,
		                             json_pack("{s:s, s:s, s:s, s:s}", "part", matter->part,
		                                       "status", board_level_name(matter->level), "what",
		                                       matter->what, "to_do", matter->to_do));
	}
	return json_pack("{s:s?, s:s, s:o, s:o}", "node", board->node, "status",
	                 board_level_name(board_worst(board)), "parts", parts, "attention", attention);
}
