/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the worker is told to do for a drill: `etcdwatch-worker drill ...`. Pure. */

#include "etcdwatch/catalog.h"
#include "etcdwatch/config.h"

#define DRILLWORDS_MAX 24

struct drillwords {
	const char *argv[DRILLWORDS_MAX]; /* ends with NULL */
	size_t n;
	char *file, *catalog;
	char timeout[24], reserve[24];
};

/* Of a snapshot in the job's directory. Borrows all until drillwords_fini(). */
void drillwords_init(struct drillwords *words, const char *worker, const struct config_job *job,
                     const struct catalog_entry *entry);
void drillwords_fini(struct drillwords *words);
