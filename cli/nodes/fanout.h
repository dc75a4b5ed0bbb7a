/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A command that only reads, on several nodes: each is asked, and the answers are printed together
 * in the order of the nodes. */

#include "cli/common/cli.h"
#include "cli/common/texts.h"

/* `words` are the command's, without -o. Its exit code: the worst of all, see fanout_worse(). */
int fanout_run(const struct cli *cli, const struct texts *words, int64_t timeout_us);

/* The worse of two exit codes. From good to bad: 0, 5 (wants attention), 1, 4, 3, 2; what is none
 * of these counts as 1. Pure. */
int fanout_worse(int a, int b);
