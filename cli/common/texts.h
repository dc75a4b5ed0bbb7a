/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A list of texts that grows: sentences, or the words of a command. */

#include <stddef.h>

#include "base/macro.h"

struct texts {
	char **items; /* owned; NULL behind the last one */
	size_t n;
};

void texts_add(struct texts *texts, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Those of another list behind them. */
void texts_add_all(struct texts *texts, const struct texts *more);
/* "--name" and its value, each a word; nothing without a value (NULL). */
void texts_add_option(struct texts *words, const char *option, const char *value);
void texts_fini(struct texts *texts);

/* The words as they are typed into a shell; to be freed. */
char *texts_command(const struct texts *words);
