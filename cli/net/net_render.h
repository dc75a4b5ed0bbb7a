/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What netconf answers, for people. Pure but for the stream. */

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* A line of a plan: a step, or what is in the way. Others are passed over. */
void net_render_line(FILE *out, const json_t *object);
/* The change that is under way, in a line. */
void net_render_change(FILE *out, const json_t *change);
/* A cli_render_fn. */
void net_render_status(FILE *out, const json_t *objects, int64_t wall_now_us);
