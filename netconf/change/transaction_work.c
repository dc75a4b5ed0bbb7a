/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What there is to do in each phase of a change: its steps, the leases that it follows, the probes,
 * the way back, which is known from memory unless another process began it.
 */
#include "netconf/change/transaction_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "netconf/change/follow.h"

#define REREAD_S 0.5

/* --- applying, and following leases --- */

static struct apply_host apply_host_of(struct transaction *t, settle_done_fn done)
{
	return (struct apply_host){
	    .ev = t->host.ev,
	    .kernel = t->host.kernel,
	    .ledger = t->host.ledger,
	    .clients = t->host.clients,
	    .runtime_dir = t->host.runtime_dir,
	    .dir = t->dir,
	    .config = t->config,
	    .management = t->management,
	    .plan = t->plan,
	    .beside = t->beside,
	    .done = done,
	    .userdata = t,
	};
}

static void on_applied(const struct settle_result *result, void *userdata)
{
	struct transaction *t = userdata;

	t->apply = NULL;
	log_info("carried_out", "id=%s steps=%zu rounds=%u", t->state.id, result->n_done,
	         result->rounds);
	transaction_enter(t, result->r < 0 ? PHASE_FAILED : PHASE_SETTLED, result->reason);
}

static void apply(struct transaction *t)
{
	struct apply_host host = apply_host_of(t, on_applied);

	t->apply = apply_start(&host);
}

static void follow(struct transaction *t);

static void on_followed(const struct settle_result *result, void *userdata)
{
	struct transaction *t = userdata;

	t->apply = NULL;
	follow_tell(result);
	follow(t);
}

/* Not before it has settled; then the probes have judged without. */
static void follow(struct transaction *t)
{
	struct apply_host host = apply_host_of(t, on_followed);

	if (!t->follow_is_due || t->apply != NULL || t->state.phase != PHASE_AWAITING ||
	    t->config == NULL || t->config->n_dhcps == 0)
		return;
	t->follow_is_due = false;
	t->apply = apply_follow(&host);
}

void transaction_follow(struct transaction *t)
{
	t->follow_is_due = true;
	follow(t);
}

/* --- probing --- */

static void on_judged(const char *lost, void *userdata)
{
	/* It goes with the probes. */
	AUTO(free) char *reason = lost != NULL ? xstrdup(lost) : NULL;

	transaction_enter(userdata, lost != NULL ? PHASE_PROBES_BAD : PHASE_PROBES_GOOD, reason);
}

static void probe(struct transaction *t)
{
	AUTO(model_free) struct model *have = NULL;

	if (kernel_observe(t->host.kernel, &have) < 0)
		have = model_new();
	else if (ledger_owned(t->host.ledger) != NULL)
		owned_judge(ledger_owned(t->host.ledger), have);
	probes_judge(t->probes, have, on_judged, t);
}

/* --- the way back --- */

/* The way back is kept, for the operator and for the next start. */
static void give_up(struct transaction *t, const char *left)
{
	(void) snprintf(t->state.left, sizeof(t->state.left), "%s", left);
	log_error(
	    "half_undone",
	    "id=%s left=\"%s\" reason=\"'fairlead net rollback' tries again, 'fairlead net discard' "
	    "gives up\"",
	    t->state.id, left);
	transaction_enter(t, PHASE_GAVE_UP, t->state.reason);
	watchman_free(TAKE_PTR(t->watchman));
}

static void on_undone(const struct settle_result *result, void *userdata)
{
	struct transaction *t = userdata;

	t->undo = NULL;
	if (result->r < 0) {
		give_up(t, result->reason);
		return;
	}
	transaction_enter(t, PHASE_UNDONE, "");
	undo_record(t->host.state_dir, &t->state, result->n_done);
	transaction_finish(t, NULL);
}

static void on_tried(const struct settle_result *result, void *userdata)
{
	struct transaction *t = userdata;

	(void) snprintf(t->state.left, sizeof(t->state.left), "%s", result->reason);
}

static int find_way_back(struct transaction *t, struct undo_parts *ret_parts)
{
	if (t->before == NULL)
		return undo_read(t->dir, &t->state, ret_parts);
	*ret_parts = (struct undo_parts){
	    .dir = t->dir,
	    .before = TAKE_PTR(t->before),
	    .plan = TAKE_PTR(t->plan),
	    .beside = beside_to_json(t->beside),
	    .began_us = t->state.began_us,
	};
	return 0;
}

static void undo(struct transaction *t)
{
	struct undo_parts parts;
	int r = find_way_back(t, &parts);

	if (r < 0) {
		(void) log_error_errno(r, "way_back_unreadable", "dir=%s", t->dir);
		t->unreadable = r;
		ev_timer_start(t->host.ev, &t->reread);
		return;
	}
	t->undo = undo_start(t->host.ev, t->host.kernel, t->host.ledger, &parts, UNDO_TRY_US, on_tried,
	                     on_undone, t);
}

/* What is damaged stays so, and to guess would be to take addresses away. What cannot be read now
 * may be readable in a moment; if it is not by the deadline, the guard tries it in our place. */
static void reread_timer_cb(struct ev_loop *ev UNUSED, ev_timer *timer, int revents UNUSED)
{
	struct transaction *t = CONTAINER_OF(timer, struct transaction, reread);

	if (t->unreadable == -EBADMSG || t->unreadable == -ENOENT)
		give_up(t, UNDO_DAMAGED);
	else
		undo(t);
}

/* --- all of it --- */

void transaction_work_init(struct transaction *t)
{
	ev_timer_init(&t->reread, reread_timer_cb, REREAD_S, 0.);
}

void transaction_work(struct transaction *t)
{
	switch (t->state.phase) {
	case PHASE_APPLYING:
		apply(t);
		break;
	case PHASE_PROBING:
		probe(t);
		break;
	case PHASE_AWAITING:
		follow(t);
		break;
	case PHASE_ROLLING_BACK:
		undo(t);
		break;
	case PHASE_PREPARED:
	case PHASE_HALF_UNDONE:
	case PHASE_CONFIRMED:
	case PHASE_ROLLED_BACK:
	case PHASES:
		break;
	}
}
