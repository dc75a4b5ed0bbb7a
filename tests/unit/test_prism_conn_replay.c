/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An upstream that is silent or cut off before its first byte: what the client said goes to the
 * next one, to the letter, as long as none has answered; and the silent one may answer after all.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "tests/unit/connworld.h"

/* --- replay --- */

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

/* --- silent ones --- */

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

int main(void)
{
	static const patient_fn tests[] = {
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
	};

	conn_test(tests, ARRAY_SIZE(tests));
	return check_result();
}
