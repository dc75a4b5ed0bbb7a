/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * `prism status` for people: a line about prism as a whole, a table of one line an upstream, and
 * below it whatever deserves a look. Pure: the objects are those of docs/control.md, and a field
 * that is missing shows as "-", so that a CLI and a daemon of different versions get along.
 */

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

void prism_render_status(FILE *out, const json_t *objects, int64_t wall_now_us);
