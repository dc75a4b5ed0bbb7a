/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The configuration that `fairlead init` writes: documents with comments. Pure. */

#include <stdio.h>

#include "cli/init/initchoice.h"

/* network: documents that say what it is; NULL: it stays with whatever makes it. */
void inittext_write(FILE *out, const struct initfacts *facts, const struct initwish *wish,
                    const struct initchoice *choice, const char *network);
