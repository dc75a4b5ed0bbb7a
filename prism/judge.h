/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What is known of one upstream: evidence folded into a state, with hysteresis. Pure; the caller
 * brings the time. Health ranks, it does not exclude (balance.h), so that going down may be quick;
 * coming up again takes `rise` good answers in a row, and more for one that keeps falling.
 *
 *	UNVERIFIED --(first verified answer)--> the states below; only for what was discovered
 *	UNKNOWN    --(first evidence)---------> the states below; only for what was configured
 *
 *	           200 x rise               401, 403, 404 x rise         429
 *	  READY <----------------- any ----------------------> ALIVE    BUSY
 *	                            |
 *	       5xx, at once         |   refused at once; SYN unanswered twice; broken twice
 *	  NOT_READY <---------------+-----------------> DOWN
 *	                            |
 *	       silent at once (traffic) or twice (probes)     wrong certificate, at once
 *	  HUNG <--------------------+-----------------> UNTRUSTED
 */

#include <stdbool.h>
#include <stdint.h>

#include "web/readyz.h"

enum judge_state {
	JUDGE_UNKNOWN,    /* configured, nothing known yet: usable */
	JUDGE_UNVERIFIED, /* discovered, its identity not yet verified: never used */
	JUDGE_READY,
	JUDGE_ALIVE,
	JUDGE_BUSY,
	JUDGE_NOT_READY,
	JUDGE_DOWN,
	JUDGE_HUNG,
	JUDGE_UNTRUSTED, /* never used */
};
#define JUDGE_N_STATES (JUDGE_UNTRUSTED + 1)

enum judge_evidence {
	/* A probe's verdict. */
	JUDGE_PROBE_READY,
	JUDGE_PROBE_ALIVE,
	JUDGE_PROBE_BUSY,
	JUDGE_PROBE_NOT_READY,
	JUDGE_PROBE_DOWN,
	JUDGE_PROBE_SILENT,
	JUDGE_PROBE_UNTRUSTED,
	JUDGE_PROBE_BROKEN,
	JUDGE_PROBE_CONNECTED, /* checks are off: a TCP connection was made; counts as ALIVE */
	/* What a client's connection showed. */
	JUDGE_CONNECT_FAILED, /* refused, no route */
	JUDGE_CONNECT_SLOW,   /* no answer within the hedge delay, or none at all */
	JUDGE_SILENT,         /* connected, and not one byte in time */
	JUDGE_CUT,            /* connected, and closed or reset without a byte */
	JUDGE_ANSWERED,       /* it sent something */
};

struct judge_rules {
	unsigned rise;
	int64_t interval_us; /* between probes in steady state */
	int64_t suspect_us;  /* and while anything is in doubt */
};

/* A value; begins with judge_init(). */
struct judge {
	enum judge_state state;
	int64_t since_us; /* in this state */
	char reason[READYZ_REASON_MAX];
	/* The rest is judge.c's own. */
	unsigned row; /* answers in a row that speak for `leaning` */
	enum judge_state leaning;
	unsigned slow_row;
	unsigned falls; /* recent ones, they make the way up longer */
	int64_t fell_us;
	bool suspect;
	bool was_verified;
};

void judge_init(struct judge *j, bool discovered, int64_t now_us);

/* Folds one piece of evidence in. True when the state is another one now. `reason` may be NULL. */
bool judge_fold(struct judge *j, const struct judge_rules *rules, enum judge_evidence evidence,
                const char *reason, int64_t now_us);

/* How long after the last probe the next one is due; the caller adds jitter (upwards only). */
int64_t judge_probe_interval_us(const struct judge *j, const struct judge_rules *rules);

enum judge_evidence judge_evidence_of(enum readyz_verdict verdict);
const char *judge_state_name(enum judge_state state); /* "ready", "not_ready", ... */
bool judge_state_parse(const char *name, enum judge_state *ret_state);
bool judge_is_usable(enum judge_state state); /* not UNVERIFIED, not UNTRUSTED */
