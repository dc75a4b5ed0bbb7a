/* SPDX-License-Identifier: Apache-2.0 */
#include "etcdwatch/worker/record/recordobjects.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/worker/common/file.h"
#include "etcdwatch/worker/common/sink.h"
#include "etcdwatch/worker/store/s3target.h"

struct listing {
	const char *prefix;
	recordobjects_fn fn;
	void *userdata;
	size_t n;
};

static int on_listed(const struct s3_listed *listed, void *userdata)
{
	struct listing *l = userdata;
	struct recordkey key;

	if (cancel_is_wanted())
		return -ECANCELED;
	if (!recordkey_parse(listed->key, l->prefix, &key))
		return 0;
	if (++l->n > RECORDOBJECTS_MAX)
		return -E2BIG;
	l->fn(&key, listed->key, l->userdata);
	return 0;
}

int recordobjects_list(struct s3 *s3, const char *prefix, const char *below, recordobjects_fn fn,
                       void *userdata, struct problem *problem)
{
	struct listing l = {.prefix = prefix, .fn = fn, .userdata = userdata};
	int r = s3_list(s3, below, 0, on_listed, &l);

	if (r == -E2BIG)
		return problem_set(problem, r, "TOO_MANY", "below '%s' there are more than %d objects",
		                   below, RECORDOBJECTS_MAX);
	if (r == -ECANCELED)
		return problem_set(problem, r, "CANCELLED", "cancelled");
	return r < 0 ? s3target_fail(s3, r, problem) : 0;
}

static int on_data(const void *data, size_t len, void *userdata)
{
	struct memsink *memory = userdata;

	return sink_write(&memory->sink, data, len);
}

int recordobjects_read(struct s3 *s3, const char *prefix, const char *key,
                       struct recordpiece *ret_piece, struct problem *problem)
{
	char text[RECORDOBJECTS_MANIFEST_MAX], error[RECORDPIECE_ERROR_MAX];
	struct recordkey parsed;
	struct memsink memory;
	int r;

	memsink_init(&memory, text, sizeof(text));
	r = s3_get(s3, key, 0, on_data, &memory, NULL);
	if (r == -EMSGSIZE)
		return problem_set(problem, -EBADMSG, "MANIFEST", "'%s' is too long for a manifest", key);
	if (r < 0)
		return s3target_fail(s3, r, problem);
	if (!recordkey_parse(key, prefix, &parsed))
		return problem_set(problem, -EBADMSG, "MANIFEST", "'%s' is no key of a manifest", key);
	r = recordpiece_parse(text, memory.len, &parsed, ret_piece, error);
	return r < 0 ? problem_set(problem, -EBADMSG, "MANIFEST", "'%s' %s", key, error) : 0;
}

bool recordobjects_is_refused(const struct problem *problem)
{
	return strcmp(problem->code, "MANIFEST") == 0 || strcmp(problem->code, "S3_NOT_FOUND") == 0;
}

int recordobjects_read_last(struct s3 *s3, const char *prefix, const char *node,
                            const struct recordstored *stored, struct recordpiece *ret_piece,
                            char ret_reason[static PROBLEM_REASON_MAX], struct problem *problem)
{
	struct recordpiece piece = {.is_whole = stored->is_whole};
	struct problem unread = {0};
	size_t n;
	AUTO(free) struct recordstored_range *row = recordstored_row(stored, &n);
	AUTO(free) char *key = NULL;
	int r;

	memcpy(piece.segment, stored->segment, sizeof(piece.segment));
	(void) snprintf(piece.node, sizeof(piece.node), "%s", node);
	if (!stored->is_whole && n == 0) {
		(void) snprintf(ret_reason, PROBLEM_REASON_MAX,
		                "the first piece of '%s' of '%s' is missing", stored->segment, node);
		return 1;
	}
	if (!stored->is_whole) {
		piece.from = row[n - 1].from;
		piece.to = row[n - 1].to;
	}
	key = recordpiece_manifest_key(prefix, &piece);
	r = recordobjects_read(s3, prefix, key, ret_piece, &unread);
	if (r < 0 && recordobjects_is_refused(&unread)) {
		(void) snprintf(ret_reason, PROBLEM_REASON_MAX, "%s", unread.reason);
		return 1;
	}
	if (r < 0)
		*problem = unread;
	return r;
}

/* --- removing --- */

struct keys {
	bool only_pieces;
	char **manifests, **others;
	size_t n_manifests, n_others;
};

static void add_key(char ***items, size_t *n, const char *key)
{
	*items = xreallocarray(*items, *n + 1, sizeof(**items));
	(*items)[(*n)++] = xstrdup(key);
}

static void on_key(const struct recordkey *key, const char *text, void *userdata)
{
	struct keys *keys = userdata;

	if (key->is_whole && keys->only_pieces)
		return;
	if (key->is_manifest)
		add_key(&keys->manifests, &keys->n_manifests, text);
	else
		add_key(&keys->others, &keys->n_others, text);
}

/* And frees them. */
static int remove_each(struct s3 *s3, char **keys, size_t n, int r, uint64_t *n_removed)
{
	for (size_t i = 0; i < n; i++) {
		if (r == 0) {
			r = s3_delete(s3, keys[i]);
			*n_removed += r == 0;
		}
		free(keys[i]);
	}
	free(keys);
	return r;
}

/* What is left without a manifest counts for nothing. */
int recordobjects_remove(struct s3 *s3, const char *prefix, const char *node, const char *segment,
                         bool only_pieces, uint64_t *n_removed, struct problem *problem)
{
	AUTO(free) char *folder = recordpiece_folder(prefix, node, segment);
	struct keys keys = {.only_pieces = only_pieces};
	int listed = recordobjects_list(s3, prefix, folder, on_key, &keys, problem), r;

	r = remove_each(s3, keys.manifests, keys.n_manifests, listed, n_removed);
	r = remove_each(s3, keys.others, keys.n_others, r, n_removed);
	return r < 0 && listed == 0 ? s3target_fail(s3, r, problem) : r;
}

/* --- all nodes --- */

void recordfolders_fini(struct recordfolders *folders)
{
	for (size_t i = 0; i < folders->n; i++)
		recordlisting_fini(&folders->items[i].listing);
	free(folders->items);
	*folders = (struct recordfolders){0};
}

static void add_to_folder(const struct recordkey *key, const char *text UNUSED, void *userdata)
{
	struct recordfolders *folders = userdata;
	struct recordfolder *f = folders->n > 0 ? &folders->items[folders->n - 1] : NULL;

	if (f == NULL || strcmp(f->node, key->node) != 0) {
		folders->items = xreallocarray(folders->items, folders->n + 1, sizeof(*folders->items));
		f = &folders->items[folders->n++];
		*f = (struct recordfolder){0};
		memcpy(f->node, key->node, sizeof(f->node));
	}
	recordlisting_add(&f->listing, key);
}

static int compare_folders(const void *a, const void *b)
{
	const struct recordfolder *x = a, *y = b;

	return strcmp(x->node, y->node);
}

/* A node is there several times where the store lists in another order than S3. */
static void finish_folders(struct recordfolders *f)
{
	size_t n = 0;

	if (f->n > 0)
		qsort(f->items, f->n, sizeof(*f->items), compare_folders);
	for (size_t i = 0; i < f->n; i++) {
		if (n > 0 && compare_folders(&f->items[n - 1], &f->items[i]) == 0)
			recordlisting_move(&f->items[n - 1].listing, &f->items[i].listing);
		else
			f->items[n++] = f->items[i];
	}
	f->n = n;
	for (size_t i = 0; i < n; i++)
		recordlisting_finish(&f->items[i].listing);
}

int recordfolders_list(struct s3 *s3, const char *prefix, struct recordfolders *ret_folders,
                       struct problem *problem)
{
	AUTO(free) char *below = xasprintf("%s" RECORDPIECE_FOLDER, prefix);
	struct recordfolders folders = {0};
	int r = recordobjects_list(s3, prefix, below, add_to_folder, &folders, problem);

	if (r < 0) {
		recordfolders_fini(&folders);
		return r;
	}
	finish_folders(&folders);
	*ret_folders = folders;
	return 0;
}

/* --- recordheld --- */

/* Of pieces in a row the bytes are compared by the last manifest, which has the digest of all
 * before it. */

enum verdict {
	OURS,
	OTHER,   /* ours, of other bytes */
	FOREIGN, /* or gone */
};

static int hash_file(const char *path, uint64_t n_bytes, char ret_sha256[static DIGEST_HEX_MAX])
{
	struct tap_result result = {0};
	AUTO(sink_free) struct sink *tap = tap_new(NULL, &result);
	AUTO(close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : file_feed(fd, n_bytes, tap, NULL);

	if (r < 0)
		return r;
	(void) sink_finish(tap);
	if (result.n_bytes < n_bytes)
		return -ENODATA;
	memcpy(ret_sha256, result.sha256, sizeof(result.sha256));
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

/* --- recordprune --- */

struct pruning {
	struct s3 *s3;
	const char *prefix;
	const struct recordprune_rules *rules;
	struct problem *problem;
	struct recordprune_result result;
};

bool recordprune_is_candidate(const struct recordprune_rules *rules,
                              const struct recordstored *stored)
{
	return rules->oldest_revision > 0 && stored->named.cluster_id == rules->cluster_id &&
	       stored->named.first_revision <= rules->oldest_revision + 1;
}

static bool is_trusted(const struct recordprune_rules *rules, const struct recordpiece *last)
{
	return trust_allows_chosen(&rules->trust, trust_judge_key(last->signer, &rules->trust));
}

bool recordprune_goes(const struct recordprune_rules *rules, const struct recordpiece *last)
{
	return is_trusted(rules, last) && last->last_revision <= rules->oldest_revision &&
	       (last->is_whole || last->until_us < rules->now_us - RECORDPRUNE_OPEN_US);
}

static int remove_segment(struct pruning *p, const char *node, const char *segment)
{
	int r = recordobjects_remove(p->s3, p->prefix, node, segment, false, &p->result.n_removed,
	                             p->problem);

	if (r == 0)
		result_line(json_pack("{s:s, s:s}", "removed", segment, "node", node));
	return r;
}

static int prune_folder(struct pruning *p, const struct recordfolder *f)
{
	int r = 0;

	for (size_t i = 0; i < f->listing.n && r >= 0; i++) {
		const struct recordstored *stored = &f->listing.items[i];
		char unread[PROBLEM_REASON_MAX];
		struct recordpiece last;

		if (cancel_is_wanted())
			return problem_set(p->problem, -ECANCELED, "CANCELLED", "cancelled");
		if (!recordprune_is_candidate(p->rules, stored))
			continue;
		r = recordobjects_read_last(p->s3, p->prefix, f->node, stored, &last, unread, p->problem);
		if (r == 0 && !is_trusted(p->rules, &last))
			(void) snprintf(p->result.untrusted, sizeof(p->result.untrusted),
			                "'%s' of '%s' is not signed by a key that is trusted: it stays",
			                stored->segment, f->node);
		if (r == 0 && recordprune_goes(p->rules, &last))
			r = remove_segment(p, f->node, stored->segment);
	}
	return r < 0 ? r : 0;
}

int recordprune_run(struct s3 *s3, const char *prefix, const struct recordprune_rules *rules,
                    struct problem *problem, struct recordprune_result *ret_result)
{
	struct pruning p = {.s3 = s3, .prefix = prefix, .rules = rules, .problem = problem};
	struct recordfolders folders = {0};
	int r = recordfolders_list(s3, prefix, &folders, problem);

	for (size_t i = 0; i < folders.n && r == 0; i++)
		r = prune_folder(&p, &folders.items[i]);
	recordfolders_fini(&folders);
	*ret_result = p.result;
	return r;
}
