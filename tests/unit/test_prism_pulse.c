/* SPDX-License-Identifier: Apache-2.0 */
/* What a probe's verdict is worth, by what the upstream sent to clients and by when it came. */
#include "prism/pulse.h"

#include "base/macro.h"
#include "base/mono.h"
#include "tests/unit/check.h"

#define SENT_US (100 * US_PER_S)
#define TIMEOUT_US US_PER_S
#define DUE_US (SENT_US + TIMEOUT_US * 3 / 2)

static const char etcd_fails[] = "readyz 500: etcd, etcd-readiness failed";
static const char ends[] = "readyz 500: etcd, shutdown failed";

static enum judge_evidence weigh(struct pulse *p, enum judge_evidence evidence, const char *reason,
                                 int64_t after_us)
{
	CHECK(pulse_weigh(p, &evidence, &reason, SENT_US, TIMEOUT_US, SENT_US + after_us));
	return evidence;
}

/* A letter a verdict: S silent, U no connection, E etcd fails, T ends (shutdown), R ready, H silent
 * but heard. */
static void give(struct pulse *p, char letter)
{
	switch (letter) {
	case 'S':
		CHECK_EQ_INT(weigh(p, JUDGE_PROBE_SILENT, "none", DUE_US - SENT_US), JUDGE_PROBE_SILENT);
		break;
	case 'U':
		CHECK_EQ_INT(weigh(p, JUDGE_PROBE_UNREACHED, "none", DUE_US - SENT_US),
		             JUDGE_PROBE_UNREACHED);
		break;
	case 'E':
		CHECK_EQ_INT(weigh(p, JUDGE_PROBE_NOT_READY, etcd_fails, 1000), JUDGE_PROBE_NOT_READY);
		break;
	case 'T':
		CHECK_EQ_INT(weigh(p, JUDGE_PROBE_NOT_READY, ends, 1000), JUDGE_PROBE_NOT_READY);
		break;
	case 'R':
		CHECK_EQ_INT(weigh(p, JUDGE_PROBE_READY, "readyz 200", 1000), JUDGE_PROBE_READY);
		break;
	default:
		p->heard_us = SENT_US;
		CHECK_EQ_INT(weigh(p, JUDGE_PROBE_SILENT, "none", DUE_US - SENT_US), JUDGE_PROBE_LATE);
		p->heard_us = 0;
	}
}

static void test_lost(void)
{
	static const struct {
		const char *verdicts;
		bool lost;
	} cases[] = {
	    {"", false},   {"R", false},  {"S", true},     {"U", true},    {"SR", false},  {"E", false},
	    {"EE", true},  {"ES", true},  {"ERE", false},  {"TT", false},  {"ETE", false}, {"H", false},
	    {"SH", false}, {"EHE", true}, {"HHHH", false}, {"EER", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pulse p;

		pulse_init(&p);
		for (const char *v = cases[i].verdicts; *v != '\0'; v++) {
			p.suspect_until_us = 0;
			give(&p, *v);
		}
		if (!CHECK_EQ_INT(pulse_is_lost(&p), cases[i].lost))
			(void) fprintf(stderr, "  for '%s'\n", cases[i].verdicts);
	}
}

/* Another daemon's suspicion is the first of two times that etcd fails it; alone it is nothing. */
static void test_suspected(void)
{
	struct pulse p;

	pulse_init(&p);
	CHECK(!pulse_is_suspected(&p, SENT_US));
	pulse_suspect(&p, SENT_US);
	CHECK(pulse_is_suspected(&p, SENT_US + PULSE_SUSPECT_US - 1));
	CHECK(!pulse_is_suspected(&p, SENT_US + PULSE_SUSPECT_US));
	CHECK(!pulse_is_lost(&p));
	give(&p, 'R');
	CHECK(!pulse_is_lost(&p));
	give(&p, 'E');
	CHECK(pulse_is_lost(&p));
	/* So is an answer for which a second request was needed. */
	pulse_init(&p);
	(void) weigh(&p, JUDGE_PROBE_READY, "readyz 200", TIMEOUT_US / 2 - 1);
	CHECK(!pulse_is_suspected(&p, SENT_US + TIMEOUT_US));
	(void) weigh(&p, JUDGE_PROBE_READY, "readyz 200", TIMEOUT_US / 2);
	CHECK(pulse_is_suspected(&p, SENT_US + TIMEOUT_US));
}

/* Where an answer leaves readiness unknown, another daemon's word decides; a client's doubt does
 * not. */
static void test_told(void)
{
	struct pulse p;

	pulse_init(&p);
	pulse_suspect(&p, SENT_US);
	CHECK_EQ_INT(weigh(&p, JUDGE_PROBE_ALIVE, "readyz 401", 1000), JUDGE_PROBE_ALIVE);
	pulse_tell(&p, SENT_US);
	CHECK(pulse_is_suspected(&p, SENT_US));
	CHECK_EQ_INT(weigh(&p, JUDGE_PROBE_READY, "readyz 200", 1000), JUDGE_PROBE_READY);
	CHECK_EQ_INT(weigh(&p, JUDGE_PROBE_ALIVE, "readyz 401", 1000), JUDGE_PROBE_NOT_READY);
	CHECK(!pulse_is_lost(&p));
	CHECK_EQ_INT(weigh(&p, JUDGE_PROBE_ALIVE, "readyz 401", 2000), JUDGE_PROBE_NOT_READY);
	CHECK(pulse_is_lost(&p));
	/* The other daemon says it no more. */
	CHECK_EQ_INT(weigh(&p, JUDGE_PROBE_ALIVE, "readyz 401", PULSE_SUSPECT_US), JUDGE_PROBE_ALIVE);
	CHECK(!pulse_is_lost(&p));
}

/* Handshakes are no sign of life. */
static void test_heard(void)
{
	struct pulse p;

	pulse_init(&p);
	pulse_hear(&p, 500, 500 + PULSE_HANDSHAKE_US - 1);
	CHECK_EQ_INT(p.heard_us, 0);
	pulse_hear(&p, 500, 500 + PULSE_HANDSHAKE_US);
	CHECK_EQ_INT(p.heard_us, 500 + PULSE_HANDSHAKE_US);
	/* What came before the probe was sent does not count. */
	p.heard_us = SENT_US - 1;
	CHECK_EQ_INT(weigh(&p, JUDGE_PROBE_SILENT, "none", TIMEOUT_US), JUDGE_PROBE_SILENT);
}

static void test_proof(void)
{
	struct pulse lost, other;

	pulse_init(&lost);
	pulse_init(&other);
	give(&lost, 'S');
	other.answered_us = SENT_US + TIMEOUT_US / 2 - 1;
	CHECK(!pulse_is_proof(&other, &lost));
	other.answered_us = SENT_US + TIMEOUT_US / 2;
	CHECK(pulse_is_proof(&other, &lost));
	other.answered_us = 0;
	other.heard_us = SENT_US + TIMEOUT_US;
	CHECK(pulse_is_proof(&other, &lost));
	/* Of a row the first one counts. */
	pulse_init(&lost);
	give(&lost, 'E');
	give(&lost, 'S');
	CHECK_EQ_INT(lost.lost_us, SENT_US);
}

/* This machine stood still: the verdict does not count, unless the next one is as late. */
static void test_late(void)
{
	enum judge_evidence silent = JUDGE_PROBE_SILENT;
	const char *reason = "none";
	struct pulse p;

	pulse_init(&p);
	CHECK(!pulse_weigh(&p, &silent, &reason, SENT_US, TIMEOUT_US, DUE_US + US_PER_S));
	CHECK(!pulse_is_lost(&p));
	CHECK(pulse_weigh(&p, &silent, &reason, SENT_US, TIMEOUT_US, DUE_US + US_PER_S));
	CHECK(pulse_is_lost(&p));
	CHECK(!pulse_weigh(&p, &silent, &reason, SENT_US, TIMEOUT_US, DUE_US + US_PER_S));
}

int main(void)
{
	test_lost();
	test_suspected();
	test_told();
	test_heard();
	test_proof();
	test_late();
	return check_result();
}
