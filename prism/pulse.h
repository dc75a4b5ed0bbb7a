/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whether an upstream still serves anybody at all. Pure; the caller brings the time. judge.h says
 * how good an upstream is for new connections; this says whether those that it carries are lost.
 *
 * An upstream that sends something to a client is not lost. Else it is
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

#include <stdbool.h>
#include <stdint.h>

#include "base/mono.h"
#include "prism/judge.h"

/* From the first failed probe to the last one. */
#define PULSE_FAILS_US (2 * US_PER_S)
/* For so long after the last reason. */
#define PULSE_SUSPECT_US (5 * US_PER_S)
/* A connection that is younger shows no more than that handshakes are completed, as an API server
 * without etcd goes on to do. */
#define PULSE_HANDSHAKE_US US_PER_S

struct pulse {
	int64_t heard_us;    /* when it last sent a client something; 0: never */
	int64_t answered_us; /* when a probe was last answered well; 0: never */
	int64_t failing_us; /* when the first of the probes in a row that failed was sent; MONO_NEVER */
	int64_t lost_us; /* an answer of another upstream after this proves it; MONO_NEVER: not lost */
	bool needs_answer; /* to a probe: what it sends to clients proves nothing */
	bool is_proven;
	int64_t suspect_until_us;
	int64_t told_until_us; /* suspected by another daemon */
	bool excused;          /* the last verdict came too late and did not count */
};

void pulse_init(struct pulse *pulse);

/* bytes came from it on a connection that was made at born_us. */
void pulse_hear(struct pulse *pulse, int64_t born_us, int64_t now_us);

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
/* Call when a probe of `lost` has failed, for each other upstream: has it answered meanwhile? */
void pulse_prove(struct pulse *lost, const struct pulse *other);
/* When it last answered a probe or a client; 0: never. */
int64_t pulse_sign_us(const struct pulse *pulse);
