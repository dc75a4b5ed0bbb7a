/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whether "latest" is the newest that is known: the catalogue says it of one place, and other nodes
 * have stored theirs in the targets of the job. Each other place is asked for its newest entry;
 * what is newer, and what could not be asked, becomes a sentence for the plan.
 */

#include "cli/restore/restoresource.h"

/* `found` is the worker's. Nothing is asked where the snapshot is not the "latest" of a job, or no
 * entry is known of it. */
void restoreelsewhere_look(const struct restoresource *source, const json_t *found,
                           struct texts *ret_sentences);

/* --- pure --- */

/* Both are entries of the catalogue. The revision counts within one timeline, else the time. */
bool restoreelsewhere_is_newer(const json_t *entry, const json_t *than);
/* To be freed. */
char *restoreelsewhere_sentence(const char *place, const json_t *entry);
