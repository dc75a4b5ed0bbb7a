/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What else on the node does what fairlead is to do, and what configures its network. */

#include "cli/init/initfacts.h"

void initothers_look(const char *root, struct initfacts *facts);
