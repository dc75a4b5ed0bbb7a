/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * prism, whole: listeners, upstreams, the probe process, connections, and how they come and go.
 *
 *   stop    accepts no more, lets connections end or drains them, then exits
 *   reload  becomes a new process by execve(2) in place: listeners and connections stay open over
 * it (handover.h). A new configuration and a new binary are the same thing.
 */

#include "base/cleanup.h"
#include "base/loop.h"
#include "prism/config.h"
#include "prism/report.h"

struct daemon;

/* Takes config on success. 0 or -errno, logged. */
int daemon_new(struct loop *loop, struct config *config, const char *runtime_dir,
               const char *probe_program, struct daemon **ret_daemon);
void daemon_free(struct daemon *daemon);
DEFINE_AUTO(struct daemon, daemon_free);

void daemon_stop(struct daemon *daemon);

/* Fills *ret_report with what is true now; everything in it is borrowed until the next call. */
void daemon_report(struct daemon *daemon, struct report *ret_report);

/* The operator's word on one upstream, by its name. 0 or -ENOENT. */
int daemon_drain(struct daemon *daemon, const char *upstream, bool drained);
