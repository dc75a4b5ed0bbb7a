/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whether an upstream still serves anybody at all. Pure; the caller brings the time. judge.h says
 * how good an upstream is for new connections; this says whether those that it carries are lost.
 *
 * Lost is one whose probe was not answered while it sent nothing to any client since that probe was
 * sent; or one that said twice in a row that etcd fails it: it answers for itself, but requests
 * wait for etcd for as long as clients do. Whether its connections are closed depends on the
 * others: where none of them answers, the network of this node may be at fault (upstream.c).
 *
 * Suspected is one of which a client or another daemon of this node has reason to think that it
 * hangs. That makes it the last of its class and its probes quick, and no more; but where its own
 * answers leave its readiness unknown (401, 403), the word of another daemon decides.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/mono.h"
#include "prism/judge.h"

/* For so long after the last reason. */
#define PULSE_SUSPECT_US (5 * US_PER_S)
/* A connection that is younger shows no more than that handshakes are completed, as an API server
 * without etcd goes on to do. */
#define PULSE_HANDSHAKE_US US_PER_S

struct pulse {
	int64_t heard_us;    /* when it last sent a client something; 0: never */
	int64_t answered_us; /* when a probe was last answered well; 0: never */
	int64_t lost_us;     /* an answer of another upstream after this shows that this node is not
	                      * cut off; MONO_NEVER: not lost */
	unsigned lost_row;
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

/* What a probe's verdict is worth. False: nothing, it came too late. Otherwise *evidence and
 * *reason are what judge.h is to fold; they may be others. timeout_us: as configured. */
bool pulse_weigh(struct pulse *pulse, enum judge_evidence *evidence, const char **reason,
                 int64_t sent_us, int64_t timeout_us, int64_t now_us);

bool pulse_is_lost(const struct pulse *pulse);
/* `other` has answered since `lost` did not. */
bool pulse_is_proof(const struct pulse *other, const struct pulse *lost);
