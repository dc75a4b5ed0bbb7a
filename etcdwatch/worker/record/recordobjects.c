/* SPDX-License-Identifier: Apache-2.0 */
#include "etcdwatch/worker/record/recordobjects.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/worker/common/cancel.h"
#include "etcdwatch/worker/common/memsink.h"
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
