/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a job when each of the things that it asks for fails, takes too long or comes too
 * late, when its claim is lost, and of what a crash leaves. */
#include "tests/unit/jobcase.h"

#include <errno.h>

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

/* There is no room for a snapshot: what waits for a target makes some, one clearing after the
 * other, and each time it is tried again at once. */
static void test_no_room(void)
{
	begin(CONFIG_TAKER_ELECTED);
	node->rule.end = RUN_FAILED;
	node->run_r = -ENOSPC;
	node->n_waiting = 3;
	world_start(node);
	CHECK(comes_to(node, "retrying"));
	CHECK_EQ_INT(node->n_waiting, 0);
	CHECK_EQ_INT(node->n_clearings, 3);
	CHECK_EQ_INT(node->n_runs, 4);
	CHECK_EQ_INT(report_of(node).counts.failures, 4);
	node->rule.end = RUN_KEPT;
	sim_for(60 * US_PER_S);
	CHECK(report_of(node).period_done);
	world_end();
	/* Other failures are no reason for it. */
	begin(CONFIG_TAKER_ELECTED);
	node->rule.end = RUN_FAILED;
	node->n_waiting = 3;
	world_start(node);
	CHECK(comes_to(node, "retrying"));
	CHECK_EQ_INT(node->n_waiting, 3);
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
		const char *error; /* what is told of the last one, or part of it */
	} steps[] = {
	    {.disagrees = true,
	     .corrupt = true,
	     .error = "member 'm3' holds other data than 'another'"},
	    {.alone = true, .corrupt = true, .error = "was not compared with another member"},
	    {.corrupt = false, .error = ""},
	    {.alone = true, .corrupt = false, .error = "was not compared with another member"},
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
		if (steps[i].error[0] == '\0')
			CHECK_EQ_STR(report_of(node).error, "");
		else
			CHECK(says(report_of(node).error, steps[i].error));
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

int main(void)
{
	test_retries();
	test_retry_anew();
	test_retry_is_capped();
	test_no_room();
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
	fake_reset();
	return check_result();
}
