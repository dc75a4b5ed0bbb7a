/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The checks of `fairlead health`: what each asks which daemon, and whether the answer is good.
 * Pure.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEALTHCHECKS_WORDS_MAX 3
#define HEALTHCHECKS_REASON_MAX 256

struct healthcheck {
	const char *name; /* "all members of etcd answer" */
	const char *daemon;
	const char *words[HEALTHCHECKS_WORDS_MAX]; /* up to NULL */
	/* Whether all is well; else why not, in `reason`. */
	bool (*look)(const json_t *objects, char reason[static HEALTHCHECKS_REASON_MAX]);
	bool is_of_rounds; /* the answer is what the daemon's last round of questions came to */
};

/* Whether the round that it is the answer of began after that second of the wall clock. */
bool healthchecks_is_since(const json_t *objects, int64_t second);

extern const struct healthcheck healthchecks[];
extern const size_t healthchecks_n;
