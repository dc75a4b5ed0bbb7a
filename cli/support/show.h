/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What of a text may leave the node. Each kind of text has its list of what is known to hold no
 * secret: keys of the configuration, fields of an answer, fields of an event, lines of a command.
 * All else is replaced by its type and length, "<string, 12 bytes>". Pure.
 */

#include <jansson.h>
#include <stddef.h>

#include "cli/common/texts.h"

enum show_kind {
	SHOW_CONFIG,  /* YAML: known keys with values of one harmless word */
	SHOW_LOG,     /* journalctl's lines: our events, what systemd and the kernel are known to say */
	SHOW_METRICS, /* our own, with their labels */
	SHOW_KERNEL,  /* JSON of ip(8) and bridge(8): numbers, and known fields */
	SHOW_LINES,   /* those that match a regular expression as a whole */
};

/* To be freed; adds to *n_hidden how much was replaced. `pattern` is for SHOW_LINES: extended, and
 * NULL of the other kinds. */
char *show_text(enum show_kind kind, const char *pattern, const char *text, size_t len,
                size_t *n_hidden);

/* The same of the objects of a daemon's answer: a new array. */
json_t *show_answer(const json_t *objects, size_t *n_hidden);

/* And of a sentence of ours, to be freed. */
char *show_sentence(const char *text, size_t *n_hidden);
