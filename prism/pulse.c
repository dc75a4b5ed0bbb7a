/* SPDX-License-Identifier: Apache-2.0 */
/* The signs of life of one upstream; pulse.h has the rules. Pure. */
#include "prism/pulse.h"

#include <stddef.h>

#include "base/macro.h"
#include "web/readyz.h"

/* A verdict that comes so much later than it is due tells of this machine, not of an upstream. */
#define LATE_US (500 * US_PER_MS)
/* Times in a row that etcd fails it. An election of etcd's leader fails all of them for a second or
 * two, but not in the same moment. */
#define LOST_ROW 2

void pulse_init(struct pulse *p)
{
	*p = (struct pulse){.lost_us = MONO_NEVER};
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

/* The machine or the probe process stood still, and what was to answer meanwhile could not be
 * heard. The same again is believed. */
static bool is_excused(struct pulse *p, int64_t sent_us, int64_t timeout_us, int64_t now_us)
{
	p->excused = !p->excused && now_us > sent_us + timeout_us * 3 / 2 + LATE_US;
	return p->excused;
}

static void lose(struct pulse *p, int64_t since_us, unsigned times)
{
	p->lost_us = MIN(p->lost_us, since_us);
	p->lost_row = MIN(p->lost_row + times, (unsigned) LOST_ROW);
}

static void forget_loss(struct pulse *p)
{
	p->lost_us = MONO_NEVER;
	p->lost_row = 0;
}

bool pulse_weigh(struct pulse *p, enum judge_evidence *evidence, const char **reason,
                 int64_t sent_us, int64_t timeout_us, int64_t now_us)
{
	bool unanswered = judge_is_unanswered(*evidence);
	bool suspected = pulse_is_suspected(p, now_us);

	if (unanswered && is_excused(p, sent_us, timeout_us, now_us))
		return false;
	/* The second of a probe's requests was answered, or none: doubt. */
	if (now_us - sent_us >= timeout_us / 2)
		pulse_suspect(p, now_us);
	if (unanswered && p->heard_us >= sent_us) {
		*evidence = JUDGE_PROBE_LATE;
		*reason = NULL;
		if (pulse_is_lost(p))
			forget_loss(p);
		return true;
	}
	if (unanswered) {
		/* Since the second request was sent this node had its network, if another answers. */
		lose(p, sent_us + timeout_us / 2, LOST_ROW);
		return true;
	}
	if (*evidence == JUDGE_PROBE_NOT_READY && readyz_blames_etcd(*reason)) {
		lose(p, sent_us, suspected ? LOST_ROW : 1);
		return true;
	}
	if (*evidence == JUDGE_PROBE_ALIVE && now_us < p->told_until_us) {
		*evidence = JUDGE_PROBE_NOT_READY;
		*reason = "readiness unknown, and another daemon of this node sees it fail";
		lose(p, sent_us, 1);
		return true;
	}
	forget_loss(p);
	p->excused = false;
	if (*evidence == JUDGE_PROBE_READY || *evidence == JUDGE_PROBE_ALIVE ||
	    *evidence == JUDGE_PROBE_CONNECTED)
		p->answered_us = now_us;
	return true;
}

bool pulse_is_lost(const struct pulse *p)
{
	return p->lost_row >= LOST_ROW;
}

bool pulse_is_proof(const struct pulse *other, const struct pulse *lost)
{
	return MAX(other->heard_us, other->answered_us) >= lost->lost_us;
}
