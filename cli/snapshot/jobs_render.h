/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What etcdwatch answers, for people. */

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* A target that belongs to this cluster now. */
void etcdwatch_render_taken_over(FILE *out, const json_t *objects, int64_t wall_now_us);
void etcdwatch_render_list(FILE *out, const json_t *objects, int64_t wall_now_us);
void etcdwatch_render_prune(FILE *out, const json_t *objects, int64_t wall_now_us);
void etcdwatch_render_deleted(FILE *out, const json_t *objects, int64_t wall_now_us);
void etcdwatch_render_accepted(FILE *out, const json_t *objects, int64_t wall_now_us);
