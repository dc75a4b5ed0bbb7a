/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All connections together: making room, closing those whose time has come, and a crowd of clients
 * and servers that do anything at any moment.
 */
#include "prism/conn_host.h"
#include "prism/conns.h"

#include "tests/unit/connworld.h"

struct pair {
	int client, server;
};

/* A client whose upstream has answered. */
static struct pair pair_new(struct world *w, size_t upstream)
{
	struct pair p = {.client = world_client(w)};

	world_say(p.client, HELLO, HELLO_BYTES);
	p.server = world_server(w, upstream);
	expect_bytes(w, p.server, HELLO, HELLO_BYTES);
	world_say(p.server, "yes", 3);
	expect_bytes(w, p.client, "yes", 3);
	return p;
}

static bool expect_alive(struct world *w, const struct pair *p)
{
	world_say(p->client, "q", 1);
	if (!expect_bytes(w, p->server, "q", 1))
		return false;
	world_say(p->server, "a", 1);
	return expect_bytes(w, p->client, "a", 1);
}

static void pair_speak(struct world *w, const struct pair *p)
{
	(void) expect_alive(w, p);
}

static void pair_close(struct pair *p)
{
	(void) close(p->client);
	(void) close(p->server);
}

/* --- making room --- */

static void test_the_oldest_silent_one_makes_room(void)
{
	struct pair a, b, c, d;
	struct world w;
	int shed;

	world_begin(&w, ev, "a");
	world_open(&w, 3);
	CHECK_EQ_INT(conns_max(w.conns), 3);
	a = pair_new(&w, 0);
	b = pair_new(&w, 0);
	c = pair_new(&w, 0);
	/* All of them have just spoken: the next one is not let in, at the cost of none. */
	CHECK(!conns_have_room(w.conns));
	shed = world_client(&w);
	expect_reset(&w, shed);
	(void) close(shed);
	CHECK_EQ_INT(conns_count(w.conns).shed, 1);
	CHECK_EQ_INT(conns_count(w.conns).connections, 3);

	turn_for(ev, 1050 * US_PER_MS);
	CHECK(conns_have_room(w.conns));
	/* In another order than they came. */
	pair_speak(&w, &a);
	pair_speak(&w, &c);
	d = pair_new(&w, 0);
	expect_end(&w, b.client);
	expect_end(&w, b.server);
	CHECK_EQ_INT(conns_count(w.conns).evicted, 1);
	CHECK_EQ_INT(conns_count(w.conns).connections, 3);
	CHECK(!conns_have_room(w.conns));
	pair_speak(&w, &a);
	pair_speak(&w, &c);
	pair_speak(&w, &d);
	pair_close(&a);
	world_expect_connections(&w, 2);
	CHECK(w.n_room >= 2);
	CHECK(conns_have_room(w.conns));
	pair_close(&b);
	pair_close(&c);
	pair_close(&d);
	world_end(&w);
}

/* --- whose time has come --- */

/* An upstream is to be left: the silent ones go, the busy one at the deadline. */
static void test_leaving_an_upstream(void)
{
	for (int removed = 0; removed < 2; removed++) {
		struct pair silent, busy, next;
		int64_t start_us;
		struct world w;
		char name[ENDPOINT_TEXT_MAX];

		world_begin(&w, ev, "aa");
		w.config.drain = (struct config_drain){
		    .idle_us = 300 * US_PER_MS, .spread_us = 0, .deadline_us = 2500 * US_PER_MS};
		world_open(&w, 100);
		/* Known to be better than what is left. */
		for (size_t i = 0; i < 2; i++)
			world_upstream(&w, i)->judge.state = JUDGE_READY;
		silent = pair_new(&w, 0);
		busy = pair_new(&w, 0);
		(void) endpoint_format(&w.at[0], name);
		if (removed)
			fake_set_list(w.upstreams, &w.at[1], 1);
		else
			CHECK_EQ_INT(upstreams_drain(w.upstreams, name, true), 0);
		start_us = mono_now_us();
		next = pair_new(&w, 1);
		while (mono_now_us() < start_us + 2000 * US_PER_MS) {
			pair_speak(&w, &busy);
			turn_for(ev, 50 * US_PER_MS);
		}
		expect_end(&w, silent.client);
		expect_end(&w, silent.server);
		CHECK_EQ_INT(world_upstream(&w, 0)->counts.drained, 1);
		pair_speak(&w, &busy);
		while (mono_now_us() < start_us + 4000 * US_PER_MS &&
		       conns_count(w.conns).connections > 1) {
			(void) send(busy.client, "q", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
			turn_for(ev, 50 * US_PER_MS);
		}
		CHECK_EQ_INT(conns_count(w.conns).connections, 1);
		CHECK(mono_now_us() - start_us >= 2500 * US_PER_MS);
		/* One that no source names goes with its last connection. */
		CHECK_EQ_INT(upstreams_n(w.upstreams), removed ? 1 : 2);
		pair_speak(&w, &next);
		pair_close(&silent);
		pair_close(&busy);
		pair_close(&next);
		if (removed)
			fake_set_list(w.upstreams, w.at, 2);
		world_end(&w);
	}
}

static void test_nobody_leaves_for_nothing_better(void)
{
	struct pair p;
	struct world w;
	char name[ENDPOINT_TEXT_MAX];

	world_begin(&w, ev, "ar");
	w.config.drain = (struct config_drain){.idle_us = 1, .spread_us = 0, .deadline_us = 1};
	world_open(&w, 100);
	world_upstream(&w, 0)->judge.state = JUDGE_READY;
	world_upstream(&w, 1)->judge.state = JUDGE_DOWN;
	p = pair_new(&w, 0);
	(void) endpoint_format(&w.at[0], name);
	CHECK_EQ_INT(upstreams_drain(w.upstreams, name, true), 0);
	turn_for(ev, 1200 * US_PER_MS);
	pair_speak(&w, &p);
	pair_close(&p);
	world_end(&w);
}

/* A client that waits for an answer, once for each wait; one that was answered does not. */
static void test_a_wait_is_a_doubt(void)
{
	struct pulse *pulse;
	int64_t since_us;
	struct pair p;
	struct world w;

	world_new(&w, ev, "a");
	p = pair_new(&w, 0);
	pulse = &world_upstream(&w, 0)->pulse;
	pair_speak(&w, &p);
	turn_for(ev, 1000 * US_PER_MS);
	CHECK_EQ_INT(pulse->suspect_until_us, 0);
	since_us = mono_now_us();
	world_say(p.client, "q", 1);
	CHECK(TURN_UNTIL(ev, pulse->suspect_until_us != 0));
	CHECK(pulse->suspect_until_us >= since_us + CONN_DOUBT_US + PULSE_SUSPECT_US);
	pulse->suspect_until_us = 0;
	turn_for(ev, 1000 * US_PER_MS);
	CHECK_EQ_INT(pulse->suspect_until_us, 0);
	pair_close(&p);
	world_end(&w);
}

static void test_limits(void)
{
	struct pair half, idle, old, fresh;
	struct world w;

	world_begin(&w, ev, "a");
	w.config.limits.half_closed_us = 200 * US_PER_MS;
	world_open(&w, 100);
	half = pair_new(&w, 0);
	fresh = pair_new(&w, 0);
	(void) shutdown(half.client, SHUT_WR);
	expect_end(&w, half.server);
	turn_for(ev, 1100 * US_PER_MS);
	CHECK_EQ_INT(conns_count(w.conns).closed_half, 1);
	expect_end(&w, half.client);
	pair_speak(&w, &fresh);
	pair_close(&half);
	pair_close(&fresh);
	world_end(&w);

	world_begin(&w, ev, "a");
	w.config.limits.idle_us = 1500 * US_PER_MS;
	world_open(&w, 100);
	idle = pair_new(&w, 0);
	fresh = pair_new(&w, 0);
	for (int i = 0; i < 26; i++) {
		pair_speak(&w, &fresh);
		turn_for(ev, 100 * US_PER_MS);
	}
	CHECK_EQ_INT(conns_count(w.conns).closed_idle, 1);
	expect_end(&w, idle.client);
	expect_end(&w, idle.server);
	pair_speak(&w, &fresh);
	pair_close(&idle);
	pair_close(&fresh);
	world_end(&w);

	world_begin(&w, ev, "a");
	w.config.limits.max_age_us = US_PER_S;
	w.config.drain.idle_us = 300 * US_PER_MS;
	world_open(&w, 100);
	old = pair_new(&w, 0);
	for (int i = 0; i < 22; i++) {
		pair_speak(&w, &old);
		turn_for(ev, 100 * US_PER_MS);
	}
	CHECK_EQ_INT(conns_count(w.conns).connections, 1);
	turn_for(ev, 1500 * US_PER_MS);
	CHECK_EQ_INT(conns_count(w.conns).closed_aged, 1);
	pair_close(&old);
	world_end(&w);
}

/* What the client has asked, or the server said, is not silence: it is read before anybody is found
 * to be silent, also when the loop comes late. */
static void test_what_has_arrived_counts(void)
{
	struct pair p;
	struct world w;

	world_begin(&w, ev, "a");
	w.config.limits.idle_us = 500 * US_PER_MS;
	world_open(&w, 100);
	p = pair_new(&w, 0);
	world_say(p.client, "q", 1);
	(void) poll(NULL, 0, 1200);
	expect_bytes(&w, p.server, "q", 1);
	CHECK_EQ_INT(conns_count(w.conns).closed_idle, 0);
	pair_close(&p);
	world_end(&w);
}

/* Who is silent goes at once. Whose answer pauses, and who waits for one, does not. */
static void test_all_are_to_go(void)
{
	struct pair silent, pauses, asks;
	struct world w;
	int dialling;

	world_new(&w, ev, "a");
	silent = pair_new(&w, 0);
	pauses = pair_new(&w, 0);
	asks = pair_new(&w, 0);
	turn_for(ev, 1100 * US_PER_MS);
	pair_speak(&w, &pauses);
	world_say(asks.client, "q", 1);
	expect_bytes(&w, asks.server, "q", 1);
	conns_leave(w.conns);
	expect_end(&w, silent.client);
	expect_end(&w, silent.server);
	CHECK_EQ_INT(conns_count(w.conns).connections, 2);
	expect_end(&w, pauses.client);
	expect_end(&w, pauses.server);
	turn_for(ev, 500 * US_PER_MS);
	CHECK_EQ_INT(conns_count(w.conns).connections, 1);
	world_say(asks.server, "a", 1);
	expect_bytes(&w, asks.client, "a", 1);
	world_expect_connections(&w, 0);
	pair_close(&silent);
	pair_close(&pauses);
	pair_close(&asks);
	conns_leave(w.conns);
	world_end(&w);

	/* Who has no upstream yet gets one, or its reset. */
	world_new(&w, ev, "b");
	dialling = world_client(&w);
	turn_for(ev, 300 * US_PER_MS);
	conns_leave(w.conns);
	turn_for(ev, 300 * US_PER_MS);
	CHECK_EQ_INT(conns_count(w.conns).connections, 1);
	expect_reset(&w, dialling);
	(void) close(dialling);
	world_end(&w);
}

static void test_freed_with_all_kinds(void)
{
	struct pair p;
	struct world w;
	int waiting, quiet;

	world_new(&w, ev, "ab");
	p = pair_new(&w, 0);
	waiting = world_client(&w);
	world_say(waiting, HELLO, HELLO_BYTES);
	turn_for(ev, 250 * US_PER_MS);
	quiet = world_client(&w);
	CHECK_EQ_INT(conns_count(w.conns).connections, 3);
	CHECK_EQ_INT(conns_count(w.conns).dialling, 2);
	world_end(&w);
	pair_close(&p);
	(void) close(waiting);
	(void) close(quiet);
}

/* --- one after another --- */

static void entrance_cb(struct ev_loop *loop UNUSED, ev_io *io, int revents UNUSED)
{
	struct world *w = io->data;
	int fd;

	while ((fd = accept4(io->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0)
		conns_accept(w->conns, fd);
}

#define CHURN 8

/* Descriptors are closed and taken again in the same turn of the loop, by connections that watch
 * for the same as those before: the kernel must hear of each. */
static void test_descriptors_come_again(int64_t replay_us)
{
	struct pair pairs[CHURN];
	struct world w;
	ev_io entrance;

	world_begin(&w, ev, "a");
	w.config.connect.replay_us = replay_us;
	world_open(&w, 100);
	ev_io_init(&entrance, entrance_cb, w.entrance, EV_READ);
	entrance.data = &w;
	ev_io_start(ev, &entrance);
	for (size_t i = 0; i < CHURN; i++)
		pairs[i].client = -1;
	for (size_t round = 0; round < 200; round++) {
		for (size_t i = 0; i < CHURN; i++) {
			/* Some go, others stay; they come in another order than they went. */
			if (pairs[i].client >= 0 && (round + i) % 3 == 0)
				continue;
			if (pairs[i].client >= 0)
				pair_close(&pairs[i]);
			pairs[i].client = sockets_connect(&w.entrance_at);
			pairs[i].server = world_server(&w, 0);
		}
		for (size_t i = 0; i < CHURN; i++) {
			if (!expect_alive(&w, &pairs[i]))
				return;
		}
	}
	for (size_t i = 0; i < CHURN; i++)
		pair_close(&pairs[i]);
	ev_io_stop(ev, &entrance);
	world_expect_connections(&w, 0);
	world_end(&w);
}

/* --- a crowd --- */

#define CROWD 60
#define CROWD_STEPS 40000

struct crowd {
	uint64_t random;
	int fds[2 * CROWD + 64];
	size_t n;
};

static uint64_t draw(struct crowd *c, uint64_t n)
{
	c->random ^= c->random << 13;
	c->random ^= c->random >> 7;
	c->random ^= c->random << 17;
	return (c->random >> 11) % n;
}

static void crowd_add(struct crowd *c, int fd)
{
	if (fd < 0)
		return;
	if (c->n == ARRAY_SIZE(c->fds))
		(void) close(fd);
	else
		c->fds[c->n++] = fd;
}

static void crowd_drop(struct crowd *c, size_t i, bool reset)
{
	if (reset)
		sockets_reset(c->fds[i]);
	else
		(void) close(c->fds[i]);
	c->fds[i] = c->fds[--c->n];
}

static void crowd_act(struct crowd *c, size_t i)
{
	static const char bytes[100000];
	static char sink[100000];
	int fd = c->fds[i];

	switch (draw(c, 12)) {
	case 0:
		crowd_drop(c, i, true);
		return;
	case 1:
		crowd_drop(c, i, false);
		return;
	case 2:
		(void) shutdown(fd, SHUT_WR);
		return;
	case 3:
		(void) send(fd, "!", 1, MSG_OOB | MSG_NOSIGNAL | MSG_DONTWAIT);
		return;
	case 4:
	case 5:
		(void) send(fd, bytes, 1 + draw(c, sizeof(bytes)), MSG_NOSIGNAL | MSG_DONTWAIT);
		return;
	case 6:
		(void) send(fd, HELLO, HELLO_BYTES, MSG_NOSIGNAL | MSG_DONTWAIT);
		return;
	case 7:
		(void) send(fd, bytes, 1 + draw(c, 3), MSG_NOSIGNAL | MSG_DONTWAIT);
		return;
	default:
		if (recv(fd, sink, 1 + draw(c, sizeof(sink)), MSG_DONTWAIT) < 0 && errno != EAGAIN)
			crowd_drop(c, i, false);
		return;
	}
}

/* The world changes under them: lists, verdicts, the operator. */
static void crowd_shake(struct crowd *c, struct world *w)
{
	size_t i = draw(c, 3);
	struct endpoint some[2] = {w->at[i], w->at[(i + 1) % 3]};
	char name[ENDPOINT_TEXT_MAX];

	(void) endpoint_format(&w->at[i], name);
	switch (draw(c, 6)) {
	case 0:
		fake_set_list(w->upstreams, some, 2);
		break;
	case 1:
		fake_set_list(w->upstreams, w->at, 3);
		break;
	case 2:
		(void) upstreams_drain(w->upstreams, name, draw(c, 2) == 0);
		break;
	case 3:
		upstreams_on_checker_lost(w->upstreams);
		break;
	default:
		if (n_fake_probes > 0)
			upstreams_on_verdict(w->upstreams, fake_probes[n_fake_probes - 1].id,
			                     (enum judge_evidence) draw(c, JUDGE_PROBE_CONNECTED + 1),
			                     "by chance", 1000);
		n_fake_probes = 0;
		break;
	}
}

static void test_a_crowd(uint64_t seed)
{
	struct crowd c = {.random = seed};
	struct world w;

	world_begin(&w, ev, "aaa");
	w.config.connect.replay_us = 20 * US_PER_MS;
	w.config.connect.hedge_us = 5 * US_PER_MS;
	w.config.connect.budget_us = 50 * US_PER_MS;
	w.config.health.suspect_us = 10 * US_PER_MS;
	w.config.drain =
	    (struct config_drain){.idle_us = 1, .spread_us = 1000, .deadline_us = 500 * US_PER_MS};
	world_open(&w, CROWD);
	upstreams_set_checker(w.upstreams, fake_checker);
	for (int i = 0; i < CROWD_STEPS; i++) {
		if (draw(&c, 10) == 0 && c.n < 2 * CROWD)
			crowd_add(&c, world_client_with(&w, draw(&c, 3) == 0 ? 4096 : 0));
		for (size_t k = 0; k < 3; k++)
			crowd_add(&c, accept4(w.listeners[k], NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
		if (c.n > 0)
			crowd_act(&c, draw(&c, c.n));
		if (draw(&c, 100) == 0)
			crowd_shake(&c, &w);
		ev_run(ev, EVRUN_NOWAIT);
		/* More than the connections there are, nothing holds. */
		CHECK(conns_count(w.conns).connections <= CROWD);
		CHECK(conns_count(w.conns).dialling <= conns_count(w.conns).connections);
	}
	while (c.n > 0)
		crowd_drop(&c, 0, draw(&c, 2) == 0);
	for (size_t k = 0; k < 3; k++)
		(void) close(w.listeners[k]);
	for (size_t k = 0; k < 3; k++)
		w.listeners[k] = sockets_listen("127.0.0.1", w.at[k].port, -1, &w.at[k]);
	world_expect_connections(&w, 0);
	CHECK_EQ_INT(conns_count(w.conns).dialling, 0);
	fake_set_list(w.upstreams, w.at, 3);
	world_end(&w);
}

static void test_descriptors_come_again_soon(void)
{
	test_descriptors_come_again(0);
}

static void test_descriptors_come_again_late(void)
{
	test_descriptors_come_again(US_PER_S);
}

static void test_crowds(void)
{
	for (uint64_t seed = 1; seed <= 3; seed++)
		test_a_crowd(seed * UINT64_C(0x9e3779b97f4a7c15));
	conns_free(NULL);
}

int main(void)
{
	static const patient_fn tests[] = {
	    test_the_oldest_silent_one_makes_room,
	    test_leaving_an_upstream,
	    test_nobody_leaves_for_nothing_better,
	    test_a_wait_is_a_doubt,
	    test_limits,
	    test_what_has_arrived_counts,
	    test_all_are_to_go,
	    test_freed_with_all_kinds,
	    test_descriptors_come_again_soon,
	    test_descriptors_come_again_late,
	    test_crowds,
	};

	conn_test(tests, ARRAY_SIZE(tests));
	return check_result();
}
