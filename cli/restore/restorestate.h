/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A node's part in a restore of the whole cluster, in a file that outlives a loss of power:
 *
 *   DIR/state.json   the phase (restoredecide.h), and what the next step has to know
 *   DIR/hold-UNIT    while it is there, systemd does not start that unit (restoreservice.h)
 *
 * This module alone writes the first one. DIR is for root; it is locked while a state is open.
 */

#include <jansson.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "cli/common/texts.h"
#include "cli/restore/restoredecide.h"

#define RESTORESTATE_DIR "/var/lib/fairlead/restore"

struct restorestate {
	enum restore_phase phase;
	json_t *fields; /* an object, never NULL; may be changed, and is written with the next phase */
	char *path;
	int lock; /* -1: opened to be read */
};

/*
 * The state there, or an empty one of RESTORE_NONE. To write, the directory is made and locked.
 * CLI_OK; or it says what is wrong: CLI_DENIED, or CLI_FAILED where another command is at work or
 * the file is damaged.
 */
int restorestate_open(const char *dir, bool to_write, struct restorestate **ret_state);
void restorestate_free(struct restorestate *state);
DEFINE_AUTO(struct restorestate, restorestate_free);

/* "" where there is no such field. */
const char *restorestate_text(const struct restorestate *state, const char *field);

/* The phase follows, with its time, and is on the disk when this returns CLI_OK; else it says why
 * not. RESTORE_NONE removes the file. A move that is not allowed is refused. */
int restorestate_advance(struct restorestate *state, enum restore_phase phase);
/* Whether the node was in that phase in this restore. */
bool restorestate_was(const struct restorestate *state, enum restore_phase phase);

/* What `restore status` prints: the fields, and the phase. To be freed. */
json_t *restorestate_json(const struct restorestate *state);

/* Prints "cannot WHAT 'PATH'" with the error; the exit code for it. */
int restorestate_explain(const char *what, const char *path, int r);

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
