/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A run of bytes of a local file, hashed, on its way to S3. It is sent from the file, not from
 * memory; should the file change after it was hashed, the server refuses what does not fit the
 * hash.
 */

#include <stdbool.h>
#include <stdint.h>

#include "web/digest.h"

struct s3_piece {
	int fd;           /* borrowed */
	const char *path; /* of the file, borrowed; NULL: not told */
	uint64_t offset;
	uint64_t n_bytes;
	bool is_new; /* it replaces nothing: If-None-Match; programs and some servers ignore it */
	uint8_t sha256[DIGEST_SHA256_BYTES];
	uint8_t md5[DIGEST_MD5_BYTES];
};

/*
 * Reads and hashes it. `whole`, if not NULL, gets the same bytes: pieces one after the other make
 * the file's own digest. 0; -ENODATA when the file ends before; or the error of reading.
 */
int s3_piece_hash(int fd, uint64_t offset, uint64_t n_bytes, struct digest *whole,
                  struct s3_piece *ret_piece);

/* Whether an ETag, with its quotes or without, is the MD5 of the piece, as that of a part is on
 * servers that do not encrypt with keys of their own. */
bool s3_piece_has_etag(const struct s3_piece *piece, const char *etag);
