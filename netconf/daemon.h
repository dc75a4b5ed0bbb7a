/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The daemon as a whole: has the lock of the state directory, finishes or undoes what another left,
 * carries out one change at a time, keeps what was confirmed as it is, follows leases, and answers
 * for all of that. It changes nothing by itself that nobody has confirmed. What another left and it
 * cannot use it leaves alone, and all of the network that is not of a lease, until the operator
 * decides. That it has started it says when the first leases are there, or are no longer worth
 * waiting for.
 */

#include "base/service.h"
#include "netconf/change/begin.h"
#include "netconf/change/transaction.h"
#include "netconf/report.h"

/* On failure it has logged why. service is borrowed; takes state_dir, also on failure. */
int daemon_new(struct service *service, char *state_dir, struct daemon **ret_daemon);
/* A change that is under way is left to its guard. */
void daemon_free(struct daemon *daemon);
DEFINE_AUTO(struct daemon, daemon_free);

/* Reads the configuration's NodeConfig again: the port for metrics. The network stays. */
void daemon_reload(struct daemon *daemon);

/* Writes what is true now; userdata is the daemon. */
void daemon_metrics(struct metrics *m, void *userdata);

/*
 * The inside of the daemon, for the two files that make it up:
 *   daemon.c    what was found, and what was confirmed and is kept so
 *   commands.c  the one change, and the commands of the control socket
 */

struct daemon {
	struct service *service;
	char *state_dir;
	char *runtime_dir;   /* absolute, as clients run elsewhere */
	char *dhcp_hook;     /* what dhcpcd calls; absolute */
	char *probe_program; /* netconf-probe; absolute */
	struct kernel *kernel;
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
	struct control_request *applying; /* NULL: no client waits for the begin of a change */
	json_t *lines;                    /* of its answer: the plan's, or the errors */
};

/* --- daemon.c --- */

struct ev_loop *daemon_ev(const struct daemon *daemon);
void daemon_report(const struct daemon *daemon, struct daemon_report *ret_report);
/* From now on the network is to stay as it was confirmed. */
void daemon_keep(struct daemon *daemon);
/* What has just been confirmed, in the ledger. */
void daemon_adopt(struct daemon *daemon);
/* What would make the network what was confirmed, as lines of a plan; the caller frees them. 0,
 * -ENOENT: nothing is confirmed, -EUCLEAN: what an earlier change left is in the way, or -errno. */
int daemon_diff(struct daemon *daemon, json_t **ret_lines);

/* --- commands.c --- */

/* Opens the control socket. 0 or -errno. */
int daemon_open_commands(struct daemon *daemon);
/* A change that another process has left; none is under way. */
void daemon_resume(struct daemon *daemon, const struct checkpoint_state *state);
