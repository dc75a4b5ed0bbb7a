/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The findings of the watchdog, for people. */

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

void health_render(FILE *out, const json_t *objects, int64_t wall_now_us);
