/* SPDX-License-Identifier: Apache-2.0 */
/*
 * s3 put FILE KEY [--sha256 HEX] [--part-size MIB]
 * s3 get KEY FILE [--sha256 HEX]
 * s3 list [PREFIX] [--read PATTERN]  one line for each object; with its content if its name is so
 *     (fnmatch(3), behind the last slash): "content", or, when it is too long or not JSON, null and
 *     a "reason"; one that is gone before it is read is left out
 * s3 list [PREFIX] --uploads        one line for each upload under way
 * s3 rm KEY... [--uploads]          the objects, or the uploads of those keys that are under way
 * s3 sweep PREFIX [--older-than HOURS]   aborts uploads that nobody has gone on with
 * s3 check [PREFIX] [--write KEY]   whether bucket, credentials and clock are right
 * s3 own                            the prefix is this cluster's from now on
 *
 * and the options of s3target.h. With --owner ID --owner-node NAME --owner-prefix PREFIX nothing is
 * done where another cluster's objects are (storeowner.h).
 */
#include "etcdwatch/worker/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/jsonval.h"
#include "base/macro.h"
#include "etcdwatch/worker/store/s3get.h"
#include "etcdwatch/worker/store/s3put.h"
#include "web/s3_upload.h"

#define MIB ((uint64_t) 1 << 20)
#define PART_MIB_MAX 5120
/* The slowest upload has ended by then. */
#define SWEEP_HOURS 24
#define SWEEP_HOURS_MAX 87600
/* Of an object that is read with the list. */
#define CONTENT_BYTES_MAX ((uint64_t) 64 << 10)
#define PROBE_TEXT "written by fairlead to see whether it can be\n"

struct s3_words {
	struct words common;
	const char *sha256;
	int64_t part_mib;
	int64_t older_hours;
	const char *read;  /* a pattern */
	const char *write; /* a key */
	bool uploads;
	uint64_t n; /* of what was listed or removed */
};

static int fail(const struct s3_words *w, int r, struct problem *problem)
{
	return s3target_fail(w->common.s3, r, problem);
}

static const char *prefix_of(const struct s3_words *w)
{
	return w->common.rest.n > 0 ? w->common.rest.values[0] : "";
}

/* Which of the two, and how many. */
static json_t *counted(const struct s3_words *w)
{
	return json_pack("{s:I}", w->uploads ? "uploads" : "objects", (json_int_t) w->n);
}

/* --- put and get --- */

static const struct options_entry put_options[] = {
    OPTION("--sha256", TEXT, struct s3_words, sha256),
    OPTION_NUMBER("--part-size", struct s3_words, part_mib, 5, PART_MIB_MAX, 0),
};

static int run_put(void *words, struct problem *problem, json_t **ret_fields)
{
	const struct s3_words *w = words;
	const struct s3put_request request = {
	    .path = w->common.rest.values[0],
	    .key = w->common.rest.values[1],
	    .sha256 = w->sha256,
	    .part_bytes = (uint64_t) w->part_mib * MIB,
	};
	struct s3put_result result;
	int r = s3put_run(w->common.s3, &request, problem, &result);

	if (r < 0)
		return r;
	*ret_fields = json_pack("{s:o, s:I, s:s, s:o, s:i, s:i, s:b}", "key", jsonval_text(request.key),
	                        "bytes", (json_int_t) result.n_bytes, "sha256", result.sha256, "etag",
	                        jsonval_text(result.etag), "parts", (int) result.n_parts, "parts_kept",
	                        (int) result.n_parts_kept, "was_there", (int) result.was_there);
	return 0;
}

static int run_get(void *words, struct problem *problem, json_t **ret_fields)
{
	const struct s3_words *w = words;
	const struct s3get_request request = {
	    .key = w->common.rest.values[0], .path = w->common.rest.values[1], .sha256 = w->sha256};
	struct s3get_result result;
	int r = s3get_run(w->common.s3, &request, problem, &result);

	if (r < 0)
		return r;
	*ret_fields = json_pack("{s:o, s:I, s:I, s:s}", "file", jsonval_text(request.path), "bytes",
	                        (json_int_t) result.n_bytes, "bytes_kept",
	                        (json_int_t) result.n_bytes_kept, "sha256", result.sha256);
	return 0;
}

/* --- list, rm and sweep --- */

static int on_upload(const struct s3_upload *upload, void *userdata)
{
	struct s3_words *w = userdata;

	w->n++;
	result_line(json_pack("{s:o, s:o, s:o}", "key", jsonval_text(upload->key), "upload",
	                      jsonval_text(upload->id), "initiated", jsonval_text(upload->initiated)));
	return 0;
}

struct content {
	char text[CONTENT_BYTES_MAX];
	size_t len;
};

static int on_data(const void *data, size_t len, void *userdata)
{
	struct content *content = userdata;

	if (len > sizeof(content->text) - content->len)
		return -EFBIG;
	memcpy(content->text + content->len, data, len);
	content->len += len;
	return 0;
}

static bool is_wanted(const struct s3_words *w, const char *key)
{
	const char *slash = strrchr(key, '/');

	return w->read != NULL && fnmatch(w->read, slash != NULL ? slash + 1 : key, 0) == 0;
}

static void set_content(json_t *line, json_t *content, const char *reason)
{
	(void) json_object_set_new(line, "content", content != NULL ? content : json_null());
	if (content == NULL)
		(void) json_object_set_new(line, "reason", jsonval_text(reason));
}

/* Adds it to the line. 1: there is no such object any more. */
static int read_content(struct s3_words *w, const char *key, json_t *line)
{
	struct content content = {.len = 0};
	json_error_t error;
	int r = s3_get(w->common.s3, key, 0, on_data, &content, NULL);

	if (r == -ENOENT)
		return 1;
	if (r == -EFBIG) {
		set_content(line, NULL, "it is too long");
		return 0;
	}
	if (r < 0)
		return r;
	set_content(line, json_loadb(content.text, content.len, JSON_REJECT_DUPLICATES, &error),
	            "it is not JSON");
	return 0;
}

static int on_listed(const struct s3_listed *listed, void *userdata)
{
	struct s3_words *w = userdata;
	json_t *line = json_pack("{s:o, s:I, s:o, s:o}", "key", jsonval_text(listed->key), "bytes",
	                         (json_int_t) listed->n_bytes, "etag", jsonval_text(listed->etag),
	                         "modified", jsonval_text(listed->modified));
	int r = 0;

	if (is_wanted(w, listed->key))
		r = read_content(w, listed->key, line);
	if (r != 0) {
		json_decref(line);
		return MIN(r, 0);
	}
	w->n++;
	result_line(line);
	return 0;
}

static const struct options_entry list_options[] = {
    OPTION("--read", TEXT, struct s3_words, read),
    OPTION("--uploads", FLAG, struct s3_words, uploads),
};

static int run_list(void *words, struct problem *problem, json_t **ret_fields)
{
	struct s3_words *w = words;
	int r = w->uploads ? s3_upload_list(w->common.s3, prefix_of(w), on_upload, w)
	                   : s3_list(w->common.s3, prefix_of(w), 0, on_listed, w);

	if (r < 0)
		return fail(w, r, problem);
	*ret_fields = counted(w);
	return 0;
}

static int abort_uploads(struct s3_words *w, const char *key, struct problem *problem)
{
	const struct s3sweep_request request = {.prefix = key, .whole_key = true};
	struct s3sweep_result result;
	int r = s3sweep_run(w->common.s3, &request, problem, &result);

	if (r == 0)
		w->n += result.n_aborted;
	return r;
}

static int delete_object(struct s3_words *w, const char *key, struct problem *problem)
{
	int r = s3_delete(w->common.s3, key);

	w->n += r == 0 ? 1 : 0;
	return r < 0 ? fail(w, r, problem) : 0;
}

static const struct options_entry rm_options[] = {
    OPTION("--uploads", FLAG, struct s3_words, uploads),
};

static int run_rm(void *words, struct problem *problem, json_t **ret_fields)
{
	struct s3_words *w = words;

	for (size_t i = 0; i < w->common.rest.n; i++) {
		const char *key = w->common.rest.values[i];
		int r = w->uploads ? abort_uploads(w, key, problem) : delete_object(w, key, problem);

		if (r < 0)
			return r;
		result_line(json_pack("{s:o}", "removed", jsonval_text(key)));
	}
	*ret_fields = counted(w);
	return 0;
}

static const struct options_entry sweep_options[] = {
    OPTION_NUMBER("--older-than", struct s3_words, older_hours, 0, SWEEP_HOURS_MAX, SWEEP_HOURS),
};

static int run_sweep(void *words, struct problem *problem, json_t **ret_fields)
{
	const struct s3_words *w = words;
	const struct s3sweep_request request = {.prefix = w->common.rest.values[0],
	                                        .older_s = w->older_hours * 3600};
	struct s3sweep_result result;
	int r = s3sweep_run(w->common.s3, &request, problem, &result);

	if (r == 0)
		*ret_fields = json_pack("{s:I, s:I}", "aborted", (json_int_t) result.n_aborted, "kept",
		                        (json_int_t) result.n_kept);
	return r;
}

/* --- check --- */

struct expected {
	const char *text;
	size_t len; /* that has come */
	bool same;
};

static int compare_data(const void *data, size_t len, void *userdata)
{
	struct expected *e = userdata;

	e->same =
	    e->same && len <= strlen(e->text) - e->len && memcmp(e->text + e->len, data, len) == 0;
	e->len += len;
	return 0;
}

/* Writes a small object, reads it, removes it. */
static int probe(const struct s3_words *w, int fd, const char *path, struct problem *problem)
{
	struct expected expected = {.text = PROBE_TEXT, .same = true};
	struct s3_piece piece;
	int r;

	if (write(fd, PROBE_TEXT, strlen(PROBE_TEXT)) != (ssize_t) strlen(PROBE_TEXT))
		return problem_set_errno(problem, -EIO, "cannot write to '%s'", path);
	r = s3_piece_hash(fd, 0, strlen(PROBE_TEXT), NULL, &piece);
	if (r < 0)
		return problem_set_errno(problem, r, "cannot read from '%s'", path);
	piece.path = path;
	r = s3_put(w->common.s3, w->write, &piece);
	if (r == 0)
		r = s3_get(w->common.s3, w->write, 0, compare_data, &expected, NULL);
	if (r == 0)
		r = s3_delete(w->common.s3, w->write);
	if (r < 0)
		return fail(w, r, problem);
	if (!expected.same || expected.len != strlen(PROBE_TEXT))
		return problem_set(problem, -EBADMSG, "S3_MISMATCH",
		                   "the server returns something else than was written");
	return 0;
}

/* A program that stores it may want a file with a name. */
static int run_probe(const struct s3_words *w, struct problem *problem)
{
	char path[] = "/tmp/fairlead-probe-XXXXXX";
	AUTO(close) int fd = mkostemp(path, O_CLOEXEC);
	int r;

	if (fd < 0)
		return problem_set_errno(problem, -errno, "cannot make a file in /tmp");
	r = probe(w, fd, path, problem);
	(void) unlink(path);
	return r;
}

static int ignore_listed(const struct s3_listed *listed UNUSED, void *userdata UNUSED)
{
	return 0;
}

static const struct options_entry check_options[] = {
    OPTION("--write", TEXT, struct s3_words, write),
};

static int run_check(void *words, struct problem *problem, json_t **ret_fields)
{
	const struct s3_words *w = words;
	int64_t ahead_s = 0;
	json_t *clock;
	/* Keys may be allowed to list their own prefix alone. */
	int r = s3_list(w->common.s3, prefix_of(w), 1, ignore_listed, NULL);

	if (r < 0)
		return fail(w, r, problem);
	if (w->write != NULL) {
		r = run_probe(w, problem);
		if (r < 0)
			return r;
	}
	clock = s3_get_clock_ahead_s(w->common.s3, &ahead_s) ? json_integer(-ahead_s) : json_null();
	*ret_fields =
	    json_pack("{s:o, s:b}", "clock_ahead_s", clock, "written", (int) (w->write != NULL));
	return 0;
}

/* --- own --- */

static int run_own(void *words, struct problem *problem, json_t **ret_fields)
{
	const struct storeowner *owner = &((struct s3_words *) words)->common.owner;
	AUTO(free) char *before = NULL;
	int r;

	if (owner->id == NULL)
		return problem_set(problem, -EINVAL, "USAGE", "--owner is needed");
	r = storeowner_take_over(((struct s3_words *) words)->common.s3, owner, problem, &before);
	if (r == 0)
		*ret_fields = json_pack("{s:s, s:o}", "owner", owner->id, "before", jsonval_text(before));
	return r;
}

/* --- all --- */

#define FLAGS (COMMAND_TIMED | COMMAND_TARGET | COMMAND_STORE | COMMAND_OWNER)
#define SIZE sizeof(struct s3_words)

const struct command s3_commands[] = {
    {"s3 put", FLAGS | COMMAND_CHECKS, 2, 2, SIZE, COMMAND_OPTIONS(put_options), .run = run_put},
    /* Of the options of `put` it has the first. */
    {"s3 get", FLAGS | COMMAND_CHECKS, 2, 2, SIZE, put_options, 1, run_get},
    {"s3 list", FLAGS | COMMAND_CHECKS, 0, 1, SIZE, COMMAND_OPTIONS(list_options), .run = run_list},
    {"s3 rm", FLAGS | COMMAND_CHECKS | COMMAND_REMOVES, 1, OPTIONS_LIST_MAX, SIZE,
     COMMAND_OPTIONS(rm_options), .run = run_rm},
    {"s3 sweep", FLAGS | COMMAND_CHECKS | COMMAND_REMOVES, 1, 1, SIZE,
     COMMAND_OPTIONS(sweep_options), .run = run_sweep},
    {"s3 check", FLAGS | COMMAND_CHECKS, 0, 1, SIZE, COMMAND_OPTIONS(check_options),
     .run = run_check},
    {"s3 own", FLAGS, .size = SIZE, .run = run_own},
    {.name = NULL},
};
