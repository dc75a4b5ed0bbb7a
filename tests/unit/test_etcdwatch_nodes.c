/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three nodes and many periods, in each of which processes are stopped, killed and started again,
 * etcd is away, answers are lost, leases end, snapshots fail and last long; each period has a quiet
 * end. Then: every period has its snapshot, recorded once, on the disk of the node that is
 * recorded, for ever; there is a second one only where a killed process has left it, or where
 * nobody could claim; and what somebody asked for stays.
 */
#include "tests/unit/jobworld.h"

#define PERIOD_S 300
#define PERIODS 24
#define RUNS 60
/* Trouble begins before each period and ends in the middle of it. */
#define EARLY_US (10 * US_PER_S)
#define TROUBLE_US (150 * US_PER_S)
#define DONES "p/etcdwatch/j/done/"

static uint64_t seed;

static uint64_t draw(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

static int64_t draw_us(int64_t max_us)
{
	return (int64_t) draw((uint64_t) max_us);
}

struct recorded {
	int64_t period_s;
	struct world_node *node;
	char id[32];
};

static struct {
	struct recorded recorded[PERIODS];
	size_t n_recorded;
	char asked[PERIODS][32]; /* by hand */
	size_t n_asked;
	bool crashed[WORLD_NODES]; /* in this period */
	bool no_space;             /* in this period */
	struct {
		unsigned doubles, stops, crashes, cuts, runs, cancelled, removed;
	} seen; /* that the trouble was trouble */
} trial;

static void saved_cb(const struct job_saved *saved, void *userdata UNUSED)
{
	if (saved->id != NULL && trial.n_asked < PERIODS)
		(void) snprintf(trial.asked[trial.n_asked++], sizeof(trial.asked[0]), "%s", saved->id);
}

/* --- trouble --- */

static void calm(struct world_node *n)
{
	n->ev.stopped = false;
	n->etcd.cut = false;
	n->rule = (struct world_rule){RUN_KEPT, US_PER_S, 100 * US_PER_MS};
	for (int m = 0; m < FAKE_METHODS; m++)
		fake_rule(&n->etcd, (enum fake_method) m, (struct fake_rule){0});
	if (n->job == NULL)
		world_start(n);
}

static void crash(struct world_node *n)
{
	if (n->job == NULL)
		return;
	n->ev.stopped = false;
	world_crash(n, draw(2) == 0);
	trial.crashed[n - world] = true;
	trial.seen.crashes++;
}

static void trouble(struct world_node *n)
{
	switch (draw(12)) {
	case 0:
	case 1:
		n->ev.backwards = draw(2) == 0;
		n->ev.stopped = n->job != NULL;
		trial.seen.stops++;
		break;
	case 2:
	case 3:
		n->ev.stopped = false;
		break;
	case 4:
		n->etcd.cut = true;
		trial.seen.cuts++;
		break;
	case 5:
		n->etcd.cut = false;
		break;
	case 6:
		crash(n);
		break;
	case 7:
		if (n->job == NULL)
			world_start(n);
		break;
	case 8:
		n->rule = (struct world_rule){draw(4) == 0 ? RUN_FAILED : RUN_KEPT,
		                              draw_us(40 * US_PER_S) + 1, draw_us(25 * US_PER_S) + 1};
		break;
	case 9:
		fake_rule(&n->etcd, (enum fake_method) draw(FAKE_METHODS),
		          (struct fake_rule){.lost_there = draw(2) == 0,
		                             .lost_back = draw(2) == 0,
		                             .there_us = draw_us(900 * US_PER_MS) + 1,
		                             .times = (unsigned) draw(4) + 1});
		break;
	case 10:
		fake.leases[draw(4)].until_us = 0;
		break;
	default:
		if (draw(4) == 0) {
			fake.no_space = trial.no_space = true;
		} else if (n->job != NULL && !n->ev.stopped) {
			(void) job_save(n->job, NULL, saved_cb, NULL);
		}
		break;
	}
}

/* --- what has to hold --- */

static struct world_node *node_of(const char *name)
{
	for (size_t i = 0; i < WORLD_NODES; i++) {
		if (strcmp(world[i].name, name) == 0)
			return &world[i];
	}
	return NULL;
}

static bool check_recorded(int64_t period_s, unsigned n_taken)
{
	AUTO(free) char *key = xasprintf(DONES "%lld", (long long) period_s);
	const char *text = fake_get(key);
	json_t *value = text != NULL ? json_loads(text, 0, NULL) : NULL;
	const char *id = json_string_value(json_object_get(value, "id"));
	struct world_node *n =
	    value != NULL ? node_of(json_string_value(json_object_get(value, "node"))) : NULL;
	bool ok = true;

	if (trial.no_space && text == NULL)
		ok = CHECK(n_taken > 0);
	else if (CHECK(n != NULL && id != NULL)) {
		struct recorded *r = &trial.recorded[trial.n_recorded++];

		*r = (struct recorded){.period_s = period_s, .node = n};
		(void) snprintf(r->id, sizeof(r->id), "%s", id);
	} else {
		ok = false;
	}
	json_decref(value);
	return ok;
}

/* What was recorded before, and what somebody has asked for. */
static bool check_kept(void)
{
	bool ok = true;

	for (size_t i = 0; i < trial.n_recorded; i++)
		ok &= CHECK(world_has(trial.recorded[i].node, trial.recorded[i].id));
	for (size_t i = 0; i < trial.n_asked; i++)
		ok &= CHECK(world_has(&world[0], trial.asked[i]) || world_has(&world[1], trial.asked[i]) ||
		            world_has(&world[2], trial.asked[i]));
	return ok;
}

/* Of one that is not recorded its own process knows, and removes it; after a crash nobody does. */
static bool check_taken(int64_t period_s, unsigned *ret_n)
{
	unsigned n = 0, n_known = 0;

	for (size_t i = 0; i < WORLD_NODES; i++) {
		for (size_t k = 0; k < world[i].n_entries; k++) {
			if (world[i].entries[k]->period_s != period_s)
				continue;
			n++;
			n_known += !trial.crashed[i];
		}
	}
	*ret_n = n;
	trial.seen.doubles += n > 1 && !trial.no_space;
	return CHECK(n >= 1) && CHECK(trial.no_space || n_known <= 1);
}

static bool check_period(int64_t period_s)
{
	unsigned n_taken;
	bool ok = check_taken(period_s, &n_taken);

	for (size_t i = 0; i < WORLD_NODES; i++) {
		struct job_report report;

		job_fill_report(world[i].job, &report);
		ok &= CHECK(report.period_done);
		ok &= CHECK_EQ_INT(report.period_s, period_s);
	}
	ok &= check_recorded(period_s, n_taken);
	ok &= check_kept();
	return ok;
}

/* --- all of it --- */

/* From EARLY_US before it begins until EARLY_US before it ends. */
static bool one_period(int64_t period_s)
{
	int64_t began_us = sim_now_us + EARLY_US;
	int64_t pace_us = (1 + draw_us(4)) * US_PER_S;

	memset(trial.crashed, 0, sizeof(trial.crashed));
	/* So slow that there is time for trouble in the middle of everything. */
	fake.trip_us = draw_us(450 * US_PER_MS) + 1;
	trial.no_space = false;
	for (size_t i = 0; i < WORLD_NODES; i++)
		world[i].rule =
		    (struct world_rule){RUN_KEPT, draw_us(20 * US_PER_S) + 1, draw_us(10 * US_PER_S) + 1};
	while (sim_now_us < began_us + TROUBLE_US) {
		sim_for(draw_us(2 * pace_us) + 1);
		trouble(&world[draw(WORLD_NODES)]);
	}
	fake.no_space = false;
	for (size_t i = 0; i < WORLD_NODES; i++)
		calm(&world[i]);
	sim_until(began_us + PERIOD_S * US_PER_S - EARLY_US);
	return check_period(period_s);
}

static bool one_run(uint64_t number)
{
	int64_t period_s;
	bool ok = true;

	seed = number * UINT64_C(0x9e3779b97f4a7c15) + 1;
	trial.n_recorded = trial.n_asked = 0;
	world_begin("*/5 * * * *", CONFIG_TAKER_ELECTED);
	for (size_t i = 0; i < WORLD_NODES; i++) {
		/* Clocks that are not quite the same. */
		world[i].ev.wall_ahead_us = draw_us(2 * US_PER_S);
		world_start(&world[i]);
	}
	period_s = wall_now_us() / US_PER_S + PERIOD_S;
	sim_for(PERIOD_S * US_PER_S - EARLY_US);
	for (unsigned i = 0; i < PERIODS && ok; i++, period_s += PERIOD_S) {
		ok = one_period(period_s);
		if (!ok)
			(void) fprintf(stderr, "  run %llu, period %u\n", (unsigned long long) number, i);
	}
	for (size_t i = 0; i < WORLD_NODES; i++) {
		trial.seen.runs += world[i].n_runs;
		trial.seen.cancelled += world[i].n_cancelled;
		trial.seen.removed += world[i].n_removed;
	}
	world_end();
	return ok;
}

int main(int argc, char **argv)
{
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : RUNS;

	for (uint64_t i = 0; i < n && one_run(first + i); i++)
		;
	/* There was trouble, and it did not leave everything in doubt. */
	CHECK(trial.seen.stops > 100 && trial.seen.crashes > 100 && trial.seen.cuts > 100);
	CHECK(trial.seen.doubles > 0 && trial.seen.doubles < n * PERIODS / 4);
	(void) fprintf(
	    stderr,
	    "%llu periods, %u with a double; %u stops, %u crashes, %u cuts; %u snapshots, %u "
	    "given up, %u removed\n",
	    (unsigned long long) n * PERIODS, trial.seen.doubles, trial.seen.stops, trial.seen.crashes,
	    trial.seen.cuts, trial.seen.runs, trial.seen.cancelled, trial.seen.removed);
	fake_reset();
	return check_result();
}
