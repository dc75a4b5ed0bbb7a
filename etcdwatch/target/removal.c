/* SPDX-License-Identifier: Apache-2.0 */
/* As many at a time as a command line takes. */
#include "etcdwatch/target/removal.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/target/inventory.h"
#include "etcdwatch/config/s3words.h"

#define LIMIT_US (1800 * US_PER_S)
/* Beyond them one reads what was said, not what was done. */
#define BATCH_MAX 64

struct removal {
	struct removal_options options;
	struct names entry_keys, keys; /* of one snapshot at one place */
	size_t n_begun;                /* of the batches so far, with the one under way */
	size_t n_removed;              /* of those that are over */
	struct child *child;
	removal_done_fn done;
	void *userdata;
};

void removal_abandon(struct removal *rm)
{
	if (rm == NULL)
		return;
	child_free(rm->child);
	names_fini(&rm->entry_keys);
	names_fini(&rm->keys);
	free(rm);
}

/* Calls out: last act. */
static void finish(struct removal *rm, int r, const char *reason)
{
	rm->done(r, reason, rm->n_removed, rm->userdata);
	removal_abandon(rm);
}

static void next(struct removal *rm);

static void batch_cb(const struct child_result *said, void *userdata)
{
	struct removal *rm = userdata;
	struct names gone = {.items = rm->keys.items + rm->n_removed, .n = rm->n_begun - rm->n_removed};

	rm->child = NULL;
	if (said->r < 0) {
		finish(rm, said->r, said->reason);
		return;
	}
	unfinished_drop(rm->options.unfinished, &gone);
	rm->n_removed = rm->n_begun;
	next(rm);
}

static void next(struct removal *rm)
{
	struct s3words words;
	int r;

	if (rm->n_begun == rm->keys.n) {
		finish(rm, 0, "");
		return;
	}
	s3words_begin(&words, rm->options.worker, "rm", rm->options.target);
	while (rm->n_begun < rm->keys.n && rm->n_begun - rm->n_removed < BATCH_MAX) {
		s3words_add(&words, rm->entry_keys.items[rm->n_begun]);
		s3words_add(&words, rm->keys.items[rm->n_begun++]);
	}
	r = child_start(rm->options.ev, words.argv, LIMIT_US, batch_cb, rm, &rm->child);
	if (r < 0)
		finish(rm, r, "cannot start the worker");
}

static void noted_cb(int r, void *userdata)
{
	struct removal *rm = userdata;

	/* Without a note, what a crash leaves is a stray: nothing that counts. */
	if (r < 0)
		(void) log_warning_errno(r, "removal_not_noted", "target=%s", rm->options.target->name);
	next(rm);
}

struct removal *removal_start(const struct removal_options *options, removal_done_fn done,
                              void *userdata)
{
	struct removal *rm = NEW0(struct removal);

	rm->options = *options;
	rm->done = done;
	rm->userdata = userdata;
	for (size_t i = 0; i < options->n; i++) {
		names_add(&rm->entry_keys, inventory_entry_key(options->target, options->entries[i]));
		names_add(&rm->keys, inventory_file_key(options->target, options->entries[i]));
	}
	unfinished_add(options->unfinished, &rm->keys, noted_cb, rm);
	return rm;
}
