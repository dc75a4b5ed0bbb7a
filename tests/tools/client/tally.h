/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What became of each request: counted, failures printed with their time as they happen, the whole
 * as one line of JSON in the end.
 */

#include <stddef.h>
#include <stdint.h>
#include <jansson.h>

#include "tests/tools/traffic/link.h"

enum outcome {
	OUTCOME_OK,
	/* Nothing of an answer had come: */
	OUTCOME_REFUSED,
	OUTCOME_RESET,
	OUTCOME_CLOSED,
	OUTCOME_TIMEOUT,
	OUTCOME_UNREACHED,
	/* It had begun: nobody in between can make that good. */
	OUTCOME_CUT,     /* and the connection ended */
	OUTCOME_STALLED, /* and nothing more came in time */
	/* And these are never right. */
	OUTCOME_UNTRUSTED,
	OUTCOME_BROKEN,
	OUTCOME_WRONG, /* not the answer that it should be */
	OUTCOME_LOCAL, /* the client's own fault: proves nothing */
};
#define N_OUTCOMES (OUTCOME_LOCAL + 1)

struct tally {
	uint64_t counts[N_OUTCOMES];
	int64_t *took_us; /* of those that were right */
	size_t n_took, room;
	int64_t late_us; /* the most that the client itself was behind its own schedule */
};

/* begun: a byte of the answer had come. */
enum outcome outcome_of_end(enum link_end end, bool begun);

void tally_add(struct tally *t, enum outcome outcome, uint64_t id, int64_t took_us,
               const char *why);
/* "EPOCH WORD conn=ID after_ms=N why": something that is worth a line and is not a request. */
void tally_event(const char *word, uint64_t id, int64_t after_us, const char *why);

/* ok, failed, failures by kind, p50_ms, p99_ms, max_ms, late_ms: put into object. */
void tally_fill(struct tally *t, json_t *object);
void tally_fini(struct tally *t);
