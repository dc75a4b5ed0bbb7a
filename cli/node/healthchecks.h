/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The checks of `fairlead health`: what each asks which daemon, and whether the answer is good.
 * Pure, but for a look at the links of enabled units.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/common/client.h"

#define HEALTHCHECKS_WORDS_MAX 3
#define HEALTHCHECKS_REASON_MAX 256

struct healthcheck {
	const char *name; /* "all members of etcd answer" */
	const char *daemon;
	const char *words[HEALTHCHECKS_WORDS_MAX]; /* up to NULL */
	/* Whether all is well; else why not, in `reason`. */
	bool (*look)(const json_t *objects, char reason[static HEALTHCHECKS_REASON_MAX]);
	bool is_of_rounds; /* the answer is what the daemon's last round of questions came to */
	bool warns;        /* if not, things work all the same, and waiting does not help */
};

enum healthcheck_result {
	HEALTHCHECK_GOOD,
	HEALTHCHECK_WARNED,
	HEALTHCHECK_BAD,
	HEALTHCHECK_NOT_HERE, /* the daemon has no socket, and nobody has enabled it */
	HEALTHCHECK_DENIED,   /* this user may not ask, and no waiting helps */
};

/* What asking came to, by r and the answer of client_ask(); if that is bad, why, in `reason`. units
 * as node_judge() has it. */
enum healthcheck_result healthchecks_judge(const struct healthcheck *check, int r,
                                           const struct client_answer *answer, const char *units,
                                           char reason[static HEALTHCHECKS_REASON_MAX]);

/* Whether the round that it is the answer of began after that second of the wall clock. */
bool healthchecks_is_since(const json_t *objects, int64_t second);

extern const struct healthcheck healthchecks[];
extern const size_t healthchecks_n;
