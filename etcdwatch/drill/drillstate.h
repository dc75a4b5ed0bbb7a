/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What is remembered of a job's drills, over restarts too: a small JSON file in the job's
 * directory. Losing it costs a drill more than needed. Pure.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "etcdwatch/catalog/catalog.h"

#define DRILLSTATE_FILE ".drill-state" /* hidden: no entry of the catalogue */
#define DRILLSTATE_BYTES_MAX (64u << 10)
#define DRILLSTATE_CODE_MAX 32
#define DRILLSTATE_REASON_MAX 768

/* Times are seconds since 1970-01-01 UTC; 0: never. */
struct drillstate {
	int64_t since_s; /* there has been a snapshot to drill */
	int64_t last_s;  /* the last drill began */
	char last_id[CATALOG_ID_MAX + 1];
	bool last_ok;
	char code[DRILLSTATE_CODE_MAX];     /* if it failed; "" */
	char reason[DRILLSTATE_REASON_MAX]; /* the same */
	int64_t last_took_ms;
	json_t *result;    /* what the worker told of it, an object, or NULL; owned */
	unsigned failures; /* in a row */
	int64_t good_s;    /* the last one that went well began */
	char good_id[CATALOG_ID_MAX + 1];
};

void drillstate_fini(struct drillstate *state);

/* A drill is over. `result` is borrowed. */
void drillstate_add(struct drillstate *state, int64_t began_s, const char *id, int64_t took_ms,
                    const char *code, const char *reason, const json_t *result);

/* 0, or -EINVAL; the state is untouched then. */
int drillstate_parse(const char *text, size_t len, struct drillstate *ret_state);
/* The caller frees it. */
char *drillstate_print(const struct drillstate *state);
