/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two pipelines, one after the other:
 *
 *   plain file -> [bundle] -> [zstd] -> [age] -> hash -> temporary file
 *   temporary file -> hash -> whatever unpack.h finds -> hash
 *
 * and then what makes it count: rename, sync, unlink.
 */
#include "etcdwatch/worker/pack/pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/log.h"
#include "base/mem.h"
#include "etcdwatch/worker/pack/bundle.h"
#include "etcdwatch/worker/common/file.h"
#include "etcdwatch/worker/pack/unpack.h"
#include "etcdwatch/worker/pack/codec.h"

struct packing {
	const struct pack_request *request;
	struct problem *problem;
	int fd; /* of the plain file */
	uint64_t n_bytes;
	bool encrypt;
	struct age_identity checker;
	struct outfile *file;
	struct tap_result packed;
	struct tap_result plain;
};

/* --- there --- */

/* What the plain file or the bundle is written into. */
static int build(struct packing *p, struct sink **ret_sink)
{
	struct sink *sink = tap_new(outfile_sink(p->file), &p->packed);
	int r;

	if (p->encrypt) {
		r = age_encrypt_new(&p->request->recipients, &p->checker, sink, p->problem, &sink);
		if (r < 0)
			return r;
	}
	if (p->request->level > 0)
		sink = zstdflow_compress_new(p->request->level, sink, p->problem);
	*ret_sink = sink;
	return 0;
}

static const char *path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static int write_bundle(struct packing *p, struct sink *sink)
{
	AUTO(bundle_free) struct bundle *bundle = bundle_new(sink, p->problem);
	const char *path = p->request->path;
	const char *name = p->request->name != NULL ? p->request->name : path_name(path);
	int r = bundle_add_snapshot(bundle, p->fd, path, name, p->n_bytes, &p->plain);

	for (size_t i = 0; i < p->request->n_extra && r == 0; i++)
		r = bundle_add_extra(bundle, p->request->extra[i]);
	return r < 0 ? r : bundle_finish(bundle);
}

static int write_alone(struct packing *p, struct sink *sink)
{
	AUTO(sink_free) struct sink *tap = tap_new(sink, &p->plain);
	int r = infile_feed(p->fd, p->request->path, "read", tap, p->problem);

	return r < 0 ? r : sink_finish(tap);
}

static int write_packed(struct packing *p)
{
	struct sink *sink;
	int r = build(p, &sink);

	if (r < 0)
		return r;
	return p->request->n_extra > 0 ? write_bundle(p, sink) : write_alone(p, sink);
}

/* --- and back --- */

static bool same(const struct tap_result *a, const struct tap_result *b)
{
	return a->n_bytes == b->n_bytes && strcmp(a->sha256, b->sha256) == 0;
}

static int read_back(struct packing *p)
{
	const struct opener_keys keys = {.identity = &p->checker};
	struct opener_found found = {0};
	struct tap_result packed = {0}, plain = {0};
	AUTO(sink_free) struct sink *sink = NULL;
	AUTO(close) int fd = -1;
	int r;

	r = outfile_open_again(p->file, &fd);
	if (r < 0)
		return r;
	sink = opener_new(&keys, NULL, tap_new(NULL, &plain), &found, p->problem);
	sink = tap_new(sink, &packed);
	r = infile_feed(fd, "what was written", "read-back", sink, p->problem);
	if (r == 0)
		r = sink_finish(sink);
	if (r < 0)
		return r;
	if (!same(&packed, &p->packed) || !same(&plain, &p->plain) || found.age != p->encrypt ||
	    found.zstd != (p->request->level > 0) || found.bundle != (p->request->n_extra > 0))
		return problem_set(p->problem, -EBADMSG, "MISMATCH",
		                   "what was read back is not what was written; the disk may be failing");
	return 0;
}

/* --- all of it --- */

static int check_request(const struct pack_request *q, struct problem *problem)
{
	bool encrypt = q->recipients.n_names + q->recipients.n_files > 0;

	if (q->level != 0 && (q->level < ZSTDFLOW_LEVEL_MIN || q->level > ZSTDFLOW_LEVEL_MAX))
		return problem_set(problem, -EINVAL, "USAGE", "the level is %d, and has to be %d to %d",
		                   q->level, ZSTDFLOW_LEVEL_MIN, ZSTDFLOW_LEVEL_MAX);
	if (q->n_extra > 0 && !encrypt)
		return problem_set(problem, -EINVAL, "USAGE",
		                   "other files are bundled only when they are encrypted");
	if (q->name != NULL &&
	    (q->name[0] == '\0' || strchr(q->name, '/') != NULL || strlen(q->name) > BUNDLE_NAME_MAX))
		return problem_set(problem, -EINVAL, "USAGE",
		                   "the name '%s' is not a file's: 1 to %d bytes without '/'", q->name,
		                   BUNDLE_NAME_MAX);
	if (q->level == 0 && !encrypt)
		return problem_set(problem, -EINVAL, "USAGE", "neither a level nor a recipient is given");
	return 0;
}

static int check_plain(const struct packing *p)
{
	const char *wanted = p->request->sha256;

	if (wanted == NULL || strcasecmp(wanted, p->plain.sha256) == 0)
		return 0;
	return problem_set(p->problem, -EBADMSG, "MISMATCH",
	                   "'%s' has changed since it was verified: its SHA-256 is %s",
	                   p->request->path, p->plain.sha256);
}

/* The packed file stands; that the plain one does too is not worth a failure. */
static bool remove_plain(const char *path)
{
	int r;

	if (unlink(path) < 0) {
		(void) log_warning_errno(-errno, "plain_not_removed", "path=\"%s\"", path);
		return false;
	}
	r = file_sync_directory_of(path);
	if (r < 0)
		(void) log_warning_errno(r, "directory_not_synced", "path=\"%s\"", path);
	return true;
}

static int make_packed(struct packing *p, const char *path, mode_t mode)
{
	int r;

	r = outfile_new(path, mode, p->problem, &p->file);
	if (r == 0 && p->encrypt)
		r = age_identity_make(p->problem, &p->checker);
	if (r == 0)
		r = write_packed(p);
	if (r == 0)
		r = check_plain(p);
	if (r == 0)
		r = read_back(p);
	age_identity_forget(&p->checker);
	if (r == 0)
		r = outfile_commit(p->file);
	outfile_free(TAKE_PTR(p->file));
	return r;
}

int pack_run(const struct pack_request *request, struct problem *problem,
             struct pack_result *ret_result)
{
	struct packing p = {.request = request, .problem = problem};
	AUTO(close) int fd = -1;
	AUTO(free) char *path = NULL;
	mode_t mode;
	int r;

	r = check_request(request, problem);
	if (r < 0)
		return r;
	r = infile_open(request->path, problem, &fd, &mode, &p.n_bytes);
	if (r < 0)
		return r;
	p.fd = fd;
	p.encrypt = request->recipients.n_names + request->recipients.n_files > 0;
	path = xasprintf("%s%s%s%s", request->path, request->n_extra > 0 ? ".tar" : "",
	                 request->level > 0 ? ".zst" : "", p.encrypt ? ".age" : "");
	r = make_packed(&p, path, mode);
	if (r < 0)
		return r;
	ret_result->path = TAKE_PTR(path);
	ret_result->packed = p.packed;
	ret_result->plain = p.plain;
	ret_result->plain_removed = !request->keep_plain && remove_plain(request->path);
	return 0;
}
