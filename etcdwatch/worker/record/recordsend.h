/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One round of uploading the record of this node to a target: what is synced on the disk and not in
 * the target goes there, packed, and is read back (s3put.h). What was uploaded is known from the
 * target's listing, where the manifest is this node's (recordobjects.h); what others wrote there is
 * uploaded over. Nothing of the record's directory is changed.
 *
 * First all that is not in the target in any form, the oldest first: then the target has everything
 * up to the revision and the time of the request, and `reached` is called. Then at most one closed
 * segment is replaced by one object.
 */

#include <stdbool.h>
#include <stdint.h>

#include "etcdwatch/worker/pack/codec.h"
#include "etcdwatch/worker/common/result.h"
#include "web/s3.h"
#include "web/signature.h"

/* All borrowed. */
struct recordsend_request {
	struct s3 *s3;
	const char *prefix;
	const char *node;
	const char *directory; /* of the record */
	const char *scratch;   /* a directory that is made, used and removed */
	/* The segment that is written to, with the bytes of it that are synced, and what they reach;
	 * "": all are closed. */
	const char *open_segment;
	uint64_t open_bytes;
	int64_t revision, until_us;
	/* Of segments up to this sequence is known that they are in the target as one object each: the
	 * target is listed only for those behind it. 0: the target is listed. */
	uint64_t known_sequence;
	/* Of those up to this one that object was compared with the bytes here before. */
	uint64_t compared_sequence;
	int level;
	struct age_recipients recipients;
	const struct signature_key *key; /* NULL: manifests are not signed */
	void (*reached)(void *userdata);
	void *userdata;
};

struct recordsend_result {
	uint64_t n_bytes, n_objects;     /* that were put, without manifests */
	uint64_t sent_sequence;          /* up to it, all bytes of closed segments are in the target */
	uint64_t known_sequence;         /* up to it, as one object each, and nothing else */
	uint64_t n_passed;               /* segments that are not uploaded */
	char passed[PROBLEM_REASON_MAX]; /* the first of them, and why; "" */
	/* A manifest in this node's folder that is not this node's, and why; "" */
	char foreign[PROBLEM_REASON_MAX];
};

int recordsend_run(const struct recordsend_request *request, struct problem *problem,
                   struct recordsend_result *ret_result);
