/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Does by itself what EtcdWatchConfig allows: `defrag` on its schedule, `recoverSpace` when the
 * alarm NOSPACE stands. Of all nodes only one does it, so that it is done once (upkeepdue_whose()).
 * What is done, and what keeps it from being done, is told in the log.
 */

#include <stdint.h>

#include "etcdwatch/steer/env.h"
#include "etcdwatch/config/config.h"

struct upkeep;

/* Borrows both, until upkeep_free(). NULL: nothing is configured. */
struct upkeep *upkeep_new(const struct cluster_env *env, const struct config_watch *watch);
void upkeep_free(struct upkeep *upkeep); /* NULL is fine */

/* Of the disk of this machine's member, as the watchdog saw it last; -1: not known. */
int64_t upkeep_disk_free(const struct cluster_env *env);
