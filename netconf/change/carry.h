/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Carries out the steps of one plan, in their order, on the loop: a wait for a carrier is a timer,
 * and between a few steps others have their turn. What a step that is refused means is the
 * caller's to say: to stop there, or to go on with the rest.
 */

#include <ev.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "netconf/kernel/kernel.h"
#include "netconf/plan/plan.h"

struct carry;

#define CARRY_REASON_MAX (OP_TEXT_MAX + 512)

struct carry_result {
	int r;         /* 0, or the first refusal's -errno */
	size_t n_done; /* steps that the kernel took */
	size_t n_refused;
	char reason[CARRY_REASON_MAX]; /* of the first refusal: the step, and the kernel's words */
};

typedef void (*carry_done_fn)(const struct carry_result *result, void *userdata);

/* The plan and the kernel are borrowed until `done` or carry_free(). `done` is called once, never
 * before this returns, and the handle is gone then. */
struct carry *carry_start(struct ev_loop *ev, struct kernel *kernel, const struct plan *plan,
                          bool go_on, carry_done_fn done, void *userdata);
/* Stops between two steps. */
void carry_free(struct carry *carry);
DEFINE_AUTO(struct carry, carry_free);
