/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What several programs have found in the same files, each thing once and in the order of its
 * place. Pure but for what it prints.
 */

#include "cli/common/cli.h"

enum severity {
	FINDING_ERROR,
	FINDING_WARNING,
	FINDING_NOTE,
};

struct findings;

struct findings *findings_new(void);
void findings_free(struct findings *findings);
DEFINE_AUTO(struct findings, findings_free);

/* message: "file:line:col: path: what is wrong", or without a place. `program` is borrowed. One
 * that another program has found too is kept once. */
void findings_add(struct findings *findings, enum severity severity, const char *program,
                  const char *message);

/* Whether it begins with a file and a line. */
bool findings_has_place(const char *message);

/* How many there are of it. */
size_t findings_count(const struct findings *findings, enum severity severity);

/* A table: errors and warnings go to `err`, notes to `out`. */
void findings_print(struct findings *findings, FILE *out, FILE *err);

/* An array, which is the caller's. */
json_t *findings_json(struct findings *findings);
