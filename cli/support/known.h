/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The values that are secret on this node, as far as its configuration leads to them: what stands
 * in it although it should not, and what is in the files that it names. Wherever they turn up, they
 * are blanked (blank.h).
 */

#include "cli/common/texts.h"

/* Of one file of the configuration. */
void known_add(struct texts *known, const char *path);
