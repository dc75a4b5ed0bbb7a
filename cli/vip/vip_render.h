/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * `vip status` for people: a table of one line a VIP, and below it whatever deserves a look. Pure:
 * the objects are those of docs/control.md, and a field that is missing shows as "-", so that a CLI
 * and a daemon of different versions get along.
 */

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* wall_now_us is the reader's clock, for the age of the last move. */
void vip_render_status(FILE *out, const json_t *objects, int64_t wall_now_us);
