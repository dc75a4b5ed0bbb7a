/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots from scripted servers: every way in which a stream can go, stand still and end. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "check.h"
#include "etcd/etcd.h"
#include "etcdtest/cluster.h"
#include "etcdtest/server.h"
#include "etcdtest/sync.h"
#include "patient.h"
#include "turn.h"

#define DIGEST_BYTES 32
#define MIB (UINT64_C(1024) * 1024)

static struct ev_loop *ev;
static struct server *servers[2];
static struct etcd *etcd;
static struct etcd_snapshot *snapshot;

/* What the user does in blob(). */
enum habit {
	HABIT_ASK_FIRST,
	HABIT_ASK_LAST,
	HABIT_WAIT,   /* the test asks */
	HABIT_CANCEL, /* at the first blob */
	HABIT_ASK_AND_CANCEL,
};

/* All that the callbacks were given. */
static struct {
	enum habit habit;
	int dawdle_ms;    /* blocks in blob(), after asking */
	unsigned n_blobs; /* without the digest */
	unsigned n_digests;
	unsigned n_done;
	uint64_t bytes;
	uint64_t total_bytes;
	uint64_t remaining_bytes;
	bool wrong; /* bytes, or what is said of them */
	char version[32];
	struct answer end;
} got;

/* Any byte of the database that the servers have. */
static uint8_t byte_at(uint64_t offset)
{
	return (uint8_t) (offset * 31 + offset / 251);
}

static void check_blob(const struct etcd_blob *blob)
{
	const uint8_t *data = blob->data;

	got.wrong |= blob->offset != got.bytes || blob->len == 0;
	got.wrong |= got.n_blobs > 1 && blob->total_bytes != got.total_bytes;
	got.total_bytes = blob->total_bytes;
	got.remaining_bytes = blob->remaining_bytes;
	if (blob->is_digest) {
		got.wrong |= blob->len != DIGEST_BYTES || blob->offset != blob->total_bytes;
		return;
	}
	got.wrong |= blob->offset + blob->len + blob->remaining_bytes != blob->total_bytes;
	for (size_t i = 0; i < blob->len; i++)
		got.wrong |= data[i] != byte_at(blob->offset + i);
	got.bytes += blob->len;
}

static void on_blob(const struct etcd_blob *blob, void *userdata)
{
	CHECK(userdata == &got);
	if (blob->is_digest)
		got.n_digests++;
	else
		got.n_blobs++;
	(void) snprintf(got.version, sizeof(got.version), "%s", blob->version);
	if (got.habit == HABIT_ASK_FIRST || got.habit == HABIT_ASK_AND_CANCEL)
		etcd_snapshot_next(snapshot);
	if (got.habit == HABIT_CANCEL || got.habit == HABIT_ASK_AND_CANCEL)
		etcd_snapshot_cancel(TAKE_PTR(snapshot));
	check_blob(blob);
	if (got.dawdle_ms > 0)
		(void) usleep((useconds_t) got.dawdle_ms * 1000);
	if (got.habit == HABIT_ASK_LAST)
		etcd_snapshot_next(snapshot);
}

static void on_done(const struct etcd_outcome *outcome, void *userdata)
{
	CHECK(userdata == &got);
	got.n_done++;
	answer_on_done(outcome, &got.end);
	snapshot = NULL;
}

static const struct etcd_snapshot_callbacks callbacks = {.blob = on_blob, .done = on_done};

static void make_client(size_t n, const char *user)
{
	const char *urls[2];
	struct etcd_options options = {
	    .endpoints = urls, .n_endpoints = n, .user = user, .password = user};
	char error[ETCD_ERROR_TEXT_MAX];

	for (size_t i = 0; i < n; i++) {
		servers[i] = server_new(ev, (unsigned) i, 0);
		if (user != NULL)
			server_set_token(servers[i], "first");
		urls[i] = server_url(servers[i]);
	}
	CHECK_EQ_INT(etcd_new(ev, &options, error, &etcd), 0);
	(void) sync_run(ev, 80, NULL, 0);
}

static void start(enum habit habit, unsigned stall_ms)
{
	memset(&got, 0, sizeof(got));
	got.habit = habit;
	got.end.asked_us = mono_now_us();
	CHECK_EQ_INT(
	    etcd_snapshot_start(etcd, server_url(servers[0]), stall_ms, &callbacks, &got, &snapshot),
	    0);
	CHECK_EQ_INT(got.n_blobs + got.n_done, 0);
}

/* A stream is open, and the server has said nothing yet. */
static void begin(enum habit habit, unsigned stall_ms)
{
	make_client(1, NULL);
	start(habit, stall_ms);
	CHECK(sync_until(ev, &server_snapshot(servers[0])->n_open, 1));
}

static void end(void)
{
	CHECK(!got.wrong);
	etcd_free(TAKE_PTR(etcd));
	snapshot = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(servers); i++)
		server_free(TAKE_PTR(servers[i]));
}

/* The bytes from..to of a database of that size, in blobs. */
static void send_bytes(uint64_t from, uint64_t to, uint64_t total, size_t blob_bytes)
{
	AUTO(free) uint8_t *data = xcalloc(1, blob_bytes);

	while (from < to) {
		size_t len = (size_t) MIN(to - from, blob_bytes);

		for (size_t i = 0; i < len; i++)
			data[i] = byte_at(from + i);
		from += len;
		server_send_blob(servers[0], data, len, total - from);
	}
}

/* The server has heard that its stream is over: in its own time. */
static bool hears_of_the_end(void)
{
	return TURN_UNTIL(ev, server_snapshot(servers[0])->n_open == 0);
}

static void send_digest(void)
{
	static const char digest[DIGEST_BYTES] = "any";

	server_send_blob(servers[0], digest, sizeof(digest), 0);
}

static void check_end(int r, const char *part, int line)
{
	if (sync_until(ev, &got.n_done, 1) && got.end.r == r && strstr(got.end.text, part) != NULL)
		return;
	(void) fprintf(stderr, "line %d: %u ends, %d '%s', want %d '%s'\n", line, got.n_done, got.end.r,
	               got.end.text, r, part);
	check_failures++;
}
#define CHECK_END(r, part) check_end((r), (part), __LINE__)

static int elapsed_ms(void)
{
	return (int) ((got.end.done_us - got.end.asked_us) / US_PER_MS);
}

/* --- as it should be --- */

static void test_whole(void)
{
	static const enum habit habits[] = {HABIT_ASK_FIRST, HABIT_ASK_LAST};

	for (size_t i = 0; i < ARRAY_SIZE(habits); i++) {
		begin(habits[i], 0);
		CHECK(!server_last_has_leader(servers[0]));
		send_bytes(0, 100000, 100000, 32768);
		send_digest();
		server_end_stream(servers[0], GRPC_STATUS_OK, "");
		CHECK_END(0, "");
		CHECK_EQ_INT(got.n_blobs, 4);
		CHECK_EQ_INT(got.n_digests, 1);
		CHECK_EQ_INT(got.bytes, 100000);
		CHECK_EQ_INT(got.total_bytes, 100000);
		CHECK_EQ_STR(got.version, "3.6.0");
		CHECK_EQ_STR(got.end.endpoint, server_url(servers[0]));
		CHECK(got.end.sent_us > 0 && got.end.received_us >= got.end.sent_us);
		(void) sync_run(ev, 50, NULL, 0);
		CHECK_EQ_INT(got.n_done, 1);
		CHECK(hears_of_the_end());
		CHECK_EQ_INT(server_cancelled(servers[0]), 0);
		end();
	}
}

/* The end is not told before it is certain, nor before it is asked for. */
static void test_the_end_waits_for_the_status(void)
{
	begin(HABIT_WAIT, 0);
	send_bytes(0, 100, 100, 100);
	send_digest();
	CHECK(sync_until(ev, &got.n_blobs, 1));
	etcd_snapshot_next(snapshot);
	CHECK(sync_until(ev, &got.n_digests, 1));
	etcd_snapshot_next(snapshot);
	CHECK(!sync_run(ev, 100, &got.n_done, 1));
	server_end_stream(servers[0], GRPC_STATUS_OK, "");
	CHECK_END(0, "");
	end();

	begin(HABIT_WAIT, 0);
	send_bytes(0, 100, 100, 100);
	send_digest();
	server_end_stream(servers[0], GRPC_STATUS_OK, "");
	CHECK(sync_until(ev, &got.n_blobs, 1));
	etcd_snapshot_next(snapshot);
	CHECK(sync_until(ev, &got.n_digests, 1));
	CHECK(!sync_run(ev, 100, &got.n_done, 1));
	etcd_snapshot_next(snapshot);
	CHECK_END(0, "");
	end();
}

static void test_only_the_named_one(void)
{
	make_client(2, NULL);
	CHECK_EQ_INT(etcd_snapshot_start(etcd, "http://127.0.0.1:1", 0, &callbacks, &got, &snapshot),
	             -ENOENT);
	CHECK_EQ_INT(etcd_snapshot_start(etcd, server_url(servers[1]), 0, &callbacks, &got, &snapshot),
	             0);
	CHECK(sync_until(ev, &server_snapshot(servers[1])->n_open, 1));
	etcd_snapshot_cancel(snapshot);
	CHECK_EQ_INT(server_calls(servers[0], SERVER_SNAPSHOT), 0);
	/* Any: the one that is connected. */
	server_free(TAKE_PTR(servers[0]));
	(void) sync_run(ev, 100, NULL, 0);
	CHECK_EQ_INT(etcd_snapshot_start(etcd, NULL, 0, &callbacks, &got, &snapshot), 0);
	CHECK(sync_until(ev, &server_snapshot(servers[1])->n_open, 1));
	end();
}

/* --- a pace of one's own --- */

/* Who does not ask gets nothing, stops the server, and holds up nobody else. */
static void test_pause(void)
{
	const uint64_t total = 3 * MIB, piece = MIB / 8;
	unsigned n_sent;

	begin(HABIT_WAIT, 500);
	send_bytes(0, total, total, piece);
	send_digest();
	server_end_stream(servers[0], GRPC_STATUS_OK, "");
	CHECK(sync_until(ev, &got.n_blobs, 1));
	(void) sync_run(ev, 300, NULL, 0);
	n_sent = server_snapshot(servers[0])->n_sent;
	CHECK(n_sent * piece <= MIB);
	/* In all, longer than the server may take. */
	(void) sync_run(ev, 400, NULL, 0);
	CHECK_EQ_INT(server_snapshot(servers[0])->n_sent, n_sent);
	CHECK_EQ_INT(got.n_blobs, 1);
	CHECK_EQ_INT(got.n_done, 0);
	CHECK_EQ_INT(sync_get(ev, etcd, "k").r, 0);

	for (unsigned i = 1; i < 10; i++) {
		etcd_snapshot_next(snapshot);
		CHECK(sync_until(ev, &got.n_blobs, i + 1));
		(void) sync_run(ev, 5, NULL, 0);
		CHECK_EQ_INT(got.n_blobs, i + 1);
	}
	got.habit = HABIT_ASK_LAST;
	etcd_snapshot_next(snapshot);
	CHECK_END(0, "");
	CHECK_EQ_INT(got.bytes, total);
	end();
}

/* In pieces as etcd sends them: what is taken ahead of who does not ask, with what the server
 * itself has in hand, is less than a MiB. */
static void test_little_is_taken_ahead(void)
{
	const uint64_t total = 12 * MIB, piece = 32768;
	const struct server_snapshot *sent;
	unsigned n_before;

	begin(HABIT_WAIT, 0);
	sent = server_snapshot(servers[0]);
	send_bytes(0, total, total, piece);
	CHECK(sync_until(ev, &got.n_blobs, 1));
	do {
		n_before = sent->n_sent;
		(void) sync_run(ev, 200, NULL, 0);
	} while (sent->n_sent != n_before);
	CHECK(sent->n_sent * piece < MIB);
	CHECK_EQ_INT(got.n_blobs, 1);
	end();
}

/* A user who blocks the loop for longer than the limit is not taken for a silent server. */
static void test_slow_user(void)
{
	begin(HABIT_ASK_FIRST, 1000);
	got.dawdle_ms = 1300;
	send_bytes(0, 100, 400, 100);
	CHECK(sync_until(ev, &got.n_blobs, 1));
	CHECK(!sync_run(ev, 100, &got.n_done, 1));
	got.dawdle_ms = 0;
	send_bytes(100, 400, 400, 100);
	send_digest();
	server_end_stream(servers[0], GRPC_STATUS_OK, "");
	CHECK_END(0, "");
	end();
}

/* Any number of limits in all, as long as bytes come within each. */
static void test_slow_server(void)
{
	begin(HABIT_ASK_FIRST, 600);
	for (unsigned i = 0; i < 4; i++) {
		(void) sync_run(ev, 300, NULL, 0);
		send_bytes(i * 100, i * 100 + 100, 400, 100);
	}
	send_digest();
	server_end_stream(servers[0], GRPC_STATUS_OK, "");
	CHECK_END(0, "");
	CHECK(elapsed_ms() >= 1199);
	end();
}

/* --- standing still --- */

static void test_silence(void)
{
	begin(HABIT_ASK_FIRST, 300);
	CHECK_END(-ETIMEDOUT, "no bytes within 300 ms, after 0 of 0");
	CHECK(elapsed_ms() >= 299 && elapsed_ms() < 1500);
	CHECK(TURN_UNTIL(ev, server_cancelled(servers[0]) == 1));
	end();

	begin(HABIT_ASK_FIRST, 600);
	(void) sync_run(ev, 300, NULL, 0);
	send_bytes(0, 300, 1000, 100);
	CHECK_END(-ETIMEDOUT, "after 300 of 1000");
	CHECK(elapsed_ms() >= 899 && elapsed_ms() < 2500);
	CHECK_EQ_INT(got.n_blobs, 3);
	end();
}

/* The server's time begins with each question, however long ago the last one was. */
static void test_limit_begins_anew(void)
{
	begin(HABIT_WAIT, 800);
	send_bytes(0, 100, 1000, 100);
	CHECK(sync_until(ev, &got.n_blobs, 1));
	(void) sync_run(ev, 600, NULL, 0);
	etcd_snapshot_next(snapshot);
	(void) sync_run(ev, 500, NULL, 0);
	send_bytes(100, 200, 1000, 100);
	CHECK(sync_until(ev, &got.n_blobs, 2));
	(void) sync_run(ev, 1000, NULL, 0);
	CHECK_EQ_INT(got.n_done, 0);
	got.end.asked_us = mono_now_us();
	etcd_snapshot_next(snapshot);
	CHECK_END(-ETIMEDOUT, "after 200 of 1000");
	CHECK(elapsed_ms() >= 799 && elapsed_ms() < 2500);
	end();
}

/* As of a server whose own read fails. */
static void test_empty_for_ever(void)
{
	for (unsigned i = 0; i < 2; i++) {
		begin(HABIT_ASK_FIRST, 300);
		server_snapshot(servers[0])->endless = true;
		if (i == 0)
			server_send_blob(servers[0], "", 0, 1000);
		else
			send_bytes(0, 300, 1000, 100);
		CHECK_END(-ETIMEDOUT, "of 1000");
		CHECK(elapsed_ms() >= 299 && elapsed_ms() < 1500);
		CHECK_EQ_INT(got.n_blobs, i * 3);
		CHECK(server_snapshot(servers[0])->n_sent > 20);
		end();
	}
}

/* Some are no harm. */
static void test_empty_in_between(void)
{
	begin(HABIT_ASK_FIRST, 0);
	server_send_blob(servers[0], "", 0, 200);
	send_bytes(0, 100, 200, 100);
	server_send_blob(servers[0], "", 0, 100);
	server_send_blob(servers[0], "", 0, 100);
	send_bytes(100, 200, 200, 100);
	server_send_blob(servers[0], "", 0, 0);
	send_digest();
	server_send_blob(servers[0], "", 0, 0);
	server_end_stream(servers[0], GRPC_STATUS_OK, "");
	CHECK_END(-EPROTO, "behind the digest");
	CHECK_EQ_INT(got.n_blobs, 2);
	CHECK_EQ_INT(got.n_digests, 1);
	end();
}

/* --- breaking --- */

static void test_contradictions(void)
{
	static const struct {
		struct {
			int len; /* -1: no more */
			uint64_t remaining;
		} blobs[4];
		unsigned n_good; /* handed over, with the digest */
		const char *part;
	} cases[] = {
	    {{{100, 900}, {100, 801}, {-1, 0}}, 1, "does not go on after 100 of 1000"},
	    {{{100, 900}, {100, 900}, {-1, 0}}, 1, "does not go on"},
	    {{{100, 900}, {100, 799}, {-1, 0}}, 1, "does not go on"},
	    {{{100, 900}, {0, 899}, {-1, 0}}, 1, "does not go on"},
	    {{{100, 50}, {100, 0}, {-1, 0}}, 1, "does not go on"},
	    {{{100, 50}, {51, UINT64_MAX}, {-1, 0}}, 1, "does not go on"},
	    {{{100, UINT64_MAX}, {-1, 0}}, 0, "a size that no database has"},
	    {{{0, 0}, {32, 0}, {-1, 0}}, 0, "a size that no database has"},
	    {{{100, 0}, {31, 0}, {-1, 0}}, 1, "no digest came"},
	    {{{100, 0}, {33, 0}, {-1, 0}}, 1, "no digest came"},
	    {{{100, 0}, {32, 5}, {-1, 0}}, 1, "went up again"},
	    {{{100, 0}, {32, 0}, {32, 0}, {-1, 0}}, 2, "behind the digest"},
	    {{{-1, 0}}, 0, "the stream ended after 0 of 0"},
	    {{{100, 900}, {-1, 0}}, 1, "the stream ended after 100 of 1000"},
	    /* Without its digest a database is not whole. */
	    {{{100, 0}, {-1, 0}}, 1, "the stream ended after 100 of 100"},
	};
	uint8_t data[100];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		begin(HABIT_ASK_FIRST, 0);
		for (size_t k = 0; cases[i].blobs[k].len >= 0; k++) {
			for (size_t j = 0; j < sizeof(data); j++)
				data[j] = byte_at(k * 100 + j);
			server_send_blob(servers[0], data, (size_t) cases[i].blobs[k].len,
			                 cases[i].blobs[k].remaining);
		}
		server_end_stream(servers[0], GRPC_STATUS_OK, "");
		CHECK_END(-EPROTO, cases[i].part);
		if (!CHECK_EQ_INT(got.n_blobs + got.n_digests, cases[i].n_good))
			(void) fprintf(stderr, "case %zu\n", i);
		end();
	}
}

static void test_junk(void)
{
	begin(HABIT_ASK_FIRST, 0);
	send_bytes(0, 100, 200, 100);
	server_send_bytes(servers[0], "\xff\xff\xff", 3);
	CHECK_END(-EPROTO, "cannot be parsed after 100 of 200");
	CHECK(hears_of_the_end());
	end();
}

static void test_statuses(void)
{
	static const struct {
		grpc_status_code code;
		const char *text;
		int r;
	} cases[] = {
	    {GRPC_STATUS_UNKNOWN, "read m0/member/snap/db: input/output error", -EPROTO},
	    {GRPC_STATUS_UNKNOWN, "auth: permission denied", -EACCES},
	    {GRPC_STATUS_PERMISSION_DENIED, "etcdserver: permission denied", -EACCES},
	    {GRPC_STATUS_UNAUTHENTICATED, "etcdserver: invalid auth token", -EACCES},
	    {GRPC_STATUS_UNAVAILABLE, "etcdserver: server stopped", -EHOSTUNREACH},
	    {GRPC_STATUS_UNIMPLEMENTED, "unknown service", -EPROTO},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		begin(HABIT_ASK_FIRST, 0);
		server_end_stream(servers[0], cases[i].code, cases[i].text);
		CHECK_END(cases[i].r, cases[i].text);
		end();

		begin(HABIT_ASK_FIRST, 0);
		send_bytes(0, 100, 200, 100);
		server_end_stream(servers[0], cases[i].code, cases[i].text);
		CHECK_END(cases[i].r, cases[i].text);
		CHECK(got.n_blobs <= 1);
		end();
	}
}

/* The connection goes: while bytes are asked for, and while nothing is. Then it depends on what had
 * arrived by then whether that shows at once, or when it is asked for. */
static void test_cut(void)
{
	begin(HABIT_ASK_FIRST, 0);
	send_bytes(0, 300, 1000, 100);
	CHECK(sync_until(ev, &got.n_blobs, 3));
	server_free(TAKE_PTR(servers[0]));
	CHECK_END(-EHOSTUNREACH, "");
	end();

	begin(HABIT_WAIT, 0);
	send_bytes(0, 300, 1000, 100);
	CHECK(sync_until(ev, &got.n_blobs, 1));
	server_free(TAKE_PTR(servers[0]));
	got.habit = HABIT_ASK_FIRST;
	if (!sync_run(ev, 100, &got.n_done, 1))
		etcd_snapshot_next(snapshot);
	CHECK_END(-EHOSTUNREACH, "");
	CHECK(got.n_blobs <= 3);
	end();
}

static void test_nobody_there(void)
{
	make_client(1, NULL);
	start(HABIT_ASK_FIRST, 0);
	server_free(TAKE_PTR(servers[0]));
	CHECK_END(-EHOSTUNREACH, "");
	/* Long before the limit. */
	CHECK(elapsed_ms() < 5000);
	end();
}

/* --- tokens --- */

static void test_token(void)
{
	make_client(1, "root");
	start(HABIT_ASK_FIRST, 0);
	CHECK(sync_until(ev, &server_snapshot(servers[0])->n_open, 1));
	etcd_snapshot_cancel(snapshot);
	/* The one that we have is old by now. */
	server_set_token(servers[0], "second");
	start(HABIT_ASK_FIRST, 0);
	CHECK(TURN_UNTIL(ev, server_calls(servers[0], SERVER_SNAPSHOT) == 3));
	CHECK_EQ_INT(server_calls(servers[0], SERVER_AUTHENTICATE), 2);
	send_bytes(0, 100, 100, 100);
	send_digest();
	server_end_stream(servers[0], GRPC_STATUS_OK, "");
	CHECK_END(0, "");
	end();
}

static void test_token_refused(void)
{
	static const struct server_rule refusal = {.code = GRPC_STATUS_UNAUTHENTICATED,
	                                           .text = "etcdserver: invalid auth token"};
	static const struct server_rule wrong = {
	    .code = GRPC_STATUS_INVALID_ARGUMENT,
	    .text = "etcdserver: authentication failed, invalid user ID or password"};

	make_client(1, "root");
	server_set(servers[0], SERVER_SNAPSHOT, refusal);
	start(HABIT_ASK_FIRST, 0);
	CHECK_END(-EACCES, "invalid auth token");
	CHECK_EQ_INT(server_calls(servers[0], SERVER_SNAPSHOT), 3);
	end();

	make_client(1, "root");
	server_set(servers[0], SERVER_AUTHENTICATE, wrong);
	start(HABIT_ASK_FIRST, 0);
	CHECK_END(-EACCES, "invalid user ID or password");
	CHECK_EQ_INT(server_calls(servers[0], SERVER_SNAPSHOT), 0);
	end();

	/* The limit holds for the token as well. */
	make_client(1, "root");
	server_set(servers[0], SERVER_AUTHENTICATE, (struct server_rule){.silent = true});
	start(HABIT_ASK_FIRST, 300);
	CHECK_END(-ETIMEDOUT, "no bytes within 300 ms");
	end();
}

/* --- cancelling --- */

enum moment {
	MOMENT_AT_ONCE,
	MOMENT_TOKEN, /* is waited for */
	MOMENT_OPEN,
	MOMENT_IN_BLOB,
	MOMENT_IN_BLOB_AFTER_ASKING,
	MOMENT_PAUSED,
	MOMENT_ASKED,
	MOMENT_BUFFERED, /* the next blob is there, and not yet handled */
	MOMENT_DIGEST,   /* came, and the end has not been asked for */
	MOMENT_END_ASKED,
	MOMENTS,
};

static void go_to(enum moment moment)
{
	static const enum habit habits[MOMENTS] = {
	    [MOMENT_IN_BLOB] = HABIT_CANCEL, [MOMENT_IN_BLOB_AFTER_ASKING] = HABIT_ASK_AND_CANCEL,
	    [MOMENT_PAUSED] = HABIT_WAIT,    [MOMENT_ASKED] = HABIT_WAIT,
	    [MOMENT_BUFFERED] = HABIT_WAIT,  [MOMENT_DIGEST] = HABIT_WAIT,
	    [MOMENT_END_ASKED] = HABIT_WAIT,
	};
	bool digest = moment == MOMENT_DIGEST || moment == MOMENT_END_ASKED;

	make_client(1, moment == MOMENT_TOKEN ? "root" : NULL);
	if (moment == MOMENT_TOKEN)
		server_set(servers[0], SERVER_AUTHENTICATE, (struct server_rule){.silent = true});
	start(habits[moment], 0);
	if (moment == MOMENT_TOKEN)
		(void) sync_run(ev, 100, NULL, 0);
	if (moment <= MOMENT_TOKEN)
		return;
	CHECK(sync_until(ev, &server_snapshot(servers[0])->n_open, 1));
	if (moment == MOMENT_OPEN)
		return;
	send_bytes(0, 100, digest ? 100 : 1000, 100);
	if (digest)
		send_digest();
	CHECK(sync_until(ev, &got.n_blobs, 1));
	if (moment == MOMENT_ASKED || moment == MOMENT_BUFFERED || digest)
		etcd_snapshot_next(snapshot);
	if (moment == MOMENT_BUFFERED) {
		send_bytes(100, 200, 1000, 100);
		CHECK(sync_until(ev, &server_snapshot(servers[0])->n_sent, 2));
	}
	if (digest)
		CHECK(sync_until(ev, &got.n_digests, 1));
	if (moment == MOMENT_END_ASKED)
		etcd_snapshot_next(snapshot);
}

/* By its handle, or with the whole client; no callback comes, nothing is left. */
static void test_cancel(void)
{
	for (int moment = 0; moment < MOMENTS; moment++) {
		for (int whole = 0; whole < 2; whole++) {
			unsigned n_digests;
			unsigned n_blobs;

			go_to((enum moment) moment);
			n_blobs = got.n_blobs;
			n_digests = got.n_digests;
			if (whole == 0)
				etcd_snapshot_cancel(TAKE_PTR(snapshot));
			else
				etcd_free(TAKE_PTR(etcd));
			(void) sync_run(ev, 100, NULL, 0);
			if (!CHECK_EQ_INT(got.n_blobs, n_blobs) || !CHECK_EQ_INT(got.n_digests, n_digests) ||
			    !CHECK_EQ_INT(got.n_done, 0) || !CHECK(hears_of_the_end()))
				(void) fprintf(stderr, "moment %d, whole %d\n", moment, whole);
			end();
		}
	}
	etcd_snapshot_cancel(NULL);
}

static void prepare(void)
{
	ev = ev_default_loop(0);
}

int main(void)
{
	static const patient_fn tests[] = {
	    test_whole,
	    test_the_end_waits_for_the_status,
	    test_only_the_named_one,
	    test_pause,
	    test_little_is_taken_ahead,
	    test_slow_user,
	    test_slow_server,
	    test_silence,
	    test_limit_begins_anew,
	    test_empty_for_ever,
	    test_empty_in_between,
	    test_contradictions,
	    test_junk,
	    test_statuses,
	    test_cut,
	    test_nobody_there,
	    test_token,
	    test_token_refused,
	    test_cancel,
	};

	patiently(&(struct patient){.prepare = prepare}, 2, tests, ARRAY_SIZE(tests));
	return check_result();
}
