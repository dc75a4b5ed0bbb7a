/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transaction_enter() is the one writer of the phase: it asks the table, stops what the old phase
 * had running, writes the new one to the disk, and begins its work (transaction_work()). The way
 * back does not depend on the disk.
 */
#include "netconf/change/transaction.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/boottimer.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "netconf/change/apply.h"
#include "netconf/change/follow.h"
#include "netconf/change/guard.h"
#include "netconf/change/statedir.h"
#include "netconf/change/undo.h"

struct transaction {
	struct transaction_host host;
	char *dir;
	struct checkpoint_state state;
	struct config *config; /* NULL: found, and cannot be read */
	struct model *before;
	struct plan *plan;     /* all steps so far */
	struct beside *beside; /* NULL: found */
	struct probes *probes;
	char management[IFNAMSIZ];
	struct watchman *watchman;
	struct apply *apply;
	bool follow_is_due;
	struct undo *undo;
	ev_timer head_start;
	struct boottimer *deadline; /* goes on while the machine sleeps */
	ev_timer reread;            /* the way back */
	int unreadable;             /* why, 0 or -errno */
};

/* The phase may follow the one before. The reason may be NULL where nothing is wrong. */
static void transaction_enter(struct transaction *t, enum phase next, const char *reason);

/* The end: frees it, then tells the host, whose the configuration is. */
static void transaction_finish(struct transaction *t, struct config *config)
{
	struct transaction_host host = t->host;

	transaction_free(t);
	host.over(config, host.userdata);
}

/* --- what there is to do in each phase --- */

/*
 * What there is to do in each phase of a change: its steps, the leases that it follows, the probes,
 * the way back, which is known from memory unless another process began it.
 */

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
	transaction_enter(t, result->r < 0 ? PHASE_ROLLING_BACK : PHASE_PROBING, result->reason);
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

	transaction_enter(userdata, lost != NULL ? PHASE_ROLLING_BACK : PHASE_AWAITING, reason);
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
	transaction_enter(t, PHASE_HALF_UNDONE, t->state.reason);
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
	transaction_enter(t, PHASE_ROLLED_BACK, "");
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

/* Of the phase that has just begun. */
static void transaction_work(struct transaction *t)
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

DEFINE_AUTO(json_t, json_decref);

#define PREPARED_LIMIT_US (60 * US_PER_S)
#define APPLYING_LIMIT_US (180 * US_PER_S)
#define UNDO_LIMIT_US (180 * US_PER_S)
#define PROBING_SLACK_US (30 * US_PER_S)
/* The answer to whoever asked goes out before the network may go away under it. */
#define HEAD_START_S 0.2

/* --- phases --- */

static int64_t limit_of(const struct transaction *t, enum phase phase)
{
	static const int64_t limits_us[PHASES] = {
	    [PHASE_PREPARED] = PREPARED_LIMIT_US,
	    [PHASE_APPLYING] = APPLYING_LIMIT_US,
	    [PHASE_ROLLING_BACK] = UNDO_LIMIT_US,
	};

	if (phase == PHASE_PROBING)
		return t->config->policy.probe_timeout_us + PROBING_SLACK_US;
	return phase == PHASE_AWAITING ? t->state.confirm_us : limits_us[phase];
}

static void set_deadline(struct transaction *t)
{
	bool is_due = phase_is_watched(t->state.phase) && t->state.phase != PHASE_ROLLING_BACK;

	boottimer_set(t->deadline, is_due ? t->state.deadline_us : MONO_NEVER);
}

static void stop_work(struct transaction *t)
{
	ev_timer_stop(t->host.ev, &t->head_start);
	apply_free(TAKE_PTR(t->apply));
	probes_free(TAKE_PTR(t->probes));
}

static int begin_phase(struct transaction *t)
{
	int r;

	t->state.deadline_us = mono_now_us() + limit_of(t, t->state.phase);
	r = checkpoint_write_state(t->dir, &t->state);
	if (r < 0)
		(void) log_error_errno(r, "state_unwritten", "dir=%s", t->dir);
	set_deadline(t);
	return r;
}

static void transaction_enter(struct transaction *t, enum phase next, const char *reason)
{
	enum phase old = t->state.phase;
	int r;

	phase_check(old, next);
	t->state.phase = next;
	/* Of several attempts to undo it, the first one's is the reason. */
	if (next == PHASE_ROLLING_BACK && t->state.reason[0] == '\0')
		(void) snprintf(t->state.reason, sizeof(t->state.reason), "%s", reason);
	if (next == PHASE_ROLLING_BACK || next == PHASE_AWAITING)
		stop_work(t);
	log_notice("net_phase", "id=%s old=%s new=%s reason=\"%s\"", t->state.id, phase_name(old),
	           phase_name(next), reason != NULL ? reason : "");
	r = begin_phase(t);
	/* Whoever came after us would not know: what cannot be written down is not done. */
	if (r < 0 && next < PHASE_CONFIRMED)
		transaction_enter(t, PHASE_ROLLING_BACK, "the state directory cannot be written");
	else
		transaction_work(t);
}

static void deadline_cb(void *userdata)
{
	struct transaction *t = userdata;

	transaction_enter(t, PHASE_ROLLING_BACK,
	                  t->state.phase == PHASE_AWAITING ? "nobody confirmed it in time"
	                                                   : "it took too long");
}

/* --- the guard --- */

static void head_start_timer_cb(struct ev_loop *ev UNUSED, ev_timer *timer, int revents UNUSED)
{
	transaction_enter(CONTAINER_OF(timer, struct transaction, head_start), PHASE_APPLYING, "");
}

static void on_watched(void *userdata)
{
	struct transaction *t = userdata;

	if (t->state.phase != PHASE_PREPARED)
		return;
	ev_timer_set(&t->head_start, HEAD_START_S, 0.);
	ev_timer_start(t->host.ev, &t->head_start);
	t->host.ready(t->host.userdata);
}

static void on_unwatched(void *userdata)
{
	struct transaction *t = userdata;

	(void) transaction_abandon(t, "no guard can be started");
}

static void watch(struct transaction *t, bool is_found)
{
	static const struct watchman_ops ops = {on_watched, on_unwatched};

	t->watchman = watchman_start(t->host.ev, t->host.program, t->host.state_dir, t->state.id,
	                             is_found, &ops, t);
}

/* --- begin and end --- */

static int new_transaction(const struct transaction_host *host,
                           struct transaction **ret_transaction)
{
	AUTO(transaction_free) struct transaction *t = NEW0(struct transaction);
	int r;

	t->host = *host;
	t->dir = statedir_path(host->state_dir, STATEDIR_TRANSACTION);
	ev_timer_init(&t->head_start, head_start_timer_cb, 0., 0.);
	ev_timer_init(&t->reread, reread_timer_cb, REREAD_S, 0.);
	r = boottimer_new(host->ev, deadline_cb, t, &t->deadline);
	if (r < 0)
		return r;
	*ret_transaction = TAKE_PTR(t);
	return 0;
}

/* For people to read aloud and to type, and not that of any earlier one. */
static void make_id(char ret_id[static CHECKPOINT_ID_MAX])
{
	uint32_t number = (uint32_t) wall_now_us();

	(void) !getrandom(&number, sizeof(number), GRND_NONBLOCK);
	(void) snprintf(ret_id, CHECKPOINT_ID_MAX, "%08x", number);
}

int transaction_begin(const struct transaction_host *host, struct transaction_parts *parts,
                      struct transaction **ret_transaction)
{
	AUTO(transaction_free) struct transaction *t = NULL;
	AUTO(free) char *text = TAKE_PTR(parts->text);
	json_t *beside;
	int r = new_transaction(host, &t);

	if (r < 0)
		return r;
	t->config = TAKE_PTR(parts->config);
	t->before = TAKE_PTR(parts->before);
	t->plan = TAKE_PTR(parts->plan);
	t->beside = TAKE_PTR(parts->beside);
	t->probes = TAKE_PTR(parts->probes);
	(void) snprintf(t->management, sizeof(t->management), "%s", parts->management);
	make_id(t->state.id);
	r = checkpoint_kernel(t->state.kernel);
	if (r < 0)
		return r;
	t->state.phase = PHASE_PREPARED;
	t->state.confirm_us = parts->confirm_us;
	t->state.began_wall_us = wall_now_us();
	t->state.began_us = mono_now_us();
	t->state.deadline_us = mono_now_us() + PREPARED_LIMIT_US;
	beside = beside_to_json(t->beside);
	r = checkpoint_make(t->dir, &t->state, t->before, t->plan, beside, text);
	json_decref(beside);
	if (r < 0)
		return r;
	/* The steps that are carried out are added as they come. */
	plan_free(t->plan);
	t->plan = NEW0(struct plan);
	set_deadline(t);
	watch(t, false);
	*ret_transaction = TAKE_PTR(t);
	return 0;
}

static int load_text(const struct transaction *t, struct config **ret_config)
{
	AUTO(free) char *text = NULL;
	int r = checkpoint_read_config(t->dir, &text);

	if (r < 0)
		return r;
	return config_load_text("the confirmed configuration", text, strlen(text), NULL, NULL, NULL,
	                        ret_config);
}

/* With all of it leases go on to be followed; without, it may be confirmed or undone. */
static void load_for_leases(struct transaction *t)
{
	AUTO(config_free) struct config *config = NULL;
	AUTO(json_decref) json_t *json = NULL;
	int r = load_text(t, &config);

	if (r == 0 && config->n_dhcps == 0)
		return;
	if (r == 0)
		r = checkpoint_read_beside(t->dir, &json);
	if (r == 0)
		r = beside_from_json(&host_this_machine, json, &t->beside);
	if (r == 0)
		r = checkpoint_read(t->dir, &t->before, &t->plan);
	if (r == 0)
		t->config = TAKE_PTR(config);
	else
		(void) log_error_errno(r, "leases_not_followed", "dir=%s", t->dir);
}

/* With what another process has left. */
static void go_on(struct transaction *t)
{
	switch (t->state.phase) {
	case PHASE_PREPARED:
	case PHASE_APPLYING:
	case PHASE_PROBING:
		transaction_enter(t, PHASE_ROLLING_BACK, "netconf ended in the middle of it");
		break;
	case PHASE_HALF_UNDONE:
		transaction_enter(t, PHASE_ROLLING_BACK, "netconf was started anew");
		break;
	case PHASE_ROLLING_BACK:
		(void) begin_phase(t);
		transaction_work(t);
		break;
	case PHASE_AWAITING:
		load_for_leases(t);
		set_deadline(t);
		transaction_follow(t);
		break;
	case PHASE_CONFIRMED:
	case PHASE_ROLLED_BACK:
	case PHASES:
		break;
	}
}

struct transaction *transaction_resume(const struct transaction_host *host,
                                       const struct checkpoint_state *state)
{
	AUTO(transaction_free) struct transaction *t = NULL;
	int r = new_transaction(host, &t);

	if (r < 0) {
		(void) log_error_errno(r, "timer_failed", "id=%s", state->id);
		abort(); /* for want of descriptors; whoever restarts us closes them all */
	}
	t->state = *state;
	log_notice("resumed", "id=%s phase=%s", state->id, phase_name(state->phase));
	watch(t, true);
	go_on(t);
	return TAKE_PTR(t);
}

void transaction_free(struct transaction *t)
{
	if (t == NULL)
		return;
	ev_timer_stop(t->host.ev, &t->head_start);
	boottimer_free(t->deadline);
	ev_timer_stop(t->host.ev, &t->reread);
	watchman_free(t->watchman);
	apply_free(t->apply);
	undo_free(t->undo);
	probes_free(t->probes);
	plan_free(t->plan);
	beside_free(t->beside);
	model_free(t->before);
	config_free(t->config);
	free(t->dir);
	free(t);
}

int transaction_confirm(struct transaction *t)
{
	struct checkpoint_state confirmed = t->state;
	struct config *config = NULL;
	int r;

	if (!phase_allows(t->state.phase, PHASE_CONFIRMED))
		return -EINVAL;
	r = load_text(t, &config);
	if (r < 0)
		return r;
	/* This file is the moment from which on it stays, whatever dies. */
	confirmed.phase = PHASE_CONFIRMED;
	r = checkpoint_write_state(t->dir, &confirmed);
	if (r < 0) {
		config_free(config);
		return r;
	}
	log_notice("net_phase", "id=%s old=%s new=%s reason=\"\"", t->state.id,
	           phase_name(t->state.phase), phase_name(confirmed.phase));
	t->state = confirmed;
	set_deadline(t);
	r = statedir_finish_confirmed(t->host.state_dir, &t->state);
	if (r < 0)
		(void) log_error_errno(r, "confirmation_unfinished",
		                       "reason=\"the next start finishes it\"");
	transaction_finish(t, config);
	return 0;
}

int transaction_abandon(struct transaction *t, const char *reason)
{
	if (!phase_allows(t->state.phase, PHASE_ROLLING_BACK))
		return -EINVAL;
	if (t->watchman == NULL)
		watch(t, false);
	transaction_enter(t, PHASE_ROLLING_BACK, reason);
	return 0;
}

int transaction_discard(struct transaction *t)
{
	struct statedir_outcome outcome = {.ended_wall_us = wall_now_us()};
	int r;

	if (t->state.phase != PHASE_HALF_UNDONE)
		return -EINVAL;
	memcpy(outcome.id, t->state.id, sizeof(outcome.id));
	(void) snprintf(outcome.how, sizeof(outcome.how), "discarded");
	memcpy(outcome.reason, t->state.reason, sizeof(outcome.reason));
	memcpy(outcome.left, t->state.left, sizeof(outcome.left));
	r = statedir_finish_other(t->host.state_dir, &outcome);
	if (r < 0)
		return r;
	log_notice("change_over", "id=%s how=%s left=\"%s\"", outcome.id, outcome.how, outcome.left);
	transaction_finish(t, NULL);
	return 0;
}

const struct checkpoint_state *transaction_state(const struct transaction *t)
{
	return &t->state;
}
