/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The next step of one VIP's election. Pure: a function of what is known and what time it is. Who
 * calls it (election.c) carries the step out and asks again when something happened or wake_us has
 * come.
 *
 * The guards that make it safe are in etcd's transactions and in timing.h; this decides when to
 * try.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vipd/facts.h"
#include "vipd/record.h"

enum election_state {
	ELECTION_DOWN,    /* cannot take part: link missing, etcd never reached, name taken, stopping */
	ELECTION_STANDBY, /* watches the owner */
	ELECTION_TAKING,  /* the record is ours; waits for the old fence, or for a fresh confirmation */
	ELECTION_OWNER,   /* holds the address */
	ELECTION_YIELDING, /* the address is off; `released` is being written */
	ELECTION_STATES,
};

enum election_action {
	ELECTION_WAIT,
	ELECTION_READ,      /* read the keys with quorum */
	ELECTION_TAKE,      /* swap: standby writes itself into the owner record */
	ELECTION_BEAT,      /* standby puts the beat that is missing, and counts silence from there */
	ELECTION_RESUME,    /* standby finds that its swap has landed: to taking */
	ELECTION_CONFIRM,   /* write the beat, guarded by the record */
	ELECTION_HOLD,      /* taking to owner: add the address */
	ELECTION_EXPIRE,    /* owner to taking: the fence has run out */
	ELECTION_YIELD,     /* owner or taking to yielding */
	ELECTION_RELEASE,   /* yielding: write `released` */
	ELECTION_STEP_DOWN, /* to standby: the record is not ours any more */
	ELECTION_LEAVE,     /* standby to down */
	ELECTION_ENTER,     /* down to standby */
};

/* Paces. While etcd does not answer, requests overlap, so that the first one after its recovery is
 * not kept waiting by the deadline of one that was lost. */
#define DECIDE_PACE_US (250 * US_PER_MS)
#define DECIDE_RETRY_US (100 * US_PER_MS)
/* Of confirmations when half of the window has gone without one: as after the death of etcd's
 * leader, when each may be the first that the new one takes. */
#define DECIDE_URGENT_PACE_US (125 * US_PER_MS)
/* So many may overlap at these paces, which a window of 5 s does not exhaust whatever the deadline
 * of a request is; further ones follow at DECIDE_CROWDED_PACE_US. */
#define DECIDE_IN_FLIGHT_MANY 32
#define DECIDE_CROWDED_PACE_US (500 * US_PER_MS)

/* Standbys of lower rank let the better ones go first. */
#define DECIDE_RANK_DELAY_US (300 * US_PER_MS)
/* How long others leave a released VIP to the successor that was named. */
#define DECIDE_SUCCESSOR_GRACE_US US_PER_S

/* Requests of one kind that are under way. */
struct decide_calls {
	unsigned in_flight;
	int64_t last_sent_us; /* of the newest; 0: none yet */
	bool last_ok;         /* the newest was answered, and well */
};

struct decide_input {
	enum election_state state;
	struct mono_moment now;
	const struct facts *facts;
	const struct record_node *me;
	bool avoid_etcd_leader;
	bool fit;     /* can take part at all: else down */
	bool leaving; /* wants to hand over: hold, health, a move, stopping */

	int64_t window_us;
	int64_t late_us;
	int64_t worth_us; /* with less than this left it is not worth adding the address */

	int64_t state_since_us;
	int64_t campaign_after_us; /* do not take before */
	int64_t fresh_after_us;    /* facts older than this (by sending) are not believed */

	/* The record, if it is ours, is the one that our last swap wrote, and no release of it was
	 * sent, nor did the kernel refuse to take the address off. */
	bool resumable;

	/* taking, owner, yielding */
	int64_t rev;                /* ModRevision of our own record */
	struct mono_moment take_at; /* the old fence has acted when both clocks say so */
	int64_t deadline_us;        /* our own fence F; 0: no confirmation yet */

	int64_t beat_sent_us; /* the last that it put as a standby */
	struct decide_calls reads;
	struct decide_calls confirms;
	struct decide_calls takes;
	struct decide_calls releases;
};

struct decision {
	enum election_action action;
	int64_t wake_us; /* with ELECTION_WAIT */
};

struct decision decide(const struct decide_input *in);

/* What the standby waits for: how long the owner of the record may still answer (window and
 * lateness), where there is none our own. */
void decide_awaited(const struct facts *facts, int64_t own_window_us, int64_t own_late_us,
                    int64_t *ret_window_us, int64_t *ret_late_us);
