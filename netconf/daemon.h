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

#include <jansson.h>

#include "base/cleanup.h"
#include "base/loop.h"
#include "netconf/change/begin.h"
#include "netconf/change/statedir.h"
#include "netconf/dhcp/dhcpclients.h"
#include "netconf/drift.h"
#include "netconf/left.h"

struct daemon;

struct daemon_start {
	const char *const *paths; /* of the configuration that is applied when no file is named */
	size_t n_paths;
	const char *runtime_dir;
	const char *state_dir;
	const char *program;       /* netconf itself */
	const char *dhcp_client;   /* dhcpcd: looked up in PATH */
	const char *dhcp_hook;     /* what it calls; absolute */
	const char *probe_program; /* netconf-probe; absolute */
};

/* On failure it has logged why. `start` and what it points to are borrowed. */
int daemon_new(struct loop *loop, const struct daemon_start *start, struct daemon **ret_daemon);
/* A change that is under way is left to its guard. */
void daemon_free(struct daemon *daemon);
DEFINE_AUTO(struct daemon, daemon_free);

/* Reads the configuration's NodeConfig anew: the port for metrics. The network stays. */
void daemon_reload(struct daemon *daemon);

/* --- for the commands --- */

/*
 * Begins a change, if none is under way (-EBUSY) and nothing is in the way (-EUCLEAN). `told` is
 * called once, never before this returns: with r 0 when the guard watches and the first write is
 * about to come, or with nothing to do; else nothing was begun, and `reason` says why. The lines
 * are the plan's, or the errors; borrowed.
 */
typedef void (*daemon_told_fn)(int r, const char *reason, const json_t *lines, void *userdata);
int daemon_apply(struct daemon *daemon, const struct begin_request *request, daemon_told_fn told,
                 void *userdata);
/* id: which change is meant; NULL: whichever is under way. -ENOENT: there is none; -ESTALE: another
 * one is; -EINVAL: not now; -EUCLEAN: what an earlier one left is in the way; or -errno. */
int daemon_confirm(struct daemon *daemon, const char *id);
int daemon_abandon(struct daemon *daemon, const char *id);
/* Gives up the way back of a change that is half undone, or what is in the way; the network stays
 * as it is. The same errors. */
int daemon_discard(struct daemon *daemon, const char *id);

/* What would make the network what was confirmed, as lines of a plan; the caller frees them. 0,
 * -ENOENT: nothing is confirmed, -EUCLEAN, or -errno. */
int daemon_diff(struct daemon *daemon, json_t **ret_lines);

struct daemon_report {
	const struct checkpoint_state *change; /* NULL: none is under way */
	const struct statedir_outcome *last;   /* id "": there was none */
	const struct left_blocked *blocked;
	bool is_preparing;  /* a change is being planned */
	bool has_confirmed; /* a configuration was ever confirmed */
	struct drift_report drift;
	const struct dhcpclients *clients;
	int64_t now_us;
};
void daemon_report(const struct daemon *daemon, struct daemon_report *ret_report);
