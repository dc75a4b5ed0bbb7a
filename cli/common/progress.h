/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One line on the terminal that says how far something has come: a bar, a rate and the time that is
 * left, as far as they can be known. It goes to standard error, only if that is a terminal and
 * standard output too, and is gone when there is something else to say.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

/* --- pure --- */

#define PROGRESS_SAMPLES 16

/* What was done when: the rate is that of the last seconds. Zeroed: nothing yet. What is done is
 * never taken back: who begins again stands still until there is more than before. */
struct progress_meter {
	struct {
		int64_t at_us;
		int64_t done;
	} samples[PROGRESS_SAMPLES]; /* the oldest first, half a second apart or more */
	size_t n;
};

void progress_measure(struct progress_meter *meter, int64_t now_us, int64_t done);
/* A second; 0: not known, or it stands still. */
double progress_rate(const struct progress_meter *meter);

struct progress_state {
	const char *what;   /* "taking" */
	int64_t done, of;   /* of: 0: nobody knows how much it is; done: below 0: nor how far */
	bool is_bytes;      /* else just numbers */
	double rate;        /* a second; 0: not known */
	int64_t elapsed_us; /* since it began */
	/* For what tells nothing of itself: how long it may take, 0: not known, and who says so. */
	int64_t expected_us;
	const char *expected_by; /* "the rate of n1" */
};

/* No wider than `width`; to be freed. */
char *progress_text(const struct progress_state *state, size_t width);

/* --- the line --- */

struct progress;

/* `is_wanted`: not where the output is for a program. */
struct progress *progress_new(bool is_wanted);
/* Takes the line away too. */
void progress_free(struct progress *progress);
DEFINE_AUTO(struct progress, progress_free);

/* Whether it is seen: there is no use in asking for what is not. */
bool progress_is_seen(const struct progress *progress);
/* As in progress_state. Another `what` begins anew. */
void progress_show(struct progress *progress, const char *what, int64_t done, int64_t of,
                   bool is_bytes);
/* The same of something that is under way, that is all that is known, and perhaps how long it may
 * take in all: see progress_state. */
void progress_show_time(struct progress *progress, const char *what, int64_t expected_us,
                        const char *expected_by);
/*
 * What a daemon tells with --progress, or a worker: whether `object` is that. {"progress": WHAT},
 * or
 * {"doing": STEP}, or both of what consists of steps, with "bytes" of "of_bytes" or, of a record,
 * "revision" of "of".
 */
bool progress_show_told(struct progress *progress, const json_t *object);
/* What is shown next is another thing, whatever it is called, and has begun now. */
void progress_anew(struct progress *progress);
/* Before anything else is printed: takes away whatever line is shown, as a terminal has but one. */
void progress_clear(void);
