/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Files that are half taken: `.taking-<job>-<pid>.db`, what they become while they are packed, and
 * entries that are half written. Whoever proves one gives it another name; what a crash leaves is
 * of no use to anyone.
 */

#include "etcdwatch/catalog/listing.h"

/* Where this process takes a snapshot of the job; the caller frees it. */
char *leftover_path(const char *directory, const char *job);

/* Removes those of this job, of whatever process. Blocking. 0, also when there is no such
 * directory, or -errno. */
int leftover_sweep(const char *directory, const char *job);

/* --- adopt --- */

/*
 * What a crash left between a snapshot's name and its entry. The entry is written first, under a
 * name that does not count (`.<id>.json`); then the snapshot gets its name, and then the entry gets
 * its own. So a snapshot without an entry has a promised one beside it, and is proven anew by it:
 * every byte of the file must be what was proven when it was taken. Blocking.
 */

/* The caller frees it. */
char *adopt_promised_path(const char *directory, const char *id);

/* Catalogues what proves to be what was promised, and removes promises that are kept or that
 * nothing came of. Ids that were catalogued, and sentences on what was not, are added. 0 or -errno
 * of reading the directory. */
int adopt_run(const char *directory, const char *job, struct names *ids, struct names *odd);
