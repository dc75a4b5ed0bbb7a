/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Between a plan and what happens meanwhile: whether a step may begin now, whether it has come
 * about; pure. */

#include <stdbool.h>

#include "etcdwatch/cluster/steps.h"

/* False: not now, and why. */
bool stepcheck_may_begin(const struct step *step, const struct survey *survey,
                         char why[static STEPS_TEXT_MAX]);

/* The cluster is what the step was to make of it, and is well. */
bool stepcheck_is_done(const struct step *step, const struct survey *survey);

/* Whom to tell: NULL if nobody can be. */
const struct survey_member *stepcheck_whom(const struct step *step, const struct survey *survey);
