/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whether a restore of the whole cluster stops the present cluster. The plan is of the snapshot's
 * members, and members may have joined since: those that are not stopped would go on as a second
 * cluster. Pure.
 */

#include <jansson.h>

#include "bolt/newcluster.h"
#include "cli/common/texts.h"

/*
 * `present` are the members that etcd lists now, or those of the node's data directory, as `health
 * --list` and `restore host` have them; null: neither could be read, and nothing is checked.
 * Members are compared by peer URLs; `without` are names of the plan's members. Adds a text to
 * ret_against for each member that is not in the plan, and one where the members that take part are
 * not more than half of the present ones. Learners count, as the database may not know of a
 * promotion (restoremembers.h).
 */
void restorepresent_check(const json_t *present, const struct newcluster *cluster,
                          const struct texts *without, struct texts *ret_against);
