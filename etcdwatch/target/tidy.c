/* SPDX-License-Identifier: Apache-2.0 */
/* Key by key: first its uploads are aborted, then the object is removed. */
#include "etcdwatch/target/tidy.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/config/s3words.h"

#define LIMIT_US (900 * US_PER_S)

struct tidy {
	struct tidy_options options;
	struct names keys; /* the last one is under way */
	struct child *child;
	tidy_done_fn done;
	void *userdata;
};

/* --- what there is to do --- */

/* A snapshot here that is still to be copied there. */
static bool is_wanted(const struct tidy_options *o, const char *wanted)
{
	for (size_t i = 0; i < store_n(o->store); i++) {
		const struct catalog_entry *e = store_get(o->store, i);
		AUTO(free) char *key = inventory_file_key(o->target, e);

		if (strcmp(key, wanted) == 0)
			return catalog_find_copy(e, o->target->name) == NULL;
	}
	return false;
}

static bool is_whole(const struct tidy_options *o, const char *wanted)
{
	for (size_t i = 0; i < inventory_n(o->there); i++) {
		AUTO(free) char *key = inventory_file_key(o->target, inventory_entries(o->there)[i]);

		if (strcmp(key, wanted) == 0)
			return true;
	}
	return false;
}

/* What turns out to be whole was ended, and nobody could write that down. */
static void find(const struct tidy_options *o, struct names *leftovers)
{
	AUTO(free) char *folder = inventory_folder(o->target, o->cluster_id);
	const struct names *keys = unfinished_keys(o->unfinished);
	struct names whole = {0};

	for (size_t i = 0; i < keys->n; i++) {
		const char *key = keys->items[i];

		if (strncmp(key, folder, strlen(folder)) != 0 || is_wanted(o, key))
			continue;
		names_add(is_whole(o, key) ? &whole : leftovers, xstrdup(key));
	}
	unfinished_drop(o->unfinished, &whole);
	names_fini(&whole);
}

/* --- doing it --- */

void tidy_free(struct tidy *t)
{
	if (t == NULL)
		return;
	child_free(t->child);
	names_fini(&t->keys);
	free(t);
}

/* Calls out: last act. */
static void finish(struct tidy *t, int r, const char *reason)
{
	t->done(r, reason, t->userdata);
	tidy_free(t);
}

static int run(struct tidy *t, bool uploads, child_done_fn done)
{
	struct s3words words;

	s3words_begin(&words, t->options.worker, "rm", t->options.target);
	if (uploads)
		s3words_option(&words, "--uploads", NULL);
	s3words_add(&words, t->keys.items[t->keys.n - 1]);
	return child_start(t->options.ev, words.argv, LIMIT_US, done, t, &t->child);
}

static void run_or_finish(struct tidy *t, bool uploads, child_done_fn done)
{
	int r = run(t, uploads, done);

	if (r < 0)
		finish(t, r, "cannot start the worker");
}

static void aborted_cb(const struct child_result *said, void *userdata);

static void removed_cb(const struct child_result *said, void *userdata)
{
	struct tidy *t = userdata;
	struct names key = {.items = &t->keys.items[t->keys.n - 1], .n = 1};

	t->child = NULL;
	if (said->r < 0) {
		finish(t, said->r, said->reason);
		return;
	}
	log_notice("leftover_removed", "job=%s target=%s key=\"%s\"", t->options.job->name,
	           t->options.target->name, key.items[0]);
	unfinished_drop(t->options.unfinished, &key);
	free(t->keys.items[--t->keys.n]);
	if (t->keys.n > 0)
		run_or_finish(t, true, aborted_cb);
	else
		finish(t, 0, "");
}

static void aborted_cb(const struct child_result *said, void *userdata)
{
	struct tidy *t = userdata;

	t->child = NULL;
	if (said->r < 0)
		finish(t, said->r, said->reason);
	else
		run_or_finish(t, false, removed_cb);
}

int tidy_start(const struct tidy_options *options, tidy_done_fn done, void *userdata,
               struct tidy **ret_tidy)
{
	AUTO(tidy_free) struct tidy *t = NEW0(struct tidy);
	int r = 0;

	t->options = *options;
	t->done = done;
	t->userdata = userdata;
	find(options, &t->keys);
	if (t->keys.n > 0)
		r = run(t, true, aborted_cb);
	if (r < 0)
		return r;
	*ret_tidy = t->keys.n > 0 ? TAKE_PTR(t) : NULL;
	return 0;
}
