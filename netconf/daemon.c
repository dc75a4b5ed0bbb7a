/* SPDX-License-Identifier: Apache-2.0 */
/* The wiring: what was found, changes, the control socket. */
#include "netconf/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/nodeconf.h"
#include "netconf/commands.h"
#include "netconf/change/explain.h"
#include "netconf/change/look.h"
#include "netconf/dhcp/renew.h"

#define READY_POLL_S 0.1
/* Of leases, and of the time that it takes to follow them: no boot waits longer. */
#define READY_WAIT_US (DHCPCLIENTS_WAIT_US + 5 * US_PER_S)

struct daemon {
	struct loop *loop;
	const struct daemon_start *start;
	struct kernel *kernel;
	struct commands *commands;
	struct left *left;
	bool will_ask_for_leases;
	struct begin *begin;
	struct transaction *transaction;
	struct config *config; /* that is confirmed; NULL: none */
	bool only_leases;      /* of it: something is in the way */
	struct dhcpclients *clients;
	struct drift *drift;
	ev_timer ready; /* what is still waited for */
	int64_t started_us;
	struct ledger *ledger; /* NULL: nothing was kept yet */
	struct statedir_outcome last;
	/* Whoever asked for the change that begins. */
	daemon_told_fn told;
	void *told_userdata;
	json_t *lines; /* of its answer */
};

static struct ev_loop *ev_of(const struct daemon *daemon)
{
	return loop_ev(daemon->loop);
}

/* --- what is confirmed --- */

static void load_confirmed(struct daemon *daemon)
{
	AUTO(free) char *text = NULL;
	int r = statedir_confirmed(daemon->start->state_dir, &text);

	if (r == 0)
		r = config_load_text("the confirmed configuration", text, strlen(text), NULL,
		                     conf_message_log, NULL, &daemon->config);
	if (r < 0 && r != -ENOENT)
		(void) log_error_errno(r, "confirmed_unreadable", "dir=%s", daemon->start->state_dir);
}

static void stop_keeping(struct daemon *daemon)
{
	drift_watch(daemon->drift, NULL, NULL);
	config_free(TAKE_PTR(daemon->config));
	daemon->only_leases = false;
}

/* As far as a confirmation got, it is newer than the one before it. -EBUSY: a change of this boot
 * is not over, and the network is its own. */
static int load_unfinished(struct daemon *daemon)
{
	AUTO(free) char *dir = statedir_path(daemon->start->state_dir, STATEDIR_TRANSACTION);
	AUTO(free) char *text = NULL;
	struct checkpoint_state state;
	bool is_same;

	if (checkpoint_read_state(dir, &state) < 0 || checkpoint_same_kernel(&state, &is_same) < 0)
		return -ENOENT;
	switch (phase_find(state.phase, is_same, mono_now_us(), state.deadline_us)) {
	case PHASE_FOUND_WAIT:
	case PHASE_FOUND_UNDO:
		return -EBUSY;
	case PHASE_FOUND_FINISH:
		return checkpoint_read_config(dir, &text) < 0
		           ? -ENOENT
		           : config_load_text("the confirmed configuration", text, strlen(text), NULL,
		                              conf_message_log, NULL, &daemon->config);
	case PHASE_FOUND_VOID:
	case PHASE_FOUND_OVER:
		break;
	}
	return -ENOENT;
}

static int take_look(const struct daemon *daemon, struct look *ret_look)
{
	return look_take(daemon->kernel, ledger_owned(daemon->ledger), daemon->start->runtime_dir,
	                 daemon->config, ret_look);
}

/* A change may last, and its own clients, if it has any, may not be known: what the node had before
 * it goes on to be renewed. */
static void renew_leases(struct daemon *daemon)
{
	struct look look;

	if (daemon->config == NULL || daemon->config->n_dhcps == 0 ||
	    dhcpclients_count(daemon->clients) > 0 || take_look(daemon, &look) < 0)
		return;
	dhcpclients_want(daemon->clients, look.resolution, look.have);
	look_fini(&look);
	/* Of what was left in files nobody tells. */
	renew(daemon->kernel, ledger_owned(daemon->ledger), daemon->clients);
}

/* Nobody else is at work, and a disk that is read-only or damaged must not cost a node the address
 * that it lives by. As at the boot, files count where nothing is confirmed. */
static void keep_leases(struct daemon *daemon)
{
	const struct daemon_start *start = daemon->start;
	int r;

	daemon->only_leases = true;
	if (daemon->ledger == NULL)
		daemon->ledger = ledger_open(start->state_dir);
	r = load_unfinished(daemon);
	if (r < 0)
		load_confirmed(daemon);
	if (r == -EBUSY) {
		renew_leases(daemon);
		return;
	}
	if (daemon->config == NULL)
		(void) config_load(start->paths, start->n_paths, conf_message_log, NULL, &daemon->config);
	drift_watch(daemon->drift, daemon->ledger, daemon->config);
	drift_only_tell(daemon->drift);
}

/* From now on the network is to stay as it was confirmed. */
static void keep(struct daemon *daemon)
{
	drift_watch(daemon->drift, daemon->ledger, daemon->config);
	if (daemon->last.left[0] != '\0')
		drift_only_tell(daemon->drift);
	if (daemon->config == NULL) {
		dhcpclients_want_none(daemon->clients);
		dhcpclients_forget_others(daemon->clients);
	}
}

static void on_lease_changed(void *userdata)
{
	struct daemon *daemon = userdata;

	renew(daemon->kernel, ledger_owned(daemon->ledger), daemon->clients);
	if (daemon->transaction != NULL)
		transaction_follow(daemon->transaction);
	else
		drift_follow(daemon->drift);
}

/* What the configuration wants and somebody had made by hand becomes ours with the confirmation, so
 * that it goes when it is no longer wanted. What is gone or marked leaves the list in any case. */
static void adopt(struct daemon *daemon)
{
	struct look look;

	if (take_look(daemon, &look) < 0)
		return;
	ledger_settle(daemon->ledger, look.have,
	              daemon->config->policy.adopt ? look.resolution->model : NULL);
	look_fini(&look);
}

/* --- a change --- */

/* Whoever asked gets an answer, and then there is nobody to answer. */
static void tell(struct daemon *daemon, int r, const char *reason)
{
	daemon_told_fn told = daemon->told;
	json_t *lines = TAKE_PTR(daemon->lines);

	daemon->told = NULL;
	if (told != NULL)
		told(r, reason, lines, daemon->told_userdata);
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
		adopt(daemon);
	}
	statedir_read_outcome(daemon->start->state_dir, &daemon->last);
	keep(daemon);
	/* It ended before it had begun. */
	tell(daemon, -ECANCELED, daemon->last.reason);
}

static struct transaction_host host_of(struct daemon *daemon)
{
	return (struct transaction_host){
	    .ev = ev_of(daemon),
	    .kernel = daemon->kernel,
	    .ledger = daemon->ledger,
	    .clients = daemon->clients,
	    .program = daemon->start->program,
	    .runtime_dir = daemon->start->runtime_dir,
	    .state_dir = daemon->start->state_dir,
	    .ready = on_ready,
	    .over = on_over,
	    .userdata = daemon,
	};
}

/* It is so already, and so it may be confirmed at once. */
static void take_over(struct daemon *daemon, struct transaction_parts *parts)
{
	int r = statedir_confirm(daemon->start->state_dir, parts->text);

	if (r < 0) {
		tell(daemon, r, "the state directory cannot be written");
		return;
	}
	drift_watch(daemon->drift, NULL, NULL);
	config_free(daemon->config);
	daemon->config = TAKE_PTR(parts->config);
	adopt(daemon);
	drift_watch(daemon->drift, daemon->ledger, daemon->config);
	log_notice("confirmed", "reason=\"the network is as this configuration wants it already\"");
	tell(daemon, 0, "");
}

/* A confirmation that could not be written to its end: its files are about to be replaced, and a
 * later start would take it for newer than what is confirmed now. */
static int finish_earlier(struct daemon *daemon)
{
	const char *state_dir = daemon->start->state_dir;
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
		keep(daemon);
		tell(daemon, r, "the checkpoint cannot be written, so nothing was begun");
	}
}

int daemon_apply(struct daemon *daemon, const struct begin_request *request, daemon_told_fn told,
                 void *userdata)
{
	struct begin_request with_paths = *request;

	if (left_is_blocked(daemon->left))
		return -EUCLEAN;
	if (daemon->begin != NULL || daemon->transaction != NULL)
		return -EBUSY;
	if (with_paths.n_paths == 0) {
		with_paths.paths = daemon->start->paths;
		with_paths.n_paths = daemon->start->n_paths;
	}
	with_paths.owned = ledger_owned(daemon->ledger);
	with_paths.runtime_dir = daemon->start->runtime_dir;
	with_paths.clients = daemon->clients;
	with_paths.probe_program = daemon->start->probe_program;
	daemon->told = told;
	daemon->told_userdata = userdata;
	daemon->begin = begin_start(ev_of(daemon), daemon->kernel, &with_paths, on_begun, daemon);
	return 0;
}

/* Whether there is a change, and it is the one that is meant. */
static int find(const struct daemon *daemon, const char *id)
{
	if (left_is_blocked(daemon->left))
		return -EUCLEAN;
	if (daemon->transaction == NULL)
		return -ENOENT;
	return id == NULL || strcmp(transaction_state(daemon->transaction)->id, id) == 0 ? 0 : -ESTALE;
}

int daemon_confirm(struct daemon *daemon, const char *id)
{
	int r = find(daemon, id);

	return r < 0 ? r : transaction_confirm(daemon->transaction);
}

int daemon_abandon(struct daemon *daemon, const char *id)
{
	int r = find(daemon, id);

	return r < 0 ? r : transaction_abandon(daemon->transaction, "the operator asked for it");
}

int daemon_diff(struct daemon *daemon, json_t **ret_lines)
{
	static const struct plan_options options = {.management_link = ""};
	AUTO(plan_free) struct plan *plan = NULL;
	AUTO(beside_free) struct beside *beside = NULL;
	AUTO(free) char *error = NULL;
	struct look look;
	int r;

	if (left_is_blocked(daemon->left))
		return -EUCLEAN;
	if (daemon->config == NULL)
		return -ENOENT;
	r = take_look(daemon, &look);
	if (r < 0)
		return r;
	plan = plan_make(look.resolution->model, look.have, &options);
	r = beside_plan(&host_this_machine, look.resolution, look.have, &beside, &error);
	*ret_lines = explain_lines(plan, look.resolution, beside);
	if (r < 0)
		(void) json_array_append_new(*ret_lines, explain_problem_json("impossible", error));
	look_fini(&look);
	return 0;
}

void daemon_report(const struct daemon *daemon, struct daemon_report *ret_report)
{
	*ret_report = (struct daemon_report){
	    .change = daemon->transaction != NULL ? transaction_state(daemon->transaction) : NULL,
	    .last = &daemon->last,
	    .blocked = left_blocked(daemon->left),
	    .is_preparing = daemon->begin != NULL,
	    .has_confirmed = daemon->config != NULL && !daemon->only_leases,
	    .clients = daemon->clients,
	    .now_us = mono_now_us(),
	};
	drift_report(daemon->drift, &ret_report->drift);
}

/* --- starting --- */

static bool waits_for_leases(const struct daemon *daemon)
{
	if (left_other_has_lock(daemon->left))
		return daemon->will_ask_for_leases;
	return dhcpclients_wait(daemon->clients, daemon->kernel) || drift_is_following(daemon->drift);
}

/* Whoever waits for this daemon waits for the node's addresses. */
static void ready_timer_cb(struct ev_loop *ev, ev_timer *timer, int revents UNUSED)
{
	struct daemon *daemon = CONTAINER_OF(timer, struct daemon, ready);

	if (waits_for_leases(daemon)) {
		if (mono_now_us() - daemon->started_us < READY_WAIT_US)
			return;
		log_warning("ready_without_leases",
		            "reason=\"whoever waits for the network goes on without them\"");
	}
	ev_timer_stop(ev, timer);
	loop_notify(daemon->loop, "READY=1");
}

/* Where it is wrong, the port stays as it is. */
void daemon_reload(struct daemon *daemon)
{
	struct nodeconf node;

	if (daemon->commands != NULL && nodeconf_load(daemon->start->paths, daemon->start->n_paths,
	                                              conf_message_log, NULL, &node) == 0)
		commands_set_metrics_port(daemon->commands, &node.metrics[NODECONF_NETCONF]);
}

static void serve(struct daemon *daemon)
{
	int r;

	if (daemon->commands != NULL)
		return;
	r = commands_new(ev_of(daemon), daemon->start->runtime_dir, daemon, &daemon->commands);
	/* Who has the lock may be a daemon, too, and it is its socket then. */
	if (r == -EADDRINUSE && !left_has_lock(daemon->left))
		return;
	if (r < 0) {
		(void) log_error_errno(r, "control_failed", "dir=%s", daemon->start->runtime_dir);
		loop_stop(daemon->loop, EXIT_FAILURE);
		return;
	}
	daemon_reload(daemon);
	ev_timer_start(ev_of(daemon), &daemon->ready);
}

/* Whatever it is, the state can be asked for. */
static void on_blocked(void *userdata)
{
	struct daemon *daemon = userdata;

	statedir_read_outcome(daemon->start->state_dir, &daemon->last);
	if (left_other_has_lock(daemon->left))
		stop_keeping(daemon);
	else if (!daemon->only_leases)
		keep_leases(daemon);
	serve(daemon);
}

static void on_locked(void *userdata)
{
	struct daemon *daemon = userdata;

	stop_keeping(daemon);
	ledger_free(daemon->ledger);
	daemon->ledger = ledger_open(daemon->start->state_dir);
}

static void on_resume(const struct checkpoint_state *state, void *userdata)
{
	struct daemon *daemon = userdata;
	struct transaction_host host = host_of(daemon);

	stop_keeping(daemon);
	daemon->transaction = transaction_resume(&host, state);
}

static void on_clear(void *userdata)
{
	struct daemon *daemon = userdata;

	stop_keeping(daemon);
	load_confirmed(daemon);
	statedir_read_outcome(daemon->start->state_dir, &daemon->last);
	if (daemon->transaction == NULL)
		keep(daemon);
	else
		renew_leases(daemon);
	serve(daemon);
}

int daemon_discard(struct daemon *daemon, const char *id)
{
	int r;

	if (left_is_blocked(daemon->left))
		return left_discard(daemon->left, id);
	r = find(daemon, id);
	return r < 0 ? r : transaction_discard(daemon->transaction);
}

/* Without the lock it cannot, and whoever waits for this daemon waits for nothing else. */
static bool asks_for_leases(const char *state_dir)
{
	AUTO(config_free) struct config *config = NULL;
	AUTO(free) char *text = NULL;

	return statedir_confirmed(state_dir, &text) == 0 &&
	       config_load_text("the confirmed configuration", text, strlen(text), NULL, NULL, NULL,
	                        &config) == 0 &&
	       config->n_dhcps > 0;
}

int daemon_new(struct loop *loop, const struct daemon_start *start, struct daemon **ret_daemon)
{
	static const struct left_ops left_ops = {on_blocked, on_locked, on_resume, on_clear};
	AUTO(daemon_free) struct daemon *daemon = NEW0(struct daemon);
	int r;

	daemon->loop = loop;
	daemon->start = start;
	daemon->started_us = mono_now_us();
	daemon->will_ask_for_leases = asks_for_leases(start->state_dir);
	ev_timer_init(&daemon->ready, ready_timer_cb, 0., READY_POLL_S);
	r = statedir_make(start->state_dir);
	if (r < 0)
		(void) log_error_errno(r, "state_dir_failed", "dir=%s", start->state_dir);
	r = kernel_new(loop_ev(loop), &daemon->kernel);
	if (r < 0)
		return log_error_errno(r, "kernel_failed", "reason=\"no netlink\"");
	daemon->clients = dhcpclients_new(
	    loop,
	    &(struct dhcpclient_settings){start->dhcp_client, start->dhcp_hook, start->runtime_dir},
	    on_lease_changed, daemon);
	r = drift_new(loop_ev(loop), daemon->kernel, daemon->clients, start->runtime_dir,
	              &daemon->drift);
	if (r < 0)
		return log_error_errno(r, "kernel_failed", "reason=\"no notifications\"");
	daemon->left = left_start(loop_ev(loop), start->state_dir, &left_ops, daemon);
	*ret_daemon = TAKE_PTR(daemon);
	return 0;
}

void daemon_free(struct daemon *daemon)
{
	if (daemon == NULL)
		return;
	ev_timer_stop(ev_of(daemon), &daemon->ready);
	commands_free(daemon->commands);
	begin_free(daemon->begin);
	transaction_free(daemon->transaction);
	drift_free(daemon->drift);
	dhcpclients_free(daemon->clients);
	ledger_free(daemon->ledger);
	config_free(daemon->config);
	json_decref(daemon->lines);
	kernel_free(daemon->kernel);
	left_free(daemon->left);
	free(daemon);
}
