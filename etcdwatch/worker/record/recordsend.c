/* SPDX-License-Identifier: Apache-2.0 */
/*
 * directory and listing -> steps (recordpiece.h) -> for each: the bytes into a scratch file -> pack
 * -> s3put -> the manifest -> s3put.
 */
#include "etcdwatch/worker/record/recordsend.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/record/segment.h"
#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/pack/pack.h"
#include "etcdwatch/worker/record/recordobjects.h"
#include "etcdwatch/worker/record/recordpiece.h"
#include "etcdwatch/worker/common/file.h"
#include "etcdwatch/worker/store/s3put.h"

#define COPY_BYTES ((size_t) 1 << 17)
#define SCRATCH_MODE 0600

struct local {
	struct record_header named;
	char segment[RECORD_NAME_MAX]; /* recordpiece_segment() */
	char *path;
	int64_t begin_us;
	struct recordplan_local has;
	bool is_passed; /* it cannot be read, or is another than the one there, and is not uploaded */
	bool is_sent;   /* all of it is in the target */
};

struct sending {
	const struct recordsend_request *request;
	struct problem *problem;
	struct local *locals; /* in the order of their sequence */
	size_t n;
	struct recordlisting there;
	char *plain; /* the scratch files */
	char *manifest;
	struct recordsend_result result;
};

/* --- what is on the disk --- */

static int compare_locals(const void *a, const void *b)
{
	const struct local *x = a, *y = b;

	return x->named.sequence < y->named.sequence ? -1 : x->named.sequence > y->named.sequence;
}

static void pass_over(struct sending *s, struct local *l, const char *reason)
{
	l->is_passed = true;
	s->result.n_passed++;
	if (s->result.passed[0] == '\0')
		(void) snprintf(s->result.passed, sizeof(s->result.passed), "%s", reason);
}

/* False: it was removed meanwhile. */
static bool read_header(struct sending *s, struct local *l)
{
	AUTO(record_reader_free) struct record_reader *reader = NULL;
	char fault[RECORD_FAULT_MAX];
	int r = record_reader_open(l->path, &reader, fault);

	if (r < 0) {
		if (r != -ENOENT)
			pass_over(s, l, fault);
		return r != -ENOENT;
	}
	l->begin_us = record_reader_header(reader)->wall_us;
	(void) recordpiece_segment(record_reader_header(reader), l->segment);
	return true;
}

static void add_local(struct sending *s, const char *name, const struct record_header *named)
{
	const struct recordsend_request *q = s->request;
	struct local l = {.named = *named, .path = xasprintf("%s/%s", q->directory, name)};
	struct stat st;

	l.has.is_closed = strcmp(name, q->open_segment) != 0;
	l.has.bytes = q->open_bytes;
	if (stat(l.path, &st) < 0 || !read_header(s, &l)) {
		free(l.path);
		return;
	}
	if (l.has.is_closed)
		l.has.bytes = (uint64_t) st.st_size;
	s->locals = xreallocarray(s->locals, s->n + 1, sizeof(*s->locals));
	s->locals[s->n++] = l;
}

static int list_locals(struct sending *s)
{
	const struct recordsend_request *q = s->request;
	struct record_header open = {.sequence = UINT64_MAX}, named;
	DIR *stream = opendir(q->directory);
	const struct dirent *entry;

	if (stream == NULL)
		return problem_set_errno(s->problem, -errno, "cannot look into the record '%s'",
		                         q->directory);
	(void) record_name_parse(q->open_segment, &open);
	/* What is behind the open one was begun since. */
	while ((entry = readdir(stream)) != NULL) {
		if (record_name_parse(entry->d_name, &named) && named.sequence <= open.sequence &&
		    named.sequence > q->known_sequence)
			add_local(s, entry->d_name, &named);
	}
	(void) closedir(stream);
	if (s->n > 0)
		qsort(s->locals, s->n, sizeof(*s->locals), compare_locals);
	return 0;
}

/* --- what is there --- */

static void on_object(const struct recordkey *key, const char *text UNUSED, void *userdata)
{
	struct sending *s = userdata;

	recordlisting_add(&s->there, key);
}

static int list_objects(struct sending *s)
{
	const struct recordsend_request *q = s->request;
	AUTO(free) char *all = xasprintf("%s" RECORDPIECE_FOLDER "%s/", q->prefix, q->node);
	int r = 0;

	if (q->known_sequence == 0)
		r = recordobjects_list(q->s3, q->prefix, all, on_object, s, s->problem);
	for (size_t i = 0; q->known_sequence > 0 && i < s->n && r == 0; i++) {
		AUTO(free) char *one = recordpiece_folder(q->prefix, q->node, s->locals[i].segment);

		r = recordobjects_list(q->s3, q->prefix, one, on_object, s, s->problem);
	}
	recordlisting_finish(&s->there);
	return r;
}

static struct recordstored *find_stored(const struct sending *s, const struct local *l)
{
	return recordlisting_find(&s->there, l->named.sequence, l->segment);
}

/* --- a piece --- */

/* What a closed segment says; it is read whole, so that no damage goes unnoticed. */
static int read_closed(const struct local *l, struct recordpiece *piece,
                       char fault[static RECORD_FAULT_MAX])
{
	AUTO(record_reader_free) struct record_reader *reader = NULL;
	struct record_frame frame;
	bool has_gap = false;
	int r = record_reader_open(l->path, &reader, fault);

	if (r < 0)
		return r;
	piece->until_us = piece->begin_us;
	while ((r = record_reader_next(reader, &frame)) > 0 && !cancel_is_wanted()) {
		has_gap |= frame.type == RECORD_GAP;
		if (!has_gap && record_tells_time(&frame))
			piece->until_us = frame.wall_us;
	}
	piece->last_revision = record_reader_revision(reader);
	if (r < 0)
		(void) snprintf(fault, RECORD_FAULT_MAX, "%s", record_reader_fault(reader));
	else if (!cancel_is_wanted() && record_reader_tail(reader) != RECORD_TAIL_CLOSED) {
		(void) snprintf(fault, RECORD_FAULT_MAX, "'%s' has no end", l->path);
		r = -ENODATA;
	}
	return r;
}

static bool has_grown(const struct local *l)
{
	struct stat st;

	return stat(l->path, &st) == 0 && (uint64_t) st.st_size != l->has.bytes;
}

static int describe(struct sending *s, struct local *l, struct recordpiece *piece)
{
	const struct recordsend_request *q = s->request;
	char fault[RECORD_FAULT_MAX];
	int r;

	(void) snprintf(piece->node, sizeof(piece->node), "%s", q->node);
	memcpy(piece->segment, l->segment, sizeof(piece->segment));
	piece->last_revision = q->revision;
	piece->until_us = q->until_us;
	piece->begin_us = l->begin_us;
	piece->is_closed = l->has.is_closed;
	r = l->has.is_closed ? read_closed(l, piece, fault) : 0;
	if (cancel_is_wanted())
		return problem_set(s->problem, -ECANCELED, "CANCELLED", "cancelled");
	if (r >= 0 && !(l->has.is_closed && has_grown(l)))
		return 0;
	/* It was begun since the request was made, which says that all are closed; its end may have
	 * been written since it was listed. */
	if (r >= 0 ||
	    (r == -ENODATA && s->request->open_segment[0] == '\0' && l == &s->locals[s->n - 1])) {
		l->has.is_closed = false;
		l->is_passed = true;
		return 1;
	}
	/* It was old enough to be removed meanwhile. */
	l->is_passed = true;
	if (r != -ENOENT)
		pass_over(s, l, fault);
	return 1;
}

/* Into the scratch file, and both digests. */
static int copy_range(int from, int to, struct recordpiece *piece)
{
	AUTO(digest_free) struct digest *through = digest_new(DIGEST_SHA256);
	AUTO(digest_free) struct digest *of_piece = digest_new(DIGEST_SHA256);
	AUTO(free) uint8_t *buffer = xcalloc(1, COPY_BYTES);
	uint64_t at = 0;
	int r = 0;

	while (at < piece->to && r == 0) {
		uint64_t stop = at < piece->from ? piece->from : piece->to;
		ssize_t n = read(from, buffer, (size_t) MIN(stop - at, (uint64_t) COPY_BYTES));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENODATA;
		digest_update(through, buffer, (size_t) n);
		if (at >= piece->from) {
			digest_update(of_piece, buffer, (size_t) n);
			r = file_write_all(to, buffer, (size_t) n);
		}
		at += (uint64_t) n;
	}
	(void) digest_finish_hex(through, piece->through_sha256);
	(void) digest_finish_hex(of_piece, piece->sha256);
	return r;
}

static int cut_out(struct sending *s, const struct local *l, struct recordpiece *piece)
{
	AUTO(close) int from = open(l->path, O_RDONLY | O_CLOEXEC);
	AUTO(close) int to = -1;
	int r;

	if (from < 0)
		return problem_set_errno(s->problem, -errno, "cannot read '%s'", l->path);
	r = room_check(s->plain, 2 * (piece->to - piece->from), s->problem, "a piece of '%s'",
	               l->segment);
	if (r < 0)
		return r;
	(void) unlink(s->plain);
	to = open(s->plain, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, SCRATCH_MODE);
	r = to < 0 ? -errno : copy_range(from, to, piece);
	return r < 0 ? problem_set_errno(s->problem, r, "cannot copy '%s' to '%s'", l->path, s->plain)
	             : 0;
}

static int put(struct sending *s, const char *path, const char *key, const char *sha256)
{
	const struct s3put_request request = {.path = path, .key = key, .sha256 = sha256};
	struct s3put_result result;

	return s3put_run(s->request->s3, &request, s->problem, &result);
}

static int put_manifest(struct sending *s, const struct recordpiece *piece)
{
	AUTO(free) char *text = recordpiece_print(piece, s->request->key);
	AUTO(free) char *key = recordpiece_manifest_key(s->request->prefix, piece);
	AUTO(close) int fd = open(s->manifest, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, SCRATCH_MODE);
	int r = fd < 0 ? -errno : file_write_all(fd, text, strlen(text));

	return r < 0 ? problem_set_errno(s->problem, r, "cannot write '%s'", s->manifest)
	             : put(s, s->manifest, key, NULL);
}

static int pack(struct sending *s, struct recordpiece *piece, char **ret_packed)
{
	const struct pack_request request = {
	    .path = s->plain,
	    .level = s->request->level,
	    .recipients = s->request->recipients,
	    .sha256 = piece->sha256,
	};
	struct pack_result result = {0};
	int r = pack_run(&request, s->problem, &result);

	if (r < 0)
		return r;
	recordpiece_set_file(piece, result.path + strlen(s->plain));
	piece->file_bytes = result.packed.n_bytes;
	memcpy(piece->file_sha256, result.packed.sha256, sizeof(piece->file_sha256));
	*ret_packed = result.path;
	return 0;
}

static int put_piece(struct sending *s, struct recordpiece *piece)
{
	AUTO(free) char *packed = NULL;
	AUTO(free) char *key = NULL;
	int r = pack(s, piece, &packed);

	if (r < 0)
		return r;
	key = recordpiece_file_key(s->request->prefix, piece);
	r = put(s, packed, key, piece->file_sha256);
	(void) unlink(packed);
	if (r == 0)
		r = put_manifest(s, piece);
	if (r == 0) {
		s->result.n_objects++;
		s->result.n_bytes += piece->file_bytes;
	}
	return r;
}

/* --- steps --- */

/* Only what is this node's, and of these bytes, counts as uploaded. */
static int check_held(struct sending *s, struct local *l)
{
	const struct recordsend_request *q = s->request;
	struct recordstored *stored = find_stored(s, l);
	const struct recordheld_request request = {
	    .s3 = q->s3,
	    .prefix = q->prefix,
	    .node = q->node,
	    .key = q->key,
	    .path = l->path,
	    .begin_us = l->begin_us,
	    .has = l->has,
	    .checks_all = q->known_sequence == 0,
	    .is_compared = l->named.sequence <= q->compared_sequence,
	};
	struct recordheld_result held;
	int r;

	if (stored == NULL || l->is_passed)
		return 0;
	r = recordheld_check(&request, stored, s->problem, &held);
	if (r == 0 && held.foreign[0] != '\0' && s->result.foreign[0] == '\0')
		memcpy(s->result.foreign, held.foreign, sizeof(s->result.foreign));
	if (r == 0 && held.other[0] != '\0')
		pass_over(s, l, held.other);
	return r;
}

static int upload(struct sending *s, struct local *l, const struct recordstored *stored,
                  bool is_whole)
{
	struct recordpiece piece = {
	    .is_whole = is_whole,
	    .from = is_whole ? 0 : recordstored_reach(stored),
	    .to = l->has.bytes,
	};
	int r = describe(s, l, &piece);

	if (r != 0)
		return MIN(r, 0);
	r = cut_out(s, l, &piece);
	if (r == 0)
		r = put_piece(s, &piece);
	l->is_sent |= r == 0;
	return r;
}

static int take_step(struct sending *s, struct local *l, bool tidies,
                     enum recordplan_step *ret_step)
{
	const struct recordstored *stored = find_stored(s, l);
	uint64_t n_removed = 0;

	*ret_step = l->is_passed ? RECORDPLAN_NOTHING : recordplan_next(&l->has, stored, tidies);
	switch (*ret_step) {
	case RECORDPLAN_NOTHING:
		l->is_sent |= !l->is_passed;
		return 0;
	case RECORDPLAN_PIECE:
		return upload(s, l, stored, false);
	case RECORDPLAN_WHOLE:
		return upload(s, l, stored, true);
	case RECORDPLAN_CLEAR:
		return recordobjects_remove(s->request->s3, s->request->prefix, s->request->node,
		                            l->segment, true, &n_removed, s->problem);
	}
	return -EINVAL;
}

static int send_all(struct sending *s)
{
	enum recordplan_step step;
	int r = 0;

	for (size_t i = 0; i < s->n && r == 0; i++) {
		r = check_held(s, &s->locals[i]);
		if (r == 0)
			r = take_step(s, &s->locals[i], false, &step);
	}
	return r;
}

/* What was done in this round is not in the listing, and is tidied in the next one. */
static int tidy_one(struct sending *s)
{
	enum recordplan_step step = RECORDPLAN_NOTHING;
	int r = 0;

	for (size_t i = 0; i < s->n && r == 0 && step != RECORDPLAN_WHOLE; i++) {
		const struct recordstored *stored = find_stored(s, &s->locals[i]);

		if (stored != NULL &&
		    (stored->is_whole || recordstored_reach(stored) == s->locals[i].has.bytes))
			r = take_step(s, &s->locals[i], true, &step);
	}
	return r;
}

/* --- the round --- */

/* What is known is so by the listing, which is of before. What is sent may be removed here. */
static void count(struct sending *s)
{
	bool is_row = true;

	s->result.sent_sequence = s->result.known_sequence = s->request->known_sequence;
	for (size_t i = 0; i < s->n; i++) {
		const struct local *l = &s->locals[i];
		const struct recordstored *stored = find_stored(s, l);
		bool is_done =
		    !l->is_passed && stored != NULL && stored->is_whole && stored->n_objects == 0;

		if (!l->has.is_closed || !l->is_sent)
			break;
		s->result.sent_sequence = l->named.sequence;
		is_row = is_row && is_done;
		if (is_row)
			s->result.known_sequence = l->named.sequence;
	}
}

static int run(struct sending *s)
{
	int r = list_locals(s);

	if (r == 0)
		r = list_objects(s);
	if (r == 0)
		r = send_all(s);
	if (r < 0)
		return r;
	s->request->reached(s->request->userdata);
	r = tidy_one(s);
	count(s);
	return r;
}

static void fini(struct sending *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->locals[i].path);
	free(s->locals);
	recordlisting_fini(&s->there);
	if (s->manifest != NULL)
		(void) unlink(s->manifest);
	if (s->plain != NULL)
		(void) unlink(s->plain);
	free(s->manifest);
	free(s->plain);
}

int recordsend_run(const struct recordsend_request *request, struct problem *problem,
                   struct recordsend_result *ret_result)
{
	struct sending s = {.request = request, .problem = problem};
	int r;

	if (mkdir(request->scratch, 0700) < 0 && errno != EEXIST)
		return problem_set_errno(problem, -errno, "cannot make '%s'", request->scratch);
	s.plain = xasprintf("%s/piece", request->scratch);
	s.manifest = xasprintf("%s/manifest", request->scratch);
	r = run(&s);
	fini(&s);
	(void) rmdir(request->scratch);
	if (r == 0)
		*ret_result = s.result;
	return r;
}
