/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What has happened on the node while somebody looked, found by comparing each answer with the one
 * before it; and what the daemons tell of the time before. Pure.
 */

#include <jansson.h>
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
