/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder against a scripted etcd, onto a real directory: what comes of a history that goes
 * on, that is cut, compacted, incomplete, older than the record, or another one. The record is read
 * from the disk in the end.
 */
#include "etcdwatch/record/recorder.h"

#include <stdlib.h>

#include "base/mem.h"
#include "tests/unit/etcdtest/server.h"
#include "tests/unit/recordfile.h"
#include "tests/unit/scratch.h"
#include "tests/unit/turn.h"

static struct ev_loop *ev;
static struct server *server;
static struct etcd *etcd;
static struct recorder *recorder;
static struct recorder_report report;
static char directory[32];
static unsigned n_directories;
static int64_t needed; /* the last snapshot that was asked for */
static bool is_busy;   /* it could not be taken */
static int64_t newest; /* the newest that is there */

/* What begin() records, as etcd sends it again. */
#define BEGUN "P43:a=1 P43:b=2 P44:a=2 D44:b "

static int64_t keep_us = 86400 * US_PER_S;
static uint64_t reserve_bytes;
static int64_t hash_every_us;

static int64_t base_cb(uint64_t cluster_id UNUSED, void *userdata UNUSED)
{
	return newest;
}

static bool needs_cb(int64_t revision, void *userdata UNUSED)
{
	needed = revision;
	if (!is_busy)
		newest = revision;
	return !is_busy;
}

static void start(void)
{
	static const struct recorder_callbacks callbacks = {base_cb, needs_cb, NULL};
	const struct recorder_options options = {
	    .ev = ev,
	    .etcd = etcd,
	    .directory = directory,
	    .keep_us = keep_us,
	    .max_bytes = UINT64_C(1) << 30,
	    .reserve_bytes = reserve_bytes,
	    .hash_every_us = hash_every_us,
	};

	CHECK_EQ_INT(recorder_new(&options, &callbacks, NULL, &recorder), 0);
}

static void stop(void)
{
	recorder_free(TAKE_PTR(recorder));
}

/* The n-th watch is there, from that revision on. */
static void wait_for_watch(int line, unsigned n, int64_t revision)
{
	if (check_true(__FILE__, line, "the watch is there",
	               TURN_UNTIL(ev, server_watch(server)->n_creates >= n)))
		check_int(__FILE__, line, "its revision", server_watch(server)->start_revision, revision);
}
#define WAIT_FOR_WATCH(n, revision) wait_for_watch(__LINE__, n, revision)

static bool is_synced(int64_t revision)
{
	recorder_fill_report(recorder, &report);
	return report.figures.last_revision == revision && report.figures.reached_us > 0;
}
#define WAIT_FOR_REVISION(revision) CHECK(TURN_UNTIL(ev, is_synced(revision)))

/* What comes before it is compacted; the n-th watch begins with it. */
static void compact_at(int line, int64_t revision, unsigned n)
{
	Pb__WatchResponse response;

	pb__watch_response__init(&response);
	response.canceled = true;
	response.compact_revision = revision;
	server_send(server, &response);
	wait_for_watch(line, n, revision);
}
#define COMPACT_AT(revision, n) compact_at(__LINE__, revision, n)

/* A directory of its own, with 43 and 44 recorded. */
static void begin(void)
{
	const char *urls[1];
	const struct etcd_options options = {.endpoints = urls, .n_endpoints = 1};
	char error[ETCD_ERROR_TEXT_MAX];

	(void) snprintf(directory, sizeof(directory), "record-%u", ++n_directories);
	needed = -1;
	server = server_new(ev, 0, 0);
	urls[0] = server_url(server);
	CHECK_EQ_INT(etcd_new(ev, &options, error, &etcd), 0);
	start();
	WAIT_FOR_WATCH(1, 43);
	CHECK_EQ_INT(needed, 42);
	server_send_events(server, BEGUN, false);
	server_set_revision(server, 44);
	WAIT_FOR_REVISION(44);
	needed = -1;
}

static void end(const char *want, uint64_t n_gaps, const char *why)
{
	recorder_fill_report(recorder, &report);
	CHECK_EQ_INT(report.n_gaps, n_gaps);
	if (!CHECK(strstr(report.gap.reason, why) != NULL))
		(void) fprintf(stderr, "  %s\n", report.gap.reason);
	stop();
	CHECK_EQ_STR(recordfile_content(directory), want);
	etcd_free(TAKE_PTR(etcd));
	server_free(TAKE_PTR(server));
}

/* --- tests --- */

/* From one start to the next, and over a stream that breaks. */
static void test_goes_on(void)
{
	begin();
	stop();
	start();
	WAIT_FOR_WATCH(2, 43);
	server_send_events(server, BEGUN "P45:c=1", false);
	server_set_revision(server, 45);
	WAIT_FOR_REVISION(45);
	server_end_stream(server, GRPC_STATUS_UNAVAILABLE, "bye");
	WAIT_FOR_WATCH(3, 43);
	server_send_events(server, BEGUN "P45:c=1 P46:c=2", false);
	server_set_revision(server, 46);
	WAIT_FOR_REVISION(46);
	CHECK_EQ_INT(needed, -1);
	end("*43-44. 45-46 ", 0, "");
}

/* A deletion at the last revision may be gone, when that was compacted. */
static void test_last_without_its_deletions(void)
{
	begin();
	stop();
	start();
	WAIT_FOR_WATCH(2, 43);
	COMPACT_AT(44, 3);
	server_send_events(server, "P44:a=2 P45:c=1", false);
	server_set_revision(server, 45);
	WAIT_FOR_REVISION(45);
	end("*43-44. 45-45 ", 0, "");
}

/* After a rollback: the last revision is the same, and one before it is not. */
static void test_history_changed_earlier(void)
{
	static const char *const histories[] = {
	    "P43:a=1 P43:b=2 P44:a=3 D44:b ",   /* a value */
	    "P43:a=1 P43:b=2 P44:x=2 D44:b ",   /* a key */
	    "P43:a=1 P43:b=2 P44:a=2@7 D44:b ", /* a lease */
	    "P43:a=1 P43:b=2 P44:a=2 ",         /* a deletion is missing */
	    "P43:a=1 P43:b=2 ",                 /* a revision is missing */
	    "P43:a=1 P44:a=2 D44:b ",           /* a change is missing in the first */
	};

	for (size_t i = 0; i < ARRAY_SIZE(histories); i++) {
		AUTO(free) char *events = xasprintf("%sP45:c=1 P46:e=1", histories[i]);

		begin();
		server_send_events(server, "P45:c=1", false);
		server_set_revision(server, 45);
		WAIT_FOR_REVISION(45);
		server_set_revision(server, 46);
		server_end_stream(server, GRPC_STATUS_UNAVAILABLE, "bye");
		WAIT_FOR_WATCH(2, 43);
		server_send_events(server, events, false);
		WAIT_FOR_WATCH(3, 47);
		CHECK_EQ_INT(needed, 46);
		server_send_events(server, "P47:f=1", false);
		WAIT_FOR_REVISION(47);
		CHECK_EQ_INT(report.gap.first, 46);
		end("*43-45!. *47-47 ", 1, "history changed");
	}
}

static void test_another_history(void)
{
	begin();
	stop();
	server_set_revision(server, 50);
	start();
	WAIT_FOR_WATCH(2, 43);
	server_send_events(server, "P44:a=3 P45:c=1", false);
	WAIT_FOR_WATCH(3, 51);
	CHECK_EQ_INT(needed, 50);
	server_send_events(server, "P50:x=1 P51:c=1", false);
	WAIT_FOR_REVISION(51);
	end("*43-44. 45-44!. *51-51 ", 1, "history changed");
}

/* What etcd says of the keys c and d, which are the recorded ones. */
static void answer_keys(int64_t revision, char *value, int64_t lease, bool has_d)
{
	char name_c[] = "c", name_d[] = "d", one[] = "1";
	Pb__KeyValue c = PB__KEY_VALUE__INIT, d = PB__KEY_VALUE__INIT;
	Pb__KeyValue *kvs[] = {&c, &d};
	Pb__RangeResponse ranges[] = {PB__RANGE_RESPONSE__INIT, PB__RANGE_RESPONSE__INIT};
	Pb__ResponseOp ops[] = {PB__RESPONSE_OP__INIT, PB__RESPONSE_OP__INIT};
	Pb__ResponseOp *list[] = {&ops[0], &ops[1]};
	Pb__TxnResponse txn = PB__TXN_RESPONSE__INIT;

	c.key.data = (uint8_t *) name_c;
	d.key.data = (uint8_t *) name_d;
	d.value.data = (uint8_t *) one;
	c.key.len = d.key.len = d.value.len = 1;
	c.value.data = (uint8_t *) value;
	c.value.len = strlen(value);
	c.mod_revision = revision;
	c.lease = lease;
	d.mod_revision = 46;
	for (size_t i = 0; i < 2; i++) {
		ranges[i].kvs = &kvs[i];
		ranges[i].n_kvs = i == 0 || has_d;
		ops[i].response_case = PB__RESPONSE_OP__RESPONSE_RANGE;
		ops[i].range = &ranges[i];
	}
	txn.succeeded = true;
	txn.responses = list;
	txn.n_responses = 2;
	server_set_answer(server, SERVER_TXN, &txn.base);
}

/* The revisions that etcd still has are the same; what was written earlier is not. */
static void test_keys_changed(void)
{
	char one[] = "1", two[] = "2";
	const struct {
		int64_t revision;
		char *value;
		int64_t lease;
		bool has_d, is_same;
	} cases[] = {
	    {45, one, 0, true, true},  {44, one, 0, true, false},  {45, two, 0, true, false},
	    {45, one, 7, true, false}, {45, one, 0, false, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		begin();
		server_send_events(server, "P45:c=1 P46:d=1 D47:x", false);
		server_set_revision(server, 47);
		WAIT_FOR_REVISION(47);
		answer_keys(cases[i].revision, cases[i].value, cases[i].lease, cases[i].has_d);
		server_end_stream(server, GRPC_STATUS_UNAVAILABLE, "bye");
		if (cases[i].is_same) {
			WAIT_FOR_WATCH(2, 43);
			end("*43-47 ", 0, "");
			continue;
		}
		WAIT_FOR_WATCH(2, 48);
		server_send_events(server, "P48:c=1", false);
		WAIT_FOR_REVISION(48);
		end("*43-47!. *48-48 ", 1, "history changed: a key that was written at revision 4");
	}
}

/* An answer that proves nothing stops nothing. */
static void test_keys_not_compared(void)
{
	static const struct server_rule rules[] = {
	    {.code = GRPC_STATUS_OUT_OF_RANGE,
	     .text = "etcdserver: mvcc: required revision has been compacted",
	     .times = 1},
	    {.code = GRPC_STATUS_RESOURCE_EXHAUSTED, .text = "larger than max", .times = 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		begin();
		server_send_events(server, "P45:c=1 P46:d=1", false);
		server_set_revision(server, 46);
		WAIT_FOR_REVISION(46);
		server_set(server, SERVER_TXN, rules[i]);
		server_end_stream(server, GRPC_STATUS_UNAVAILABLE, "bye");
		WAIT_FOR_WATCH(2, 43);
		CHECK_EQ_INT(server_calls(server, SERVER_TXN), 1);
		end("*43-46 ", 0, "");
	}
}

static void answer_hash(uint32_t hash, int64_t compact_revision)
{
	Pb__HashKVResponse answer = PB__HASH_KVRESPONSE__INIT;

	answer.hash = hash;
	answer.compact_revision = compact_revision;
	server_set_answer(server, SERVER_HASHKV, &answer.base);
}

static bool has_hash(void)
{
	recorder_fill_report(recorder, &report);
	return report.hash_revision == 44;
}

/* The HashKV that is recorded, which the same member gives at the next start. */
static void test_hash_changed(void)
{
	static const struct {
		uint32_t hash;
		int64_t compact_revision;
		bool is_same;
	} cases[] = {{7, 5, true}, {8, 6, true}, {8, 5, false}};
	char *urls[1], *url;
	char name[] = "m0";
	Pb__Member member, *list[] = {&member};

	hash_every_us = 1;
	keep_us = 24 * US_PER_S;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		begin();
		pb__member__init(&member);
		urls[0] = url = xstrdup(server_url(server));
		member.id = SERVER_MEMBER_ID(0);
		member.name = name;
		member.client_urls = urls;
		member.n_client_urls = 1;
		server_set_members(server, list, 1);
		answer_hash(7, 5);
		CHECK(TURN_UNTIL(ev, has_hash()));
		stop();
		answer_hash(cases[i].hash, cases[i].compact_revision);
		start();
		if (cases[i].is_same)
			WAIT_FOR_WATCH(2, 43);
		else
			WAIT_FOR_WATCH(2, 45);
		recorder_fill_report(recorder, &report);
		CHECK_EQ_INT(report.n_gaps, !cases[i].is_same);
		CHECK(cases[i].is_same || strstr(report.gap.reason, "has the HashKV 8, and 7") != NULL);
		stop();
		etcd_free(TAKE_PTR(etcd));
		server_free(TAKE_PTR(server));
		free(url);
	}
	hash_every_us = 0;
	keep_us = 86400 * US_PER_S;
}

/* Of a revision that only deletes, the keys are what can be compared. */
static void deletes_only(const char *then)
{
	begin();
	server_send_events(server, "D45:a", false);
	server_set_revision(server, 45);
	WAIT_FOR_REVISION(45);
	stop();
	server_set_revision(server, 50);
	start();
	WAIT_FOR_WATCH(2, 43);
	COMPACT_AT(45, 3);
	server_send_events(server, then, false);
}

static void test_another_history_of_deletions(void)
{
	static const char *const histories[] = {"P45:a=3 P46:c=1", "D45:b P46:c=1", "P45:x=1 D45:a"};

	for (size_t i = 0; i < ARRAY_SIZE(histories); i++) {
		deletes_only(histories[i]);
		WAIT_FOR_WATCH(4, 51);
		server_send_events(server, "P51:c=1", false);
		WAIT_FOR_REVISION(51);
		end("*43-45. 46-45!. *51-51 ", 1, "history changed");
	}
}

/* That they are gone, when it was compacted there, says nothing. */
static void test_last_only_deletes(void)
{
	static const char *const histories[] = {"D45:a P46:c=1", "P46:c=1"};

	for (size_t i = 0; i < ARRAY_SIZE(histories); i++) {
		deletes_only(histories[i]);
		server_set_revision(server, 46);
		WAIT_FOR_REVISION(46);
		end("*43-45. 46-46 ", 0, "");
	}
}

/* Its last revision is not there any more, and no compaction tells why. */
static void test_last_is_missing(void)
{
	begin();
	stop();
	server_set_revision(server, 50);
	start();
	WAIT_FOR_WATCH(2, 43);
	server_send_events(server, "P45:c=1", false);
	WAIT_FOR_WATCH(3, 51);
	server_send_events(server, "P51:c=1", false);
	WAIT_FOR_REVISION(51);
	end("*43-44. 45-44!. *51-51 ", 1, "history changed");
}

static bool has_error(void)
{
	recorder_fill_report(recorder, &report);
	return report.error[0] != '\0';
}

/* That no member lets itself be watched is said, though etcd answers otherwise. */
static void test_stalled(void)
{
	unsigned n_creates;

	begin();
	CHECK(!has_error());
	server_watch(server)->mute_create = true;
	server_end_stream(server, GRPC_STATUS_UNAVAILABLE, "bye");
	CHECK(TURN_UNTIL(ev, has_error()));
	CHECK_EQ_STR(report.state, "recording");
	n_creates = server_watch(server)->n_creates;
	server_watch(server)->mute_create = false;
	CHECK(TURN_UNTIL(ev, server_watch(server)->n_creates > n_creates));
	server_send_events(server, BEGUN "P45:c=1", false);
	server_set_revision(server, 45);
	WAIT_FOR_REVISION(45);
	CHECK(!has_error());
	end("*43-45 ", 0, "");
}

/* A member that is catching up has not got another history; and it is not begun with again. */
static void test_behind(void)
{
	begin();
	stop();
	server_set_revision(server, 50);
	server_watch(server)->progress_revision = 40;
	start();
	WAIT_FOR_WATCH(3, 43);
	recorder_fill_report(recorder, &report);
	CHECK_EQ_INT(report.n_gaps, 0);
	server_watch(server)->progress_revision = 0;
	server_set_revision(server, 45);
	server_send_events(server, BEGUN "P45:c=1", false);
	WAIT_FOR_REVISION(45);
	end("*43-44. 45-45 ", 0, "");
}

static void test_went_back(void)
{
	begin();
	server_set_revision(server, 10);
	server_end_stream(server, GRPC_STATUS_UNAVAILABLE, "bye");
	WAIT_FOR_WATCH(2, 11);
	CHECK_EQ_INT(needed, 10);
	server_send_events(server, "P11:c=1", false);
	WAIT_FOR_REVISION(11);
	/* By their names. */
	end("*11-11 *43-44!. ", 1, "went back to revision 10");
}

static void test_another_cluster(void)
{
	begin();
	(void) server_cluster_id(server, 2);
	server_end_stream(server, GRPC_STATUS_UNAVAILABLE, "bye");
	WAIT_FOR_WATCH(2, 45);
	server_send_events(server, "P45:c=1", false);
	WAIT_FOR_REVISION(45);
	recorder_fill_report(recorder, &report);
	CHECK_EQ_INT(report.cluster_id, 2);
	end("*43-44!. *45-45 ", 1, "another cluster");
}

static void test_compacted(void)
{
	Pb__WatchResponse response;

	begin();
	server_set_revision(server, 70);
	pb__watch_response__init(&response);
	response.canceled = true;
	response.compact_revision = 60;
	server_send(server, &response);
	WAIT_FOR_WATCH(2, 61);
	CHECK_EQ_INT(needed, 60);
	server_send_events(server, "P60:a=1 P61:c=1", false);
	WAIT_FOR_REVISION(61);
	recorder_fill_report(recorder, &report);
	CHECK_EQ_INT(report.gap.first, 45);
	CHECK_EQ_INT(report.gap.last, 60);
	end("*43-44!. *61-61 ", 1, "compacted");
}

/* What no watch can hold is lost, and nothing but that; nothing was compacted. */
static void test_too_large(void)
{
	AUTO(free) char *event = xcalloc(1, (1 << 20) + 16);

	begin();
	server_set_revision(server, 46);
	(void) snprintf(event, 16, "P45:c=");
	memset(event + strlen(event), 'x', 1 << 20);
	for (int i = 0; i <= 64; i++)
		server_send_events(server, event, true);
	WAIT_FOR_WATCH(2, 46);
	CHECK_EQ_INT(needed, 45);
	server_send_events(server, "P46:c=1", false);
	WAIT_FOR_REVISION(46);
	recorder_fill_report(recorder, &report);
	CHECK_EQ_INT(report.gap.first, 45);
	CHECK_EQ_INT(report.gap.last, 45);
	end("*43-44!. *46-46 ", 1, "revision 45 has more than 64 MiB");
}

/* Watches that end before they bring anything are not begun without pause. */
static void test_in_vain(void)
{
	int64_t before_us;

	begin();
	server_watch(server)->end_at_once = true;
	server_end_stream(server, GRPC_STATUS_UNAVAILABLE, "bye");
	CHECK(TURN_UNTIL(ev, server_watch(server)->n_creates >= 3));
	server_watch(server)->end_at_once = false;
	before_us = mono_now_us();
	WAIT_FOR_WATCH(4, 43);
	CHECK(mono_now_us() - before_us >= 900 * US_PER_MS);
	server_send_events(server, BEGUN "P45:c=1", false);
	server_set_revision(server, 45);
	WAIT_FOR_REVISION(45);
	end("*43-45 ", 0, "");
}

/* Once may be the stream's fault. */
static void test_missing_once(void)
{
	begin();
	server_set_revision(server, 46);
	server_send_events(server, "P46:c=1", false);
	WAIT_FOR_WATCH(2, 43);
	server_send_events(server, BEGUN "P45:b=1 P46:c=1", false);
	WAIT_FOR_REVISION(46);
	end("*43-46 ", 0, "");
}

static void test_missing_twice(void)
{
	begin();
	server_set_revision(server, 46);
	server_send_events(server, "P46:c=1", false);
	WAIT_FOR_WATCH(2, 43);
	server_send_events(server, BEGUN "P46:c=1", false);
	WAIT_FOR_WATCH(3, 46);
	server_send_events(server, "P46:c=1", false);
	WAIT_FOR_REVISION(46);
	recorder_fill_report(recorder, &report);
	CHECK_EQ_INT(report.gap.first, 45);
	CHECK_EQ_INT(report.gap.last, 45);
	end("*43-44!. *46-46 ", 1, "left them out");
}

/* Leases are asked for once they are seen, and recorded beside. */
static void test_leases(void)
{
	Pb__LeaseTimeToLiveResponse ttl = PB__LEASE_TIME_TO_LIVE_RESPONSE__INIT;
	AUTO(record_reader_free) struct record_reader *reader = NULL;
	AUTO(free) char *path = NULL;
	char fault[RECORD_FAULT_MAX], name[RECORD_NAME_MAX];
	struct record_frame frame;
	unsigned n = 0;

	begin();
	ttl.id = 7;
	ttl.ttl = 50;
	ttl.granted_ttl = 60;
	server_set_answer(server, SERVER_TTL, &ttl.base);
	server_set_revision(server, 46);
	server_send_events(server, "P45:c=1@7 P46:d=1@7", false);
	CHECK(TURN_UNTIL(ev, server_calls(server, SERVER_TTL) == 1));
	WAIT_FOR_REVISION(46);
	path = xasprintf(
	    "%s/%s", directory,
	    record_name(&(struct record_header){.cluster_id = 1, .first_revision = 43, .sequence = 1},
	                name));
	/* Until it has got to the file. */
	for (int64_t limit_us = mono_now_us() + TURN_LIMIT_US; n == 0 && mono_now_us() < limit_us;) {
		turn_once(ev);
		record_reader_free(TAKE_PTR(reader));
		if (!CHECK_EQ_INT(record_reader_open(path, &reader, fault), 0))
			break;
		while (record_reader_next(reader, &frame) > 0)
			n += frame.type == RECORD_LEASE && frame.lease == 7 && frame.ttl_s == 60;
	}
	CHECK_EQ_INT(n, 1);
	end("*43-46 ", 0, "");
}

/* Until somebody takes it, and again if that comes to nothing. */
static void test_busy_job(void)
{
	is_busy = true;
	begin();
	CHECK(TURN_UNTIL(ev, needed == 42));
	is_busy = false;
	needed = -1;
	CHECK(TURN_UNTIL(ev, needed == 42));
	needed = -1;
	recorder_snapshot_failed(recorder);
	CHECK(TURN_UNTIL(ev, needed == 42));
	end("*43-44 ", 0, "");
}

/* The daemon was ended before it was there. */
static void test_without_base(void)
{
	begin();
	stop();
	newest = 41;
	start();
	CHECK(TURN_UNTIL(ev, needed == 42));
	end("*43-44. ", 0, "");
}

/* What should go and has to stay, as this node's snapshot is too old, lets it take another one. */
static void test_renews_base(void)
{
	begin();
	stop();
	newest = 43;
	keep_us = 1;
	start();
	WAIT_FOR_WATCH(2, 43);
	/* Or it may be in another segment, when this one is closed. */
	server_watch(server)->mute_progress = true;
	server_send_events(server, BEGUN "P45:c=1", false);
	server_set_revision(server, 45);
	CHECK(TURN_UNTIL(ev, needed == 45));
	end("*43-44. 45-45. ", 0, "");
	keep_us = 86400 * US_PER_S;
}

/* Also when it is for that that nothing can be written. */
static void test_renews_base_when_full(void)
{
	begin();
	stop();
	start();
	WAIT_FOR_WATCH(2, 43);
	server_send_events(server, BEGUN "P45:c=1", false);
	server_set_revision(server, 45);
	WAIT_FOR_REVISION(45);
	stop();
	newest = 43;
	keep_us = 1;
	reserve_bytes = UINT64_C(1) << 60;
	start();
	WAIT_FOR_WATCH(3, 43);
	server_send_events(server, BEGUN "P45:c=1 P46:d=1", false);
	CHECK(TURN_UNTIL(ev, needed == 46));
	recorder_fill_report(recorder, &report);
	CHECK_EQ_STR(report.state, "failed");
	end("*43-44. 45-45. ", 0, "");
	keep_us = 86400 * US_PER_S;
	reserve_bytes = 0;
}

/* --- a segment that is lost --- */

static bool is_open(void)
{
	recorder_fill_report(recorder, &report);
	return strcmp(report.state, "opening") != 0;
}

/* What the last segment had is lost with its header, whatever etcd still has of it. */
static void lose_last(const char *how, bool has_chain)
{
	int64_t last = has_chain ? 45 : 44;

	begin();
	stop();
	if (has_chain) {
		start();
		WAIT_FOR_WATCH(2, 43);
		server_send_events(server, BEGUN "P45:c=1", false);
		server_set_revision(server, 45);
		WAIT_FOR_REVISION(45);
		stop();
	}
	(void) scratch_shell("f=$(ls %s/*.rec | tail -n 1); %s", directory, how);
	/* An end before etcd was asked forgets nothing. */
	start();
	CHECK(TURN_UNTIL(ev, is_open()));
	CHECK_EQ_STR(report.state, "asking");
	stop();
	start();
	WAIT_FOR_WATCH(has_chain ? 3 : 2, last + 1);
	CHECK_EQ_INT(needed, last);
	server_send_events(server, has_chain ? "P46:d=1" : "P45:d=1", false);
	WAIT_FOR_REVISION(last + 1);
	CHECK_EQ_INT(report.gap.first, has_chain ? 45 : 43);
	CHECK_EQ_INT(report.gap.last, 0);
	CHECK(scratch_shell("[ $(ls %s/*.rec.damaged | wc -l) = 1 ]", directory));
	end(has_chain ? "*43-44. 45-44!. *46-46 " : "*43-42!. *45-45 ", 1, "is set aside");
}

static void test_last_is_lost(void)
{
	static const char *const hows[] = {
	    "truncate -s 0 $f",
	    "truncate -s 40 $f",
	    "printf x | dd of=$f bs=1 seek=8 conv=notrunc status=none", /* its version */
	    "printf x | dd of=$f bs=1 seek=20 conv=notrunc status=none",
	};

	for (size_t i = 0; i < ARRAY_SIZE(hows); i++) {
		lose_last(hows[i], false);
		lose_last(hows[i], true);
	}
	/* It is said once, also where all before it were dropped. */
	begin();
	stop();
	(void) scratch_shell("cd %s && truncate -s 0 *.rec && mv *.rec "
	                     "0000000000000001-00000000000000000043-0000000007.rec",
	                     directory);
	start();
	WAIT_FOR_WATCH(2, 45);
	server_send_events(server, "P45:d=1", false);
	server_set_revision(server, 45);
	WAIT_FOR_REVISION(45);
	stop();
	start();
	WAIT_FOR_WATCH(3, 45);
	server_send_events(server, "P45:d=1 P46:e=1", false);
	server_set_revision(server, 46);
	WAIT_FOR_REVISION(46);
	end("*43-42!. *45-45. 46-46 ", 0, "");
}

int main(void)
{
	ev = ev_default_loop(0);
	scratch_enter();
	test_goes_on();
	test_last_without_its_deletions();
	test_history_changed_earlier();
	test_keys_changed();
	test_keys_not_compared();
	test_hash_changed();
	test_another_history();
	test_another_history_of_deletions();
	test_last_only_deletes();
	test_last_is_missing();
	test_stalled();
	test_behind();
	test_went_back();
	test_another_cluster();
	test_compacted();
	test_too_large();
	test_in_vain();
	test_missing_once();
	test_missing_twice();
	test_leases();
	test_busy_job();
	test_without_base();
	test_renews_base();
	test_renews_base_when_full();
	test_last_is_lost();
	scratch_leave();
	return check_result();
}
