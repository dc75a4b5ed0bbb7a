/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a crash left between a snapshot's name and its entry. The entry is written first, under a
 * name that does not count (`.<id>.json`); then the snapshot gets its name, and then the entry gets
 * its own. So a snapshot without an entry has a promised one beside it, and is proven anew by it:
 * every byte of the file must be what was proven when it was taken. Blocking.
 */

#include "etcdwatch/catalog/listing.h"

/* The caller frees it. */
char *adopt_promised_path(const char *directory, const char *id);

/* Catalogues what proves to be what was promised, and removes promises that are kept or that
 * nothing came of. Ids that were catalogued, and sentences on what was not, are added. 0 or -errno
 * of reading the directory. */
int adopt_run(const char *directory, const char *job, struct names *ids, struct names *odd);
