/* SPDX-License-Identifier: Apache-2.0 */
/* What people ask of a job: a snapshot now, to stop, to hold. */
#include "tests/unit/jobcase.h"

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
		r = job_save(node->job, NULL, saved_cb, &saved);
		CHECK_EQ_INT(r, cases[i].r);
		CHECK_EQ_INT(saved.n, 0);
		CHECK(r < 0 || job_save(node->job, NULL, saved_cb, &saved) == -EBUSY);
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
	CHECK_EQ_INT(job_save(node->job, NULL, saved_cb, &saved), 0);
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
	CHECK_EQ_INT(job_save(node->job, NULL, saved_cb, &saved), 0);
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
	CHECK_EQ_INT(job_save(node->job, NULL, saved_cb, &saved), 0);
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
	CHECK_EQ_INT(job_save(node->job, NULL, saved_cb, &saved), 0);
	sim_for(US_PER_S);
	CHECK_EQ_INT(saved.n, 1);
	CHECK(!saved.is_saved && says(saved.text, "the disk does not want to"));
	node->scan_r = 0;
	CHECK(comes_to(node, "retrying"));
	CHECK_EQ_INT(job_save(node->job, NULL, saved_cb, &saved), 0);
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
			(void) job_save(node->job, NULL, saved_cb, &saved);
		if (job_stop(node->job, stopped_cb, &n_stopped))
			n_stopped++;
		CHECK_EQ_INT(job_save(node->job, NULL, saved_cb, &saved), -EBUSY);
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
	CHECK_EQ_INT(job_save(node->job, NULL, saved_cb, NULL), -EBUSY);
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
	test_save();
	test_save_fails();
	test_save_waiting();
	test_save_unread();
	test_stop();
	test_hold();
	fake_reset();
	return check_result();
}
