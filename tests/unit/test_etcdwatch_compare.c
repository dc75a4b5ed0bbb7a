/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comparing what the members hold, with members that are scripted: when they are asked and when
 * not, what is then told and remembered, over restarts, too. What their hashes mean is in
 * test_etcdwatch_hashes.c.
 */
#include "etcdwatch/health/compare.h"

#include "base/fileio.h"
#include "base/mono.h"
#include "etcdtest/server.h"
#include "tests/unit/check.h"
#include "tests/unit/scratch.h"
#include "tests/unit/threeseen.h"
#include "tests/unit/turn.h"

#define HOUR_US (3600 * US_PER_S)
#define WAIT_US (60 * US_PER_S)
#define N_MEMBERS 3
#define LEADER 1

static struct ev_loop *ev;
static struct server *servers[N_MEMBERS];
static struct etcd *etcd;
static struct compare *compare;
static struct observation *seen;
static bool taking;
static struct doubt doubt;
static const char *directory;
static struct hours between;
static struct zone *utc;

static bool takes_snapshot(const void *userdata)
{
	return *(const bool *) userdata;
}

static void answer(unsigned member, uint32_t hash, int64_t compacted)
{
	Pb__HashKVResponse response = PB__HASH_KVRESPONSE__INIT;

	response.hash = hash;
	response.compact_revision = compacted;
	server_set_answer(servers[member], SERVER_HASHKV, &response.base);
}

static void start(void)
{
	const struct compare_options options = {
	    .ev = ev,
	    .etcd = etcd,
	    .prefix = "test/",
	    .every_us = 4 * HOUR_US,
	    .between = between,
	    .zone = utc,
	    .directory = directory,
	    .doubt = &doubt,
	    .takes_snapshot = takes_snapshot,
	    .userdata = &taking,
	};

	CHECK_EQ_INT(compare_new(&options, &compare), 0);
	/* From here on it counts. */
	compare_look(compare, seen);
}

static void begin(void)
{
	const char *urls[N_MEMBERS];
	struct etcd_options options = {.endpoints = urls, .n_endpoints = N_MEMBERS};
	char error[ETCD_ERROR_TEXT_MAX];

	taking = false;
	doubt = (struct doubt){0};
	seen = threeseen_new();
	seen->now_us = HOUR_US;
	for (unsigned i = 0; i < N_MEMBERS; i++) {
		servers[i] = server_new(ev, i, 0);
		urls[i] = server_url(servers[i]);
		(void) snprintf(seen->members[i].endpoint, VIEW_URL_MAX, "%s", urls[i]);
		answer(i, 5, 30);
	}
	CHECK_EQ_INT(etcd_new(ev, &options, error, &etcd), 0);
	start();
}

static void end(void)
{
	compare_free(TAKE_PTR(compare));
	etcd_free(TAKE_PTR(etcd));
	for (unsigned i = 0; i < N_MEMBERS; i++)
		server_free(TAKE_PTR(servers[i]));
	free(TAKE_PTR(seen));
}

static uint64_t n_done(void)
{
	struct compare_report report;

	compare_fill_report(compare, &report);
	return report.n_same + report.n_differ + report.n_nothing;
}

static unsigned n_looks(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < N_MEMBERS; i++)
		n += server_calls(servers[i], SERVER_RANGE);
	return n;
}

static unsigned n_asked(unsigned member)
{
	return server_calls(servers[member], SERVER_HASHKV);
}

/* Time passes, and one is made; a little later where the last one took long. */
static void compare_after(int64_t us)
{
	int64_t deadline_us = mono_now_us() + WAIT_US;
	uint64_t n = n_done();

	for (seen->now_us += us; n_done() == n && mono_now_us() < deadline_us;
	     seen->now_us += 100 * US_PER_MS) {
		compare_look(compare, seen);
		turn_once(ev);
	}
	CHECK_EQ_INT(n_done(), n + 1);
}

static void check_seen(const char *want)
{
	char got[8] = "";

	compare_fill(compare, seen);
	for (size_t i = 0; i < N_MEMBERS; i++)
		got[i] = ".+-"[seen->members[i].data];
	got[N_MEMBERS] = ".+-"[seen->data];
	CHECK_EQ_STR(got, want);
}

/* The leader once a day; nobody before it is time. */
static void test_asked(void)
{
	struct compare_report report;

	begin();
	seen->now_us += 400 * US_PER_S;
	compare_look(compare, seen);
	CHECK_EQ_INT(n_looks(), 0);
	compare_after(400 * US_PER_S);
	check_seen("++++");
	CHECK_EQ_INT(n_asked(LEADER), 1);
	seen->now_us += 2 * HOUR_US;
	compare_look(compare, seen);
	CHECK_EQ_INT(n_looks(), 1);
	compare_after(3 * HOUR_US);
	CHECK_EQ_INT(n_asked(0), 2);
	CHECK_EQ_INT(n_asked(2), 2);
	CHECK_EQ_INT(n_asked(LEADER), 1);
	compare_after(24 * HOUR_US);
	CHECK_EQ_INT(n_asked(LEADER), 2);
	compare_fill_report(compare, &report);
	CHECK_EQ_INT(report.n_same, 3);
	CHECK(report.result == HASHES_SAME && report.compared_s > 0 && report.took_us > 0);
	CHECK_EQ_INT(report.revision, 90);
	end();
}

static int64_t next_s(void)
{
	struct compare_report report;

	compare_fill_report(compare, &report);
	return report.next_s;
}

/* At night, unless there is something that may be wrong. */
static void test_between(void)
{
	const int64_t day_s = 86400;

	CHECK_EQ_INT(hours_parse("01:00-05:00", &between), 0);
	begin();
	seen->now_us += HOUR_US;
	seen->wall_s = 20000 * day_s + 12 * 3600;
	compare_look(compare, seen);
	CHECK_EQ_INT(n_looks(), 0);
	CHECK(next_s() >= 20001 * day_s + 3600 && next_s() <= 20001 * day_s + 7200);
	seen->now_us += 12 * HOUR_US;
	seen->wall_s = 20001 * day_s + 3599;
	compare_look(compare, seen);
	CHECK_EQ_INT(n_looks(), 0);
	seen->wall_s = 20001 * day_s + 7200;
	CHECK(next_s() <= seen->wall_s);
	compare_after(US_PER_S);
	CHECK(next_s() > seen->wall_s);
	/* Not by day, but for what a snapshot has shown, and to be certain. */
	seen->now_us += 8 * HOUR_US;
	seen->wall_s += 8 * 3600;
	compare_look(compare, seen);
	CHECK_EQ_INT(n_looks(), 1);
	CHECK(next_s() >= 20002 * day_s + 3600 && next_s() <= 20002 * day_s + 7200);
	answer(2, 6, 30);
	doubt_note_proof(&doubt, true, true);
	compare_after(US_PER_S);
	check_seen("++.+");
	compare_after(60 * US_PER_S);
	check_seen("++-+");
	answer(2, 5, 30);
	compare_after(620 * US_PER_S);
	check_seen("++++");
	CHECK(next_s() >= 20002 * day_s + 3600);
	end();
	between = (struct hours){0};
}

/* Looked at again after a minute, and only then told; cured after ten. */
static void test_differs(void)
{
	begin();
	compare_after(HOUR_US);
	answer(2, 6, 30);
	compare_after(5 * HOUR_US);
	CHECK_EQ_INT(n_asked(LEADER), 2);
	check_seen("++.+");
	seen->now_us += 30 * US_PER_S;
	compare_look(compare, seen);
	CHECK_EQ_INT(n_looks(), 2);
	compare_after(60 * US_PER_S);
	check_seen("++-+");
	answer(2, 5, 30);
	compare_after(620 * US_PER_S);
	check_seen("++++");
	end();
}

/* The leader too, which is not asked again for a day where it does not. */
static void test_leader_differs(void)
{
	begin();
	answer(LEADER, 6, 30);
	compare_after(HOUR_US);
	check_seen("+.++");
	compare_after(60 * US_PER_S);
	check_seen("+-++");
	answer(LEADER, 5, 30);
	compare_after(620 * US_PER_S);
	check_seen("++++");
	end();
}

/* A snapshot has shown that one does: not when the next one is due, but now, and once. */
static void test_disagrees(void)
{
	begin();
	compare_after(HOUR_US);
	answer(2, 6, 30);
	doubt_note_proof(&doubt, true, true);
	compare_after(US_PER_S);
	check_seen("++.+");
	/* The next one too: confirmed is not before it is time. */
	doubt_note_proof(&doubt, true, true);
	seen->now_us += 30 * US_PER_S;
	compare_look(compare, seen);
	CHECK_EQ_INT(n_looks(), 2);
	compare_after(60 * US_PER_S);
	check_seen("++-+");
	end();
}

/* Of members that were removed nothing stays known, and a cluster of one voter cannot differ, since
 * it is not compared any more. */
static void test_removed(void)
{
	begin();
	answer(2, 6, 30);
	compare_after(HOUR_US);
	compare_after(60 * US_PER_S);
	check_seen("++-+");
	seen->members[2].listed = false;
	seen->list_known = false;
	compare_look(compare, seen);
	check_seen("++-+");
	seen->list_known = true;
	compare_look(compare, seen);
	check_seen("++.+");
	CHECK(!compare_differ(compare));
	end();
	begin();
	for (unsigned i = 0; i < N_MEMBERS; i++)
		answer(i, 5 + i, 30);
	compare_after(HOUR_US);
	compare_after(60 * US_PER_S);
	check_seen("...-");
	seen->members[2].listed = false;
	compare_look(compare, seen);
	check_seen("...-");
	CHECK(compare_differ(compare));
	seen->members[0].listed = false;
	compare_look(compare, seen);
	check_seen("....");
	CHECK(!compare_differ(compare));
	end();
}

static bool differs(void)
{
	return compare_differ(compare);
}

static bool is_seen_again(void)
{
	compare_fill(compare, seen);
	return seen->members[2].data == OBSERVED_BAD;
}

static const char *wanted_text;

static bool is_written(void)
{
	AUTO(free) char *text = NULL;
	size_t len;

	return file_read(COMPARE_FILE, 1024, &text, &len) == 0 && strcmp(text, wanted_text) == 0;
}

static void wait_until(bool (*is_so)(void), bool want)
{
	int64_t deadline_us = mono_now_us() + WAIT_US;

	while (is_so() != want && mono_now_us() < deadline_us)
		turn_once(ev);
	CHECK_EQ_INT(is_so(), want);
}

/* Once that is written. */
static void restart(const char *text, bool (*is_so)(void), bool want)
{
	wanted_text = text;
	wait_until(is_written, true);
	compare_free(TAKE_PTR(compare));
	start();
	/* Until it is read, they may. */
	CHECK(differs());
	wait_until(is_so, want);
	compare_look(compare, seen);
}

/* Over restarts: once as well as for certain, and that they do not any more. */
static void test_remembered(void)
{
	scratch_enter();
	directory = scratch_dir;
	begin();
	wait_until(differs, false);
	compare_look(compare, seen);
	answer(2, 6, 30);
	compare_after(HOUR_US);
	check_seen("++.+");
	restart("0000000000000003 1\n", differs, false);
	compare_after(60 * US_PER_S);
	check_seen("++-+");
	restart("0000000000000003 2\n", is_seen_again, true);
	check_seen("..-.");
	CHECK(differs());
	answer(2, 5, 30);
	compare_after(600 * US_PER_S);
	check_seen("++++");
	restart("", differs, false);
	check_seen("....");
	end();
	directory = NULL;
	scratch_leave();
}

static void run_versions(const char *version)
{
	for (size_t i = 0; i < N_MEMBERS; i++)
		(void) snprintf(seen->members[i].version, VIEW_VERSION_MAX, "%s", version);
}

static void refuse(unsigned member, unsigned times)
{
	server_set(
	    servers[member], SERVER_HASHKV,
	    (struct server_rule){.code = GRPC_STATUS_OUT_OF_RANGE,
	                         .text = "etcdserver: mvcc: required revision has been compacted",
	                         .times = times});
}

/* Compacted at the very revision: 3.4 is asked for what it holds now, and others are not, who would
 * tell what they held once. */
static void test_compacted(void)
{
	begin();
	run_versions("3.4.23");
	refuse(0, 1);
	compare_after(HOUR_US);
	check_seen("++++");
	CHECK_EQ_INT(n_asked(0), 2);
	/* For ever: nothing comes of it. */
	for (unsigned i = 0; i < N_MEMBERS; i++)
		refuse(i, 0);
	compare_after(5 * HOUR_US);
	check_seen("++++");
	CHECK_EQ_INT(n_asked(0), 4);
	end();
	begin();
	run_versions("3.5.16");
	refuse(0, 1);
	compare_after(HOUR_US);
	CHECK_EQ_INT(n_asked(0), 1);
	check_seen(".+++");
	end();
}

static void set_claim(const char *key)
{
	Pb__RangeResponse response = PB__RANGE_RESPONSE__INIT;
	Pb__KeyValue kv = PB__KEY_VALUE__INIT, *kvs = &kv;

	kv.key = (ProtobufCBinaryData){.data = (uint8_t *) (uintptr_t) key, .len = strlen(key)};
	response.n_kvs = 1;
	response.kvs = &kvs;
	for (unsigned i = 0; i < N_MEMBERS; i++)
		server_set_answer(servers[i], SERVER_RANGE, &response.base);
}

/* A minute passes each time, until so many have begun: those before were given up. */
static void look_until(unsigned n)
{
	int64_t deadline_us = mono_now_us() + WAIT_US;

	while (n_looks() < n && mono_now_us() < deadline_us) {
		seen->now_us += 61 * US_PER_S;
		compare_look(compare, seen);
		turn_once(ev);
	}
	CHECK(n_looks() >= n);
	CHECK_EQ_INT(n_asked(0) + n_asked(1) + n_asked(2), 0);
}

static void test_busy(void)
{
	begin();
	taking = true;
	look_until(3);
	set_claim("test/etcdwatch/hourly/claim/3600");
	look_until(6);
	taking = false;
	look_until(9);
	set_claim("test/etcdwatch/hourly/done/3600");
	for (unsigned i = 0; i < N_MEMBERS; i++)
		answer(i, 5, 30);
	while (n_done() == 0) {
		seen->now_us += 61 * US_PER_S;
		compare_look(compare, seen);
		turn_once(ev);
	}
	check_seen("++++");
	end();
}

/* In the middle of it. */
static void test_given_up(void)
{
	begin();
	server_set(servers[0], SERVER_HASHKV, (struct server_rule){.silent = true});
	seen->now_us += HOUR_US;
	compare_look(compare, seen);
	while (n_asked(0) == 0)
		turn_once(ev);
	end();
}

int main(void)
{
	ev = ev_loop_new(EVFLAG_AUTO);
	test_asked();
	CHECK_EQ_INT(zone_load(NULL, "UTC", &utc), 0);
	test_between();
	zone_free(TAKE_PTR(utc));
	test_differs();
	test_leader_differs();
	test_disagrees();
	test_removed();
	test_remembered();
	test_compacted();
	test_busy();
	test_given_up();
	ev_loop_destroy(ev);
	return check_result();
}
