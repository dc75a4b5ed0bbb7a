/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * An object becomes a file, which is there whole or not at all. Whoever knows the SHA-256 can be
 * cut off and come back: what is there is gone on with, and all of it is checked at the end.
 */

#include <stdbool.h>

#include "etcdwatch/worker/problem.h"
#include "web/digest.h"
#include "web/s3.h"

struct s3get_request {
	const char *key;
	const char *path;   /* must not be there */
	const char *sha256; /* or NULL */
};

struct s3get_result {
	uint64_t n_bytes;
	uint64_t n_bytes_kept; /* from before */
	char sha256[DIGEST_HEX_MAX];
};

int s3get_run(struct s3 *s3, const struct s3get_request *request, struct problem *problem,
              struct s3get_result *ret_result);
