/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One step after the other. Some refusals are no failure, since what was asked for is so already:
 * what goes has gone with something else, and what is put back was never away.
 */
#include "netconf/change/carry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

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

void carry_free(struct carry *carry)
{
	if (carry == NULL)
		return;
	ev_timer_stop(carry->ev, &carry->turn);
	free(carry);
}

static void finish(struct carry *carry)
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

static void again(struct carry *carry, int64_t after_us)
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
			again(carry, CARRIER_POLL_US);
			return;
		}
		if (op->kind != OP_WAIT_CARRIER && !take_step(carry, op)) {
			finish(carry);
			return;
		}
		carry->next++;
	}
	if (carry->next < carry->plan->n_ops)
		again(carry, 0);
	else
		finish(carry);
}

struct carry *carry_start(struct ev_loop *ev, struct kernel *kernel, const struct plan *plan,
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
	again(carry, 0);
	return carry;
}
