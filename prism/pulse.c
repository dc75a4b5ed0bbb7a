/* SPDX-License-Identifier: Apache-2.0 */
/* The signs of life of one upstream; pulse.h has the rules. Pure. */
#include "prism/pulse.h"

#include <stddef.h>

#include "base/macro.h"
#include "web/readyz.h"

/* A verdict that comes so much later than it is due tells of this machine, not of an upstream. */
#define LATE_US (500 * US_PER_MS)
void pulse_init(struct pulse *p)
{
	*p = (struct pulse){.failing_us = MONO_NEVER, .lost_us = MONO_NEVER};
}

void pulse_hear(struct pulse *p, int64_t born_us, int64_t now_us)
{
	if (now_us - born_us >= PULSE_HANDSHAKE_US)
		p->heard_us = now_us;
}

void pulse_suspect(struct pulse *p, int64_t now_us)
{
	p->suspect_until_us = now_us + PULSE_SUSPECT_US;
}

void pulse_tell(struct pulse *p, int64_t now_us)
{
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
}

/* Of another upstream only an answer to a probe tells of etcd, and one that is younger than what it
 * may have heard of etcd before. */
static void fail(struct pulse *p, int64_t sent_us, int64_t now_us)
{
	p->failing_us = MIN(p->failing_us, sent_us);
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
	bool unanswered = judge_is_unanswered(*evidence);

	if (unanswered && is_excused(p, sent_us, timeout_us, now_us))
		return false;
	if (unanswered && p->heard_us >= sent_us) {
		*evidence = JUDGE_PROBE_LATE;
		*reason = NULL;
		forget_loss(p);
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
	if (unanswered || (*evidence == JUDGE_PROBE_NOT_READY && readyz_blames_etcd(*reason))) {
		fail(p, sent_us, now_us);
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

int64_t pulse_sign_us(const struct pulse *p)
{
	return MAX(p->heard_us, p->answered_us);
}

void pulse_prove(struct pulse *lost, const struct pulse *other)
{
	int64_t sign_us = lost->needs_answer ? other->answered_us : pulse_sign_us(other);

	lost->is_proven = lost->is_proven || (pulse_is_lost(lost) && sign_us >= lost->lost_us);
}
