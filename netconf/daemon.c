/* SPDX-License-Identifier: Apache-2.0 */
/* The wiring: what another process left, what was confirmed and is kept so, leases, and when all of it
 * is ready. */
#include "netconf/daemon.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/nodeconf.h"
#include "netconf/change/explain.h"
#include "netconf/change/look.h"
#include "netconf/dhcp/dhcpclients.h"

#define DHCP_CLIENT "dhcpcd"          /* in PATH */
#define DHCP_HOOK "netconf-dhcp-hook" /* beside our own */
#define PROBE_PROGRAM "netconf-probe" /* the same */

#define READY_POLL_S 0.1
/* Of leases, and of the time that it takes to follow them: no boot waits longer. */
#define READY_WAIT_US (DHCPCLIENTS_WAIT_US + 5 * US_PER_S)

struct ev_loop *daemon_ev(const struct daemon *daemon)
{
	return loop_ev(daemon->service->loop);
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
	    .wall_us = wall_now_us(),
	};
	drift_report(daemon->drift, &ret_report->drift);
}

/* --- what was confirmed: where it is read from, that it stays so, and what lacks of it --- */

static void load_confirmed(struct daemon *daemon)
{
	AUTO(free) char *text = NULL;
	int r = statedir_confirmed(daemon->state_dir, &text);

	if (r == 0)
		r = config_load_text("the confirmed configuration", text, strlen(text), NULL,
		                     conf_message_log, NULL, &daemon->config);
	if (r < 0 && r != -ENOENT)
		(void) log_error_errno(r, "confirmed_unreadable", "dir=%s", daemon->state_dir);
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
	AUTO(free) char *dir = statedir_path(daemon->state_dir, STATEDIR_TRANSACTION);
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
	return look_take(daemon->kernel, ledger_owned(daemon->ledger), daemon->runtime_dir,
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
	int r;

	daemon->only_leases = true;
	if (daemon->ledger == NULL)
		daemon->ledger = ledger_open(daemon->state_dir);
	r = load_unfinished(daemon);
	if (r < 0)
		load_confirmed(daemon);
	if (r == -EBUSY) {
		renew_leases(daemon);
		return;
	}
	if (daemon->config == NULL)
		(void) config_load(daemon->service->options.config_paths,
		                   daemon->service->options.n_config_paths, conf_message_log, NULL,
		                   &daemon->config);
	drift_watch(daemon->drift, daemon->ledger, daemon->config);
	drift_only_tell(daemon->drift);
}

void daemon_keep(struct daemon *daemon)
{
	drift_watch(daemon->drift, daemon->ledger, daemon->config);
	if (daemon->last.left[0] != '\0')
		drift_only_tell(daemon->drift);
	if (daemon->config == NULL) {
		dhcpclients_want_none(daemon->clients);
		dhcpclients_forget_others(daemon->clients);
	}
}

/* What the configuration wants and somebody had made by hand becomes ours with the confirmation, so
 * that it goes when it is no longer wanted. What is gone or marked leaves the list in any case. */
void daemon_adopt(struct daemon *daemon)
{
	struct look look;

	if (take_look(daemon, &look) < 0)
		return;
	ledger_settle(daemon->ledger, look.have,
	              daemon->config->policy.adopt ? look.resolution->model : NULL);
	look_fini(&look);
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
	loop_notify(daemon->service->loop, "READY=1");
}

/* Where it is wrong, the port stays as it is. */
static void open_metrics_port(struct daemon *daemon)
{
	struct nodeconf node;

	if (daemon->service->control != NULL &&
	    nodeconf_load(daemon->service->options.config_paths,
	                  daemon->service->options.n_config_paths, conf_message_log, NULL, &node) == 0)
		metricsport_set(daemon->service->metrics_port, &node.metrics[NODECONF_NETCONF]);
}

/* Nothing is applied that nobody asked for; but somebody may want to know. */
void daemon_reload(struct daemon *daemon)
{
	log_notice(
	    "reload",
	    "reason=\"NodeConfig is read; the network is changed by 'fairlead net apply' only\"");
	open_metrics_port(daemon);
}

static void serve(struct daemon *daemon)
{
	int r;

	if (daemon->service->control != NULL)
		return;
	r = daemon_open_commands(daemon);
	/* Who has the lock may be a daemon, too, and it is its socket then. */
	if (r == -EADDRINUSE && !left_has_lock(daemon->left))
		return;
	if (r < 0) {
		(void) log_error_errno(r, "control_failed", "dir=%s", daemon->runtime_dir);
		loop_stop(daemon->service->loop, EXIT_FAILURE);
		return;
	}
	open_metrics_port(daemon);
	ev_timer_start(daemon_ev(daemon), &daemon->ready);
}

/* Whatever it is, the state can be asked for. */
static void on_blocked(void *userdata)
{
	struct daemon *daemon = userdata;

	statedir_read_outcome(daemon->state_dir, &daemon->last);
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
	daemon->ledger = ledger_open(daemon->state_dir);
}

static void on_resume(const struct checkpoint_state *state, void *userdata)
{
	struct daemon *daemon = userdata;

	stop_keeping(daemon);
	daemon_resume(daemon, state);
}

static void on_clear(void *userdata)
{
	struct daemon *daemon = userdata;

	stop_keeping(daemon);
	load_confirmed(daemon);
	statedir_read_outcome(daemon->state_dir, &daemon->last);
	if (daemon->transaction == NULL)
		daemon_keep(daemon);
	else
		renew_leases(daemon);
	serve(daemon);
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

int daemon_new(struct service *service, char *state_dir, struct daemon **ret_daemon)
{
	static const struct left_ops left_ops = {on_blocked, on_locked, on_resume, on_clear};
	AUTO(daemon_free) struct daemon *daemon = NEW0(struct daemon);
	struct loop *loop = service->loop;
	int r;

	daemon->service = service;
	daemon->state_dir = state_dir;
	daemon->runtime_dir = realpath(service->runtime_dir, NULL);
	if (daemon->runtime_dir == NULL)
		daemon->runtime_dir = xstrdup(service->runtime_dir);
	daemon->dhcp_hook = service_beside(service, DHCP_HOOK);
	daemon->probe_program = service_beside(service, PROBE_PROGRAM);
	daemon->started_us = mono_now_us();
	log_info("starting", "version=%s state=%s", FAIRLEAD_VERSION, state_dir);
	daemon->will_ask_for_leases = asks_for_leases(state_dir);
	ev_timer_init(&daemon->ready, ready_timer_cb, 0., READY_POLL_S);
	r = statedir_make(state_dir);
	if (r < 0)
		(void) log_error_errno(r, "state_dir_failed", "dir=%s", state_dir);
	r = kernel_new(loop_ev(loop), &daemon->kernel);
	if (r < 0)
		return log_error_errno(r, "kernel_failed", "reason=\"no netlink\"");
	daemon->clients = dhcpclients_new(
	    loop, &(struct dhcpclient_settings){DHCP_CLIENT, daemon->dhcp_hook, daemon->runtime_dir},
	    on_lease_changed, daemon);
	r = drift_new(loop_ev(loop), daemon->kernel, daemon->clients, daemon->runtime_dir,
	              &daemon->drift);
	if (r < 0)
		return log_error_errno(r, "kernel_failed", "reason=\"no notifications\"");
	daemon->left = left_start(loop_ev(loop), state_dir, &left_ops, daemon);
	*ret_daemon = TAKE_PTR(daemon);
	return 0;
}

void daemon_free(struct daemon *daemon)
{
	if (daemon == NULL)
		return;
	ev_timer_stop(daemon_ev(daemon), &daemon->ready);
	begin_free(daemon->begin);
	transaction_free(daemon->transaction);
	drift_free(daemon->drift);
	dhcpclients_free(daemon->clients);
	ledger_free(daemon->ledger);
	config_free(daemon->config);
	json_decref(daemon->lines);
	kernel_free(daemon->kernel);
	left_free(daemon->left);
	free(daemon->probe_program);
	free(daemon->dhcp_hook);
	free(daemon->runtime_dir);
	free(daemon->state_dir);
	free(daemon);
}
