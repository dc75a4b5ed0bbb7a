/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a worker says that it is at, and how far it has come with that
 * (etcdwatch/worker/common/result.h): kept to be told to whoever waits. Values; zeroed: nothing was
 * said yet.
 */

#include <jansson.h>
#include <stdint.h>

#define DOING_STEP_MAX 16

struct doing {
	char step[DOING_STEP_MAX]; /* "" */
	uint64_t bytes, of_bytes;  /* of_bytes: 0: nobody knows of how many */
};

/* A line of its output; one that is about something else changes nothing. */
void doing_take(struct doing *doing, const json_t *line);

/* `doing`, `bytes` and `of_bytes`, if anything was said. */
void doing_put(const struct doing *doing, json_t *object);
