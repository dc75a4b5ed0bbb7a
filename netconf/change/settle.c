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

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

/* --- carrying out --- */

/*
 * Carries out the steps of one plan, in their order, on the loop: a wait for a carrier is a timer,
 * and between a few steps others have their turn. What a step that is refused means is the
 * settling's to say: to stop there, or to go on with the rest.
 * Some refusals are no failure, since what was asked for is so already: what goes has gone with
 * something else, and what is put back was never away.
 */

struct carry_result {
	int r;         /* 0, or the first refusal's -errno */
	size_t n_done; /* steps that the kernel took */
	size_t n_refused;
	char reason[SETTLE_REASON_MAX]; /* of the first refusal: the step, and the kernel's words */
};

typedef void (*carry_done_fn)(const struct carry_result *result, void *userdata);

#define STEPS_A_TURN 32
#define CARRIER_POLL_US (20 * US_PER_MS)

struct carry {
	struct ev_loop *ev;
	struct kernel *kernel;
	const struct plan *plan;
	bool go_on;
	carry_done_fn done;
	void *userdata;
	ev_timer turn;
	size_t next;
	int64_t carrier_deadline_us; /* 0: not waiting */
	struct carry_result result;
};

static void carry_free(struct carry *carry)
{
	if (carry == NULL)
		return;
	ev_timer_stop(carry->ev, &carry->turn);
	free(carry);
}

static void carry_end(struct carry *carry)
{
	struct carry_result result = carry->result;
	carry_done_fn done = carry->done;
	void *userdata = carry->userdata;

	carry_free(carry);
	done(&result, userdata);
}

static bool is_deletion(enum op_kind kind)
{
	return kind == OP_LINK_DELETE || kind == OP_ADDRESS_DELETE || kind == OP_ROUTE_DELETE ||
	       kind == OP_RULE_DELETE;
}

static bool is_so_already(const struct op *op, int r)
{
	if (is_deletion(op->kind))
		return r == -ENODEV || r == -ESRCH || r == -EADDRNOTAVAIL || r == -ENOENT;
	return op->is_restoring && r == -EEXIST;
}

/* What the operator may do about it, where the kernel's words do not lead there. */
static const char *advice(const struct op *op, int r)
{
	bool is_route = op->kind == OP_ROUTE_ADD || op->kind == OP_ROUTE_REPLACE;

	if (is_route && addr_is_set(&op->route.gateway) && !op->route.onlink &&
	    (r == -ENETUNREACH || r == -EHOSTUNREACH))
		return " (no network of the link has this gateway: 'onlink: true' says that it is there)";
	if (op->kind == OP_LINK_CREATE && r == -EOPNOTSUPP)
		return " (the kernel was built without such links, or lacks a module)";
	return "";
}

/* True to go on with the next step. */
static bool take_step(struct carry *carry, const struct op *op)
{
	struct carry_result *result = &carry->result;
	char text[OP_TEXT_MAX];
	int r = kernel_carry_out(carry->kernel, op);

	log_debug("step", "op=\"%s\" r=%d", op_format(op, text), r);
	if (r == 0 || is_so_already(op, r)) {
		result->n_done++;
		return true;
	}
	result->n_refused++;
	log_warning_errno(r, "step_refused", "op=\"%s\" kernel=\"%s\"", op_format(op, text),
	                  kernel_error_text(carry->kernel));
	if (result->r == 0) {
		result->r = r;
		(void) snprintf(result->reason, sizeof(result->reason), "%s: %s%s", op_format(op, text),
		                kernel_error_text(carry->kernel), advice(op, r));
	}
	return carry->go_on;
}

/* True if the carrier is there, and what LACP has to say, or if it will not come. */
static bool has_carrier(struct carry *carry, const struct op *op)
{
	int64_t now_us = mono_now_us();

	if (carry->carrier_deadline_us == 0)
		carry->carrier_deadline_us = now_us + op->wait_ms * US_PER_MS;
	if (kernel_carries(carry->kernel, op->link.name) == 0 && now_us < carry->carrier_deadline_us)
		return false;
	carry->carrier_deadline_us = 0;
	carry->result.n_done++;
	return true;
}

static void carry_again(struct carry *carry, int64_t after_us)
{
	ev_timer_set(&carry->turn, mono_to_ev(after_us), 0.);
	ev_timer_start(carry->ev, &carry->turn);
}

static void turn_timer_cb(struct ev_loop *ev UNUSED, ev_timer *timer, int revents UNUSED)
{
	struct carry *carry = CONTAINER_OF(timer, struct carry, turn);

	for (unsigned i = 0; i < STEPS_A_TURN && carry->next < carry->plan->n_ops; i++) {
		const struct op *op = &carry->plan->ops[carry->next];

		if (op->kind == OP_WAIT_CARRIER && !has_carrier(carry, op)) {
			carry_again(carry, CARRIER_POLL_US);
			return;
		}
		if (op->kind != OP_WAIT_CARRIER && !take_step(carry, op)) {
			carry_end(carry);
			return;
		}
		carry->next++;
	}
	if (carry->next < carry->plan->n_ops)
		carry_again(carry, 0);
	else
		carry_end(carry);
}

static struct carry *carry_start(struct ev_loop *ev, struct kernel *kernel, const struct plan *plan,
                                 bool go_on, carry_done_fn done, void *userdata)
{
	struct carry *carry = NEW0(struct carry);

	carry->ev = ev;
	carry->kernel = kernel;
	carry->plan = plan;
	carry->go_on = go_on;
	carry->done = done;
	carry->userdata = userdata;
	ev_timer_init(&carry->turn, turn_timer_cb, 0., 0.);
	carry_again(carry, 0);
	return carry;
}

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

static void settle_end(struct settle *settle, int r)
{
	AUTO(model_free) struct model *have = TAKE_PTR(settle->have);
	AUTO(plan_free) struct plan *plan = TAKE_PTR(settle->plan);
	struct settle_result result = settle->result;
	settle_done_fn done = settle->done;
	void *userdata = settle->userdata;

	result.r = r;
	result.have = have;
	result.left = plan;
	if (r == 0)
		result.reason[0] = '\0';
	settle_free(settle);
	done(&result, userdata);
}

static void settle_again(struct settle *settle, int64_t after_us)
{
	ev_timer_set(&settle->round, mono_to_ev(after_us), 0.);
	ev_timer_start(settle->ev, &settle->round);
}

void settle_hurry(struct settle *settle)
{
	if (!ev_is_active(&settle->round))
		return;
	ev_timer_stop(settle->ev, &settle->round);
	settle_again(settle, 0);
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
			settle_end(settle, carried->r);
			return;
		}
	}
	settle_again(settle, settle->result.rounds == 1 ? 0 : PAUSE_US << settle->result.rounds);
}

/* What is still not as it should be after the last round. */
static void give_up(struct settle *settle)
{
	char text[OP_TEXT_MAX];

	if (settle->result.reason[0] == '\0')
		(void) snprintf(settle->result.reason, sizeof(settle->result.reason),
		                "the kernel took every step, but read back it still takes: %s",
		                op_format(&settle->plan->ops[0], text));
	settle_end(settle, -EAGAIN);
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
			settle_again(settle, PAUSE_US << ++settle->result.rounds);
		else
			settle_end(settle, r);
		return;
	}
	settle->have = have;
	if (settle->plan->n_ops == 0) {
		settle_end(settle, 0);
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
		settle_end(settle, r);
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
	settle_again(settle, 0);
	return settle;
}
