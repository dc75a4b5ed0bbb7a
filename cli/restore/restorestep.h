/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* `fairlead etcd restore step NAME [SNAPSHOT]`: argv begins with NAME. An exit code. */

#include "cli/restore/restoring.h"

int restorestep_run(struct restoring *r, int argc, char **argv);
