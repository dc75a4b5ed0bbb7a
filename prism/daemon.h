/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * prism, whole: listeners, upstreams, the probe process, connections, and how they come and go.
 *
 *   stop    accepts no more, lets connections end or drains them, then exits
 *   reload  becomes a new process by execve(2) in place: listeners and connections stay open over
 * it (handover.h). A new configuration and a new binary are the same thing.
 */

#include "base/service.h"
#include "prism/config.h"
#include "prism/handover.h"
#include "prism/report.h"

/* Takes config, also on failure; service is borrowed. handover: what the image before this one
 * left, or NULL. 0 or -errno, logged. */
int daemon_new(struct service *service, struct config *config, const struct handover *handover,
               struct daemon **ret_daemon);
void daemon_free(struct daemon *daemon);
DEFINE_AUTO(struct daemon, daemon_free);

/* Checks what would follow, then ends the loop for daemon_exec(). */
void daemon_reload(struct daemon *daemon);
bool daemon_wants_exec(const struct daemon *daemon);
/* Becomes the new process. Returns when that failed, which is logged: run the loop again. */
void daemon_exec(struct daemon *daemon);

void daemon_stop(struct daemon *daemon);

/* Fills *ret_report with what is true now; everything in it is borrowed until the next call. */
void daemon_report(struct daemon *daemon, struct report *ret_report);

/* The same as metrics; userdata is the daemon. */
void daemon_metrics(struct metrics *m, void *userdata);

/* Another program saw that it fails: an upstream by its name, or "local". -ENOENT: none such. */
int daemon_suspect(struct daemon *daemon, const char *upstream, const char *reason);
/* The operator's word on one upstream, by its name. 0 or -ENOENT. */
int daemon_drain(struct daemon *daemon, const char *upstream, bool drained);

/* commands.c: opens the control socket, with the commands that docs/control.md describes. daemon is
 * borrowed until the service ends. 0 or -errno. */
int daemon_open_commands(struct service *service, struct daemon *daemon);
