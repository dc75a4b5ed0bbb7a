/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A plan of a restore, and what came of it, for people and for programs. */

#include <stdio.h>

#include "cli/restore/restorenodes.h"
#include "cli/restore/restoreplan.h"
#include "cli/restore/restoring.h"

/* `now_s` is the reader's clock, for ages. `host` and `source` as for restoreplan_make(). */
void restorerender_plan(FILE *out, const struct restoreplan_wish *wish,
                        const struct restoreplan *plan, const json_t *host, const json_t *source,
                        int64_t now_s);
json_t *restorerender_plan_json(const struct restoreplan_wish *wish, const struct restoreplan *plan,
                                const json_t *host, const json_t *source);

/* What comes when it was not done. */
void restorerender_dry(FILE *out, const struct restoreplan *plan);

/* `result` is the last line of the worker's `restore run`. */
void restorerender_result(FILE *out, const struct restoreplan *plan, const json_t *result);

/* The plan of a restore of the whole cluster, and what came of it, for people and for programs. */

/* Why it cannot be done at all. */
void restorecluster_print_against(FILE *out, const struct restoreplan *plan);

/* The nodes have been surveyed. */
void restorecluster_print_plan(const struct restoring *r, const struct restorenodes *nodes,
                               const struct texts *without);

/* `health` has no answers where it went back. */
void restorecluster_print_result(const struct restoring *r, const struct restorenodes *nodes,
                                 const struct restorehealth *health, const struct texts *without);
