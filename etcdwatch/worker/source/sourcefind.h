/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Which file or object a name means (source.h), and the catalogue's entry beside it. */

#include <stdbool.h>

#include "etcdwatch/worker/source/source.h"

/* More are not kept of what a server lists: so many are no snapshots of one cluster. */
#define SOURCEFIND_KEYS_MAX 100000
/* Nor more entries read for "latest" and for sourcefind_list(), which end when 500 that may be
 * chosen were among them. */
#define SOURCEFIND_READS_MAX 5000

/* ", of which 2 are not encrypted (...)", or ""; to be freed. */
char *sourcefind_describe_passed(const struct source_passed *passed);

struct sourcefound {
	char *origin;                /* a path, or a key in S3 */
	struct catalog_entry *entry; /* NULL: there is none */
	struct source_passed passed;
};

void sourcefound_fini(struct sourcefound *found);

/* `ret_found` is the caller's to free. */
int sourcefind_local(const struct source_request *request, struct problem *problem,
                     struct sourcefound *ret_found);
int sourcefind_s3(const struct source_request *request, struct problem *problem,
                  struct sourcefound *ret_found);

/* False: the request names one snapshot. */
bool sourcefind_is_latest(const struct source_request *request);

/* By its signature, a program may choose it. A directory of this machine is not a store: there an
 * entry without a signature is let pass where no keys are configured. */
bool sourcefind_may_choose(const struct source_request *request, const struct catalog_entry *entry);

/* What the job's directory on this node has of the same id, and the newest good snapshot there that
 * is newer, of the same job; NULL: none. Both are the caller's to free. */
int sourcefind_known(const struct source_request *request, const struct catalog_entry *entry,
                     struct problem *problem, struct catalog_entry **ret_known,
                     struct catalog_entry **ret_newer);

/* Every entry that "latest" would be chosen from, of the job that the request names, in no order.
 * In S3 there are as many of them as are looked at for that. The name is not looked at. */
typedef void (*sourcefind_entry_fn)(const struct catalog_entry *entry, void *userdata);
int sourcefind_list(const struct source_request *request, struct problem *problem,
                    sourcefind_entry_fn fn, void *userdata, struct source_passed *ret_passed);
