/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes through one client's connection: both ways, at once and slowly, until a side is done,
 * breaks, stands still or is dead.
 */
#include "tests/unit/connworld.h"

#include <linux/sockios.h>

static void test_its_size(void)
{
	/* What an idle connection costs, with what malloc(3) adds. */
	CHECK(sizeof(struct conn) <= 256);
}

/* --- relaying --- */

static void test_both_ways(void)
{
	struct world w;
	int client, server;

	relayed(&w, "aa", &client, &server);
	for (int i = 0; i < 20; i++) {
		world_say(client, "question", 8);
		expect_bytes(&w, server, "question", 8);
		world_say(server, "a longer answer", 15);
		expect_bytes(&w, client, "a longer answer", 15);
	}
	CHECK_EQ_INT(conns_count(w.conns).bytes_up, HELLO_BYTES + 160);
	CHECK_EQ_INT(conns_count(w.conns).bytes_down, 3 + 300);
	CHECK_EQ_INT(conns_count(w.conns).dialling, 0);
	CHECK_EQ_INT(world_upstream(&w, 0)->connections, 1);
	CHECK_EQ_INT(world_upstream(&w, 1)->counts.connects, 0);
	(void) close(client);
	expect_end(&w, server);
	(void) close(server);
	world_expect_connections(&w, 0);
	CHECK_EQ_INT(w.n_room, 1);
	world_end(&w);
}

/* Both at once, with buffers of all sizes and readers of all speeds. */
static void test_bulk_both_ways(void)
{
	static const struct {
		int buffer;
		size_t client_step, server_step;
		uint64_t total;
	} cases[] = {
	    {0, 1 << 20, 1 << 20, 12 << 20}, {32768, 3000, 1 << 20, 200000},
	    {32768, 1 << 20, 700, 200000},   {0, 100, 100, 50000},
	    {16384, 1000, 60000, 100001},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t up = 0, up_read = 0, down = 0, down_read = 0;
		enum stream_end client_end = STREAM_GOES_ON, server_end = STREAM_GOES_ON;
		struct world w;
		int client, server;

		world_new(&w, ev, "a");
		client = world_client_with(&w, cases[i].buffer);
		server = world_server(&w, 0);
		while (client_end == STREAM_GOES_ON || server_end == STREAM_GOES_ON) {
			CHECK(stream_write(client, &up, cases[i].total));
			CHECK(stream_write(server, &down, cases[i].total));
			if (up == cases[i].total)
				(void) shutdown(client, SHUT_WR);
			if (down == cases[i].total)
				(void) shutdown(server, SHUT_WR);
			ev_run(ev, EVRUN_NOWAIT);
			if (client_end == STREAM_GOES_ON)
				client_end = stream_read(client, &down_read, cases[i].client_step);
			if (server_end == STREAM_GOES_ON)
				server_end = stream_read(server, &up_read, cases[i].server_step);
		}
		CHECK_EQ_INT(client_end, STREAM_ENDED);
		CHECK_EQ_INT(server_end, STREAM_ENDED);
		CHECK_EQ_INT(up_read, cases[i].total);
		CHECK_EQ_INT(down_read, cases[i].total);
		world_expect_connections(&w, 0);
		close_all(client, server);
		world_end(&w);
	}
}

static void test_half_closed(void)
{
	for (int client_first = 0; client_first < 2; client_first++) {
		struct world w;
		int client, server, first, second;

		relayed(&w, "a", &client, &server);
		first = client_first ? client : server;
		second = client_first ? server : client;
		world_say(first, "last words", 10);
		(void) shutdown(first, SHUT_WR);
		expect_bytes(&w, second, "last words", 10);
		expect_end(&w, second);
		expect_no_spin(&w);
		for (int i = 0; i < 3; i++) {
			world_say(second, "still here", 10);
			expect_bytes(&w, first, "still here", 10);
		}
		CHECK_EQ_INT(conns_count(w.conns).connections, 1);
		(void) shutdown(second, SHUT_WR);
		expect_end(&w, first);
		world_expect_connections(&w, 0);
		close_all(client, server);
		world_end(&w);
	}
}

/* Neither of them reads, and both have said all that fits. */
static void test_stuck_both_ways(void)
{
	uint64_t up = 0, down = 0, up_read = 0, down_read = 0;
	struct world w;
	int client, server;

	relayed(&w, "a", &client, &server);
	for (int i = 0; i < 30; i++) {
		CHECK(stream_write(client, &up, 64 << 20));
		CHECK(stream_write(server, &down, 64 << 20));
		turn_once(ev);
	}
	expect_no_spin(&w);
	/* It goes on as if nothing had been. */
	for (int i = 0; i < 500 && (up_read < up || down_read < down); i++) {
		CHECK_EQ_INT(stream_read(client, &down_read, 1 << 20), STREAM_GOES_ON);
		CHECK_EQ_INT(stream_read(server, &up_read, 1 << 20), STREAM_GOES_ON);
		turn_once(ev);
	}
	CHECK_EQ_INT(up_read, up);
	CHECK_EQ_INT(down_read, down);
	expect_no_spin(&w);
	close_all(client, server);
	world_expect_connections(&w, 0);
	world_end(&w);
}

/* --- a side breaks --- */

static void test_a_side_resets(void)
{
	for (int client_does = 0; client_does < 2; client_does++) {
		struct world w;
		int client, server;

		relayed(&w, "aa", &client, &server);
		sockets_reset(client_does ? client : server);
		expect_reset(&w, client_does ? server : client);
		world_expect_connections(&w, 0);
		CHECK_EQ_INT(world_upstream(&w, 1)->counts.connects, 0);
		(void) close(client_does ? server : client);
		world_end(&w);
	}
}

/* It said something, then broke, while the other one reads slowly: all of it arrives first. */
static void test_what_was_said_before_a_reset(void)
{
	static const struct {
		uint64_t bytes;
		int buffer;
	} cases[] = {{1000, 0}, {40000, 8192}, {200000, 65536}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		enum stream_end end = STREAM_GOES_ON;
		uint64_t said = 0, heard = 0;
		struct world w;
		int client, server, unsent = 0;

		world_new(&w, ev, "a");
		client = world_client_with(&w, cases[i].buffer);
		world_say(client, HELLO, HELLO_BYTES);
		server = world_server(&w, 0);
		expect_bytes(&w, server, HELLO, HELLO_BYTES);
		for (int k = 0; k < 1000 && said < cases[i].bytes; k++) {
			CHECK(stream_write(server, &said, cases[i].bytes));
			turn_once(ev);
			if (said < cases[i].bytes)
				CHECK_EQ_INT(stream_read(client, &heard, 1000), STREAM_GOES_ON);
		}
		CHECK_EQ_INT(said, cases[i].bytes);
		/* What is still on the way is lost by a reset. */
		while (ioctl(server, SIOCOUTQ, &unsent) == 0 && unsent > 0) {
			turn_once(ev);
			CHECK_EQ_INT(stream_read(client, &heard, 1000), STREAM_GOES_ON);
		}
		sockets_reset(server);
		for (int k = 0; k < 3000 && end == STREAM_GOES_ON; k++) {
			turn_once(ev);
			end = stream_read(client, &heard, 500);
		}
		/* A reset, or an end where the kernel still had some of it. */
		CHECK(end == STREAM_RESET || end == STREAM_ENDED);
		CHECK_EQ_INT(heard, cases[i].bytes);
		world_expect_connections(&w, 0);
		(void) close(client);
		world_end(&w);
	}
}

/* A server that refuses an upload says why, and closes with most of it unread: a reset. */
static void test_an_early_answer(void)
{
	static const char answer[] = "413, and no more of it please";
	uint64_t sent = 0;
	struct world w;
	int client, server;

	relayed(&w, "a", &client, &server);
	for (int i = 0; i < 30; i++) {
		(void) stream_write(client, &sent, 64 << 20);
		turn_once(ev);
	}
	CHECK(sockets_unread(server) > 0);
	world_say(server, answer, sizeof(answer));
	(void) close(server);
	expect_bytes(&w, client, answer, sizeof(answer));
	expect_reset(&w, client);
	world_expect_connections(&w, 0);
	(void) close(client);
	world_end(&w);
}

/* --- slow ones, and dead ones --- */

#define UPLOAD_BYTES (3 << 20)

struct upload {
	int client, server;
	uint64_t sent, got;
	int64_t ended_ms; /* 0: the client has not seen an end */
};

static void upload_begin(struct world *w, struct upload *u)
{
	*u = (struct upload){.client = world_client(w)};
	world_say(u->client, HELLO, HELLO_BYTES);
	u->server = world_server(w, 0);
	expect_bytes(w, u->server, HELLO, HELLO_BYTES);
	world_say(u->server, "yes", 3);
	expect_bytes(w, u->client, "yes", 3);
}

static void upload_go_on(struct upload *u, uint64_t total, int64_t now_ms)
{
	uint64_t none = 0;

	if (u->ended_ms > 0)
		return;
	(void) stream_write(u->client, &u->sent, total);
	if (stream_read(u->client, &none, 1) != STREAM_GOES_ON)
		u->ended_ms = now_ms;
}

/* An upstream in another namespace, at the other end of a link that can be cut. */
static void far_world(struct world *w)
{
	const struct endpoint far = sockets_endpoint("10.9.0.2:6443");
	int here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), there;
	struct endpoint got;

	if (unshare(CLONE_NEWNET) < 0)
		netns_die("make another namespace");
	there = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	netns_switch(here);
	netns_veth("v0", "02:00:00:00:00:01", there, "v1", "02:00:00:00:00:02");
	netns_run("ip addr add 10.9.0.1/24 dev v0");
	world_begin(w, ev, "r");
	netns_switch(there);
	netns_run("ip addr add 10.9.0.2/24 dev v1");
	(void) close(w->listeners[0]);
	w->listeners[0] = sockets_listen("10.9.0.2", 6443, 8, &got);
	netns_switch(here);
	w->at[0] = far;
	world_open(w, 100);
	close_all(here, there);
}

/*
 * A server that reads nothing for longer than TCP_USER_TIMEOUT, one that reads a little now and
 * then, one that is gone, and one that reads nothing and then is gone: side by side, because it
 * takes its time. Who lives gets every byte; who is gone is given up.
 */
static void test_slow_servers_and_dead_ones(void)
{
	struct upload stopped, slow, dead, slow_and_dead;
	struct world w, far;
	int64_t start_us, ms;
	bool is_cut = false;

	world_new(&w, ev, "a");
	far_world(&far);
	upload_begin(&w, &stopped);
	upload_begin(&w, &slow);
	upload_begin(&far, &dead);
	upload_begin(&far, &slow_and_dead);
	start_us = mono_now_us();
	for (ms = 0; ms < 15000; ms = (mono_now_us() - start_us) / US_PER_MS) {
		upload_go_on(&stopped, UPLOAD_BYTES, ms);
		upload_go_on(&slow, UPLOAD_BYTES, ms);
		upload_go_on(&slow_and_dead, UPLOAD_BYTES, ms);
		upload_go_on(&dead, is_cut ? 100 : 0, ms);
		CHECK_EQ_INT(stream_read(slow.server, &slow.got, 300), STREAM_GOES_ON);
		if (ms > 1600 && !is_cut) {
			netns_run("ip link set v0 down");
			is_cut = true;
		}
		turn_for(ev, 5 * US_PER_MS);
	}
	CHECK_EQ_INT(stopped.ended_ms, 0);
	CHECK_EQ_INT(slow.ended_ms, 0);
	CHECK(slow.got > 100000 && slow.got < UPLOAD_BYTES);
	CHECK(dead.ended_ms > 9000 && dead.ended_ms < 14000);
	CHECK(slow_and_dead.ended_ms > 9000 && slow_and_dead.ended_ms < 15000);
	for (int i = 0; i < 5000 && (stopped.got < UPLOAD_BYTES || slow.got < UPLOAD_BYTES); i++) {
		upload_go_on(&stopped, UPLOAD_BYTES, ms);
		upload_go_on(&slow, UPLOAD_BYTES, ms);
		(void) stream_read(stopped.server, &stopped.got, 1 << 20);
		(void) stream_read(slow.server, &slow.got, 1 << 20);
		turn_once(ev);
	}
	CHECK_EQ_INT(stopped.got, UPLOAD_BYTES);
	CHECK_EQ_INT(slow.got, UPLOAD_BYTES);
	close_all(stopped.client, stopped.server);
	close_all(slow.client, slow.server);
	close_all(dead.client, dead.server);
	close_all(slow_and_dead.client, slow_and_dead.server);
	world_end(&w);
	world_end(&far);
	netns_run("ip link del v0");
}

int main(void)
{
	static const patient_fn tests[] = {
	    test_slow_servers_and_dead_ones, /* the longest */
	    test_its_size,
	    test_both_ways,
	    test_bulk_both_ways,
	    test_half_closed,
	    test_stuck_both_ways,
	    test_a_side_resets,
	    test_what_was_said_before_a_reset,
	    test_an_early_answer,
	};

	conn_test(tests, ARRAY_SIZE(tests));
	return check_result();
}
