/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Uploads in parts: what is needed to send a file in pieces, to go on with an upload that was cut
 * off, and to clear away what nobody goes on with. Blocking, as s3.h is, whose errors it has.
 *
 * An upload is the server's memory of parts, under an id. Nothing of it is an object until it is
 * completed, and all of it costs space until it is completed or aborted.
 */

#include <stdint.h>

#include "web/s3.h"

#define S3_UPLOAD_ID_MAX 1024
/* S3's own limits. */
#define S3_PARTS_MAX 10000u
#define S3_PART_BYTES_MIN (UINT64_C(5) << 20)
#define S3_PART_BYTES_MAX (UINT64_C(5) << 30)

struct s3_part {
	unsigned number; /* from 1 */
	uint64_t n_bytes;
	char etag[S3_ETAG_MAX];
};

int s3_upload_create(struct s3 *s3, const char *key, char ret_id[static S3_UPLOAD_ID_MAX]);

/* Replaces what the number had. `ret_part` is what s3_upload_complete() needs. */
int s3_upload_part(struct s3 *s3, const char *key, const char *id, unsigned number,
                   const struct s3_piece *piece, struct s3_part *ret_part);

/*
 * The parts in the order of their numbers. The answer may come with status 200 and be an error all
 * the same. If a repeated try finds the upload gone, -ENOENT: then the one before may have
 * succeeded, and the caller looks at the object.
 */
int s3_upload_complete(struct s3 *s3, const char *key, const char *id, const struct s3_part *parts,
                       unsigned n_parts);

/* No error when there is none. */
int s3_upload_abort(struct s3 *s3, const char *key, const char *id);

typedef int (*s3_part_fn)(const struct s3_part *part, void *userdata);
int s3_upload_list_parts(struct s3 *s3, const char *key, const char *id, s3_part_fn part,
                         void *userdata);

struct s3_upload {
	const char *key;
	const char *id;
	const char *initiated; /* as the server writes it, "2026-11-21T20:30:00.000Z" */
};

/* All that are not complete, of keys that begin with `prefix`. */
typedef int (*s3_upload_fn)(const struct s3_upload *upload, void *userdata);
int s3_upload_list(struct s3 *s3, const char *prefix, s3_upload_fn upload, void *userdata);
