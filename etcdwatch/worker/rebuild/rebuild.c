/* SPDX-License-Identifier: Apache-2.0 */
/* choice -> merged into a temporary file -> digest, synced -> read back from the disk, proven ->
 * its name. A base that has to be unpacked is so in a directory beside the file, ".NAME.base". */
#include "etcdwatch/worker/rebuild/rebuild.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/common/file.h"
#include "etcdwatch/worker/rebuild/rebuildchoice.h"
#include "etcdwatch/worker/rebuild/recordfetch.h"

#define MODE 0600
#define FD_PATH_MAX 32

/* --- where a base is unpacked --- */

static char *room_name(const char *output)
{
	AUTO(free) char *copy = xstrdup(output);
	AUTO(free) char *again = xstrdup(output);

	return xasprintf("%s/.%s.base", dirname(copy), basename(again));
}

/* Of a killed process, or ours. */
static void remove_room(const char *room)
{
	DIR *stream = opendir(room);
	const struct dirent *entry;

	if (stream == NULL)
		return;
	while ((entry = readdir(stream)) != NULL)
		(void) unlinkat(dirfd(stream), entry->d_name, 0);
	(void) closedir(stream);
	(void) rmdir(room);
}

static int make_room(const char *room, struct problem *problem)
{
	remove_room(room);
	if (mkdir(room, 0700) < 0)
		return problem_set_errno(problem, -errno, "cannot make '%s'", room);
	return 0;
}

/* --- merging --- */

static int merge(const struct rebuild_request *q, const struct rebuildchoice *choice, int fd,
                 struct problem *problem, struct rebuild_result *result)
{
	AUTO(snapshot_close) struct snapshot *base = NULL;
	AUTO(chainread_free) struct chainread *record = NULL;
	const struct mvcc_reach *reach = &choice->base->content.reach;
	struct rebuildmerge_request request = {
	    .base_name = choice->base->origin,
	    .base_revision = reach->current,
	    .base_compacted = reach->compacted,
	    .revision = choice->revision,
	    .fd = fd,
	};
	struct bolt_fault fault;
	int r = snapshot_open(choice->base->path, &fault, &base);

	if (r < 0)
		return problem_set(problem, r, "READ", "'%s': %s", choice->base->origin, fault.what);
	result_doing("merge", q->output);
	/* From the base's own revision on, to hold that one against it. */
	if (choice->chain != NULL)
		record = chainread_open(choice->chains, choice->chain, reach->current);
	request.base = snapshot_db(base);
	request.fault = &fault;
	request.record = record;
	return rebuildmerge_run(&request, problem, &result->merge);
}

/* --- proving --- */

static int blame(int r, const struct bolt_fault *fault, struct problem *problem)
{
	return problem_set(problem, r, r == -EBADMSG ? "TREE" : "READ", "what was made: %s",
	                   fault->what);
}

/* Where no key is alive, etcd's hash depends on what it has removed so far. */
static int check_hashes(struct snapshot *s, const struct bolt_fault *fault,
                        struct rebuild_result *result, struct problem *problem)
{
	for (size_t i = 0; i < result->merge.n_hashes; i++) {
		const struct rebuildmerge_hash *told = &result->merge.hashes[i];
		struct hashkv_result h;
		int r;

		if (told->compact_revision > told->revision)
			continue;
		r = hashkv_compute_compacted(snapshot_db(s), told->revision, told->compact_revision, &h);
		if (r < 0)
			return blame(r, fault, problem);
		if (h.n_live == 0)
			continue;
		if (h.hash != told->hash)
			return problem_set(
			    problem, -EBADMSG, "DIFFERS",
			    "at revision %" PRId64 " what was made has the HashKV %" PRIu32
			    ", and member %" PRIx64 " had %" PRIu32
			    ": the record or the snapshot is not what the cluster had: begin with another "
			    "snapshot, or with the record of another node",
			    told->revision, h.hash, told->member_id, told->hash);
		result->n_proven++;
	}
	return 0;
}

static int prove(const char *path, int64_t revision, struct rebuild_result *result,
                 struct problem *problem)
{
	AUTO(snapshot_close) struct snapshot *s = NULL;
	struct bolt_fault fault;
	struct pace pace;
	int r = snapshot_open(path, &fault, &s);

	if (r >= 0)
		bolt_on_pass(snapshot_db(s), pace_pass_cb, &pace);
	if (r >= 0)
		r = snapshot_check_digest(s);
	if (r >= 0)
		r = snapshot_check_content(s, 0, &result->content);
	if (r < 0)
		return blame(r, &fault, problem);
	if (result->content.reach.current != revision)
		return problem_set(problem, -EBADMSG, "TREE", "what was made has revision %" PRId64,
		                   result->content.reach.current);
	return check_hashes(s, &fault, result, problem);
}

static int read_digest(int fd, struct rebuild_result *result, struct problem *problem)
{
	uint8_t digest[SNAPSHOT_DIGEST_BYTES];
	ssize_t n = pread(fd, digest, sizeof(digest), (off_t) result->merge.n_bytes);

	if (n != (ssize_t) sizeof(digest))
		return problem_set(problem, -EIO, "READ", "cannot read back what was made");
	(void) digest_hex(digest, sizeof(digest), result->sha256);
	return 0;
}

/* --- all of it --- */

static int write_file(const struct rebuild_request *q, const struct rebuildchoice *choice,
                      struct outfile *file, struct problem *problem, struct rebuild_result *result)
{
	char path[FD_PATH_MAX];
	AUTO(close) int fd = -1;
	int r = merge(q, choice, outfile_fd(file), problem, result);

	if (r == 0)
		r = snapshot_append_digest(outfile_fd(file), result->merge.n_bytes);
	if (r < 0)
		return problem_set_errno(problem, r, "cannot write '%s'", q->output);
	r = sink_finish(outfile_sink(file));
	if (r == 0)
		r = outfile_open_again(file, &fd);
	if (r < 0)
		return r;
	result_doing("verify", q->output);
	(void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = prove(path, choice->revision, result, problem);
	return r == 0 ? read_digest(fd, result, problem) : r;
}

/* What is there already may be what an earlier run made of the same: nothing else is replaced, and
 * least of all the base. */
static int check_output(const struct rebuild_request *q, const struct rebuildchoice *choice,
                        struct problem *problem)
{
	AUTO(snapshot_close) struct snapshot *there = NULL;
	struct bolt_fault fault;
	struct mvcc_reach reach = {0};
	struct stat output, base;

	if (stat(q->output, &output) < 0)
		return 0;
	if (stat(choice->base->path, &base) == 0 && output.st_dev == base.st_dev &&
	    output.st_ino == base.st_ino)
		return problem_set(problem, -EEXIST, "EXISTS", "'%s' is the snapshot to begin with",
		                   q->output);
	if (snapshot_open(q->output, &fault, &there) < 0 ||
	    mvcc_read_reach(snapshot_db(there), &reach) < 0 || reach.last != choice->revision)
		return problem_set(problem, -EEXIST, "EXISTS",
		                   "'%s' is there already, and is not etcd at revision %" PRId64
		                   ": remove it, or name another file",
		                   q->output, choice->revision);
	return 0;
}

/* The snapshot is there by now; of one that had to be unpacked that was looked at before. */
static int check_room(const struct rebuild_request *q, const struct rebuildchoice *choice,
                      struct problem *problem)
{
	struct rebuildroom room = {0};
	struct stat base;

	if (stat(choice->base->path, &base) == 0)
		room.base_bytes = (uint64_t) base.st_size;
	room.record_bytes = rebuildchoice_record_bytes(choice, choice->base->content.reach.current);
	return rebuildroom_check(&room, q->output, problem);
}

static int make(const struct rebuild_request *q, const struct source_request *base,
                struct problem *problem, struct rebuildchoice *choice,
                struct rebuild_result *result)
{
	AUTO(outfile_free) struct outfile *file = NULL;
	int r = rebuildchoice_make(q, base, problem, choice);

	if (r == 0)
		r = check_output(q, choice, problem);
	if (r == 0)
		r = check_room(q, choice, problem);
	if (r == 0)
		r = outfile_new(q->output, MODE, problem, &file);
	if (r == 0)
		r = write_file(q, choice, file, problem, result);
	if (r == 0 && cancel_is_wanted())
		r = problem_set(problem, -ECANCELED, "CANCELLED", "cancelled");
	return r == 0 ? outfile_commit(file) : r;
}

int rebuild_run(const struct rebuild_request *q, struct problem *problem,
                struct rebuild_result *ret_result)
{
	AUTO(free) char *room = room_name(q->output);
	AUTO(free) char *unpacked = xasprintf("%s/snapshot.db", room);
	struct rebuild_request request = *q;
	struct source_request base = q->base;
	struct rebuildchoice choice = {0};
	struct rebuild_result result = {0};
	int r = make_room(room, problem);

	if (r < 0)
		return r;
	base.fetched = room;
	base.unpacked = unpacked;
	if (q->record == NULL) {
		request.record = room;
		r = recordfetch_run(q, room, problem, &result.fetched);
	}
	if (r == 0)
		r = make(&request, &base, problem, &choice, &result);
	remove_room(room);
	if (r == 0) {
		result.has_record = choice.chain != NULL;
		if (result.has_record)
			result.record = *choice.chain;
		result.base = TAKE_PTR(choice.base);
		result.history = TAKE_PTR(choice.history);
		result.n_histories = choice.n_histories;
		*ret_result = result;
	}
	rebuildchoice_fini(&choice);
	return r;
}
