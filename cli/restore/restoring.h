/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the commands of a restore have in common: the options, what the worker found on this machine
 * and of the snapshot, and the plan that follows from both. Functions that return int return an
 * exit code, and have said what is wrong.
 */

#include "cli/cli.h"
#include "cli/common/progress.h"
#include "cli/restore/restoreoptions.h"
#include "cli/restore/restoreplan.h"
#include "cli/common/snapshotsource.h"

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
/* Finds, unpacks and proves the snapshot, or rebuilds it first; sets `found`. */
int restoring_look_at_source(struct restoring *r);
void restoring_make_plan(struct restoring *r);
/* All three. */
int restoring_plan(struct restoring *r);

/* Removes what was unpacked, or half made; a restore that went well has done that itself. */
void restoring_clean_up(struct restoring *r);

/* Takes the object. */
void restoring_print_new(const struct restoring *r, json_t *object);
void restoring_print_plan(const struct restoring *r);
