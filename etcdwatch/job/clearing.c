/* SPDX-License-Identifier: Apache-2.0 */
/* First what is accepted is read, then it is decided on what is there at that moment. */
#include "etcdwatch/job/clearing.h"

#include <stdlib.h>

#include "base/log.h"
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

static void remove_going(struct clearing *c)
{
	AUTO(free) const char **ids = xcalloc(c->plan.n_going, sizeof(ids[0]));
	size_t n = 0;

	for (size_t i = 0; i < c->plan.n; i++) {
		const struct retain_item *item = &c->plan.items[i];

		if (item->kept != 0)
			continue;
		log_info("snapshot_goes", "job=%s id=%s", c->options.job->name, item->entry->id);
		ids[n++] = item->entry->id;
	}
	store_remove(c->options.store, ids, n, removed_cb, c);
}

static void accepted_cb(const struct retain_accepted *list, size_t n, void *userdata)
{
	struct clearing *c = userdata;
	const struct prune_question question = {
	    .entries = store_entries(c->options.store),
	    .n = store_n(c->options.store),
	    .rules = &c->options.job->retention,
	    .zone = c->options.job->zone,
	    .corrupt = c->options.corrupt,
	    .accepted = list,
	    .n_accepted = n,
	};

	c->accepted = NULL;
	prune_plan(&question, &c->plan);
	if (c->plan.n_going == 0 || c->options.only_look)
		finish(c, 0, "");
	else
		remove_going(c);
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
