/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a row of evidence makes of an upstream. A letter a piece of evidence, one second apart, and
 * a letter for the state behind each:
 *   probes       R 200  A 401  B 429  N 500  D refused  S silent  X wrong certificate  K broken
 *                T bare connection  U no connection  P a handshake and no answer
 *                L late, while clients are sent something
 *   connections  f failed  w slow  s silent  c cut  a answered
 *   states       ? unknown  v unverified  R A B N D  H hung  X untrusted
 * A '.' lets ten seconds pass and has '.' for its state.
 */
#include "prism/judge.h"

#include <stdlib.h>

#include "base/macro.h"
#include "base/mono.h"
#include "tests/unit/check.h"

static const char evidence_letters[] = "RABNDSXKTUPLfwsca";
static const char state_letters[JUDGE_N_STATES + 1] = "?vRABNDHX";
static const struct judge_rules rules = {
    .rise = 2, .interval_us = 10 * US_PER_S, .quick_us = 2 * US_PER_S, .suspect_us = US_PER_S};
static const struct judge_place alone = {0}, others = {.others_serve = true};

static enum judge_evidence evidence_of(char letter)
{
	const char *at = strchr(evidence_letters, letter);

	if (at == NULL || letter == '\0')
		abort();
	return (enum judge_evidence)(at - evidence_letters);
}

/* The pause where no other one serves, without its spread, a fifth. */
static int64_t alone_us(const struct judge *j, const struct judge_rules *by)
{
	struct judge_pause pause = judge_pause(j, by, alone);

	CHECK_EQ_INT(pause.spread_us, pause.least_us / 5);
	return pause.least_us;
}

struct story {
	bool discovered;
	unsigned rise;
	const char *evidence;
	const char *states;
};

static void check_story(const struct story *c)
{
	struct judge_rules own = rules;
	char states[512] = "";
	int64_t now_us = 1000 * US_PER_S;
	struct judge j;

	own.rise = c->rise;
	judge_init(&j, c->discovered, now_us);
	for (size_t k = 0; c->evidence[k] != '\0'; k++) {
		enum judge_state before = j.state;
		bool changed;

		if (c->evidence[k] == '.') {
			now_us += 10 * US_PER_S;
			states[k] = '.';
			continue;
		}
		now_us += US_PER_S;
		changed = judge_fold(&j, &own, evidence_of(c->evidence[k]), NULL, now_us);
		CHECK_EQ_INT(changed, j.state != before);
		if (changed)
			CHECK_EQ_INT(j.since_us, now_us);
		states[k] = state_letters[j.state];
	}
	if (!CHECK_EQ_STR(states, c->states))
		(void) fprintf(stderr, "  for   %s\n", c->evidence);
}

static void test_stories(void)
{
	static const struct story cases[] = {
	    /* The first evidence counts at once. */
	    {false, 2, "R", "R"},
	    {false, 2, "A", "A"},
	    {false, 2, "B", "B"},
	    {false, 2, "N", "N"},
	    {false, 2, "D", "D"},
	    {false, 2, "X", "X"},
	    {false, 2, "T", "A"},
	    {false, 2, "f", "D"},
	    {false, 2, "s", "H"},
	    /* What needs a row needs one at the start too; what answered stays usable. */
	    {false, 2, "S", "H"},
	    {false, 2, "SRR", "HHR"},
	    {false, 2, "U", "D"},
	    {false, 2, "RPRPP", "RRRRH"},
	    {false, 2, "LL", "?B"},
	    {false, 2, "KK", "?D"},
	    {false, 2, "ww", "?D"},
	    {false, 2, "cc", "?D"},
	    {false, 2, "aaR", "??R"},

	    /* Down: at once. */
	    {false, 2, "RN", "RN"},
	    {false, 2, "RD", "RD"},
	    {false, 2, "Rf", "RD"},
	    {false, 2, "Rs", "RH"},
	    {false, 2, "RX", "RX"},
	    {false, 2, "RS", "RH"},
	    {false, 2, "RU", "RD"},
	    {false, 2, "RSa", "RHH"},
	    /* Down: the second probe in a row, whatever clients see meanwhile. */
	    {false, 2, "RKRK", "RRRR"},
	    {false, 2, "RKK", "RRD"},
	    {false, 2, "RKaK", "RRRD"},
	    {false, 2, "RKS", "RRH"},
	    /* Overloaded, and back: a row, as among all good answers. */
	    {false, 2, "RLRL", "RRRR"},
	    {false, 2, "RLLRR", "RRBBR"},
	    {false, 2, "RSLLRR", "RHHHHR"},
	    {false, 2, "RULL", "RDDD"},
	    /* Down: the second connection in a row, whatever kept probe connections say meanwhile. */
	    {false, 2, "Rww", "RRD"},
	    {false, 2, "Rcc", "RRD"},
	    {false, 2, "Rwc", "RRD"},
	    {false, 2, "Rcw", "RRD"},
	    {false, 2, "Rwawaw", "RRRRRR"},
	    {false, 2, "Rcacac", "RRRRRR"},
	    {false, 2, "RwRw", "RRRD"},
	    {false, 2, "RwwRRw", "RRDDRR"},

	    /* Up: `rise` in a row, and anything bad ends the row. */
	    {false, 2, "RDRR", "RDDR"},
	    {false, 3, "RDRRR", "RDDDR"},
	    {false, 1, "RDR", "RDR"},
	    {false, 0, "RDR", "RDR"},
	    {false, 20, "RDRRRRRRRRRRRRRRRRRRRRR", "RDDDDDDDDDDDDDDDDDDDDRR"},
	    {false, 2, "RDRDRR", "RDDDDR"},
	    {false, 2, "RDRfRR", "RDDDDR"},
	    {false, 2, "RDRSRR", "RDDHHR"},
	    {false, 2, "RDRwRR", "RDDDDR"},
	    {false, 2, "RDRcRR", "RDDDDR"},
	    {false, 2, "RNRR", "RNNR"},
	    {false, 2, "RNRNRR", "RNNNNR"},
	    {false, 2, "RsRR", "RHHR"},
	    {false, 2, "RDTT", "RDDA"},
	    /* A row of different good answers: the one nearest to where it is. */
	    {false, 2, "RDAA", "RDDA"},
	    {false, 2, "RDRA", "RDDA"},
	    {false, 2, "RDBR", "RDDB"},
	    {false, 2, "RDRBRR", "RDDBBR"},
	    /* Clients' connections do not raise. */
	    {false, 2, "Raaaa", "RRRRR"},
	    {false, 2, "RDaaaa", "RDDDDD"},
	    {false, 2, "Rsaaaa", "RHHHHH"},
	    {false, 2, "RNaaaa", "RNNNNN"},
	    {false, 2, "RDaRaR", "RDDDDR"},

	    /* Among the good: `rise` in a row both ways. */
	    {false, 2, "RAA", "RRA"},
	    {false, 2, "RBB", "RRB"},
	    {false, 2, "RAB", "RRA"},
	    {false, 2, "RBA", "RRA"},
	    {false, 2, "RARARA", "RRRRRR"},
	    {false, 2, "RASAA", "RRHHA"},
	    {false, 2, "ARR", "AAR"},
	    {false, 2, "BRR", "BBR"},
	    {false, 2, "BAR", "BBA"},
	    {false, 2, "ABRBRB", "AAAAAA"},
	    {false, 2, "AN", "AN"},
	    {false, 2, "BD", "BD"},

	    /* Among the bad: the latest that is conclusive. */
	    {false, 2, "DNDN", "DNDN"},
	    {false, 2, "DSS", "DHH"},
	    {false, 2, "Ds", "DH"},
	    {false, 2, "sf", "HD"},
	    {false, 2, "sD", "HD"},
	    {false, 2, "sN", "HN"},
	    {false, 2, "sKK", "HHD"},
	    {false, 2, "swwcc", "HHHHH"},
	    {false, 2, "NSS", "NHH"},
	    {false, 2, "NSNS", "NHNH"},
	    {false, 2, "DSDS", "DHDH"},
	    {false, 2, "Nww", "NND"},

	    /* Untrusted: only verified answers lead out, and in a row. */
	    {false, 2, "XRR", "XXR"},
	    {false, 2, "XNN", "XXN"},
	    {false, 2, "XRN", "XXN"},
	    {false, 2, "XRXRR", "XXXXR"},
	    {false, 2, "XRDRR", "XXXXR"},
	    {false, 2, "XRSRR", "XXXXR"},
	    {false, 2, "XDDSSKKTT", "XXXXXXXXX"},
	    {false, 2, "Xffwwssccaa", "XXXXXXXXXXX"},
	    {false, 2, "XRaRfR", "XXXRDD"},
	    {false, 2, "DX", "DX"},
	    {false, 2, "NX", "NX"},

	    /* Discovered: nothing but a verified answer makes it usable, the first one does. */
	    {true, 2, "R", "R"},
	    {true, 2, "A", "A"},
	    {true, 2, "B", "B"},
	    {true, 2, "N", "N"},
	    {true, 2, "X", "X"},
	    {true, 2, "DDSSKKTTR", "vvvvvvvvR"},
	    {true, 2, "ffwwssccaa", "vvvvvvvvvv"},
	    {true, 2, "XTTDDffRR", "XXXXXXXXR"},
	    {true, 2, "RDRR", "RDDR"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check_story(&cases[i]);
}

/* Each fall soon after a rise doubles the row: 2, 4, 8, 16, 16. */
static void test_flapping(void)
{
	static const struct story cases[] = {
	    {false, 2, "R.DRRDRRRRDRRRRRRRRDRRRRRRRRRRRRRRRRDRRRRRRRRRRRRRRRR",
	     "R.DDRDDDDRDDDDDDDDRDDDDDDDDDDDDDDDDRDDDDDDDDDDDDDDDDR"},
	    /* Good for a minute: forgotten. */
	    {false, 2, "RDRRDRRRR......DRRD", "RDDRDDDDR......DDRD"},
	    {false, 2, "RDRRDAAAA......RR", "RDDRDDDDA......AR"},
	    /* Good for less: not. */
	    {false, 2, "RDRRDRRRR.....DRRRRRRRR", "RDDRDDDDR.....DDDDDDDDR"},
	    /* A long time in the bad state is no time of being good. */
	    {false, 2, "RDRRD.........RRRR", "RDDRD.........DDDR"},
	    /* The first fall is never flapping, however young the upstream. */
	    {false, 2, "RDRR", "RDDR"},
	    /* Other bad states in between are not further falls. */
	    {false, 2, "RDNDNDRRD", "RDNDNDDRD"},
	    {false, 2, "RDNDNDRRDRRRR", "RDNDNDDRDDDDR"},
	    /* A step down among the good takes no longer for it. */
	    {false, 2, "RDRRDRRRRAARRRR", "RDDRDDDDRRAAAAR"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check_story(&cases[i]);
}

static void test_interval(void)
{
	static const struct {
		bool discovered;
		const char *evidence;
		int want_s;
	} cases[] = {
	    {false, "", 1},     {true, "", 1},      {false, "R", 10},    {false, "A", 10},
	    {false, "B", 10},   {false, "RD", 1},   {false, "N", 1},     {false, "X", 1},
	    {false, "RS", 1},   {false, "RSR", 1},  {false, "Rw", 1},    {false, "Rwa", 1},
	    {false, "Rc", 1},   {false, "RcR", 10}, {false, "RA", 1},    {false, "RAA", 10},
	    {false, "RAR", 10}, {false, "Ra", 10},  {false, "RDRR", 10}, {false, "RDR", 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct judge j;

		judge_init(&j, cases[i].discovered, 0);
		for (const char *p = cases[i].evidence; *p != '\0'; p++)
			(void) judge_fold(&j, &rules, evidence_of(*p), NULL, 0);
		if (!CHECK_EQ_INT(alone_us(&j, &rules), cases[i].want_s * US_PER_S))
			(void) fprintf(stderr, "  for '%s'\n", cases[i].evidence);
	}
}

/* One that stays away is asked less often in the end, whatever its state, and at once more often
 * when something stirs. */
static void test_patience(void)
{
	static const struct {
		bool discovered;
		char evidence;
		const char *stir;
	} cases[] = {{false, 'D', "a"}, {false, 'S', "a"}, {false, 'N', "R"},
	             {false, 'X', "R"}, {true, 'D', NULL}, {true, 'T', NULL}};
	static const struct judge_rules odd = {
	    .rise = 2, .interval_us = US_PER_S, .suspect_us = 3 * US_PER_S};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct judge j;
		unsigned n;

		judge_init(&j, cases[i].discovered, 0);
		for (n = 0; n < JUDGE_PATIENCE; n++) {
			(void) judge_fold(&j, &rules, evidence_of(cases[i].evidence), NULL, n);
			CHECK_EQ_INT(alone_us(&j, &rules), US_PER_S);
		}
		for (; n < JUDGE_PATIENCE + 20; n++) {
			int64_t want_us = MIN((n - JUDGE_PATIENCE + 2) * US_PER_S, 10 * US_PER_S);

			(void) judge_fold(&j, &rules, evidence_of(cases[i].evidence), NULL, n);
			CHECK_EQ_INT(alone_us(&j, &rules), want_us);
		}
		CHECK_EQ_INT(alone_us(&j, &odd), US_PER_S);
		if (cases[i].stir == NULL)
			continue;
		(void) judge_fold(&j, &rules, evidence_of(cases[i].stir[0]), NULL, n);
		CHECK_EQ_INT(alone_us(&j, &rules), US_PER_S);
		/* It came to nothing: back to the slow pace. */
		(void) judge_fold(&j, &rules, evidence_of(cases[i].evidence), NULL, n);
		CHECK_EQ_INT(alone_us(&j, &rules), 10 * US_PER_S);
		/* It was good in between: a new beginning. */
		(void) judge_fold(&j, &rules, JUDGE_PROBE_READY, NULL, n);
		CHECK(judge_fold(&j, &rules, JUDGE_PROBE_READY, NULL, n));
		CHECK(judge_fold(&j, &rules, JUDGE_PROBE_DOWN, NULL, n));
		CHECK_EQ_INT(alone_us(&j, &rules), US_PER_S);
	}
}

/* After an hour while others served it is asked soon when it is missed, and with all patience. */
static void test_missed(void)
{
	struct judge j;
	int64_t now;

	judge_init(&j, false, 0);
	for (now = 0; now < 360; now++)
		(void) judge_fold(&j, &rules, JUDGE_PROBE_DOWN, NULL, now);
	judge_miss(&j);
	CHECK_EQ_INT(judge_pause(&j, &rules, others).least_us, 10 * US_PER_S);
	for (unsigned n = JUDGE_QUICK + 2; n < JUDGE_PATIENCE; n++) {
		CHECK_EQ_INT(alone_us(&j, &rules), US_PER_S);
		(void) judge_fold(&j, &rules, JUDGE_PROBE_DOWN, NULL, now++);
	}
	CHECK_EQ_INT(alone_us(&j, &rules), US_PER_S);
	(void) judge_fold(&j, &rules, JUDGE_PROBE_DOWN, NULL, now);
	CHECK_EQ_INT(alone_us(&j, &rules), 2 * US_PER_S);
	/* One that has just fallen has nothing to forget. */
	judge_init(&j, false, 0);
	(void) judge_fold(&j, &rules, JUDGE_PROBE_DOWN, NULL, 0);
	judge_miss(&j);
	CHECK_EQ_INT(judge_pause(&j, &rules, others).spread_us, 200 * US_PER_MS);
}

/* The reason is that of the state, and the latest one. */
static void test_reason(void)
{
	struct judge j;
	char long_reason[2 * READYZ_REASON_MAX];

	judge_init(&j, false, 0);
	CHECK_EQ_STR(j.reason, "not probed yet");
	judge_fold(&j, &rules, JUDGE_PROBE_SILENT, "no answer in time", 1);
	CHECK_EQ_STR(j.reason, "no answer in time");
	judge_init(&j, false, 0);
	judge_fold(&j, &rules, JUDGE_PROBE_READY, "readyz 200", 2);
	CHECK_EQ_STR(j.reason, "readyz 200");
	judge_fold(&j, &rules, JUDGE_CONNECT_SLOW, NULL, 3);
	CHECK_EQ_STR(j.reason, "readyz 200");
	judge_fold(&j, &rules, JUDGE_PROBE_NOT_READY, "readyz 500: etcd failed", 4);
	CHECK_EQ_STR(j.reason, "readyz 500: etcd failed");
	judge_fold(&j, &rules, JUDGE_PROBE_NOT_READY, "readyz 500: ping failed", 5);
	CHECK_EQ_STR(j.reason, "readyz 500: ping failed");
	CHECK_EQ_INT(j.since_us, 4);
	judge_fold(&j, &rules, JUDGE_PROBE_READY, "readyz 200", 6);
	CHECK_EQ_STR(j.reason, "readyz 500: ping failed");
	judge_fold(&j, &rules, JUDGE_CONNECT_FAILED, NULL, 7);
	CHECK_EQ_STR(j.reason, "connect failed");
	judge_fold(&j, &rules, JUDGE_CUT, NULL, 8);
	judge_fold(&j, &rules, JUDGE_CUT, NULL, 9);
	CHECK_EQ_STR(j.reason, "connected, then closed without a byte");

	memset(long_reason, 'x', sizeof(long_reason) - 1);
	long_reason[sizeof(long_reason) - 1] = '\0';
	judge_fold(&j, &rules, JUDGE_PROBE_UNTRUSTED, long_reason, 10);
	CHECK_EQ_INT(strlen(j.reason), READYZ_REASON_MAX - 1);
	judge_fold(&j, &rules, JUDGE_PROBE_DOWN, "connection refused", 11);
	CHECK_EQ_INT(j.reason[0], 'x');

	judge_init(&j, true, 0);
	judge_fold(&j, &rules, JUDGE_PROBE_DOWN, "connection refused", 1);
	CHECK_EQ_STR(j.reason, "connection refused");
	CHECK_EQ_INT(j.state, JUDGE_UNVERIFIED);
}

static void test_words(void)
{
	static const char *const names[JUDGE_N_STATES] = {"unknown", "unverified", "ready",
	                                                  "alive",   "busy",       "not_ready",
	                                                  "down",    "hung",       "untrusted"};
	static const struct {
		enum readyz_verdict verdict;
		enum judge_evidence evidence;
	} verdicts[] = {
	    {READYZ_READY, JUDGE_PROBE_READY},         {READYZ_ALIVE, JUDGE_PROBE_ALIVE},
	    {READYZ_BUSY, JUDGE_PROBE_BUSY},           {READYZ_NOT_READY, JUDGE_PROBE_NOT_READY},
	    {READYZ_DOWN, JUDGE_PROBE_DOWN},           {READYZ_SILENT, JUDGE_PROBE_SILENT},
	    {READYZ_UNTRUSTED, JUDGE_PROBE_UNTRUSTED}, {READYZ_BROKEN, JUDGE_PROBE_BROKEN},
	};
	enum judge_state state = JUDGE_BUSY;

	for (unsigned i = 0; i < JUDGE_N_STATES; i++) {
		CHECK_EQ_STR(judge_state_name((enum judge_state) i), names[i]);
		CHECK(judge_state_parse(names[i], &state));
		CHECK_EQ_INT(state, i);
		CHECK_EQ_INT(judge_is_usable((enum judge_state) i),
		             i != JUDGE_UNVERIFIED && i != JUDGE_UNTRUSTED);
	}
	CHECK(!judge_state_parse("READY", &state));
	CHECK(!judge_state_parse("", &state));
	for (size_t i = 0; i < ARRAY_SIZE(verdicts); i++)
		CHECK_EQ_INT(judge_evidence_of(verdicts[i].verdict), verdicts[i].evidence);
}

/* Whatever comes: what was never verified is never usable, and no move is made that the table of
 * moves forbids (that would abort). */
static void test_any_row(void)
{
	uint64_t seed = 1;

	for (unsigned run = 0; run < 2000; run++) {
		bool trusted = (run & 1) == 0;
		struct judge j;

		judge_init(&j, !trusted, 0);
		for (int64_t t = 1; t < 200; t++) {
			enum judge_evidence e;

			seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
			e = (enum judge_evidence)((seed >> 33) % (JUDGE_ANSWERED + 1));
			if (e == JUDGE_PROBE_UNTRUSTED)
				trusted = false;
			(void) judge_fold(&j, &rules, e, NULL, t * US_PER_S);
			if (e <= JUDGE_PROBE_NOT_READY && j.state != JUDGE_UNTRUSTED)
				trusted = true;
			CHECK_EQ_INT(judge_is_usable(j.state), trusted);
			CHECK(alone_us(&j, &rules) >= rules.suspect_us);
			CHECK(alone_us(&j, &rules) <= rules.interval_us);
		}
	}
}

/* Suspicion quickens the probes of a good one only: of one that hangs each probe needs so long that
 * the next would follow at once, from every node. That it is open whether connections are lost
 * does. */
static void test_suspected(void)
{
	static const struct judge_place suspected = {.others_serve = true, .suspected = true},
	                                failing = {.others_serve = true, .failing = true},
	                                urgent = {.failing = true, .urgent = true};
	struct judge j;

	judge_init(&j, false, 0);
	(void) judge_fold(&j, &rules, JUDGE_PROBE_READY, NULL, 0);
	CHECK_EQ_INT(judge_pause(&j, &rules, others).least_us, rules.interval_us);
	CHECK_EQ_INT(judge_pause(&j, &rules, suspected).least_us, rules.suspect_us);
	for (int i = 0; i < 3; i++)
		(void) judge_fold(&j, &rules, JUDGE_PROBE_SILENT, NULL, 0);
	CHECK_EQ_INT(judge_pause(&j, &rules, suspected).least_us, rules.interval_us);
	CHECK_EQ_INT(judge_pause(&j, &rules, failing).least_us, rules.suspect_us);
	CHECK_EQ_INT(judge_pause(&j, &rules, urgent).least_us, rules.suspect_us / 2);
}

/* One that carries connections is asked quickly while it is good, and what it sends to clients may
 * take the place of a probe; in doubt neither matters. */
static void test_carries(void)
{
	static const struct judge_rules slow_quick = {
	    .rise = 2, .interval_us = US_PER_S, .quick_us = 2 * US_PER_S, .suspect_us = US_PER_S};
	static const struct judge_place place = {.others_serve = true, .carries = true};
	static const struct {
		const char *evidence;
		int64_t least_us, most_us, heard_us;
	} cases[] = {
	    {"R", 2000000, 2200000, 2000000}, {"A", 2000000, 2200000, 2000000},
	    {"B", 2000000, 2200000, 2000000}, {"RK", 1000000, 1200000, 0},
	    {"RN", 1000000, 1200000, 0},      {"RNNNN", 10000000, 12000000, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct judge_pause pause;
		struct judge j;

		judge_init(&j, false, 0);
		for (const char *p = cases[i].evidence; *p != '\0'; p++)
			(void) judge_fold(&j, &rules, evidence_of(*p), NULL, 0);
		pause = judge_pause(&j, &rules, place);
		CHECK_EQ_INT(pause.least_us, cases[i].least_us);
		CHECK_EQ_INT(pause.least_us + pause.spread_us, cases[i].most_us);
		CHECK_EQ_INT(pause.heard_us, cases[i].heard_us);
		pause = judge_pause(&j, &slow_quick, place);
		CHECK_EQ_INT(pause.least_us, US_PER_S);
	}
}

/* Where others serve: soon once, then at any time, then seldom; and at once again when
 * something stirs, or when no other one serves any more. */
static void test_others_serve(void)
{
	static const char evidence[] = {'D', 'S', 'N', 'X'};
	static const struct {
		int64_t least_s, most_s;
	} want[] = {{1, 1}, {1, 12}, {10, 12}, {10, 12}};

	for (size_t i = 0; i < ARRAY_SIZE(evidence); i++) {
		struct judge_pause pause;
		struct judge j;

		judge_init(&j, false, 0);
		(void) judge_fold(&j, &rules, JUDGE_PROBE_READY, NULL, 0);
		CHECK_EQ_INT(judge_pause(&j, &rules, others).least_us, 10 * US_PER_S);
		if (evidence[i] == 'S')
			(void) judge_fold(&j, &rules, JUDGE_SILENT, NULL, 0);
		for (size_t n = 0; n < ARRAY_SIZE(want); n++) {
			(void) judge_fold(&j, &rules, evidence_of(evidence[i]), NULL, (int64_t) n);
			pause = judge_pause(&j, &rules, others);
			CHECK_EQ_INT(pause.least_us, want[n].least_s * US_PER_S);
			CHECK_EQ_INT((pause.least_us + pause.spread_us) / US_PER_S, want[n].most_s);
			CHECK_EQ_INT(alone_us(&j, &rules), US_PER_S);
		}
		(void) judge_fold(&j, &rules, JUDGE_PROBE_READY, NULL, 9);
		CHECK_EQ_INT(judge_pause(&j, &rules, others).least_us, US_PER_S);
	}
}

int main(void)
{
	test_stories();
	test_flapping();
	test_interval();
	test_patience();
	test_others_serve();
	test_suspected();
	test_carries();
	test_missed();
	test_reason();
	test_words();
	test_any_row();
	return check_result();
}
