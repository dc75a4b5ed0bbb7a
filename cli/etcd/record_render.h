/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* `etcd record status` for people: a cli_render_fn. */

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

void record_render(FILE *out, const json_t *objects, int64_t wall_now_us);
