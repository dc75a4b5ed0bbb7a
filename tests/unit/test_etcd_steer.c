/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that ask one member of several, and calls that change the cluster: scripted servers first,
 * then real members. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "check.h"
#include "etcd/etcd.h"
#include "etcd/steer.h"
#include "etcdtest/cluster.h"
#include "etcdtest/server.h"
#include "etcdtest/sync.h"

#define MEMBERS 3
#define PATIENT_MS 10000

static struct ev_loop *ev;
static struct server *servers[2];
static struct cluster *cluster;
static struct etcd *etcd;

static void begin(void)
{
	const char *urls[2];
	struct etcd_options options = {.endpoints = urls, .n_endpoints = 2, .call_timeout_ms = 5000};
	char error[ETCD_ERROR_TEXT_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(servers); i++) {
		servers[i] = server_new(ev, (unsigned) i, 0);
		urls[i] = server_url(servers[i]);
	}
	CHECK_EQ_INT(etcd_new(ev, &options, error, &etcd), 0);
}

static void end(void)
{
	etcd_free(TAKE_PTR(etcd));
	for (size_t i = 0; i < ARRAY_SIZE(servers); i++)
		server_free(TAKE_PTR(servers[i]));
}

/* --- one of several --- */

static void test_range_of_one(void)
{
	const char *second;
	struct answer a;

	begin();
	second = server_url(servers[1]);
	a = sync_endpoint_get(ev, etcd, second, "k", false, 0);
	CHECK_EQ_INT(a.r, 0);
	CHECK_EQ_INT(a.member_id, SERVER_MEMBER_ID(1));
	CHECK(a.sent_us >= a.asked_us && a.received_us >= a.sent_us && a.done_us >= a.received_us);
	CHECK(server_last_has_leader(servers[1]));
	a = sync_endpoint_get(ev, etcd, second, "k", true, 0);
	CHECK_EQ_INT(a.r, 0);
	CHECK(!server_last_has_leader(servers[1]));
	CHECK_EQ_INT(server_calls(servers[0], SERVER_RANGE), 0);
	/* Who was named is not preferred from now on. */
	CHECK_EQ_INT(sync_get(ev, etcd, "k").member_id, SERVER_MEMBER_ID(0));
	end();
}

/* The other one, which would answer, is not asked however long it takes. */
static void test_range_of_a_silent_one(void)
{
	struct answer a;

	begin();
	/* What is not connected yet is not silent. */
	CHECK_EQ_INT(sync_endpoint_get(ev, etcd, server_url(servers[1]), "k", true, 0).r, 0);
	server_set(servers[1], SERVER_RANGE, (struct server_rule){.silent = true});
	a = sync_endpoint_get(ev, etcd, server_url(servers[1]), "k", true, 600);
	CHECK_EQ_INT(a.r, -ETIMEDOUT);
	CHECK(strstr(a.text, "within 600 ms") != NULL);
	CHECK_EQ_INT(server_calls(servers[0], SERVER_RANGE), 0);
	end();
}

static void test_members_of_one(void)
{
	struct answer a;

	begin();
	a = sync_endpoint_members(ev, etcd, server_url(servers[1]), false, 0);
	CHECK_EQ_INT(a.r, 0);
	CHECK(!server_last_has_leader(servers[1]));
	a = sync_endpoint_members(ev, etcd, server_url(servers[1]), true, 0);
	CHECK_EQ_INT(a.r, 0);
	CHECK(server_last_has_leader(servers[1]));
	CHECK_EQ_INT(server_calls(servers[0], SERVER_MEMBERS), 0);
	server_set(servers[1], SERVER_MEMBERS, (struct server_rule){.silent = true});
	CHECK_EQ_INT(sync_endpoint_members(ev, etcd, server_url(servers[1]), false, 300).r, -ETIMEDOUT);
	end();
}

/* --- once --- */

/* One that broke off may be at work still: neither it nor another is asked again. */
static void test_each_is_made_once(void)
{
	static const enum server_method methods[] = {
	    SERVER_DEFRAGMENT, SERVER_MOVE_LEADER, SERVER_MEMBER_REMOVE, SERVER_ALARM, SERVER_COMPACT};
	const char *first;
	struct answer a[ARRAY_SIZE(methods)];

	begin();
	first = server_url(servers[0]);
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		server_set(servers[0], methods[i],
		           (struct server_rule){.code = GRPC_STATUS_UNAVAILABLE,
		                                .text = "etcdserver: server stopped"});
	a[0] = sync_defragment(ev, etcd, first, PATIENT_MS);
	a[1] = sync_move_leader(ev, etcd, first, 1);
	a[2] = sync_member_remove(ev, etcd, first, 1);
	a[3] = sync_disarm(ev, etcd, first, 1, ETCD_ALARM_NOSPACE);
	a[4] = sync_compact(ev, etcd, first, 1, true);
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		CHECK_EQ_INT(a[i].r, -EHOSTUNREACH);
		CHECK(a[i].ambiguous);
		CHECK_EQ_INT(server_calls(servers[0], methods[i]), 1);
		CHECK_EQ_INT(server_calls(servers[1], methods[i]), 0);
	}
	end();
}

static void test_refusals(void)
{
	struct answer a;

	begin();
	server_set(servers[1], SERVER_MOVE_LEADER,
	           (struct server_rule){.code = GRPC_STATUS_FAILED_PRECONDITION,
	                                .text = "etcdserver: not leader"});
	a = sync_move_leader(ev, etcd, server_url(servers[1]), 5);
	CHECK_EQ_INT(a.r, -EPROTO);
	CHECK(!a.ambiguous);
	CHECK_EQ_STR(a.text, "etcdserver: not leader");
	server_set(servers[0], SERVER_MEMBER_REMOVE,
	           (struct server_rule){.code = GRPC_STATUS_NOT_FOUND,
	                                .text = "etcdserver: member not found"});
	CHECK_EQ_INT(sync_member_remove(ev, etcd, server_url(servers[0]), 5).r, -ENOENT);
	end();
}

/* A database of some size takes longer than all that a client waits for otherwise. */
static void test_deadline_of_its_own(void)
{
	struct answer a;

	begin();
	etcd_free(TAKE_PTR(etcd));
	{
		const char *url = server_url(servers[0]);
		struct etcd_options options = {.endpoints = &url, .n_endpoints = 1, .call_timeout_ms = 100};
		char error[ETCD_ERROR_TEXT_MAX];

		CHECK_EQ_INT(etcd_new(ev, &options, error, &etcd), 0);
	}
	server_set(servers[0], SERVER_DEFRAGMENT, (struct server_rule){.delay_ms = 700});
	CHECK_EQ_INT(sync_defragment(ev, etcd, server_url(servers[0]), PATIENT_MS).r, 0);
	CHECK(!server_last_has_leader(servers[0]));
	server_set(servers[0], SERVER_DEFRAGMENT, (struct server_rule){.silent = true});
	a = sync_defragment(ev, etcd, server_url(servers[0]), 400);
	CHECK_EQ_INT(a.r, -ETIMEDOUT);
	CHECK(a.ambiguous);
	CHECK(strstr(a.text, "within 400 ms") != NULL);
	end();
}

static void test_names(void)
{
	struct etcd_range range = {.key = ETCD_STR("k")};
	const char *none = "http://127.0.0.1:1";
	struct answer a = {0};

	begin();
	CHECK_EQ_INT(etcd_endpoint_range(etcd, none, &range, 0, answer_on_range, &a, NULL), -ENOENT);
	CHECK_EQ_INT(etcd_endpoint_member_list(etcd, none, false, 0, answer_on_members, &a, NULL),
	             -ENOENT);
	CHECK_EQ_INT(etcd_endpoint_defragment(etcd, none, 1, answer_on_done, &a, NULL), -ENOENT);
	CHECK_EQ_INT(etcd_endpoint_move_leader(etcd, none, 1, 1, answer_on_done, &a, NULL), -ENOENT);
	CHECK_EQ_INT(
	    etcd_endpoint_defragment(etcd, server_url(servers[0]), 0, answer_on_done, &a, NULL),
	    -EINVAL);
	CHECK_EQ_INT(
	    etcd_endpoint_member_remove(etcd, server_url(servers[0]), 1, 0, answer_on_done, &a, NULL),
	    -EINVAL);
	CHECK_EQ_INT(a.n_callbacks, 0);
	end();
}

/* --- real members --- */

static void client_start(size_t n, unsigned timeout_ms)
{
	struct etcd_options options = {.endpoints = cluster_urls(cluster),
	                               .n_endpoints = n,
	                               .call_timeout_ms = timeout_ms,
	                               .hedge_ms = timeout_ms};
	char error[ETCD_ERROR_TEXT_MAX];

	CHECK_EQ_INT(etcd_new(ev, &options, error, &etcd), 0);
}

/* Its index; MEMBERS: none within some seconds. */
static size_t wait_for_leader(void)
{
	for (int tries = 0; tries < 200; tries++) {
		for (size_t i = 0; i < MEMBERS; i++) {
			struct answer a = sync_status(ev, etcd, cluster_urls(cluster)[i]);

			if (a.r == 0 && a.leader == a.member_id)
				return i;
		}
		(void) sync_run(ev, 50, NULL, 0);
	}
	return MEMBERS;
}

static uint64_t id_of(size_t member)
{
	return sync_status(ev, etcd, cluster_urls(cluster)[member]).member_id;
}

static void test_real_leader(void)
{
	size_t leader = wait_for_leader();
	size_t other = (leader + 1) % MEMBERS;
	const char *const *urls = cluster_urls(cluster);
	struct answer a;

	if (!CHECK(leader < MEMBERS))
		return;
	a = sync_move_leader(ev, etcd, urls[other], id_of(leader));
	CHECK_EQ_INT(a.r, -EPROTO);
	CHECK(strstr(a.text, "not leader") != NULL);
	CHECK_EQ_INT(sync_move_leader(ev, etcd, urls[leader], UINT64_C(0x1234)).r, -EPROTO);
	CHECK_EQ_INT(sync_move_leader(ev, etcd, urls[leader], id_of(other)).r, 0);
	CHECK_EQ_INT(wait_for_leader(), other);
}

static void fill(int n)
{
	AUTO(free) char *value = xcalloc(1, 64 * 1024 + 1);

	memset(value, 'x', 64UL * 1024);
	for (int i = 0; i < n; i++)
		CHECK_EQ_INT(sync_put(ev, etcd, "fill", value, 0).r, 0);
}

static void test_real_space(void)
{
	const char *url = cluster_urls(cluster)[0];
	struct answer before;
	struct answer after;
	int64_t revision;

	fill(60);
	revision = sync_get(ev, etcd, "fill").revision;
	CHECK_EQ_INT(sync_compact(ev, etcd, url, revision + 100, false).r, -EAGAIN);
	CHECK_EQ_INT(sync_compact(ev, etcd, url, revision, true).r, 0);
	CHECK_EQ_INT(sync_compact(ev, etcd, url, revision, true).r, -ESTALE);
	before = sync_status(ev, etcd, url);
	CHECK_EQ_INT(sync_defragment(ev, etcd, url, PATIENT_MS).r, 0);
	after = sync_status(ev, etcd, url);
	CHECK(before.db_size_bytes > 3 << 20);
	CHECK(after.db_size_bytes < before.db_size_bytes / 2);
	CHECK_EQ_INT(sync_endpoint_get(ev, etcd, url, "fill", false, 0).n_kvs, 1);
}

/* Members are to be connected for some seconds before one may go. */
static void remove_when_healthy(const char *url, uint64_t id)
{
	struct answer a = sync_member_remove(ev, etcd, url, id);

	for (int tries = 0; a.r == -EPROTO && tries < 100; tries++) {
		CHECK(!a.ambiguous);
		CHECK(strstr(a.text, "unhealthy cluster") != NULL);
		(void) sync_run(ev, 200, NULL, 0);
		a = sync_member_remove(ev, etcd, url, id);
	}
	CHECK_EQ_INT(a.r, 0);
}

/* A stopped member is asked, and nobody else; the others tell of it. */
static void test_real_member_that_hangs(void)
{
	const char *const *urls = cluster_urls(cluster);
	size_t leader = wait_for_leader();
	size_t hung = (leader + 1) % MEMBERS;
	uint64_t id;
	struct answer a;

	if (!CHECK(leader < MEMBERS))
		return;
	id = id_of(hung);
	cluster_signal(cluster, hung, SIGSTOP);
	CHECK_EQ_INT(sync_endpoint_get(ev, etcd, urls[hung], "fill", true, 700).r, -ETIMEDOUT);
	CHECK_EQ_INT(sync_endpoint_members(ev, etcd, urls[hung], false, 300).r, -ETIMEDOUT);
	a = sync_endpoint_members(ev, etcd, urls[leader], true, 0);
	CHECK_EQ_INT(a.r, 0);
	CHECK_EQ_INT(a.n_members, MEMBERS);
	remove_when_healthy(urls[leader], id);
	a = sync_endpoint_members(ev, etcd, urls[leader], true, 0);
	CHECK_EQ_INT(a.n_members, MEMBERS - 1);
	CHECK(a.member_ids[0] != id && a.member_ids[1] != id);
	CHECK_EQ_INT(sync_member_remove(ev, etcd, urls[leader], id).r, -ENOENT);
	cluster_signal(cluster, hung, SIGCONT);
}

static void test_real_three(void)
{
	cluster = cluster_new(MEMBERS, 0);
	client_start(MEMBERS, PATIENT_MS);
	test_real_leader();
	test_real_space();
	test_real_member_that_hangs();
	etcd_free(TAKE_PTR(etcd));
	cluster_free(TAKE_PTR(cluster));
}

static struct answer wait_for_alarms(size_t n)
{
	struct answer a = sync_alarms(ev, etcd);

	for (int tries = 0; a.n_alarms != n && tries < 200; tries++) {
		(void) sync_run(ev, 50, NULL, 0);
		a = sync_alarms(ev, etcd);
	}
	CHECK_EQ_INT(a.n_alarms, n);
	return a;
}

static void test_real_alarm(void)
{
	AUTO(free) char *value = xcalloc(1, 64 * 1024 + 1);
	struct answer a = {0};
	const char *url;
	uint64_t id;

	cluster = cluster_new(1, CLUSTER_SMALL);
	url = cluster_urls(cluster)[0];
	client_start(1, PATIENT_MS);
	memset(value, 'x', 64UL * 1024);
	for (int n = 0; a.r == 0 && n < 1000; n++)
		a = sync_put(ev, etcd, "big", value, 0);
	CHECK_EQ_INT(a.r, -ENOSPC);
	id = wait_for_alarms(1).alarms[0].member_id;
	/* Of another kind there is none. */
	CHECK_EQ_INT(sync_disarm(ev, etcd, url, id, ETCD_ALARM_CORRUPT).r, 0);
	CHECK_EQ_INT(sync_alarms(ev, etcd).n_alarms, 1);
	CHECK_EQ_INT(sync_compact(ev, etcd, url, sync_get(ev, etcd, "big").revision, true).r, 0);
	CHECK_EQ_INT(sync_defragment(ev, etcd, url, PATIENT_MS).r, 0);
	CHECK_EQ_INT(sync_disarm(ev, etcd, url, id, ETCD_ALARM_NOSPACE).r, 0);
	(void) wait_for_alarms(0);
	CHECK_EQ_INT(sync_put(ev, etcd, "small", "value", 0).r, 0);
	etcd_free(TAKE_PTR(etcd));
	cluster_free(TAKE_PTR(cluster));
}

int main(void)
{
	ev = ev_default_loop(0);
	test_range_of_one();
	test_range_of_a_silent_one();
	test_members_of_one();
	test_each_is_made_once();
	test_refusals();
	test_deadline_of_its_own();
	test_names();
	test_real_three();
	test_real_alarm();
	ev_loop_destroy(ev);
	return check_result();
}
