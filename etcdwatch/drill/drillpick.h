/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Which snapshot a drill restores: the newest good one, by the time that it was begun. Pure. */

#include "etcdwatch/target/inventory.h"

/* Of a store, the oldest first; only those with a copy in that target, unless it is NULL. NULL:
 * there is none. */
const struct catalog_entry *drillpick_here(const struct config_job *job,
                                           const struct catalog_entry *const *entries, size_t n,
                                           const struct config_target *copied_to);
/* Of what a target holds: one that is trusted. */
const struct catalog_entry *drillpick_there(const struct config_job *job,
                                            const struct inventory *there);
