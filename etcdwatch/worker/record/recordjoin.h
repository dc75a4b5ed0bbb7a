/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Fetches the pieces of one segment from a target and puts them together, byte for byte, as the
 * file of the segment in a directory. Each piece must be what its manifest says, and all of them
 * together too. Codes as of recordfetch.h.
 */

#include <stdbool.h>
#include <stdint.h>

#include "etcdwatch/catalog/catalog.h"
#include "etcdwatch/worker/pack/unpack.h"
#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/record/recordpiece.h"
#include "web/s3.h"

/* All borrowed. */
struct recordjoin_request {
	struct s3 *s3;
	const char *prefix;
	const char *room;
	struct opener_keys keys;
	bool encrypted; /* a piece that is not is refused */
	struct trust trust;
};

#define RECORDJOIN_SIGNERS_MAX 8

/* {0} is nothing. */
struct recordjoined {
	uint64_t n_bytes; /* as they were fetched */
	/* The keys by which the pieces are signed, each once; the first of them. */
	char signers[RECORDJOIN_SIGNERS_MAX][SIGNATURE_PUBLIC_MAX];
	size_t n_signers;
};

/* By the signature of its manifest; else a sentence. An unsigned piece is never taken, also where
 * the snapshot was named: the name says nothing about the record. */
bool recordjoin_allows(const struct recordjoin_request *request, const struct recordpiece *piece,
                       char ret_reason[static PROBLEM_REASON_MAX]);

/* `last` is the manifest of the whole segment, or of the last piece in a row. Manifests before it
 * that are refused are dropped from `stored`. Adds what it has fetched to `joined`. */
int recordjoin_run(const struct recordjoin_request *request, const struct recordpiece *last,
                   struct recordstored *stored, struct problem *problem,
                   struct recordjoined *joined);
