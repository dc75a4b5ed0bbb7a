/* SPDX-License-Identifier: Apache-2.0 */
/* Rolling back is a settling that goes on past what the kernel refuses. */
#include "netconf/change/undo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/mono.h"
#include "netconf/change/beside.h"
#include "netconf/change/statedir.h"

struct undo {
	struct kernel *kernel;
	struct ledger *ledger;
	struct model *before;
	struct plan *plan;
	json_t *beside;
	struct settle *settle;
	settle_done_fn done;
	void *userdata;
};

void undo_free(struct undo *undo)
{
	if (undo == NULL)
		return;
	settle_free(undo->settle);
	plan_free(undo->plan);
	model_free(undo->before);
	json_decref(undo->beside);
	free(undo);
}

static int plan_cb(struct plan **ret_plan, void *userdata)
{
	const struct undo *undo = userdata;
	const struct plan_options options = {.management_link = "", .undone = undo->plan};
	AUTO(model_free) struct model *have = NULL;
	int r = kernel_observe(undo->kernel, &have);

	if (r < 0)
		return r;
	owned_judge(ledger_owned(undo->ledger), have);
	*ret_plan = plan_make(undo->before, have, &options);
	return 0;
}

/* The network's own trouble is the one that is told. */
static void undo_beside(const struct undo *undo, struct settle_result *result)
{
	AUTO(free) char *error = NULL;
	int r;

	if (undo->beside == NULL)
		return;
	r = beside_undo(&host_this_machine, undo->beside, true, &error);
	if (r == 0 || result->r < 0)
		return;
	result->r = r;
	(void) snprintf(result->reason, sizeof(result->reason), "%s", error);
}

static void on_settled(const struct settle_result *result, void *userdata)
{
	struct undo *undo = userdata;
	struct settle_result copy = *result;
	settle_done_fn done = undo->done;
	void *done_userdata = undo->userdata;

	undo->settle = NULL;
	undo_beside(undo, &copy);
	undo_free(undo);
	done(&copy, done_userdata);
}

/* What is put back may be ours by the list alone. */
static int will_cb(const struct plan *plan, void *userdata)
{
	const struct undo *undo = userdata;

	ledger_expect_or_warn(undo->ledger, undo->kernel, plan);
	return 0;
}

struct undo *undo_start(struct ev_loop *ev, struct kernel *kernel, struct ledger *ledger,
                        struct model *before, struct plan *plan, json_t *beside,
                        settle_done_fn done, void *userdata)
{
	static const struct settle_ops ops = {.plan = plan_cb, .will = will_cb};
	struct undo *undo = NEW0(struct undo);

	undo->kernel = kernel;
	undo->ledger = ledger;
	undo->before = before;
	undo->plan = plan;
	undo->beside = beside;
	undo->done = done;
	undo->userdata = userdata;
	undo->settle = settle_start(ev, kernel, &ops, true, on_settled, undo);
	return undo;
}

void undo_record(const char *state_dir, const struct checkpoint_state *state,
                 const struct settle_result *result)
{
	struct statedir_outcome outcome = {.ended_wall_us = wall_now_us()};
	int r;

	memcpy(outcome.id, state->id, sizeof(outcome.id));
	memcpy(outcome.reason, state->reason, sizeof(outcome.reason));
	(void) snprintf(outcome.how, sizeof(outcome.how), "%s", phase_name(PHASE_ROLLED_BACK));
	(void) snprintf(outcome.left, sizeof(outcome.left), "%s", result->reason);
	if (result->r < 0)
		(void) log_error_errno(result->r, "rolled_back_in_part", "id=%s left=\"%s\"", outcome.id,
		                       outcome.left);
	else
		log_notice("rolled_back", "id=%s steps=%zu reason=\"%s\"", outcome.id, result->n_done,
		           outcome.reason);
	r = statedir_finish_other(state_dir, &outcome);
	if (r < 0)
		(void) log_error_errno(r, "state_unwritten", "dir=%s", state_dir);
}
