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

/* On failure it has logged why. service is borrowed; takes state_dir, also on failure. */
int daemon_new(struct service *service, char *state_dir, struct daemon **ret_daemon);
/* A change that is under way is left to its guard. */
void daemon_free(struct daemon *daemon);
DEFINE_AUTO(struct daemon, daemon_free);

/* Reads the configuration's NodeConfig again: the port for metrics. The network stays. */
void daemon_reload(struct daemon *daemon);

/* Writes what is true now; userdata is the daemon. */
void daemon_metrics(struct metrics *m, void *userdata);
