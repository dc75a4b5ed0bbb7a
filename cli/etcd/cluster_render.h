/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What etcdwatch tells of the cluster, for people: talosctl's columns. */

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

void cluster_render_members(FILE *out, const json_t *objects, int64_t wall_now_us);
void cluster_render_status(FILE *out, const json_t *objects, int64_t wall_now_us);
void cluster_render_alarms(FILE *out, const json_t *objects, int64_t wall_now_us);
