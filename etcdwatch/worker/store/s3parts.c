/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts have the same places in a file in each run, as their size depends on the file's size alone.
 * One that the server has is kept if its size and its ETag, the MD5 that the server computed, are
 * those of the same piece of our file; a server whose ETags are something else gets all parts anew.
 */
#include "etcdwatch/worker/store/s3parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/worker/common/pace.h"
#include "etcdwatch/worker/store/s3target.h"
#include "web/s3_upload.h"

struct run {
	struct s3 *s3;
	const struct s3parts_request *request;
	struct problem *problem;
	unsigned n_parts;
	struct s3_part *there; /* what the server has, by number - 1; number 0: nothing */
	struct s3_part *parts; /* what is to be put together */
	unsigned n_kept;
	char id[S3_UPLOAD_ID_MAX];
	char initiated[S3_TIME_MAX];
	/* Uploads of the key that nobody goes on with. */
	char **leftovers;
	size_t n_leftovers;
	struct digest *whole;
};

static int fail(struct run *run, int r)
{
	return s3target_fail(run->s3, r, run->problem);
}

/* --- what is there --- */

static void add_leftover(struct run *run, const char *id)
{
	run->leftovers = xreallocarray(run->leftovers, run->n_leftovers + 1, sizeof(*run->leftovers));
	run->leftovers[run->n_leftovers++] = xstrdup(id);
}

/* The youngest one is gone on with. */
static int on_upload(const struct s3_upload *upload, void *userdata)
{
	struct run *run = userdata;

	if (strcmp(upload->key, run->request->key) != 0)
		return 0;
	if (run->id[0] != '\0' && strcmp(upload->initiated, run->initiated) < 0) {
		add_leftover(run, upload->id);
		return 0;
	}
	if (run->id[0] != '\0')
		add_leftover(run, run->id);
	(void) snprintf(run->id, sizeof(run->id), "%s", upload->id);
	(void) snprintf(run->initiated, sizeof(run->initiated), "%s", upload->initiated);
	return 0;
}

static int on_part(const struct s3_part *part, void *userdata)
{
	struct run *run = userdata;

	if (part->number >= 1 && part->number <= run->n_parts)
		run->there[part->number - 1] = *part;
	return 0;
}

static void abort_leftovers(struct run *run)
{
	for (size_t i = 0; i < run->n_leftovers; i++) {
		/* It costs space and harms nothing. */
		if (s3_upload_abort(run->s3, run->request->key, run->leftovers[i]) < 0)
			log_warning("upload_not_aborted", "key=\"%s\" reason=\"%s\"", run->request->key,
			            s3_get_error(run->s3)->reason);
		free(run->leftovers[i]);
	}
	free(run->leftovers);
	run->leftovers = NULL;
	run->n_leftovers = 0;
}

/* Not every server and not every key may list uploads: then there are none to go on with. */
static bool is_about_listing(const struct s3 *s3)
{
	enum s3_failure failure = s3_get_error(s3)->failure;

	return failure == S3_DENIED || failure == S3_REFUSED || failure == S3_PROTOCOL;
}

static int find_upload(struct run *run)
{
	int r = s3_upload_list(run->s3, run->request->key, on_upload, run);

	if (r < 0 && !is_about_listing(run->s3))
		return fail(run, r);
	if (run->id[0] != '\0') {
		r = s3_upload_list_parts(run->s3, run->request->key, run->id, on_part, run);
		/* Gone meanwhile, or not to be looked into: a new one then. */
		if (r < 0 && r != -ENOENT && !is_about_listing(run->s3))
			return fail(run, r);
		/* Nothing would go on with it, and its parts cost space. */
		if (r < 0 && r != -ENOENT)
			add_leftover(run, run->id);
		if (r < 0)
			run->id[0] = '\0';
	}
	abort_leftovers(run);
	return 0;
}

static int create_upload(struct run *run)
{
	int r = s3_upload_create(run->s3, run->request->key, run->id);

	return r < 0 ? fail(run, r) : 0;
}

/* --- parts --- */

static bool is_kept(const struct s3_part *there, const struct s3_piece *piece)
{
	return there->number > 0 && there->n_bytes == piece->n_bytes &&
	       s3_piece_has_etag(piece, there->etag);
}

static int send_part(struct run *run, unsigned i)
{
	const struct s3parts_request *q = run->request;
	uint64_t offset = i * q->part_bytes;
	struct s3_piece piece;
	int r;

	r = s3_piece_hash(q->fd, offset, MIN(q->part_bytes, q->n_bytes - offset), run->whole, &piece);
	if (r < 0)
		return problem_set_errno(run->problem, r, "cannot read '%s'", q->path);
	if (is_kept(&run->there[i], &piece)) {
		run->parts[i] = run->there[i];
		run->n_kept++;
		return 0;
	}
	r = s3_upload_part(run->s3, q->key, run->id, i + 1, &piece, &run->parts[i]);
	return r < 0 ? fail(run, r) : 0;
}

static int send_parts(struct run *run)
{
	struct pace pace;
	int r = 0;

	pace_begin(&pace, "send", run->request->n_bytes);
	s3_on_sent(run->s3, pace_sent_cb, &pace);
	for (unsigned i = 0; i < run->n_parts && r == 0; i++) {
		pace.before_bytes = i * run->request->part_bytes;
		r = send_part(run, i);
		/* Also of one that was there already. */
		if (r == 0)
			pace_sent_cb(MIN(run->request->part_bytes, pace.of_bytes - pace.before_bytes), &pace);
	}
	s3_on_sent(run->s3, NULL, NULL);
	return r;
}

/* --- the end --- */

static int complete(struct run *run, bool *ret_completed)
{
	int r = s3_upload_complete(run->s3, run->request->key, run->id, run->parts, run->n_parts);

	if (r < 0 && r != -ENOENT)
		return fail(run, r);
	*ret_completed = r == 0;
	if (r < 0)
		log_warning("upload_gone", "key=\"%s\" reason=\"%s\"", run->request->key,
		            s3_get_error(run->s3)->reason);
	return 0;
}

/* Whether going on later with what is there can lead anywhere. */
static bool is_worth_keeping(const struct problem *problem)
{
	return strcmp(problem->code, "S3_REFUSED") != 0 && strcmp(problem->code, "MISMATCH") != 0;
}

static int check_whole(struct run *run, struct s3parts_result *result)
{
	const char *wanted = run->request->sha256;

	(void) digest_finish_hex(run->whole, result->sha256);
	if (wanted == NULL || strcasecmp(wanted, result->sha256) == 0)
		return 0;
	return problem_set(run->problem, -EBADMSG, "MISMATCH",
	                   "the SHA-256 of '%s' is %s, and should be %s", run->request->path,
	                   result->sha256, wanted);
}

static int upload(struct run *run, struct s3parts_result *result)
{
	int r = find_upload(run);

	if (r == 0 && run->id[0] == '\0')
		r = create_upload(run);
	if (r == 0)
		r = send_parts(run);
	if (r == 0)
		r = check_whole(run, result);
	if (r == 0)
		r = complete(run, &result->completed);
	if (r < 0 && run->id[0] != '\0' && !is_worth_keeping(run->problem))
		(void) s3_upload_abort(run->s3, run->request->key, run->id);
	return r;
}

int s3parts_run(struct s3 *s3, const struct s3parts_request *request, struct problem *problem,
                struct s3parts_result *ret_result)
{
	struct run run = {.s3 = s3, .request = request, .problem = problem};
	AUTO(digest_free) struct digest *whole = digest_new(DIGEST_SHA256);
	AUTO(free) struct s3_part *there = NULL;
	AUTO(free) struct s3_part *parts = NULL;
	struct s3parts_result result = {0};
	int r;

	run.n_parts = (unsigned) ((request->n_bytes + request->part_bytes - 1) / request->part_bytes);
	there = xcalloc(run.n_parts, sizeof(*there));
	parts = xcalloc(run.n_parts, sizeof(*parts));
	run.there = there;
	run.parts = parts;
	run.whole = whole;
	r = upload(&run, &result);
	if (r < 0)
		return r;
	result.n_parts = run.n_parts;
	result.n_kept = run.n_kept;
	*ret_result = result;
	return 0;
}
