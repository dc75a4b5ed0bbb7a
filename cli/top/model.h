/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What has happened on the node while somebody looked, found by comparing each answer with the one
 * before it; and what the daemons tell of the time before. Pure.
 *
 * What is known of the node: the last good answer to each question and how old it is, what the last
 * attempt came to, the round-trip times of the last minute, and events. Pure: times are given.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"
#include "cli/status/board.h"

#define EVENTS_MAX 200 /* the oldest go */

struct event {
	int64_t wall_us;
	enum board_level level;
	char *text;
};

struct events {
	struct event items[EVENTS_MAX]; /* by their time, the oldest first */
	size_t n;
};

void events_fini(struct events *events);

void events_add(struct events *events, int64_t wall_us, enum board_level level, const char *fmt,
                ...) PRINTF_LIKE(4, 5);

/* `before` is NULL with the first answer to that question. */
void events_compare(struct events *events, enum node_question question, const json_t *before,
                    const json_t *now, int64_t wall_us);

#define MODEL_SAMPLES 60

/* The round-trip times of an upstream, the oldest first; below 0: there was none. */
struct model_samples {
	char *upstream;
	double ms[MODEL_SAMPLES];
	size_t n;
	bool is_named; /* by the last answer */
};

struct model_source {
	bool is_told;               /* the question has come to something at least once */
	struct node_reply last;     /* what it came to last; its answer is `good`, or an error's */
	struct client_answer *good; /* NULL: none yet */
	int64_t good_us;            /* when that came */
};

struct model {
	struct model_source sources[NODE_QUESTIONS];
	struct model_samples *samples;
	size_t n_samples;
	struct events events;
};

void model_fini(struct model *model);

/* Takes the answer. now_us is the monotonic clock, wall_us the other. */
void model_take(struct model *model, enum node_question question, int r,
                struct client_answer *answer, int64_t now_us, int64_t wall_us);

/* The objects of the last good answer; NULL: none yet. */
const json_t *model_objects(const struct model *model, enum node_question question);
/* What is shown is old: the last attempt has failed. */
bool model_is_stale(const struct model *model, enum node_question question);
/* There never was a good answer, and why is known; that there is none of it here is no trouble. */
bool model_is_missing(const struct model *model, enum node_question question);
/* Why there is no good answer: "does not run here". */
const char *model_trouble(const struct model *model, enum node_question question);

/* NULL: none. */
const struct model_samples *model_samples_of(const struct model *model, const char *upstream);

/* Whether every question has come to something; then the board has all. */
bool model_is_told(const struct model *model);
void model_fill_board(const struct model *model, struct board *board, int64_t wall_us);
