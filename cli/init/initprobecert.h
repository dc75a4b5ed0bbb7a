/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * `fairlead init --probe-certificate`: makes or renews the files of base/probecert.h on this node,
 * below `root`. force: also where there is no need. An exit code; what was done, or what is wrong,
 * is said.
 */

#include <stdbool.h>
#include <stdint.h>

int initprobecert_make(const char *root, bool force, int64_t now_s);
