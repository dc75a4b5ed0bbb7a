/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rounds. Between two of them is a pause that grows, because some of what a kernel does after a
 * step (a carrier, an address that is looked for on the link) takes its time.
 */
#include "netconf/change/settle.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

#define PAUSE_US (50 * US_PER_MS)

struct settle {
	struct ev_loop *ev;
	struct kernel *kernel;
	struct settle_ops ops;
	bool go_on;
	settle_done_fn done;
	void *userdata;
	ev_timer round;
	struct plan *plan;
	struct model *have; /* since the last step; NULL: not observed yet */
	struct carry *carry;
	struct settle_result result;
};

void settle_free(struct settle *settle)
{
	if (settle == NULL)
		return;
	ev_timer_stop(settle->ev, &settle->round);
	carry_free(settle->carry);
	plan_free(settle->plan);
	model_free(settle->have);
	free(settle);
}

static void finish(struct settle *settle, int r)
{
	AUTO(model_free) struct model *have = TAKE_PTR(settle->have);
	struct settle_result result = settle->result;
	settle_done_fn done = settle->done;
	void *userdata = settle->userdata;

	result.r = r;
	result.have = have;
	if (r == 0)
		result.reason[0] = '\0';
	settle_free(settle);
	done(&result, userdata);
}

static void again(struct settle *settle, int64_t after_us)
{
	ev_timer_set(&settle->round, mono_to_ev(after_us), 0.);
	ev_timer_start(settle->ev, &settle->round);
}

static void on_carried(const struct carry_result *carried, void *userdata)
{
	struct settle *settle = userdata;

	settle->carry = NULL;
	model_free(TAKE_PTR(settle->have));
	settle->result.n_done += carried->n_done;
	settle->result.is_refused = carried->r < 0;
	if (carried->r < 0) {
		memcpy(settle->result.reason, carried->reason, sizeof(settle->result.reason));
		if (!settle->go_on) {
			finish(settle, carried->r);
			return;
		}
	}
	again(settle, settle->result.rounds == 1 ? 0 : PAUSE_US << settle->result.rounds);
}

/* What is still not as it should be after the last round. */
static void give_up(struct settle *settle)
{
	char text[OP_TEXT_MAX];

	if (settle->result.reason[0] == '\0')
		(void) snprintf(settle->result.reason, sizeof(settle->result.reason),
		                "the kernel took every step, but read back it still takes: %s",
		                op_format(&settle->plan->ops[0], text));
	finish(settle, -EAGAIN);
}

static void round_timer_cb(struct ev_loop *ev UNUSED, ev_timer *timer, int revents UNUSED)
{
	struct settle *settle = CONTAINER_OF(timer, struct settle, round);
	struct model *have = NULL;
	int r;

	plan_free(TAKE_PTR(settle->plan));
	r = settle->ops.plan(&settle->plan, &have, settle->userdata);
	if (r < 0) {
		(void) snprintf(settle->result.reason, sizeof(settle->result.reason),
		                "the network cannot be observed: %s", kernel_error_text(settle->kernel));
		/* A network that does not hold still may do so in a moment. */
		if (settle->go_on && settle->result.rounds < SETTLE_ROUNDS_MAX)
			again(settle, PAUSE_US << ++settle->result.rounds);
		else
			finish(settle, r);
		return;
	}
	settle->have = have;
	if (settle->plan->n_ops == 0) {
		finish(settle, 0);
		return;
	}
	if (settle->result.rounds == SETTLE_ROUNDS_MAX) {
		give_up(settle);
		return;
	}
	settle->result.rounds++;
	r = settle->ops.will != NULL ? settle->ops.will(settle->plan, have, settle->userdata) : 0;
	if (r < 0) {
		(void) snprintf(settle->result.reason, sizeof(settle->result.reason),
		                "the plan cannot be written down: %s", strerror(-r));
		finish(settle, r);
		return;
	}
	settle->carry =
	    carry_start(settle->ev, settle->kernel, settle->plan, settle->go_on, on_carried, settle);
}

struct settle *settle_start(struct ev_loop *ev, struct kernel *kernel, const struct settle_ops *ops,
                            bool go_on, settle_done_fn done, void *userdata)
{
	struct settle *settle = NEW0(struct settle);

	settle->ev = ev;
	settle->kernel = kernel;
	settle->ops = *ops;
	settle->go_on = go_on;
	settle->done = done;
	settle->userdata = userdata;
	ev_timer_init(&settle->round, round_timer_cb, 0., 0.);
	again(settle, 0);
	return settle;
}
