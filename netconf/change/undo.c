/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An attempt is a settling that goes on past what the kernel refuses, and then what there is beside
 * the network. What one leaves undone is the next one's.
 */
#include "netconf/change/undo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "netconf/change/beside.h"
#include "netconf/change/statedir.h"
#include "netconf/plan/plan.h"

#define PAUSE_MIN_US US_PER_S
#define PAUSE_MAX_US (8 * US_PER_S)

struct undo {
	struct ev_loop *ev;
	struct kernel *kernel;
	struct ledger *ledger;
	struct undo_parts parts;
	struct settle *settle;
	bool has_looked;
	char missing[IFNAMSIZ]; /* a card that the last look did not find; "" */
	ev_timer again;
	int64_t pause_us, deadline_us;
	size_t n_done; /* steps, of the attempts before */
	settle_done_fn tried, done;
	void *userdata;
};

void undo_parts_fini(struct undo_parts *parts)
{
	plan_free(parts->plan);
	model_free(parts->before);
	json_decref(parts->beside);
	*parts = (struct undo_parts){0};
}

int undo_read(const char *dir, const struct checkpoint_state *state, struct undo_parts *ret_parts)
{
	struct undo_parts parts = {.dir = dir, .began_us = state->began_us};
	int r = checkpoint_read(dir, &parts.before, &parts.plan);

	if (r < 0)
		return r;
	r = checkpoint_read_beside(dir, &parts.beside);
	if (r < 0 && r != -ENOENT && r != -EBADMSG) {
		undo_parts_fini(&parts);
		return r;
	}
	parts.beside_lost = r == -EBADMSG;
	*ret_parts = parts;
	return 0;
}

void undo_free(struct undo *undo)
{
	if (undo == NULL)
		return;
	ev_timer_stop(undo->ev, &undo->again);
	settle_free(undo->settle);
	undo_parts_fini(&undo->parts);
	free(undo);
}

/* What a step of this undoing may drop must not look like taken away by its owner to whoever goes
 * on with it. */
static void look_first(struct undo *undo, const struct model *have)
{
	int r;

	undo->has_looked = true;
	if (!plan_unsettle(undo->parts.plan, have))
		return;
	r = checkpoint_write_plan(undo->parts.dir, undo->parts.plan);
	if (r == 0)
		return;
	(void) log_error_errno(r, "plan_unwritten", "dir=%s", undo->parts.dir);
	r = checkpoint_forget_settled(undo->parts.dir);
	if (r < 0)
		(void) log_error_errno(r, "settled_unforgotten", "dir=%s", undo->parts.dir);
}

/* Of a change that an older version began nobody knows it. */
static uint32_t age_s(const struct undo *undo)
{
	int64_t began_us = undo->parts.began_us;

	return began_us == 0 ? 0 : (uint32_t) ((mono_now_us() - began_us) / US_PER_S);
}

static int plan_cb(struct plan **ret_plan, struct model **ret_have, void *userdata)
{
	struct undo *undo = userdata;
	const struct plan_options options = {
	    .management_link = "",
	    .undone = undo->parts.plan,
	    .undone_age_s = age_s(undo),
	};
	AUTO(model_free) struct model *have = NULL;
	AUTO(model_free) struct model *want = NULL;
	int r = kernel_observe(undo->kernel, &have);

	if (r < 0)
		return r;
	owned_judge(ledger_owned(undo->ledger), have);
	if (!undo->has_looked)
		look_first(undo, have);
	want = wayback_make(undo->parts.before, undo->parts.plan, have, undo->missing);
	*ret_plan = plan_make(want, have, &options);
	*ret_have = TAKE_PTR(have);
	return 0;
}

/* What is put back may be ours by the list alone. */
static int will_cb(const struct plan *plan, const struct model *have, void *userdata)
{
	const struct undo *undo = userdata;

	ledger_expect_or_warn(undo->ledger, have, plan);
	return 0;
}

/* The network's own trouble is the one that is told. */
static void undo_beside(const struct undo *undo, struct settle_result *result)
{
	AUTO(free) char *error = NULL;
	int r;

	if (undo->parts.beside == NULL)
		return;
	r = beside_undo(&host_this_machine, undo->parts.beside, true, &error);
	if (r == 0 || result->r < 0)
		return;
	result->r = r;
	(void) snprintf(result->reason, sizeof(result->reason), "%s", error);
}

static void finish(struct undo *undo, struct settle_result *result)
{
	settle_done_fn done = undo->done;
	void *userdata = undo->userdata;

	undo_free(undo);
	done(result, userdata);
}

static void try_again(struct undo *undo, const struct settle_result *result)
{
	(void) log_warning_errno(result->r, "undo_tried", "left=\"%s\" reason=\"tried again in %d s\"",
	                         result->reason, (int) (undo->pause_us / US_PER_S));
	ev_timer_set(&undo->again, mono_to_ev(undo->pause_us), 0.);
	ev_timer_start(undo->ev, &undo->again);
	undo->pause_us = MIN(2 * undo->pause_us, PAUSE_MAX_US);
	if (undo->tried != NULL)
		undo->tried(result, undo->userdata);
}

static void on_settled(const struct settle_result *settled, void *userdata)
{
	struct undo *undo = userdata;
	struct settle_result result = *settled;

	undo->settle = NULL;
	if (settled->have != NULL)
		ledger_settle(undo->ledger, settled->have, NULL);
	undo->n_done += settled->n_done;
	result.n_done = undo->n_done;
	if (result.r == 0 && undo->missing[0] != '\0') {
		result.r = -ENODEV;
		(void) snprintf(result.reason, sizeof(result.reason), "the link '%s' is not there",
		                undo->missing);
	}
	undo_beside(undo, &result);
	if (result.r == 0 && undo->parts.beside_lost) {
		/* No attempt would know more. */
		result.r = -EBADMSG;
		(void) snprintf(result.reason, sizeof(result.reason),
		                "what was written beside the network cannot be read any more");
		undo->deadline_us = 0;
	}
	if (result.r == 0 || mono_now_us() + undo->pause_us >= undo->deadline_us)
		finish(undo, &result);
	else
		try_again(undo, &result);
}

static void attempt(struct undo *undo)
{
	static const struct settle_ops ops = {.plan = plan_cb, .will = will_cb};

	undo->settle = settle_start(undo->ev, undo->kernel, &ops, true, on_settled, undo);
}

static void again_timer_cb(struct ev_loop *ev UNUSED, ev_timer *timer, int revents UNUSED)
{
	attempt(CONTAINER_OF(timer, struct undo, again));
}

struct undo *undo_start(struct ev_loop *ev, struct kernel *kernel, struct ledger *ledger,
                        const struct undo_parts *parts, int64_t limit_us, settle_done_fn tried,
                        settle_done_fn done, void *userdata)
{
	struct undo *undo = NEW0(struct undo);

	undo->ev = ev;
	undo->kernel = kernel;
	undo->ledger = ledger;
	undo->parts = *parts;
	undo->pause_us = PAUSE_MIN_US;
	undo->deadline_us = mono_now_us() + limit_us;
	undo->tried = tried;
	undo->done = done;
	undo->userdata = userdata;
	ev_timer_init(&undo->again, again_timer_cb, 0., 0.);
	attempt(undo);
	return undo;
}

void undo_record(const char *state_dir, const struct checkpoint_state *state, size_t n_steps)
{
	struct statedir_outcome outcome = {.ended_wall_us = wall_now_us()};
	int r;

	memcpy(outcome.id, state->id, sizeof(outcome.id));
	memcpy(outcome.reason, state->reason, sizeof(outcome.reason));
	(void) snprintf(outcome.how, sizeof(outcome.how), "%s", phase_name(PHASE_ROLLED_BACK));
	log_notice("rolled_back", "id=%s steps=%zu reason=\"%s\"", outcome.id, n_steps, outcome.reason);
	r = statedir_finish_other(state_dir, &outcome);
	if (r < 0)
		(void) log_error_errno(r, "state_unwritten", "dir=%s", state_dir);
}
