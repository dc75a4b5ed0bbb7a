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
#include "prism/handover.h"
#include "prism/report.h"

struct daemon;

/* What it was started as, so that it can start again. Borrowed until daemon_free(). */
struct daemon_start {
	const char *runtime_dir;
	const char *probe_program;
	const char *self; /* the path of the program */
	char *const *argv;
};

/* Takes config, also on failure. handover: what the image before this one left, or NULL. 0 or
 * -errno, logged. */
int daemon_new(struct loop *loop, struct config *config, const struct daemon_start *start,
               const struct handover *handover, struct daemon **ret_daemon);
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

/* Another program saw that it fails: an upstream by its name, or "local". -ENOENT: none such. */
int daemon_suspect(struct daemon *daemon, const char *upstream, const char *reason);
/* The operator's word on one upstream, by its name. 0 or -ENOENT. */
int daemon_drain(struct daemon *daemon, const char *upstream, bool drained);
