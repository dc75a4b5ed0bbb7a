/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One client's connection, against clients and servers that do everything at the wrong moment. The
 * upstreams are tried in their order: one that is silent is left after 200 ms.
 */
#include "prism/conn.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>

#include <linux/sockios.h>

#include "base/mem.h"
#include "tests/unit/netns.h"
#include "tests/unit/patient.h"
#include "tests/unit/relayworld.h"

#define REPLAY_MS 200
#define PLAIN "nothing that is TLS\n"

static struct ev_loop *ev;

static void close_all(int a, int b)
{
	if (a >= 0)
		(void) close(a);
	if (b >= 0)
		(void) close(b);
}

/* A client whose upstream has answered. */
static void relayed(struct world *w, const char *kinds, int *ret_client, int *ret_server)
{
	world_new(w, ev, kinds);
	*ret_client = world_client(w);
	world_say(*ret_client, HELLO, HELLO_BYTES);
	*ret_server = world_server(w, 0);
	expect_bytes(w, *ret_server, HELLO, HELLO_BYTES);
	world_say(*ret_server, "yes", 3);
	expect_bytes(w, *ret_client, "yes", 3);
}

static void test_its_size(void)
{
	/* What an idle connection costs, with what malloc(3) adds. */
	CHECK(sizeof(struct conn) <= 256);
}

/* --- relaying ----------------------------------------------------------------------------------
 */

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

/* --- a side breaks -----------------------------------------------------------------------------
 */

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

/* --- slow ones, and dead ones -------------------------------------------------------------------
 */

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

/* --- replay ------------------------------------------------------------------------------------
 */

static void expect_moved_on(struct world *w, int client, int first, const char *said, size_t len)
{
	int second = world_server(w, 1);

	expect_bytes(w, second, said, len);
	world_say(second, "from the second", 15);
	expect_bytes(w, client, "from the second", 15);
	if (first >= 0)
		expect_reset(w, first);
	CHECK_EQ_INT(world_upstream(w, 0)->counts.replays, 1);
	world_say(client, "go on", 5);
	expect_bytes(w, second, "go on", 5);
	close_all(client, second);
	world_expect_connections(w, 0);
	world_end(w);
}

static void test_replay_after_silence(void)
{
	struct world w;
	int client, first;
	int64_t end_us;
	ev_tstamp start;

	world_new(&w, ev, "aa");
	end_us = mono_now_us() + 2 * US_PER_S;
	/* Its timers count by the loop's time, which stands still within a turn. */
	start = ev_now(ev);
	client = world_client(&w);
	world_say(client, HELLO, HELLO_BYTES);
	first = world_server(&w, 0);
	expect_bytes(&w, first, HELLO, HELLO_BYTES);
	while (world_upstream(&w, 1)->counts.connects == 0 && mono_now_us() < end_us)
		turn_once(ev);
	CHECK(ev_now(ev) - start >= (REPLAY_MS - 5) / 1000.);
	CHECK_EQ_INT(world_upstream(&w, 0)->judge.state, JUDGE_HUNG);
	expect_moved_on(&w, client, first, HELLO, HELLO_BYTES);
	(void) close(first);
}

static void test_replay_after_a_cut(void)
{
	for (int reset = 0; reset < 2; reset++) {
		struct world w;
		int client, first;

		world_new(&w, ev, "aa");
		client = world_client(&w);
		world_say(client, HELLO, HELLO_BYTES);
		first = world_server(&w, 0);
		expect_bytes(&w, first, HELLO, HELLO_BYTES);
		if (reset)
			sockets_reset(first);
		else
			(void) close(first);
		/* At once. */
		turn_for(ev, 30 * US_PER_MS);
		CHECK_EQ_INT(world_upstream(&w, 1)->connections, 1);
		expect_moved_on(&w, client, -1, HELLO, HELLO_BYTES);
	}
}

/* Whatever the bytes are, and however they come. */
static void test_replay_is_byte_exact(void)
{
	static const size_t lens[] = {1, 517, 2047, 2048, 2049, 5000, 16383};

	for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
		AUTO(free) char *bytes = xcalloc(1, lens[i]);
		struct world w;
		int client, first;

		for (size_t k = 0; k < lens[i]; k++)
			bytes[k] = (char) stream_byte(k);
		world_new(&w, ev, "aa");
		client = world_client(&w);
		first = world_server(&w, 0);
		/* In pieces, each read by itself. */
		for (size_t at = 0; at < lens[i];) {
			size_t len = MIN(at == 0 ? (size_t) 1 : (size_t) 1000, lens[i] - at);

			world_say(client, bytes + at, len);
			expect_bytes(&w, first, bytes + at, len);
			at += len;
		}
		sockets_reset(first);
		expect_moved_on(&w, client, -1, bytes, lens[i]);
	}
}

static void test_more_than_is_held_is_not_replayed(void)
{
	static const size_t lens[] = {16384, 16385, 60000};

	for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
		AUTO(free) char *bytes = xcalloc(1, lens[i]);
		struct world w;
		int client, first;

		for (size_t k = 0; k < lens[i]; k++)
			bytes[k] = (char) stream_byte(k);
		world_new(&w, ev, "aa");
		client = world_client(&w);
		world_say(client, bytes, lens[i]);
		first = world_server(&w, 0);
		expect_bytes(&w, first, bytes, lens[i]);
		/* Neither after silence nor after a cut. */
		CHECK_EQ_INT(world_server_within(&w, 1, (REPLAY_MS + 50) * US_PER_MS), -1);
		sockets_reset(first);
		expect_reset(&w, client);
		CHECK_EQ_INT(world_server_within(&w, 1, 30 * US_PER_MS), -1);
		(void) close(client);
		world_end(&w);
	}
}

static void test_never_after_one_byte(void)
{
	for (int reset = 0; reset < 2; reset++) {
		struct world w;
		int client, first;

		world_new(&w, ev, "aa");
		client = world_client(&w);
		world_say(client, HELLO, HELLO_BYTES);
		first = world_server(&w, 0);
		expect_bytes(&w, first, HELLO, HELLO_BYTES);
		world_say(first, "x", 1);
		expect_bytes(&w, client, "x", 1);
		CHECK_EQ_INT(world_server_within(&w, 1, (REPLAY_MS + 50) * US_PER_MS), -1);
		if (reset)
			sockets_reset(first);
		else
			(void) close(first);
		if (reset)
			expect_reset(&w, client);
		else
			expect_end(&w, client);
		CHECK_EQ_INT(world_server_within(&w, 1, 30 * US_PER_MS), -1);
		(void) close(client);
		world_end(&w);
	}
}

static void test_replay_off(void)
{
	struct world w;
	int client, first;

	world_begin(&w, ev, "aa");
	w.config.connect.replay_us = 0;
	world_open(&w, 100);
	client = world_client(&w);
	world_say(client, HELLO, HELLO_BYTES);
	first = world_server(&w, 0);
	expect_bytes(&w, first, HELLO, HELLO_BYTES);
	(void) close(first);
	expect_end(&w, client);
	CHECK_EQ_INT(world_server_within(&w, 1, 30 * US_PER_MS), -1);
	(void) close(client);
	world_end(&w);
}

/* --- silent ones -------------------------------------------------------------------------------
 */

/* The silent one answers while the second one is silent as well: the first to answer has it. */
static void test_the_silent_one_answers_after_all(void)
{
	struct world w;
	int client, first, second;

	world_new(&w, ev, "aa");
	client = world_client(&w);
	world_say(client, HELLO, HELLO_BYTES);
	first = world_server(&w, 0);
	second = world_server(&w, 1);
	expect_bytes(&w, second, HELLO, HELLO_BYTES);
	expect_bytes(&w, first, HELLO, HELLO_BYTES);
	expect_nothing(&w, first);
	world_say(first, "at last", 7);
	expect_bytes(&w, client, "at last", 7);
	expect_reset(&w, second);
	world_say(client, "go on", 5);
	expect_bytes(&w, first, "go on", 5);
	close_all(first, second);
	(void) close(client);
	world_end(&w);
}

/* The others are not even there: it is not given up. */
static void test_none_but_the_silent_one(void)
{
	static const char *const kinds[] = {"ar", "arr", "ab", "a"};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct world w;
		int client, first;

		world_new(&w, ev, kinds[i]);
		client = world_client(&w);
		world_say(client, HELLO, HELLO_BYTES);
		first = world_server(&w, 0);
		expect_bytes(&w, first, HELLO, HELLO_BYTES);
		turn_for(ev, (REPLAY_MS + 1100) * US_PER_MS);
		/* A busy machine looks later. */
		for (int i_ms = 0; i_ms < 5000 && conns_count(w.conns).dialling > 0; i_ms += 20)
			turn_for(ev, 20 * US_PER_MS);
		CHECK_EQ_INT(conns_count(w.conns).dialling, 0);
		world_say(client, "more", 4);
		expect_bytes(&w, first, "more", 4);
		world_say(first, "late", 4);
		expect_bytes(&w, client, "late", 4);
		CHECK_EQ_INT(conns_count(w.conns).failed, 0);
		close_all(client, first);
		world_end(&w);
	}
}

/* It answers while another is still dialled. */
static void test_answers_while_another_is_dialled(void)
{
	struct world w;
	int client, first;

	world_new(&w, ev, "ab");
	client = world_client(&w);
	world_say(client, HELLO, HELLO_BYTES);
	first = world_server(&w, 0);
	expect_bytes(&w, first, HELLO, HELLO_BYTES);
	turn_for(ev, (REPLAY_MS + 30) * US_PER_MS);
	CHECK_EQ_INT(conns_count(w.conns).dialling, 1);
	/* What the client says meanwhile waits for whoever answers. */
	world_say(client, "more", 4);
	expect_no_spin(&w);
	world_say(first, "late", 4);
	expect_bytes(&w, client, "late", 4);
	expect_bytes(&w, first, "more", 4);
	CHECK_EQ_INT(conns_count(w.conns).dialling, 0);
	CHECK_EQ_INT(world_upstream(&w, 1)->connections, 0);
	close_all(client, first);
	world_end(&w);
}

/* Three of them, silent one after the other; then each breaks. */
static void test_all_are_silent(void)
{
	struct world w;
	int client, first, second, third;

	world_new(&w, ev, "aaa");
	client = world_client(&w);
	world_say(client, HELLO, HELLO_BYTES);
	first = world_server(&w, 0);
	second = world_server(&w, 1);
	third = world_server(&w, 2);
	expect_bytes(&w, third, HELLO, HELLO_BYTES);
	/* Two are waited for at a time: the oldest and the youngest. */
	expect_bytes(&w, second, HELLO, HELLO_BYTES);
	expect_reset(&w, second);
	expect_bytes(&w, first, HELLO, HELLO_BYTES);
	expect_nothing(&w, first);
	sockets_reset(third);
	expect_nothing(&w, client);
	CHECK_EQ_INT(conns_count(w.conns).connections, 1);
	sockets_reset(first);
	expect_reset(&w, client);
	world_expect_connections(&w, 0);
	for (size_t i = 0; i < 2; i++)
		CHECK_EQ_INT(world_upstream(&w, i)->judge.state, JUDGE_HUNG);
	close_all(client, second);
	world_end(&w);
}

/* The silent one goes away while the second one is waited for. */
static void test_the_silent_one_goes(void)
{
	struct world w;
	int client, first, second;

	world_new(&w, ev, "aa");
	client = world_client(&w);
	world_say(client, HELLO, HELLO_BYTES);
	first = world_server(&w, 0);
	second = world_server(&w, 1);
	sockets_reset(first);
	turn_for(ev, 20 * US_PER_MS);
	CHECK_EQ_INT(world_upstream(&w, 0)->connections, 0);
	expect_bytes(&w, second, HELLO, HELLO_BYTES);
	world_say(second, "yes", 3);
	expect_bytes(&w, client, "yes", 3);
	close_all(client, second);
	world_end(&w);
}

/* --- what clients show is believed only when it proves something -------------------------------
 */

static void test_evidence(void)
{
	static const struct {
		const char *said;
		size_t len;
		bool ends;   /* the client, behind that */
		bool closes; /* the server; else it is silent */
		enum judge_state want;
	} cases[] = {
	    {HELLO, HELLO_BYTES, false, false, JUDGE_HUNG},
	    {HELLO, HELLO_BYTES, false, true, JUDGE_DOWN},
	    /* Half of it, or nothing that a TLS server knows. */
	    {HELLO, 1, false, false, JUDGE_UNKNOWN},
	    {HELLO, HELLO_BYTES - 1, false, false, JUDGE_UNKNOWN},
	    {HELLO, HELLO_BYTES - 1, false, true, JUDGE_UNKNOWN},
	    {PLAIN, sizeof(PLAIN) - 1, false, false, JUDGE_UNKNOWN},
	    {PLAIN, sizeof(PLAIN) - 1, false, true, JUDGE_UNKNOWN},
	    {"", 0, false, true, JUDGE_UNKNOWN},
	    /* Who has gone already need not be answered. */
	    {HELLO, HELLO_BYTES, true, false, JUDGE_UNKNOWN},
	    {HELLO, HELLO_BYTES, true, true, JUDGE_UNKNOWN},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct world w;
		bool good = true;

		world_new(&w, ev, "a");
		/* A cut counts when it is the second one in a row. */
		for (int k = 0; k < 2; k++) {
			int client = world_client(&w);
			int server;

			world_say(client, cases[i].said, cases[i].len);
			if (cases[i].ends)
				(void) shutdown(client, SHUT_WR);
			server = world_server(&w, 0);
			good = expect_bytes(&w, server, cases[i].said, cases[i].len) && good;
			if (cases[i].closes)
				(void) close(TAKE_FD(server));
			else
				turn_for(ev, (REPLAY_MS + 50) * US_PER_MS);
			turn_for(ev, 20 * US_PER_MS);
			close_all(client, server);
			world_expect_connections(&w, 0);
		}
		good = CHECK_EQ_INT(world_upstream(&w, 0)->judge.state, cases[i].want) && good;
		if (!good)
			(void) fprintf(stderr, "  case %zu\n", i);
		world_end(&w);
	}
}

/* A server need not answer half a hello, so nobody is asked in its place. What is no TLS at all may
 * be complete whenever it pauses. */
static void test_half_a_word(void)
{
	static const struct {
		const char *said;
		size_t len;
		bool moves_on;
	} cases[] = {{HELLO, HELLO_BYTES - 1, false}, {PLAIN, sizeof(PLAIN) - 1, true}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct world w;
		int client, first, second;

		world_new(&w, ev, "aa");
		client = world_client(&w);
		world_say(client, cases[i].said, cases[i].len);
		first = world_server(&w, 0);
		second = world_server_within(&w, 1, (REPLAY_MS + 50) * US_PER_MS);
		CHECK_EQ_INT(second >= 0, cases[i].moves_on);
		expect_no_spin(&w);
		close_all(first, second);
		(void) close(client);
		world_end(&w);
	}
}

/* Nobody but us was late. */
static void test_a_pause_is_no_silence(void)
{
	struct world w;
	int client, first;

	world_new(&w, ev, "aa");
	client = world_client(&w);
	world_say(client, HELLO, HELLO_BYTES);
	first = world_server(&w, 0);
	expect_bytes(&w, first, HELLO, HELLO_BYTES);
	(void) poll(NULL, 0, REPLAY_MS + 300);
	turn_for(ev, (REPLAY_MS - 60) * US_PER_MS);
	CHECK_EQ_INT(world_upstream(&w, 0)->judge.state, JUDGE_UNKNOWN);
	CHECK_EQ_INT(world_upstream(&w, 1)->connections, 0);
	/* An answer that is there when the time is up counts before it. */
	world_say(first, "yes", 3);
	(void) poll(NULL, 0, 80);
	expect_bytes(&w, client, "yes", 3);
	CHECK_EQ_INT(world_upstream(&w, 0)->judge.state, JUDGE_UNKNOWN);
	CHECK_EQ_INT(world_upstream(&w, 1)->counts.connects, 0);
	close_all(client, first);
	world_end(&w);
}

/* --- clients that say little, or end -----------------------------------------------------------
 */

/* The server may speak first, and be left alone when nobody has asked it anything. */
static void test_a_quiet_client(void)
{
	struct world w;
	int client, server;

	world_new(&w, ev, "aa");
	client = world_client(&w);
	server = world_server(&w, 0);
	turn_for(ev, (REPLAY_MS + 100) * US_PER_MS);
	CHECK_EQ_INT(world_upstream(&w, 1)->counts.connects, 0);
	world_say(server, "220 welcome", 11);
	expect_bytes(&w, client, "220 welcome", 11);
	close_all(client, server);
	world_end(&w);
}

/* The client had not even spoken: it need not see that. */
static void test_closed_before_a_word(void)
{
	for (int reset = 0; reset < 2; reset++) {
		struct world w;
		int client, first, second;

		world_new(&w, ev, "aa");
		client = world_client(&w);
		first = world_server(&w, 0);
		if (reset)
			sockets_reset(first);
		else
			(void) close(first);
		second = world_server(&w, 1);
		world_say(client, HELLO, HELLO_BYTES);
		expect_bytes(&w, second, HELLO, HELLO_BYTES);
		(void) close(second);
		/* None is left: it sees what the last one did. */
		expect_end(&w, client);
		(void) close(client);
		world_end(&w);
	}
}

/* A check that a port is open. */
static void test_comes_and_goes(void)
{
	struct world w;
	int client, server;

	world_new(&w, ev, "aa");
	client = world_client(&w);
	(void) shutdown(client, SHUT_WR);
	server = world_server(&w, 0);
	expect_end(&w, server);
	(void) close(server);
	expect_end(&w, client);
	world_expect_connections(&w, 0);
	CHECK_EQ_INT(world_upstream(&w, 1)->counts.connects, 0);
	(void) close(client);

	/* Or gone before anything was there. */
	client = world_client(&w);
	sockets_reset(client);
	world_expect_connections(&w, 0);
	world_end(&w);
}

/* What it said and that it ended go to the second one as well. */
static void test_an_end_is_replayed(void)
{
	struct world w;
	int client, first, second;

	world_new(&w, ev, "aa");
	client = world_client(&w);
	world_say(client, HELLO, HELLO_BYTES);
	(void) shutdown(client, SHUT_WR);
	first = world_server(&w, 0);
	expect_bytes(&w, first, HELLO, HELLO_BYTES);
	expect_end(&w, first);
	(void) close(first);
	second = world_server(&w, 1);
	expect_bytes(&w, second, HELLO, HELLO_BYTES);
	expect_end(&w, second);
	world_say(second, "good bye", 8);
	(void) close(second);
	expect_bytes(&w, client, "good bye", 8);
	expect_end(&w, client);
	world_expect_connections(&w, 0);
	(void) close(client);
	world_end(&w);
}

/* The server takes little, answers, and the client has ended: the rest and the end still go there.
 */
static void test_an_end_behind_what_was_not_taken(void)
{
	AUTO(free) char *bytes = xcalloc(1, 16000);
	struct world w;
	int client, server;

	for (size_t k = 0; k < 16000; k++)
		bytes[k] = (char) stream_byte(k);
	world_new(&w, ev, "a");
	sockets_set(w.listeners[0], SOL_SOCKET, SO_RCVBUF, 2048);
	/* Grown sockets would take it all. */
	netns_sysctl("/proc/sys/net/ipv4/tcp_wmem", "4096 4096 4096");
	client = world_client(&w);
	for (size_t at = 0; at < 16000; at += 1000) {
		world_say(client, bytes + at, 1000);
		turn_for(ev, 2 * US_PER_MS);
	}
	(void) shutdown(client, SHUT_WR);
	turn_for(ev, 20 * US_PER_MS);
	server = world_server(&w, 0);
	CHECK(conns_count(w.conns).bytes_up == 0 && sockets_unread(server) < 12000);
	world_say(server, "yes", 3);
	expect_bytes(&w, client, "yes", 3);
	expect_bytes(&w, server, bytes, 16000);
	netns_sysctl("/proc/sys/net/ipv4/tcp_wmem", "4096 16384 4194304");
	expect_end(&w, server);
	close_all(client, server);
	world_expect_connections(&w, 0);
	world_end(&w);
}

/* All of it said before there is an upstream. */
static void test_all_said_while_dialling(void)
{
	struct world w;
	int client, server;

	world_new(&w, ev, "ba");
	client = world_client(&w);
	world_say(client, HELLO, HELLO_BYTES);
	(void) shutdown(client, SHUT_WR);
	turn_for(ev, 20 * US_PER_MS);
	CHECK_EQ_INT(conns_count(w.conns).dialling, 1);
	server = world_server(&w, 1);
	expect_bytes(&w, server, HELLO, HELLO_BYTES);
	expect_end(&w, server);
	world_say(server, "answer", 6);
	(void) shutdown(server, SHUT_WR);
	expect_bytes(&w, client, "answer", 6);
	expect_end(&w, client);
	world_expect_connections(&w, 0);
	close_all(client, server);
	world_end(&w);
}

static void test_a_reset_in_each_state(void)
{
	static const char *const states[] = {"dialling", "waiting", "waiting with an end", "moving on",
	                                     "waiting for two"};

	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		int first = -1, second = -1, client;
		struct world w;

		world_new(&w, ev, i == 0 ? "ba" : i == 3 ? "aba" : "aa");
		client = world_client(&w);
		if (i > 0) {
			world_say(client, HELLO, HELLO_BYTES);
			first = world_server(&w, 0);
			expect_bytes(&w, first, HELLO, HELLO_BYTES);
		}
		if (i == 2) {
			(void) shutdown(client, SHUT_WR);
			expect_end(&w, first);
			expect_no_spin(&w);
		}
		if (i == 3)
			turn_for(ev, (REPLAY_MS + 30) * US_PER_MS);
		if (i == 4)
			second = world_server(&w, 1);
		sockets_reset(client);
		/* One that has ended and is reset shows only when it is written to. */
		if (i == 2)
			world_say(first, "hello?", 6);
		world_expect_connections(&w, 0);
		if (!CHECK_EQ_INT(conns_count(w.conns).dialling, 0))
			(void) fprintf(stderr, "  state %s\n", states[i]);
		if (first >= 0 && i != 2)
			expect_reset(&w, first);
		close_all(first, second);
		world_end(&w);
	}
}

/* --- no upstream -------------------------------------------------------------------------------
 */

static void test_nobody_is_there(void)
{
	static const char *const kinds[] = {"", "r", "rrr", "b"};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct world w;
		int client;

		world_new(&w, ev, kinds[i]);
		client = world_client(&w);
		world_say(client, HELLO, HELLO_BYTES);
		CHECK_EQ_INT(conns_count(w.conns).dialling, 1);
		expect_reset(&w, client);
		CHECK_EQ_INT(conns_count(w.conns).failed, 1);
		CHECK_EQ_INT(conns_count(w.conns).dialling, 0);
		world_expect_connections(&w, 0);
		(void) close(client);
		world_end(&w);
	}
}

/* --- an opening by itself ----------------------------------------------------------------------
 */

struct outcome {
	unsigned n;
	struct opening_result result;
	bool rest_is_right;
};

static void opened_cb(const struct opening_result *result, void *userdata)
{
	struct outcome *o = userdata;

	o->n++;
	o->result = *result;
	o->rest_is_right = true;
	for (size_t i = 0; i < result->rest_len; i++) {
		if ((uint8_t) result->rest[i] != stream_byte(result->sent + i))
			o->rest_is_right = false;
	}
}

/* Where too much is held already, who says much has the upstream that it has. */
static void test_too_much_is_held(void)
{
	static const size_t helds[] = {0, 64 * 1024 * 1024};

	for (size_t i = 0; i < ARRAY_SIZE(helds); i++) {
		char buffer[FLOW_BUFFER_BYTES];
		struct outcome outcome = {.n = 0};
		struct conn_host host = {.ev = ev, .room = {.buffer = buffer, .held = helds[i]}};
		struct opening *opening;
		uint64_t sent = 0, got = 0;
		int fds[2], server;
		struct world w;

		world_new(&w, ev, "a");
		host.config = &w.config;
		host.upstreams = w.upstreams;
		sockets_pair(fds, 0);
		opening = opening_new(&host, fds[1], NULL, 0, opened_cb, &outcome);
		CHECK_EQ_INT(host.counts.dialling, 1);
		server = world_server(&w, 0);
		CHECK(stream_write(fds[0], &sent, 9000));
		for (int k = 0; k < 100 && got < 9000 && outcome.n == 0; k++) {
			turn_once(ev);
			CHECK_EQ_INT(stream_read(server, &got, 9000), STREAM_GOES_ON);
		}
		if (helds[i] == 0) {
			CHECK_EQ_INT(outcome.n, 0);
			CHECK_EQ_INT(got, 9000);
			CHECK_EQ_INT(host.room.held, 16384);
		} else {
			CHECK_EQ_INT(outcome.n, 1);
			CHECK_EQ_INT(outcome.result.outcome, OPENING_RELAY);
			CHECK_EQ_INT(outcome.result.sent + outcome.result.rest_len, 2048);
			CHECK(outcome.rest_is_right);
			CHECK(got <= 2048);
			(void) close(outcome.result.fd);
			upstreams_release(w.upstreams, outcome.result.upstream);
		}
		opening_free(opening);
		CHECK_EQ_INT(host.room.held, helds[i]);
		CHECK_EQ_INT(host.counts.dialling, 0);
		close_all(fds[0], fds[1]);
		(void) close(server);
		world_end(&w);
	}
}

static size_t count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	while (readdir(dir) != NULL)
		n++;
	(void) closedir(dir);
	return n;
}

static size_t fds;

static void prepare(void)
{
	(void) netns_enter_new();
	(void) signal(SIGPIPE, SIG_IGN);
	ev = ev_loop_new(EVFLAG_AUTO);
	turn_once(ev);
	fds = count_fds();
}

static void clean_up(void)
{
	CHECK_EQ_INT(count_fds(), fds);
	ev_loop_destroy(ev);
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
	    test_replay_after_silence,
	    test_replay_after_a_cut,
	    test_replay_is_byte_exact,
	    test_more_than_is_held_is_not_replayed,
	    test_never_after_one_byte,
	    test_replay_off,
	    test_the_silent_one_answers_after_all,
	    test_none_but_the_silent_one,
	    test_answers_while_another_is_dialled,
	    test_all_are_silent,
	    test_the_silent_one_goes,
	    test_evidence,
	    test_half_a_word,
	    test_a_pause_is_no_silence,
	    test_a_quiet_client,
	    test_closed_before_a_word,
	    test_comes_and_goes,
	    test_an_end_is_replayed,
	    test_an_end_behind_what_was_not_taken,
	    test_all_said_while_dialling,
	    test_a_reset_in_each_state,
	    test_nobody_is_there,
	    test_too_much_is_held,
	};

	patiently(&(struct patient){.prepare = prepare, .finish = clean_up}, 3, tests,
	          ARRAY_SIZE(tests));
	return check_result();
}
