/* SPDX-License-Identifier: Apache-2.0 */
/* Is it there? If not, send it, whole or in parts. Then read it back in any case. */
#include "etcdwatch/worker/store/s3put.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "etcdwatch/worker/common/infile.h"
#include "etcdwatch/worker/common/pace.h"
#include "etcdwatch/worker/store/s3parts.h"
#include "etcdwatch/worker/store/s3target.h"
#include "web/s3_upload.h"

#define MIB ((uint64_t) 1 << 20)

struct putting {
	struct s3 *s3;
	const struct s3put_request *request;
	struct problem *problem;
	int fd;
	bool is_ours; /* the server has said that the object is what we sent */
	struct s3put_result result;
};

uint64_t s3put_part_size(uint64_t n_bytes, uint64_t wanted)
{
	uint64_t least = MAX(wanted, S3_PART_BYTES_MIN);
	uint64_t fitting = n_bytes / S3PUT_PARTS_MAX + 1;

	return (MAX(least, fitting) + MIB - 1) / MIB * MIB;
}

/* --- reading back --- */

struct reading {
	struct digest *digest;
	struct pace pace;
	uint64_t n_bytes;
};

static int hash_data(const void *data, size_t len, void *userdata)
{
	struct reading *reading = userdata;

	digest_update(reading->digest, data, len);
	reading->n_bytes += len;
	pace_tell(&reading->pace, reading->n_bytes);
	return 0;
}

/* The SHA-256 of what the server has. */
static int hash_object(struct putting *p, char hex[static DIGEST_HEX_MAX],
                       struct s3_object *ret_object)
{
	AUTO(digest_free) struct digest *digest = digest_new(DIGEST_SHA256);
	struct reading reading = {.digest = digest};
	int r;

	pace_begin(&reading.pace, "read-back", p->result.n_bytes);
	r = s3_get(p->s3, p->request->key, 0, hash_data, &reading, ret_object);
	if (r < 0)
		return s3target_fail(p->s3, r, p->problem);
	(void) digest_finish_hex(digest, hex);
	return 0;
}

static int read_back(struct putting *p)
{
	const char *key = p->request->key;
	struct s3_object object;
	char hex[DIGEST_HEX_MAX];
	int r = hash_object(p, hex, &object);

	if (r < 0)
		return r;
	if (object.n_bytes == p->result.n_bytes && strcmp(hex, p->result.sha256) == 0) {
		memcpy(p->result.etag, object.etag, sizeof(p->result.etag));
		return 0;
	}
	if (!p->is_ours)
		return problem_set(p->problem, -EBADMSG, "S3_MISMATCH",
		                   "the upload of '%s' is gone, and the object is another one", key);
	/* Nobody may take it for what it should be. */
	r = s3_delete(p->s3, key);
	return problem_set(p->problem, -EBADMSG, "S3_MISMATCH",
	                   "the object '%s' was read back as something else, and %s", key,
	                   r == 0 ? "is removed" : "cannot be removed");
}

/* --- sending --- */

static int check_sha256(struct putting *p)
{
	const char *wanted = p->request->sha256;

	if (wanted == NULL || strcasecmp(wanted, p->result.sha256) == 0)
		return 0;
	return problem_set(p->problem, -EBADMSG, "MISMATCH",
	                   "the SHA-256 of '%s' is %s, and should be %s", p->request->path,
	                   p->result.sha256, wanted);
}

static int hash_file(struct putting *p, struct s3_piece *ret_piece)
{
	int r = s3_piece_hash(p->fd, 0, p->result.n_bytes, NULL, ret_piece);

	if (r < 0)
		return problem_set_errno(p->problem, r, "cannot read '%s'", p->request->path);
	(void) digest_hex(ret_piece->sha256, sizeof(ret_piece->sha256), p->result.sha256);
	return check_sha256(p);
}

/* 1: an earlier run has stored it, and was cut off before it could say so. */
static int was_stored(struct putting *p)
{
	struct s3_object object;
	struct s3_piece piece;
	char hex[DIGEST_HEX_MAX];
	int r = s3_head(p->s3, p->request->key, &object);

	/* Keys that may not list are told that they may not know. */
	if (r == -ENOENT || (r < 0 && s3_get_error(p->s3)->failure == S3_DENIED))
		return 0;
	if (r < 0)
		return s3target_fail(p->s3, r, p->problem);
	if (object.n_bytes != p->result.n_bytes || !object.encrypted)
		return 0;
	r = hash_file(p, &piece);
	if (r == 0)
		r = hash_object(p, hex, &object);
	if (r < 0)
		return r;
	memcpy(p->result.etag, object.etag, sizeof(p->result.etag));
	return strcmp(hex, p->result.sha256) == 0 ? 1 : 0;
}

static int send_whole(struct putting *p)
{
	struct s3_piece piece;
	struct pace pace;
	int r = hash_file(p, &piece);

	if (r < 0)
		return r;
	piece.path = p->request->path;
	pace_begin(&pace, "send", p->result.n_bytes);
	s3_on_sent(p->s3, pace_sent_cb, &pace);
	r = s3_put(p->s3, p->request->key, &piece);
	s3_on_sent(p->s3, NULL, NULL);
	p->is_ours = r == 0;
	return r < 0 ? s3target_fail(p->s3, r, p->problem) : 0;
}

static int send_in_parts(struct putting *p, uint64_t part_bytes)
{
	const struct s3parts_request request = {
	    .key = p->request->key,
	    .path = p->request->path,
	    .fd = p->fd,
	    .n_bytes = p->result.n_bytes,
	    .part_bytes = part_bytes,
	    .sha256 = p->request->sha256,
	};
	struct s3parts_result result;
	int r = s3parts_run(p->s3, &request, p->problem, &result);

	if (r < 0)
		return r;
	memcpy(p->result.sha256, result.sha256, sizeof(p->result.sha256));
	p->result.n_parts = result.n_parts;
	p->result.n_parts_kept = result.n_kept;
	p->is_ours = result.completed;
	return 0;
}

static int store(struct putting *p)
{
	uint64_t wanted = p->request->part_bytes > 0 ? p->request->part_bytes : S3PUT_PART_BYTES;
	uint64_t part_bytes = s3put_part_size(p->result.n_bytes, wanted);
	int r = was_stored(p);

	if (r < 0)
		return r;
	if (r > 0) {
		p->result.was_there = true;
		return 0;
	}
	r = p->result.n_bytes <= part_bytes || !s3_has_uploads(p->s3) ? send_whole(p)
	                                                              : send_in_parts(p, part_bytes);
	return r < 0 ? r : read_back(p);
}

int s3put_run(struct s3 *s3, const struct s3put_request *request, struct problem *problem,
              struct s3put_result *ret_result)
{
	struct putting p = {.s3 = s3, .request = request, .problem = problem};
	AUTO(close) int fd = -1;
	mode_t mode;
	int r;

	r = infile_open(request->path, problem, &fd, &mode, &p.result.n_bytes);
	if (r < 0)
		return r;
	p.fd = fd;
	r = store(&p);
	if (r < 0)
		return r;
	*ret_result = p.result;
	return 0;
}
