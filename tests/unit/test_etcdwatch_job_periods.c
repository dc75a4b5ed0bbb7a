/* SPDX-License-Identifier: Apache-2.0 */
/* When a job takes a snapshot, and which node does: periods, clocks, and what the others do. */
#include "tests/unit/jobcase.h"

/* --- periods --- */

static void test_elected(void)
{
	int64_t period_s;

	begin(CONFIG_TAKER_ELECTED);
	period_s = now_s();
	world_start(node);
	CHECK(is_in(node, "starting"));
	CHECK(comes_to(node, "due"));
	CHECK(comes_to(node, "claiming"));
	CHECK(comes_to(node, "taking"));
	CHECK_EQ_INT(fake_count(CLAIMS), 1);
	CHECK_EQ_INT(node->run_period_s, period_s);
	CHECK(comes_to(node, "recording"));
	CHECK(comes_to(node, "pruning"));
	CHECK(comes_to(node, "idle"));
	CHECK(says(done_of(period_s), "\"node\":\"n2\"") && says(done_of(period_s), "n2-0"));
	sim_for(US_PER_S);
	CHECK_EQ_INT(fake_count(CLAIMS), 0);
	CHECK_EQ_INT(fake_n_leases(), 0);
	CHECK_EQ_STR(report_of(node).done_by, "n2");
	CHECK(report_of(node).period_done);
	/* And not again before the next period; then to the second. */
	sim_until(sim_now_us + HOUR_US - wall_now_us() % HOUR_US - 1);
	CHECK_EQ_INT(node->n_runs, 1);
	sim_for(2 * US_PER_S);
	CHECK_EQ_INT(node->n_runs, 2);
	sim_for(60 * US_PER_S);
	CHECK_EQ_INT(fake_count(DONES), 2);
	CHECK_EQ_INT(node->n_clearings, 2);
	CHECK_EQ_INT(report_of(node).counts.kept, 2);
	CHECK_EQ_INT(report_of(node).counts.failures + report_of(node).counts.missed, 0);
	world_end();
}

static void test_every_node(void)
{
	begin(CONFIG_TAKER_EVERY_NODE);
	world_start(node);
	CHECK(comes_to(node, "taking"));
	CHECK_EQ_INT(node->run_period_s, 0);
	CHECK(comes_to(node, "idle"));
	CHECK(report_of(node).period_done);
	/* A restart finds it. */
	job_free(TAKE_PTR(node->job));
	world_start(node);
	sim_for(HOUR_US / 2);
	CHECK_EQ_INT(node->n_runs, 1);
	/* Of the period before, it is none. */
	node->entries[0]->started_s -= 3600;
	job_free(TAKE_PTR(node->job));
	world_start(node);
	sim_for(60 * US_PER_S);
	CHECK_EQ_INT(node->n_runs, 2);
	CHECK_EQ_INT(fake.n_keys, 0);
	world_end();
}

/* What happened while nobody was there: the period under way is caught up, older ones are not. */
static void test_catch_up(void)
{
	for (unsigned i = 0; i < 2; i++) {
		begin(CONFIG_TAKER_ELECTED);
		world_config.catch_up = i == 1;
		sim_for(HOUR_US / 2);
		world_start(node);
		sim_for(HOUR_US / 4);
		CHECK_EQ_INT(node->n_runs, i);
		sim_for(HOUR_US / 2);
		CHECK_EQ_INT(node->n_runs, i + 1);
		world_end();
	}
}

static void test_jitter(void)
{
	int64_t began_us;

	begin(CONFIG_TAKER_ELECTED);
	world_config.jitter_us = 600 * US_PER_S;
	began_us = sim_now_us;
	world_start(node);
	sim_for(50 * US_PER_MS);
	sim_until(began_us + report_of(node).next_due_s * US_PER_S -
	          report_of(node).period_s * US_PER_S);
	CHECK(sim_now_us > began_us + US_PER_S);
	CHECK_EQ_INT(node->n_runs, 0);
	sim_for(5 * US_PER_S);
	CHECK_EQ_INT(node->n_runs, 1);
	world_end();
}

/* The clock is set: forwards, over periods; backwards, into one that was done. */
static void test_clock(void)
{
	begin(CONFIG_TAKER_ELECTED);
	world_start(node);
	CHECK(comes_to(node, "taking"));
	CHECK(comes_to(node, "idle"));
	sim_for(US_PER_S);
	node->ev.wall_ahead_us = 5 * HOUR_US;
	sim_for(60 * US_PER_S);
	CHECK_EQ_INT(node->n_runs, 2);
	node->ev.wall_ahead_us = 0;
	sim_for(60 * US_PER_S);
	CHECK_EQ_INT(node->n_runs, 2);
	/* Nothing that was recorded meanwhile stands in the way. */
	for (unsigned i = 0; i < 6; i++)
		sim_for(HOUR_US);
	CHECK_EQ_INT(node->n_runs, 8);
	world_end();
}

static void test_missed(void)
{
	begin(CONFIG_TAKER_ELECTED);
	node->rule.end = RUN_FAILED;
	world_start(node);
	sim_for(2 * HOUR_US + 60 * US_PER_S);
	CHECK_EQ_INT(report_of(node).counts.missed, 2);
	node->rule.end = RUN_KEPT;
	sim_for(HOUR_US);
	CHECK_EQ_INT(report_of(node).counts.missed, 2);
	CHECK(report_of(node).period_done);
	CHECK_EQ_STR(report_of(node).error, "");
	world_end();
}

/* --- others --- */

/* All three at once: one takes it, and etcd's leader only when there is nobody else. */
static void test_order(void)
{
	for (unsigned n_away = 0; n_away < 3; n_away++) {
		unsigned n_runs = 0;

		world_begin("0 * * * *", CONFIG_TAKER_ELECTED);
		for (unsigned i = 0; i < WORLD_NODES; i++) {
			world[i].away = world[i].etcd.cut = WORLD_NODES - i <= n_away;
			world_start(&world[i]);
		}
		sim_for(60 * US_PER_S);
		for (unsigned i = 0; i < WORLD_NODES; i++) {
			n_runs += world[i].n_runs;
			CHECK(world[i].away || report_of(&world[i]).period_done);
			CHECK_EQ_INT(world[i].etcd.n_calls[FAKE_TXN] <= 3 || world[i].away, true);
		}
		CHECK_EQ_INT(n_runs, 1);
		CHECK_EQ_INT(world[0].n_runs, n_away == 2);
		world_end();
	}
}

/* The one whose turn it is does not come: the next one takes it some seconds later, and another
 * time it is another one's turn. */
static void test_order_dead(void)
{
	unsigned n_first[WORLD_NODES] = {0};

	for (unsigned i = 0; i < 8; i++) {
		struct world_node *first = NULL;

		world_begin("0 * * * *", CONFIG_TAKER_ELECTED);
		for (unsigned k = 0; k < WORLD_NODES; k++)
			world_start(&world[k]);
		sim_for(2 * US_PER_S);
		for (unsigned k = 0; k < WORLD_NODES; k++) {
			if (world[k].run != NULL || world[k].n_entries > 0)
				first = &world[k];
		}
		if (CHECK(first != NULL))
			n_first[first - world]++;
		for (unsigned k = 0; k < WORLD_NODES; k++)
			job_free(TAKE_PTR(world[k].job));
		sim_for(US_PER_S);
		fake_unset("p/");
		for (unsigned k = 0; k < WORLD_NODES; k++) {
			if (&world[k] != first)
				world_start(&world[k]);
		}
		sim_for(4 * US_PER_S);
		CHECK_EQ_INT(fake_count(CLAIMS), 0);
		sim_for(8 * US_PER_S);
		CHECK_EQ_INT(fake_count(DONES), 1);
		world_end();
	}
	CHECK_EQ_INT(n_first[0], 0);
	CHECK(n_first[1] > 0 && n_first[2] > 0);
}

static void test_others(void)
{
	AUTO(free) char *key = NULL;
	int64_t period_s;

	begin(CONFIG_TAKER_ELECTED);
	period_s = now_s();
	key = xasprintf(CLAIMS "%lld", (long long) period_s);
	fake_set(key, "{\"node\":\"n3\"}");
	world_start(node);
	CHECK(comes_to(node, "waiting"));
	sim_for(120 * US_PER_S);
	CHECK_EQ_INT(node->n_runs, 0);
	/* It gave up: the period is taken over within seconds. */
	fake_unset(key);
	sim_for(15 * US_PER_S);
	CHECK_EQ_INT(node->n_runs, 1);
	world_end();
	/* It has done it. */
	begin(CONFIG_TAKER_ELECTED);
	period_s = now_s();
	free(TAKE_PTR(key));
	key = xasprintf(CLAIMS "%lld", (long long) period_s);
	fake_set(key, "{\"node\":\"n3\"}");
	world_start(node);
	CHECK(comes_to(node, "waiting"));
	set_done(period_s, "n3", "n3-0");
	CHECK(comes_to(node, "idle"));
	CHECK_EQ_STR(report_of(node).done_by, "n3");
	CHECK(report_of(node).period_done);
	CHECK_EQ_INT(node->n_runs, 0);
	world_end();
}

/* Nobody can claim: each takes one of its own, one only. */
static void test_no_space(void)
{
	int64_t period_s;

	begin(CONFIG_TAKER_ELECTED);
	fake.no_space = true;
	period_s = now_s();
	world_start(node);
	CHECK(comes_to(node, "taking"));
	CHECK_EQ_INT(node->run_period_s, period_s);
	CHECK(comes_to(node, "idle"));
	CHECK(report_of(node).period_done);
	sim_for(HOUR_US / 4);
	CHECK_EQ_INT(node->n_runs, 1);
	/* Nor after a restart; and with room again it is recorded. */
	job_free(TAKE_PTR(node->job));
	world_start(node);
	sim_for(HOUR_US / 4);
	CHECK_EQ_INT(node->n_runs, 1);
	job_free(TAKE_PTR(node->job));
	fake.no_space = false;
	world_start(node);
	sim_for(60 * US_PER_S);
	CHECK_EQ_INT(node->n_runs, 1);
	CHECK(says(done_of(period_s), "n2-0"));
	world_end();
	/* A failure is tried again. */
	begin(CONFIG_TAKER_ELECTED);
	fake.no_space = true;
	node->rule.end = RUN_FAILED;
	world_start(node);
	CHECK(comes_to(node, "retrying"));
	CHECK(!report_of(node).period_done);
	fake.no_space = false;
	node->rule.end = RUN_KEPT;
	sim_for(60 * US_PER_S);
	CHECK(says(done_of(now_s() / 3600 * 3600), "n2-0"));
	world_end();
}

/* Nor here, and each member's is wanted: each takes one of its own, one a period, and nothing goes.
 */
static void test_corrupt_unclaimed(void)
{
	int64_t period_s;

	begin(CONFIG_TAKER_ELECTED);
	fake.corrupt = node->corrupt = true;
	period_s = now_s();
	world_start(node);
	CHECK(comes_to(node, "taking"));
	CHECK_EQ_INT(node->run_period_s, period_s);
	CHECK(comes_to(node, "idle"));
	CHECK(report_of(node).period_done);
	CHECK_EQ_INT(node->n_clearings, 1);
	CHECK(node->cleared_corrupt);
	sim_for(HOUR_US / 4);
	CHECK_EQ_INT(node->n_runs, 1);
	sim_for(HOUR_US);
	CHECK_EQ_INT(node->n_runs, 2);
	CHECK(done_of(period_s) == NULL);
	world_end();
	/* Raised while it is taken, it cannot be recorded either, and is not taken twice. */
	begin(CONFIG_TAKER_ELECTED);
	world_start(node);
	CHECK(comes_to(node, "taking"));
	fake.corrupt = node->corrupt = true;
	sim_for(HOUR_US / 4);
	CHECK(is_in(node, "idle"));
	CHECK(report_of(node).period_done);
	CHECK_EQ_INT(node->n_runs, 1);
	CHECK_EQ_INT(node->n_entries, 1);
	world_end();
}

int main(void)
{
	test_elected();
	test_every_node();
	test_catch_up();
	test_jitter();
	test_clock();
	test_missed();
	test_order();
	test_order_dead();
	test_others();
	test_no_space();
	test_corrupt_unclaimed();
	fake_reset();
	return check_result();
}
