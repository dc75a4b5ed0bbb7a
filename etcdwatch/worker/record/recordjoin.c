/* SPDX-License-Identifier: Apache-2.0 */
/* object -> file -> hash -> unpack.h -> bound -> hash of the piece -> hash of all -> the segment.
 */
#include "etcdwatch/worker/record/recordjoin.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/worker/common/sink.h"
#include "etcdwatch/worker/common/file.h"
#include "etcdwatch/worker/record/recordobjects.h"
#include "etcdwatch/worker/store/s3get.h"

#define SEGMENT_MODE 0600

struct joining {
	const struct recordjoin_request *request;
	struct problem *problem;
	struct sink sink; /* appends to the segment */
	int fd;
	struct digest *through;
	char *path, *fetched;
};

/* --- the segment --- */

static int append(struct sink *sink, const void *data, size_t len)
{
	struct joining *j = CONTAINER_OF(sink, struct joining, sink);
	const uint8_t *at = data;

	digest_update(j->through, data, len);
	while (len > 0) {
		ssize_t n = write(j->fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return problem_set_errno(j->problem, -errno, "cannot write '%s'", j->path);
		at += n;
		len -= (size_t) n;
	}
	return 0;
}

static int append_finish(struct sink *sink UNUSED)
{
	return 0;
}

static void append_free(struct sink *sink UNUSED)
{
}

/* --- trust --- */

bool recordjoin_allows(const struct recordjoin_request *q, const struct recordpiece *piece,
                       char ret_reason[static PROBLEM_REASON_MAX])
{
	enum trust_verdict verdict = trust_judge_key(piece->signer, &q->trust);

	if (trust_allows_chosen(&q->trust, verdict))
		return true;
	if (verdict == TRUST_NONE)
		(void) snprintf(ret_reason, PROBLEM_REASON_MAX,
		                "a piece of '%s' of '%s' is not signed, and is not taken: --record DIR "
		                "takes a copy of what a node recorded",
		                piece->segment, piece->node);
	else
		(void) snprintf(
		    ret_reason, PROBLEM_REASON_MAX,
		    "a piece of '%s' of '%s' is signed by a key that is not trusted (%s): --trust "
		    "KEY, or trustedKeys",
		    piece->segment, piece->node, piece->signer);
	return false;
}

/* --- a piece --- */

static int fetch(struct joining *j, const struct recordpiece *piece, const char *key)
{
	const struct s3get_request request = {
	    .key = key,
	    .path = j->fetched,
	    .sha256 = piece->file_sha256,
	    .n_bytes = piece->file_bytes,
	    .more_bytes = piece->to - piece->from,
	};
	struct s3get_result result;

	(void) unlink(j->fetched);
	return s3get_run(j->request->s3, &request, j->problem, &result);
}

static int mismatch(struct joining *j, const char *key)
{
	return problem_set(j->problem, -EBADMSG, "MISMATCH",
	                   "what is in '%s' is not what its manifest says", key);
}

static int check(struct joining *j, const struct recordpiece *piece, const char *key,
                 const struct tap_result *plain, const struct opener_found *found)
{
	uint8_t digest[DIGEST_SHA256_BYTES];
	char through[DIGEST_HEX_MAX];

	if (j->request->encrypted && !found->age)
		return problem_set(j->problem, -EBADMSG, "PLAIN",
		                   "the piece '%s' of the record is not encrypted, and snapshots are: "
		                   "--plain takes it all the same",
		                   key);
	digest_peek(j->through, digest);
	(void) digest_hex(digest, sizeof(digest), through);
	if (plain->n_bytes != piece->to - piece->from || strcmp(plain->sha256, piece->sha256) != 0 ||
	    strcmp(through, piece->through_sha256) != 0)
		return mismatch(j, key);
	return 0;
}

static int open_up(struct joining *j, const struct recordpiece *piece, const char *key)
{
	struct opener_found found = {0};
	struct tap_result plain = {0};
	struct sink *sink =
	    bound_new(piece->to - piece->from, key, tap_new(&j->sink, &plain), j->problem);
	AUTO(sink_free)
	struct sink *opener = opener_new(&j->request->keys, NULL, sink, &found, j->problem);
	AUTO(close) int fd = -1;
	uint64_t n_bytes;
	mode_t mode;
	int r = infile_open(j->fetched, j->problem, &fd, &mode, &n_bytes);

	if (r == 0)
		r = infile_feed(fd, j->fetched, "unpack", opener, j->problem);
	if (r == 0)
		r = sink_finish(opener);
	return r < 0 ? r : check(j, piece, key, &plain, &found);
}

static void note_signer(struct recordjoined *joined, const char *signer)
{
	for (size_t i = 0; i < joined->n_signers; i++) {
		if (strcmp(joined->signers[i], signer) == 0)
			return;
	}
	if (joined->n_signers < RECORDJOIN_SIGNERS_MAX)
		(void) snprintf(joined->signers[joined->n_signers++], SIGNATURE_PUBLIC_MAX, "%s", signer);
}

static int join_piece(struct joining *j, const struct recordpiece *piece,
                      struct recordjoined *joined)
{
	AUTO(free) char *key = recordpiece_file_key(j->request->prefix, piece);
	int r = fetch(j, piece, key);

	if (r == 0)
		r = open_up(j, piece, key);
	(void) unlink(j->fetched);
	joined->n_bytes += piece->file_bytes;
	note_signer(joined, piece->signer);
	return r;
}

/* 1 and the problem: it is refused. */
static int read_piece(struct joining *j, const struct recordpiece *last,
                      const struct recordstored_range *range, struct problem *refused,
                      struct recordpiece *ret_piece)
{
	struct recordpiece named = *last;
	char reason[PROBLEM_REASON_MAX];
	AUTO(free) char *key = NULL;
	int r;

	named.from = range->from;
	named.to = range->to;
	key = recordpiece_manifest_key(j->request->prefix, &named);
	r = recordobjects_read(j->request->s3, j->request->prefix, key, ret_piece, refused);
	if (r == 0 && !recordjoin_allows(j->request, ret_piece, reason))
		r = problem_set(refused, -EACCES, "UNTRUSTED", "%s", reason);
	else if (r < 0 && !recordobjects_is_refused(refused)) {
		*j->problem = *refused;
		return r;
	}
	return r < 0 ? 1 : 0;
}

/* The pieces up to `last`, whose manifests count; each that is refused makes another row. To be
 * freed. */
static int read_row(struct joining *j, const struct recordpiece *last, struct recordstored *stored,
                    struct recordpiece **ret_pieces, size_t *ret_n)
{
	AUTO(free) struct recordpiece *pieces = NULL;
	struct problem first = {0};
	size_t n_read = 0;

	for (size_t n_refused = 0; n_refused < RECORDSTORED_REFUSED_MAX; n_refused++) {
		size_t n;
		AUTO(free) struct recordstored_range *row = recordstored_row(stored, &n);
		int r = 0;

		if (n == 0 || row[n - 1].from != last->from || row[n - 1].to != last->to)
			break;
		pieces = xreallocarray(pieces, n, sizeof(*pieces));
		while (n_read + 1 < n && r == 0) {
			struct problem refused = {0};

			r = read_piece(j, last, &row[n_read], &refused, &pieces[n_read]);
			if (r == 0)
				n_read++;
			else if (r > 0 && first.code[0] == '\0')
				first = refused;
		}
		if (r < 0)
			return r;
		if (r == 0) {
			pieces[n - 1] = *last;
			*ret_pieces = TAKE_PTR(pieces);
			*ret_n = n;
			return 0;
		}
		recordstored_drop(stored, &row[n_read]);
	}
	if (first.code[0] == '\0')
		return problem_set(j->problem, -EBADMSG, "MISMATCH",
		                   "pieces of '%s' of '%s' are missing before byte %" PRIu64, last->segment,
		                   last->node, last->from);
	*j->problem = first;
	return -EBADMSG;
}

static int join_row(struct joining *j, const struct recordpiece *last, struct recordstored *stored,
                    struct recordjoined *joined)
{
	AUTO(free) struct recordpiece *pieces = NULL;
	size_t n = 0;
	int r = read_row(j, last, stored, &pieces, &n);

	for (size_t i = 0; i < n && r == 0; i++)
		r = join_piece(j, &pieces[i], joined);
	return r;
}

/* --- all of it --- */

int recordjoin_run(const struct recordjoin_request *request, const struct recordpiece *last,
                   struct recordstored *stored, struct problem *problem,
                   struct recordjoined *joined)
{
	AUTO(digest_free) struct digest *through = digest_new(DIGEST_SHA256);
	AUTO(free) char *file = recordpiece_record_file(last->segment);
	AUTO(free) char *path = xasprintf("%s/%s", request->room, file);
	AUTO(free) char *fetched = xasprintf("%s/piece", request->room);
	AUTO(close) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, SEGMENT_MODE);
	struct joining j = {
	    .request = request,
	    .problem = problem,
	    .sink = {.write = append, .finish = append_finish, .free = append_free},
	    .fd = fd,
	    .through = through,
	    .path = path,
	    .fetched = fetched,
	};

	if (fd < 0)
		return problem_set_errno(problem, -errno, "cannot make '%s'", path);
	return last->is_whole ? join_piece(&j, last, joined) : join_row(&j, last, stored, joined);
}
