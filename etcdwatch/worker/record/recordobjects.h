/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Lists and reads the record's objects in a target (recordpiece.h). */

#include <stdbool.h>
#include <stdint.h>

#include "base/mono.h"
#include "etcdwatch/catalog/catalog.h"
#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/record/recordpiece.h"
#include "web/s3.h"
#include "web/signature.h"

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

/*
 * Whether what a target lists of a segment is this node's: signed with its key, and of the bytes
 * that are on its disk. Names alone prove nothing, as all who may write to the target can make
 * them.
 */

/* All borrowed. */
struct recordheld_request {
	struct s3 *s3;
	const char *prefix;
	const char *node;
	const struct signature_key *key; /* NULL: by whom a manifest is signed is not asked */
	const char *path;                /* the segment on the disk */
	int64_t begin_us;                /* of its header */
	struct recordplan_local has;
	/* The object that is the whole segment was compared with the bytes here before: its manifest is
	 * enough. */
	bool is_compared;
	bool checks_all; /* the pieces before the last one, too */
};

struct recordheld_result {
	/* Why it cannot be gone on with: it is signed with this node's key, and is of other bytes,
	 * which is another history; or the bytes here cannot be read. "" */
	char other[PROBLEM_REASON_MAX];
	char foreign[PROBLEM_REASON_MAX]; /* a manifest that is not this node's, and why; "" */
};

/* Takes what is not this node's out of `stored`. */
int recordheld_check(const struct recordheld_request *request, struct recordstored *stored,
                     struct problem *problem, struct recordheld_result *ret_result);

/*
 * Removes from a target the segments, of every node, that no snapshot kept there needs: those of
 * the cluster whose last revision is not behind the oldest kept snapshot's. What the manifest says
 * of it counts, so a segment without a readable manifest stays, and so does one whose manifest is
 * not signed as what a program may choose must be (catalog.h). A segment that was never closed may
 * still be written to: it stays for RECORDPRUNE_OPEN_US behind its last change.
 */

#define RECORDPRUNE_OPEN_US (INT64_C(7) * 24 * 3600 * US_PER_S)

struct recordprune_rules {
	uint64_t cluster_id;
	int64_t oldest_revision; /* of the snapshots that are kept */
	int64_t now_us;          /* wall clock */
	struct trust trust;
};

/* Pure: whether it may go at all, by its name: its manifest is worth reading. */
bool recordprune_is_candidate(const struct recordprune_rules *rules,
                              const struct recordstored *stored);
/* Pure: `last` is the manifest of the whole segment, or of its last piece. */
bool recordprune_goes(const struct recordprune_rules *rules, const struct recordpiece *last);

struct recordprune_result {
	uint64_t n_removed;                 /* objects */
	char untrusted[PROBLEM_REASON_MAX]; /* a segment that stays as it is not trusted; "" */
};

int recordprune_run(struct s3 *s3, const char *prefix, const struct recordprune_rules *rules,
                    struct problem *problem, struct recordprune_result *ret_result);
