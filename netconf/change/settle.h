/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Until it is so: plan, carry out, read back, and again while something is left to do. That the
 * kernel took a step proves nothing, so only an empty plan made from what is observed afterwards
 * ends it well. The same for a change, for its undoing, and for the repair of drift; they differ in
 * how the next plan is made.
 */

#include <ev.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "netconf/kernel/kernel.h"
#include "netconf/plan/plan.h"

struct settle;

#define SETTLE_ROUNDS_MAX 5
#define SETTLE_REASON_MAX (OP_TEXT_MAX + 512)

struct settle_ops {
	/* Observes, and says what there is and what is left to do. Both are the settling's then. 0 or
	 * -errno. */
	int (*plan)(struct plan **ret_plan, struct model **ret_have, void *userdata);
	/* This is carried out next on what there is: the last moment to write it down. 0, or -errno to
	 * stop before it. May be NULL. */
	int (*will)(const struct plan *plan, const struct model *have, void *userdata);
};

struct settle_result {
	int r;           /* 0: it is as it was asked for */
	size_t n_done;   /* steps that the kernel took, of all rounds */
	unsigned rounds; /* in which there was something to do */
	bool is_refused; /* the kernel refused a step of the last of them */
	const struct plan
	    *left; /* what is still to be done; NULL: it could not be planned. As `have` */
	/* What has come of it. NULL: it could not be observed since the last step. Borrowed until the
	 * callback that is given the result returns. */
	const struct model *have;
	char reason[SETTLE_REASON_MAX];
};

typedef void (*settle_done_fn)(const struct settle_result *result, void *userdata);

/*
 * `go_on`: a refused step is passed over, and tried again in the next round. Else the first one
 * ends it. `done` is called once, never before this returns, and the handle is gone then.
 */
struct settle *settle_start(struct ev_loop *ev, struct kernel *kernel, const struct settle_ops *ops,
                            bool go_on, settle_done_fn done, void *userdata);
/* Something has changed: the next round begins now, if the steps of this one are done. */
void settle_hurry(struct settle *settle);
void settle_free(struct settle *settle);
DEFINE_AUTO(struct settle, settle_free);
