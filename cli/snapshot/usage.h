/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What fills etcd, by the catalogue of the newest snapshot that was counted; for people, and for
 * programs. Pure. */

#include <jansson.h>
#include <stdio.h>

/* Of the snapshots that `etcd snapshot list` lists, the newest that says what fills it; borrowed;
 * NULL: none does. */
const json_t *usage_find_newest(const json_t *snapshots);

void usage_render(FILE *out, const json_t *snapshot);
/* An object a prefix; the last, with null, for all others. The array is the caller's. */
json_t *usage_parts(const json_t *snapshot);
