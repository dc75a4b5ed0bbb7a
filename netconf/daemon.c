/* SPDX-License-Identifier: Apache-2.0 */
/* The wiring: lock, what was found, changes, the control socket. */
#include "netconf/daemon.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "netconf/commands.h"
#include "netconf/change/explain.h"
#include "netconf/change/lockfile.h"
#include "netconf/change/look.h"
#include "netconf/change/rescue.h"

#define LOCK_POLL_S 0.1
#define READY_POLL_S 0.1
#define LOOK_AGAIN_S 5.
#define UNREADABLE_ID "unreadable"

struct daemon {
	struct loop *loop;
	const struct daemon_start *start;
	struct kernel *kernel;
	struct commands *commands;
	int lock_fd;
	ev_timer lock_again; /* a guard, or one that ends, has the lock */
	bool will_ask_for_leases;
	ev_timer look_again; /* at files that could not be used */
	struct daemon_blocked blocked;
	struct begin *begin;
	struct transaction *transaction;
	struct config *config; /* that is confirmed; NULL: none */
	struct dhcpclients *clients;
	struct drift *drift;
	ev_timer ready;        /* what is still waited for */
	struct ledger *ledger; /* NULL: the lock is not ours yet */
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

static int take_look(const struct daemon *daemon, struct look *ret_look)
{
	return look_take(daemon->kernel, ledger_owned(daemon->ledger), daemon->start->runtime_dir,
	                 daemon->config, ret_look);
}

static void on_lease_changed(void *userdata)
{
	struct daemon *daemon = userdata;

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

	if (daemon->blocked.reason[0] != '\0')
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
	if (daemon->blocked.reason[0] != '\0')
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

	if (daemon->blocked.reason[0] != '\0')
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
	    .blocked = &daemon->blocked,
	    .is_preparing = daemon->begin != NULL,
	    .has_confirmed = daemon->config != NULL,
	    .clients = daemon->clients,
	    .now_us = mono_now_us(),
	};
	drift_report(daemon->drift, &ret_report->drift);
}

/* --- starting --- */

/* Whoever waits for this daemon waits for the node's addresses. */
static void ready_timer_cb(struct ev_loop *ev, ev_timer *timer, int revents UNUSED)
{
	struct daemon *daemon = CONTAINER_OF(timer, struct daemon, ready);

	if (daemon->lock_fd < 0 ? daemon->will_ask_for_leases
	                        : dhcpclients_wait(daemon->clients, daemon->kernel) ||
	                              drift_is_following(daemon->drift))
		return;
	ev_timer_stop(ev, timer);
	loop_notify(daemon->loop, "READY=1");
}

static void serve(struct daemon *daemon)
{
	int r;

	if (daemon->commands != NULL)
		return;
	r = commands_new(ev_of(daemon), daemon->start->runtime_dir, daemon, &daemon->commands);
	/* Who has the lock may be a daemon, too, and it is its socket then. */
	if (r == -EADDRINUSE && daemon->lock_fd < 0)
		return;
	if (r < 0) {
		(void) log_error_errno(r, "control_failed", "dir=%s", daemon->start->runtime_dir);
		loop_stop(daemon->loop, EXIT_FAILURE);
		return;
	}
	ev_timer_start(ev_of(daemon), &daemon->ready);
}

/* All that was left is dealt with, or under way. */
static void go_on(struct daemon *daemon)
{
	daemon->blocked = (struct daemon_blocked){0};
	load_confirmed(daemon);
	statedir_read_outcome(daemon->start->state_dir, &daemon->last);
	if (daemon->transaction == NULL)
		keep(daemon);
	serve(daemon);
}

static void PRINTF_LIKE(3, 4) block(struct daemon *daemon, const char *id, const char *format, ...)
{
	struct daemon_blocked blocked = {0};
	va_list ap;

	(void) snprintf(blocked.id, sizeof(blocked.id), "%s", id);
	va_start(ap, format);
	(void) vsnprintf(blocked.reason, sizeof(blocked.reason), format, ap);
	va_end(ap);
	if (strcmp(blocked.reason, daemon->blocked.reason) != 0)
		log_error("blocked", "id=%s reason=\"%s\"", blocked.id, blocked.reason);
	daemon->blocked = blocked;
	statedir_read_outcome(daemon->start->state_dir, &daemon->last);
	serve(daemon);
}

static int finish_other(struct daemon *daemon, const struct checkpoint_state *state,
                        const char *how, const char *reason)
{
	struct statedir_outcome outcome = {.ended_wall_us = wall_now_us()};

	memcpy(outcome.id, state->id, sizeof(outcome.id));
	(void) snprintf(outcome.how, sizeof(outcome.how), "%s", how);
	(void) snprintf(outcome.reason, sizeof(outcome.reason), "%s", reason);
	log_notice("change_over", "id=%s how=%s reason=\"%s\"", state->id, how, reason);
	return statedir_finish_other(daemon->start->state_dir, &outcome);
}

static int deal_with(struct daemon *daemon, const struct checkpoint_state *state)
{
	const char *state_dir = daemon->start->state_dir;
	struct transaction_host host = host_of(daemon);
	bool is_same;
	int r = checkpoint_same_kernel(state, &is_same);

	if (r < 0)
		return r;
	switch (phase_find(state->phase, is_same, mono_now_us(), state->deadline_us)) {
	case PHASE_FOUND_VOID:
		rescue_files(state_dir);
		return finish_other(daemon, state, "void", "the machine was started anew");
	case PHASE_FOUND_FINISH:
		return statedir_finish_confirmed(state_dir, state);
	case PHASE_FOUND_OVER:
		return finish_other(daemon, state, phase_name(state->phase), state->reason);
	case PHASE_FOUND_WAIT:
	case PHASE_FOUND_UNDO:
		daemon->transaction = transaction_resume(&host, state);
		break;
	}
	return 0;
}

/* To go on past files that cannot be used would be to forget a change that nobody has undone, and
 * to set right what it has made of the network. */
static void look_for_changes(struct daemon *daemon)
{
	AUTO(free) char *dir = statedir_path(daemon->start->state_dir, STATEDIR_TRANSACTION);
	struct checkpoint_state state;
	int r = checkpoint_read_state(dir, &state);

	if (r < 0 && r != -ENOENT) {
		block(daemon, UNREADABLE_ID,
		      "%s/state.json, of a change that is not over, cannot be read: %s", dir, strerror(-r));
	} else if (r == 0) {
		r = deal_with(daemon, &state);
		if (r < 0)
			block(daemon, state.id,
			      "what a change has left in %s (phase %s) cannot be finished: %s", dir,
			      phase_name(state.phase), strerror(-r));
	}
	if (r < 0 && r != -ENOENT)
		ev_timer_start(ev_of(daemon), &daemon->look_again);
	else
		go_on(daemon);
}

static void look_timer_cb(struct ev_loop *ev UNUSED, ev_timer *timer, int revents UNUSED)
{
	look_for_changes(CONTAINER_OF(timer, struct daemon, look_again));
}

int daemon_discard(struct daemon *daemon, const char *id)
{
	struct statedir_outcome outcome = {.ended_wall_us = wall_now_us()};
	int r;

	if (daemon->blocked.reason[0] == '\0') {
		r = find(daemon, id);
		return r < 0 ? r : transaction_discard(daemon->transaction);
	}
	if (strcmp(daemon->blocked.id, id) != 0)
		return daemon->blocked.id[0] == '\0' ? -EUCLEAN : -ESTALE;
	(void) snprintf(outcome.id, sizeof(outcome.id), "%s", id);
	(void) snprintf(outcome.how, sizeof(outcome.how), "discarded");
	memcpy(outcome.left, daemon->blocked.reason, sizeof(outcome.left));
	r = statedir_finish_other(daemon->start->state_dir, &outcome);
	if (r < 0)
		return r;
	log_notice("change_over", "id=%s how=%s reason=\"the operator asked for it\"", id, outcome.how);
	ev_timer_stop(ev_of(daemon), &daemon->look_again);
	go_on(daemon);
	return 0;
}

/* A guard that undoes a change, or a boot that waits for links, may take its time. */
static void wait_for_lock(struct daemon *daemon, int r)
{
	AUTO(free) char *guard_path = statedir_path(daemon->start->state_dir, STATEDIR_GUARD_LOCK);
	AUTO(free) char *path = statedir_path(daemon->start->state_dir, STATEDIR_LOCK);
	pid_t holder = lockfile_holder(path);

	if (r != -EAGAIN)
		block(daemon, "", "the lock %s cannot be taken: %s", path, strerror(-r));
	else if (holder > 0 && holder == lockfile_holder(guard_path))
		block(daemon, "", "the guard of a change undoes it (process %d)", (int) holder);
	else if (holder > 0)
		block(daemon, "", "another netconf is at work (process %d)", (int) holder);
}

static void lock_timer_cb(struct ev_loop *ev, ev_timer *timer, int revents UNUSED)
{
	struct daemon *daemon = CONTAINER_OF(timer, struct daemon, lock_again);
	AUTO(free) char *path = statedir_path(daemon->start->state_dir, STATEDIR_LOCK);
	int r = lockfile_take(path);

	if (r < 0) {
		wait_for_lock(daemon, r);
		return;
	}
	ev_timer_stop(ev, timer);
	daemon->lock_fd = r;
	daemon->ledger = ledger_open(daemon->start->state_dir);
	look_for_changes(daemon);
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
	AUTO(daemon_free) struct daemon *daemon = NEW0(struct daemon);
	int r;

	daemon->loop = loop;
	daemon->start = start;
	daemon->lock_fd = -1;
	daemon->will_ask_for_leases = asks_for_leases(start->state_dir);
	ev_timer_init(&daemon->lock_again, lock_timer_cb, 0., LOCK_POLL_S);
	ev_timer_init(&daemon->ready, ready_timer_cb, 0., READY_POLL_S);
	ev_timer_init(&daemon->look_again, look_timer_cb, LOOK_AGAIN_S, 0.);
	r = statedir_make(start->state_dir);
	if (r < 0)
		return log_error_errno(r, "state_dir_failed", "dir=%s", start->state_dir);
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
	ev_timer_start(loop_ev(loop), &daemon->lock_again);
	*ret_daemon = TAKE_PTR(daemon);
	return 0;
}

void daemon_free(struct daemon *daemon)
{
	if (daemon == NULL)
		return;
	ev_timer_stop(ev_of(daemon), &daemon->lock_again);
	ev_timer_stop(ev_of(daemon), &daemon->ready);
	ev_timer_stop(ev_of(daemon), &daemon->look_again);
	commands_free(daemon->commands);
	begin_free(daemon->begin);
	transaction_free(daemon->transaction);
	drift_free(daemon->drift);
	dhcpclients_free(daemon->clients);
	ledger_free(daemon->ledger);
	config_free(daemon->config);
	json_decref(daemon->lines);
	kernel_free(daemon->kernel);
	if (daemon->lock_fd >= 0)
		(void) close(daemon->lock_fd);
	free(daemon);
}
