/* SPDX-License-Identifier: Apache-2.0 */
/* `fairlead status`: the whole node on one screen, asked once or again and again. */
#include "cli/common/cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/status/board.h"

#define TIMEOUT_US (5 * US_PER_S)
#define WATCH_US US_PER_S
#define WIDTH 80
#define WIDTH_MIN 40
/* Cursor home; clear to the end of the line; and of the screen (ECMA-48). */
#define HOME "\033[H"
#define CLEAR_LINE "\033[K"
#define CLEAR_BELOW "\033[J"

static struct winsize terminal_size(void)
{
	struct winsize size = {0};

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		size = (struct winsize){.ws_col = WIDTH};
	return size;
}

/* In the place of what was there before, and no more lines than there is room for. */
static void print_in_place(const char *text, size_t rows)
{
	(void) fputs(HOME, stdout);
	for (size_t row = 1; *text != '\0' && (rows == 0 || row < rows); row++) {
		const char *end = strchrnul(text, '\n');

		(void) printf("%.*s" CLEAR_LINE "\n", (int) (end - text), text);
		text = *end != '\0' ? end + 1 : end;
	}
	(void) fputs(CLEAR_BELOW, stdout);
}

static void print_table(const struct cli *cli, const struct board *board)
{
	struct winsize size = terminal_size();
	AUTO(free) char *text = NULL;
	size_t len;
	FILE *out = xmemstream_open(&text, &len);
	board_print(out, board, MAX(size.ws_col, WIDTH_MIN));
	xmemstream_close(out);
	if (cli->watch && isatty(STDOUT_FILENO))
		print_in_place(text, size.ws_row);
	else
		(void) fputs(text, stdout);
}

static void print(const struct cli *cli, const struct board *board)
{
	json_t *json;

	if (cli->output == CLI_TABLE) {
		print_table(cli, board);
		return;
	}
	json = board_json(board);
	cli_print(cli, json);
	json_decref(json);
}

static int show_once(const struct cli *cli)
{
	struct node_reply replies[NODE_QUESTIONS];
	struct board board = {0};
	int code;

	node_ask(cli->runtime_dir, TIMEOUT_US, replies);
	board_fill(&board, replies, wall_now_us());
	print(cli, &board);
	code = board_exit(&board);
	if (code == CLI_UNREACHABLE)
		(void) fprintf(stderr,
		               "fairlead: no daemon runs here, as %s tells: systemctl status "
		               "'fairlead-*'\n",
		               cli->runtime_dir);
	board_fini(&board);
	node_replies_fini(replies);
	return code;
}

int cli_status(const struct cli *cli, int argc UNUSED, char **argv UNUSED)
{
	for (;;) {
		int code = show_once(cli);

		if (!cli->watch)
			return code;
		if (fflush(stdout) != 0)
			return CLI_FAILED;
		(void) usleep(WATCH_US);
	}
}
