/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What `fairlead etcd notify` prints. Pure; each is a cli_render_fn (cli.h). */

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

void notify_render_status(FILE *out, const json_t *objects, int64_t wall_now_us);
void notify_render_test(FILE *out, const json_t *objects, int64_t wall_now_us);
