/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evidence into a state; judge.h has the rules. A table says what each piece of evidence means:
 * which state it speaks for and how much of it is needed. conclude() counts and names the state
 * that follows, and set_state() is the one place that writes it. Two states are held: from
 * UNVERIFIED and UNTRUSTED nothing leads out but a probe that saw the right certificate, because
 * every other state may be used.
 */
#include "prism/judge.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/fsm.h"
#include "base/macro.h"
#include "base/mono.h"
#include "web/readyz.h"

/* A fall within this time after coming up is flapping. */
#define FLAP_US (60 * US_PER_S)
/* A hang is to be found within 4 s: 2 s and this part of it, and one and a half timeouts. */
#define QUICK_SPREAD_DIVISOR 10
/* Failed probes, and slow or cut connections, in a row until they count. */
#define FALL_ROW 2

enum weight {
	WEIGHT_ROW,               /* a good answer: `rise` of them */
	WEIGHT_ROW_DOWN,          /* the same, where it is worse than the state */
	WEIGHT_AT_ONCE,           /* conclusive by itself */
	WEIGHT_SECOND_PROBE,      /* the second such probe in a row */
	WEIGHT_SECOND_CONNECTION, /* the second such connection in a row */
	WEIGHT_NONE,              /* speaks for no state */
};

struct meaning {
	enum judge_state state;
	enum weight weight;
	bool probe;
	bool proves; /* that it is who it should be */
	const char *text;
};

static const struct meaning meanings[] = {
    [JUDGE_PROBE_READY] = {JUDGE_READY, WEIGHT_ROW, true, true, "ready"},
    [JUDGE_PROBE_ALIVE] = {JUDGE_ALIVE, WEIGHT_ROW, true, true, "alive, readiness unknown"},
    [JUDGE_PROBE_BUSY] = {JUDGE_BUSY, WEIGHT_ROW, true, true, "alive, overloaded"},
    [JUDGE_PROBE_NOT_READY] = {JUDGE_NOT_READY, WEIGHT_AT_ONCE, true, true, "not ready"},
    [JUDGE_PROBE_DOWN] = {JUDGE_DOWN, WEIGHT_AT_ONCE, true, false, "connection refused"},
    [JUDGE_PROBE_SILENT] = {JUDGE_HUNG, WEIGHT_AT_ONCE, true, false, "no answer in time"},
    [JUDGE_PROBE_UNTRUSTED] = {JUDGE_UNTRUSTED, WEIGHT_AT_ONCE, true, false, "wrong certificate"},
    [JUDGE_PROBE_BROKEN] = {JUDGE_DOWN, WEIGHT_SECOND_PROBE, true, false, "not TLS, or not HTTP"},
    [JUDGE_PROBE_CONNECTED] = {JUDGE_ALIVE, WEIGHT_ROW, true, false, "connected, not checked"},
    [JUDGE_PROBE_UNREACHED] = {JUDGE_DOWN, WEIGHT_AT_ONCE, true, false,
                               "no answer to a connection attempt"},
    [JUDGE_PROBE_STALLED] = {JUDGE_HUNG, WEIGHT_SECOND_PROBE, true, false,
                             "a handshake, but no answer in time"},
    [JUDGE_PROBE_LATE] = {JUDGE_BUSY, WEIGHT_ROW_DOWN, true, false,
                          "no answer in time, but it sends to clients"},
    [JUDGE_CONNECT_FAILED] = {JUDGE_DOWN, WEIGHT_AT_ONCE, false, false, "connect failed"},
    [JUDGE_CONNECT_SLOW] = {JUDGE_DOWN, WEIGHT_SECOND_CONNECTION, false, false,
                            "connect not answered in time"},
    [JUDGE_SILENT] = {JUDGE_HUNG, WEIGHT_AT_ONCE, false, false, "connected, then silent"},
    [JUDGE_CUT] = {JUDGE_DOWN, WEIGHT_SECOND_CONNECTION, false, false,
                   "connected, then closed without a byte"},
    [JUDGE_ANSWERED] = {JUDGE_UNKNOWN, WEIGHT_NONE, false, false, "answered"},
};

/* Bad states may be reached from any usable one, and so may good ones. */
#define VERIFIED_STATES \
	(FSM_TO(JUDGE_READY) | FSM_TO(JUDGE_ALIVE) | FSM_TO(JUDGE_BUSY) | FSM_TO(JUDGE_NOT_READY))
#define ALL_STATES \
	(VERIFIED_STATES | FSM_TO(JUDGE_DOWN) | FSM_TO(JUDGE_HUNG) | FSM_TO(JUDGE_UNTRUSTED))

static const struct fsm_state states[JUDGE_N_STATES] = {
    [JUDGE_UNKNOWN] = {"unknown", ALL_STATES},
    [JUDGE_UNVERIFIED] = {"unverified", VERIFIED_STATES | FSM_TO(JUDGE_UNTRUSTED)},
    [JUDGE_READY] = {"ready", ALL_STATES & ~FSM_TO(JUDGE_READY)},
    [JUDGE_ALIVE] = {"alive", ALL_STATES & ~FSM_TO(JUDGE_ALIVE)},
    [JUDGE_BUSY] = {"busy", ALL_STATES & ~FSM_TO(JUDGE_BUSY)},
    [JUDGE_NOT_READY] = {"not_ready", ALL_STATES & ~FSM_TO(JUDGE_NOT_READY)},
    [JUDGE_DOWN] = {"down", ALL_STATES & ~FSM_TO(JUDGE_DOWN)},
    [JUDGE_HUNG] = {"hung", ALL_STATES & ~FSM_TO(JUDGE_HUNG)},
    [JUDGE_UNTRUSTED] = {"untrusted", VERIFIED_STATES},
};

static bool is_good(enum judge_state state)
{
	return state == JUDGE_READY || state == JUDGE_ALIVE || state == JUDGE_BUSY;
}

static bool is_bad(enum judge_state state)
{
	return state >= JUDGE_NOT_READY;
}

bool judge_is_usable(enum judge_state state)
{
	return state != JUDGE_UNVERIFIED && state != JUDGE_UNTRUSTED;
}

const char *judge_state_name(enum judge_state state)
{
	return states[state].name;
}

bool judge_state_parse(const char *name, enum judge_state *ret_state)
{
	for (unsigned i = 0; i < JUDGE_N_STATES; i++) {
		if (strcmp(states[i].name, name) != 0)
			continue;
		*ret_state = (enum judge_state) i;
		return true;
	}
	return false;
}

enum judge_evidence judge_evidence_of(enum readyz_verdict verdict)
{
	static const enum judge_evidence evidence[READYZ_N_VERDICTS] = {
	    [READYZ_READY] = JUDGE_PROBE_READY,         [READYZ_ALIVE] = JUDGE_PROBE_ALIVE,
	    [READYZ_BUSY] = JUDGE_PROBE_BUSY,           [READYZ_NOT_READY] = JUDGE_PROBE_NOT_READY,
	    [READYZ_DOWN] = JUDGE_PROBE_DOWN,           [READYZ_SILENT] = JUDGE_PROBE_SILENT,
	    [READYZ_UNTRUSTED] = JUDGE_PROBE_UNTRUSTED, [READYZ_BROKEN] = JUDGE_PROBE_BROKEN,
	};

	return evidence[verdict];
}

/* A probe that got nothing from the upstream's machine or process. */
static bool is_unanswered(enum judge_evidence evidence)
{
	return evidence == JUDGE_PROBE_SILENT || evidence == JUDGE_PROBE_UNREACHED ||
	       evidence == JUDGE_PROBE_STALLED;
}

static void put_reason(struct judge *j, const char *reason)
{
	(void) snprintf(j->reason, sizeof(j->reason), "%s", reason);
}

void judge_init(struct judge *j, bool discovered, int64_t now_us)
{
	*j = (struct judge){
	    .state = discovered ? JUDGE_UNVERIFIED : JUDGE_UNKNOWN,
	    .since_us = now_us,
	    .rose_us = now_us - FLAP_US,
	};
	put_reason(j, "not probed yet");
}

void judge_restore(struct judge *j, enum judge_state state, int64_t since_us, const char *reason)
{
	j->state = state;
	j->since_us = since_us;
	put_reason(j, reason);
}

static void set_state(struct judge *j, enum judge_state state, int64_t now_us)
{
	fsm_check(states, JUDGE_N_STATES, j->state, state);
	if (is_good(j->state) && is_bad(state))
		j->falls = now_us - j->rose_us < FLAP_US ? j->falls + 1 : 0;
	if (is_bad(j->state) && is_good(state))
		j->rose_us = now_us;
	if (is_good(state))
		j->vain = 0;
	j->state = state;
	j->since_us = now_us;
	j->row = 0;
	j->silent_row = 0;
	j->slow_row = 0;
	j->suspect = false;
}

static unsigned row_up(const struct judge *j, unsigned rise)
{
	unsigned row = rise;

	for (unsigned i = 0; i < j->falls && row < JUDGE_ROW_MAX; i++)
		row *= 2;
	return MAX(MIN(row, JUDGE_ROW_MAX), rise);
}

static enum judge_state conclude_row(struct judge *j, unsigned rise, enum judge_state target)
{
	bool up = target < j->state;

	if (target == j->state) {
		j->row = 0;
		return target;
	}
	if (j->row > 0 && up != (j->leaning < j->state))
		j->row = 0;
	if (j->row == 0)
		j->leaning = target;
	j->leaning = up ? MAX(j->leaning, target) : MIN(j->leaning, target);
	j->row++;
	return j->row >= (up ? row_up(j, rise) : rise) ? j->leaning : j->state;
}

/* Counts the evidence and answers which state is the right one now. */
static enum judge_state conclude(struct judge *j, unsigned rise, const struct meaning *m)
{
	bool held = !judge_is_usable(j->state);

	if (held && !m->proves && m->state != JUDGE_UNTRUSTED) {
		j->row = 0;
		return j->state;
	}
	/* Nothing was known, so that nothing is contradicted. */
	if (j->state == JUDGE_UNVERIFIED || (j->state == JUDGE_UNKNOWN && m->weight == WEIGHT_ROW))
		return m->state;
	if (m->weight == WEIGHT_ROW_DOWN && m->state < j->state)
		return j->state;
	if (j->state == JUDGE_UNTRUSTED || m->weight == WEIGHT_ROW || m->weight == WEIGHT_ROW_DOWN) {
		j->silent_row = 0;
		return conclude_row(j, rise, m->state);
	}
	if (m->weight == WEIGHT_NONE) {
		j->slow_row = 0;
		return j->state;
	}
	j->row = 0;
	if (m->weight == WEIGHT_SECOND_CONNECTION)
		return ++j->slow_row < FALL_ROW || j->state == JUDGE_HUNG ? j->state : m->state;
	if (m->weight == WEIGHT_SECOND_PROBE && m->state != j->state && ++j->silent_row < FALL_ROW)
		return j->state;
	if (m->probe)
		j->silent_row = 0;
	return m->state;
}

/* The state stays: does the evidence leave a doubt that the next probe should settle soon? */
static void doubt(struct judge *j, const struct meaning *m)
{
	if (m->probe)
		j->suspect = j->row > 0 || j->silent_row > 0;
	else if (m->weight == WEIGHT_SECOND_CONNECTION)
		j->suspect = true;
	else if (m->weight == WEIGHT_NONE && (j->state == JUDGE_DOWN || j->state == JUDGE_HUNG))
		j->suspect = true;
}

bool judge_fold(struct judge *j, const struct judge_rules *rules, enum judge_evidence evidence,
                const char *reason, int64_t now_us)
{
	enum judge_state before = j->state, state;
	const struct meaning *m;

	assert((size_t) evidence < ARRAY_SIZE(meanings));
	m = &meanings[evidence];
	/* Connections that are left from before say nothing about who it is. */
	if (!m->probe && !judge_is_usable(before))
		return false;
	if (is_good(before) && now_us - j->rose_us >= FLAP_US)
		j->falls = 0;
	state = conclude(j, MAX(rules->rise, 1u), m);
	if (state != before)
		set_state(j, state, now_us);
	else
		doubt(j, m);
	if (m->probe && !is_good(state))
		j->vain++;
	/* What contradicts a state says nothing about why it is so. */
	if (state != before || m->state == state || (m->probe && state < JUDGE_READY))
		put_reason(j, reason != NULL ? reason : m->text);
	return state != before;
}

/* No less than makes the pace slow as soon as another one serves again. */
void judge_miss(struct judge *j)
{
	j->vain = MIN(j->vain, JUDGE_QUICK + 2);
}

/* Nodes that start together must not probe together. */
static int64_t spread(int64_t least_us)
{
	return least_us / 5;
}

static int64_t alone_us(const struct judge *j, const struct judge_rules *rules)
{
	int64_t beyond;

	if (j->vain <= JUDGE_PATIENCE)
		return MIN(rules->suspect_us, rules->interval_us);
	beyond = MIN((int64_t) (j->vain - JUDGE_PATIENCE), rules->interval_us / rules->suspect_us);
	return MIN(rules->suspect_us * (1 + beyond), rules->interval_us);
}

struct judge_pause judge_pause(const struct judge *j, const struct judge_rules *rules,
                               struct judge_place place)
{
	int64_t soon_us = MIN(rules->suspect_us, rules->interval_us);
	int64_t quick_us = MIN(rules->quick_us, rules->interval_us);
	int64_t least_us;

	if (place.urgent)
		least_us = soon_us / 2;
	else if (j->suspect || place.failing || (place.suspected && is_good(j->state)))
		least_us = soon_us;
	else if (is_good(j->state) && place.carries)
		return (struct judge_pause){quick_us, quick_us / QUICK_SPREAD_DIVISOR, quick_us};
	else if (is_good(j->state) || (place.others_serve && j->vain > JUDGE_QUICK + 1))
		least_us = rules->interval_us;
	else if (place.others_serve && j->vain == JUDGE_QUICK + 1)
		return (struct judge_pause){soon_us,
		                            rules->interval_us + spread(rules->interval_us) - soon_us, 0};
	else
		least_us = alone_us(j, rules);
	return (struct judge_pause){least_us, spread(least_us), 0};
}

/* --- the signs of life of one upstream --- */

/* A verdict that comes so much later than it is due tells of this machine, not of an upstream. */
#define LATE_US (500 * US_PER_MS)

void pulse_init(struct pulse *p)
{
	*p = (struct pulse){.failing_us = MONO_NEVER, .lost_us = MONO_NEVER, .late_us = MONO_NEVER};
}

void pulse_hear(struct pulse *p, bool asked, int64_t born_us, int64_t now_us)
{
	if (now_us - born_us < PULSE_HANDSHAKE_US)
		return;
	p->heard_us = now_us;
	if (asked)
		p->replied_us = now_us;
}

void pulse_suspect(struct pulse *p, int64_t now_us)
{
	p->suspect_until_us = now_us + PULSE_SUSPECT_US;
}

void pulse_tell(struct pulse *p, int64_t now_us)
{
	if (!pulse_is_told(p, now_us))
		p->told_since_us = now_us;
	pulse_suspect(p, now_us);
	p->told_until_us = p->suspect_until_us;
}

bool pulse_is_suspected(const struct pulse *p, int64_t now_us)
{
	return now_us < p->suspect_until_us;
}

bool pulse_is_told(const struct pulse *p, int64_t now_us)
{
	return now_us < p->told_until_us;
}

/* The machine or the probe process stood still, and what was to answer meanwhile could not be
 * heard. The same again is believed. */
static bool is_excused(struct pulse *p, int64_t sent_us, int64_t timeout_us, int64_t now_us)
{
	p->excused = !p->excused && now_us > sent_us + timeout_us * 3 / 2 + LATE_US;
	return p->excused;
}

bool pulse_is_lost(const struct pulse *p)
{
	return p->lost_us != MONO_NEVER;
}

static void forget_loss(struct pulse *p)
{
	p->failing_us = MONO_NEVER;
	p->lost_us = MONO_NEVER;
	p->is_proven = false;
	p->blames_etcd = false;
	p->late_us = MONO_NEVER;
}

/* Of another upstream only an answer to a probe tells of etcd, and one that is younger than what it
 * may have heard of etcd before. */
static void fail(struct pulse *p, int64_t sent_us, int64_t now_us)
{
	p->failing_us =
	    MIN(p->failing_us, pulse_is_told(p, now_us) ? MIN(sent_us, p->told_since_us) : sent_us);
	if (pulse_is_lost(p) || now_us - p->failing_us < PULSE_FAILS_US)
		return;
	p->lost_us = p->failing_us + PULSE_FAILS_US;
	p->needs_answer = true;
}

/* No sign of a process at all. The second request was sent half a timeout after the first. */
static void lose(struct pulse *p, int64_t sent_us, int64_t timeout_us)
{
	p->failing_us = MIN(p->failing_us, sent_us);
	p->lost_us = MIN(p->lost_us, sent_us + timeout_us / 2);
	p->needs_answer = false;
}

bool pulse_weigh(struct pulse *p, enum judge_evidence *evidence, const char **reason,
                 int64_t sent_us, int64_t timeout_us, int64_t now_us)
{
	bool unanswered = is_unanswered(*evidence), blames_etcd;

	if (unanswered && is_excused(p, sent_us, timeout_us, now_us))
		return false;
	if (unanswered && p->heard_us >= sent_us) {
		*evidence = JUDGE_PROBE_LATE;
		*reason = NULL;
		/* What it sends may be a log, which needs no etcd: its own word stands. */
		if (!p->blames_etcd) {
			int64_t late_us = MIN(p->late_us, sent_us);

			forget_loss(p);
			p->late_us = late_us;
		}
		return true;
	}
	if (*evidence == JUDGE_PROBE_SILENT || *evidence == JUDGE_PROBE_UNREACHED) {
		lose(p, sent_us, timeout_us);
		return true;
	}
	/* It was the second request that was answered, or a new connection that got a handshake. */
	if (now_us - sent_us >= timeout_us / 2)
		pulse_suspect(p, now_us);
	if (*evidence == JUDGE_PROBE_ALIVE && pulse_is_told(p, now_us)) {
		*evidence = JUDGE_PROBE_NOT_READY;
		*reason = "readiness unknown, and another daemon of this node sees it fail";
		fail(p, sent_us, now_us);
		return true;
	}
	blames_etcd = *evidence == JUDGE_PROBE_NOT_READY && readyz_blames_etcd(*reason);
	if (unanswered || blames_etcd) {
		p->blames_etcd = p->blames_etcd || blames_etcd;
		fail(p, blames_etcd ? MIN(sent_us, p->late_us) : sent_us, now_us);
		return true;
	}
	forget_loss(p);
	p->excused = false;
	if (*evidence == JUDGE_PROBE_READY || *evidence == JUDGE_PROBE_ALIVE ||
	    *evidence == JUDGE_PROBE_CONNECTED)
		p->answered_us = now_us;
	return true;
}

bool pulse_is_failing(const struct pulse *p)
{
	return p->failing_us != MONO_NEVER && !p->is_proven;
}

bool pulse_is_urgent(const struct pulse *p, int64_t now_us)
{
	return pulse_is_failing(p) && now_us - p->failing_us < PULSE_URGENT_US;
}

int64_t pulse_sign_us(const struct pulse *p)
{
	return MAX(p->heard_us, p->answered_us);
}

void pulse_prove(struct pulse *lost, const struct pulse *other)
{
	int64_t sign_us = lost->needs_answer ? other->answered_us : pulse_sign_us(other);

	lost->is_proven = lost->is_proven || (pulse_is_lost(lost) && sign_us >= lost->lost_us);
}
