/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whether "latest" is the newest that is known: the catalogue says it of one place, and other nodes
 * have stored theirs in the targets of the job. Each other place is asked for its newest entry;
 * what is newer, and what could not be asked, becomes a sentence for the plan. What other nodes
 * have in their directories etcdwatch knows, from etcd's keys, as long as it runs.
 */

#include "cli/common/snapshotsource.h"

/*
 * `found` is the worker's, and gets the field `elsewhere` (restoreelsewhere_known()). Nothing is
 * asked where the snapshot is not the "latest", or no entry is known of it.
 */
void restoreelsewhere_look(const struct cli *cli, const struct snapshotsource *source,
                           json_t *found, struct texts *ret_sentences);

/* --- pure --- */

/* Both are entries of the catalogue. The revision counts within one timeline, else the time. */
bool restoreelsewhere_is_newer(const json_t *entry, const json_t *than);
/*
 * From the answer of etcdwatch, an array of what `etcd snapshot list --others` prints: {"newest":
 * {"node", "id", "finished", "revision", "as_of"}, "reason"}. The newest of all other nodes is null
 * where none is known; the reason says why etcdwatch could not ask etcd now, or is null.
 */
json_t *restoreelsewhere_known(const json_t *objects);
/* To be freed. */
char *restoreelsewhere_sentence(const char *place, const json_t *entry);
