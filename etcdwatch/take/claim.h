/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The keys by which the nodes agree who takes the snapshot of a job's period, below
 * <prefix>etcdwatch/<job>/:
 *
 *	claim/<period>  {node, instance, started}, on the taker's lease: gone with it
 *	done/<period>   {node, id, ...}: what came of it; stays until some newer ones are there
 *
 * The claim's create revision fences: `done` is written only while the very claim stands under
 * which the snapshot was taken, so a taker that was held up too long cannot add a second one. A
 * period is named by when it begins, in seconds since 1970.
 */

#include <ev.h>
#include <jansson.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "etcd/etcd.h"

#define CLAIM_NODE_MAX 64
#define CLAIM_ID_MAX 256
#define CLAIM_TTL_S 15 /* how long a dead taker is waited for */

struct claim;

enum claim_answer {
	CLAIM_OURS,
	CLAIM_OTHERS, /* somebody is at it */
	CLAIM_DONE,   /* somebody has done it */
	CLAIM_FAILED, /* etcd does not answer, or does not let us */
	/* etcd has no room (its alarm NOSPACE stands) and takes no keys of anybody, though it gives
	 * snapshots: nobody can claim anything, or record it. */
	CLAIM_NO_SPACE,
	CLAIM_CORRUPT, /* nor does it while its alarm CORRUPT stands */
};

enum claim_end {
	CLAIM_RECORDED,
	CLAIM_FENCED, /* the claim was not ours any more, and somebody else has recorded another one */
	/* Nobody could be told in time, and nobody has recorded another one, as far as is known: claim
	 * it anew, to find out, and to record it then. */
	CLAIM_UNRECORDED,
};

struct claim_options {
	const char *prefix; /* ends in '/' */
	const char *job;
	int64_t period_s;
	const char *node;
	const char *instance; /* of this process: two of them are two, whatever their node is called */
};

struct claim_callbacks {
	/* Once. `text`: who, for OTHERS and DONE; what is wrong, for the others. */
	void (*answered)(enum claim_answer answer, const char *text, void *userdata);
	/* Ours no more, before claim_record() was called. It can only be freed. */
	void (*lost)(void *userdata);
	/* What came of claim_record(). */
	void (*ended)(enum claim_end end, const char *text, void *userdata);
	/* All of the keys `done`, before it is answered. Must not free the claim. NULL: not wanted, as
	 * by a change of the cluster, which claims a lock and no period. */
	void (*read)(const struct etcd_range_result *done, void *userdata);
};

/* Options are copied, callbacks borrowed. Each callback may free the claim. */
struct claim *claim_new(struct ev_loop *ev, struct etcd *etcd, const struct claim_options *options,
                        const struct claim_callbacks *callbacks, void *userdata);

/* Gives up what is claimed, so that another need not wait. */
void claim_free(struct claim *claim);
DEFINE_AUTO(struct claim, claim_free);

/* Answered as CLAIM_DONE: the id that is recorded, or "". */
const char *claim_done_id(const struct claim *claim);

/* Only while it is ours. Takes the object. */
void claim_record(struct claim *claim, json_t *done);
