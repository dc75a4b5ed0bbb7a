/* SPDX-License-Identifier: Apache-2.0 */
/* What a probe's verdict is worth, by what the upstream sent to clients and by when it came. */
#include "prism/judge.h"

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

/* A letter a verdict, a second after the one before: S silent, U no connection, P a handshake and
 * no answer, E etcd fails, T ends (shutdown), R ready, H silent but heard. */
static void give(struct pulse *p, char letter, int64_t sent_us)
{
	enum judge_evidence evidence = JUDGE_PROBE_SILENT, want = JUDGE_PROBE_SILENT;
	const char *reason = "none";

	switch (letter) {
	case 'S':
		break;
	case 'U':
		evidence = want = JUDGE_PROBE_UNREACHED;
		break;
	case 'P':
		evidence = want = JUDGE_PROBE_STALLED;
		break;
	case 'E':
		evidence = want = JUDGE_PROBE_NOT_READY;
		reason = etcd_fails;
		break;
	case 'T':
		evidence = want = JUDGE_PROBE_NOT_READY;
		reason = ends;
		break;
	case 'R':
		evidence = want = JUDGE_PROBE_READY;
		break;
	default:
		p->heard_us = sent_us;
		want = JUDGE_PROBE_LATE;
	}
	CHECK(pulse_weigh(p, &evidence, &reason, sent_us, TIMEOUT_US, sent_us + 1000));
	CHECK_EQ_INT(evidence, want);
	p->heard_us = 0;
}

static void give_all(struct pulse *p, const char *verdicts)
{
	pulse_init(p);
	for (size_t i = 0; verdicts[i] != '\0'; i++)
		give(p, verdicts[i], SENT_US + (int64_t) i * US_PER_S);
}

static void test_lost(void)
{
	static const struct {
		const char *verdicts;
		bool lost;
	} cases[] = {
	    {"", false},     {"R", false},  {"S", true},    {"U", true},     {"SR", false},
	    {"E", false},    {"EE", false}, {"EEE", true},  {"PP", false},   {"PPP", true},
	    {"EPE", true},   {"ES", true},  {"ERE", false}, {"EERE", false}, {"TTT", false},
	    {"EET", false},  {"H", false},  {"SH", false},  {"EHEE", true},  {"HHHH", false},
	    {"EEER", false}, {"HE", false}, {"HEE", true},  {"HREE", false}, {"HHH", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pulse p;

		give_all(&p, cases[i].verdicts);
		if (!CHECK_EQ_INT(pulse_is_lost(&p), cases[i].lost))
			(void) fprintf(stderr, "  for '%s'\n", cases[i].verdicts);
	}
}

/* Suspicion alone is nothing; an answer for which a second request was needed is a reason for it,
 * and no answer is none: what is asked quickly then would never be asked slowly. */
static void test_suspected(void)
{
	struct pulse p;

	pulse_init(&p);
	CHECK(!pulse_is_suspected(&p, SENT_US));
	pulse_suspect(&p, SENT_US);
	CHECK(pulse_is_suspected(&p, SENT_US + PULSE_SUSPECT_US - 1));
	CHECK(!pulse_is_suspected(&p, SENT_US + PULSE_SUSPECT_US));
	CHECK(!pulse_is_lost(&p) && !pulse_is_failing(&p));
	pulse_init(&p);
	(void) weigh(&p, JUDGE_PROBE_READY, "readyz 200", TIMEOUT_US / 2 - 1);
	CHECK(!pulse_is_suspected(&p, SENT_US + TIMEOUT_US));
	(void) weigh(&p, JUDGE_PROBE_READY, "readyz 200", TIMEOUT_US / 2);
	CHECK(pulse_is_suspected(&p, SENT_US + TIMEOUT_US));
	pulse_init(&p);
	(void) weigh(&p, JUDGE_PROBE_SILENT, "none", DUE_US - SENT_US);
	CHECK(!pulse_is_suspected(&p, DUE_US));
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
	CHECK(!pulse_is_lost(&p) && pulse_is_failing(&p));
	CHECK_EQ_INT(weigh(&p, JUDGE_PROBE_ALIVE, "readyz 401", PULSE_FAILS_US), JUDGE_PROBE_NOT_READY);
	CHECK(pulse_is_lost(&p));
	/* The other daemon says it no more. */
	CHECK_EQ_INT(weigh(&p, JUDGE_PROBE_ALIVE, "readyz 401", PULSE_SUSPECT_US), JUDGE_PROBE_ALIVE);
	CHECK(!pulse_is_lost(&p));
}

/* What another daemon saw before counts for the time that it goes on, and alone for nothing. */
static void test_told_before(void)
{
	struct pulse p;

	pulse_init(&p);
	pulse_tell(&p, SENT_US + 1000 - PULSE_FAILS_US);
	pulse_tell(&p, SENT_US);
	CHECK(!pulse_is_lost(&p) && !pulse_is_failing(&p));
	(void) weigh(&p, JUDGE_PROBE_NOT_READY, "readyz 500: etcd failed", 999);
	CHECK(!pulse_is_lost(&p));
	(void) weigh(&p, JUDGE_PROBE_NOT_READY, "readyz 500: etcd failed", 1000);
	CHECK(pulse_is_lost(&p));
	CHECK_EQ_INT(p.lost_us, SENT_US + 1000);
}

/* Whether connections are lost is asked urgently at first, and not for ever. */
static void test_urgent(void)
{
	struct pulse p;

	pulse_init(&p);
	CHECK(!pulse_is_urgent(&p, SENT_US));
	(void) weigh(&p, JUDGE_PROBE_STALLED, "none", TIMEOUT_US);
	CHECK(pulse_is_urgent(&p, SENT_US + PULSE_URGENT_US - 1));
	CHECK(!pulse_is_urgent(&p, SENT_US + PULSE_URGENT_US));
	CHECK(pulse_is_failing(&p));
	p.is_proven = true;
	CHECK(!pulse_is_urgent(&p, SENT_US + TIMEOUT_US));
}

/* Its own word that etcd fails it stands against what it sends to a client, until it answers well. */
static void test_blame(void)
{
	const char *blame = "readyz 500: etcd failed";
	struct pulse p;

	pulse_init(&p);
	(void) weigh(&p, JUDGE_PROBE_NOT_READY, blame, 1000);
	p.heard_us = SENT_US;
	CHECK_EQ_INT(weigh(&p, JUDGE_PROBE_STALLED, "none", TIMEOUT_US), JUDGE_PROBE_LATE);
	CHECK(pulse_is_failing(&p) && !pulse_is_lost(&p));
	(void) weigh(&p, JUDGE_PROBE_NOT_READY, blame, PULSE_FAILS_US);
	CHECK(pulse_is_lost(&p));
	(void) weigh(&p, JUDGE_PROBE_READY, "readyz 200", 1000);
	CHECK(!pulse_is_failing(&p));
	CHECK_EQ_INT(weigh(&p, JUDGE_PROBE_STALLED, "none", TIMEOUT_US), JUDGE_PROBE_LATE);
	CHECK(!pulse_is_failing(&p));
}

/* Handshakes are no sign of life. */
static void test_heard(void)
{
	struct pulse p;

	pulse_init(&p);
	pulse_hear(&p, true, 500, 500 + PULSE_HANDSHAKE_US - 1);
	CHECK_EQ_INT(p.heard_us, 0);
	pulse_hear(&p, true, 500, 500 + PULSE_HANDSHAKE_US);
	CHECK_EQ_INT(p.heard_us, 500 + PULSE_HANDSHAKE_US);
	CHECK_EQ_INT(p.replied_us, 500 + PULSE_HANDSHAKE_US);
	pulse_hear(&p, false, 500, 501 + PULSE_HANDSHAKE_US);
	CHECK_EQ_INT(p.heard_us, 501 + PULSE_HANDSHAKE_US);
	CHECK_EQ_INT(p.replied_us, 500 + PULSE_HANDSHAKE_US);
	/* What came before the probe was sent does not count. */
	p.heard_us = SENT_US - 1;
	CHECK_EQ_INT(weigh(&p, JUDGE_PROBE_SILENT, "none", TIMEOUT_US), JUDGE_PROBE_SILENT);
}

static bool is_proven(const char *verdicts, int64_t answered_us, int64_t heard_us)
{
	struct pulse lost, other;

	give_all(&lost, verdicts);
	pulse_init(&other);
	other.answered_us = answered_us;
	other.heard_us = heard_us;
	pulse_prove(&lost, &other);
	CHECK_EQ_INT(pulse_is_failing(&lost), !lost.is_proven);
	return lost.is_proven;
}

/* By an answer since the second request was sent; of one that fails, by an answer to a probe that
 * is younger than what etcd may have been asked for before. */
static void test_proof(void)
{
	int64_t second_us = SENT_US + TIMEOUT_US / 2, later_us = SENT_US + PULSE_FAILS_US;

	CHECK(!is_proven("S", second_us - 1, second_us - 1));
	CHECK(is_proven("S", second_us, 0));
	CHECK(is_proven("S", 0, second_us));
	CHECK(!is_proven("EEE", later_us - 1, later_us));
	CHECK(is_proven("EEE", later_us, 0));
	CHECK(!is_proven("EE", later_us, 0));
	CHECK(is_proven("ES", 0, SENT_US + US_PER_S + TIMEOUT_US / 2));
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
	test_told_before();
	test_urgent();
	test_blame();
	test_heard();
	test_proof();
	test_late();
	return check_result();
}
