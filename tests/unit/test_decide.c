/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The next step in each state, one case a line of the protocol: what is done, or until when it
 * waits. Times are milliseconds around a NOW at which the owner has just fallen silent for its
 * whole window (3 s, so that its period is 375 ms), and etcd has answered for long enough.
 */
#include "vipd/decide.h"

#include "base/macro.h"
#include "base/mono.h"
#include "tests/unit/check.h"
#include "vipd/election.h"
#include "vipd/timing.h"

#define MS(n) (INT64_C(n) * US_PER_MS)
#define NOW MS(1000000)
#define AGO(ms) (NOW - MS(ms))
#define IN(ms) (NOW + MS(ms))
/* The clock that nobody slews was begun at another time. */
#define RAW_NOW MS(600000)
#define RAW_AGO(ms) (RAW_NOW - MS(ms))
#define RAW_IN(ms) (RAW_NOW + MS(ms))
#define WINDOW MS(3000)
#define BOTH_IN(ms) ((struct mono_moment){IN(ms), RAW_IN(ms)})
#define NEVER MONO_NEVER

struct scene {
	struct facts facts;
	struct record_node me;
	struct decide_input in;
};

typedef void (*change_fn)(struct scene *s);

struct decide_case {
	const char *name;
	change_fn change;
	enum election_action want;
	int64_t wake_us; /* with ELECTION_WAIT */
};

static void add_node(struct scene *s, const char *name, int priority)
{
	struct record_node *n = &s->facts.nodes[s->facts.n_nodes++];

	*n = (struct record_node){.priority = priority, .health = HEALTH_GOOD, .eligible = true};
	(void) snprintf(n->node, sizeof(n->node), "%s", name);
	(void) snprintf(n->instance, sizeof(n->instance), "i-%s", name);
}

/* Node "b" looks at owner "a", whose record is at revision 40 and last beat at 50. */
static void set_scene(struct scene *s, enum election_state state)
{
	memset(s, 0, sizeof(*s));
	facts_init(&s->facts);
	add_node(s, "a", 100);
	add_node(s, "b", 100);
	s->me = s->facts.nodes[1];
	s->facts.known = true;
	s->facts.has_owner = true;
	(void) strcpy(s->facts.owner.node, "a");
	(void) strcpy(s->facts.owner.instance, "i-a");
	s->facts.owner.epoch = 7;
	s->facts.owner.window_us = WINDOW;
	s->facts.owner.late_us = TIMING_LATE_US;
	s->facts.owner_rev = 40;
	s->facts.beat_rev = 50;
	s->facts.owner_as_of = s->facts.beat_as_of = 60;
	s->facts.life.us = AGO(3000);
	s->facts.quorum_since_us = AGO(60000);
	s->facts.quorum_last_us = AGO(200);
	s->in = (struct decide_input){
	    .state = state,
	    .now = {.us = NOW, .raw_us = RAW_NOW},
	    .facts = &s->facts,
	    .me = &s->me,
	    .fit = true,
	    .window_us = WINDOW,
	    .late_us = TIMING_LATE_US,
	    .worth_us = MS(750),
	    .state_since_us = AGO(10000),
	    .reads = {.last_sent_us = AGO(200), .last_ok = true},
	};
}

static void run_cases(enum election_state state, change_fn base, const struct decide_case *cases,
                      size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct scene s;
		struct decision d;
		bool ok;

		set_scene(&s, state);
		if (base != NULL)
			base(&s);
		if (cases[i].change != NULL)
			cases[i].change(&s);
		d = decide(&s.in);
		ok = CHECK_EQ_INT(d.action, cases[i].want);
		if (cases[i].want == ELECTION_WAIT)
			ok = CHECK_EQ_INT(d.wake_us / US_PER_MS, cases[i].wake_us / US_PER_MS) && ok;
		if (!ok)
			(void) fprintf(stderr, "case: %s: %s\n", election_state_name(state), cases[i].name);
	}
}

#define CHANGE(name, ...)             \
	static void name(struct scene *s) \
	{                                 \
		__VA_ARGS__                   \
	}
#define RUN(state, base, cases) run_cases(state, base, cases, ARRAY_SIZE(cases))

/* --- down --- */

CHANGE(not_fit, s->in.fit = false;)

static const struct decide_case down_cases[] = {
    {"fit", NULL, ELECTION_ENTER, 0},
    {"not fit", not_fit, ELECTION_WAIT, NEVER},
};

/* --- standby, the owner silent --- */

CHANGE(never_read, s->facts.known = false; s->in.reads.last_sent_us = 0;)
CHANGE(never_read_pending, s->facts.known = false; s->in.reads.in_flight = 1;
       s->in.reads.last_ok = false;)
CHANGE(facts_too_old, s->in.fresh_after_us = AGO(199); s->in.reads.last_sent_us = AGO(250);)
CHANGE(facts_just_fresh, s->in.fresh_after_us = AGO(200);)
CHANGE(alive, s->facts.life.us = AGO(500);)
CHANGE(suspect, s->facts.life.us = AGO(1125);)
CHANGE(suspect_read_due, s->facts.life.us = AGO(1125); s->in.reads.last_sent_us = AGO(250);)
CHANGE(nearly_silent, s->facts.life.us = AGO(2900);)
CHANGE(longer_window, s->facts.owner.window_us = MS(5000); s->facts.life.us = AGO(4900);)
CHANGE(longer_window_over, s->facts.owner.window_us = MS(5000); s->facts.life.us = AGO(5000);)
CHANGE(streak_broken, s->facts.quorum_since_us = NEVER; s->in.reads.last_ok = false;)
CHANGE(streak_broken_pending, s->facts.quorum_since_us = NEVER; s->in.reads.last_ok = false;
       s->in.reads.in_flight = 1;)
CHANGE(streak_young, s->facts.quorum_since_us = AGO(999);)
CHANGE(streak_old_enough, s->facts.quorum_since_us = AGO(1000);)
CHANGE(word_stale, s->facts.quorum_last_us = AGO(500); s->in.reads.last_sent_us = AGO(250);)
CHANGE(word_stale_pending, s->facts.quorum_last_us = AGO(500); s->in.reads.in_flight = 1;
       s->in.reads.last_sent_us = AGO(100); s->in.reads.last_ok = false;)
CHANGE(reads_all_lost, s->facts.quorum_since_us = NEVER;
       s->in.reads.in_flight = DECIDE_IN_FLIGHT_MANY; s->in.reads.last_ok = false;)
CHANGE(second_rank, add_node(s, "0", 200);)
CHANGE(second_rank_over, add_node(s, "0", 200); s->facts.life.us = AGO(3300);)
CHANGE(silent_owner_is_better, s->facts.nodes[0].priority = 500;)
CHANGE(not_before, s->in.campaign_after_us = IN(40);)
CHANGE(not_eligible, s->me.eligible = false;)
CHANGE(take_pending, s->in.takes.in_flight = 1; s->in.takes.last_sent_us = AGO(1000);
       s->in.reads.last_sent_us = AGO(250);)
CHANGE(take_pending_read_done, s->in.takes.in_flight = 1; s->in.takes.last_sent_us = AGO(1000);)
CHANGE(not_fit_take_pending, not_fit(s); take_pending(s);)
CHANGE(not_fit_take_pending_read_done, not_fit(s); take_pending_read_done(s);)
CHANGE(take_just_failed, s->in.takes.last_sent_us = AGO(60);)
CHANGE(take_failed_before, s->in.takes.last_sent_us = AGO(100);)
CHANGE(no_owner, s->facts.has_owner = false; memset(&s->facts.owner, 0, sizeof(s->facts.owner));
       s->facts.n_nodes = 0;)
CHANGE(no_owner_better, no_owner(s); add_node(s, "a", 100);)
CHANGE(no_owner_long_own_window, no_owner(s); s->in.window_us = MS(5000);)
CHANGE(owner_deleted, s->facts.has_owner = false; s->facts.owner.window_us = MS(5000);)
CHANGE(quick_window, s->facts.owner.window_us = MS(1000); s->facts.life.us = AGO(1000);)

static const struct decide_case silent_cases[] = {
    {"silent for its window", NULL, ELECTION_TAKE, 0},
    {"not fit", not_fit, ELECTION_LEAVE, 0},
    {"no quorum read yet", never_read, ELECTION_READ, 0},
    {"the first quorum read is under way", never_read_pending, ELECTION_WAIT, IN(50)},
    {"what is known is older than what was tried", facts_too_old, ELECTION_READ, 0},
    {"what is known is just as old", facts_just_fresh, ELECTION_TAKE, 0},
    {"alive: nothing before one and a half periods", alive, ELECTION_WAIT, AGO(500) + MS(1125)},
    {"suspect: reads begin", suspect_read_due, ELECTION_READ, 0},
    {"suspect: read a moment ago", suspect, ELECTION_WAIT, IN(50)},
    {"100 ms before its window ends", nearly_silent, ELECTION_WAIT, IN(50)},
    {"its own window counts, not ours", longer_window, ELECTION_WAIT, IN(50)},
    {"its own window is over", longer_window_over, ELECTION_TAKE, 0},
    {"etcd does not answer: silence counts for nothing", streak_broken, ELECTION_READ, 0},
    {"etcd does not answer, asked a moment ago", streak_broken_pending, ELECTION_WAIT, IN(50)},
    {"etcd has answered for too short a time", streak_young, ELECTION_WAIT, IN(1)},
    {"etcd has answered for long enough", streak_old_enough, ELECTION_TAKE, 0},
    {"etcd's last word is stale", word_stale, ELECTION_READ, 0},
    {"etcd's last word is stale, asked a moment ago", word_stale_pending, ELECTION_WAIT, IN(150)},
    {"many reads hang: the next waits for none of them", reads_all_lost, ELECTION_WAIT, IN(300)},
    {"a better one goes first", second_rank, ELECTION_WAIT, IN(50)},
    {"the better one did not", second_rank_over, ELECTION_TAKE, 0},
    {"the silent one is not the better one", silent_owner_is_better, ELECTION_TAKE, 0},
    {"has just yielded", not_before, ELECTION_WAIT, IN(40)},
    {"not eligible", not_eligible, ELECTION_WAIT, NEVER},
    {"a swap is under way: look whether it landed", take_pending, ELECTION_READ, 0},
    {"a swap is under way: looked a moment ago", take_pending_read_done, ELECTION_WAIT, IN(50)},
    {"not fit: what becomes of the swap?", not_fit_take_pending, ELECTION_READ, 0},
    {"not fit: looked a moment ago", not_fit_take_pending_read_done, ELECTION_WAIT, IN(50)},
    {"a swap has just failed", take_just_failed, ELECTION_WAIT, IN(40)},
    {"a swap failed a while ago", take_failed_before, ELECTION_TAKE, 0},
    {"no record: after our own window", no_owner, ELECTION_TAKE, 0},
    {"no record, and a better one is there", no_owner_better, ELECTION_WAIT, IN(50)},
    {"no record: not before our own window is over", no_owner_long_own_window, ELECTION_WAIT,
     IN(50)},
    {"record deleted: its window is waited for", owner_deleted, ELECTION_WAIT, IN(50)},
    {"a short window", quick_window, ELECTION_TAKE, 0},
};

/* --- standby, released --- */

CHANGE(released, s->facts.owner.released = true; s->facts.life.us = NOW;)
CHANGE(named_me, (void) strcpy(s->facts.owner.successor, "b"); add_node(s, "0", 500);)
/* The former owner, "a", is as good as this node, and its name comes first. */
CHANGE(named_other, (void) strcpy(s->facts.owner.successor, "c"); add_node(s, "c", 500);)
CHANGE(named_other_unwell, named_other(s); s->facts.nodes[0].health = HEALTH_BAD;)
CHANGE(named_other_gone, named_other_unwell(s); s->facts.life.us = AGO(1000);)
CHANGE(released_second, add_node(s, "0", 500);)
CHANGE(released_third, add_node(s, "0", 500); add_node(s, "1", 500);)
CHANGE(named_me_resting, (void) strcpy(s->facts.owner.successor, "b");
       s->in.campaign_after_us = IN(3000);)
CHANGE(released_stale_streak, s->facts.quorum_since_us = NEVER;)
CHANGE(released_by_me, (void) strcpy(s->facts.owner.node, "b");
       (void) strcpy(s->facts.owner.instance, "i-b"); s->in.campaign_after_us = IN(3000);)
CHANGE(named_by_me, named_other(s); (void) strcpy(s->facts.owner.node, "b");
       (void) strcpy(s->facts.owner.instance, "i-b"); s->me.health = HEALTH_BAD;)
CHANGE(named_by_me_gone, named_by_me(s); s->facts.life.us = AGO(1300);)

static const struct decide_case released_cases[] = {
    {"at once", NULL, ELECTION_TAKE, 0},
    {"named: at once, whatever the rank", named_me, ELECTION_TAKE, 0},
    {"another is named", named_other, ELECTION_WAIT, IN(1300)},
    {"another is named, by one that is worse than this", named_other_unwell, ELECTION_WAIT,
     IN(1000)},
    {"another is named, but does not come", named_other_gone, ELECTION_TAKE, 0},
    {"second in rank", released_second, ELECTION_WAIT, IN(300)},
    {"third in rank", released_third, ELECTION_WAIT, IN(600)},
    {"named, and has just given it away itself", named_me_resting, ELECTION_TAKE, 0},
    {"needs no streak: the word is final", released_stale_streak, ELECTION_TAKE, 0},
    {"by this node itself", released_by_me, ELECTION_WAIT, IN(3000)},
    {"by this node, to another", named_by_me, ELECTION_WAIT, IN(1300)},
    {"by this node, to another that does not come", named_by_me_gone, ELECTION_TAKE, 0},
    {"not eligible", not_eligible, ELECTION_WAIT, NEVER},
};

/* --- standby, the record is ours --- */

CHANGE(ours, (void) strcpy(s->facts.owner.node, "b"); (void) strcpy(s->facts.owner.instance, "i-b");
       s->facts.life.us = NOW;)
CHANGE(resumable, s->in.resumable = true;)
CHANGE(resumable_pending, s->in.resumable = true; s->in.takes.in_flight = 1;
       s->in.takes.last_sent_us = NOW;)
CHANGE(same_name_other_instance, (void) strcpy(s->facts.owner.instance, "i-x");
       s->in.resumable = true;)
CHANGE(resumable_released, s->in.resumable = true; s->facts.owner.released = true;)
CHANGE(resumable_not_eligible, s->in.resumable = true; s->me.eligible = false;)

CHANGE(not_fit_resumable, not_fit(s); s->in.resumable = true;)
CHANGE(not_fit_resumable_stale, not_fit_resumable(s); s->in.fresh_after_us = NOW;)

static const struct decide_case ours_cases[] = {
    {"written anew", NULL, ELECTION_TAKE, 0},
    {"but not while we mean to leave it", not_before, ELECTION_WAIT, IN(40)},
    {"by our own last swap", resumable, ELECTION_RESUME, 0},
    {"by our own last swap, whose answer has not come", resumable_pending, ELECTION_RESUME, 0},
    {"only the name is ours", same_name_other_instance, ELECTION_WAIT, IN(1125)},
    {"ours, but released: as any other that is", resumable_released, ELECTION_WAIT, IN(300)},
    /* To hand it over in order. */
    {"not eligible, but landed", resumable_not_eligible, ELECTION_RESUME, 0},
    {"not fit, but landed", not_fit_resumable, ELECTION_RESUME, 0},
    {"not fit, and what is known is old", not_fit_resumable_stale, ELECTION_LEAVE, 0},
    {"not fit, and not to be gone on with", not_fit, ELECTION_LEAVE, 0},
};

/* --- taking --- */

CHANGE(taking, ours(s); s->in.rev = s->facts.owner_rev;
       s->in.take_at = (struct mono_moment){AGO(10), RAW_AGO(10)}; s->in.deadline_us = IN(2000);
       s->in.confirms.last_sent_us = AGO(325); s->in.confirms.last_ok = true;)
CHANGE(old_fence_runs, s->in.take_at = BOTH_IN(30);)
CHANGE(old_fence_runs_confirm_first, s->in.take_at = BOTH_IN(60);)
CHANGE(old_fence_ends_now, s->in.take_at = BOTH_IN(0);)
/* Our own clock was slewed to be fast, or we were suspended. */
CHANGE(old_fence_runs_by_raw, s->in.take_at.raw_us = RAW_IN(30);)
CHANGE(old_fence_just_runs_by_raw, s->in.take_at.raw_us = RAW_NOW + 1;)
CHANGE(suspended, s->in.take_at = (struct mono_moment){AGO(3600000), RAW_IN(3000)};
       s->in.confirms.last_sent_us = NOW;)
/* It was slewed to be slow, or the hardware is faster than the kernel believes. */
CHANGE(old_fence_runs_by_boot, s->in.take_at.us = IN(30);)
CHANGE(old_fence_runs_by_both, s->in.take_at = (struct mono_moment){IN(20), RAW_IN(30)};)
CHANGE(old_fence_runs_by_both_boot, s->in.take_at = (struct mono_moment){IN(30), RAW_IN(20)};)
CHANGE(not_worth, s->in.deadline_us = IN(750);)
CHANGE(just_worth, s->in.deadline_us = IN(750) + 1;)
CHANGE(not_confirmed, s->in.deadline_us = 0; s->in.confirms.last_sent_us = 0;)
CHANGE(confirm_failed, s->in.deadline_us = 0; s->in.confirms.last_ok = false;)
CHANGE(confirm_just_failed, s->in.deadline_us = 0; s->in.confirms.last_ok = false;
       s->in.confirms.last_sent_us = AGO(30);)
CHANGE(confirm_pending, s->in.deadline_us = 0; s->in.confirms.last_ok = false;
       s->in.confirms.in_flight = 1; s->in.confirms.last_sent_us = AGO(100);)
CHANGE(confirm_pending_expired, confirm_pending(s); s->in.deadline_us = AGO(2999);)
CHANGE(confirm_pending_long_over, confirm_pending(s); s->in.deadline_us = AGO(3000);)
CHANGE(lost, s->facts.owner_rev = 61; s->facts.owner_as_of = 61;)
CHANGE(lost_by_deletion, s->facts.owner_rev = 0; s->facts.owner_as_of = 61;)
CHANGE(facts_from_before, s->facts.owner_rev = 30; s->facts.owner_as_of = 39;)
CHANGE(leaving, s->in.leaving = true;)
CHANGE(leaving_and_lost, s->in.leaving = true; lost(s);)

static const struct decide_case taking_cases[] = {
    {"old fence over, confirmed", NULL, ELECTION_HOLD, 0},
    {"old fence runs", old_fence_runs, ELECTION_WAIT, IN(30)},
    {"old fence runs, a confirmation is due before", old_fence_runs_confirm_first, ELECTION_WAIT,
     IN(50)},
    {"old fence ends this instant", old_fence_ends_now, ELECTION_HOLD, 0},
    {"old fence runs by the raw clock", old_fence_runs_by_raw, ELECTION_WAIT, IN(30)},
    {"by the last microsecond", old_fence_just_runs_by_raw, ELECTION_WAIT, NOW},
    {"suspended for an hour: a confirmation is due before", suspended, ELECTION_WAIT, IN(375)},
    {"old fence runs by the clock of timers", old_fence_runs_by_boot, ELECTION_WAIT, IN(30)},
    {"by both", old_fence_runs_by_both, ELECTION_WAIT, IN(30)},
    {"by both, the other one for longer", old_fence_runs_by_both_boot, ELECTION_WAIT, IN(30)},
    {"too little left to be worth it", not_worth, ELECTION_WAIT, IN(50)},
    {"just enough left", just_worth, ELECTION_HOLD, 0},
    {"never confirmed", not_confirmed, ELECTION_CONFIRM, 0},
    {"the last confirmation failed", confirm_failed, ELECTION_CONFIRM, 0},
    {"the last confirmation failed a moment ago", confirm_just_failed, ELECTION_WAIT, IN(70)},
    {"one is under way: the next overlaps it", confirm_pending, ELECTION_WAIT, IN(150)},
    {"the fence is over: still soon", confirm_pending_expired, ELECTION_WAIT, IN(25)},
    {"for as long as a window: no hurry", confirm_pending_long_over, ELECTION_WAIT, IN(150)},
    {"taken by another", lost, ELECTION_STEP_DOWN, 0},
    {"deleted", lost_by_deletion, ELECTION_STEP_DOWN, 0},
    {"what is known is from before our swap", facts_from_before, ELECTION_HOLD, 0},
    {"leaving", leaving, ELECTION_YIELD, 0},
    {"not fit", not_fit, ELECTION_YIELD, 0},
    {"leaving what is taken", leaving_and_lost, ELECTION_STEP_DOWN, 0},
};

/* --- owner --- */

CHANGE(confirm_due, s->in.confirms.last_sent_us = AGO(375);)
CHANGE(confirm_overdue_failed, s->in.confirms.last_ok = false;)
CHANGE(confirm_hangs, s->in.confirms.in_flight = 1; s->in.confirms.last_ok = false;
       s->in.confirms.last_sent_us = AGO(100);)
CHANGE(confirm_hangs_still_calm, confirm_hangs(s); s->in.deadline_us = IN(1500) + 1;)
CHANGE(confirm_hangs_half_gone, confirm_hangs(s); s->in.deadline_us = IN(1500);)
CHANGE(nearly_many_hang, confirm_hangs_half_gone(s);
       s->in.confirms.in_flight = DECIDE_IN_FLIGHT_MANY - 1;)
CHANGE(many_hang, confirm_hangs_half_gone(s); s->in.confirms.in_flight = DECIDE_IN_FLIGHT_MANY;)
CHANGE(many_hang_one_answered, many_hang(s); s->in.confirms.last_ok = true;)
CHANGE(many_hang_until_fence, many_hang(s); s->in.deadline_us = IN(399);)
CHANGE(fence_over, s->in.deadline_us = NOW;)
CHANGE(fence_over_and_leaving, s->in.deadline_us = NOW; s->in.leaving = true;)
CHANGE(fence_over_and_lost, s->in.deadline_us = NOW; lost(s);)
CHANGE(fence_first, s->in.deadline_us = IN(20);)
CHANGE(fast_window, s->in.window_us = MS(800); s->in.confirms.last_sent_us = AGO(99);)
CHANGE(fast_window_failed, s->in.window_us = MS(300); s->in.confirms.last_ok = false;
       s->in.confirms.in_flight = 1; s->in.confirms.last_sent_us = AGO(75);)
CHANGE(fast_window_hangs, confirm_hangs(s); s->in.window_us = MS(1500);)
CHANGE(fast_window_half_gone, confirm_hangs(s); s->in.window_us = MS(500);
       s->in.deadline_us = IN(250); s->in.confirms.last_sent_us = AGO(60);)

static const struct decide_case owner_cases[] = {
    {"confirmed: until the next is due", NULL, ELECTION_WAIT, IN(50)},
    {"a confirmation is due", confirm_due, ELECTION_CONFIRM, 0},
    {"the last one failed", confirm_overdue_failed, ELECTION_CONFIRM, 0},
    {"one is under way", confirm_hangs, ELECTION_WAIT, IN(150)},
    {"still, with more than half of the window left", confirm_hangs_still_calm, ELECTION_WAIT,
     IN(150)},
    {"with half of it: the next follows soon", confirm_hangs_half_gone, ELECTION_WAIT, IN(25)},
    {"also when nearly many hang", nearly_many_hang, ELECTION_WAIT, IN(25)},
    {"many: later, but whenever they end", many_hang, ELECTION_WAIT, IN(400)},
    {"the newest of them was answered", many_hang_one_answered, ELECTION_WAIT, IN(275)},
    {"not beyond the fence", many_hang_until_fence, ELECTION_WAIT, IN(399)},
    {"the fence has run out", fence_over, ELECTION_EXPIRE, 0},
    {"the fence has run out while leaving", fence_over_and_leaving, ELECTION_EXPIRE, 0},
    {"the fence is before the next confirmation", fence_first, ELECTION_WAIT, IN(20)},
    {"taken by another", lost, ELECTION_STEP_DOWN, 0},
    {"taken by another and the fence over", fence_over_and_lost, ELECTION_STEP_DOWN, 0},
    {"what is known is from before", facts_from_before, ELECTION_WAIT, IN(50)},
    {"leaving", leaving, ELECTION_YIELD, 0},
    {"not fit", not_fit, ELECTION_YIELD, 0},
    {"a short window: a short period", fast_window, ELECTION_WAIT, IN(1)},
    {"a short window: tries again within two periods", fast_window_failed, ELECTION_CONFIRM, 0},
    {"a short window: one is under way", fast_window_hangs, ELECTION_WAIT, IN(150)},
    {"a short window: half of it is gone", fast_window_half_gone, ELECTION_WAIT, NOW + 2500},
};

/* --- yielding --- */

CHANGE(yielding, ours(s); s->in.rev = s->facts.owner_rev; s->in.state_since_us = NOW;)
CHANGE(release_pending, s->in.releases.in_flight = 1; s->in.releases.last_sent_us = AGO(100);)
CHANGE(release_late, s->in.releases.in_flight = 1; s->in.releases.last_sent_us = AGO(250);)
CHANGE(release_failed, s->in.releases.last_sent_us = AGO(40);)
CHANGE(give_up, s->in.state_since_us = AGO(3060);)
CHANGE(give_up_soon, s->in.state_since_us = AGO(3055); s->in.releases.last_sent_us = AGO(1);)

CHANGE(former_fence_runs, s->in.take_at = BOTH_IN(30);)
CHANGE(former_fence_runs_by_raw, s->in.take_at.raw_us = RAW_IN(30);)
CHANGE(former_fence_over, s->in.take_at = BOTH_IN(0);)
CHANGE(former_fence_long, give_up(s); s->in.take_at = BOTH_IN(30);)

static const struct decide_case yielding_cases[] = {
    {"the release is written", NULL, ELECTION_RELEASE, 0},
    {"it is under way", release_pending, ELECTION_WAIT, IN(150)},
    {"it has no answer: once more", release_late, ELECTION_RELEASE, 0},
    {"it failed", release_failed, ELECTION_WAIT, IN(60)},
    {"it has landed, or another took over", lost, ELECTION_STEP_DOWN, 0},
    {"for a whole window: nobody waits for it any more", give_up, ELECTION_STEP_DOWN, 0},
    {"nearly", give_up_soon, ELECTION_WAIT, IN(5)},
    {"not fit: still in order", not_fit, ELECTION_RELEASE, 0},
    {"the former owner's fence still runs", former_fence_runs, ELECTION_WAIT, IN(30)},
    {"the former owner's fence still runs, by the raw clock", former_fence_runs_by_raw,
     ELECTION_WAIT, IN(30)},
    {"the former owner's fence is just over", former_fence_over, ELECTION_RELEASE, 0},
    {"the former owner's fence runs for longer than our word", former_fence_long, ELECTION_WAIT,
     IN(30)},
};

/* --- confirmations that all hang --- */

#define SENT_MAX 4096

/* From the last one that was answered on, for so long that the fence acts and each is given up at
 * its deadline: none waits for those before it longer than etcd can be missed anyway. */
static void run_hung(int64_t window_us, int64_t call_timeout_us)
{
	const int64_t period_us = timing_confirm_period_us(window_us);
	const int64_t end_us = NOW + 2 * window_us + 2 * call_timeout_us;
	int64_t sent_us[SENT_MAX];
	size_t n_sent = 0, n_over = 0;
	bool was_crowded = false, ok = true;
	struct scene s;

	set_scene(&s, ELECTION_OWNER);
	taking(&s);
	s.in.window_us = window_us;
	s.in.worth_us = timing_worth_holding_us(FENCE_NFTABLES, window_us);
	s.in.deadline_us = NOW + window_us;
	s.in.confirms = (struct decide_calls){.last_sent_us = NOW, .last_ok = true};
	while (ok && s.in.now.us < end_us) {
		struct decision d = decide(&s.in);
		int64_t next_us = d.wake_us;

		if (d.action == ELECTION_EXPIRE) {
			s.in.state = ELECTION_TAKING;
			continue;
		}
		if (d.action == ELECTION_CONFIRM) {
			int64_t gap_us = s.in.now.us - s.in.confirms.last_sent_us;

			ok = CHECK(gap_us <= MAX(period_us, DECIDE_CROWDED_PACE_US)) && ok;
			/* What a short deadline would give, as long as not too many hang. */
			ok = CHECK(gap_us <= MAX(period_us, DECIDE_PACE_US) || was_crowded) && ok;
			was_crowded = n_sent - n_over + 1 >= DECIDE_IN_FLIGHT_MANY;
			ok = CHECK(n_sent < SENT_MAX) && ok;
			sent_us[n_sent++ % SENT_MAX] = s.in.now.us;
			s.in.confirms = (struct decide_calls){(unsigned) (n_sent - n_over), s.in.now.us, false};
			continue;
		}
		ok = CHECK_EQ_INT(d.action, ELECTION_WAIT) && ok;
		/* The first that is given up may wake it before. */
		if (n_over < n_sent)
			next_us = MIN(next_us, sent_us[n_over] + call_timeout_us);
		ok = CHECK(next_us > s.in.now.us && next_us != MONO_NEVER) && ok;
		s.in.now = (struct mono_moment){next_us, RAW_NOW + next_us - NOW};
		while (n_over < n_sent && sent_us[n_over] + call_timeout_us <= next_us)
			n_over++;
		s.in.confirms.in_flight = (unsigned) (n_sent - n_over);
	}
	ok = CHECK_EQ_INT(s.in.state, ELECTION_TAKING) && ok;
	/* What is asked for in a second does not grow with the deadline. */
	ok = CHECK((int64_t) n_sent <=
	           DECIDE_IN_FLIGHT_MANY + (end_us - NOW) / MIN(DECIDE_RETRY_US, period_us) + 1) &&
	     ok;
	if (!ok)
		(void) fprintf(stderr, "window %lld ms, callTimeout %lld ms, %zu sent\n",
		               (long long) (window_us / US_PER_MS),
		               (long long) (call_timeout_us / US_PER_MS), n_sent);
}

/* All that can be configured, and less than that. */
static void test_hung(void)
{
	static const int64_t windows_ms[] = {250,  500,  700,  1000, 1500,  2500,  3000,
	                                     3500, 4000, 5000, 7500, 12500, 30000, 60000};
	static const int64_t timeouts_ms[] = {100, 250, 400, 1000, 1100, 2000, 2500, 5000, 30000};

	for (size_t i = 0; i < ARRAY_SIZE(windows_ms); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(timeouts_ms); k++)
			run_hung(windows_ms[i] * US_PER_MS, timeouts_ms[k] * US_PER_MS);
	}
}

static void test_awaited(void)
{
	struct facts f;
	int64_t window_us = -1, late_us = -1;

	facts_init(&f);
	decide_awaited(&f, 11, 22, &window_us, &late_us);
	CHECK_EQ_INT(window_us, 11);
	CHECK_EQ_INT(late_us, 22);
	/* Also where the record is deleted, and where it says that it is never late. */
	f.owner.window_us = 33;
	f.owner.late_us = 0;
	decide_awaited(&f, 11, 22, &window_us, &late_us);
	CHECK_EQ_INT(window_us, 33);
	CHECK_EQ_INT(late_us, 0);
}

int main(void)
{
	RUN(ELECTION_DOWN, NULL, down_cases);
	RUN(ELECTION_STANDBY, NULL, silent_cases);
	RUN(ELECTION_STANDBY, released, released_cases);
	RUN(ELECTION_STANDBY, ours, ours_cases);
	RUN(ELECTION_TAKING, taking, taking_cases);
	RUN(ELECTION_OWNER, taking, owner_cases);
	RUN(ELECTION_YIELDING, yielding, yielding_cases);
	test_hung();
	test_awaited();
	return check_result();
}
