/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Carries out what decide() says, one step after the other until it says "wait", and takes in the
 * answers. vip.c makes one a VIP and gives it etcd and the kernel as struct election_ops; the unit
 * tests give it a simulated world.
 *
 * Invariants: set_state() is the only writer of the state; the address is on the link only in
 * ELECTION_OWNER, as far as the kernel obeys; deadline_us only ever comes from a confirmation of
 * `rev`, counted from its sending, and in ELECTION_OWNER it is the one that the kernel has.
 */
#include "vipd/election.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fsm.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "vipd/timing.h"

/* After handing over to no node in particular, leave the address to others for so long. */
#define AFTER_YIELD_US (3 * US_PER_S)

/* A step may lead to another one at once. More than so many in a row lead nowhere: come back later
 * instead of spinning. */
#define STEPS_MAX 32
#define UNSETTLED_US (100 * US_PER_MS)

static const struct fsm_state states[ELECTION_STATES] = {
    [ELECTION_DOWN] = {"down", FSM_TO(ELECTION_STANDBY)},
    [ELECTION_STANDBY] = {"standby", FSM_TO(ELECTION_DOWN) | FSM_TO(ELECTION_TAKING)},
    [ELECTION_TAKING] = {"taking", FSM_TO(ELECTION_OWNER) | FSM_TO(ELECTION_YIELDING) |
                                       FSM_TO(ELECTION_STANDBY)},
    [ELECTION_OWNER] = {"owner", FSM_TO(ELECTION_TAKING) | FSM_TO(ELECTION_YIELDING) |
                                     FSM_TO(ELECTION_STANDBY)},
    [ELECTION_YIELDING] = {"yielding", FSM_TO(ELECTION_STANDBY)},
};

struct election {
	const struct facts *facts;
	const struct record_node *me;
	const struct election_ops *ops;
	void *ctx;

	enum election_state state;
	int64_t since_us;
	char reason[RECORD_REASON_MAX + 1];

	enum fence_kind fence;
	int64_t next_window_us; /* as configured: what the next swap will record */
	int64_t late_us;
	bool avoid_etcd_leader;
	bool fit;
	char unfit_reason[RECORD_REASON_MAX + 1];

	/* The wish to hand over; cleared when it has been fulfilled. */
	bool leaving;
	char leaving_to[NODECONF_NAME_MAX + 1];
	char leaving_reason[RECORD_REASON_MAX + 1];

	int64_t campaign_after_us;
	int64_t fresh_after_us;

	/* Our own record, from taking on. Its window is what others wait for, so it stays in force
	 * until the record is written anew, whatever is configured meanwhile. */
	int64_t window_us;
	int64_t epoch;
	int64_t rev;
	struct mono_moment take_at;
	int64_t deadline_us;
	/* The last swap that was tried; its answer may be lost and the record found later. */
	int64_t claim_epoch;
	struct mono_moment claim_take_at;
	int64_t claim_window_us;
	char claim_reason[RECORD_REASON_MAX + 1];

	/* The last record of ours under which we must not hold the address again: its release was sent,
	 * or the address could not be taken off. */
	int64_t spent_rev;

	int64_t beat_sent_us;
	struct decide_calls reads;
	struct decide_calls confirms;
	struct decide_calls takes;
	struct decide_calls releases;
	bool running;
};

static int64_t now_us(const struct election *e)
{
	return e->ops->now(e->ctx).us;
}

static void copy_text(char *to, size_t size, const char *from)
{
	(void) snprintf(to, size, "%s", from);
}

static void forget_calls(struct decide_calls *calls)
{
	/* What is under way stays counted: its answer will come. */
	calls->last_sent_us = 0;
	calls->last_ok = false;
}

/* Entry actions that belong to a state and not to the way it was reached. */
static void enter_state(struct election *e)
{
	switch (e->state) {
	case ELECTION_STANDBY:
		e->rev = 0;
		e->deadline_us = 0;
		e->leaving = false;
		e->leaving_to[0] = '\0';
		forget_calls(&e->takes);
		break;
	case ELECTION_TAKING:
		forget_calls(&e->confirms);
		break;
	case ELECTION_YIELDING:
		forget_calls(&e->releases);
		break;
	case ELECTION_DOWN:
	case ELECTION_OWNER:
	case ELECTION_STATES:
		break;
	}
}

static void set_state(struct election *e, enum election_state to, const char *reason)
{
	enum election_state from = e->state;

	fsm_check(states, ARRAY_SIZE(states), from, to);
	e->state = to;
	e->since_us = now_us(e);
	if (reason != e->reason)
		copy_text(e->reason, sizeof(e->reason), reason);
	enter_state(e);
	e->ops->changed(from, to, e->reason, e->ctx);
}

static void call_sent(struct election *e, struct decide_calls *calls)
{
	calls->in_flight++;
	calls->last_sent_us = now_us(e);
	calls->last_ok = false;
}

static void call_answered(struct decide_calls *calls, bool ok, int64_t sent_us)
{
	assert(calls->in_flight > 0);
	calls->in_flight--;
	/* An older one that was overtaken says nothing about the newest. */
	if (ok && sent_us >= calls->last_sent_us)
		calls->last_ok = true;
}

static const char *why_take(const struct election *e)
{
	const struct facts *f = e->facts;
	bool ours = strcmp(f->owner.instance, e->me->instance) == 0;

	if (!f->has_owner)
		return POLICY_REASON_NO_OWNER;
	if (ours && !f->owner.released)
		return POLICY_REASON_OWN_RECORD;
	if (ours && f->owner.successor[0] != '\0')
		return POLICY_REASON_TAKEN_BACK;
	return f->owner.released ? f->owner.reason : "owner silent";
}

/* What every record of ours says alike: by whom, why, when, and how late our fence may act. */
static void sign_record(const struct election *e, struct record_owner *o, const char *reason)
{
	copy_text(o->node, sizeof(o->node), e->me->node);
	copy_text(o->instance, sizeof(o->instance), e->me->instance);
	copy_text(o->reason, sizeof(o->reason), reason);
	o->late_us = e->late_us;
	o->cluster_id = e->facts->cluster_id;
	o->wall_us = wall_now_us();
	o->stamp_us = now_us(e);
}

/* When we may have the address, should the swap land now. */
static struct mono_moment free_at(const struct election *e, struct mono_moment now)
{
	const struct facts *f = e->facts;
	int64_t window_us, late_us;
	struct mono_moment at = now;

	decide_awaited(f, e->next_window_us, e->late_us, &window_us, &late_us);
	if (!f->has_owner || !f->owner.released)
		at = timing_take_at(f->life, window_us, late_us);
	/* Not even `released` says anything of an owner that etcd has forgotten. */
	return timing_later(at, f->former_until);
}

static void take(struct election *e)
{
	const struct facts *f = e->facts;
	struct election_claim claim = {.owner_rev = f->owner_rev, .beat_rev = f->beat_rev};
	struct record_owner *o = &claim.record;
	struct mono_moment now = e->ops->now(e->ctx);

	e->claim_take_at = free_at(e, now);
	sign_record(e, o, why_take(e));
	o->epoch = f->owner.epoch + 1;
	o->window_us = e->next_window_us;
	/* Should we die now, others wait by this record alone, and the owner before us may answer for
	 * longer than that, if its window was much longer than ours. */
	o->late_us =
	    MAX(o->late_us, timing_over_us(e->claim_take_at, now) - now.us - o->window_us + US_PER_MS);

	e->claim_window_us = o->window_us;
	e->claim_epoch = o->epoch;
	copy_text(e->claim_reason, sizeof(e->claim_reason), o->reason);
	call_sent(e, &e->takes);
	e->ops->take(&claim, e->ctx);
}

/* The record is ours by our last swap. deadline_us: F if that swap's answer gives one, else 0. */
static void become_taker(struct election *e, int64_t rev, int64_t window_us, int64_t deadline_us)
{
	e->rev = rev;
	e->epoch = e->claim_epoch;
	e->window_us = window_us;
	e->take_at = e->claim_take_at;
	e->deadline_us = deadline_us;
	set_state(e, ELECTION_TAKING, e->claim_reason);
}

/*
 * A swap of ours has landed, unheard. It may have been an earlier one than the last, with the same
 * guards but sent before and recording another window: believe the record, and hold nothing before
 * a confirmation.
 */
static void resume(struct election *e)
{
	become_taker(e, e->facts->owner_rev, e->facts->owner.window_us, 0);
}

static void hold(struct election *e)
{
	int r = e->ops->hold(e->deadline_us, e->ctx);

	if (r != 0) {
		/* It may work with the next confirmation (a link that is being set up); if it does not, a
		 * node that can should have it. */
		e->deadline_us = 0;
		election_yield(e, "", "address could not be added");
		return;
	}
	set_state(e, ELECTION_OWNER, e->reason);
}

static void yield(struct election *e)
{
	const char *reason = e->leaving ? e->leaving_reason : e->unfit_reason;
	int r;

	/* Also from taking, where it is not on the link: `released` must never rest on an assumption.
	 */
	r = e->ops->drop(true, e->ctx);
	/* Behind a successor that was named, the rank decides (decide.c). */
	e->campaign_after_us = now_us(e) + (e->leaving_to[0] != '\0' ? 0 : AFTER_YIELD_US);
	if (r < 0) {
		/* `released` promises that the address is off. Where the kernel did not say so, the others
		 * wait for our fence, and they can only if we are silent; for twice as long, as their
		 * clocks may be slower than ours. */
		e->spent_rev = e->rev;
		e->campaign_after_us += 2 * (e->window_us + e->late_us);
	}
	set_state(e, ELECTION_YIELDING, reason);
	if (r < 0)
		set_state(e, ELECTION_STANDBY, "address could not be removed");
}

static void release(struct election *e)
{
	struct record_owner o = {.epoch = e->epoch, .window_us = e->window_us, .released = true};

	sign_record(e, &o, e->reason);
	copy_text(o.successor, sizeof(o.successor), e->leaving_to);
	e->spent_rev = e->rev;
	call_sent(e, &e->releases);
	e->ops->release(&o, e->rev, e->ctx);
}

static void step_down(struct election *e, const char *reason)
{
	if (e->state != ELECTION_YIELDING)
		(void) e->ops->drop(true, e->ctx);
	set_state(e, ELECTION_STANDBY, reason);
}

static void expire(struct election *e)
{
	(void) e->ops->drop(false, e->ctx);
	set_state(e, ELECTION_TAKING, "not confirmed within the window");
}

static void perform(struct election *e, enum election_action action)
{
	switch (action) {
	case ELECTION_READ:
		call_sent(e, &e->reads);
		e->ops->read(e->ctx);
		break;
	case ELECTION_TAKE:
		take(e);
		break;
	case ELECTION_BEAT:
		/* What comes of it a read tells. */
		e->beat_sent_us = now_us(e);
		e->fresh_after_us = e->beat_sent_us;
		e->ops->beat(e->ctx);
		break;
	case ELECTION_RESUME:
		resume(e);
		break;
	case ELECTION_CONFIRM:
		call_sent(e, &e->confirms);
		e->ops->confirm(e->rev, e->epoch, e->ctx);
		break;
	case ELECTION_HOLD:
		hold(e);
		break;
	case ELECTION_EXPIRE:
		expire(e);
		break;
	case ELECTION_YIELD:
		yield(e);
		break;
	case ELECTION_RELEASE:
		release(e);
		break;
	case ELECTION_STEP_DOWN:
		step_down(e, e->state == ELECTION_YIELDING ? e->reason : "record taken by another");
		break;
	case ELECTION_LEAVE:
		set_state(e, ELECTION_DOWN, e->unfit_reason);
		break;
	case ELECTION_ENTER:
		set_state(e, ELECTION_STANDBY, "ready");
		break;
	case ELECTION_WAIT:
		break;
	}
}

static struct decision decide_now(const struct election *e)
{
	struct decide_input in = {
	    .state = e->state,
	    .now = e->ops->now(e->ctx),
	    .facts = e->facts,
	    .me = e->me,
	    .avoid_etcd_leader = e->avoid_etcd_leader,
	    .fit = e->fit,
	    .leaving = e->leaving,
	    .window_us = election_window_us(e),
	    .late_us = e->late_us,
	    .worth_us = timing_worth_holding_us(e->fence, election_window_us(e)),
	    .state_since_us = e->since_us,
	    .campaign_after_us = e->campaign_after_us,
	    .fresh_after_us = e->fresh_after_us,
	    .resumable = e->facts->owner.epoch == e->claim_epoch && e->facts->owner_rev != e->spent_rev,
	    .rev = e->rev,
	    .take_at = e->take_at,
	    .deadline_us = e->deadline_us,
	    .beat_sent_us = e->beat_sent_us,
	    .reads = e->reads,
	    .confirms = e->confirms,
	    .takes = e->takes,
	    .releases = e->releases,
	};

	return decide(&in);
}

void election_run(struct election *e)
{
	/* A step may call out to somebody who calls us: the loop below sees what changed anyway. */
	if (e->running)
		return;
	e->running = true;
	for (int steps = 0;; steps++) {
		struct decision d = decide_now(e);

		if (d.action != ELECTION_WAIT && steps == STEPS_MAX) {
			e->ops->unsettled(d.action, e->ctx);
			d = (struct decision){.wake_us = now_us(e) + UNSETTLED_US};
		}
		if (d.action == ELECTION_WAIT) {
			e->ops->wake_at(d.wake_us, e->ctx);
			break;
		}
		perform(e, d.action);
	}
	e->running = false;
}

struct election *election_new(const struct facts *facts, const struct record_node *me,
                              const struct election_ops *ops, void *ctx)
{
	struct election *e = NEW0(struct election);

	e->facts = facts;
	e->me = me;
	e->ops = ops;
	e->ctx = ctx;
	e->since_us = now_us(e);
	copy_text(e->reason, sizeof(e->reason), "starting");
	copy_text(e->unfit_reason, sizeof(e->unfit_reason), "starting");
	return e;
}

void election_free(struct election *e)
{
	free(e);
}

void election_configure(struct election *e, int64_t window_us, enum fence_kind fence,
                        bool avoid_etcd_leader)
{
	e->next_window_us = window_us;
	e->late_us = TIMING_LATE_US;
	e->fence = fence;
	e->avoid_etcd_leader = avoid_etcd_leader;
}

void election_set_fit(struct election *e, bool fit, const char *reason)
{
	e->fit = fit;
	if (!fit)
		copy_text(e->unfit_reason, sizeof(e->unfit_reason), reason);
	election_run(e);
}

void election_not_before(struct election *e, int64_t us)
{
	e->campaign_after_us = MAX(e->campaign_after_us, us);
}

void election_yield(struct election *e, const char *successor, const char *reason)
{
	if (e->state != ELECTION_TAKING && e->state != ELECTION_OWNER)
		return;
	e->leaving = true;
	copy_text(e->leaving_to, sizeof(e->leaving_to), successor);
	copy_text(e->leaving_reason, sizeof(e->leaving_reason), reason);
	election_run(e);
}

void election_adopt(struct election *e, int64_t epoch, int64_t rev, int64_t window_us,
                    int64_t deadline_us)
{
	assert(e->state == ELECTION_DOWN);
	e->fit = true;
	set_state(e, ELECTION_STANDBY, "ready");
	e->rev = rev;
	e->epoch = epoch;
	e->window_us = window_us;
	e->take_at = (struct mono_moment){0};
	e->deadline_us = deadline_us;
	set_state(e, ELECTION_TAKING, POLICY_REASON_KEPT);
	set_state(e, ELECTION_OWNER, e->reason);
}

void election_on_read(struct election *e, bool ok)
{
	call_answered(&e->reads, ok, e->reads.last_sent_us);
	election_run(e);
}

void election_on_take(struct election *e, enum election_verdict verdict, int64_t rev,
                      int64_t sent_us)
{
	call_answered(&e->takes, verdict != ELECTION_UNKNOWN, sent_us);
	if (verdict == ELECTION_DONE && e->state == ELECTION_STANDBY && rev != e->spent_rev)
		become_taker(e, rev, e->claim_window_us, sent_us + e->claim_window_us);
	else if (verdict != ELECTION_DONE)
		/* Somebody was faster, or nobody knows: what we believed of the keys is not enough. */
		e->fresh_after_us = now_us(e);
	election_run(e);
}

static void renew(struct election *e, int64_t deadline_us)
{
	int r;

	if (now_us(e) >= deadline_us)
		return;
	r = e->ops->hold(deadline_us, e->ctx);
	if (r > 0)
		/* As an owner, the deadline is the one that the kernel has. */
		return;
	e->deadline_us = deadline_us;
	if (r < 0)
		/* It is not on the link. It is added again if there is time; if that is refused too,
		 * another node should have it. */
		set_state(e, ELECTION_TAKING, "address could not be renewed");
}

void election_on_confirm(struct election *e, enum election_verdict verdict, int64_t rev,
                         int64_t sent_us)
{
	bool current = rev == e->rev && (e->state == ELECTION_TAKING || e->state == ELECTION_OWNER);

	call_answered(&e->confirms, verdict == ELECTION_DONE, sent_us);
	if (current && verdict == ELECTION_LOST) {
		e->fresh_after_us = now_us(e);
		step_down(e, "record taken by another");
	} else if (current && verdict == ELECTION_DONE && sent_us + e->window_us > e->deadline_us) {
		if (e->state == ELECTION_OWNER)
			renew(e, sent_us + e->window_us);
		else
			e->deadline_us = sent_us + e->window_us;
	}
	election_run(e);
}

void election_on_release(struct election *e, enum election_verdict verdict, int64_t rev)
{
	call_answered(&e->releases, verdict != ELECTION_UNKNOWN, e->releases.last_sent_us);
	if (verdict == ELECTION_LOST && rev == e->rev && e->state == ELECTION_YIELDING) {
		/* An earlier try landed, or another took over: either way it is no longer ours. */
		e->fresh_after_us = now_us(e);
		step_down(e, e->reason);
	}
	election_run(e);
}

void election_on_rewind(struct election *e)
{
	/* Revisions and epochs of the former timeline come again in this one. */
	e->claim_epoch = 0;
	e->spent_rev = 0;
	e->fresh_after_us = now_us(e);
	if (e->state == ELECTION_TAKING || e->state == ELECTION_OWNER || e->state == ELECTION_YIELDING)
		step_down(e, "etcd was rewound");
	election_run(e);
}

void election_check_now(struct election *e)
{
	if (e->state != ELECTION_OWNER || e->confirms.in_flight >= DECIDE_IN_FLIGHT_MANY)
		return;
	call_sent(e, &e->confirms);
	e->ops->confirm(e->rev, e->epoch, e->ctx);
}

void election_renew_hold(struct election *e)
{
	if (e->state != ELECTION_OWNER)
		return;
	renew(e, e->deadline_us);
	election_run(e);
}

enum election_state election_state(const struct election *e)
{
	return e->state;
}

const char *election_state_name(enum election_state state)
{
	return states[state].name;
}

enum policy_cause election_cause(const struct election *e)
{
	return policy_cause_of(e->reason);
}

const char *election_reason(const struct election *e)
{
	return e->reason;
}

int64_t election_since_us(const struct election *e)
{
	return e->since_us;
}

int64_t election_rev(const struct election *e)
{
	return e->rev;
}

int64_t election_epoch(const struct election *e)
{
	return e->epoch;
}

int64_t election_window_us(const struct election *e)
{
	return e->rev != 0 ? e->window_us : e->next_window_us;
}

int64_t election_late_us(const struct election *e)
{
	return e->late_us;
}

int64_t election_deadline_us(const struct election *e)
{
	return e->deadline_us;
}
