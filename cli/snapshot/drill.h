/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a drill of etcd's snapshots found, for people. Pure. */

#include <jansson.h>
#include <stdio.h>

/* {"phase": "..."} as it comes; anything else is passed over. */
void drill_render_phase(FILE *out, const json_t *object);

/* The checks, what each phase took, and the versions; nothing if the object has no checks. */
void drill_render_result(FILE *out, const json_t *object);

/* A line for each thing about drills in a job of `etcd snapshot jobs` that deserves a look. */
void drill_render_notes(FILE *out, const json_t *job);
