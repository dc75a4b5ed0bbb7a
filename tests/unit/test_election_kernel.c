/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One election, step by step, where the kernel refuses or the moment is bad: what it asks of etcd
 * and of the kernel then, and what it does not ask. The simulation of test_election.c shows that
 * nothing bad comes of it; this shows what is done.
 */
#include "vipd/election.h"

#include <errno.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "tests/unit/check.h"

#define MS(n) (INT64_C(n) * US_PER_MS)
#define WINDOW MS(3000)
#define PERIOD (WINDOW / 8)
#define SILENT_FOR (WINDOW + TIMING_LATE_US)

struct stage {
	struct facts_key beat;
	int64_t now_us;
	int64_t jump_us; /* by how much the clock jumps whenever it is read */
	int64_t wake_us;
	struct facts facts;
	struct record_node me;
	struct election *election;
	int64_t revision;
	struct election_claim claim; /* the last */
	int64_t sent_us;             /* of the last swap or confirmation */
	int64_t rev;                 /* of the last confirmation or release */
	unsigned reads, takes, confirms, releases, holds, drops, unsettled;
	bool read_fails_at_once;
	int hold_result;
	int drop_result;
	int64_t held_until_us; /* in the kernel; 0: off */
};

/* The raw clock was begun at another time, and is not slewed against the other. */
static struct mono_moment moment(int64_t us)
{
	return (struct mono_moment){.us = us, .raw_us = us - MS(700)};
}

static struct mono_moment op_now(void *ctx)
{
	struct stage *s = ctx;

	s->now_us += s->jump_us;
	return moment(s->now_us);
}

static void op_wake_at(int64_t us, void *ctx)
{
	((struct stage *) ctx)->wake_us = us;
}

static void op_read(void *ctx)
{
	struct stage *s = ctx;

	s->reads++;
	if (s->read_fails_at_once)
		election_on_read(s->election, false);
}

static void op_take(const struct election_claim *claim, void *ctx)
{
	struct stage *s = ctx;

	s->takes++;
	s->claim = *claim;
	s->sent_us = s->now_us;
}

static void op_confirm(int64_t rev, int64_t epoch UNUSED, void *ctx)
{
	struct stage *s = ctx;

	s->confirms++;
	s->rev = rev;
	s->sent_us = s->now_us;
}

static void op_release(const struct record_owner *record, int64_t rev, void *ctx)
{
	struct stage *s = ctx;

	CHECK(record->released);
	s->releases++;
	s->rev = rev;
}

static void op_beat(void *ctx UNUSED)
{
	CHECK(false); /* there is one */
}

static int op_hold(int64_t deadline_us, void *ctx)
{
	struct stage *s = ctx;

	s->holds++;
	if (s->hold_result == 0)
		s->held_until_us = deadline_us;
	else if (s->hold_result < 0 && s->drop_result == 0)
		s->held_until_us = 0;
	return s->hold_result;
}

static int op_drop(bool lost UNUSED, void *ctx)
{
	struct stage *s = ctx;

	s->drops++;
	if (s->drop_result == 0)
		s->held_until_us = 0;
	return s->drop_result;
}

static void op_changed(enum election_state from UNUSED, enum election_state to UNUSED,
                       const char *reason UNUSED, void *ctx UNUSED)
{
}

static void op_unsettled(enum election_action next UNUSED, void *ctx)
{
	((struct stage *) ctx)->unsettled++;
}

static const struct election_ops ops = {
    .now = op_now,
    .wake_at = op_wake_at,
    .read = op_read,
    .take = op_take,
    .confirm = op_confirm,
    .beat = op_beat,
    .release = op_release,
    .hold = op_hold,
    .drop = op_drop,
    .changed = op_changed,
    .unsettled = op_unsettled,
};

static struct record_owner owner_record(const char *node, bool released)
{
	struct record_owner o = {
	    .epoch = 7, .window_us = WINDOW, .late_us = TIMING_LATE_US, .released = released};

	(void) snprintf(o.node, sizeof(o.node), "%s", node);
	(void) snprintf(o.instance, sizeof(o.instance), "i-%s", node);
	return o;
}

/* "b", fit, in a world in which the record of "a" stands. */
static void set_stage(struct stage *s, bool released)
{
	const struct record_owner owner = owner_record("a", released);

	memset(s, 0, sizeof(*s));
	s->now_us = MS(1000000);
	s->revision = 100;
	facts_init(&s->facts);
	(void) strcpy(s->me.node, "b");
	(void) strcpy(s->me.instance, "i-b");
	s->me.health = HEALTH_UNCHECKED;
	s->me.eligible = true;
	s->election = election_new(&s->facts, &s->me, &ops, s);
	election_configure(s->election, WINDOW, FENCE_NFTABLES, false);
	(void) facts_on_read(&s->facts, facts_mark(&s->facts), 1, s->revision, NULL, 0, s->now_us,
	                     moment(s->now_us));
	facts_on_owner_written(&s->facts, &owner, ++s->revision, moment(s->now_us));
	s->beat = (struct facts_key){.name = "beat",
	                             .name_len = 4,
	                             .value = "{}",
	                             .value_len = 2,
	                             .mod_revision = ++s->revision};
	facts_on_event(&s->facts, &s->beat, moment(s->now_us));
}

static void answer_read_with(struct stage *s, const struct record_owner *o, int64_t rev)
{
	AUTO(free) char *owner = record_owner_format(o);
	const struct facts_key keys[] = {{.name = "owner",
	                                  .name_len = 5,
	                                  .value = owner,
	                                  .value_len = strlen(owner),
	                                  .mod_revision = rev},
	                                 s->beat};

	(void) facts_on_read(&s->facts, facts_mark(&s->facts), 1, s->revision, keys, ARRAY_SIZE(keys),
	                     s->now_us, moment(s->now_us));
	election_on_read(s->election, true);
}

static void answer_read(struct stage *s)
{
	const struct record_owner owner = s->facts.owner;

	answer_read_with(s, &owner, s->facts.owner_rev);
}

static void answer_take(struct stage *s)
{
	facts_on_owner_written(&s->facts, &s->claim.record, ++s->revision, moment(s->now_us));
	election_on_take(s->election, ELECTION_DONE, s->revision, s->sent_us);
}

static void answer_confirm(struct stage *s, enum election_verdict verdict)
{
	s->revision++;
	election_on_confirm(s->election, verdict, s->rev, s->sent_us);
}

static void wait_for(struct stage *s, int64_t us)
{
	s->now_us += us;
	election_run(s->election);
}

/* Takes what was released; the kernel does as it is told, or not. */
static void take_released(struct stage *s)
{
	set_stage(s, true);
	election_set_fit(s->election, true, "");
	CHECK_EQ_INT(s->takes, 1);
	answer_take(s);
}

static void become_owner(struct stage *s)
{
	take_released(s);
	CHECK_EQ_INT(election_state(s->election), ELECTION_OWNER);
	CHECK_EQ_INT(s->held_until_us, s->sent_us + WINDOW);
	election_on_confirm(s->election, ELECTION_DONE, s->rev, s->sent_us);
	wait_for(s, PERIOD);
	CHECK_EQ_INT(s->confirms, 2);
	CHECK_EQ_INT(s->holds, 1);
}

/* Reads go on, each answered; nothing is written. */
static void check_silent_for(struct stage *s, int64_t us)
{
	const int64_t end_us = s->now_us + us;
	const struct stage before = *s;
	unsigned reads = s->reads;

	while (s->now_us < end_us) {
		wait_for(s, MS(50));
		if (s->reads > reads)
			answer_read(s);
		reads = s->reads;
	}
	CHECK_EQ_INT(s->takes, before.takes);
	CHECK_EQ_INT(s->confirms, before.confirms);
	CHECK_EQ_INT(s->releases, before.releases);
	CHECK_EQ_INT(s->holds, before.holds);
}

/* --- the kernel refuses --- */

/* Nobody else waits out a fence while its owner gives signs of life. */
static void test_neither_added_nor_removed(void)
{
	struct stage s;

	set_stage(&s, true);
	s.hold_result = s.drop_result = -EPERM;
	election_set_fit(s.election, true, "");
	answer_take(&s);
	CHECK_EQ_INT(s.holds, 1);
	CHECK_EQ_INT(election_state(s.election), ELECTION_STANDBY);
	/* Twice as long as by a clock that is right: others' may be slow. */
	check_silent_for(&s, 2 * SILENT_FOR);
	CHECK_EQ_INT(s.releases, 0);
	/* Nobody took it: one more try, with a record that nothing old fits. */
	s.hold_result = s.drop_result = 0;
	wait_for(&s, MS(4000));
	CHECK_EQ_INT(s.takes, 2);
	election_free(s.election);
}

static void test_not_removed(void)
{
	struct stage s;
	int64_t rev;

	become_owner(&s);
	rev = election_rev(s.election);
	s.drop_result = -EBUSY;
	election_yield(s.election, "a", "moved by hand");
	CHECK_EQ_INT(election_state(s.election), ELECTION_STANDBY);
	/* The confirmation that was under way. */
	election_on_confirm(s.election, ELECTION_DONE, rev, s.sent_us);
	check_silent_for(&s, SILENT_FOR);
	CHECK(s.held_until_us < s.now_us);
	election_free(s.election);

	/* With the answer to the swap yet to come, when it was found to have landed by a read. */
	set_stage(&s, true);
	election_set_fit(s.election, true, "");
	facts_on_owner_written(&s.facts, &s.claim.record, ++s.revision, moment(s.now_us));
	election_run(s.election);
	CHECK_EQ_INT(election_state(s.election), ELECTION_TAKING);
	s.drop_result = -EBUSY;
	election_yield(s.election, "a", "moved by hand");
	election_on_take(s.election, ELECTION_DONE, s.revision, s.sent_us);
	CHECK_EQ_INT(election_state(s.election), ELECTION_STANDBY);
	check_silent_for(&s, SILENT_FOR);
	election_free(s.election);
}

/* What the kernel has is what counts. */
static void test_not_renewed(void)
{
	struct stage s;
	int64_t until_us;

	become_owner(&s);
	until_us = s.held_until_us;
	s.hold_result = 1;
	answer_confirm(&s, ELECTION_DONE);
	CHECK_EQ_INT(s.holds, 2);
	CHECK_EQ_INT(election_state(s.election), ELECTION_OWNER);
	CHECK_EQ_INT(election_deadline_us(s.election), until_us);
	/* The next confirmation tries again. */
	wait_for(&s, PERIOD);
	s.hold_result = 0;
	answer_confirm(&s, ELECTION_DONE);
	CHECK_EQ_INT(election_deadline_us(s.election), s.sent_us + WINDOW);
	CHECK_EQ_INT(s.held_until_us, s.sent_us + WINDOW);
	CHECK_EQ_INT(s.drops, 0);
	/* And if none of them can, it ends when the kernel ends it. */
	until_us = s.held_until_us;
	s.hold_result = 1;
	while (s.now_us < until_us - PERIOD) {
		wait_for(&s, PERIOD);
		answer_confirm(&s, ELECTION_DONE);
	}
	CHECK_EQ_INT(election_state(s.election), ELECTION_OWNER);
	CHECK(s.wake_us <= until_us);
	s.now_us = until_us;
	election_run(s.election);
	CHECK_EQ_INT(election_state(s.election), ELECTION_TAKING);
	CHECK_EQ_INT(s.drops, 1);
	election_free(s.election);
}

/* It is off, but there is time: it is added anew; if not, handed over. */
static void test_lost_on_renewal(void)
{
	struct stage s;

	become_owner(&s);
	s.hold_result = -ENODEV;
	answer_confirm(&s, ELECTION_DONE);
	CHECK_EQ_INT(s.holds, 3);
	CHECK_EQ_INT(election_state(s.election), ELECTION_YIELDING);
	CHECK_EQ_INT(s.releases, 1);
	election_free(s.election);
}

/* --- a bad moment --- */

/* From whom it was taken may still hold it: `released` must not be read before its fence is over.
 */
static void test_yields_before_the_old_fence(void)
{
	struct stage s;
	int64_t life_us;

	set_stage(&s, false);
	life_us = s.now_us;
	election_set_fit(s.election, true, "");
	while (s.takes == 0 && s.now_us < life_us + 2 * WINDOW) {
		unsigned reads = s.reads;

		wait_for(&s, MS(10));
		if (s.reads > reads)
			answer_read(&s);
	}
	CHECK_EQ_INT(s.takes, 1);
	answer_take(&s);
	CHECK_EQ_INT(election_state(s.election), ELECTION_TAKING);
	CHECK(s.now_us < life_us + SILENT_FOR);
	election_yield(s.election, "", "moved by hand");
	CHECK_EQ_INT(election_state(s.election), ELECTION_YIELDING);
	CHECK_EQ_INT(s.releases, 0);
	CHECK(s.wake_us >= life_us + SILENT_FOR);
	s.now_us = s.wake_us;
	election_run(s.election);
	CHECK_EQ_INT(s.releases, 1);
	election_free(s.election);
}

/* Stopping while a swap is under way: nobody else would hand over what it takes. */
static void test_leaves_with_a_swap_under_way(void)
{
	static const struct {
		const char *name;
		enum election_verdict verdict;
		bool found; /* by a read, before it is answered */
		unsigned releases;
	} cases[] = {
	    {"landed", ELECTION_DONE, false, 1},
	    {"lost", ELECTION_LOST, false, 0},
	    {"never heard of", ELECTION_UNKNOWN, false, 0},
	    {"landed, and never heard of", ELECTION_UNKNOWN, true, 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const unsigned failures = check_failures;
		struct stage s;

		set_stage(&s, true);
		election_set_fit(s.election, true, "");
		CHECK_EQ_INT(s.takes, 1);
		election_set_fit(s.election, false, "stopping");
		CHECK_EQ_INT(election_state(s.election), ELECTION_STANDBY);
		if (cases[i].found) {
			facts_on_owner_written(&s.facts, &s.claim.record, ++s.revision, moment(s.now_us));
			election_run(s.election);
		}
		if (cases[i].verdict == ELECTION_DONE)
			answer_take(&s);
		else
			election_on_take(s.election, cases[i].verdict, 0, s.sent_us);
		CHECK_EQ_INT(s.holds, 0);
		CHECK_EQ_INT(s.releases, cases[i].releases);
		if (s.releases > 0) {
			const struct record_owner released = owner_record("b", true);

			facts_on_owner_written(&s.facts, &released, ++s.revision, moment(s.now_us));
			election_on_release(s.election, ELECTION_DONE, s.rev);
		}
		CHECK_EQ_INT(election_state(s.election), ELECTION_DOWN);
		if (check_failures > failures)
			(void) fprintf(stderr, "case: %s\n", cases[i].name);
		election_free(s.election);
	}
}

/* The clock leaps whenever it is looked at, so that every wait is over at once. */
static void test_unsettled(void)
{
	struct stage s;

	set_stage(&s, false);
	s.jump_us = US_PER_S;
	s.read_fails_at_once = true;
	election_set_fit(s.election, true, "");
	CHECK_EQ_INT(s.unsettled, 1);
	CHECK(s.reads > 10 && s.reads < 100);
	CHECK_EQ_INT(s.wake_us, s.now_us + MS(100));
	s.jump_us = 0;
	s.read_fails_at_once = false;
	wait_for(&s, MS(100));
	CHECK_EQ_INT(s.unsettled, 1);
	election_free(s.election);
}

/* --- etcd was restored from a backup --- */

/* What stands in the restored store, at the revision at which our own record stood. */
static void restored(struct stage *s, const struct record_owner *owner)
{
	const int64_t rev = s->facts.owner_rev;

	facts_rewind(&s->facts, moment(s->now_us));
	election_on_rewind(s->election);
	answer_read_with(s, owner, rev);
}

static void test_rewound(void)
{
	struct record_owner of_a = owner_record("a", true);
	struct record_owner mine;
	int64_t rewound_us, until_us;
	struct stage s;

	/* Our own record, as it was: it is not gone on with, but taken anew, and waited for. */
	become_owner(&s);
	mine = s.claim.record;
	rewound_us = s.now_us;
	until_us = timing_take_at(moment(rewound_us), WINDOW, TIMING_LATE_US).us;
	restored(&s, &mine);
	CHECK_EQ_INT(s.held_until_us, 0);
	CHECK_EQ_INT(s.drops, 1);
	CHECK_EQ_INT(election_state(s.election), ELECTION_STANDBY);
	CHECK_EQ_INT(s.takes, 2);
	CHECK_EQ_STR(election_reason(s.election), "etcd was rewound");
	/* The answer to a confirmation that was under way says nothing. */
	election_on_confirm(s.election, ELECTION_UNKNOWN, s.rev, s.sent_us);
	answer_take(&s);
	CHECK_EQ_INT(election_state(s.election), ELECTION_TAKING);
	while (s.now_us < until_us - MS(60)) {
		wait_for(&s, MS(50));
		if (s.confirms > 2)
			election_on_confirm(s.election, ELECTION_DONE, s.rev, s.sent_us);
		s.confirms = 2;
		CHECK_EQ_INT(s.holds, 1);
	}
	election_free(s.election);

	/* A record that says `released` says it of somebody of long ago. */
	become_owner(&s);
	until_us = timing_take_at(moment(s.now_us), WINDOW, TIMING_LATE_US).us;
	restored(&s, &of_a);
	election_on_confirm(s.election, ELECTION_UNKNOWN, s.rev, s.sent_us);
	wait_for(&s, MS(10));
	CHECK_EQ_INT(s.takes, 2);
	answer_take(&s);
	CHECK_EQ_INT(election_state(s.election), ELECTION_TAKING);
	wait_for(&s, until_us - s.now_us - MS(1));
	CHECK_EQ_INT(s.holds, 1);
	election_free(s.election);
}

int main(void)
{
	test_neither_added_nor_removed();
	test_not_removed();
	test_not_renewed();
	test_lost_on_renewal();
	test_yields_before_the_old_fence();
	test_leaves_with_a_swap_under_way();
	test_unsettled();
	test_rewound();
	return check_result();
}
