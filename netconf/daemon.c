/* SPDX-License-Identifier: Apache-2.0 */
/* The wiring: what was found, what is kept, the one change, the control socket. */
#include "netconf/daemon_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/nodeconf.h"
#include "netconf/dhcp/renew.h"

#define READY_POLL_S 0.1
/* Of leases, and of the time that it takes to follow them: no boot waits longer. */
#define READY_WAIT_US (DHCPCLIENTS_WAIT_US + 5 * US_PER_S)

struct ev_loop *daemon_ev(const struct daemon *daemon)
{
	return loop_ev(daemon->loop);
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
	r = commands_new(daemon_ev(daemon), daemon->start->runtime_dir, daemon, &daemon->commands);
	/* Who has the lock may be a daemon, too, and it is its socket then. */
	if (r == -EADDRINUSE && !left_has_lock(daemon->left))
		return;
	if (r < 0) {
		(void) log_error_errno(r, "control_failed", "dir=%s", daemon->start->runtime_dir);
		loop_stop(daemon->loop, EXIT_FAILURE);
		return;
	}
	daemon_reload(daemon);
	ev_timer_start(daemon_ev(daemon), &daemon->ready);
}

/* Whatever it is, the state can be asked for. */
static void on_blocked(void *userdata)
{
	struct daemon *daemon = userdata;

	statedir_read_outcome(daemon->start->state_dir, &daemon->last);
	if (left_other_has_lock(daemon->left))
		daemon_stop_keeping(daemon);
	else if (!daemon->only_leases)
		daemon_keep_leases(daemon);
	serve(daemon);
}

static void on_locked(void *userdata)
{
	struct daemon *daemon = userdata;

	daemon_stop_keeping(daemon);
	ledger_free(daemon->ledger);
	daemon->ledger = ledger_open(daemon->start->state_dir);
}

static void on_resume(const struct checkpoint_state *state, void *userdata)
{
	struct daemon *daemon = userdata;

	daemon_stop_keeping(daemon);
	daemon_resume(daemon, state);
}

static void on_clear(void *userdata)
{
	struct daemon *daemon = userdata;

	daemon_stop_keeping(daemon);
	daemon_load_confirmed(daemon);
	statedir_read_outcome(daemon->start->state_dir, &daemon->last);
	if (daemon->transaction == NULL)
		daemon_keep(daemon);
	else
		daemon_renew_leases(daemon);
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
	ev_timer_stop(daemon_ev(daemon), &daemon->ready);
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
