/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients that do everything at the wrong moment: what they say that proves nothing of an upstream,
 * say late or not at all, and how they end in each state; and an opening by itself.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "tests/unit/connworld.h"

/* --- what clients show is believed only when it proves something --- */

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

/* --- clients that say little, or end --- */

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

/* --- no upstream --- */

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

/* --- an opening by itself --- */

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

int main(void)
{
	static const patient_fn tests[] = {
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

	conn_test(tests, ARRAY_SIZE(tests));
	return check_result();
}
