/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The list of what is ours without a mark (owned.h) with its file in the state directory: read when
 * a process begins to write to the network, and written before and after each row of steps. Whoever
 * has the lock of the state directory has it.
 */

#include "base/cleanup.h"
#include "netconf/owned/owned.h"
#include "netconf/plan/plan.h"

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
