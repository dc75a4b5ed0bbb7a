/* SPDX-License-Identifier: Apache-2.0 */
/* First what is accepted is read, then it is decided on what is there at that moment. */
#include "etcdwatch/job/clearing.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"

struct clearing {
	struct clearing_options options;
	struct accepted *accepted; /* being read */
	struct prune_plan plan;    /* its entries are there as long as done() is not called */
	clearing_done_fn done;
	void *userdata;
};

void clearing_abandon(struct clearing *c)
{
	if (c == NULL)
		return;
	accepted_free(c->accepted);
	prune_plan_fini(&c->plan);
	free(c);
}

bool clearing_stop(struct clearing *c)
{
	if (c == NULL || c->accepted == NULL)
		return c == NULL;
	clearing_abandon(c);
	return true;
}

/* Calls out: last act. */
static void finish(struct clearing *c, int r, const char *reason)
{
	const struct clearing_result result = {.r = r, .reason = reason, .plan = &c->plan};

	c->done(&result, c->userdata);
	clearing_abandon(c);
}

static void removed_cb(int r, const char *reason, void *userdata)
{
	struct clearing *c = userdata;

	/* The entries are not what they were any more. */
	c->plan.n = 0;
	finish(c, r, reason);
}

/* What the disk lacks for the next snapshot, plain and packed, if that is like the newest one. */
static int64_t find_lacking_bytes(const struct clearing *c)
{
	const struct store *store = c->options.store;
	int64_t free_bytes = store_free_bytes(store), need_bytes = c->options.job->reserve_bytes;

	if (store_n(store) > 0) {
		const struct catalog_entry *newest = store_get(store, store_n(store) - 1);

		need_bytes += newest->db_bytes + newest->file_bytes;
	}
	return free_bytes < 0 ? 0 : MAX(need_bytes - free_bytes, 0);
}

static void say_unsent(const struct clearing *c, const struct prune_question *q,
                       const struct catalog_entry *entry)
{
	const char *target = prune_find_lacking(q, entry);

	if (target != NULL)
		log_warning("snapshot_goes_unsent",
		            "job=%s id=%s target=%s waiting=%zu reason=\"the target has no copy, and %s\"",
		            c->options.job->name, entry->id, target, c->plan.n_waiting,
		            c->plan.n_waiting == PRUNE_WAITING_MAX ? "no more may wait for one"
		                                                   : "the disk needs the room");
}

static void remove_going(struct clearing *c, const struct prune_question *q)
{
	AUTO(free) const char **ids = xcalloc(c->plan.n_going, sizeof(ids[0]));
	size_t n = 0;

	for (size_t i = 0; i < c->plan.n; i++) {
		const struct retain_item *item = &c->plan.items[i];

		if (item->kept != 0)
			continue;
		log_info("snapshot_goes", "job=%s id=%s", c->options.job->name, item->entry->id);
		say_unsent(c, q, item->entry);
		ids[n++] = item->entry->id;
	}
	store_remove(c->options.store, ids, n, removed_cb, c);
}

static void accepted_cb(const struct retain_accepted *list, size_t n, void *userdata)
{
	struct clearing *c = userdata;
	const char *targets[CONFIG_TARGETS_MAX];
	const struct prune_question question = {
	    .entries = store_entries(c->options.store),
	    .n = store_n(c->options.store),
	    .rules = &c->options.job->retention,
	    .zone = c->options.job->zone,
	    .corrupt = c->options.corrupt,
	    .accepted = list,
	    .n_accepted = n,
	    .targets = targets,
	    .n_targets = c->options.job->n_targets,
	    .lacking_bytes = find_lacking_bytes(c),
	    .one_more = c->options.one_more,
	};

	for (size_t i = 0; i < c->options.job->n_targets; i++)
		targets[i] = c->options.job->targets[i].name;
	c->accepted = NULL;
	prune_plan(&question, &c->plan);
	if (c->plan.n_going == 0 || c->options.only_look)
		finish(c, 0, "");
	else
		remove_going(c, &question);
}

struct clearing *clearing_start(const struct clearing_options *options, clearing_done_fn done,
                                void *userdata)
{
	struct clearing *c = NEW0(struct clearing);

	c->options = *options;
	c->done = done;
	c->userdata = userdata;
	c->accepted = accepted_read(&options->accepted, accepted_cb, c);
	return c;
}
