/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * `fairlead init --probe-certificate`: makes or renews the files of base/probecert.h on this node,
 * below `root`: signed with the authority's key, where that is, else by the cluster, which is asked
 * as the user of a kubeconfig (NULL: kubelet's). force: also where there is no need. An exit code;
 * what was done, or what is wrong, is said.
 */

#include <stdbool.h>
#include <stdint.h>

int initprobecert_make(const char *root, const char *kubeconfig, bool force, int64_t now_s);
