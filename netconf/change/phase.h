/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How far a change of the network has come, and what may happen next. Pure: the daemon, the guard
 * and the next boot each ask the same tables, so that they cannot disagree about what is to be done
 * with a change that somebody else has begun.
 */

#include <stdbool.h>
#include <stdint.h>

enum phase {
	PHASE_PREPARED,     /* all is on the disk, nothing has been written to the kernel */
	PHASE_APPLYING,     /* steps are carried out and read back */
	PHASE_PROBING,      /* it is as it was asked for; does what worked before still work? */
	PHASE_AWAITING,     /* the operator is to say that all is well */
	PHASE_CONFIRMED,    /* over: it stays */
	PHASE_ROLLING_BACK, /* what was done is undone */
	PHASE_HALF_UNDONE,  /* not all could be; the way back is kept, and the operator is to decide */
	PHASE_ROLLED_BACK,  /* over: the network is as it was before */
	PHASES,             /* how many */
};

/* Whether one may follow the other. phase_check() is for the one who writes the phase: a move that
 * is not allowed aborts. */
bool phase_allows(enum phase from, enum phase to);
void phase_check(enum phase from, enum phase to);
bool phase_is_over(enum phase phase);
/* Whether a guard watches: something is to be done by a deadline. */
bool phase_is_watched(enum phase phase);

/* What becomes of a change whose daemon is gone, by whoever finds it: the guard, or a daemon that
 * has just started. */
enum phase_found {
	PHASE_FOUND_VOID,   /* the kernel is another one: nothing of it is left to undo */
	PHASE_FOUND_FINISH, /* it was confirmed, but not everything of that is done */
	PHASE_FOUND_WAIT,   /* the operator may still confirm it */
	PHASE_FOUND_UNDO,
	PHASE_FOUND_OVER, /* it was undone; only its files are left */
};
enum phase_found phase_find(enum phase phase, bool same_kernel, int64_t now_us,
                            int64_t deadline_us);

/* A daemon that lives but has let a deadline pass by this much does not do its work. */
#define PHASE_GRACE_US INT64_C(10000000)
bool phase_is_stuck(enum phase phase, int64_t now_us, int64_t deadline_us);

const char *phase_name(enum phase phase); /* "prepared", "rolling-back" */
int phase_parse(const char *name, enum phase *ret_phase);
