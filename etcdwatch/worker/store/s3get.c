/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was left by an earlier run may be of another object, as nothing tells; so if the digest is
 * wrong in the end, one more run fetches all of it.
 */
#include "etcdwatch/worker/store/s3get.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "etcdwatch/worker/common/file.h"
#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/store/s3target.h"

#define FILE_MODE 0600

struct getting {
	struct s3 *s3;
	const struct s3get_request *request;
	struct problem *problem;
	struct outfile *file;
	struct digest *digest;
	struct s3get_result result;
	struct pace pace;
	uint64_t n_bytes; /* that are there */
};

static int on_data(const void *data, size_t len, void *userdata)
{
	struct getting *g = userdata;

	/* It may have said one length, and send another. */
	if (len > g->result.n_bytes - g->n_bytes)
		return problem_set(g->problem, -ESTALE, "S3_CHANGED",
		                   "the object '%s' was to have %" PRIu64 " bytes, and %" PRIu64
		                   " or more came: it was replaced meanwhile, or the server errs: try "
		                   "again, or take another copy",
		                   g->request->key, g->result.n_bytes, g->n_bytes + len);
	digest_update(g->digest, data, len);
	g->n_bytes += len;
	pace_tell(&g->pace, g->n_bytes);
	return sink_write(outfile_sink(g->file), data, len);
}

/* From nothing on. */
static int restart(struct getting *g)
{
	char dropped[DIGEST_HEX_MAX];

	(void) digest_finish_hex(g->digest, dropped);
	g->result.n_bytes_kept = 0;
	return outfile_restart(g->file);
}

/* Before any of it comes. */
static int check_announced(const struct getting *g)
{
	const struct s3get_request *q = g->request;
	uint64_t n_bytes = g->result.n_bytes;

	if (q->n_bytes > 0 && n_bytes != q->n_bytes)
		return problem_set(g->problem, -EPROTO, "MISMATCH",
		                   "the object '%s' has %" PRIu64 " bytes, and %" PRIu64
		                   " by the catalogue: it is not what was stored, and was not fetched: "
		                   "take another copy, or another snapshot",
		                   q->key, n_bytes, q->n_bytes);
	return room_check(q->path, n_bytes - g->result.n_bytes_kept + q->more_bytes, g->problem,
	                  "fetching the object '%s' of %" PRIu64 " bytes", q->key, n_bytes);
}

/* The rest of the object, behind what is there. */
static int fetch(struct getting *g)
{
	struct s3_object object;
	int r = s3_head(g->s3, g->request->key, &object);

	if (r < 0)
		return s3target_fail(g->s3, r, g->problem);
	if (g->result.n_bytes_kept > object.n_bytes) {
		r = restart(g);
		if (r < 0)
			return r;
	}
	g->result.n_bytes = object.n_bytes;
	r = check_announced(g);
	if (r < 0)
		return r;
	if (g->result.n_bytes_kept == object.n_bytes && object.n_bytes > 0)
		return 0;
	pace_begin(&g->pace, "fetch", object.n_bytes);
	g->n_bytes = g->result.n_bytes_kept;
	r = s3_get(g->s3, g->request->key, g->result.n_bytes_kept, on_data, g, &object);
	if (r < 0)
		return s3target_fail(g->s3, r, g->problem);
	if (object.n_bytes != g->result.n_bytes)
		return problem_set(g->problem, -ESTALE, "S3_CHANGED", "the object '%s' was replaced",
		                   g->request->key);
	return 0;
}

static bool is_right(const struct getting *g)
{
	return g->request->sha256 == NULL || strcasecmp(g->request->sha256, g->result.sha256) == 0;
}

static int fetch_and_check(struct getting *g)
{
	int r = fetch(g);

	if (r < 0)
		return r;
	(void) digest_finish_hex(g->digest, g->result.sha256);
	if (!is_right(g) && g->result.n_bytes_kept > 0) {
		r = restart(g);
		if (r == 0)
			r = fetch(g);
		if (r < 0)
			return r;
		(void) digest_finish_hex(g->digest, g->result.sha256);
	}
	if (!is_right(g))
		return problem_set(g->problem, -EBADMSG, "MISMATCH",
		                   "the SHA-256 of the object '%s' is %s, and should be %s",
		                   g->request->key, g->result.sha256, g->request->sha256);
	return sink_finish(outfile_sink(g->file));
}

static int open_file(struct getting *g)
{
	const struct s3get_request *q = g->request;

	if (access(q->path, F_OK) == 0)
		return problem_set(g->problem, -EEXIST, "EXISTS", "'%s' is there already", q->path);
	if (q->sha256 == NULL)
		return outfile_new(q->path, FILE_MODE, g->problem, &g->file);
	return outfile_new_behind(q->path, FILE_MODE, g->digest, g->problem, &g->file,
	                          &g->result.n_bytes_kept);
}

int s3get_run(struct s3 *s3, const struct s3get_request *request, struct problem *problem,
              struct s3get_result *ret_result)
{
	AUTO(digest_free) struct digest *digest = digest_new(DIGEST_SHA256);
	struct getting g = {.s3 = s3, .request = request, .problem = problem, .digest = digest};
	int r = open_file(&g);

	if (r == 0)
		r = fetch_and_check(&g);
	if (r == 0)
		r = outfile_commit(g.file);
	/* What came is of use to the next run, unless it was all and was wrong. */
	if (r < 0 && r != -EBADMSG && g.file != NULL && request->sha256 != NULL)
		outfile_keep(g.file);
	outfile_free(g.file);
	if (r < 0)
		return r;
	*ret_result = g.result;
	return 0;
}
