/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Back to the network as it was: plans from what is there now to what was there before, only as far
 * as the change has touched it, until nothing is left to do. The daemon does it, and, when that is
 * gone, its guard; what somebody else changed meanwhile stays as they made it.
 */

#include <ev.h>
#include <jansson.h>

#include "netconf/change/checkpoint.h"
#include "netconf/change/ledger.h"
#include "netconf/change/settle.h"

struct undo;

/* Takes the model, the plan, and what there was beside the network (beside_to_json(); NULL:
 * nothing), which is put back after it. `done` is called once, never before this returns, and the
 * handle is gone then. A result that is not 0 says what could not be undone. */
struct undo *undo_start(struct ev_loop *ev, struct kernel *kernel, struct ledger *ledger,
                        struct model *before, struct plan *plan, json_t *beside,
                        settle_done_fn done, void *userdata);
void undo_free(struct undo *undo);
DEFINE_AUTO(struct undo, undo_free);

/* It is over: tells the log, writes down how it ended, and removes the change's files. */
void undo_record(const char *state_dir, const struct checkpoint_state *state,
                 const struct settle_result *result);
