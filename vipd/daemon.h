/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The daemon as a whole: makes what all VIPs share (etcd client, netlink, gate, lease, probers),
 * makes a struct vip for each configured one, and carries news from the former to the latter.
 *
 * Four ways to end, of which main() sees the exit code or the wish to start over:
 *   stop     hands every VIP over, removes the gate
 *   leave    exits at once and leaves addresses and fences to the next process of this boot
 *   reload   hands over what is no longer configured as it was, then leaves and starts over in
 * place refuse   the node name belongs to somebody else
 */

#include "base/service.h"

/* Takes config. service is borrowed. On failure it has logged why. */
int daemon_new(struct service *service, struct config *config, struct daemon **ret_daemon);
void daemon_free(struct daemon *daemon);
DEFINE_AUTO(struct daemon, daemon_free);

/*
 * For an operator whose vipd is dead: says on standard output which addresses its gate silences and
 * what the gate's removal gives up, and with `yes` removes what that vipd left of the addresses,
 * then the gate. Refused while a vipd has the runtime directory. The exit code.
 */
int daemon_ungate(const char *runtime_dir, bool yes);

void daemon_stop(struct daemon *daemon);
void daemon_leave(struct daemon *daemon);
/* Waits, no longer than a few windows after the start, while a VIP waits for what the next process
 * would have to wait for again. */
void daemon_reload(struct daemon *daemon);

/* After loop_run(): is the program to be started over in place? */
bool daemon_wants_exec(const struct daemon *daemon);

/* Writes what is true now; userdata is the daemon. */
void daemon_metrics(struct metrics *m, void *userdata);
