/* SPDX-License-Identifier: Apache-2.0 */
/* packed file -> hash -> whatever opener.h finds -> hash -> temporary file; then what is known is
 * compared, and only then has the file its name. */
#include "etcdwatch/worker/pack/unpack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/worker/common/bound.h"
#include "etcdwatch/worker/common/infile.h"
#include "etcdwatch/worker/common/outfile.h"
#include "etcdwatch/worker/common/room.h"

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
