/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What befalls the world. After every step the invariant is checked: no two nodes answer for the
 * address. At the end: somebody does.
 */
#include "electionworld_priv.h"

#include <stdio.h>

/* Never ends early what silenced it before. */
static void silence_store(struct world *w, int64_t us)
{
	w->store_silent_until_us = MAX(w->store_silent_until_us, w->now_us + us);
}

/* Now and then a backup is made, and now and then the last one is restored. */
static void do_backup(struct world *w)
{
	int64_t longest_us = timing_take_at((struct mono_moment){0}, 5 * US_PER_S, TIMING_LATE_US).us;

	if (w->backup.revision == 0 || chance(w, 50)) {
		w->backup = w->store;
		return;
	}
	w->store = w->backup;
	w->has_strange = false;
	w->restores++;
	w->restore_is_slow = w->fate != FATE_QUICK_BACKUPS;
	if (w->fate == FATE_CLUSTERS)
		w->store.cluster_id = ++w->n_clusters;
	silence_store(w, random_below(w, US_PER_S) + (w->restore_is_slow ? longest_us : 0));
	w->backup.revision = 0;
}

/* One member is restored by itself from now, or from the last backup; or it joins again. */
static void do_accident(struct world *w)
{
	w->has_strange = !w->has_strange;
	if (!w->has_strange)
		return;
	w->strange = w->backup.revision != 0 && chance(w, 50) ? w->backup : w->store;
	w->strange.cluster_id = ++w->n_clusters;
	w->strange_endpoint = (size_t) random_below(w, NODES);
}

/* Whoever has it dies, stays dead for longer than any window, and comes back with another one. */
static void do_death(struct world *w)
{
	struct node *n = &w->nodes[random_below(w, NODES)];

	if (n->election == NULL) {
		if (chance(w, 15))
			node_start(n);
	} else if (n->held && chance(w, 50)) {
		node_kill(n);
	} else {
		node_configure(n);
	}
}

static void do_mischief(struct world *w)
{
	struct node *n = &w->nodes[random_below(w, NODES)];
	int64_t choice =
	    random_below(w, 9 + (w->unruly ? 2 : 0) + (electionworld_has_backups(w->fate) ? 2 : 0));

	if (w->fate == FATE_UNEVEN) {
		do_death(w);
		return;
	}

	if (w->fate == FATE_FULL && chance(w, 15)) {
		w->is_full = !w->is_full;
		return;
	}
	if (w->fate == FATE_QUICK_BACKUPS && (choice < 5 || choice == 7))
		return;
	if (choice >= 9 && !w->unruly)
		choice += 2;
	switch (choice) {
	case 0:
		n->stopped_until_us = w->now_us + random_below(w, 8 * US_PER_S);
		/* No fence goes by where a whole machine sleeps: one that answers must not. */
		n->suspended = !n->held && chance(w, 30);
		break;
	case 1:
		n->cut_until_us = w->now_us + random_below(w, 8 * US_PER_S);
		break;
	case 2:
		if (n->election != NULL)
			node_kill(n);
		break;
	case 3:
		if (n->election != NULL)
			break;
		if (chance(w, 50)) {
			/* The machine was rebooted. */
			n->held = false;
			n->kept_deadline_us = 0;
			node_new_instance(n);
			n->cluster.id = 0;
		}
		node_start(n);
		break;
	case 4:
		silence_store(w, random_below(w, 3 * US_PER_S));
		break;
	case 5:
		if (node_is_running(n))
			election_yield(n->election, chance(w, 50) ? w->nodes[0].name : "", "moved by hand");
		break;
	case 6:
		if (n->election != NULL)
			node_configure(n);
		break;
	case 7:
		n->mute_until_us = w->now_us + random_below(w, 8 * US_PER_S);
		break;
	case 8:
		n->me.eligible = !n->me.eligible || chance(w, 50);
		w->store.revision++;
		if (node_is_running(n))
			election_run(n->election);
		break;
	case 9:
		n->refused_percent = n->refused_percent > 0 ? 0 : (int) random_below(w, 101);
		break;
	case 10:
		if (!node_is_running(n))
			break;
		n->unfit_until_us = w->now_us + random_below(w, 4 * US_PER_S);
		election_set_fit(n->election, false, "unfit");
		break;
	case 11:
	case 12:
		if (w->fate == FATE_CLUSTERS && chance(w, 50))
			do_accident(w);
		else
			do_backup(w);
		break;
	}
}

/* When a store that was slowly restored answers, nobody has the address by what it has lost. */
static void check_restore(struct world *w)
{
	if (!w->restore_is_slow || w->now_us < w->store_silent_until_us)
		return;
	w->restore_is_slow = false;
	for (size_t i = 0; i < NODES; i++) {
		if (w->nodes[i].held && w->nodes[i].silent_at_us > w->now_us)
			w->hasty_restores++;
	}
}

static void check_invariant(struct world *w, int64_t step_us)
{
	unsigned answering = 0;

	for (size_t i = 0; i < NODES; i++)
		answering += w->nodes[i].held ? 1 : 0;
	if (answering > 0)
		w->owned_us += step_us;
	if (answering < 2) {
		w->overlap_since_us = w->now_us;
		return;
	}
	w->overlap_us = MAX(w->overlap_us, w->now_us - w->overlap_since_us);
}

/* Nothing fails any more, but what is under way at the store comes to its end. */
static void calm_down(struct world *w)
{
	/* One kernel may go on refusing everything: the others must get it. */
	size_t broken = w->unruly ? (size_t) random_below(w, 2 * NODES) : NODES;

	w->calm = true;
	w->unruly = false;
	w->is_full = false;
	for (size_t i = 0; i < NODES; i++) {
		struct node *n = &w->nodes[i];

		n->cut_until_us = 0;
		n->mute_until_us = 0;
		n->stopped_until_us = 0;
		n->me.eligible = true;
		n->wants_out = false;
		n->refused_percent = i == broken ? 100 : 0;
		if (n->election == NULL)
			node_start(n);
		n->unfit_until_us = 0;
		election_set_fit(n->election, true, "");
	}
}

static void run_for(struct world *w, int64_t duration_us, int64_t mischief_every_us)
{
	const int64_t step_us = 2 * US_PER_MS;
	int64_t end_us = w->now_us + duration_us;
	int64_t next_us = w->now_us + (mischief_every_us > 0 ? random_below(w, mischief_every_us) : 0);

	while (w->now_us < end_us) {
		w->now_us += step_us;
		check_restore(w);
		world_step_messages(w);
		for (size_t i = 0; i < NODES; i++)
			node_step(&w->nodes[i], step_us);
		check_invariant(w, step_us);
		if (mischief_every_us > 0 && w->now_us >= next_us) {
			do_mischief(w);
			next_us = w->now_us + random_below(w, mischief_every_us);
		}
	}
}

/* The worst is not rare. */
static int64_t random_rate(struct world *w, int64_t most_ppm)
{
	if (chance(w, 50))
		return chance(w, 50) ? most_ppm : -most_ppm;
	return random_below(w, 2 * most_ppm) - most_ppm;
}

struct electionworld_result electionworld_run(uint64_t seed, enum fate fate, enum mutation mutation,
                                              int64_t duration_us)
{
	AUTO(free) struct world *w = NEW0(struct world);
	static const char *const names[NODES] = {"n1", "n2", "n3"};
	struct electionworld_result result;
	int64_t owned_before_us;

	w->seed = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
	w->mutation = mutation;
	w->fate = fate;
	w->calm = fate == FATE_QUICK_BACKUPS;
	w->unruly =
	    mutation == MUTATION_DEAF || (mutation == MUTATION_NONE && !w->calm && seed % 2 == 0);
	w->store.revision = 10;
	w->store.cluster_id = ++w->n_clusters;
	for (size_t i = 0; i < NODES; i++) {
		struct node *n = &w->nodes[i];

		n->world = w;
		n->name = names[i];
		(void) snprintf(n->me.node, sizeof(n->me.node), "%s", n->name);
		n->me.priority = 100;
		n->me.health = HEALTH_UNCHECKED;
		n->me.eligible = true;
		n->slew_ppm = random_rate(w, TIMING_SLEW_PPM);
		n->hardware_ppm = random_rate(w, TIMING_HARDWARE_PPM);
		node_new_instance(n);
		n->primary = i;
		node_start(n);
	}
	run_for(w, duration_us, 2500 * US_PER_MS);
	calm_down(w);
	run_for(w, MAX(0, w->store_silent_until_us - w->now_us), 0);
	run_for(w, (fate == FATE_UNEVEN ? 90 : 20) * US_PER_S, 0);
	owned_before_us = w->owned_us;
	run_for(w, 2 * US_PER_S, 0);
	result = (struct electionworld_result){
	    .overlap_us = w->overlap_us,
	    .owned_at_end = w->owned_us - owned_before_us >= 1900 * US_PER_MS,
	    .moves = w->moves,
	    .unsettled = w->unsettled,
	    .uncovered = w->uncovered,
	    .restores = w->restores,
	    .hasty_restores = w->hasty_restores,
	    .strange = w->n_strange,
	};
	for (size_t i = 0; i < NODES; i++)
		election_free(w->nodes[i].election);
	free(w->messages);
	return result;
}
