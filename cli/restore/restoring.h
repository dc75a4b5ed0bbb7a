/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the commands of a restore have in common: the options, what the worker found on this machine
 * and of the snapshot, and the plan that follows from both. Functions that return int return an
 * exit code, and have said what is wrong.
 */

#include "cli/common/cli.h"
#include "cli/common/progress.h"
#include "cli/common/snapshotsource.h"
#include "cli/restore/restoreoptions.h"
#include "cli/restore/restoreplan.h"

/*
 * Whether "latest" is the newest that is known: the catalogue says it of one place, and other nodes
 * have stored theirs in the targets of the job. Each other place is asked for its newest entry;
 * what is newer, and what could not be asked, becomes a sentence for the plan. What other nodes
 * have in their directories etcdwatch knows, from etcd's keys, as long as it runs.
 */

/* --- pure --- */

/* Both are entries of the catalogue. The revision counts within one timeline, else the time. */
bool restoreelsewhere_is_newer(const json_t *entry, const json_t *than);
/*
 * From the answer of etcdwatch, an array of what `etcd snapshot list --others` prints: {"newest":
 * {"node", "id", "finished", "revision", "as_of"}, "reason"}. The newest of all other nodes is null
 * where none is known; the reason says why etcdwatch could not ask etcd now, or is null.
 */
json_t *restoreelsewhere_known(const json_t *objects);
/* To be freed. */
char *restoreelsewhere_sentence(const char *place, const json_t *entry);

struct restoring {
	struct cli cli;
	struct restoreoptions options;
	struct snapshotsource source;
	struct texts source_words;
	uint64_t random; /* of the token, when none was given */
	char *token;
	json_t *host;
	json_t *made; /* NULL: the snapshot is there already */
	json_t *found;
	struct texts elsewhere; /* what is known of newer ones */
	struct restoreplan *plan;
	bool acted;
	json_t *result;
	struct progress *progress;
};

void restoring_fini(struct restoring *r);

void restoring_choose_token(struct restoring *r);

/* Runs the worker with these words, which are freed, and shows its steps. */
int restoring_ask(struct restoring *r, struct texts *words, json_t **ret_last);

/* Adds the options by which the worker reaches etcd, as etcdwatch is configured; on failure the
 * words are freed. */
int restoring_add_access(const struct restoring *r, struct texts *words);

/* Sets `host`; `peer_urls` may be NULL. */
int restoring_look_at_host(struct restoring *r, const char *peer_urls);
/* All three. */
int restoring_plan(struct restoring *r);

/* Removes what was unpacked, or half made; a restore that went well has done that itself. */
void restoring_clean_up(struct restoring *r);

/* Takes the object. */
void restoring_print_new(const struct restoring *r, json_t *object);
void restoring_print_plan(const struct restoring *r);
