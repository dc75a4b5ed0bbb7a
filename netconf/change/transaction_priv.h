/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Between a change's phases (transaction.c) and what there is to do in each (transaction_work.c).
 * Work enters the next phase as its last act; only phases write the phase. Nobody else
 * includes this.
 */

#include "base/boottimer.h"
#include "netconf/change/apply.h"
#include "netconf/change/transaction.h"
#include "netconf/change/undo.h"
#include "netconf/change/guard.h"

struct transaction {
	struct transaction_host host;
	char *dir;
	struct checkpoint_state state;
	struct config *config; /* NULL: found, and cannot be read */
	struct model *before;
	struct plan *plan;     /* all steps so far */
	struct beside *beside; /* NULL: found */
	struct probes *probes;
	char management[IFNAMSIZ];
	struct watchman *watchman;
	struct apply *apply;
	bool follow_is_due;
	struct undo *undo;
	ev_timer head_start;
	struct boottimer *deadline; /* goes on while the machine sleeps */
	ev_timer reread;            /* the way back */
	int unreadable;             /* why, 0 or -errno */
};

/* --- transaction.c --- */

/* The phase may follow the one before. The reason may be NULL where nothing is wrong. */
void transaction_enter(struct transaction *t, enum phase next, const char *reason);
/* The end: frees it, then tells the host, whose the configuration is. */
void transaction_finish(struct transaction *t, struct config *config);

/* --- transaction_work.c --- */

void transaction_work_init(struct transaction *t);
/* Of the phase that has just begun. */
void transaction_work(struct transaction *t);
