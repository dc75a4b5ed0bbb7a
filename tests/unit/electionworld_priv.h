/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The inside of a world of the election:
 *   electionworld.c        what befalls it, and whether two answered
 *   electionworld_node.c   a node: what its election asks of the kernel, its process, its clock
 *   electionworld_store.c  the store, and what is on the way to it and back
 */

#include "electionworld.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/mono.h"
#include "vipd/clusterid.h"
#include "vipd/election.h"
#include "vipd/facts.h"
#include "vipd/timing.h"

#define NODES 3

struct store {
	uint64_t cluster_id;
	int64_t revision;
	int64_t owner_rev;
	struct record_owner owner;
	char owner_text[FACTS_TEXT_MAX];
	int64_t beat_rev;
	char beat_text[64];
	int64_t beat_gone_rev;
};

enum message_kind { MESSAGE_READ, MESSAGE_TAKE, MESSAGE_CONFIRM, MESSAGE_RELEASE, MESSAGE_BEAT };

/* A request on its way to the store, then its answer on the way back. */
struct message {
	bool used;
	bool answer;
	bool lost; /* of the answer: the request was carried out, nobody hears of it */
	enum message_kind kind;
	size_t node;
	size_t endpoint;
	unsigned life; /* of the node's process, so that answers to the dead are dropped */
	int64_t at_us;
	int64_t sent_local_us;
	int64_t give_up_us; /* true time at which the client stops waiting */
	struct facts_mark mark;
	struct election_claim claim;
	struct facts_text owner_text; /* guards */
	struct facts_text beat_text;
	int64_t rev;
	bool deletes; /* confirm: the beat */
	char beat[64];
	enum election_verdict verdict;
	/* answer */
	int64_t answer_rev;
	struct store snapshot;
	bool ok;
};

struct node {
	struct world *world;
	const char *name;
	struct facts facts;
	struct record_node me;
	struct election *election;
	unsigned life;
	int64_t slew_ppm; /* of its clock, on top of its hardware, which the raw clock shows */
	int64_t hardware_ppm;
	bool suspended; /* while it is stopped: the raw clock stands still */
	int64_t slept_us;
	int64_t wake_us; /* local */
	int64_t stopped_until_us;
	int64_t cut_until_us;
	int64_t mute_until_us; /* cut one way: it hears and is not heard */
	int refused_percent;   /* of what is asked of its kernel */
	bool wants_out;        /* will hand over while it takes */
	int64_t unfit_until_us;
	bool held;             /* the address is on the link and the gate was opened */
	int64_t silent_at_us;  /* true time at which the kernel silences it, late as it may be */
	int64_t next_watch_us; /* when it next hears of the store */
	int64_t watched_rev;   /* as of which it has heard all, in this timeline */
	unsigned watched_timeline;
	int64_t beat_seq;
	size_t primary; /* the endpoint that answered last */
	struct clusterchoice cluster;
	struct etcd_heard heard[NODES];
	int64_t next_round_us;
	/* What the state file would hold. */
	int64_t kept_deadline_us;
	int64_t kept_epoch;
	int64_t kept_rev;
	int64_t kept_window_us;
};

struct world {
	enum mutation mutation;
	enum fate fate;
	bool calm;   /* the network is fast and loses nothing */
	bool unruly; /* kernels refuse what is asked of them, and nodes are unfit at times */
	uint64_t seed;
	int64_t now_us;
	struct store store;
	struct store backup;
	struct store strange; /* the other cluster's */
	bool has_strange;
	size_t strange_endpoint; /* where it answers */
	uint64_t n_clusters;
	int64_t store_silent_until_us; /* an election, a restore: it answers and carries out nothing */
	bool is_full;
	bool restore_is_slow; /* one is under way that is to outlast every fence */
	struct node nodes[NODES];
	struct message *messages; /* more for as long as the store is silent */
	size_t messages_max;
	size_t messages_end; /* none is used from here on */
	int64_t owned_us;    /* time in which somebody answered */
	int64_t overlap_us;  /* longest time in which two did */
	int64_t overlap_since_us;
	unsigned moves;
	unsigned unsettled;
	unsigned uncovered; /* a record that says less than is left of the fence before it */
	unsigned restores;
	unsigned hasty_restores; /* that answered while a fence still ran, and were not to */
	unsigned n_strange;
};

static inline uint64_t random_u64(struct world *w)
{
	/* xorshift64*, Vigna 2016 */
	w->seed ^= w->seed >> 12;
	w->seed ^= w->seed << 25;
	w->seed ^= w->seed >> 27;
	return w->seed * UINT64_C(2685821657736338717);
}

static inline int64_t random_below(struct world *w, int64_t n)
{
	return (int64_t) (random_u64(w) % (uint64_t) n);
}

/* How long a message takes: most are fast, the others anything up to slow_us. */
static inline int64_t random_delay(struct world *w, int percent_fast, int64_t slow_us)
{
	return w->calm || random_below(w, 100) < percent_fast ? random_below(w, 5 * US_PER_MS)
	                                                      : random_below(w, slow_us);
}

static inline bool chance(struct world *w, int percent)
{
	return random_below(w, 100) < percent;
}

static inline int64_t raw_us(const struct node *n)
{
	int64_t t = n->world->now_us - n->slept_us;

	return 500 * US_PER_S + t + t * n->hardware_ppm / 1000000;
}

/* Of the clock by which the kernel and the process go, to the true one: parts of a million. */
static inline int64_t rate_ppm(const struct node *n)
{
	return (1000000 + n->hardware_ppm) * (1000000 + n->slew_ppm) / 1000000;
}

static inline int64_t local_us(const struct node *n)
{
	return 1000 * US_PER_S + n->world->now_us * rate_ppm(n) / 1000000;
}

static inline struct mono_moment local_now(const struct node *n)
{
	bool slewed = n->world->mutation == MUTATION_SLEWED;

	return (struct mono_moment){.us = local_us(n), .raw_us = slewed ? local_us(n) : raw_us(n)};
}

static inline bool node_is_running(const struct node *n)
{
	return n->election != NULL && n->stopped_until_us <= n->world->now_us;
}

/* --- electionworld_node.c --- */

/* Its windows anew: nodes need not be configured alike, and not for ever. */
void node_configure(struct node *n);
void node_start(struct node *n);
/* The kernel's fence goes on. */
void node_kill(struct node *n);
void node_new_instance(struct node *n);
/* What it does in so much time, if it runs. */
void node_step(struct node *n, int64_t step_us);

/* --- electionworld_store.c --- */

/* What answers behind an endpoint. */
struct store *world_store(struct world *w, size_t endpoint);

/* As the node sees things now; the caller fills in what it asks for. Valid until the next one. */
struct message *world_send(struct node *n, enum message_kind kind);
/* What has arrived is carried out, or delivered. */
void world_step_messages(struct world *w);
/* Tells the node of all that it has not heard of. */
void world_tell_watch(struct node *n);
