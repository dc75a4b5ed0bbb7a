/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What netconf must not forget, in one directory for root alone:
 *
 *	lock                   who may write to the network has it: daemon, guard, or --once
 *	guard.lock             the guard that watches a change has it
 *	transaction/           a change that is not over (checkpoint.h)
 *	owned.json             what is ours without a mark in the kernel (ledger.h)
 *	confirmed/config.yaml  what was confirmed last, which a boot applies
 *	in-part.yaml           what the boot took from files and could not make as a whole
 *	last.json              how the last change ended
 *
 * Blocking; all that is written is on the disk when a function returns.
 */

#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "netconf/change/checkpoint.h"
#include "netconf/owned/owned.h"
#include "netconf/plan/plan.h"

/* Absolute; the caller frees it. */
char *statedir_path(const char *state_dir, const char *name);
#define STATEDIR_LOCK "lock"
#define STATEDIR_GUARD_LOCK "guard.lock"
#define STATEDIR_TRANSACTION "transaction"

/* With the directory that it is in, but not more. 0 or -errno. */
int statedir_make(const char *state_dir);

int statedir_confirm(const char *state_dir, const char *config);
/* The caller frees the text. -ENOENT: none was ever confirmed. */
int statedir_confirmed(const char *state_dir, char **ret_config);

/* What the boot took from files and could not make as a whole: nobody has confirmed it. */
int statedir_write_in_part(const char *state_dir, const char *config);
/* Before a change. If nothing was ever confirmed, what the last boot made is from now on, or that
 * nothing is wanted: a boot after a loss of power must not take files that are only being tried. */
int statedir_confirm_first(const char *state_dir);

struct statedir_outcome {
	char id[CHECKPOINT_ID_MAX]; /* "": there was none yet */
	char how[32];               /* "confirmed", "rolled-back", "void" */
	char reason[CHECKPOINT_REASON_MAX];
	char left[CHECKPOINT_REASON_MAX]; /* what could not be undone; "" */
	int64_t ended_wall_us;
};
void statedir_read_outcome(const char *state_dir, struct statedir_outcome *ret_outcome);

/* A change that was confirmed becomes what a boot applies, and its files go. Can be done again when
 * it was interrupted. */
int statedir_finish_confirmed(const char *state_dir, const struct checkpoint_state *state);
/* It was undone, or there is nothing to undo: its files go, even if how it ended cannot be written;
 * the first error. */
int statedir_finish_other(const char *state_dir, const struct statedir_outcome *outcome);

/*
 * Who is at work: a lock that ends with its process, however that ends, and that tells who has it
 * (fcntl(2), record locks). A process opens a file of these once, and keeps it.
 */

/* A descriptor that keeps the lock; -EAGAIN: another process has it; or -errno. */
int lockfile_take(const char *path);

/* The process that has it, 0: nobody; or -errno. Not for a lock of one's own. */
pid_t lockfile_holder(const char *path);

/*
 * The list of what is ours without a mark (owned.h) with its file in the state directory: read when
 * a process begins to write to the network, and written before and after each row of steps. Whoever
 * has the lock of the state directory has it.
 */

struct ledger;

/* A file that cannot be read is an empty list, and is told: what it had belongs to others then. */
struct ledger *ledger_open(const char *state_dir);
void ledger_free(struct ledger *ledger);
DEFINE_AUTO(struct ledger, ledger_free);

/* For looks. Borrowed; NULL for NULL. */
const struct owned *ledger_owned(const struct ledger *ledger);

/* Before these steps are carried out; have: what they were planned from. 0 or -errno: it cannot be
 * written down. */
int ledger_expect(struct ledger *ledger, const struct model *have, const struct plan *plan);
/* For steps that a full disk must not keep away: what cannot be written is told. */
void ledger_expect_or_warn(struct ledger *ledger, const struct model *have,
                           const struct plan *plan);
/* After the last; have: what was observed then. want: what of it is there by others' hands becomes
 * ours; NULL: nothing does. What cannot be written is told. */
void ledger_settle(struct ledger *ledger, const struct model *have, const struct model *want);
