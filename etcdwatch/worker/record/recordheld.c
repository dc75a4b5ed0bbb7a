/* SPDX-License-Identifier: Apache-2.0 */
/* Of pieces in a row the bytes are compared by the last manifest, which has the digest of all
 * before it. */
#include "etcdwatch/worker/record/recordheld.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/worker/common/cancel.h"
#include "etcdwatch/worker/record/recordobjects.h"

#define READ_BYTES ((size_t) 1 << 17)

enum verdict {
	OURS,
	OTHER,   /* ours, of other bytes */
	FOREIGN, /* or gone */
};

static int hash_file(const char *path, uint64_t n_bytes, char ret_sha256[static DIGEST_HEX_MAX])
{
	AUTO(digest_free) struct digest *digest = digest_new(DIGEST_SHA256);
	AUTO(free) uint8_t *buffer = xcalloc(1, READ_BYTES);
	AUTO(close) int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	while (n_bytes > 0) {
		ssize_t n = read(fd, buffer, (size_t) MIN(n_bytes, (uint64_t) READ_BYTES));

		if (cancel_is_wanted())
			return -ECANCELED;
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENODATA;
		digest_update(digest, buffer, (size_t) n);
		n_bytes -= (uint64_t) n;
	}
	(void) digest_finish_hex(digest, ret_sha256);
	return 0;
}

static int compare(const struct recordheld_request *q, const struct recordpiece *piece,
                   struct problem *problem, struct recordheld_result *result,
                   enum verdict *ret_verdict)
{
	bool is_short = piece->is_whole && piece->to < q->has.bytes;
	bool is_likely = piece->begin_us == q->begin_us && (!piece->is_whole || q->has.is_closed);
	char sha256[DIGEST_HEX_MAX];
	int r = 0;

	/* What is longer there than here was cut here after damage: what is there is the better one. */
	*ret_verdict = OURS;
	if (is_likely && !is_short && (piece->to > q->has.bytes || (piece->is_whole && q->is_compared)))
		return 0;
	if (is_likely)
		r = hash_file(q->path, piece->to, sha256);
	if (r == -ECANCELED)
		return problem_set(problem, r, "CANCELLED", "cancelled");
	/* The segment was old enough to be removed meanwhile. */
	if (r == -ENOENT)
		return 0;
	if (is_likely && r == 0 && strcmp(sha256, piece->through_sha256) == 0) {
		*ret_verdict = is_short ? FOREIGN : OURS;
		if (is_short)
			(void) snprintf(result->foreign, sizeof(result->foreign),
			                "the object that is all of '%s' lacks its end", piece->segment);
		return 0;
	}
	*ret_verdict = OTHER;
	(void) snprintf(result->other, sizeof(result->other),
	                r < 0 ? "'%s' cannot be compared with '%s', which cannot be read"
	                      : "what the target has of '%s' is not the beginning of '%s': it stays",
	                piece->segment, q->path);
	return 0;
}

/* `named` says which manifest. */
static int judge(const struct recordheld_request *q, const struct recordpiece *named, bool compares,
                 struct problem *problem, struct recordheld_result *result,
                 enum verdict *ret_verdict)
{
	AUTO(free) char *key = recordpiece_manifest_key(q->prefix, named);
	struct problem unread = {0};
	struct recordpiece piece;
	int r = recordobjects_read(q->s3, q->prefix, key, &piece, &unread);

	*ret_verdict = FOREIGN;
	if (cancel_is_wanted())
		return problem_set(problem, -ECANCELED, "CANCELLED", "cancelled");
	if (r < 0 && strcmp(unread.code, "S3_NOT_FOUND") == 0)
		return 0;
	if (r < 0 && strcmp(unread.code, "MANIFEST") == 0) {
		(void) snprintf(result->foreign, sizeof(result->foreign), "%s", unread.reason);
		return 0;
	}
	if (r < 0) {
		*problem = unread;
		return r;
	}
	if (q->key != NULL && strcmp(piece.signer, signature_key_public(q->key)) != 0) {
		(void) snprintf(result->foreign, sizeof(result->foreign),
		                "'%s' is not signed with this node's key (%s)", key,
		                piece.signer[0] != '\0' ? piece.signer : "it has no signature");
		return 0;
	}
	*ret_verdict = OURS;
	return compares ? compare(q, &piece, problem, result, ret_verdict) : 0;
}

static int check_whole(const struct recordheld_request *q, struct recordpiece *named,
                       struct recordstored *stored, struct problem *problem,
                       struct recordheld_result *result)
{
	enum verdict verdict = OURS;
	int r;

	if (!stored->is_whole)
		return 0;
	named->is_whole = true;
	r = judge(q, named, true, problem, result, &verdict);
	stored->is_whole = verdict != FOREIGN;
	return r;
}

/* 1: one was taken out, and there may be another row. */
static int check_row(const struct recordheld_request *q, struct recordpiece *named,
                     struct recordstored *stored, struct problem *problem,
                     struct recordheld_result *result)
{
	size_t n;
	AUTO(free) struct recordstored_range *row = recordstored_row(stored, &n);
	size_t n_left = q->checks_all ? n : MIN(n, (size_t) 1);

	for (size_t i = n; n_left-- > 0; i--) {
		enum verdict verdict;
		int r;

		named->from = row[i - 1].from;
		named->to = row[i - 1].to;
		r = judge(q, named, i == n, problem, result, &verdict);
		if (r < 0)
			return r;
		if (verdict == FOREIGN) {
			recordstored_drop(stored, &row[i - 1]);
			return 1;
		}
	}
	return 0;
}

static int check_pieces(const struct recordheld_request *q, struct recordpiece *named,
                        struct recordstored *stored, struct problem *problem,
                        struct recordheld_result *result)
{
	int r = 1;

	named->is_whole = false;
	for (size_t i = 0; i < RECORDSTORED_REFUSED_MAX && r > 0; i++)
		r = check_row(q, named, stored, problem, result);
	if (r > 0)
		stored->n_ranges = 0;
	return MIN(r, 0);
}

int recordheld_check(const struct recordheld_request *q, struct recordstored *stored,
                     struct problem *problem, struct recordheld_result *ret_result)
{
	struct recordpiece named = {0};
	int r;

	*ret_result = (struct recordheld_result){0};
	(void) snprintf(named.node, sizeof(named.node), "%s", q->node);
	memcpy(named.segment, stored->segment, sizeof(named.segment));
	r = check_whole(q, &named, stored, problem, ret_result);
	if (r == 0 && !stored->is_whole)
		r = check_pieces(q, &named, stored, problem, ret_result);
	return r;
}
