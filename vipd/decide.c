/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One function a state, each answering: what next, or when to ask again? No state, no clock, no
 * I/O. Read it beside the proof in docs/architecture.md.
 */
#include "vipd/decide.h"

#include <string.h>

#include "base/macro.h"
#include "base/mono.h"
#include "vipd/policy.h"
#include "vipd/timing.h"

static struct decision wait_until(int64_t us)
{
	return (struct decision){.action = ELECTION_WAIT, .wake_us = us};
}

static struct decision act(enum election_action action)
{
	return (struct decision){.action = action};
}

/* When the next request of this kind is due: after `period_us` while all is well, and after
 * `pace_us` while the newest has no answer. */
static int64_t next_due(const struct decide_calls *calls, int64_t period_us, int64_t pace_us)
{
	if (calls->last_sent_us == 0)
		return 0;
	if (calls->last_ok)
		return calls->last_sent_us + period_us;
	if (calls->in_flight == 0)
		return calls->last_sent_us + MIN(DECIDE_RETRY_US, period_us);
	/* Whatever the deadline of those that hang, the next one does not wait for it. */
	return calls->last_sent_us +
	       (calls->in_flight < DECIDE_IN_FLIGHT_MANY ? pace_us : DECIDE_CROWDED_PACE_US);
}

/* Does the action when it is due, else waits for it or for `other_us`. */
static struct decision when_due(const struct decide_input *in, enum election_action action,
                                int64_t due_us, int64_t other_us)
{
	return in->now.us >= due_us ? act(action) : wait_until(MIN(due_us, other_us));
}

static struct decision read_when_due(const struct decide_input *in, int64_t other_us)
{
	return when_due(in, ELECTION_READ, next_due(&in->reads, DECIDE_PACE_US, DECIDE_PACE_US),
	                other_us);
}

static bool record_is_ours(const struct decide_input *in)
{
	const struct facts *f = in->facts;

	return f->has_owner && !f->owner.released && strcmp(f->owner.instance, in->me->instance) == 0;
}

/* The record that we held was replaced, as far as is known. */
static bool record_is_lost(const struct decide_input *in)
{
	return in->facts->owner_as_of >= in->rev && in->facts->owner_rev != in->rev;
}

void decide_awaited(const struct facts *f, int64_t own_window_us, int64_t own_late_us,
                    int64_t *ret_window_us, int64_t *ret_late_us)
{
	/* Kept when the record is deleted: its writer may still hold the address. */
	*ret_window_us = f->owner.window_us != 0 ? f->owner.window_us : own_window_us;
	*ret_late_us = f->owner.window_us != 0 ? f->owner.late_us : own_late_us;
}

/*
 * The address is off and was said to be: no need to wait. The named one goes first; if it does not
 * come, all others by rank, the one that gave it away among them. Where none was named, that one
 * goes last.
 */
static struct decision standby_released(const struct decide_input *in)
{
	const struct facts *f = in->facts;
	const char *skip = f->owner.successor[0] != '\0' ? f->owner.successor : f->owner.node;
	int64_t delay_us =
	    (int64_t) policy_rank(f, in->me, skip, in->avoid_etcd_leader) * DECIDE_RANK_DELAY_US;

	/* A name is a decision: it comes at once, also when we have just given the address away. */
	if (strcmp(f->owner.successor, in->me->node) == 0)
		return act(ELECTION_TAKE);
	if (f->owner.successor[0] != '\0')
		delay_us += DECIDE_SUCCESSOR_GRACE_US;
	return when_due(in, ELECTION_TAKE, MAX(f->life.us + delay_us, in->campaign_after_us),
	                MONO_NEVER);
}

/*
 * Nobody may have stopped answering. Silence counts only while our own quorum reads succeed, and
 * only after they have for as long as a live owner needs to confirm: else every stall of etcd would
 * end with a race between the owner's next confirmation and our swap.
 */
static struct decision standby_silent(const struct decide_input *in)
{
	const struct facts *f = in->facts;
	const char *silent_node = f->has_owner ? f->owner.node : NULL;
	int64_t window_us, late_us, overdue_us, suspect_us, take_us;

	decide_awaited(f, in->window_us, in->late_us, &window_us, &late_us);
	overdue_us = timing_overdue_us(window_us);
	suspect_us = f->life.us + overdue_us + overdue_us / 2;
	if (in->now.us < suspect_us)
		return wait_until(suspect_us);

	take_us =
	    timing_silent_at_us(f->life.us, window_us) +
	    (int64_t) policy_rank(f, in->me, silent_node, in->avoid_etcd_leader) * DECIDE_RANK_DELAY_US;
	if (f->quorum_since_us == MONO_NEVER)
		return read_when_due(in, MONO_NEVER);
	take_us = MAX(take_us, f->quorum_since_us + overdue_us + DECIDE_PACE_US);
	take_us = MAX(take_us, in->campaign_after_us);
	/* An owner that etcd refuses puts goes on without a beat: its silence says nothing. */
	if (f->owner_rev != 0 && f->beat_rev == 0)
		return when_due(in, ELECTION_BEAT, MAX(take_us, in->beat_sent_us + DECIDE_CROWDED_PACE_US),
		                MONO_NEVER);
	/* The last word of etcd must be fresh. */
	if (in->now.us >= take_us && in->now.us - f->quorum_last_us < 2 * DECIDE_PACE_US)
		return act(ELECTION_TAKE);
	return read_when_due(in, in->now.us < take_us ? take_us : MONO_NEVER);
}

/* A swap that landed behind us would leave the address to nobody for a whole window: hear what
 * became of it, and if it is ours, hand it over. */
static struct decision standby_not_fit(const struct decide_input *in)
{
	bool fresh = in->facts->known && in->facts->quorum_last_us >= in->fresh_after_us;

	if (fresh && record_is_ours(in) && in->resumable)
		return act(ELECTION_RESUME);
	if (in->takes.in_flight > 0)
		return read_when_due(in, MONO_NEVER);
	return act(ELECTION_LEAVE);
}

static struct decision decide_standby(const struct decide_input *in)
{
	const struct facts *f = in->facts;

	if (!in->fit)
		return standby_not_fit(in);
	if (!f->known || f->quorum_last_us < in->fresh_after_us)
		return read_when_due(in, MONO_NEVER);
	if (record_is_ours(in) && in->resumable)
		return act(ELECTION_RESUME);
	if (!in->me->eligible)
		return wait_until(MONO_NEVER);
	if (in->takes.in_flight > 0)
		/* It may have landed although its answer is lost: look. */
		return read_when_due(in, MONO_NEVER);
	if (in->takes.last_sent_us != 0 && in->now.us < in->takes.last_sent_us + DECIDE_RETRY_US)
		return wait_until(in->takes.last_sent_us + DECIDE_RETRY_US);
	if (f->has_owner && f->owner.released)
		return standby_released(in);
	if (record_is_ours(in))
		/*
		 * From before a restart, or we tried to release it and never heard whether we did. A
		 * release may still be on its way and would fit the record as it stands: write it anew, so
		 * that its revision, the guard of everything, is one that nothing old can fit.
		 */
		return when_due(in, ELECTION_TAKE, in->campaign_after_us, MONO_NEVER);
	return standby_silent(in);
}

static struct decision confirm_when_due(const struct decide_input *in, int64_t other_us)
{
	int64_t period_us = timing_confirm_period_us(in->window_us);
	int64_t left_us = in->deadline_us - in->now.us;
	bool urgent = left_us <= in->window_us / 2 && left_us > -in->window_us;
	int64_t pace_us =
	    urgent ? MIN(DECIDE_URGENT_PACE_US, period_us) : MIN(DECIDE_PACE_US, 2 * period_us);

	return when_due(in, ELECTION_CONFIRM, next_due(&in->confirms, period_us, pace_us), other_us);
}

/* When the fence of the owner before has acted, by the clock of now.us as far as it can be told;
 * later than that: it may not have. */
static int64_t fence_over_us(const struct decide_input *in)
{
	return timing_over_us(in->take_at, in->now);
}

static struct decision decide_taking(const struct decide_input *in)
{
	int64_t over_us = fence_over_us(in);

	if (record_is_lost(in))
		return act(ELECTION_STEP_DOWN);
	if (!in->fit || in->leaving)
		return act(ELECTION_YIELD);
	if (in->now.us >= over_us && in->deadline_us - in->now.us > in->worth_us)
		return act(ELECTION_HOLD);
	return confirm_when_due(in, in->now.us < over_us ? over_us : MONO_NEVER);
}

static struct decision decide_owner(const struct decide_input *in)
{
	if (record_is_lost(in))
		return act(ELECTION_STEP_DOWN);
	if (in->now.us >= in->deadline_us)
		return act(ELECTION_EXPIRE);
	if (!in->fit || in->leaving)
		return act(ELECTION_YIELD);
	return confirm_when_due(in, in->deadline_us);
}

static struct decision decide_yielding(const struct decide_input *in)
{
	int64_t over_us = fence_over_us(in);
	/* Others take it without our word once it has been silent for so long: no use to go on. */
	int64_t give_up_us = MAX(in->state_since_us, over_us) + in->window_us + in->late_us;
	/* `released` means that nobody has it, and from whom we took it may still. */
	int64_t due_us = MAX(next_due(&in->releases, DECIDE_PACE_US, DECIDE_PACE_US), over_us);

	if (record_is_lost(in) || in->now.us >= give_up_us)
		return act(ELECTION_STEP_DOWN);
	return when_due(in, ELECTION_RELEASE, due_us, give_up_us);
}

struct decision decide(const struct decide_input *in)
{
	switch (in->state) {
	case ELECTION_DOWN:
		return in->fit ? act(ELECTION_ENTER) : wait_until(MONO_NEVER);
	case ELECTION_STANDBY:
		return decide_standby(in);
	case ELECTION_TAKING:
		return decide_taking(in);
	case ELECTION_OWNER:
		return decide_owner(in);
	case ELECTION_YIELDING:
		return decide_yielding(in);
	case ELECTION_STATES:
		break;
	}
	return wait_until(MONO_NEVER);
}
