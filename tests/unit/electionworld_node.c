/* SPDX-License-Identifier: Apache-2.0 */
/* A node: what its election asks for leaves, its kernel obeys or refuses, its process comes and
 * goes. */
#include "electionworld_priv.h"

#include <inttypes.h>
#include <stdio.h>

/* --- the ops: requests leave, the kernel obeys --- */

static struct mono_moment op_now(void *ctx)
{
	return local_now(ctx);
}

static void op_wake_at(int64_t us, void *ctx)
{
	((struct node *) ctx)->wake_us = us;
}

static void op_read(void *ctx)
{
	(void) world_send(ctx, MESSAGE_READ);
}

static void op_take(const struct election_claim *claim, void *ctx)
{
	struct message *m = world_send(ctx, MESSAGE_TAKE);

	m->claim = *claim;
}

static void write_beat(struct message *m, struct node *n)
{
	(void) snprintf(m->beat, sizeof(m->beat), "%s/%" PRId64, n->me.instance, ++n->beat_seq);
}

static void op_beat(void *ctx)
{
	struct message *m = world_send(ctx, MESSAGE_BEAT);

	m->rev = ((struct node *) ctx)->facts.owner_rev;
	write_beat(m, ctx);
}

static void op_confirm(int64_t rev, int64_t epoch, void *ctx)
{
	struct message *m = world_send(ctx, MESSAGE_CONFIRM);
	struct node *n = ctx;

	m->rev = rev;
	/* Not only when it has to: it must be safe at any time. */
	m->deletes = n->world->fate == FATE_FULL && !n->world->calm && chance(n->world, 50);
	m->claim.record.epoch = epoch;
	m->claim.record.window_us = election_window_us(n->election);
	(void) strcpy(m->claim.record.instance, n->me.instance);
	write_beat(m, n);
}

static void op_release(const struct record_owner *record, int64_t rev, void *ctx)
{
	struct message *m = world_send(ctx, MESSAGE_RELEASE);

	m->rev = rev;
	m->claim.record = *record;
}

static bool is_refused(const struct node *n)
{
	return n->refused_percent > 0 && chance(n->world, n->refused_percent);
}

static int op_hold(int64_t deadline_us, void *ctx)
{
	struct node *n = ctx;
	int64_t left_us = deadline_us - local_us(n);

	if (is_refused(n)) {
		if (election_state(n->election) == ELECTION_OWNER && n->held && chance(n->world, 50))
			return 1;
		/* Then it is to be taken off: if that is refused too, the kernel's fence goes on. */
		if (!is_refused(n))
			n->held = false;
		return -1;
	}
	if (left_us <= 0) {
		n->held = false;
		return -1;
	}
	n->held = true;
	n->kept_deadline_us = deadline_us;
	n->kept_epoch = election_epoch(n->election);
	n->kept_rev = election_rev(n->election);
	n->kept_window_us = election_window_us(n->election);
	/* The kernel counts with the node's own clock; late by up to e. */
	n->silent_at_us = n->world->mutation == MUTATION_NO_FENCE
	                      ? MONO_NEVER
	                      : n->world->now_us + left_us * 1000000 / rate_ppm(n) +
	                            random_below(n->world, TIMING_LATE_US);
	return 0;
}

static int op_drop(bool lost, void *ctx)
{
	struct node *n = ctx;

	n->kept_deadline_us = 0;
	if (is_refused(n))
		return n->world->mutation == MUTATION_DEAF ? 0 : -1;
	if (n->world->mutation != MUTATION_EAGER_WORD || !lost)
		n->held = false;
	return 0;
}

static void op_changed(enum election_state from, enum election_state to, const char *reason,
                       void *ctx)
{
	struct node *n = ctx;

	(void) from;
	(void) reason;
	if (to == ELECTION_OWNER)
		n->world->moves++;
	n->wants_out = to == ELECTION_TAKING && n->world->unruly && chance(n->world, 10);
}

static void op_unsettled(enum election_action next, void *ctx)
{
	(void) next;
	((struct node *) ctx)->world->unsettled++;
}

static const struct election_ops ops = {
    .now = op_now,
    .wake_at = op_wake_at,
    .read = op_read,
    .take = op_take,
    .beat = op_beat,
    .confirm = op_confirm,
    .release = op_release,
    .hold = op_hold,
    .drop = op_drop,
    .changed = op_changed,
    .unsettled = op_unsettled,
};

/* --- nodes --- */

/* Nodes need not be configured alike, and not for ever. */
void node_configure(struct node *n)
{
	bool is_long = n->world->fate == FATE_UNEVEN && chance(n->world, 50);
	int64_t window_us = is_long ? 25 * US_PER_S : US_PER_S + random_below(n->world, 4 * US_PER_S);

	election_configure(n->election, window_us, FENCE_NFTABLES, true);
}

void node_start(struct node *n)
{
	n->life++;
	facts_init(&n->facts);
	n->watched_rev = 0;
	n->next_round_us = 0;
	n->cluster.others_since_us = 0;
	memset(n->heard, 0, sizeof(n->heard));
	n->election = election_new(&n->facts, &n->me, &ops, n);
	node_configure(n);
	n->wake_us = 0;
	n->world->store.revision++; /* it writes its node key */
	if (n->held && n->kept_deadline_us > local_us(n))
		election_adopt(n->election, n->kept_epoch, n->kept_rev, n->kept_window_us,
		               n->kept_deadline_us);
	else
		n->held = false;
	n->unfit_until_us = 0;
	election_set_fit(n->election, true, "");
}

void node_kill(struct node *n)
{
	/* The kernel's fence goes on. */
	election_free(TAKE_PTR(n->election));
}

void node_new_instance(struct node *n)
{
	(void) snprintf(n->me.instance, sizeof(n->me.instance), "%s-%u", n->name, n->life);
}

/* As clusterid.c: all endpoints are asked of which cluster they are. */
static void choose_cluster(struct node *n)
{
	struct world *w = n->world;
	bool hears = MAX(n->cut_until_us, n->mute_until_us) <= w->now_us &&
	             w->store_silent_until_us <= w->now_us;
	int64_t window_us, late_us;

	n->next_round_us = w->now_us + US_PER_S;
	for (size_t i = 0; i < NODES && hears; i++) {
		/* One without memory that hears nothing but the strange one cannot know better
		 * (docs/limits.md). */
		if (!w->calm && n->cluster.id != 0 && chance(w, 10))
			continue;
		n->heard[i] = (struct etcd_heard){.cluster_id = world_store(w, i)->cluster_id,
		                                  .member_id = i + 1,
		                                  .heard_us = local_us(n)};
	}
	decide_awaited(&n->facts, election_window_us(n->election), election_late_us(n->election),
	               &window_us, &late_us);
	(void) clusterchoice_weigh(&n->cluster, n->heard, NODES, true, local_us(n),
	                           timing_take_at((struct mono_moment){0}, window_us, late_us).us);
}

void node_step(struct node *n, int64_t step_us)
{
	struct world *w = n->world;

	n->suspended = n->suspended && !node_is_running(n);
	if (n->suspended)
		n->slept_us += step_us;
	if (w->now_us >= n->silent_at_us)
		n->held = false;
	if (!node_is_running(n))
		return;
	if (w->now_us >= n->next_round_us)
		choose_cluster(n);
	if (w->now_us >= n->next_watch_us && n->cut_until_us <= w->now_us &&
	    w->store_silent_until_us <= w->now_us && n->facts.known) {
		world_tell_watch(n);
		n->next_watch_us = w->now_us + random_delay(w, 95, US_PER_S);
	}
	if (n->unfit_until_us != 0 && w->now_us >= n->unfit_until_us) {
		n->unfit_until_us = 0;
		election_set_fit(n->election, true, "");
	}
	if (n->wants_out && chance(w, 10)) {
		n->wants_out = false;
		election_yield(n->election, "", "changed its mind");
	}
	if (local_us(n) >= n->wake_us)
		election_run(n->election);
}
