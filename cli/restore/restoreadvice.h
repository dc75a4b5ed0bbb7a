/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What is said against a restore of etcd, what has to be minded, and what comes next. Pure. */

#include "cli/restore/restoreplan.h"

/* Adds to the three lists of a plan that is made otherwise. */
void restoreadvice_give(const struct restoreplan_wish *wish, const json_t *host,
                        const json_t *source, struct restoreplan *plan);
