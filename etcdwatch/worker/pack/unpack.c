/* SPDX-License-Identifier: Apache-2.0 */
/* packed file -> hash -> whatever unpack.h finds -> hash -> temporary file; then what is known is
 * compared, and only then has the file its name. */
#include "etcdwatch/worker/pack/unpack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/worker/common/file.h"
#include "etcdwatch/worker/pack/unbundle.h"

/* --- opener --- */

/*
 * One stage a layer: it gathers the first bytes, puts the stage that they ask for between itself
 * and what follows, and passes everything through that. Behind age there is another such stage that
 * knows zstd and bundles, and so on; so no layer is there twice.
 */

#define AGE_MAGIC "age-encryption.org/v1\n"
#define ZSTD_MAGIC "\x28\xb5\x2f\xfd"
#define TAR_MAGIC "ustar"
#define TAR_MAGIC_AT 257
_Static_assert(TAR_MAGIC_AT + sizeof(TAR_MAGIC) - 1 <= OPENER_HEAD_BYTES, "it is in the head");

enum layer {
	OUTSIDE,
	INSIDE_AGE,
	INSIDE_ZSTD,
};

struct opener {
	struct sink sink;
	enum layer layer;
	const struct opener_keys *keys;
	struct extract *extract;
	struct sink *plain; /* until it is clear what leads there */
	struct sink *next;  /* from then on */
	struct opener_found *found;
	struct problem *problem;
	uint8_t head[OPENER_HEAD_BYTES];
	size_t head_len;
};

static struct sink *layer_new(const struct opener *outer, enum layer layer, struct sink *plain);

static bool is_at(const uint8_t *head, size_t head_len, size_t at, const char *magic)
{
	return head_len >= at + strlen(magic) && memcmp(head + at, magic, strlen(magic)) == 0;
}

static bool has(const struct opener *o, size_t at, const char *magic)
{
	return is_at(o->head, o->head_len, at, magic);
}

bool opener_is_packed(const void *head, size_t len)
{
	return is_at(head, len, 0, AGE_MAGIC) || is_at(head, len, 0, ZSTD_MAGIC) ||
	       is_at(head, len, TAR_MAGIC_AT, TAR_MAGIC);
}

/* Puts in the stage that the head asks for. */
static int decide(struct opener *o)
{
	struct sink *plain = TAKE_PTR(o->plain);
	int r;

	if (o->layer < INSIDE_AGE && has(o, 0, AGE_MAGIC)) {
		o->found->age = true;
		if (o->keys->n_files == 0 && o->keys->identity == NULL) {
			sink_free(plain);
			return problem_set(o->problem, -ENOKEY, "KEY",
			                   "it is encrypted, and no identity to decrypt it with was given");
		}
		r = age_decrypt_new(o->keys->files, o->keys->n_files, o->keys->identity,
		                    layer_new(o, INSIDE_AGE, plain), o->problem, &o->next);
		if (r < 0)
			return r;
	} else if (o->layer < INSIDE_ZSTD && has(o, 0, ZSTD_MAGIC)) {
		o->found->zstd = true;
		o->next = zstdflow_decompress_new(layer_new(o, INSIDE_ZSTD, plain), o->problem);
	} else if (has(o, TAR_MAGIC_AT, TAR_MAGIC)) {
		o->found->bundle = true;
		o->next = unbundle_new(plain, o->extract, o->problem);
	} else {
		o->next = plain;
	}
	return sink_write(o->next, o->head, o->head_len);
}

static int opener_write(struct sink *sink, const void *data, size_t len)
{
	struct opener *o = CONTAINER_OF(sink, struct opener, sink);
	const uint8_t *p = data;
	size_t n;
	int r;

	if (o->next != NULL)
		return sink_write(o->next, data, len);
	n = MIN(len, sizeof(o->head) - o->head_len);
	memcpy(o->head + o->head_len, data, n);
	o->head_len += n;
	if (o->head_len < sizeof(o->head))
		return 0;
	r = decide(o);
	return r < 0 ? r : sink_write(o->next, p + n, len - n);
}

static int opener_finish(struct sink *sink)
{
	struct opener *o = CONTAINER_OF(sink, struct opener, sink);
	int r = o->next == NULL ? decide(o) : 0;

	return r < 0 ? r : sink_finish(o->next);
}

static void opener_free(struct sink *sink)
{
	struct opener *o = CONTAINER_OF(sink, struct opener, sink);

	sink_free(o->next);
	sink_free(o->plain);
	free(o);
}

static struct sink *layer_new(const struct opener *outer, enum layer layer, struct sink *plain)
{
	struct opener *o = NEW0(struct opener);

	o->sink = (struct sink){opener_write, opener_finish, opener_free};
	o->layer = layer;
	o->keys = outer->keys;
	o->extract = outer->extract;
	o->found = outer->found;
	o->problem = outer->problem;
	o->plain = plain;
	return &o->sink;
}

struct sink *opener_new(const struct opener_keys *keys, struct extract *extract, struct sink *plain,
                        struct opener_found *found, struct problem *problem)
{
	const struct opener outside = {
	    .keys = keys, .extract = extract, .found = found, .problem = problem};

	return layer_new(&outside, OUTSIDE, plain);
}

/* --- unpack --- */

#define PLAIN_MODE 0600

/* Takes off what the file's name says, and tells it. */
static char *strip_suffixes(const char *path, struct opener_found *ret_said)
{
	struct opener_found said = {0};
	const struct {
		const char *suffix;
		bool *said;
	} suffixes[] = {{".age", &said.age}, {".zst", &said.zstd}, {".tar", &said.bundle}};
	char *name = xstrdup(path);

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		size_t len = strlen(name), n = strlen(suffixes[i].suffix);

		if (len > n && strcmp(name + len - n, suffixes[i].suffix) == 0) {
			name[len - n] = '\0';
			*suffixes[i].said = true;
		}
	}
	*ret_said = said;
	return name;
}

static int compare(const char *what, const char *wanted, const struct tap_result *got,
                   struct problem *problem)
{
	if (wanted == NULL || strcasecmp(wanted, got->sha256) == 0)
		return 0;
	return problem_set(problem, -EBADMSG, "MISMATCH", "the SHA-256 of %s is %s, and should be %s",
	                   what, got->sha256, wanted);
}

/* A first byte that is damaged makes a layer look like a plain file. The name knows better, if the
 * file has one that says anything. */
static bool is_as_named(const struct opener_found *said, const struct opener_found *found)
{
	return (!said->age || found->age) && (!said->zstd || found->zstd) &&
	       (!said->bundle || found->bundle);
}

static int check(const struct unpack_request *q, const struct opener_found *said,
                 const struct unpack_result *result, struct problem *problem)
{
	int r = compare("the packed file", q->packed_sha256, &result->packed, problem);

	if (r == 0 && !is_as_named(said, &result->found))
		r = problem_set(problem, -EBADMSG, "CORRUPT",
		                "'%s' is not what its name says: its beginning is damaged", q->path);
	if (r == 0)
		r = compare("the snapshot in it", q->plain_sha256, &result->plain, problem);
	if (r == 0 && result->plain.n_bytes == 0)
		r = problem_set(problem, -EBADMSG, "CORRUPT", "there is nothing in '%s'", q->path);
	if (r == 0 && q->extra_dir != NULL && !result->found.bundle)
		r = problem_set(problem, -ENOENT, "NOT_FOUND", "'%s' holds a snapshot and no other files",
		                q->path);
	return r;
}

static int open_up(const struct unpack_request *q, int fd, struct outfile *file,
                   struct extract *extract, struct problem *problem, struct unpack_result *result)
{
	AUTO(sink_free) struct sink *sink = tap_new(outfile_sink(file), &result->plain);
	int r;

	if (q->plain_bytes > 0)
		sink = bound_new(q->plain_bytes, q->path, sink, problem);
	sink = opener_new(&q->keys, extract, sink, &result->found, problem);
	sink = tap_new(sink, &result->packed);
	r = infile_feed(fd, q->path, "read", sink, problem);
	return r < 0 ? r : sink_finish(sink);
}

static int open_output(const struct unpack_request *q, const char *to, struct problem *problem,
                       struct outfile **ret_file)
{
	if (q->to_fd != NULL)
		return outfile_new_at(*q->to_fd, to, problem, ret_file);
	if (access(to, F_OK) == 0)
		return problem_set(problem, -EEXIST, "EXISTS", "'%s' is there already", to);
	return outfile_new(to, PLAIN_MODE, problem, ret_file);
}

int unpack_run(const struct unpack_request *request, struct problem *problem,
               struct unpack_result *ret_result)
{
	struct opener_found said;
	AUTO(free) char *stripped = strip_suffixes(request->path, &said);
	const char *to = request->to != NULL ? request->to : stripped;
	AUTO(outfile_free) struct outfile *file = NULL;
	AUTO(extract_free) struct extract *extract = NULL;
	struct unpack_result result = {0};
	AUTO(close) int fd = -1;
	uint64_t n_bytes;
	mode_t mode;
	int r;

	r = infile_open(request->path, problem, &fd, &mode, &n_bytes);
	if (r < 0)
		return r;
	r = room_check(to, request->plain_bytes, problem, "the snapshot in '%s'", request->path);
	if (r == 0)
		r = open_output(request, to, problem, &file);
	if (r == 0 && request->extra_dir != NULL)
		r = extract_new(request->extra_dir, problem, &extract);
	if (r == 0)
		r = open_up(request, fd, file, extract, problem, &result);
	if (r == 0)
		r = check(request, &said, &result, problem);
	if (r == 0 && extract != NULL)
		r = extract_finish(extract);
	if (r == 0)
		r = outfile_commit(file);
	if (r < 0)
		return r;
	result.path = xstrdup(to);
	*ret_result = result;
	return 0;
}
