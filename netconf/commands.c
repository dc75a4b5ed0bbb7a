/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one change that may be under way: who asked for it, and what came of it; and the commands of
 * the control socket. `net apply` is answered before the first write to the kernel.
 */
#include "netconf/daemon.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mono.h"

#define CONFIRM_MIN_US (5 * US_PER_S)
#define CONFIRM_MAX_US (3600 * US_PER_S)
#define NONE "-"
#define EVEN_WITHOUT_QUORUM "--even-without-quorum"
#define APPLY_WORDS "WITHIN|- ADDRESS|- [" EVEN_WITHOUT_QUORUM "] [FILE]..."

static void reply_status(struct control_request *request, const struct daemon *daemon)
{
	struct daemon_report report;

	daemon_report(daemon, &report);
	control_reply(request, report_json(&report));
	control_ok(request);
}

static void status_fn(struct control_request *request, int argc UNUSED, char **argv UNUSED,
                      void *userdata)
{
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
static void fail(struct control_request *request, const struct daemon *daemon, int r,
                 const char *now)
{
	struct daemon_report report;

	daemon_report(daemon, &report);
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

static void diff_fn(struct control_request *request, int argc UNUSED, char **argv UNUSED,
                    void *userdata)
{
	struct daemon *daemon = userdata;
	json_t *lines = NULL;
	int r;

	r = daemon_diff(daemon, &lines);
	if (r < 0) {
		if (r == -EUCLEAN)
			fail(request, daemon, r, "");
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

/* Answers the client that asked for the change, if one still waits. */
static void tell(struct daemon *daemon, int r, const char *reason)
{
	struct control_request *request = TAKE_PTR(daemon->applying);
	json_t *lines = TAKE_PTR(daemon->lines);

	if (request != NULL) {
		reply_lines(request, lines);
		if (r < 0)
			control_fail(request, CONTROL_FAILED, "%s", reason);
		else
			reply_status(request, daemon);
	}
	json_decref(lines);
}

static void on_ready(void *userdata)
{
	tell(userdata, 0, "");
}

static void on_over(struct config *config, void *userdata)
{
	struct daemon *daemon = userdata;

	daemon->transaction = NULL;
	if (config != NULL) {
		config_free(daemon->config);
		daemon->config = config;
		daemon_adopt(daemon);
	}
	statedir_read_outcome(daemon->state_dir, &daemon->last);
	daemon_keep(daemon);
	/* It ended before it had begun. */
	tell(daemon, -ECANCELED, daemon->last.reason);
}

static struct transaction_host host_of(struct daemon *daemon)
{
	return (struct transaction_host){
	    .ev = daemon_ev(daemon),
	    .kernel = daemon->kernel,
	    .ledger = daemon->ledger,
	    .clients = daemon->clients,
	    .program = daemon->service->self,
	    .runtime_dir = daemon->runtime_dir,
	    .state_dir = daemon->state_dir,
	    .ready = on_ready,
	    .over = on_over,
	    .userdata = daemon,
	};
}

/* It is so already, and so it may be confirmed at once. */
static void take_over(struct daemon *daemon, struct transaction_parts *parts)
{
	int r = statedir_confirm(daemon->state_dir, parts->text);

	if (r < 0) {
		tell(daemon, r, "the state directory cannot be written");
		return;
	}
	drift_watch(daemon->drift, NULL, NULL);
	config_free(daemon->config);
	daemon->config = TAKE_PTR(parts->config);
	daemon_adopt(daemon);
	drift_watch(daemon->drift, daemon->ledger, daemon->config);
	log_notice("confirmed", "reason=\"the network is as this configuration wants it already\"");
	tell(daemon, 0, "");
}

/* A confirmation that could not be written to its end: its files are about to be replaced, and a
 * later start would take it for newer than what is confirmed now. */
static int finish_earlier(struct daemon *daemon)
{
	const char *state_dir = daemon->state_dir;
	AUTO(free) char *dir = statedir_path(state_dir, STATEDIR_TRANSACTION);
	struct checkpoint_state state;
	int r = checkpoint_read_state(dir, &state);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (state.phase != PHASE_CONFIRMED)
		return 0;
	r = statedir_finish_confirmed(state_dir, &state);
	if (r == 0)
		statedir_read_outcome(state_dir, &daemon->last);
	return r;
}

static void on_begun(const struct begin_result *result, void *userdata)
{
	struct daemon *daemon = userdata;
	struct transaction_host host = host_of(daemon);
	int r;

	daemon->begin = NULL;
	daemon->lines = json_deep_copy(result->lines);
	if (result->r < 0) {
		tell(daemon, result->r, result->reason);
		return;
	}
	r = finish_earlier(daemon);
	if (r < 0) {
		tell(daemon, r, "an earlier confirmation cannot be finished");
		return;
	}
	if (result->is_nothing) {
		take_over(daemon, result->parts);
		return;
	}
	r = statedir_confirm_first(host.state_dir);
	if (r < 0) {
		tell(daemon, r, "the state directory cannot be written, so nothing was begun");
		return;
	}
	/* What the change makes of the network is no drift. */
	drift_watch(daemon->drift, NULL, NULL);
	r = transaction_begin(&host, result->parts, &daemon->transaction);
	if (r < 0) {
		(void) log_error_errno(r, "checkpoint_failed", "dir=%s", host.state_dir);
		daemon_keep(daemon);
		tell(daemon, r, "the checkpoint cannot be written, so nothing was begun");
	}
}

/* Begins a change, if none is under way (-EBUSY) and nothing is in the way (-EUCLEAN). `request` is
 * answered when the guard watches and the first write is about to come, or with why not. */
static int begin_change(struct daemon *daemon, struct begin_request *with,
                        struct control_request *request)
{
	if (left_is_blocked(daemon->left))
		return -EUCLEAN;
	if (daemon->begin != NULL || daemon->transaction != NULL)
		return -EBUSY;
	if (with->n_paths == 0) {
		with->paths = daemon->service->options.config_paths;
		with->n_paths = daemon->service->options.n_config_paths;
	}
	with->owned = ledger_owned(daemon->ledger);
	with->runtime_dir = daemon->runtime_dir;
	with->clients = daemon->clients;
	with->probe_program = daemon->probe_program;
	daemon->applying = request;
	daemon->begin = begin_start(daemon_ev(daemon), daemon->kernel, with, on_begun, daemon);
	return 0;
}

/* id: which change is meant; NULL: whichever is under way. -ENOENT: there is none; -ESTALE: another
 * one is; -EUCLEAN: what an earlier one left is in the way. */
static int find(const struct daemon *daemon, const char *id)
{
	if (left_is_blocked(daemon->left))
		return -EUCLEAN;
	if (daemon->transaction == NULL)
		return -ENOENT;
	return id == NULL || strcmp(transaction_state(daemon->transaction)->id, id) == 0 ? 0 : -ESTALE;
}

static int confirm(struct daemon *daemon, const char *id)
{
	int r = find(daemon, id);

	return r < 0 ? r : transaction_confirm(daemon->transaction);
}

static int abandon(struct daemon *daemon, const char *id)
{
	int r = find(daemon, id);

	return r < 0 ? r : transaction_abandon(daemon->transaction, "the operator asked for it");
}

/* Gives up the way back of a change that is half undone, or what is in the way; the network stays
 * as it is. The same errors, or -EINVAL: not now. */
static int discard(struct daemon *daemon, const char *id)
{
	int r;

	if (left_is_blocked(daemon->left))
		return left_discard(daemon->left, id);
	r = find(daemon, id);
	return r < 0 ? r : transaction_discard(daemon->transaction);
}

void daemon_resume(struct daemon *daemon, const struct checkpoint_state *state)
{
	struct transaction_host host = host_of(daemon);

	daemon->transaction = transaction_resume(&host, state);
}

/* --- its commands --- */

static bool parse_within(const char *word, int64_t *ret_us)
{
	*ret_us = 0;
	return strcmp(word, NONE) == 0 || (conf_parse_duration(word, ret_us) == 0 &&
	                                   *ret_us >= CONFIRM_MIN_US && *ret_us <= CONFIRM_MAX_US);
}

static void apply_fn(struct control_request *request, int argc, char **argv, void *userdata)
{
	struct daemon *daemon = userdata;
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
	r = begin_change(daemon, &begin, request);
	if (r == -EBUSY)
		control_fail(request, CONTROL_BUSY,
		             "a change is under way: 'fairlead net status' shows it");
	else if (r < 0)
		fail(request, daemon, r, "");
}

static void answer(struct control_request *request, const struct daemon *daemon, int r,
                   const char *now)
{
	if (r < 0)
		fail(request, daemon, r, now);
	else
		reply_status(request, daemon);
}

static void confirm_fn(struct control_request *request, int argc, char **argv, void *userdata)
{
	struct daemon *daemon = userdata;

	answer(request, daemon, confirm(daemon, argc > 0 ? argv[0] : NULL),
	       "the change is not at the point where it can be confirmed");
}

static void rollback_fn(struct control_request *request, int argc, char **argv, void *userdata)
{
	struct daemon *daemon = userdata;

	answer(request, daemon, abandon(daemon, argc > 0 ? argv[0] : NULL),
	       "the change is being undone already");
}

static void discard_fn(struct control_request *request, int argc UNUSED, char **argv,
                       void *userdata)
{
	struct daemon *daemon = userdata;

	answer(request, daemon, discard(daemon, argv[0]),
	       "the change is not half undone: 'fairlead net rollback' undoes it");
}

void daemon_metrics(struct metrics *m, void *userdata)
{
	const struct daemon *daemon = userdata;
	struct daemon_report report;

	daemon_report(daemon, &report);
	report_metrics(m, &report);
}

static const struct control_command table[] = {
    {"net status", false, status_fn, "", "The change that is under way, and how the last ended."},
    {"net diff", false, diff_fn, "", "The steps that would make the network what was confirmed."},
    {"net apply", true, apply_fn, APPLY_WORDS, "Begin a change: the configuration in these files."},
    {"net confirm", true, confirm_fn, "[ID]", "All is well: the change stays."},
    {"net rollback", true, rollback_fn, "[ID]", "Undo the change that is under way."},
    {"net discard", true, discard_fn, "ID",
     "Give up what could not be undone, or is damaged; the network stays as it is."},
};

int daemon_open_commands(struct daemon *daemon)
{
	return service_serve(daemon->service, table, ARRAY_SIZE(table), daemon);
}
