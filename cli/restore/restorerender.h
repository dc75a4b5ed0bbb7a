/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A plan of a restore, and what came of it, for people and for programs. */

#include <stdio.h>

#include "cli/restore/restoreplan.h"

/* `now_s` is the reader's clock, for ages. `host` and `source` as for restoreplan_make(). */
void restorerender_plan(FILE *out, const struct restoreplan_wish *wish,
                        const struct restoreplan *plan, const json_t *host, const json_t *source,
                        int64_t now_s);
json_t *restorerender_plan_json(const struct restoreplan_wish *wish, const struct restoreplan *plan,
                                const json_t *host, const json_t *source);

/* Parts of it, for a plan of the whole cluster: the snapshot and the revision; what has to be
 * minded and what comes afterwards. */
void restorerender_plan_of_cluster(FILE *out, const struct restoreplan *plan, const json_t *source,
                                   int64_t now_s);
void restorerender_lists(FILE *out, const struct restoreplan *plan);

/* An array of them. */
json_t *restorerender_list_json(const struct texts *texts);

/* What comes when it was not done. */
void restorerender_dry(FILE *out, const struct restoreplan *plan);

/* `result` is the last line of the worker's `restore run`. */
void restorerender_result(FILE *out, const struct restoreplan *plan, const json_t *result);
