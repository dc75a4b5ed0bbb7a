/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The upload of one file in parts: finds what an earlier process left, keeps what fits, sends what
 * is missing, and puts it together. After an error that may pass, what is there stays for the next
 * run; otherwise it is aborted.
 */

#include <stdbool.h>
#include <stdint.h>

#include "etcdwatch/worker/common/problem.h"
#include "web/digest.h"
#include "web/s3.h"

struct s3parts_request {
	const char *key;
	const char *path; /* for sentences */
	int fd;
	uint64_t n_bytes;
	uint64_t part_bytes;
	const char *sha256; /* that all of it has to have, or NULL */
};

struct s3parts_result {
	char sha256[DIGEST_HEX_MAX]; /* of all that was sent or kept */
	unsigned n_parts;
	unsigned n_kept;
	bool completed; /* else the server does not know the upload any more */
};

/* 0 when the server says that the object is there, and also when it does not know the upload any
 * more, as when its answer was lost: then only reading tells what the object is. */
int s3parts_run(struct s3 *s3, const struct s3parts_request *request, struct problem *problem,
                struct s3parts_result *ret_result);
