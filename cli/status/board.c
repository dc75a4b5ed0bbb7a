/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The board: lines and matters, what it means that a daemon has not answered, the ports for metrics;
 * and how it is printed.
 */
#include "cli/status/board.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/common/table.h"
#include "cli/common/fields.h"

void board_fini(struct board *board)
{
	for (size_t i = 0; i < board->n_lines; i++)
		free(board->lines[i].text);
	for (size_t i = 0; i < board->n_matters; i++) {
		free(board->matters[i].what);
		free(board->matters[i].to_do);
	}
	free(board->lines);
	free(board->matters);
	free(board->node);
	*board = (struct board){0};
}

void board_begin(struct board *board, const char *part)
{
	board->lines = xreallocarray(board->lines, board->n_lines + 1, sizeof(*board->lines));
	board->lines[board->n_lines++] =
	    (struct board_line){.level = BOARD_OK, .part = part, .text = xstrdup("")};
}

void board_say(struct board *board, const char *fmt, ...)
{
	struct board_line *line = &board->lines[board->n_lines - 1];
	AUTO(free) char *before = line->text;
	AUTO(free) char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	line->text = xasprintf("%s%s%s", before, before[0] != '\0' ? "; " : "", text);
}

void board_raise(struct board *board, enum board_level level)
{
	struct board_line *line = &board->lines[board->n_lines - 1];

	line->level = MAX(line->level, level);
}

void board_matter(struct board *board, enum board_level level, const char *to_do, const char *fmt,
                  ...)
{
	struct board_matter matter = {.level = level, .to_do = xstrdup(to_do)};
	va_list ap;

	va_start(ap, fmt);
	matter.what = xvasprintf(fmt, ap);
	va_end(ap);
	matter.part = board->lines[board->n_lines - 1].part;
	board->matters = xreallocarray(board->matters, board->n_matters + 1, sizeof(*board->matters));
	board->matters[board->n_matters++] = matter;
	board_raise(board, level);
}

/* --- daemons that do not answer --- */

static void say_no_answer(struct board *board, const char *daemon, int r)
{
	AUTO(free)
	char *look =
	    xasprintf("systemctl status fairlead-%s; journalctl -u fairlead-%s", daemon, daemon);

	board_begin(board, daemon);
	switch (-r) {
	case ENOENT:
		board_say(board, "does not run here: it has no socket");
		board->lines[board->n_lines - 1].level = BOARD_ABSENT;
		return;
	case EACCES:
		board_say(board, "is not for this user");
		board_matter(board, BOARD_FAILED,
		             "Be root, or join the group of its socket: usermod -aG fairlead USER",
		             "%s was not asked: its socket is not for this user", daemon);
		board->is_denied = true;
		return;
	case ESRCH:
		board_say(board, "does not run, and its unit is enabled");
		board_matter(board, BOARD_FAILED, look, "%s does not run, and should", daemon);
		break;
	case ECONNREFUSED:
		board_say(board, "does not run any more: nobody listens at its socket");
		board_matter(board, BOARD_FAILED, look, "%s does not run", daemon);
		break;
	case ETIMEDOUT:
		board_say(board, "does not answer: it hangs, or has too much to do");
		board_matter(board, BOARD_FAILED, look, "%s does not answer", daemon);
		break;
	case EBADMSG:
		board_say(board, "its answer was cut off: it has just stopped");
		board_matter(board, BOARD_FAILED, look, "%s has stopped in the middle of its answer",
		             daemon);
		break;
	default:
		board_say(board, "cannot be asked: %s", strerror(-r));
		board_matter(board, BOARD_FAILED, look, "%s cannot be asked: %s", daemon, strerror(-r));
		break;
	}
	board->n_running++;
}

/* Whether there are objects; if not, the board has a line about it. */
static bool has_answered(struct board *board, const struct node_reply *reply, const char *daemon)
{
	if (reply->answer == NULL) {
		say_no_answer(board, daemon, reply->r);
		return false;
	}
	board->n_running++;
	if (reply->answer->error == NULL)
		return true;
	board_begin(board, daemon);
	board_say(board, "refuses to answer");
	board_matter(board, BOARD_FAILED, "", "%s: %s", daemon, reply->answer->sentence);
	return false;
}

static const char *why_missing(const struct node_reply *reply)
{
	if (reply->answer != NULL)
		return reply->answer->sentence;
	switch (-reply->r) {
	case ETIMEDOUT:
		return "no answer in time";
	case EBADMSG:
		return "its answer was cut off";
	default:
		return strerror(-reply->r);
	}
}

/* etcdwatch answers, and not about this, which may be well or not. */
static void check_told(struct board *board, const struct node_reply *reply, const char *part,
                       const char *what)
{
	if (node_objects(reply) != NULL || node_is_none(reply))
		return;
	board_begin(board, part);
	board_say(board, "not known");
	board_matter(board, BOARD_WARNED, "journalctl -u fairlead-etcdwatch may say more",
	             "etcdwatch does not tell %s: %s", what, why_missing(reply));
}

static void fill_etcd(struct board *board, const struct node_reply replies[static NODE_QUESTIONS],
                      int64_t wall_us)
{
	const json_t *health = node_objects(&replies[NODE_HEALTH]);

	board_etcd(board, health, node_objects(&replies[NODE_MEMBERS]),
	           node_objects(&replies[NODE_ALARMS]), wall_us);
	check_told(board, &replies[NODE_ALARMS], "alarms", "the alarms");
	board_snapshots(board, node_objects(&replies[NODE_JOBS]), health);
	check_told(board, &replies[NODE_JOBS], "snapshot", "how its snapshots are");
	board_record(board, node_objects(&replies[NODE_RECORD]));
	check_told(board, &replies[NODE_RECORD], "record", "how the record is");
}

/* --- all --- */

/* Stable, as things of one kind belong together; there are few. */
static void sort_lines(struct board *board)
{
	for (size_t i = 1; i < board->n_lines; i++) {
		struct board_line line = board->lines[i];
		size_t k = i;

		for (; k > 0 && board->lines[k - 1].level < line.level; k--)
			board->lines[k] = board->lines[k - 1];
		board->lines[k] = line;
	}
}

static void sort_matters(struct board *board)
{
	for (size_t i = 1; i < board->n_matters; i++) {
		struct board_matter matter = board->matters[i];
		size_t k = i;

		for (; k > 0 && board->matters[k - 1].level < matter.level; k--)
			board->matters[k] = board->matters[k - 1];
		board->matters[k] = matter;
	}
}

/* vipd knows this node's name, and where there is none, whoever knows this node's member of etcd.
 */
static void take_node(struct board *board, const json_t *vips, const json_t *members)
{
	const char *node = field_text(json_array_get(vips, 0), "node");
	const json_t *member;
	size_t i;

	json_array_foreach(members, i, member)
	{
		if (node == NULL && field_is_true(member, "local"))
			node = field_text(member, "node");
	}
	if (node != NULL)
		board->node = xstrdup(node);
}

void board_fill(struct board *board, const struct node_reply replies[static NODE_QUESTIONS],
                int64_t wall_us)
{
	take_node(board, node_objects(&replies[NODE_VIP]), node_objects(&replies[NODE_MEMBERS]));
	if (has_answered(board, &replies[NODE_VIP], "vipd"))
		board_vip(board, node_objects(&replies[NODE_VIP]));
	if (has_answered(board, &replies[NODE_PRISM], "prism"))
		board_prism(board, node_objects(&replies[NODE_PRISM]));
	/* The health is what etcdwatch knows without asking anybody: it speaks for the daemon. */
	if (has_answered(board, &replies[NODE_HEALTH], "etcdwatch"))
		fill_etcd(board, replies, wall_us);
	if (has_answered(board, &replies[NODE_NET], "netconf"))
		board_net(board, node_objects(&replies[NODE_NET]));
	board_ports(board, replies);
	sort_lines(board);
	sort_matters(board);
}

enum board_level board_worst(const struct board *board)
{
	enum board_level worst = BOARD_ABSENT;

	for (size_t i = 0; i < board->n_lines; i++)
		worst = MAX(worst, board->lines[i].level);
	return worst;
}

const char *board_level_name(enum board_level level)
{
	switch (level) {
	case BOARD_ABSENT:
		return "absent";
	case BOARD_OK:
		return "ok";
	case BOARD_WARNED:
		return "warning";
	case BOARD_FAILED:
		return "failed";
	}
	return "unknown";
}

int board_exit(const struct board *board)
{
	if (board->n_running == 0)
		return board->is_denied ? CLI_DENIED : CLI_UNREACHABLE;
	switch (board_worst(board)) {
	case BOARD_ABSENT:
	case BOARD_OK:
		return CLI_OK;
	case BOARD_WARNED:
		return CLI_WARNED;
	case BOARD_FAILED:
		return CLI_FAILED;
	}
	return CLI_FAILED;
}

/* --- ports for metrics --- */

/*
 * The ports that metrics are scraped from: a line for those that could not be opened, and none if
 * all are open.
 */

void board_ports(struct board *board, const struct node_reply replies[static NODE_QUESTIONS])
{
	static const enum node_question questions[] = {NODE_VIP_PORT, NODE_PRISM_PORT, NODE_ETCD_PORT,
	                                               NODE_NET_PORT};
	bool has_line = false;

	for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
		const json_t *told = json_array_get(node_objects(&replies[questions[i]]), 0);
		const json_t *port = json_object_get(told, "port");
		const char *daemon = node_questions[questions[i]].daemon;
		const char *listen = field_text(port, "listen"), *error = field_text(port, "error");

		if (listen == NULL || error == NULL)
			continue;
		if (!has_line)
			board_begin(board, "metrics");
		has_line = true;
		board_say(board, "the port of %s, %s, is not open", daemon, listen);
		board_matter(board, BOARD_WARNED,
		             "ss -ltnp tells who has it; 'metrics' of NodeConfig names it",
		             "nobody can scrape %s: its port %s is not open: %s", daemon, listen, error);
	}
}

/* --- in print and as JSON --- */

/*
 * Long texts go on below their beginning. Control characters of what daemons say are shown as '?'.
 */

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
