/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Lists and reads the record's objects in a target (recordpiece.h). */

#include "etcdwatch/worker/common/problem.h"
#include "etcdwatch/worker/record/recordplan.h"
#include "web/s3.h"

/* More than a year of five nodes takes, with a segment each half an hour. */
#define RECORDOBJECTS_MAX 300000
#define RECORDOBJECTS_MANIFEST_MAX 4096

/* Calls fn with each object of a record whose key begins so; `prefix` is the target's. */
typedef void (*recordobjects_fn)(const struct recordkey *key, const char *text, void *userdata);
int recordobjects_list(struct s3 *s3, const char *prefix, const char *below, recordobjects_fn fn,
                       void *userdata, struct problem *problem);

/* All of the record in a target, node by node. {0} is none. */
struct recordfolders {
	struct recordfolder {
		char node[NODECONF_NAME_MAX + 1];
		struct recordlisting listing;
	} * items;
	size_t n;
};

void recordfolders_fini(struct recordfolders *folders);
int recordfolders_list(struct s3 *s3, const char *prefix, struct recordfolders *ret_folders,
                       struct problem *problem);

/* Reads the manifest at that key. MANIFEST: it is none, or of another piece. */
int recordobjects_read(struct s3 *s3, const char *prefix, const char *key,
                       struct recordpiece *ret_piece, struct problem *problem);
/* That problem of reading is one of the manifest, as opposed to a store that does not answer. */
bool recordobjects_is_refused(const struct problem *problem);
/* The same of the whole segment, or of the last of its pieces in a row. 1 and a sentence: there is
 * none that can be read. */
int recordobjects_read_last(struct s3 *s3, const char *prefix, const char *node,
                            const struct recordstored *stored, struct recordpiece *ret_piece,
                            char ret_reason[static PROBLEM_REASON_MAX], struct problem *problem);

/* Removes a segment's objects, the manifests first; `only_pieces`: but not the one that is whole.
 * Adds how many to `n_removed`. */
int recordobjects_remove(struct s3 *s3, const char *prefix, const char *node, const char *segment,
                         bool only_pieces, uint64_t *n_removed, struct problem *problem);
