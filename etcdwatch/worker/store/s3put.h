/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A file becomes an object, and is read back: only what the server gives again, and has the file's
 * own SHA-256, counts as stored. Large files go up in parts; an upload that was cut off, by
 * whatever and in whichever process, is gone on with, as the server knows which parts it has. An
 * object that is there already and is the same is not sent again.
 *
 * A key belongs to one file and is uploaded by one process at a time.
 */

#include <stdbool.h>
#include <stdint.h>

#include "etcdwatch/worker/common/result.h"
#include "web/digest.h"
#include "web/s3.h"

/* Smaller files are sent whole. */
#define S3PUT_PART_BYTES ((uint64_t) 16 << 20)
/* Some servers take no more parts than that, by default. */
#define S3PUT_PARTS_MAX 1000u

struct s3put_request {
	const char *path;
	const char *key;
	uint64_t part_bytes; /* at least; 0: S3PUT_PART_BYTES */
	const char *sha256;  /* that the file has to have, or NULL */
};

struct s3put_result {
	uint64_t n_bytes;
	char sha256[DIGEST_HEX_MAX];
	char etag[S3_ETAG_MAX];
	unsigned n_parts;      /* 0: sent whole, or not at all */
	unsigned n_parts_kept; /* of them, those that were there from before */
	bool was_there;        /* nothing was sent */
};

int s3put_run(struct s3 *s3, const struct s3put_request *request, struct problem *problem,
              struct s3put_result *ret_result);

/* Pure: at least `wanted`, in whole MiB, and so that there are not too many of them. */
uint64_t s3put_part_size(uint64_t n_bytes, uint64_t wanted);

/*
 * Uploads that nobody goes on with: their parts cost space until they are aborted, and no list of
 * objects shows them. Whoever uploads a key again clears those of that key (s3put.h); this is for
 * the keys that are never uploaded again.
 */

struct s3sweep_request {
	const char *prefix;
	bool whole_key;  /* `prefix` is a key, and not those that are longer */
	int64_t older_s; /* only those that began so long ago, by the server's clock; 0: all */
};

struct s3sweep_result {
	uint64_t n_aborted;
	uint64_t n_kept; /* younger, or of an age that the server does not tell */
};

int s3sweep_run(struct s3 *s3, const struct s3sweep_request *request, struct problem *problem,
                struct s3sweep_result *ret_result);

/* Pure: whether an upload that began then, as the server wrote it, is that old. */
bool s3sweep_is_old(const char *initiated, int64_t now_s, int64_t older_s);
