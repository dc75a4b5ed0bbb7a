/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the commands about the configuration share: asking a program about files, and the documents
 * that it prints. */

#include "cli/common/texts.h"
#include "cli/config/parts.h"

/* `program MODE --config=FILE...`; what it printed is to be freed. CLI_OK with its exit code; else
 * it could not be run, which is said. */
int config_ask(const char *program, const char *mode, int argc, char **argv, bool with_errors,
               char **ret_text, int *ret_exit);

/* Says on standard error what nobody reads and is left out. */
void config_say_others(const struct parts *parts);

/* Adds the documents of a printed configuration that are not there yet; `kind`: only these; NULL:
 * all. */
void config_add_documents(struct texts *documents, const char *text, const char *kind);
