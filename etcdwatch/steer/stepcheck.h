/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Between a plan and what happens meanwhile: whether a step may begin now, whether it has come
 * about; pure. */

#include <stdbool.h>

#include "etcdwatch/steer/steps.h"

/* False: not now, and why. */
bool stepcheck_may_begin(const struct step *step, const struct survey *survey,
                         char why[static STEPS_TEXT_MAX]);

/* By its answer the step may have come about, or did so before; false: it has failed. */
bool stepcheck_may_have_done(const struct step *step, const struct etcd_outcome *outcome);

/* The cluster is what the step was to make of it, and is well. */
bool stepcheck_is_done(const struct step *step, const struct survey *survey);

/* Whom to tell: NULL if nobody can be. */
const struct survey_member *stepcheck_whom(const struct step *step, const struct survey *survey);

/* For the planners, too. */

/* A database of that size may grow: it takes less than 95 % of its quota. */
bool stepcheck_has_room(int64_t db_bytes, int64_t quota_bytes);

/* All voters are healthy, all members have applied what the leader has, or nearly, and the
 * alarm CORRUPT stands for nobody: one may be busy with itself for a while. */
bool stepcheck_all_well(const struct survey *survey, char why[static STEPS_TEXT_MAX]);
