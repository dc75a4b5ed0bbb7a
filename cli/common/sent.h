/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How far a snapshot is on its way to a target: of what etcdwatch reports of one, in the words of
 * all screens. Pure.
 */

#include <jansson.h>

/* "45%, 12.0 MB/s, 30s left", as far as it is known; to be freed. NULL: nothing is being sent. */
char *sent_text(const json_t *target);

/* 0 to 1; less than 0: nothing is being sent. */
double sent_part(const json_t *target);
