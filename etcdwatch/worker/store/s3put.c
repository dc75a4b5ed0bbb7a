/* SPDX-License-Identifier: Apache-2.0 */
/* Is it there? If not, send it, whole or in parts. Then read it back in any case. */
#include "etcdwatch/worker/store/s3put.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/civil.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/worker/common/file.h"
#include "etcdwatch/worker/store/s3target.h"
#include "web/s3_upload.h"

/* --- s3parts --- */

/*
 * The upload of one file in parts: finds what an earlier process left, keeps what fits, sends what
 * is missing, and puts it together. After an error that may pass, what is there stays for the next
 * run; otherwise it is aborted.
 */

/*
 * Parts have the same places in a file in each run, as their size depends on the file's size alone.
 * One that the server has is kept if its size and its ETag, the MD5 that the server computed, are
 * those of the same piece of our file; a server whose ETags are something else gets all parts anew.
 */

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

/* 0 when the server says that the object is there, and also when it does not know the upload any
 * more, as when its answer was lost: then only reading tells what the object is. */
static int s3parts_run(struct s3 *s3, const struct s3parts_request *request,
                       struct problem *problem, struct s3parts_result *ret_result)
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

/* --- s3put --- */

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

/* --- s3sweep --- */

/* What is to go is gathered first: the list is read in pages, which would shift under it. */

/* Beyond that, the next run has the rest. */
#define UPLOADS_MAX 10000

struct doomed {
	char *key;
	char *id;
};

struct sweep {
	struct s3 *s3;
	const struct s3sweep_request *request;
	struct doomed *doomed;
	size_t n_doomed;
	struct s3sweep_result result;
};

bool s3sweep_is_old(const char *initiated, int64_t now_s, int64_t older_s)
{
	int64_t began_s;

	if (older_s == 0)
		return true;
	return civil_parse(initiated, &began_s) == 0 && now_s - began_s >= older_s;
}

/* By the server's clock, which is known from the answer that the upload stands in. */
static bool is_old(const struct sweep *sweep, const char *initiated)
{
	int64_t ahead_s = 0;

	(void) s3_get_clock_ahead_s(sweep->s3, &ahead_s);
	return s3sweep_is_old(initiated, (int64_t) time(NULL) + ahead_s, sweep->request->older_s);
}

static int s3sweep_on_upload(const struct s3_upload *upload, void *userdata)
{
	struct sweep *sweep = userdata;

	if (sweep->request->whole_key && strcmp(upload->key, sweep->request->prefix) != 0)
		return 0;
	if (sweep->n_doomed == UPLOADS_MAX || !is_old(sweep, upload->initiated)) {
		sweep->result.n_kept++;
		return 0;
	}
	sweep->doomed = xreallocarray(sweep->doomed, sweep->n_doomed + 1, sizeof(*sweep->doomed));
	sweep->doomed[sweep->n_doomed++] =
	    (struct doomed){.key = xstrdup(upload->key), .id = xstrdup(upload->id)};
	return 0;
}

int s3sweep_run(struct s3 *s3, const struct s3sweep_request *request, struct problem *problem,
                struct s3sweep_result *ret_result)
{
	struct sweep sweep = {.s3 = s3, .request = request};
	int r = s3_upload_list(s3, request->prefix, s3sweep_on_upload, &sweep);

	for (size_t i = 0; i < sweep.n_doomed; i++) {
		if (r == 0)
			r = s3_upload_abort(s3, sweep.doomed[i].key, sweep.doomed[i].id);
		sweep.result.n_aborted += r == 0 ? 1 : 0;
		free(sweep.doomed[i].key);
		free(sweep.doomed[i].id);
	}
	free(sweep.doomed);
	if (r < 0)
		return s3target_fail(s3, r, problem);
	*ret_result = sweep.result;
	return 0;
}
