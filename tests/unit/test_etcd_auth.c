/* SPDX-License-Identifier: Apache-2.0 */
/* User and password against a real member: tokens that die with it, or grow old, are replaced. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "check.h"
#include "etcdtest/cluster.h"
#include "etcd/etcd.h"
#include "etcdtest/sync.h"

static struct ev_loop *ev;
static struct cluster *cluster;

static struct etcd *client_new(const char *user, const char *password)
{
	struct etcd_options options = {.endpoints = cluster_urls(cluster),
	                               .n_endpoints = 1,
	                               .ca_file = cluster_file(cluster, "ca.pem"),
	                               .cert_file = cluster_file(cluster, "client.pem"),
	                               .key_file = cluster_file(cluster, "client-key.pem"),
	                               .user = user,
	                               .password = password,
	                               .call_timeout_ms = 10000};
	char error[ETCD_ERROR_TEXT_MAX];
	struct etcd *etcd = NULL;

	CHECK_EQ_INT(etcd_new(ev, &options, error, &etcd), 0);
	return etcd;
}

static struct answer put_soon(struct etcd *etcd, const char *key)
{
	struct answer a = {0};

	for (int i = 0; i < 300; i++) {
		a = sync_put(ev, etcd, key, "v", 0);
		if (a.r != -EHOSTUNREACH)
			break;
		(void) sync_run(ev, 100, NULL, 0);
	}
	return a;
}

static void test_owner(void)
{
	struct etcd *etcd = client_new("fl", "secret");
	struct etcd_watch *watch;
	struct watched w = {0};
	struct answer a = sync_put(ev, etcd, "fl/k", "1", 0);

	CHECK_EQ_INT(a.r, 0);
	a = sync_put(ev, etcd, "other", "1", 0);
	CHECK_EQ_INT(a.r, -EACCES);
	CHECK(!a.ambiguous);
	a = sync_get(ev, etcd, "fl/k");
	CHECK_EQ_STR(a.value, "1");
	CHECK_EQ_INT(
	    etcd_watch_new(etcd, ETCD_STR("fl/"), true, a.revision + 1, &watched_callbacks, &w, &watch),
	    0);
	CHECK(sync_until(ev, &w.n_live, 1));

	/* Every change of users and roles makes all tokens old. */
	CHECK(cluster_ctl(cluster, "--user root:rootpw role add another"));
	CHECK_EQ_INT(sync_put(ev, etcd, "fl/k", "2", 0).r, 0);
	CHECK(cluster_ctl(cluster, "--user root:rootpw role add more"));
	a = sync_get(ev, etcd, "fl/k");
	CHECK_EQ_INT(a.r, 0);
	CHECK_EQ_STR(a.value, "2");
	CHECK(cluster_ctl(cluster, "--user root:rootpw role add yet-more"));
	CHECK_EQ_INT(sync_grant(ev, etcd, 77, 30).r, 0);
	CHECK_EQ_INT(sync_keepalive(ev, etcd, 77).ttl_s, 30);

	/* And simple tokens live in the member's memory. */
	cluster_kill(cluster, 0);
	cluster_restart(cluster, 0);
	CHECK_EQ_INT(put_soon(etcd, "fl/k").r, 0);
	CHECK(sync_until(ev, &w.n_events, 2));
	CHECK_EQ_INT(w.n_compacted, 0);
	etcd_watch_free(watch);
	etcd_free(etcd);
}

static void test_refused(void)
{
	struct etcd *etcd = client_new("fl", "wrong");
	struct answer a = sync_get(ev, etcd, "fl/k");

	CHECK_EQ_INT(a.r, -EACCES);
	etcd_free(etcd);
	etcd = client_new(NULL, NULL);
	CHECK_EQ_INT(sync_put(ev, etcd, "fl/k", "v", 0).r, -EACCES);
	etcd_free(etcd);
}

/* What maintenance takes: root for the hash, anybody for the alarms, nobody (in 3.4) for status. */
static void test_maintenance(void)
{
	static const struct {
		const char *user;
		const char *password;
		int hashkv_r;
	} cases[] = {{"root", "rootpw", 0}, {"fl", "secret", -EACCES}, {NULL, NULL, -EACCES}};
	const char *url = cluster_urls(cluster)[0];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(etcd_free) struct etcd *etcd = client_new(cases[i].user, cases[i].password);

		struct answer a = sync_hashkv(ev, etcd, url, 0, 5000);

		if (!CHECK_EQ_INT(a.r, cases[i].hashkv_r))
			(void) fprintf(stderr, "user %zu: %s\n", i, a.text);
		CHECK_EQ_INT(sync_alarms(ev, etcd).r, 0);
		CHECK_EQ_INT(sync_status(ev, etcd, url).r, 0);
	}
}

static struct etcd_snapshot *snapshot;

static void on_blob(const struct etcd_blob *blob UNUSED, void *userdata UNUSED)
{
	etcd_snapshot_next(snapshot);
}

static struct answer take_snapshot(struct etcd *etcd)
{
	static const struct etcd_snapshot_callbacks callbacks = {.blob = on_blob,
	                                                         .done = answer_on_done};
	struct answer a = {0};

	CHECK_EQ_INT(etcd_snapshot_start(etcd, NULL, 0, &callbacks, &a, &snapshot), 0);
	CHECK(sync_until(ev, &a.n_callbacks, 1));
	return a;
}

static void check_works(struct etcd *fl, struct etcd *root, int64_t lease)
{
	struct answer a = sync_put(ev, fl, "fl/k", "0", 0);
	struct etcd_watch *watch;
	struct watched w = {0};

	CHECK_EQ_INT(a.r, 0);
	CHECK_EQ_INT(
	    etcd_watch_new(fl, ETCD_STR("fl/"), true, a.revision, &watched_callbacks, &w, &watch), 0);
	CHECK(sync_until(ev, &w.n_events, 1));
	etcd_watch_free(watch);
	CHECK_EQ_INT(sync_grant(ev, fl, lease, 30).r, 0);
	CHECK_EQ_INT(sync_put(ev, fl, "fl/leased", "0", lease).r, 0);
	CHECK_EQ_INT(sync_keepalive(ev, fl, lease).ttl_s, 30);
	CHECK_EQ_INT(sync_revoke(ev, fl, lease).r, 0);
	CHECK_EQ_INT(take_snapshot(root).r, 0);
}

/* The server does not ask for the configured user at first, and later stops asking for a while. The
 * first refusal teaches the whole client, so calls, snapshot and watch have a client each. */
static void test_switched_on_later(void)
{
	struct etcd *fl = client_new("fl", "secret");
	struct etcd *root = client_new("root", "rootpw");
	struct etcd *watcher = client_new("fl", "secret");
	struct etcd_watch *watch;
	struct watched w = {0};

	check_works(fl, root, 11);
	CHECK_EQ_INT(sync_get(ev, watcher, "fl/k").r, 0);
	CHECK(cluster_ctl(cluster, "user add root:rootpw"));
	CHECK(cluster_ctl(cluster, "user grant-role root root"));
	CHECK(cluster_ctl(cluster, "user add fl:secret"));
	CHECK(cluster_ctl(cluster, "role add fl"));
	CHECK(cluster_ctl(cluster, "role grant-permission fl --prefix=true readwrite fl/"));
	CHECK(cluster_ctl(cluster, "user grant-role fl fl"));
	CHECK(cluster_ctl(cluster, "auth enable"));
	check_works(fl, root, 12);
	CHECK_EQ_INT(etcd_watch_new(watcher, ETCD_STR("fl/"), true, 2, &watched_callbacks, &w, &watch),
	             0);
	CHECK(sync_until(ev, &w.n_events, 1));
	etcd_watch_free(watch);
	etcd_free(watcher);

	CHECK(cluster_ctl(cluster, "--user root:rootpw auth disable"));
	check_works(fl, root, 13);
	CHECK(cluster_ctl(cluster, "auth enable"));
	check_works(fl, root, 14);
	etcd_free(root);
	etcd_free(fl);
}

int main(void)
{
	ev = ev_default_loop(0);
	cluster = cluster_new(1, 0);
	test_switched_on_later();
	test_owner();
	test_refused();
	test_maintenance();
	cluster_free(cluster);
	/* etcd takes the name in the certificate, which has no role, for the user. */
	cluster = cluster_new(1, CLUSTER_TLS);
	test_switched_on_later();
	cluster_free(cluster);
	ev_loop_destroy(ev);
	return check_result();
}
