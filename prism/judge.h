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
 *	READY      200                               ) `rise` in a row, up and down
 *	ALIVE      401, 403, 404; a bare connection  )
 *	BUSY       429                               )
 *	NOT_READY  5xx, at once
 *	DOWN       refused or no route, at once; a probe that got no TLS or no HTTP, and a client's
 *	           connection that was slow or cut, the second in a row
 *	HUNG       a client's connection or a probe that was silent, at once: a probe is silent when
 *	           two requests on two connections are (probe/prober.c); where the second one got its
 *	           handshake, the second such probe in a row
 *	UNTRUSTED  a wrong certificate, at once; only verified answers lead out, `rise` in a row
 *
 * What makes a row. Good answers that are on the same side of the present state (better, or worse)
 * count together, and the state moves to the one of them that is nearest to it: 200, 429, 200, ...
 * brings one that was down back as BUSY. Anything bad ends the row.
 *
 * Bad states know no order among themselves: the latest conclusive evidence names the state, but a
 * connection that is slow or cut does not make one that is HUNG look better. One that is cut off
 * twice without a byte is DOWN and not NOT_READY: a server that is not ready still answers clients
 * with something, while from this one no client got anything, the same as if it had refused.
 *
 * Flapping. One that falls again within a minute after it came up needs a row twice as long as the
 * last time, up to JUDGE_ROW_MAX; being good for a minute forgets that.
 *
 * What probing costs. A good one is asked each interval_us (10 s: 100 requests a second at each API
 * server of a cluster of 1,000 nodes, over kept connections). BUSY too, because asking more often
 * is no help for it. While anything is in doubt each suspect_us (1 s).
 *
 * A good one that carries connections is asked each quick_us (2 s), unless it sent a client
 * something within that time: the kernel of a stopped process goes on to acknowledge, so on a quiet
 * node only a probe finds that it hangs, and a controller that gets no answer for 10 s loses its
 * lease.
 *
 * One that is down is asked by every node of the cluster, and each has to make its connection anew
 * when it comes back: 1,000 nodes that ask each second would make ten times as many handshakes as
 * it answers requests otherwise. So that happens only where no other one serves: there it is seen
 * within a second or two, and after JUDGE_PATIENCE such probes (5 minutes) each further one waits a
 * suspect_us longer than the last, up to interval_us; how long it had been down while others served
 * does not count. Where another serves, nobody waits for this one:
 * after JUDGE_QUICK such probes the next one comes at any time up to interval_us, which parts the
 * nodes, since all saw it fall at the same moment; and from then on each interval_us.
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

#define JUDGE_ROW_MAX 16u
#define JUDGE_PATIENCE 300u
#define JUDGE_QUICK 1u

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
	JUDGE_PROBE_UNREACHED, /* no answer to two connection attempts */
	JUDGE_PROBE_STALLED,   /* a handshake was done, and no answer came in time */
	JUDGE_PROBE_LATE, /* silent, but it sent clients something meanwhile: overloaded, not better */
	/* What a client's connection showed. */
	JUDGE_CONNECT_FAILED, /* refused, no route */
	JUDGE_CONNECT_SLOW,   /* no answer within the hedge delay, or none at all */
	JUDGE_SILENT,         /* connected, and not one byte in time */
	JUDGE_CUT,            /* connected, and closed or reset without a byte */
	JUDGE_ANSWERED,       /* it sent something */
};

struct judge_rules {
	unsigned rise;
	int64_t interval_us; /* between probes in steady state; > 0, as the next two */
	int64_t quick_us;    /* the same to one that carries connections */
	int64_t suspect_us;  /* and while anything is in doubt */
};

/* A value; begins with judge_init(). */
struct judge {
	enum judge_state state;
	int64_t since_us; /* in this state */
	char reason[READYZ_REASON_MAX];
	/* The rest is judge.c's own. */
	unsigned row; /* good answers in a row that speak against `state` and for `leaning` */
	enum judge_state leaning;
	unsigned silent_row; /* probes in a row without a usable answer */
	unsigned slow_row;   /* connections in a row, slow or cut */
	unsigned falls;      /* how often the way up was made longer */
	unsigned vain;       /* probes that did not bring it back, since it was good or missed */
	int64_t rose_us;     /* when it last came up from a fall */
	bool suspect;        /* something contradicts the state */
};

void judge_init(struct judge *j, bool discovered, int64_t now_us);

/* What another process knew; rows begin anew. */
void judge_restore(struct judge *j, enum judge_state state, int64_t since_us, const char *reason);

/* Folds one piece of evidence in. True when the state is another one now. `reason` may be NULL. */
bool judge_fold(struct judge *j, const struct judge_rules *rules, enum judge_evidence evidence,
                const char *reason, int64_t now_us);

/* The last one that served has fallen: whether this one is back matters now. */
void judge_miss(struct judge *j);

/* From the last probe to the next one: at least so long, and up to spread_us more, by chance.
 * Upwards only: the intervals are a promise to who is asked. */
struct judge_pause {
	int64_t least_us;
	int64_t spread_us;
	/* While the upstream was heard within this time the probe may wait, up to rules.interval_us
	 * after the last one. 0: it may not. */
	int64_t heard_us;
};

/* What matters of an upstream besides its own state. */
struct judge_place {
	bool others_serve; /* another upstream is READY or ALIVE */
	bool carries;      /* connections of clients */
	bool suspected;    /* pulse.h; matters of a good one */
	bool failing;      /* whether its connections are lost is open (pulse.h) */
};

struct judge_pause judge_pause(const struct judge *j, const struct judge_rules *rules,
                               struct judge_place place);

enum judge_evidence judge_evidence_of(enum readyz_verdict verdict);
/* A probe that got nothing from the upstream's machine or process. */
bool judge_is_unanswered(enum judge_evidence evidence);
const char *judge_state_name(enum judge_state state); /* "ready", "not_ready", ... */
bool judge_state_parse(const char *name, enum judge_state *ret_state);
bool judge_is_usable(enum judge_state state); /* not UNVERIFIED, not UNTRUSTED */
