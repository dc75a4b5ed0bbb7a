/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The record and the jobs: what the newest snapshot still needs of it is not removed, and when a
 * chain begins, a job is asked for a snapshot that it can stand on. The watchdog is told whether
 * there is one.
 */

#include "etcdwatch/steer/env.h"
#include "etcdwatch/config/config.h"
#include "etcdwatch/daemon.h"
#include "etcdwatch/rules/observation.h"
#include "etcdwatch/record/recorder.h"
#include "etcdwatch/recordstore/recordstore.h"

/* Borrows all until recorder_free(). 0, and NULL if nothing is to be recorded; or -errno. */
int recording_start(struct daemon *daemon, const struct cluster_env *env,
                    const struct config_record *config, struct recorder **ret_recorder);

/* Its copies in targets; behind recording_start(), borrows the same. */
void recording_start_stores(struct daemon *daemon, const struct cluster_env *env,
                            const struct config_record *config, const char *worker,
                            struct recordstore *ret_stores[static CONFIG_RECORD_TARGETS_MAX],
                            size_t *ret_n);

/* All of it but `behind_s` and `lacks_s`; nothing while nothing is to be recorded. Strings are
 * borrowed until the next turn of the loop. */
void recording_look(const struct daemon *daemon, struct observation_record *ret_record);
