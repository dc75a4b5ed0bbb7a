/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The plan of a restore of the whole cluster, and what came of it, for people and for programs. */

#include <stdio.h>

#include "cli/restore/restorehealth.h"
#include "cli/restore/restorenodes.h"
#include "cli/restore/restoring.h"

/* Why it cannot be done at all. */
void restorecluster_print_against(FILE *out, const struct restoreplan *plan);

/* The nodes have been surveyed. */
void restorecluster_print_plan(const struct restoring *r, const struct restorenodes *nodes,
                               const struct texts *without);

/* `health` has no answers where it went back. */
void restorecluster_print_result(const struct restoring *r, const struct restorenodes *nodes,
                                 const struct restorehealth *health, const struct texts *without);
