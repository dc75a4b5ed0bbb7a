/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * An object becomes a file, which is there whole or not at all. Whoever knows the SHA-256 can be
 * cut off and come back: what is there is gone on with, and all of it is checked at the end.
 *
 * A server says how long an object is, and may say anything: where the size is known it has to be
 * that (MISMATCH); where not, it has to have room on the disk (NO_SPACE), before anything is
 * fetched. What then comes beyond is an error (S3_CHANGED), and is not written.
 */

#include <stdbool.h>

#include "etcdwatch/worker/common/result.h"
#include "web/digest.h"
#include "web/s3.h"

struct s3get_request {
	const char *key;
	const char *path;   /* must not be there */
	const char *sha256; /* or NULL */
	uint64_t n_bytes; /* that the catalogue knows it to have; 0: what the server says is believed */
	uint64_t more_bytes; /* that the disk has to have room for, besides it */
};

struct s3get_result {
	uint64_t n_bytes;
	uint64_t n_bytes_kept; /* from before */
	char sha256[DIGEST_HEX_MAX];
};

int s3get_run(struct s3 *s3, const struct s3get_request *request, struct problem *problem,
              struct s3get_result *ret_result);
