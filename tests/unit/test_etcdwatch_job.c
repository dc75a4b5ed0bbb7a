/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a job, state by state: what makes it go on, and what becomes of it when each of the
 * things that it asks for fails, takes too long, or comes too late. */
#include "tests/unit/jobworld.h"

#define HOUR_US (3600 * US_PER_S)
#define CLAIMS "p/etcdwatch/j/claim/"
#define DONES "p/etcdwatch/j/done/"
#define TTL_US (15 * US_PER_S)

/* Whoever goes first: etcd's leader is n1, so it is one of the others. */
static struct world_node *const node = &world[1];

static int64_t now_s(void)
{
	return wall_now_us() / US_PER_S;
}

static struct job_report report_of(const struct world_node *n)
{
	struct job_report report;

	job_fill_report(n->job, &report);
	return report;
}

static bool is_in(const struct world_node *n, const char *state)
{
	return strcmp(report_of(n).state, state) == 0;
}

struct wanted {
	const struct world_node *node;
	const char *state;
};

static bool is_wanted(const void *what)
{
	const struct wanted *w = what;

	return is_in(w->node, w->state);
}

/* Until it is in that state, which it comes to within a minute. */
static bool comes_to(const struct world_node *n, const char *state)
{
	const struct wanted wanted = {n, state};

	if (CHECK(sim_wait(is_wanted, &wanted, 60 * US_PER_S)))
		return true;
	(void) fprintf(stderr, "  it is '%s' and not '%s'\n", report_of(n).state, state);
	return false;
}

static const char *done_of(int64_t period_s)
{
	AUTO(free) char *key = xasprintf(DONES "%lld", (long long) period_s);

	return fake_get(key);
}

static void set_done(int64_t period_s, const char *node_name, const char *id)
{
	AUTO(free) char *key = xasprintf(DONES "%lld", (long long) period_s);
	AUTO(free) char *value = xasprintf("{\"node\":\"%s\",\"id\":\"%s\"}", node_name, id);

	fake_set(key, value);
}

static bool says(const char *text, const char *part)
{
	return text != NULL && strstr(text, part) != NULL;
}

/* One node alone, at the beginning of an hour. */
static void begin(enum config_taker taker)
{
	world_begin("0 * * * *", taker);
	world[0].etcd.cut = world[2].etcd.cut = true;
}

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

/* --- failures --- */

static void test_retries(void)
{
	static const struct {
		enum run_end end;
		bool cut, away;
		const char *error;
	} cases[] = {
	    {.end = RUN_FAILED, .error = "it was not to be"},
	    {.end = RUN_REJECTED, .error = "rejected: it was not to be"},
	    {.cut = true, .error = "cannot agree through etcd who takes it"},
	    {.away = true, .error = "no member of etcd"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		unsigned n_failures;

		begin(CONFIG_TAKER_ELECTED);
		node->rule.end = cases[i].end;
		node->etcd.cut = cases[i].cut;
		node->away = cases[i].away;
		world_start(node);
		CHECK(comes_to(node, "retrying"));
		CHECK(says(report_of(node).error, cases[i].error));
		/* Nobody is kept from it meanwhile. */
		sim_for(US_PER_S);
		CHECK(cases[i].cut || (fake_count(CLAIMS) == 0 && fake_n_leases() == 0));
		sim_for(600 * US_PER_S);
		n_failures = (unsigned) report_of(node).counts.failures;
		CHECK(n_failures >= 5 && n_failures <= 20);
		CHECK_EQ_INT(report_of(node).counts.rejected,
		             cases[i].end == RUN_REJECTED ? n_failures : 0);
		/* And then it works. */
		node->rule.end = RUN_KEPT;
		node->etcd.cut = node->away = false;
		sim_for(400 * US_PER_S);
		CHECK(report_of(node).period_done);
		CHECK_EQ_STR(report_of(node).error, "");
		CHECK_EQ_INT(node->n_entries, 1);
		world_end();
	}
}

/* The patience of one period is not that of the next. */
static void test_retry_anew(void)
{
	begin(CONFIG_TAKER_ELECTED);
	node->rule.end = RUN_FAILED;
	world_start(node);
	sim_until(sim_now_us + HOUR_US - wall_now_us() % HOUR_US + 2 * US_PER_S);
	CHECK(is_in(node, "retrying"));
	node->rule.end = RUN_KEPT;
	sim_for(10 * US_PER_S);
	CHECK(report_of(node).period_done);
	world_end();
}

/* With short periods none is slept through, however many have failed. */
static void test_retry_is_capped(void)
{
	world_begin("* * * * *", CONFIG_TAKER_ELECTED);
	world[0].etcd.cut = world[2].etcd.cut = true;
	node->rule.end = RUN_FAILED;
	world_start(node);
	sim_for(55 * US_PER_S);
	CHECK(is_in(node, "retrying"));
	node->rule.end = RUN_KEPT;
	sim_for(15 * US_PER_S);
	CHECK(report_of(node).period_done);
	world_end();
}

/* The directory cannot be read: it is tried again, and nothing is taken before. */
static void test_scan(void)
{
	begin(CONFIG_TAKER_ELECTED);
	node->scan_r = -EIO;
	world_start(node);
	sim_for(60 * US_PER_S);
	CHECK(node->n_scans >= 3);
	CHECK_EQ_INT(node->n_runs, 0);
	CHECK(says(report_of(node).error, "the disk does not want to"));
	node->scan_r = 0;
	sim_for(120 * US_PER_S);
	CHECK_EQ_INT(node->n_runs, 1);
	CHECK(report_of(node).period_done);
	world_end();
}

static void test_corrupt(void)
{
	for (unsigned i = 0; i < 4; i++) {
		begin(CONFIG_TAKER_ELECTED);
		node->corrupt = i == 1;
		/* Before there is an alarm. */
		node->disagrees = i == 2;
		world_start(node);
		CHECK(comes_to(node, "taking"));
		/* Raised while it is taken. */
		node->corrupt |= i == 3;
		sim_for(60 * US_PER_S);
		CHECK_EQ_INT(node->n_clearings, 1);
		CHECK_EQ_INT(node->cleared_corrupt, i > 0);
		world_end();
	}
}

/* The next one that is compared ends it; one that nobody was asked about does not. */
static void test_doubt_ends(void)
{
	static const struct {
		bool disagrees, alone, corrupt;
	} steps[] = {
	    {.disagrees = true, .corrupt = true},
	    {.alone = true, .corrupt = true},
	    {.corrupt = false},
	    {.alone = true, .corrupt = false},
	};

	begin(CONFIG_TAKER_ELECTED);
	world_start(node);
	CHECK(comes_to(node, "taking"));
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		node->disagrees = steps[i].disagrees;
		node->alone = steps[i].alone;
		sim_for(60 * US_PER_S);
		CHECK_EQ_INT(node->n_clearings, i + 1);
		CHECK_EQ_INT(node->cleared_corrupt, steps[i].corrupt);
		sim_for(HOUR_US - wall_now_us() % HOUR_US);
	}
	world_end();
}

static bool is_true(const void *userdata)
{
	return *(const bool *) userdata;
}

/* As it is now, whatever was so when snapshots went for the last time, or before a restart. */
static void test_frozen(void)
{
	bool differ = true, stands = false;

	begin(CONFIG_TAKER_ELECTED);
	node->corrupt = true;
	world_start(node);
	node->doubt.data_differ = node->doubt.alarm_may_stand = is_true;
	node->doubt.userdata = &differ;
	CHECK(says(report_of(node).frozen, "different data"));
	CHECK(comes_to(node, "taking"));
	CHECK(comes_to(node, "idle"));
	CHECK_EQ_INT(node->cleared_corrupt, true);
	CHECK(says(report_of(node).frozen, "different data"));
	/* Cured, and no snapshot was taken since. */
	node->doubt.data_differ = NULL;
	node->doubt.userdata = &stands;
	CHECK_EQ_STR(report_of(node).frozen, "");
	stands = true;
	CHECK(says(report_of(node).frozen, "CORRUPT"));
	stands = false;
	node->doubt.disagrees = true;
	CHECK(says(report_of(node).frozen, "different data"));
	node->doubt.disagrees = false;
	/* That they shrank lasts, and is seen again after the doubt. */
	node->shrank = stands = true;
	job_look_again(node->job);
	sim_for(US_PER_S);
	CHECK(says(report_of(node).frozen, "CORRUPT"));
	stands = false;
	CHECK_EQ_STR(report_of(node).frozen, "fewer keys");
	world_end();
}

/* --- claims that are lost --- */

/* Another one has the period now. */
static void lose_claim(int64_t period_s)
{
	AUTO(free) char *key = xasprintf(CLAIMS "%lld", (long long) period_s);

	for (size_t i = 0; i < FAKE_LEASES_MAX; i++)
		fake.leases[i].until_us = 0;
	fake_unset(key);
	fake_set(key, "{\"node\":\"n3\"}");
}

/* While it is taken: it is given up. */
static void test_lost_taking(void)
{
	int64_t period_s;

	begin(CONFIG_TAKER_ELECTED);
	period_s = now_s();
	node->rule.take_us = 60 * US_PER_S;
	world_start(node);
	CHECK(comes_to(node, "taking"));
	lose_claim(period_s);
	sim_for(10 * US_PER_S);
	CHECK_EQ_INT(node->n_cancelled, 1);
	CHECK_EQ_INT(node->n_entries, 0);
	CHECK(is_in(node, "retrying") || is_in(node, "waiting"));
	set_done(period_s, "n3", "n3-0");
	sim_for(30 * US_PER_S);
	CHECK(report_of(node).period_done);
	CHECK_EQ_INT(node->n_runs, 1);
	world_end();
}

/* While it is kept: it stays until another one is recorded, and if none is, it is recorded. Which
 * of the two is good nobody knows while a member may be corrupt. */
static void test_lost_keeping(void)
{
	for (unsigned i = 0; i < 4; i++) {
		int64_t period_s;

		begin(CONFIG_TAKER_ELECTED);
		period_s = now_s();
		node->rule.keep_us = 10 * US_PER_S;
		node->corrupt = i == 3;
		world_start(node);
		CHECK(comes_to(node, "keeping"));
		lose_claim(period_s);
		CHECK(comes_to(node, "waiting"));
		CHECK_EQ_INT(node->n_entries, 1);
		if (i == 0) {
			fake_unset(CLAIMS);
		} else {
			node->remove_r = i == 2 ? -EIO : 0;
			set_done(period_s, "n3", "n3-0");
		}
		sim_for(30 * US_PER_S);
		CHECK(report_of(node).period_done);
		CHECK_EQ_STR(report_of(node).done_by, i == 0 ? "n2" : "n3");
		CHECK_EQ_INT(node->n_entries, i == 1 ? 0 : 1);
		CHECK_EQ_INT(node->n_runs, 1);
		CHECK(says(done_of(period_s), i == 0 ? "n2-0" : "n3-0"));
		sim_for(HOUR_US / 4);
		CHECK_EQ_INT(node->n_entries, i == 1 ? 0 : 1);
		world_end();
	}
}

/* Its disk hangs, for ever as far as anybody knows: another node takes the period, and there is no
 * double when the disk moves again. What is kept meanwhile goes; what was being taken is given up.
 */
static void test_disk_hangs(void)
{
	static const char *const at[] = {"taking", "keeping"};

	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		int64_t period_s;

		world_begin("0 * * * *", CONFIG_TAKER_ELECTED);
		period_s = now_s();
		world[0].etcd.cut = true;
		world_start(node);
		CHECK(comes_to(node, at[i]));
		world_start(&world[2]);
		node->hangs_us = sim_now_us;
		sim_for(WORLD_NO_PROGRESS_US - 5 * US_PER_S);
		CHECK_EQ_INT(fake_count(CLAIMS), 1);
		CHECK_EQ_STR(report_of(node).error, "");
		sim_for(30 * US_PER_S);
		CHECK_EQ_INT(world[2].n_entries, 1);
		CHECK(says(done_of(period_s), "n3-0"));
		CHECK(is_in(node, at[i]));
		CHECK(says(report_of(node).error, "the disk of '/nowhere' has not moved for 30 s"));
		CHECK_EQ_INT(node->n_cancelled, 1);
		/* However long. */
		sim_for(HOUR_US / 4);
		CHECK(is_in(node, at[i]));
		CHECK_EQ_INT(node->n_cancelled, 1);
		node->hangs_us = 0;
		sim_for(60 * US_PER_S);
		CHECK(report_of(node).period_done);
		CHECK_EQ_STR(report_of(node).done_by, "n3");
		CHECK_EQ_INT(node->n_runs, 1);
		CHECK_EQ_INT(node->n_entries, 0);
		CHECK_EQ_INT(node->n_removed, i);
		CHECK_EQ_INT(world[2].n_entries, 1);
		CHECK_EQ_INT(fake_count(CLAIMS), 0);
		world_end();
	}
}

/* A disk that is slow, and not for as long as that, is waited for; and one that hangs, where nobody
 * else is there to take it. */
static void test_disk_slow(void)
{
	static const int64_t hangs_us[] = {WORLD_NO_PROGRESS_US - 5 * US_PER_S, HOUR_US / 4};

	for (size_t i = 0; i < ARRAY_SIZE(hangs_us); i++) {
		begin(CONFIG_TAKER_ELECTED);
		world_start(node);
		CHECK(comes_to(node, "taking"));
		node->hangs_us = sim_now_us;
		sim_for(hangs_us[i]);
		node->hangs_us = 0;
		sim_for(60 * US_PER_S);
		CHECK_EQ_INT(node->n_cancelled, i);
		CHECK_EQ_INT(node->n_runs, 1 + i);
		CHECK_EQ_INT(node->n_entries, 1);
		CHECK(report_of(node).period_done);
		world_end();
	}
}

/* When it is recorded. */
static void test_lost_recording(void)
{
	static const struct {
		const char *done_by; /* NULL: nobody */
		bool frees;          /* who has the claim then */
		size_t n_entries;
	} cases[] = {
	    {NULL, true, 1},  /* it claims once more, and records what it has */
	    {"n3", false, 0}, /* one is enough */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t period_s;

		begin(CONFIG_TAKER_ELECTED);
		period_s = now_s();
		world_start(node);
		CHECK(comes_to(node, "keeping"));
		lose_claim(period_s);
		if (cases[i].done_by != NULL)
			set_done(period_s, cases[i].done_by, "other");
		if (cases[i].frees)
			fake_unset(CLAIMS);
		sim_for(60 * US_PER_S);
		CHECK_EQ_INT(node->n_runs, 1);
		CHECK_EQ_INT(node->n_entries, cases[i].n_entries);
		CHECK(report_of(node).period_done);
		CHECK(says(done_of(period_s), cases[i].done_by != NULL ? "other" : "n2-0"));
		world_end();
	}
}

/* The answer to recording is lost with the lease: it was recorded, and so it stays. */
static void test_recorded_unheard(void)
{
	int64_t period_s;

	begin(CONFIG_TAKER_ELECTED);
	period_s = now_s();
	world_start(node);
	CHECK(comes_to(node, "keeping"));
	fake_rule(&node->etcd, FAKE_TXN, (struct fake_rule){.lost_back = true});
	CHECK(comes_to(node, "recording"));
	sim_for(100 * US_PER_MS);
	CHECK(says(done_of(period_s), "n2-0"));
	node->etcd.cut = true;
	sim_for(2 * TTL_US);
	node->etcd.cut = false;
	fake_rule(&node->etcd, FAKE_TXN, (struct fake_rule){0});
	sim_for(60 * US_PER_S);
	CHECK(report_of(node).period_done);
	CHECK_EQ_INT(node->n_entries, 1);
	CHECK_EQ_INT(node->n_runs, 1);
	world_end();
}

/* --- what a crash leaves --- */

static void test_unrecorded(void)
{
	static const struct {
		int64_t period_s, started_s; /* from this period and from now on */
		uint64_t cluster_id;
		bool is_good;
		unsigned n_runs;
	} cases[] = {
	    {0, 0, WORLD_CLUSTER, true, 0},
	    {-3600, 0, WORLD_CLUSTER, true, 1}, /* of the period before, begun late */
	    {3600, 0, WORLD_CLUSTER, true, 1},  /* of a clock that was ahead */
	    {0, 86400, WORLD_CLUSTER, true, 0}, /* its time may be wrong, it was taken for this one */
	    {0, 0, WORLD_CLUSTER + 1, true, 1},
	    {0, 0, WORLD_CLUSTER, false, 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct catalog_entry *e;

		begin(CONFIG_TAKER_ELECTED);
		e = world_add(node, now_s() + cases[i].started_s, now_s() + cases[i].period_s);
		e->cluster_id = cases[i].cluster_id;
		e->tree_verified = cases[i].is_good;
		/* What is of no period or of one before says nothing of it. */
		(void) world_add(node, now_s(), 0);
		e = world_add(node, now_s() - 3600, now_s() - 3600);
		e->revision--;
		world_start(node);
		sim_for(60 * US_PER_S);
		CHECK_EQ_INT(node->n_runs, cases[i].n_runs);
		CHECK(report_of(node).period_done);
		CHECK(says(done_of(report_of(node).period_s), cases[i].n_runs == 0 ? "n2-0" : "n2-3"));
		CHECK_EQ_INT(node->n_entries, 3 + cases[i].n_runs);
		world_end();
	}
}

/* Taken by hand, it is no period's; and what an earlier process has left is not removed when
 * another node's is recorded. */
static void test_not_ours_to_remove(void)
{
	int64_t period_s;

	begin(CONFIG_TAKER_ELECTED);
	period_s = now_s();
	(void) world_add(node, period_s + 1, 0);
	(void) world_add(node, period_s + 2, period_s);
	set_done(period_s, "n3", "n3-0");
	world_start(node);
	sim_for(60 * US_PER_S);
	CHECK(report_of(node).period_done);
	CHECK_EQ_INT(node->n_entries, 2);
	world_end();
}

/* --- by hand --- */

struct saved {
	unsigned n;
	bool is_saved;
	char text[128];
};

static void saved_cb(const struct job_saved *saved, void *userdata)
{
	struct saved *s = userdata;

	s->n++;
	s->is_saved = saved->id != NULL;
	CHECK_EQ_INT(saved->plain_fd, -1);
	(void) snprintf(s->text, sizeof(s->text), "%s", s->is_saved ? saved->id : saved->reason);
}

/* In each state: it is taken, or that it cannot be is said; and the period's own comes all the
 * same. */
static void test_save(void)
{
	static const struct {
		const char *state;
		int r;
	} cases[] = {
	    {"starting", -EBUSY}, {"due", 0},          {"claiming", 0},
	    {"taking", -EBUSY},   {"keeping", -EBUSY}, {"recording", -EBUSY},
	    {"pruning", -EBUSY},  {"idle", 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct saved saved = {0};
		unsigned n = cases[i].r == 0 ? 1 : 0;
		int r;

		begin(CONFIG_TAKER_ELECTED);
		world_start(node);
		if (strcmp(cases[i].state, "idle") == 0)
			sim_for(30 * US_PER_S);
		CHECK(comes_to(node, cases[i].state));
		r = job_save(node->job, false, saved_cb, &saved);
		CHECK_EQ_INT(r, cases[i].r);
		CHECK_EQ_INT(saved.n, 0);
		CHECK(r < 0 || job_save(node->job, false, saved_cb, &saved) == -EBUSY);
		sim_for(60 * US_PER_S);
		CHECK_EQ_INT(saved.n, n);
		CHECK_EQ_INT(saved.is_saved, n);
		CHECK_EQ_INT(node->n_entries, 1 + n);
		CHECK(report_of(node).period_done);
		for (size_t k = 0; k < node->n_entries; k++)
			CHECK_EQ_INT(node->entries[k]->period_s == 0,
			             strcmp(node->entries[k]->id, saved.text) == 0);
		world_end();
	}
}

static void test_save_fails(void)
{
	struct saved saved = {0};

	begin(CONFIG_TAKER_ELECTED);
	world_start(node);
	sim_for(30 * US_PER_S);
	node->rule.end = RUN_FAILED;
	CHECK_EQ_INT(job_save(node->job, false, saved_cb, &saved), 0);
	sim_for(30 * US_PER_S);
	CHECK_EQ_INT(saved.n, 1);
	CHECK(!saved.is_saved);
	CHECK_EQ_STR(saved.text, "it was not to be");
	CHECK(is_in(node, "idle"));
	CHECK_EQ_INT(node->n_runs, 2);
	/* While it retries, and while another one is at the period; nobody is told who went away. */
	node->rule.end = RUN_KEPT;
	job_free(TAKE_PTR(node->job));
	fake_unset(DONES);
	node->etcd.cut = true;
	world_start(node);
	CHECK(comes_to(node, "retrying"));
	node->etcd.cut = false;
	CHECK_EQ_INT(job_save(node->job, false, saved_cb, &saved), 0);
	job_forget_save(node->job);
	sim_for(2 * US_PER_S);
	CHECK_EQ_INT(saved.n, 1);
	CHECK_EQ_INT(node->n_entries, 2);
	world_end();
}

/* While another node is at the period: when that has done it, this one is nothing too many. */
static void test_save_waiting(void)
{
	struct saved saved = {0};
	AUTO(free) char *key = NULL;

	begin(CONFIG_TAKER_ELECTED);
	key = xasprintf(CLAIMS "%lld", (long long) now_s());
	fake_set(key, "{\"node\":\"n3\"}");
	world_start(node);
	CHECK(comes_to(node, "waiting"));
	CHECK_EQ_INT(job_save(node->job, false, saved_cb, &saved), 0);
	sim_for(10 * US_PER_S);
	CHECK_EQ_INT(saved.n, 1);
	CHECK(saved.is_saved);
	set_done(report_of(node).period_s, "n3", "n3-0");
	sim_for(30 * US_PER_S);
	CHECK(report_of(node).period_done);
	CHECK_EQ_INT(node->n_entries, 1);
	world_end();
}

/* Before the directory could be read. */
static void test_save_unread(void)
{
	struct saved saved = {0};

	begin(CONFIG_TAKER_ELECTED);
	world_config.catch_up = false;
	node->scan_r = -EIO;
	world_start(node);
	CHECK(comes_to(node, "retrying"));
	CHECK_EQ_INT(job_save(node->job, false, saved_cb, &saved), 0);
	sim_for(US_PER_S);
	CHECK_EQ_INT(saved.n, 1);
	CHECK(!saved.is_saved && says(saved.text, "the disk does not want to"));
	node->scan_r = 0;
	CHECK(comes_to(node, "retrying"));
	CHECK_EQ_INT(job_save(node->job, false, saved_cb, &saved), 0);
	sim_for(3 * US_PER_S);
	CHECK_EQ_INT(saved.n, 2);
	CHECK(saved.is_saved);
	world_end();
}

/* --- stopping --- */

static void stopped_cb(void *userdata)
{
	*(unsigned *) userdata += 1;
}

/* In each state: it ends soon, says so once, claims nothing any more, and what is kept is kept. */
static void test_stop(void)
{
	static const char *const at[] = {"starting",  "due",     "claiming", "taking",   "keeping",
	                                 "recording", "pruning", "idle",     "retrying", "waiting"};

	for (size_t i = 0; i < 2 * ARRAY_SIZE(at); i++) {
		struct saved saved = {0};
		unsigned n_stopped = 0, n_calls;
		const char *state = at[i / 2];
		bool by_hand = i % 2 == 1;

		begin(CONFIG_TAKER_ELECTED);
		if (strcmp(state, "waiting") == 0) {
			AUTO(free) char *key = xasprintf(CLAIMS "%lld", (long long) now_s());

			fake_set(key, "{\"node\":\"n3\"}");
		}
		node->away = strcmp(state, "retrying") == 0;
		node->rule.take_us = 20 * US_PER_S;
		world_start(node);
		if (strcmp(state, "idle") == 0)
			sim_for(60 * US_PER_S);
		CHECK(comes_to(node, state));
		if (by_hand)
			(void) job_save(node->job, false, saved_cb, &saved);
		if (job_stop(node->job, stopped_cb, &n_stopped))
			n_stopped++;
		CHECK_EQ_INT(job_save(node->job, false, saved_cb, &saved), -EBUSY);
		sim_for(5 * US_PER_S);
		n_calls = node->etcd.n_calls[FAKE_TXN];
		sim_for(60 * US_PER_S);
		CHECK_EQ_INT(node->etcd.n_calls[FAKE_TXN], n_calls);
		CHECK_EQ_INT(n_stopped, 1);
		CHECK_EQ_INT(fake_count(CLAIMS), strcmp(state, "waiting") == 0);
		if (!CHECK(node->run == NULL))
			(void) fprintf(stderr, "  %s %d\n", state, by_hand);
		CHECK_EQ_INT(node->n_entries > 0, i / 2 >= 4 && i / 2 <= 7);
		CHECK_EQ_INT(node->n_cancelled, i / 2 == 3 || i / 2 == 4);
		world_end();
	}
}

/* While somebody else works on its snapshots, none is begun; what is due then is taken then. */
static void test_hold(void)
{
	unsigned n_stopped = 0;

	begin(CONFIG_TAKER_ELECTED);
	world_start(node);
	CHECK(!job_hold(node->job));
	CHECK(comes_to(node, "taking"));
	CHECK(!job_hold(node->job));
	sim_for(60 * US_PER_S);
	CHECK(job_hold(node->job));
	CHECK(!job_hold(node->job));
	CHECK_EQ_INT(job_save(node->job, false, saved_cb, NULL), -EBUSY);
	sim_for(HOUR_US);
	CHECK_EQ_INT(node->n_runs, 1);
	job_release(node->job);
	sim_for(5 * US_PER_S);
	CHECK_EQ_INT(node->n_runs, 2);
	/* Nor once it is stopped. */
	CHECK(job_hold(node->job));
	sim_for(HOUR_US);
	CHECK(job_stop(node->job, stopped_cb, &n_stopped));
	job_release(node->job);
	sim_for(60 * US_PER_S);
	CHECK_EQ_INT(node->n_runs, 2);
	CHECK_EQ_INT(n_stopped, 0); /* said already */
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
	test_retries();
	test_retry_anew();
	test_retry_is_capped();
	test_scan();
	test_corrupt();
	test_doubt_ends();
	test_frozen();
	test_lost_taking();
	test_lost_keeping();
	test_disk_hangs();
	test_disk_slow();
	test_lost_recording();
	test_recorded_unheard();
	test_unrecorded();
	test_not_ours_to_remove();
	test_save();
	test_save_fails();
	test_save_waiting();
	test_save_unread();
	test_stop();
	test_hold();
	fake_reset();
	return check_result();
}
