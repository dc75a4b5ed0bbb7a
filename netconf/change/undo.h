/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Back to the network as it was: plans from what is there now to what was there before, only as far
 * as the change has touched it, until nothing is left to do. What is refused, or waits for a card
 * that is gone, is tried again and again, with pauses that grow, until the time is up. The daemon
 * does it, and, when that is gone, its guard; what somebody else changed meanwhile stays as they
 * made it.
 */

#include <ev.h>
#include <jansson.h>
#include <stdbool.h>

#include "netconf/change/checkpoint.h"
#include "netconf/change/statedir.h"
#include "netconf/change/settle.h"

struct undo;

/* How long it is tried, by the daemon and by its guard. */
#define UNDO_TRY_US INT64_C(150000000)

/* All but `dir` is the undoing's from then on. */
struct undo_parts {
	const char *dir; /* of the change's files; outlives the undoing */
	struct model *before;
	struct plan *plan; /* that is undone */
	json_t *beside;    /* what there was beside the network (beside_to_json()); NULL: nothing */
	int64_t began_us;  /* CLOCK_BOOTTIME: when `before` was observed; 0: unknown */
	bool beside_lost;  /* there was something, and nobody knows any more what */
};

/* From the files of a change in that state. 0, -EBADMSG or -ENOENT: they are damaged, or -errno:
 * they cannot be read now. */
#define UNDO_DAMAGED "what the network was like before cannot be read any more; it stays as it is"
int undo_read(const char *dir, const struct checkpoint_state *state, struct undo_parts *ret_parts);
void undo_parts_fini(struct undo_parts *parts);

/* `tried` (may be NULL) is called after each attempt that was not enough, with what is left to
 * undo; `done` once, never before this returns, and the handle is gone then. A result that is not 0
 * says what could not be undone. */
struct undo *undo_start(struct ev_loop *ev, struct kernel *kernel, struct ledger *ledger,
                        const struct undo_parts *parts, int64_t limit_us, settle_done_fn tried,
                        settle_done_fn done, void *userdata);
void undo_free(struct undo *undo);
DEFINE_AUTO(struct undo, undo_free);

/* All is undone: tells the log, writes down how it ended, and removes the change's files. */
void undo_record(const char *state_dir, const struct checkpoint_state *state, size_t n_steps);
