/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	LOOKING ──► ASKING ──► READING ──► REMOVING ──► over
 *
 * LOOKING at the target, ASKING etcd's members for alarms, READING what is accepted. Without
 * anything that goes, it is over before REMOVING.
 */
#include "etcdwatch/target/shed.h"

#include <errno.h>
#include <stdlib.h>

#include "base/fsm.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/cluster/view.h"
#include "etcdwatch/target/look.h"
#include "etcdwatch/target/removal.h"

#define LOOK_LIMIT_US (900 * US_PER_S)

enum shed_state {
	SHED_LOOKING,
	SHED_ASKING,
	SHED_READING,
	SHED_REMOVING,
};

static const struct fsm_state states[] = {
    [SHED_LOOKING] = {"looking", FSM_TO(SHED_ASKING)},
    [SHED_ASKING] = {"asking", FSM_TO(SHED_READING)},
    [SHED_READING] = {"reading", FSM_TO(SHED_REMOVING)},
    [SHED_REMOVING] = {"removing", 0},
};

struct shed {
	struct shed_options options;
	enum shed_state state;
	struct look *look;
	struct inventory *there;
	struct view_request *asking;
	bool corrupt;
	struct accepted *accepted;
	struct prune_plan plan;
	struct removal *removal;
	shed_done_fn done;
	void *userdata;
};

static void change_state(struct shed *s, enum shed_state state)
{
	fsm_check(states, ARRAY_SIZE(states), s->state, state);
	s->state = state;
}

void shed_free(struct shed *s)
{
	if (s == NULL)
		return;
	look_free(s->look);
	view_cancel(s->asking);
	accepted_free(s->accepted);
	removal_abandon(s->removal);
	prune_plan_fini(&s->plan);
	inventory_free(s->there);
	free(s);
}

/* Calls out: last act. */
static void finish(struct shed *s, int r, const char *reason, size_t n_removed)
{
	const struct shed_result result = {
	    .r = r, .reason = reason, .there = s->there, .plan = &s->plan, .n_removed = n_removed};

	s->done(&result, s->userdata);
	shed_free(s);
}

/* --- removing --- */

static void removed_cb(int r, const char *reason, size_t n_removed, void *userdata)
{
	struct shed *s = userdata;

	s->removal = NULL;
	finish(s, r, reason, n_removed);
}

static void remove_going(struct shed *s)
{
	AUTO(free)
	const struct catalog_entry **going = xcalloc(s->plan.n_going, sizeof(going[0]));
	struct removal_options options = {
	    .ev = s->options.ev,
	    .unfinished = s->options.unfinished,
	    .target = s->options.target,
	    .worker = s->options.worker,
	    .entries = going,
	};

	change_state(s, SHED_REMOVING);
	for (size_t i = 0; i < s->plan.n; i++) {
		if (s->plan.items[i].kept != 0)
			continue;
		log_info("copy_goes", "job=%s target=%s id=%s", s->options.job->name,
		         s->options.target->name, s->plan.items[i].entry->id);
		going[options.n++] = s->plan.items[i].entry;
	}
	s->removal = removal_start(&options, removed_cb, s);
}

/* --- finding out --- */

static void accepted_cb(const struct retain_accepted *list, size_t n, void *userdata)
{
	struct shed *s = userdata;
	const struct prune_question question = {
	    .entries = inventory_entries(s->there),
	    .n = inventory_n(s->there),
	    .untrusted = inventory_untrusted(s->there),
	    .rules = &s->options.target->retention,
	    .zone = s->options.job->zone,
	    .corrupt = s->corrupt,
	    .accepted = list,
	    .n_accepted = n,
	    .only_node = s->options.job->taker == CONFIG_TAKER_EVERY_NODE ? s->options.node : NULL,
	};

	s->accepted = NULL;
	prune_plan(&question, &s->plan);
	if (s->plan.n_going == 0 || s->options.only_look)
		finish(s, 0, "", 0);
	else
		remove_going(s);
}

static void view_cb(const struct view *view, void *userdata)
{
	struct shed *s = userdata;

	s->asking = NULL;
	s->corrupt = doubt_stands(s->options.doubt, view);
	change_state(s, SHED_READING);
	s->accepted = accepted_read(&s->options.accepted, accepted_cb, s);
}

static void looked_cb(struct inventory *inventory, const char *code UNUSED, const char *reason,
                      void *userdata)
{
	struct shed *s = userdata;

	s->look = NULL;
	s->there = inventory;
	if (inventory == NULL) {
		finish(s, -EIO, reason, 0);
		return;
	}
	change_state(s, SHED_ASKING);
	s->asking = view_start(s->options.accepted.etcd, view_cb, s);
}

int shed_start(const struct shed_options *options, shed_done_fn done, void *userdata,
               struct shed **ret_shed)
{
	AUTO(shed_free) struct shed *s = NEW0(struct shed);
	const struct look_options look = {
	    .ev = options->ev,
	    .worker = options->worker,
	    .target = options->target,
	    .job = options->job->name,
	    .cluster_id = options->cluster_id,
	    .limit_us = LOOK_LIMIT_US,
	};
	int r;

	s->options = *options;
	s->done = done;
	s->userdata = userdata;
	r = look_start(&look, looked_cb, s, &s->look);
	if (r < 0)
		return r;
	*ret_shed = TAKE_PTR(s);
	return 0;
}
