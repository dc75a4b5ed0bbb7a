/* SPDX-License-Identifier: Apache-2.0 */
/* What one member says of itself, and the alarms: scripted servers first, then a real member. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "check.h"
#include "etcd/etcd.h"
#include "etcdtest/cluster.h"
#include "etcdtest/server.h"
#include "etcdtest/sync.h"
#include "turn.h"

static struct ev_loop *ev;
static struct server *servers[2];
static struct etcd *etcd;

static void begin(size_t n, const char *user)
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

static void end(void)
{
	etcd_free(TAKE_PTR(etcd));
	for (size_t i = 0; i < ARRAY_SIZE(servers); i++)
		server_free(TAKE_PTR(servers[i]));
}

static int elapsed_ms(const struct answer *a)
{
	return (int) ((a->done_us - a->asked_us) / US_PER_MS);
}

/* --- status --- */

static void test_status_of_3_6(void)
{
	Pb__StatusResponse status;
	char *errors[] = {(char *) (uintptr_t) "etcdserver: no leader",
	                  (char *) (uintptr_t) "memberID:100 alarm:NOSPACE "};
	struct answer a;

	begin(1, NULL);
	pb__status_response__init(&status);
	status.version = (char *) (uintptr_t) "3.6.1";
	status.storage_version = (char *) (uintptr_t) "3.6.0";
	status.db_size = 8192;
	status.db_size_in_use = 4096;
	status.db_size_quota = INT64_C(8) << 30;
	status.raft_index = 12;
	status.raft_applied_index = 11;
	status.is_learner = true;
	status.errors = errors;
	status.n_errors = ARRAY_SIZE(errors);
	server_set_answer(servers[0], SERVER_STATUS, &status.base);
	a = sync_status(ev, etcd, server_url(servers[0]));
	CHECK_EQ_INT(a.r, 0);
	CHECK_EQ_STR(a.version_text, "3.6.1");
	CHECK_EQ_STR(a.storage_version, "3.6.0");
	CHECK_EQ_INT(a.db_size_bytes, 8192);
	CHECK_EQ_INT(a.db_size_in_use_bytes, 4096);
	CHECK_EQ_INT(a.db_size_quota_bytes, INT64_C(8) << 30);
	CHECK_EQ_INT(a.raft_index, 12);
	CHECK_EQ_INT(a.raft_applied_index, 11);
	CHECK(a.learner);
	CHECK_EQ_INT(a.n_errors, 2);
	CHECK_EQ_STR(a.error, "memberID:100 alarm:NOSPACE ");
	CHECK(!server_last_has_leader(servers[0]));
	end();
}

/* No token is to be had without a quorum, and those who want none need not wait for it. */
static void test_status_waits_for_no_token(void)
{
	struct answer a;

	begin(1, "root");
	server_set(servers[0], SERVER_AUTHENTICATE, (struct server_rule){.silent = true});
	server_set_open(servers[0], SERVER_STATUS);
	server_set_open(servers[0], SERVER_MEMBERS);
	a = sync_status(ev, etcd, server_url(servers[0]));
	CHECK_EQ_INT(a.r, 0);
	CHECK_EQ_INT(sync_members(ev, etcd).r, 0);
	CHECK_EQ_INT(server_calls(servers[0], SERVER_AUTHENTICATE), 0);
	end();
}

static void test_status_of_those_who_want_a_token(void)
{
	begin(1, "root");
	CHECK_EQ_INT(sync_status(ev, etcd, server_url(servers[0])).r, 0);
	CHECK_EQ_INT(server_calls(servers[0], SERVER_STATUS), 2);
	CHECK_EQ_INT(server_calls(servers[0], SERVER_AUTHENTICATE), 1);
	/* Now that it is there, it is sent at once. */
	CHECK_EQ_INT(sync_status(ev, etcd, server_url(servers[0])).r, 0);
	CHECK_EQ_INT(server_calls(servers[0], SERVER_STATUS), 3);
	CHECK_EQ_INT(server_calls(servers[0], SERVER_AUTHENTICATE), 1);
	end();
}

/* --- hashkv --- */

static void answer_hashkv(struct server *server, uint32_t hash)
{
	Pb__HashKVResponse answer;

	pb__hash_kvresponse__init(&answer);
	answer.hash = hash;
	answer.compact_revision = -1;
	answer.hash_revision = 41;
	server_set_answer(server, SERVER_HASHKV, &answer.base);
}

static void test_hashkv(void)
{
	struct answer a;

	begin(2, NULL);
	answer_hashkv(servers[0], 1);
	answer_hashkv(servers[1], 0xfffffffe);
	a = sync_hashkv(ev, etcd, server_url(servers[1]), 0, 1000);
	CHECK_EQ_INT(a.r, 0);
	CHECK_EQ_INT(a.hashkv.hash, 0xfffffffe);
	CHECK_EQ_INT(a.hashkv.compact_revision, -1);
	CHECK_EQ_INT(a.hashkv.hash_revision, 41);
	CHECK_EQ_INT(a.revision, 42);
	CHECK_EQ_INT(a.member_id, SERVER_MEMBER_ID(1));
	CHECK(!server_last_has_leader(servers[1]));
	CHECK_EQ_INT(server_calls(servers[0], SERVER_HASHKV), 0);
	end();
}

/* Its deadline is neither the client's nor shortened by it. */
static void test_hashkv_deadline(void)
{
	struct answer a;

	begin(1, NULL);
	server_set(servers[0], SERVER_HASHKV, (struct server_rule){.delay_ms = 1800});
	CHECK_EQ_INT(sync_hashkv(ev, etcd, server_url(servers[0]), 0, 5000).r, 0);
	a = sync_hashkv(ev, etcd, server_url(servers[0]), 0, 400);
	CHECK_EQ_INT(a.r, -ETIMEDOUT);
	CHECK(strstr(a.text, "within 400 ms") != NULL);
	/* Not the seconds that the server takes. */
	CHECK(elapsed_ms(&a) >= 399 && elapsed_ms(&a) < 1800 + (int) (a.stolen_us / US_PER_MS));
	CHECK(TURN_UNTIL(ev, server_cancelled(servers[0]) == 1));
	CHECK_EQ_INT(server_calls(servers[0], SERVER_HASHKV), 2);
	end();
}

/* The scan is dear: it is not started again, there or elsewhere. */
static void test_hashkv_is_asked_once(void)
{
	struct answer a;

	begin(2, NULL);
	server_set(servers[0], SERVER_HASHKV,
	           (struct server_rule){.code = GRPC_STATUS_UNAVAILABLE,
	                                .text = "etcdserver: server stopped"});
	a = sync_hashkv(ev, etcd, server_url(servers[0]), 0, 3000);
	CHECK_EQ_INT(a.r, -EHOSTUNREACH);
	CHECK(!a.ambiguous);
	CHECK(elapsed_ms(&a) < 3000);
	CHECK_EQ_INT(server_calls(servers[0], SERVER_HASHKV), 1);
	CHECK_EQ_INT(server_calls(servers[1], SERVER_HASHKV), 0);
	end();
}

static void test_names(void)
{
	AUTO(free) char *other = NULL;
	struct answer a;

	begin(1, NULL);
	other = xasprintf("HTTP%s/", server_url(servers[0]) + strlen("http"));
	a = sync_status(ev, etcd, other);
	CHECK_EQ_INT(a.r, 0);
	CHECK_EQ_STR(a.endpoint, server_url(servers[0]));
	CHECK_EQ_INT(etcd_endpoint_status(etcd, "http://127.0.0.1:1", answer_on_status, &a, NULL),
	             -ENOENT);
	CHECK_EQ_INT(etcd_endpoint_status(etcd, "nonsense", answer_on_status, &a, NULL), -ENOENT);
	CHECK_EQ_INT(etcd_endpoint_hashkv(etcd, "", 0, 1000, answer_on_hashkv, &a, NULL), -ENOENT);
	CHECK_EQ_INT(etcd_endpoint_hashkv(etcd, other, -1, 1000, answer_on_hashkv, &a, NULL), -EINVAL);
	CHECK_EQ_INT(etcd_endpoint_hashkv(etcd, other, 1, 0, answer_on_hashkv, &a, NULL), -EINVAL);
	end();
}

static void test_alarms(void)
{
	Pb__AlarmResponse answer;
	Pb__AlarmMember members[2];
	Pb__AlarmMember *list[] = {&members[0], &members[1]};
	struct answer a;

	begin(1, NULL);
	a = sync_alarms(ev, etcd);
	CHECK_EQ_INT(a.r, 0);
	CHECK_EQ_INT(a.n_alarms, 0);
	CHECK(server_last_has_leader(servers[0]));
	pb__alarm_response__init(&answer);
	pb__alarm_member__init(&members[0]);
	pb__alarm_member__init(&members[1]);
	members[0].member_id = 7;
	members[0].alarm = PB__ALARM_MEMBER__TYPE__CORRUPT;
	members[1].member_id = UINT64_MAX;
	members[1].alarm = (Pb__AlarmMember__Type) 9;
	answer.alarms = list;
	answer.n_alarms = ARRAY_SIZE(list);
	server_set_answer(servers[0], SERVER_ALARM, &answer.base);
	a = sync_alarms(ev, etcd);
	CHECK_EQ_INT(a.n_alarms, 2);
	CHECK_EQ_INT(a.alarms[0].member_id, 7);
	CHECK_EQ_INT(a.alarms[0].type, ETCD_ALARM_CORRUPT);
	CHECK(a.alarms[1].member_id == UINT64_MAX);
	CHECK_EQ_INT(a.alarms[1].type, 9);
	end();
}

/* --- a real member --- */

static uint32_t hash_by_etcdctl(const struct cluster *cluster)
{
	AUTO(free) char *json = NULL;
	const char *hash;
	size_t len;

	CHECK(cluster_ctl(cluster, "endpoint hashkv -w json >m0.hashkv"));
	CHECK_EQ_INT(file_read(cluster_file(cluster, "m0.hashkv"), 4096, &json, &len), 0);
	hash = strstr(json, "\"hash\":");
	CHECK(hash != NULL);
	return hash != NULL ? (uint32_t) strtoul(hash + strlen("\"hash\":"), NULL, 10) : 0;
}

static void test_real_hashkv(const struct cluster *cluster, const char *url)
{
	int64_t first = sync_put(ev, etcd, "h/1", "one", 0).revision;
	struct answer a = sync_hashkv(ev, etcd, url, 0, 5000);
	struct answer b = sync_hashkv(ev, etcd, url, first, 5000);
	AUTO(free) char *compact = xasprintf("compact %lld", (long long) first + 1);

	CHECK_EQ_INT(a.r, 0);
	CHECK_EQ_INT(a.revision, first);
	CHECK_EQ_INT(a.hashkv.compact_revision, -1);
	CHECK_EQ_INT(b.hashkv.hash, a.hashkv.hash);
	CHECK_EQ_INT(hash_by_etcdctl(cluster), a.hashkv.hash);

	/* What came later does not change the hash of what was before. */
	CHECK_EQ_INT(sync_put(ev, etcd, "h/1", "two", 0).r, 0);
	b = sync_hashkv(ev, etcd, url, first, 5000);
	CHECK_EQ_INT(b.hashkv.hash, a.hashkv.hash);
	CHECK_EQ_INT(b.revision, first + 1);
	b = sync_hashkv(ev, etcd, url, 0, 5000);
	CHECK(b.hashkv.hash != a.hashkv.hash);
	CHECK_EQ_INT(hash_by_etcdctl(cluster), b.hashkv.hash);

	CHECK_EQ_INT(sync_hashkv(ev, etcd, url, first + 100, 5000).r, -EAGAIN);
	CHECK(cluster_ctl(cluster, compact));
	CHECK_EQ_INT(sync_hashkv(ev, etcd, url, first, 5000).r, -ESTALE);
	CHECK_EQ_INT(sync_hashkv(ev, etcd, url, 0, 5000).hashkv.compact_revision, first + 1);
}

static void test_real_alarm(const char *url)
{
	AUTO(free) char *value = xcalloc(1, 64 * 1024 + 1);
	struct answer a = sync_status(ev, etcd, url);
	struct etcd_alarm alarm;
	unsigned n = 0;

	CHECK(a.raft_index >= a.raft_applied_index && a.raft_applied_index > 0);
	CHECK(a.db_size_bytes > 0 && a.db_size_in_use_bytes > 0);
	CHECK_EQ_INT(a.n_errors, 0);
	CHECK(!a.learner);
	CHECK_EQ_INT(sync_alarms(ev, etcd).n_alarms, 0);
	memset(value, 'x', 64UL * 1024);
	/* The size is what the last commit left, and commits are 100 ms apart. */
	for (; a.r == 0 && n < 1000; n++)
		a = sync_put(ev, etcd, "big", value, 0);
	CHECK_EQ_INT(a.r, -ENOSPC);
	a = sync_alarms(ev, etcd);
	CHECK_EQ_INT(a.r, 0);
	CHECK_EQ_INT(a.n_alarms, 1);
	CHECK_EQ_INT(a.alarms[0].type, ETCD_ALARM_NOSPACE);
	alarm = a.alarms[0];
	a = sync_status(ev, etcd, url);
	CHECK_EQ_INT(alarm.member_id, a.member_id);
	CHECK_EQ_INT(a.n_errors, 1);
	CHECK(strstr(a.error, "NOSPACE") != NULL);
}

static void test_real_member(void)
{
	struct cluster *cluster = cluster_new(1, CLUSTER_SMALL);
	const char *url = cluster_urls(cluster)[0];
	struct etcd_options options = {
	    .endpoints = &url, .n_endpoints = 1, .call_timeout_ms = 10000, .hedge_ms = 10000};
	char error[ETCD_ERROR_TEXT_MAX];

	CHECK_EQ_INT(etcd_new(ev, &options, error, &etcd), 0);
	test_real_hashkv(cluster, url);
	test_real_alarm(url);
	etcd_free(TAKE_PTR(etcd));
	cluster_free(cluster);
}

int main(void)
{
	ev = ev_default_loop(0);
	test_status_of_3_6();
	test_status_waits_for_no_token();
	test_status_of_those_who_want_a_token();
	test_hashkv();
	test_hashkv_deadline();
	test_hashkv_is_asked_once();
	test_names();
	test_alarms();
	test_real_member();
	ev_loop_destroy(ev);
	return check_result();
}
