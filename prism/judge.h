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

#include "base/mono.h"
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
	bool suspected;    /* pulse_is_suspected(); matters of a good one */
	bool failing;      /* whether its connections are lost is open (pulse_is_failing()) */
	bool urgent;       /* and has been for a moment only (pulse_is_urgent()) */
};

struct judge_pause judge_pause(const struct judge *j, const struct judge_rules *rules,
                               struct judge_place place);

enum judge_evidence judge_evidence_of(enum readyz_verdict verdict);
const char *judge_state_name(enum judge_state state); /* "ready", "not_ready", ... */
bool judge_state_parse(const char *name, enum judge_state *ret_state);
bool judge_is_usable(enum judge_state state); /* not UNVERIFIED, not UNTRUSTED */

/*
 * Whether an upstream still serves anybody at all. Pure; the caller brings the time. judge.h says
 * how good an upstream is for new connections; this says whether those that it carries are lost.
 *
 * An upstream that sends something to a client is not lost, unless it says itself that etcd fails it:
 * logs go on without etcd. Else it is
 *  - at once, when a probe got no connection, or no handshake on a new one: the machine is gone, or
 *    its process stands still;
 *  - when it goes on for PULSE_FAILS_US, when a probe got a handshake and no answer, or the answer
 *    that etcd fails it. One that is short of processor time stalls for a while. And an election
 *    of etcd's leader fails all API servers, which ask etcd once in a second or two and give each
 *    client the last result: they do not say so, nor cease to, in the same moment.
 * Its connections are closed when that is proven: another upstream answered while this one did not
 * (upstream.c). Where none does, the network of this node may be at fault, and an answer that came
 * after the last failure may tell of the end of a fault that they shared.
 *
 * Suspected is one of which a client or another daemon of this node has reason to think that it
 * hangs. That makes it the last of its class and its probes quick, and no more; but where its own
 * answers leave its readiness unknown (401, 403), the word of another daemon decides.
 */

/* From the first failed probe, or the word of another daemon before it, to the last one. */
#define PULSE_FAILS_US (2 * US_PER_S)
/* While it is open whether connections are lost, their clients wait: probes come at twice the pace,
 * for so long that it can be found out, and no longer, as every node does that. */
#define PULSE_URGENT_US (5 * US_PER_S)
/* For so long after the last reason. */
#define PULSE_SUSPECT_US (5 * US_PER_S)
/* A connection that is younger shows no more than that handshakes are completed, as an API server
 * without etcd goes on to do. */
#define PULSE_HANDSHAKE_US US_PER_S

struct pulse {
	int64_t heard_us;    /* when it last sent a client something; 0: never */
	int64_t replied_us;  /* the same, to one that had asked */
	int64_t answered_us; /* when a probe was last answered well; 0: never */
	int64_t failing_us; /* when the first of the probes in a row that failed was sent; MONO_NEVER */
	int64_t lost_us; /* an answer of another upstream after this proves it; MONO_NEVER: not lost */
	bool needs_answer; /* to a probe: what it sends to clients proves nothing */
	bool is_proven;
	bool blames_etcd; /* one of those probes was answered so */
	int64_t late_us;  /* when the first of those that had no answer before was sent; MONO_NEVER */
	int64_t suspect_until_us;
	int64_t told_since_us, told_until_us; /* suspected by another daemon */
	bool excused;                         /* the last verdict came too late and did not count */
};

void pulse_init(struct pulse *pulse);

/* Bytes came from it on a connection that was made at born_us, whose client had asked, or not. */
void pulse_hear(struct pulse *pulse, bool asked, int64_t born_us, int64_t now_us);

void pulse_suspect(struct pulse *pulse, int64_t now_us);
/* By another daemon of this node. */
void pulse_tell(struct pulse *pulse, int64_t now_us);
bool pulse_is_suspected(const struct pulse *pulse, int64_t now_us);
bool pulse_is_told(const struct pulse *pulse, int64_t now_us);

/* What a probe's verdict is worth. False: nothing, it came too late. Otherwise *evidence and
 * *reason are what judge.h is to fold; they may be others. timeout_us: as configured. */
bool pulse_weigh(struct pulse *pulse, enum judge_evidence *evidence, const char **reason,
                 int64_t sent_us, int64_t timeout_us, int64_t now_us);

bool pulse_is_lost(const struct pulse *pulse);
/* Its last probe failed, and whether it is lost is not known, or not proven. */
bool pulse_is_failing(const struct pulse *pulse);
/* The same, for PULSE_URGENT_US from the first failed probe on. */
bool pulse_is_urgent(const struct pulse *pulse, int64_t now_us);
/* Call when a probe of `lost` has failed, for each other upstream: has it answered meanwhile? */
void pulse_prove(struct pulse *lost, const struct pulse *other);
/* When it last answered a probe or a client; 0: never. */
int64_t pulse_sign_us(const struct pulse *pulse);
