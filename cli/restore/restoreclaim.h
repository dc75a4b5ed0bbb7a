/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One command at a time works on a restore of the whole cluster: one operator may continue it while
 * another one goes back. Before its first step a command writes its claim to every node, and a node
 * takes steps only from the command whose claim it has:
 *
 *   DIR/claim.json   {"id", "by": "root@cp-1", "since", "host", "boot", "pid", "started"}
 *
 * A command removes its claims when it ends. One that was killed leaves them; the next command on
 * the same machine sees that the process is gone, any other one needs --take-over. Functions that
 * return int return an exit code, and have said what is wrong. DIR is locked by the caller
 * (restorestate_open()) where a claim is written.
 */

#include <jansson.h>
#include <stdbool.h>

#include "cli/common/texts.h"

/* Of this process. To be freed. */
json_t *restoreclaim_new(void);

/* Whether its command is known to have ended: it ran on this machine, and its process is gone. */
bool restoreclaim_is_dead(const json_t *claim);

/* NULL: there is none. To be freed. */
int restoreclaim_read(const char *dir, json_t **ret_claim);

/* Refused where another command has one, but for those whose ids are in `replaces`. */
int restoreclaim_take(const char *dir, const json_t *claim, const struct texts *replaces);
/* Whether it is still there. */
int restoreclaim_check(const char *dir, const json_t *claim);
/* Leaves another command's claim alone. */
int restoreclaim_drop(const char *dir, const json_t *claim);
