/* SPDX-License-Identifier: Apache-2.0 */
/* Watches against scripted servers: whole revisions, each once and in order, whatever the stream
 * does. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "check.h"
#include "etcd/etcd.h"
#include "etcdtest/server.h"
#include "etcdtest/sync.h"
#include "patient.h"
#include "turn.h"

static struct ev_loop *ev;
static struct server *servers[2];
static struct etcd *etcd;
static struct etcd_watch *watch;
static struct watched w;

static void begin_as(size_t n, const char *user)
{
	const char *urls[2];
	struct etcd_options options = {
	    .endpoints = urls, .n_endpoints = n, .user = user, .password = user};
	char error[ETCD_ERROR_TEXT_MAX];

	w = (struct watched){0};
	for (size_t i = 0; i < n; i++) {
		servers[i] = server_new(ev, (unsigned) i, 0);
		if (user != NULL)
			server_set_token(servers[i], "first");
		urls[i] = server_url(servers[i]);
	}
	CHECK_EQ_INT(etcd_new(ev, &options, error, &etcd), 0);
	(void) sync_run(ev, 80, NULL, 0);
	CHECK_EQ_INT(etcd_watch_new(etcd, ETCD_STR("a/"), true, 10, &watched_callbacks, &w, &watch), 0);
	CHECK_EQ_INT(w.n_calls, 0);
}

static void begin(size_t n)
{
	begin_as(n, NULL);
	CHECK(sync_until(ev, &w.n_live, 1));
}

static void end(void)
{
	etcd_watch_free(TAKE_PTR(watch));
	etcd_free(TAKE_PTR(etcd));
	for (size_t i = 0; i < ARRAY_SIZE(servers); i++)
		server_free(TAKE_PTR(servers[i]));
}

/* The log since the last look. What is to be in it may be on its way. */
static void check_log(const char *want, int line)
{
	(void) TURN_UNTIL(ev, strlen(w.log) >= strlen(want));
	if (strcmp(w.log, want) != 0) {
		(void) fprintf(stderr, "line %d:\n  '%s', want\n  '%s'\n", line, w.log, want);
		check_failures++;
	}
	w.log[0] = '\0';
}
#define CHECK_LOG(want) check_log(want, __LINE__)

static void settle_down(void)
{
	(void) sync_run(ev, 60, NULL, 0);
}

static void test_events(void)
{
	begin(1);
	CHECK_EQ_INT(server_watch(servers[0])->start_revision, 10);
	CHECK(server_watch(servers[0])->fragment);
	CHECK(server_last_has_leader(servers[0]));
	server_send_events(servers[0], "P12:a/1=x P12:a/2=y D13:a/1", false);
	server_send_events(servers[0], "P15:a/3=z", false);
	CHECK(sync_until(ev, &w.n_events, 4));
	CHECK_LOG("+P12:a/1=x P12:a/2=y D13:a/1 |P15:a/3=z |");
	CHECK_EQ_INT(w.last_revision, 15);
	/* What is older than asked for, or was seen, is dropped. */
	server_send_events(servers[0], "P9:a/1=x P15:a/3=z P16:a/4=q", false);
	CHECK(sync_until(ev, &w.n_events, 5));
	CHECK_LOG("P16:a/4=q |");
	end();
}

static void test_fragments(void)
{
	begin(1);
	/* 20 is whole as soon as 21 begins; 21 waits for its end. */
	server_send_events(servers[0], "P20:a/1=x P21:a/2=y", true);
	settle_down();
	CHECK_LOG("+P20:a/1=x |");
	CHECK_EQ_INT(w.last_revision, 20);
	server_send_events(servers[0], "P21:a/3=z", true);
	settle_down();
	CHECK_LOG("");
	server_send_events(servers[0], "P21:a/4=q P22:a/5=r", false);
	settle_down();
	CHECK_LOG("P21:a/2=y P21:a/3=z P21:a/4=q P22:a/5=r |");

	/* The stream breaks in the middle: the held part comes again, once. */
	server_send_events(servers[0], "P30:a/1=x P31:a/2=y", true);
	settle_down();
	CHECK_LOG("P30:a/1=x |");
	server_end_stream(servers[0], GRPC_STATUS_UNAVAILABLE, "bye");
	CHECK(sync_until(ev, &w.n_live, 2));
	CHECK_LOG("-+");
	CHECK_EQ_INT(server_watch(servers[0])->start_revision, 30);
	server_send_events(servers[0], "P30:a/1=x P31:a/2=y P31:a/3=z", false);
	settle_down();
	CHECK_LOG("P31:a/2=y P31:a/3=z |");
	end();
}

static void test_moves_when_the_stream_ends(void)
{
	begin(2);
	server_send_events(servers[0], "P12:a/1=x", false);
	settle_down();
	server_end_stream(servers[0], GRPC_STATUS_UNAVAILABLE, "etcdserver: no leader");
	CHECK(sync_until(ev, &w.n_live, 2));
	CHECK_LOG("+P12:a/1=x |-+");
	CHECK_EQ_INT(server_watch(servers[1])->n_open, 1);
	/* One early, so that a compaction at 13 cannot swallow a delete at 13. */
	CHECK_EQ_INT(server_watch(servers[1])->start_revision, 12);
	server_send_events(servers[1], "P12:a/1=x P14:a/1=y", false);
	settle_down();
	CHECK_LOG("P14:a/1=y |");
	end();
}

/* An answer to the progress request is a sign of life and nothing more. */
static void test_silence(void)
{
	int64_t before;

	begin(2);
	CHECK(!sync_run(ev, 2200, &w.n_lost, 1));
	CHECK_EQ_INT(server_watch(servers[0])->n_progress, 1);
	server_watch(servers[0])->mute_progress = true;
	before = mono_now_us();
	CHECK(sync_until(ev, &w.n_lost, 1));
	/* The next request, and two seconds for its answer. */
	CHECK(mono_now_us() - before >= 3500 * US_PER_MS);
	CHECK(mono_now_us() - before <= 4500 * US_PER_MS);
	CHECK(sync_until(ev, &w.n_live, 2));
	(void) TURN_UNTIL(ev, server_watch(servers[0])->n_open == 0);
	CHECK_EQ_INT(server_watch(servers[1])->n_open, 1);
	CHECK_EQ_INT(server_watch(servers[0])->n_open, 0);
	/* The header of a progress answer said 42; what was missed is still asked for. */
	CHECK_EQ_INT(server_watch(servers[1])->start_revision, 9);
	end();
}

/* Whoever is at the fragments of a large revision may be busy with the next one. */
static void test_silence_between_fragments(void)
{
	begin(1);
	server_send_events(servers[0], "P20:a/1=x", true);
	CHECK(TURN_UNTIL(ev, server_watch(servers[0])->n_progress == 1));
	server_watch(servers[0])->mute_progress = true;
	/* One request without an answer, for longer than the two seconds that are allowed otherwise. */
	CHECK(TURN_UNTIL(ev, server_watch(servers[0])->n_progress == 2));
	CHECK(!sync_run(ev, 3000, &w.n_lost, 1));
	server_send_events(servers[0], "P20:a/2=y", false);
	CHECK(sync_until(ev, &w.n_events, 2));
	CHECK_LOG("+P20:a/1=x P20:a/2=y |");
	CHECK(sync_until(ev, &w.n_lost, 1));
	end();
}

static void test_patience(void)
{
	begin(1);
	etcd_watch_be_patient(watch, 4 * US_PER_S);
	server_watch(servers[0])->mute_progress = true;
	CHECK(TURN_UNTIL(ev, server_watch(servers[0])->n_progress == 1));
	CHECK(!sync_run(ev, 3000, &w.n_lost, 1));
	CHECK(sync_until(ev, &w.n_lost, 1));
	CHECK_EQ_INT(server_watch(servers[0])->n_progress, 1);
	end();
}

static void too_large_cb(int64_t revision, void *userdata)
{
	*(int64_t *) userdata = revision;
}

/* In whole mebibytes of one key after the other, all of revision 30. */
static void send_too_much(struct server *server)
{
	AUTO(free) char *text = xcalloc(1, (1 << 20) + 16);

	(void) snprintf(text, 16, "P30:a/1=");
	memset(text + strlen(text), 'x', 1 << 20);
	for (int i = 0; i <= 64; i++)
		server_send_events(server, text, true);
}

/* It is said which revision cannot be had; or, to who does not want to know, that it is gone. */
static void test_too_large(void)
{
	struct etcd_watch_callbacks callbacks = watched_callbacks;
	int64_t revision = 0;

	begin(1);
	send_too_much(servers[0]);
	CHECK(sync_until(ev, &w.n_compacted, 1));
	CHECK_LOG("+C10 ");
	etcd_watch_free(TAKE_PTR(watch));
	callbacks.too_large = too_large_cb;
	callbacks.events = NULL;
	callbacks.compacted = NULL;
	callbacks.live = NULL;
	CHECK_EQ_INT(etcd_watch_new(etcd, ETCD_STR("a/"), true, 10, &callbacks, &revision, &watch), 0);
	CHECK(sync_until(ev, &server_watch(servers[0])->n_creates, 2));
	send_too_much(servers[0]);
	CHECK(TURN_UNTIL(ev, revision != 0));
	CHECK_EQ_INT(revision, 30);
	end();
}

static void test_no_answer_to_the_creation(void)
{
	begin_as(2, NULL);
	server_watch(servers[0])->mute_create = true;
	CHECK(sync_until(ev, &w.n_live, 1));
	CHECK_LOG("+");
	CHECK_EQ_INT(server_watch(servers[0])->n_creates, 1);
	CHECK_EQ_INT(server_watch(servers[1])->n_open, 1);
	/* Nothing was begun that could be resumed one revision before. */
	CHECK_EQ_INT(server_watch(servers[1])->start_revision, 10);
	end();
}

/* A server that ends each stream is not asked without pause. */
static void test_flapping(void)
{
	begin_as(1, NULL);
	server_watch(servers[0])->end_at_once = true;
	(void) sync_run(ev, 1500, NULL, 0);
	CHECK(server_watch(servers[0])->n_creates <= 6);
	CHECK(sync_until(ev, &server_watch(servers[0])->n_creates, 3));
	server_watch(servers[0])->end_at_once = false;
	CHECK(sync_until(ev, &w.n_live, w.n_live + 1));
	end();
}

static void cancel_watch(struct server *server, int64_t compact_revision, const char *reason)
{
	Pb__WatchResponse response;

	pb__watch_response__init(&response);
	response.canceled = true;
	response.compact_revision = compact_revision;
	response.cancel_reason = (char *) (uintptr_t) reason;
	server_send(server, &response);
}

static void test_compacted(void)
{
	begin(1);
	server_send_events(servers[0], "P12:a/1=x", false);
	cancel_watch(servers[0], 50, "");
	CHECK(sync_until(ev, &w.n_compacted, 1));
	CHECK_LOG("+P12:a/1=x |C50 ");
	CHECK(!sync_run(ev, 500, &w.n_live, 2));
	CHECK(TURN_UNTIL(ev, server_watch(servers[0])->n_open == 0));
	end();
}

static void test_cancelled_for_another_reason(void)
{
	begin(1);
	cancel_watch(servers[0], 0, "etcdserver: some reason");
	CHECK(sync_until(ev, &w.n_live, 2));
	CHECK_LOG("+-+");
	CHECK_EQ_INT(w.n_compacted, 0);
	end();
}

/* A member of a cluster that is not meant says nothing of ours: another one is watched. */
static void test_a_cluster_that_is_not_meant(void)
{
	begin(2);
	etcd_expect_cluster(etcd, 1);
	(void) server_cluster_id(servers[0], 2);
	server_send_events(servers[0], "P12:a/1=x", false);
	CHECK(sync_until(ev, &w.n_live, 2));
	CHECK_EQ_INT(server_watch(servers[1])->n_open, 1);
	server_send_events(servers[1], "P12:a/1=y", false);
	CHECK_LOG("+-+P12:a/1=y |");
	/* It is not tried while the other one is there, broken as that may be. */
	server_end_stream(servers[1], GRPC_STATUS_UNAVAILABLE, "bye");
	CHECK(sync_until(ev, &w.n_live, 3));
	CHECK_EQ_INT(server_watch(servers[0])->n_creates, 1);
	end();
}

/* Restored from a snapshot under our feet: the revisions of two clusters cannot be compared. */
static void test_another_cluster(void)
{
	begin(1);
	(void) server_cluster_id(servers[0], 2);
	server_send_events(servers[0], "P12:a/1=x", false);
	CHECK(sync_until(ev, &w.n_compacted, 1));
	CHECK_LOG("+C42 ");
	end();
}

static void test_backwards(void)
{
	begin(1);
	server_send_events(servers[0], "P14:a/1=x P13:a/1=y", false);
	CHECK(sync_until(ev, &w.n_live, 2));
	CHECK_LOG("+-+");
	end();
}

static void test_token_runs_out(void)
{
	begin_as(1, "root");
	CHECK(sync_until(ev, &w.n_live, 1));
	CHECK_EQ_INT(server_calls(servers[0], SERVER_AUTHENTICATE), 1);
	server_set_token(servers[0], "second");
	server_end_stream(servers[0], GRPC_STATUS_UNAVAILABLE, "bye");
	CHECK(sync_until(ev, &w.n_live, 2));
	CHECK_LOG("+-+");
	CHECK_EQ_INT(server_calls(servers[0], SERVER_AUTHENTICATE), 2);
	end();
}

/* --- freeing inside each callback --- */

static void free_on_events(const struct etcd_event *events, size_t n_events,
                           int64_t revision UNUSED, void *userdata)
{
	etcd_watch_free(TAKE_PTR(watch));
	/* What was given is still there. */
	*(unsigned *) userdata += events[n_events - 1].kv.mod_revision == 12;
}

static void free_on_compacted(int64_t compact_revision UNUSED, void *userdata)
{
	etcd_watch_free(TAKE_PTR(watch));
	*(unsigned *) userdata += 1;
}

static void free_on_live(bool live UNUSED, void *userdata)
{
	etcd_watch_free(TAKE_PTR(watch));
	*(unsigned *) userdata += 1;
}

static void test_free_inside(void)
{
	static const struct etcd_watch_callbacks cases[] = {
	    {.events = free_on_events, .compacted = free_on_compacted},
	    {.events = free_on_events, .compacted = free_on_compacted},
	    {.events = free_on_events, .compacted = free_on_compacted, .live = free_on_live},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		unsigned n = 0;

		begin(1);
		etcd_watch_free(watch);
		CHECK(TURN_UNTIL(ev, server_watch(servers[0])->n_open == 0));
		CHECK_EQ_INT(etcd_watch_new(etcd, ETCD_STR("a/"), true, 10, &cases[i], &n, &watch), 0);
		CHECK(sync_until(ev, &server_watch(servers[0])->n_creates, 2));
		settle_down();
		if (i == 0)
			server_send_events(servers[0], "P12:a/1=x", false);
		if (i == 1)
			cancel_watch(servers[0], 50, "");
		CHECK(sync_until(ev, &n, 1));
		settle_down();
		CHECK_EQ_INT(n, 1);
		CHECK(TURN_UNTIL(ev, server_watch(servers[0])->n_open == 0));
		end();
	}
}

static unsigned n_told;
static int64_t told_revision;

static void told_cb(int64_t revision, void *userdata UNUSED)
{
	n_told++;
	told_revision = revision;
}

/* Who wants to know how far the member is, is told; and the preferred member is the one that is
 * watched, until it fails. */
static void test_progress_of_the_preferred(void)
{
	struct etcd_watch_callbacks callbacks = watched_callbacks;
	struct etcd_watch *own = NULL;

	callbacks.progress = told_cb;
	n_told = 0;
	begin(2);
	etcd_watch_free(TAKE_PTR(watch));
	for (int tries = 0; tries < 50 && server_watch(servers[1])->n_open == 0; tries++) {
		/* Until the other one is connected. */
		etcd_watch_free(own);
		CHECK_EQ_INT(etcd_watch_new(etcd, ETCD_STR(""), true, 10, &callbacks, &w, &own), 0);
		CHECK_EQ_INT(etcd_watch_member(own), 0);
		etcd_watch_prefer(own, server_url(servers[1]));
		CHECK(sync_until(ev, &w.n_live, w.n_live + 1));
	}
	CHECK_EQ_INT(server_watch(servers[1])->n_open, 1);
	CHECK_EQ_INT(etcd_watch_member(own), SERVER_MEMBER_ID(1));
	CHECK(sync_until(ev, &n_told, 1));
	CHECK_EQ_INT(told_revision, 42);
	server_send_events(servers[1], "P12:a/1=x", false);
	CHECK(sync_until(ev, &w.n_events, 1));
	server_end_stream(servers[1], GRPC_STATUS_UNAVAILABLE, "bye");
	CHECK(TURN_UNTIL(ev, server_watch(servers[0])->n_open == 1));
	etcd_watch_free(own);
	end();
}

static void test_avoids(void)
{
	struct etcd_watch *own = NULL;

	begin(2);
	etcd_watch_free(TAKE_PTR(watch));
	CHECK(TURN_UNTIL(ev, server_watch(servers[0])->n_open == 0));
	for (int tries = 0; tries < 50 && server_watch(servers[1])->n_open == 0; tries++) {
		/* Until the other one is connected. */
		etcd_watch_free(own);
		CHECK_EQ_INT(etcd_watch_new(etcd, ETCD_STR(""), true, 10, &watched_callbacks, &w, &own), 0);
		etcd_watch_avoid(own, server_url(servers[0]));
		CHECK(sync_until(ev, &w.n_live, w.n_live + 1));
	}
	CHECK_EQ_INT(etcd_watch_member(own), SERVER_MEMBER_ID(1));
	etcd_watch_free(own);
	end();
}

static void prepare(void)
{
	ev = ev_default_loop(0);
}

int main(void)
{
	static const patient_fn tests[] = {
	    test_events,
	    test_fragments,
	    test_moves_when_the_stream_ends,
	    test_silence,
	    test_silence_between_fragments,
	    test_patience,
	    test_too_large,
	    test_no_answer_to_the_creation,
	    test_flapping,
	    test_compacted,
	    test_cancelled_for_another_reason,
	    test_a_cluster_that_is_not_meant,
	    test_another_cluster,
	    test_backwards,
	    test_token_runs_out,
	    test_free_inside,
	    test_progress_of_the_preferred,
	    test_avoids,
	};

	patiently(&(struct patient){.prepare = prepare}, 4, tests, ARRAY_SIZE(tests));
	return check_result();
}
