/* SPDX-License-Identifier: Apache-2.0 */
/* The client against one real etcd member: what each call does and answers. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mono.h"
#include "check.h"
#include "etcdtest/cluster.h"
#include "etcd/etcd.h"
#include "etcdtest/sync.h"

static struct ev_loop *ev;

static struct etcd *client_new(const struct cluster *cluster)
{
	struct etcd_options options = {
	    .endpoints = cluster_urls(cluster), .n_endpoints = 1, .call_timeout_ms = 10000};
	char error[ETCD_ERROR_TEXT_MAX];
	struct etcd *etcd = NULL;

	CHECK_EQ_INT(etcd_new(ev, &options, error, &etcd), 0);
	CHECK_EQ_STR(error, "");
	return etcd;
}

static void test_put_get_delete(struct etcd *etcd)
{
	struct answer put = sync_put(ev, etcd, "a/1", "one", 0);
	struct answer get;

	CHECK_EQ_INT(put.r, 0);
	CHECK(put.revision > 1);
	CHECK(put.member_id != 0);
	CHECK(put.sent_us >= put.asked_us && put.received_us > put.sent_us);
	CHECK(put.done_us >= put.received_us);
	get = sync_get(ev, etcd, "a/1");
	CHECK_EQ_INT(get.r, 0);
	CHECK_EQ_STR(get.value, "one");
	CHECK_EQ_INT(get.mod_revision, put.revision);
	CHECK_EQ_INT(get.version, 1);
	get = sync_get(ev, etcd, "a/none");
	CHECK_EQ_INT(get.r, 0);
	CHECK_EQ_INT(get.n_kvs, 0);
	CHECK_EQ_INT(sync_delete(ev, etcd, "a/", true).r, 0);
	CHECK_EQ_INT(sync_get(ev, etcd, "a/1").n_kvs, 0);
}

static void test_txn(struct etcd *etcd)
{
	struct etcd_op ops[] = {
	    {.kind = ETCD_OP_PUT, .key = ETCD_STR("t/a"), .value = ETCD_STR("2")},
	    {.kind = ETCD_OP_RANGE, .key = ETCD_STR("t/"), .prefix = true},
	    {.kind = ETCD_OP_DELETE, .key = ETCD_STR("t/k"), .prefix = true},
	};
	struct etcd_txn txn = {.success = ops, .n_success = ARRAY_SIZE(ops)};
	struct answer a = sync_swap(ev, etcd, "t/k", 0, "1", false);
	int64_t first = a.revision;

	CHECK_EQ_INT(a.r, 0);
	CHECK(a.succeeded);
	CHECK_EQ_INT(a.n_results, 1);
	a = sync_swap(ev, etcd, "t/k", 0, "2", true);
	CHECK_EQ_INT(a.r, 0);
	CHECK(!a.succeeded);
	CHECK_EQ_INT(a.n_results, 0);
	a = sync_swap(ev, etcd, "t/k", first, "3", true);
	CHECK(a.succeeded);
	a = sync_txn(ev, etcd, &txn);
	CHECK(a.succeeded);
	CHECK_EQ_INT(a.n_results, 3);
	CHECK_EQ_INT(a.n_kvs, 2);
	CHECK_EQ_STR(a.key, "t/a");
	CHECK_EQ_INT(a.deleted, 1);
}

/* Each target and each relation, once true and once false. */
static void test_compares(struct etcd *etcd)
{
	struct answer lease = sync_grant(ev, etcd, 0, 60);
	struct answer put = sync_put(ev, etcd, "c", "m", lease.lease_id);
	const struct {
		enum etcd_compare_target target;
		enum etcd_compare_result result;
		int64_t number;
		const char *value;
		bool holds;
	} cases[] = {
	    {ETCD_COMPARE_VERSION, ETCD_EQUAL, 1, "", true},
	    {ETCD_COMPARE_VERSION, ETCD_GREATER, 1, "", false},
	    {ETCD_COMPARE_VERSION, ETCD_GREATER, 0, "", true},
	    {ETCD_COMPARE_CREATE, ETCD_EQUAL, put.revision, "", true},
	    {ETCD_COMPARE_CREATE, ETCD_NOT_EQUAL, put.revision, "", false},
	    {ETCD_COMPARE_MOD, ETCD_LESS, put.revision + 1, "", true},
	    {ETCD_COMPARE_MOD, ETCD_LESS, put.revision, "", false},
	    {ETCD_COMPARE_MOD, ETCD_EQUAL, 0, "", false},
	    {ETCD_COMPARE_VALUE, ETCD_EQUAL, 0, "m", true},
	    {ETCD_COMPARE_VALUE, ETCD_NOT_EQUAL, 0, "m", false},
	    {ETCD_COMPARE_VALUE, ETCD_LESS, 0, "n", true},
	    {ETCD_COMPARE_LEASE, ETCD_EQUAL, lease.lease_id, "", true},
	    {ETCD_COMPARE_LEASE, ETCD_EQUAL, 0, "", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct etcd_compare compare = {.key = ETCD_STR("c"),
		                               .target = cases[i].target,
		                               .result = cases[i].result,
		                               .number = cases[i].number,
		                               .value = ETCD_STR(cases[i].value)};
		struct etcd_txn txn = {.compares = &compare, .n_compares = 1};
		struct answer a = sync_txn(ev, etcd, &txn);

		CHECK_EQ_INT(a.r, 0);
		if (!CHECK_EQ_INT(a.succeeded, cases[i].holds))
			(void) fprintf(stderr, "case %zu\n", i);
	}
	CHECK_EQ_INT(sync_revoke(ev, etcd, lease.lease_id).r, 0);
	CHECK_EQ_INT(sync_get(ev, etcd, "c").n_kvs, 0);
}

static void test_range_options(struct etcd *etcd)
{
	struct answer a = {0};
	struct etcd_range range = {.key = ETCD_STR("r/"), .prefix = true, .limit = 2};
	int64_t before = sync_put(ev, etcd, "r/1", "v", 0).revision;

	(void) sync_put(ev, etcd, "r/2", "v", 0);
	(void) sync_put(ev, etcd, "r/3", "v", 0);
	CHECK_EQ_INT(etcd_range(etcd, &range, answer_on_range, &a, NULL), 0);
	CHECK(sync_until(ev, &a.n_callbacks, 1));
	CHECK_EQ_INT(a.n_kvs, 2);
	CHECK_EQ_INT(a.count, 3);

	a = (struct answer){0};
	range = (struct etcd_range){.key = ETCD_STR("r/"),
	                            .prefix = true,
	                            .revision = before,
	                            .keys_only = true,
	                            .serializable = true};
	CHECK_EQ_INT(etcd_range(etcd, &range, answer_on_range, &a, NULL), 0);
	CHECK(sync_until(ev, &a.n_callbacks, 1));
	CHECK_EQ_INT(a.n_kvs, 1);
	CHECK_EQ_STR(a.key, "r/1");
	CHECK_EQ_STR(a.value, "");

	a = (struct answer){0};
	range = (struct etcd_range){.prefix = true, .count_only = true};
	CHECK_EQ_INT(etcd_range(etcd, &range, answer_on_range, &a, NULL), 0);
	CHECK(sync_until(ev, &a.n_callbacks, 1));
	CHECK_EQ_INT(a.n_kvs, 0);
	CHECK(a.count >= 3);
}

static void test_lease(struct etcd *etcd)
{
	struct answer a = sync_grant(ev, etcd, 4711, 30);

	CHECK_EQ_INT(a.r, 0);
	CHECK_EQ_INT(a.lease_id, 4711);
	CHECK_EQ_INT(a.ttl_s, 30);
	a = sync_grant(ev, etcd, 4711, 30);
	CHECK_EQ_INT(a.r, -EEXIST);
	CHECK(!a.ambiguous);
	/* The server's minimum is 1.5 election timeouts, rounded up. */
	CHECK_EQ_INT(sync_grant(ev, etcd, 4712, 1).ttl_s, 2);
	CHECK_EQ_INT(sync_put(ev, etcd, "l", "v", 4712).r, 0);
	CHECK_EQ_INT(sync_get(ev, etcd, "l").kv_lease, 4712);
	CHECK_EQ_INT(sync_keepalive(ev, etcd, 4711).ttl_s, 30);
	a = sync_ttl(ev, etcd, 4711);
	CHECK_EQ_INT(a.r, 0);
	CHECK_EQ_INT(a.granted_ttl_s, 30);
	CHECK(a.ttl_s >= 28 && a.ttl_s <= 30);
	CHECK_EQ_INT(sync_put(ev, etcd, "l2", "v", 99).r, -ENOENT);
	CHECK_EQ_INT(sync_revoke(ev, etcd, 4711).r, 0);
	CHECK_EQ_INT(sync_revoke(ev, etcd, 4711).r, -ENOENT);
	a = sync_keepalive(ev, etcd, 4711);
	CHECK_EQ_INT(a.r, 0);
	CHECK(a.ttl_s <= 0);
	a = sync_ttl(ev, etcd, 4711);
	CHECK_EQ_INT(a.r, 0);
	CHECK(a.ttl_s <= 0);
}

static void test_watch(struct etcd *etcd, const struct cluster *cluster)
{
	struct watched w = {0};
	struct watched old = {0};
	struct watched stale = {0};
	struct etcd_watch *watch = NULL;
	struct etcd_watch *second = NULL;
	struct etcd_watch *third = NULL;
	struct etcd_op both[] = {
	    {.kind = ETCD_OP_PUT, .key = ETCD_STR("w/1"), .value = ETCD_STR("x")},
	    {.kind = ETCD_OP_PUT, .key = ETCD_STR("w/2"), .value = ETCD_STR("y")},
	};
	struct etcd_txn txn = {.success = both, .n_success = ARRAY_SIZE(both)};
	int64_t at = sync_put(ev, etcd, "w/0", "v", 0).revision;
	char want[256];

	CHECK_EQ_INT(etcd_watch_new(etcd, ETCD_STR("w/"), true, at + 1, &watched_callbacks, &w, &watch),
	             0);
	CHECK_EQ_INT(w.n_calls, 0);
	CHECK(sync_until(ev, &w.n_live, 1));
	CHECK_EQ_INT(sync_txn(ev, etcd, &txn).r, 0);
	CHECK_EQ_INT(sync_put(ev, etcd, "other", "v", 0).r, 0);
	CHECK_EQ_INT(sync_delete(ev, etcd, "w/1", false).r, 0);
	CHECK(sync_until(ev, &w.n_events, 3));
	(void) snprintf(want, sizeof(want), "+P%lld:w/1=x P%lld:w/2=y |D%lld:w/1 |", (long long) at + 1,
	                (long long) at + 1, (long long) at + 3);
	CHECK_EQ_STR(w.log, want);
	CHECK_EQ_INT(w.last_revision, at + 3);

	/* From the past, one key only. */
	CHECK_EQ_INT(
	    etcd_watch_new(etcd, ETCD_STR("w/1"), false, at, &watched_callbacks, &old, &second), 0);
	CHECK(sync_until(ev, &old.n_events, 2));
	(void) snprintf(want, sizeof(want), "+P%lld:w/1=x D%lld:w/1 |", (long long) at + 1,
	                (long long) at + 3);
	CHECK_EQ_STR(old.log, want);

	/* From a past that is gone. */
	(void) snprintf(want, sizeof(want), "compact %lld", (long long) at + 2);
	CHECK(cluster_ctl(cluster, want));
	CHECK_EQ_INT(
	    etcd_watch_new(etcd, ETCD_STR("w/"), true, at + 1, &watched_callbacks, &stale, &third), 0);
	CHECK(sync_until(ev, &stale.n_compacted, 1));
	(void) snprintf(want, sizeof(want), "+C%lld ", (long long) at + 2);
	CHECK_EQ_STR(stale.log, want);
	etcd_watch_free(watch);
	etcd_watch_free(second);
	etcd_watch_free(third);
	CHECK_EQ_INT(sync_put(ev, etcd, "w/1", "late", 0).r, 0);
	CHECK(!sync_run(ev, 200, &w.n_events, 4));
}

static void test_members_and_status(struct etcd *etcd)
{
	const char *const *urls;
	struct answer a = sync_members(ev, etcd);

	CHECK_EQ_INT(a.r, 0);
	CHECK_EQ_INT(a.n_members, 1);
	CHECK_EQ_INT(etcd_endpoints(etcd, &urls), 1);
	a = sync_status(ev, etcd, urls[0]);
	CHECK_EQ_INT(a.r, 0);
	CHECK(a.leader != 0 && a.leader == a.member_id);
	CHECK(a.version_text[0] == '3');
	CHECK_EQ_STR(a.endpoint, urls[0]);
	CHECK_EQ_INT(etcd_endpoint_status(etcd, "http://127.0.0.1:1", answer_on_status, &a, NULL),
	             -ENOENT);
}

static void test_errors(struct etcd *etcd)
{
	struct etcd_range range = {.key = ETCD_STR("k"), .revision = 1000000};
	struct answer a = {0};

	CHECK_EQ_INT(etcd_range(etcd, &range, answer_on_range, &a, NULL), 0);
	CHECK(sync_until(ev, &a.n_callbacks, 1));
	CHECK_EQ_INT(a.r, -EAGAIN);
	CHECK(strstr(a.text, "future revision") != NULL);
	a = (struct answer){0};
	range.revision = 1;
	CHECK_EQ_INT(etcd_range(etcd, &range, answer_on_range, &a, NULL), 0);
	CHECK(sync_until(ev, &a.n_callbacks, 1));
	CHECK_EQ_INT(a.r, -ESTALE);
	a = sync_put(ev, etcd, "", "v", 0);
	CHECK_EQ_INT(a.r, -EPROTO);
	CHECK(!a.ambiguous);
}

/* No callback after the cancelling; and none is lost when the client goes with calls in flight. */
static void test_cancel(const struct cluster *cluster)
{
	struct etcd *etcd = client_new(cluster);
	struct etcd_range range = {.key = ETCD_STR("k")};
	struct etcd_call *calls[8];
	struct answer a = {0};

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		CHECK_EQ_INT(etcd_range(etcd, &range, answer_on_range, &a, &calls[i]), 0);
	for (size_t i = 0; i < ARRAY_SIZE(calls) / 2; i++)
		etcd_call_cancel(calls[i]);
	etcd_call_cancel(NULL);
	CHECK(sync_until(ev, &a.n_callbacks, 4));
	CHECK(!sync_run(ev, 200, &a.n_callbacks, 5));
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		CHECK_EQ_INT(etcd_range(etcd, &range, answer_on_range, &a, &calls[i]), 0);
	etcd_free(etcd);
	CHECK_EQ_INT(a.n_callbacks, 4);
}

int main(void)
{
	struct cluster *cluster = cluster_new(1, 0);
	struct etcd *etcd;

	ev = ev_default_loop(0);
	etcd = client_new(cluster);
	test_put_get_delete(etcd);
	test_txn(etcd);
	test_compares(etcd);
	test_range_options(etcd);
	test_lease(etcd);
	test_watch(etcd, cluster);
	test_members_and_status(etcd);
	test_errors(etcd);
	etcd_free(etcd);
	test_cancel(cluster);
	cluster_free(cluster);
	ev_loop_destroy(ev);
	return check_result();
}
