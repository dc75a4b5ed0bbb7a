/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* `fairlead etcd restore status`: of this node, or of those in the options. An exit code. */

#include "cli/restore/restoreoptions.h"

int restorestatus_show(const struct cli *cli, const struct restoreoptions *options);
