/* SPDX-License-Identifier: Apache-2.0 */
/* The race for one client, between real listeners, refusing ports and black holes on loopback. */
#include "prism/dial.h"

#include <signal.h>
#include <sys/resource.h>

#include "tests/unit/check.h"
#include "tests/unit/fakechecker.h"
#include "tests/unit/netns.h"
#include "tests/unit/patient.h"
#include "tests/unit/sockets.h"
#include "tests/unit/turn.h"

#define HEDGE_MS 100
#define BUDGET_MS 1000

static struct ev_loop *ev;

enum kind {
	ACCEPTS,
	REFUSES,
	BLACKHOLE,
};

#define UPSTREAMS_MAX 5

/* Upstreams that behave as told, in this order. */
struct race {
	struct config config;
	struct upstreams *set;
	struct dial *dial;
	size_t n;
	enum kind kinds[UPSTREAMS_MAX];
	int listeners[UPSTREAMS_MAX];
	struct blackhole holes[UPSTREAMS_MAX];
	struct endpoint at[UPSTREAMS_MAX];
	int64_t started_us;
	/* The outcome. */
	unsigned n_done;
	int fd;
	struct upstream *winner;
	int64_t took_us;
};

static void done_cb(int fd, struct upstream *upstream, void *userdata)
{
	struct race *r = userdata;

	r->n_done++;
	r->fd = fd;
	r->winner = upstream;
	r->took_us = mono_now_us() - r->started_us;
}

static void race_begin(struct race *r, const enum kind *kinds, size_t n)
{
	*r = (struct race){.config = fake_config(), .n = n, .fd = -1};
	for (size_t i = 0; i < n; i++) {
		r->kinds[i] = kinds[i];
		if (kinds[i] == BLACKHOLE) {
			r->holes[i] = sockets_blackhole("127.0.0.1");
			r->at[i] = r->holes[i].at;
			continue;
		}
		r->listeners[i] = sockets_listen("127.0.0.1", 0, kinds[i] == REFUSES ? -1 : 8, &r->at[i]);
	}
	r->config.connect.hedge_us = HEDGE_MS * US_PER_MS;
	r->config.connect.budget_us = BUDGET_MS * US_PER_MS;
	r->set = fake_upstreams(ev, &r->config, r->at, n);
	fake_rank(r->set, r->at, n);
	r->dial = dial_new(ev, r->set, &r->config.connect, done_cb, r);
	CHECK(r->dial != NULL);
}

static struct upstream *nth(struct race *r, size_t i)
{
	return upstreams_find(r->set, &r->at[i]);
}

static void start(struct race *r)
{
	r->n_done = 0;
	r->started_us = mono_now_us();
	CHECK(dial_start(r->dial));
	CHECK_EQ_INT(r->n_done, 0);
}

static void finish(struct race *r)
{
	for (int i = 0; i < 500 && r->n_done == 0; i++)
		turn_once(ev);
	CHECK_EQ_INT(r->n_done, 1);
}

static void give_back(struct race *r)
{
	if (r->fd < 0)
		return;
	(void) close(r->fd);
	upstreams_release(r->set, r->winner);
	r->fd = -1;
}

/* And nothing is left of it. */
static void race_end(struct race *r)
{
	turn_for(ev, 20 * US_PER_MS);
	give_back(r);
	dial_free(r->dial);
	for (size_t i = 0; i < r->n; i++) {
		CHECK_EQ_INT(nth(r, i)->connections, 0);
		CHECK_EQ_INT(nth(r, i)->refs, 0);
		if (r->kinds[i] == BLACKHOLE)
			sockets_blackhole_end(&r->holes[i]);
		else
			(void) close(r->listeners[i]);
	}
	upstreams_free(r->set);
}

/* --- who wins --- */

static void test_who_wins(void)
{
	/* winner -1: nobody. Times in ms, generous upwards: the machine may be slow. */
	static const struct {
		enum kind kinds[UPSTREAMS_MAX];
		size_t n;
		int winner, error;
		int64_t at_least_ms, below_ms;
		unsigned hedges, retries; /* of the first */
	} cases[] = {
	    {{ACCEPTS, ACCEPTS}, 2, 0, 0, 0, 60, 0, 0},
	    {{REFUSES, ACCEPTS}, 2, 1, 0, 0, 60, 0, 1},
	    {{REFUSES, REFUSES, ACCEPTS}, 3, 2, 0, 0, 60, 0, 1},
	    {{BLACKHOLE, ACCEPTS}, 2, 1, 0, 95, 160, 1, 0},
	    {{BLACKHOLE, REFUSES, ACCEPTS}, 3, 2, 0, 95, 160, 1, 0},
	    {{BLACKHOLE, BLACKHOLE, ACCEPTS}, 3, 2, 0, 190, 270, 1, 0},
	    {{REFUSES, BLACKHOLE, ACCEPTS}, 3, 2, 0, 95, 160, 0, 1},
	    /* All refuse: said at once. */
	    {{REFUSES}, 1, -1, -ECONNREFUSED, 0, 60, 0, 0},
	    {{REFUSES, REFUSES, REFUSES}, 3, -1, -ECONNREFUSED, 0, 60, 0, 1},
	    /* The budget is for all of them. */
	    {{BLACKHOLE}, 1, -1, -ETIMEDOUT, 990, 1100, 0, 0},
	    {{BLACKHOLE, REFUSES}, 2, -1, -ETIMEDOUT, 990, 1100, 1, 0},
	    {{BLACKHOLE, BLACKHOLE, BLACKHOLE, BLACKHOLE, BLACKHOLE},
	     5,
	     -1,
	     -ETIMEDOUT,
	     990,
	     1100,
	     1,
	     0},
	    {{BLACKHOLE, BLACKHOLE, BLACKHOLE, BLACKHOLE, ACCEPTS}, 5, 4, 0, 390, 520, 1, 0},
	    {{0}, 0, -1, -ENETUNREACH, 0, 60, 0, 0},
	};
	size_t fds = sockets_count_fds();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct race r;
		bool good;

		race_begin(&r, cases[i].kinds, cases[i].n);
		start(&r);
		finish(&r);
		if (cases[i].winner >= 0) {
			good = CHECK(r.fd >= 0 && r.winner == nth(&r, (size_t) cases[i].winner));
			good = CHECK_EQ_INT(r.winner->connections, 1) && good;
			good = CHECK(sockets_wait(r.listeners[cases[i].winner], POLLIN)) && good;
		} else {
			good = CHECK_EQ_INT(r.fd, cases[i].error);
			good = CHECK(r.winner == NULL) && good;
		}
		good = CHECK(r.took_us >= cases[i].at_least_ms * US_PER_MS) && good;
		good = CHECK(r.took_us < cases[i].below_ms * US_PER_MS) && good;
		for (size_t k = 0; k < r.n; k++) {
			struct upstream *u = nth(&r, k);

			/* The losers are closed; each that failed or was slow is known as such, once. */
			if (u != r.winner)
				good = CHECK_EQ_INT(u->connections, 0) && good;
			if ((int) k < cases[i].winner || cases[i].winner < 0)
				good = CHECK_EQ_INT(u->counts.connect_failures, 1) && good;
			if (r.kinds[k] == REFUSES && ((int) k < cases[i].winner || cases[i].winner < 0))
				good = CHECK_EQ_INT(u->judge.state, JUDGE_DOWN) && good;
		}
		if (r.n > 0) {
			good = CHECK_EQ_INT(nth(&r, 0)->counts.hedges, cases[i].hedges) && good;
			good = CHECK_EQ_INT(nth(&r, 0)->counts.retries, cases[i].retries) && good;
		}
		if (!good)
			(void) fprintf(stderr, "  case %zu, after %lld us\n", i, (long long) r.took_us);
		race_end(&r);
		CHECK_EQ_INT(sockets_count_fds(), fds);
	}
}

static void test_many_upstreams_share_the_budget(void)
{
	static const enum kind kinds[] = {BLACKHOLE, BLACKHOLE, BLACKHOLE, BLACKHOLE, ACCEPTS};
	struct race r;

	race_begin(&r, kinds, 5);
	r.config.connect.budget_us = 300 * US_PER_MS;
	start(&r);
	finish(&r);
	CHECK(r.fd >= 0 && r.winner == nth(&r, 4));
	CHECK(r.took_us < 290 * US_PER_MS);
	race_end(&r);
}

/* --- on and on --- */

/* The winner turned out to be silent: the others, then none. One that lost may win yet. */
static void test_goes_on_with_the_rest(void)
{
	static const enum kind kinds[] = {ACCEPTS, REFUSES, ACCEPTS};
	struct race r;

	race_begin(&r, kinds, 3);
	start(&r);
	finish(&r);
	CHECK(r.winner == nth(&r, 0));
	give_back(&r);
	CHECK(dial_has_more(r.dial));
	start(&r);
	finish(&r);
	CHECK(r.winner == nth(&r, 2));
	CHECK_EQ_INT(nth(&r, 1)->judge.state, JUDGE_DOWN);
	give_back(&r);
	CHECK(!dial_has_more(r.dial));
	CHECK(!dial_start(r.dial));
	turn_for(ev, 30 * US_PER_MS);
	CHECK_EQ_INT(r.n_done, 1);
	race_end(&r);
}

static void test_a_loser_may_win_later(void)
{
	static const enum kind kinds[] = {BLACKHOLE, ACCEPTS};
	struct race r;

	race_begin(&r, kinds, 2);
	start(&r);
	finish(&r);
	CHECK(r.winner == nth(&r, 1));
	give_back(&r);
	/* Its queue is empty now. */
	sockets_blackhole_end(&r.holes[0]);
	r.listeners[0] = sockets_listen("127.0.0.1", r.at[0].port, 8, &r.at[0]);
	r.kinds[0] = ACCEPTS;
	start(&r);
	finish(&r);
	CHECK(r.winner == nth(&r, 0));
	race_end(&r);
}

static void test_freed_under_way(void)
{
	static const enum kind kinds[] = {BLACKHOLE, BLACKHOLE};
	size_t fds = sockets_count_fds();
	struct race r;

	race_begin(&r, kinds, 2);
	start(&r);
	turn_for(ev, 150 * US_PER_MS);
	CHECK_EQ_INT(nth(&r, 0)->connections, 1);
	CHECK_EQ_INT(nth(&r, 1)->connections, 1);
	dial_free(r.dial);
	r.dial = NULL;
	turn_for(ev, 50 * US_PER_MS);
	CHECK_EQ_INT(r.n_done, 0);
	race_end(&r);
	CHECK_EQ_INT(sockets_count_fds(), fds);
}

/* --- the upstreams change meanwhile --- */

static void test_removed_while_dialled(void)
{
	static const enum kind kinds[] = {BLACKHOLE, ACCEPTS};
	struct race r;

	race_begin(&r, kinds, 2);
	start(&r);
	fake_set_list(r.set, NULL, 0);
	CHECK_EQ_INT(upstreams_n(r.set), 2);
	finish(&r);
	CHECK(r.fd >= 0);
	CHECK_EQ_INT(r.winner->from, 0);
	CHECK_EQ_INT(r.winner->connections, 1);
	dial_free(r.dial);
	r.dial = NULL;
	/* The one that lost goes with the race, the other one with its connection. */
	CHECK_EQ_INT(upstreams_n(r.set), 1);
	give_back(&r);
	CHECK_EQ_INT(upstreams_n(r.set), 0);
	r.n = 0;
	sockets_blackhole_end(&r.holes[0]);
	(void) close(r.listeners[1]);
	race_end(&r);
}

/* It showed a wrong certificate after the order was made. */
static void test_untrusted_meanwhile(void)
{
	static const enum kind kinds[] = {BLACKHOLE, ACCEPTS, ACCEPTS};
	struct race r;

	race_begin(&r, kinds, 3);
	start(&r);
	nth(&r, 1)->judge.state = JUDGE_UNTRUSTED;
	finish(&r);
	CHECK(r.winner == nth(&r, 2));
	give_back(&r);
	nth(&r, 0)->judge.state = JUDGE_UNTRUSTED;
	CHECK(!dial_has_more(r.dial));
	race_end(&r);
}

/* --- this machine's own troubles --- */

/* From now on no descriptor can be opened beyond `more`. */
static struct rlimit leave_descriptors(int more)
{
	struct rlimit before, now;
	int next = dup(STDIN_FILENO);

	(void) close(next);
	CHECK_EQ_INT(getrlimit(RLIMIT_NOFILE, &before), 0);
	now = before;
	now.rlim_cur = (rlim_t) (next + more);
	CHECK_EQ_INT(setrlimit(RLIMIT_NOFILE, &now), 0);
	return before;
}

static void test_no_descriptor_for_a_while(void)
{
	static const enum kind kinds[] = {ACCEPTS, ACCEPTS};
	struct rlimit before;
	struct race r;

	race_begin(&r, kinds, 2);
	before = leave_descriptors(0);
	start(&r);
	turn_for(ev, 150 * US_PER_MS);
	CHECK_EQ_INT(r.n_done, 0);
	CHECK_EQ_INT(setrlimit(RLIMIT_NOFILE, &before), 0);
	finish(&r);
	CHECK(r.winner == nth(&r, 0));
	CHECK(r.took_us < 300 * US_PER_MS);
	/* Which is nobody's fault. */
	CHECK_EQ_INT(nth(&r, 0)->counts.connect_failures, 0);
	CHECK_EQ_INT(nth(&r, 0)->judge.state, JUDGE_UNKNOWN);
	race_end(&r);
}

static void test_no_descriptor_at_all(void)
{
	static const enum kind kinds[] = {ACCEPTS, ACCEPTS};
	struct rlimit before;
	struct race r;

	race_begin(&r, kinds, 2);
	before = leave_descriptors(0);
	start(&r);
	finish(&r);
	CHECK_EQ_INT(setrlimit(RLIMIT_NOFILE, &before), 0);
	CHECK_EQ_INT(r.fd, -EMFILE);
	CHECK(r.took_us >= 990 * US_PER_MS);
	race_end(&r);
}

/* One for the race: the silent one makes room for the next. */
static void test_one_descriptor(void)
{
	static const enum kind kinds[] = {BLACKHOLE, BLACKHOLE, ACCEPTS};
	struct rlimit before;
	struct race r;

	race_begin(&r, kinds, 3);
	before = leave_descriptors(1);
	start(&r);
	finish(&r);
	CHECK_EQ_INT(setrlimit(RLIMIT_NOFILE, &before), 0);
	CHECK(r.fd >= 0 && r.winner == nth(&r, 2));
	CHECK(r.took_us < 300 * US_PER_MS);
	race_end(&r);
}

/* A connection to a port that nobody listens on, from this very port. */
static void test_meets_itself(void)
{
	struct race r;

	race_begin(&r, NULL, 0);
	dial_free(r.dial);
	netns_sysctl("/proc/sys/net/ipv4/ip_local_port_range", "40000 40001");
	r.at[0] = sockets_endpoint("127.0.0.1:40000");
	fake_set_list(r.set, r.at, 1);
	r.dial = dial_new(ev, r.set, &r.config.connect, done_cb, &r);
	for (int i = 0; i < 20; i++) {
		struct dial *dial = dial_new(ev, r.set, &r.config.connect, done_cb, &r);

		dial_free(r.dial);
		r.dial = dial;
		start(&r);
		finish(&r);
		CHECK_EQ_INT(r.fd, -ECONNREFUSED);
		give_back(&r);
	}
	netns_sysctl("/proc/sys/net/ipv4/ip_local_port_range", "32768 60999");
	race_end(&r);
}

/* --- pauses --- */

/* The process did not run when the time was up: that says nothing of the upstream. */
static void test_a_pause_is_no_evidence(void)
{
	static const enum kind kinds[] = {BLACKHOLE, ACCEPTS};
	struct race r;

	race_begin(&r, kinds, 2);
	start(&r);
	(void) poll(NULL, 0, 400);
	finish(&r);
	CHECK(r.winner == nth(&r, 1));
	CHECK_EQ_INT(nth(&r, 0)->counts.connect_failures, 0);
	race_end(&r);
}

/* Connected while the process did not run: that counts before the time that is up. The SYN is sent
 * again after a second. */

/* It did not run until the time for all attempts was up: the next ones get theirs. */
static void test_a_pause_costs_no_attempt(void)
{
	static const enum kind kinds[] = {BLACKHOLE, BLACKHOLE, ACCEPTS};
	struct race r;

	race_begin(&r, kinds, 3);
	start(&r);
	(void) poll(NULL, 0, BUDGET_MS + 300);
	finish(&r);
	CHECK(r.fd >= 0 && r.winner == nth(&r, 2));
	CHECK_EQ_INT(nth(&r, 0)->counts.connect_failures, 0);
	race_end(&r);
}

static void test_connected_during_a_pause(void)
{
	static const enum kind kinds[] = {BLACKHOLE, ACCEPTS};
	struct race r;

	race_begin(&r, kinds, 2);
	start(&r);
	for (int i = 0; i < 2; i++)
		(void) close(sockets_accept(r.holes[0].listener));
	(void) poll(NULL, 0, 2500);
	finish(&r);
	CHECK(r.fd >= 0 && r.winner == nth(&r, 0));
	CHECK_EQ_INT(nth(&r, 1)->counts.connects, 0);
	race_end(&r);
}

static void prepare(void)
{
	(void) netns_enter_new();
	(void) signal(SIGPIPE, SIG_IGN);
	ev = ev_loop_new(EVFLAG_AUTO);
}

static void clean_up(void)
{
	ev_loop_destroy(ev);
}

int main(void)
{
	static const patient_fn tests[] = {
	    test_who_wins,
	    test_many_upstreams_share_the_budget,
	    test_goes_on_with_the_rest,
	    test_a_loser_may_win_later,
	    test_freed_under_way,
	    test_removed_while_dialled,
	    test_untrusted_meanwhile,
	    test_no_descriptor_for_a_while,
	    test_no_descriptor_at_all,
	    test_one_descriptor,
	    test_meets_itself,
	    test_a_pause_is_no_evidence,
	    test_a_pause_costs_no_attempt,
	    test_connected_during_a_pause,
	};

	patiently(&(struct patient){.prepare = prepare, .finish = clean_up}, 3, tests,
	          ARRAY_SIZE(tests));
	dial_free(NULL);
	return check_result();
}
