/* SPDX-License-Identifier: Apache-2.0 */
/* Lines and matters, and what it means that a daemon has not answered. */
#include "cli/status/board.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
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
