/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the worker is told to do for a drill: `etcdwatch-worker drill ...`. Pure. */

#include "etcdwatch/catalog/catalog.h"
#include "etcdwatch/config/config.h"
#include "etcdwatch/config/s3words.h"

struct drillwords {
	struct s3words words;
	char *file, *entry;
	char timeout[24], reserve[24];
};

/* Of a snapshot in the job's directory, or in the source that the job's drills have. Borrows all
 * until drillwords_fini(). */
void drillwords_init(struct drillwords *words, const char *worker, const struct config_job *job,
                     const struct catalog_entry *entry);
void drillwords_fini(struct drillwords *words);
