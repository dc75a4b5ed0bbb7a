/* SPDX-License-Identifier: Apache-2.0 */
/* Answers the control socket. `net apply` is answered before the first write to the kernel. */
#include "netconf/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/control.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/metricsport.h"
#include "base/mono.h"
#include "netconf/daemon.h"
#include "netconf/report.h"

#define CONTROL_GROUP "fairlead"
#define CONFIRM_MIN_US (5 * US_PER_S)
#define CONFIRM_MAX_US (3600 * US_PER_S)
#define NONE "-"
#define EVEN_WITHOUT_QUORUM "--even-without-quorum"
#define APPLY_WORDS "WITHIN|- ADDRESS|- [" EVEN_WITHOUT_QUORUM "] [FILE]..."

struct commands {
	struct daemon *daemon;
	struct control *control;
	struct metricsport *metrics_port;
	struct control_request *applying; /* NULL: nobody waits for the begin of a change */
};

static void reply_status(struct control_request *request, const struct commands *c)
{
	struct daemon_report report;

	daemon_report(c->daemon, &report);
	control_reply(request, report_json(&report));
	control_ok(request);
}

static void status_fn(struct control_request *request, int argc, char **argv UNUSED, void *userdata)
{
	if (argc != 0)
		control_fail(request, CONTROL_USAGE, "net status");
	else
		reply_status(request, userdata);
}

static void reply_lines(struct control_request *request, const json_t *lines)
{
	const json_t *line;
	size_t i;

	json_array_foreach(lines, i, line)
	{
		control_reply(request, json_deep_copy(line));
	}
}

/* now: why not at this moment */
static void fail(struct control_request *request, const struct commands *c, int r, const char *now)
{
	struct daemon_report report;

	daemon_report(c->daemon, &report);
	if (r == -EUCLEAN)
		control_fail(request, CONTROL_FAILED, "%s", report.blocked->reason);
	else if (r == -ENOENT)
		control_fail(request, CONTROL_NOTFOUND, "no change is under way");
	else if (r == -ESTALE)
		control_fail(request, CONTROL_NOTFOUND, "that is not the change that is under way: '%s' is",
		             report.change != NULL ? report.change->id : report.blocked->id);
	else if (r == -EINVAL)
		control_fail(request, CONTROL_BUSY, "%s", now);
	else
		control_fail(request, CONTROL_FAILED, "it cannot be written down: %s", strerror(-r));
}

static void diff_fn(struct control_request *request, int argc, char **argv UNUSED, void *userdata)
{
	struct commands *c = userdata;
	json_t *lines = NULL;
	int r;

	if (argc != 0) {
		control_fail(request, CONTROL_USAGE, "net diff");
		return;
	}
	r = daemon_diff(c->daemon, &lines);
	if (r < 0) {
		if (r == -EUCLEAN)
			fail(request, c, r, "");
		else if (r == -ENOENT)
			control_fail(request, CONTROL_NOTFOUND, "no configuration has ever been confirmed");
		else
			control_fail(request, CONTROL_FAILED, "the network cannot be observed: %s",
			             strerror(-r));
		return;
	}
	reply_lines(request, lines);
	json_decref(lines);
	control_ok(request);
}

/* --- a change --- */

static void on_told(int r, const char *reason, const json_t *lines, void *userdata)
{
	struct commands *c = userdata;
	struct control_request *request = TAKE_PTR(c->applying);

	if (request == NULL)
		return;
	reply_lines(request, lines);
	if (r < 0)
		control_fail(request, CONTROL_FAILED, "%s", reason);
	else
		reply_status(request, c);
}

static bool parse_within(const char *word, int64_t *ret_us)
{
	*ret_us = 0;
	return strcmp(word, NONE) == 0 || (conf_parse_duration(word, ret_us) == 0 &&
	                                   *ret_us >= CONFIRM_MIN_US && *ret_us <= CONFIRM_MAX_US);
}

static void apply_fn(struct control_request *request, int argc, char **argv, void *userdata)
{
	struct commands *c = userdata;
	struct begin_request begin = {0};
	int first_path = 2, r;

	if (argc < 2) {
		control_fail(request, CONTROL_USAGE, "net apply " APPLY_WORDS);
		return;
	}
	if (!parse_within(argv[0], &begin.confirm_us)) {
		control_fail(request, CONTROL_USAGE, "'%s' is not a time from 5 s to 1 h to confirm within",
		             argv[0]);
		return;
	}
	if (strcmp(argv[1], NONE) != 0 && addr_parse(argv[1], &begin.operator_addr) < 0) {
		control_fail(request, CONTROL_USAGE, "'%s' is not an address", argv[1]);
		return;
	}
	begin.even_without_quorum = argc > 2 && strcmp(argv[2], EVEN_WITHOUT_QUORUM) == 0;
	first_path += begin.even_without_quorum;
	begin.paths = (const char *const *) argv + first_path;
	begin.n_paths = (size_t) (argc - first_path);
	r = daemon_apply(c->daemon, &begin, on_told, c);
	if (r == -EBUSY)
		control_fail(request, CONTROL_BUSY,
		             "a change is under way: 'fairlead net status' shows it");
	else if (r < 0)
		fail(request, c, r, "");
	else
		c->applying = request;
}

static void answer(struct control_request *request, const struct commands *c, int r,
                   const char *now)
{
	if (r < 0)
		fail(request, c, r, now);
	else
		reply_status(request, c);
}

static void confirm_fn(struct control_request *request, int argc, char **argv, void *userdata)
{
	struct commands *c = userdata;

	if (argc > 1)
		control_fail(request, CONTROL_USAGE, "net confirm [ID]");
	else
		answer(request, c, daemon_confirm(c->daemon, argc > 0 ? argv[0] : NULL),
		       "the change is not at the point where it can be confirmed");
}

static void rollback_fn(struct control_request *request, int argc, char **argv, void *userdata)
{
	struct commands *c = userdata;

	if (argc > 1)
		control_fail(request, CONTROL_USAGE, "net rollback [ID]");
	else
		answer(request, c, daemon_abandon(c->daemon, argc > 0 ? argv[0] : NULL),
		       "the change is being undone already");
}

static void discard_fn(struct control_request *request, int argc, char **argv, void *userdata)
{
	struct commands *c = userdata;

	if (argc != 1)
		control_fail(request, CONTROL_USAGE, "net discard ID");
	else
		answer(request, c, daemon_discard(c->daemon, argv[0]),
		       "the change is not half undone: 'fairlead net rollback' undoes it");
}

static void fill_metrics(struct metrics *m, void *userdata)
{
	const struct commands *c = userdata;
	struct daemon_report report;

	daemon_report(c->daemon, &report);
	report_metrics(m, &report);
}

static void metrics_fn(struct control_request *request, int argc UNUSED, char **argv UNUSED,
                       void *userdata)
{
	const struct commands *c = userdata;

	control_reply(request, metricsport_answer(c->metrics_port));
	control_ok(request);
}

static const struct control_command table[] = {
    {"net status", false, status_fn, "", "The change that is under way, and how the last ended."},
    {"net diff", false, diff_fn, "", "The steps that would make the network what was confirmed."},
    {"net apply", true, apply_fn, APPLY_WORDS, "Begin a change: the configuration in these files."},
    {"net confirm", true, confirm_fn, "[ID]", "All is well: the change stays."},
    {"net rollback", true, rollback_fn, "[ID]", "Undo the change that is under way."},
    {"net discard", true, discard_fn, "ID",
     "Give up what could not be undone, or is damaged; the network stays as it is."},
    {"metrics", false, metrics_fn, "", "Metrics in the Prometheus text format."},
};

int commands_new(struct ev_loop *ev, const char *runtime_dir, struct daemon *daemon,
                 struct commands **ret_commands)
{
	AUTO(commands_free) struct commands *c = NEW0(struct commands);
	AUTO(free) char *path = xasprintf("%s/netconf.sock", runtime_dir);
	int r;

	c->daemon = daemon;
	r = control_new(ev, path, CONTROL_GROUP, table, ARRAY_SIZE(table), c, &c->control);
	if (r < 0)
		return r;
	c->metrics_port = metricsport_new(ev, fill_metrics, c);
	*ret_commands = TAKE_PTR(c);
	return 0;
}

void commands_set_metrics_port(struct commands *c, const struct endpoint *at)
{
	metricsport_set(c->metrics_port, at);
}

void commands_free(struct commands *c)
{
	if (c == NULL)
		return;
	metricsport_free(c->metrics_port);
	control_free(c->control);
	free(c);
}
