/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Secrets out of texts that leave the node: by the names of what holds them, by what they look
 * like, and by their values, where those are known. Rather too much is blanked than too little.
 * Names of files stay. Pure.
 */

#include <stdbool.h>
#include <stddef.h>

#include "cli/common/texts.h"

#define BLANK_TEXT "(blanked)"
/* Shorter values are blanked by their names alone: they would be found in every other word. */
#define BLANK_KNOWN_MIN 5

enum blank_format {
	BLANK_PLAIN, /* a log, JSON, what a command prints */
	BLANK_YAML,  /* what is indented below a name belongs to it */
};

/* Whether what has this name is a secret itself: "secretKey", not "secretKeyFile". */
bool blank_is_secret_name(const char *name, size_t len);
/* The same of a key in a configuration, where some short words are secrets or hold them: "auth",
 * "psk", "key", "content", "headers". In a log these are words as others. */
bool blank_is_secret_key(const char *key, size_t len);

/* The text without them, to be freed; NULs become '?'. Adds to *n_blanked how many there were. */
char *blank_text(const char *text, size_t len, enum blank_format format, const struct texts *known,
                 size_t *n_blanked);
