/* SPDX-License-Identifier: Apache-2.0 */
/* The node's own key against real etcd: claimed, kept up to date, contested and lost. */
#include "vipd/nodekey.h"

#include <signal.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mono.h"
#include "tests/unit/check.h"
#include "tests/unit/etcdtest/cluster.h"
#include "tests/unit/etcdtest/server.h"
#include "tests/unit/etcdtest/sync.h"
#include "tests/unit/patient.h"
#include "tests/unit/turn.h"

/* Within this a member answers, however slow the machine is. */
#define SURE_MS 20000

#define PREFIX "fairlead/v1/vip/10.0.0.5/"
#define KEY PREFIX "node/cp-1"

static struct ev_loop *ev;
static struct etcd *etcd;

struct actor {
	struct record_node me;
	struct nodekey *key;
	unsigned n[NODEKEY_STATES]; /* how often it has come to each state */
	enum nodekey_state last;
	bool touchy; /* asks for an update whenever the state changes */
};

static void changed_cb(enum nodekey_state state, void *userdata)
{
	struct actor *a = userdata;

	CHECK(state != a->last);
	a->last = state;
	a->n[state]++;
	if (a->touchy)
		nodekey_update(a->key);
}

static void set_actor(struct actor *a, const char *instance, int64_t lease)
{
	*a = (struct actor){
	    .me = {.node = "cp-1", .priority = 100, .health = HEALTH_GOOD, .eligible = true}};
	(void) strcpy(a->me.instance, instance);
	a->key = nodekey_new(ev, etcd, PREFIX, &a->me, changed_cb, a);
	CHECK_EQ_INT(nodekey_state(a->key), NODEKEY_ABSENT);
	nodekey_set_lease(a->key, lease);
}

static bool comes_to(struct actor *a, enum nodekey_state state, unsigned times)
{
	return sync_until(ev, &a->n[state], times);
}

/* As etcd has it. */
static struct record_node stored(struct answer *ret_answer)
{
	struct record_node n = {.priority = -1};

	*ret_answer = sync_get(ev, etcd, KEY);
	if (ret_answer->n_kvs > 0)
		CHECK_EQ_INT(record_node_parse(ret_answer->value, strlen(ret_answer->value), &n), 0);
	return n;
}

static bool comes_to_priority(int priority)
{
	struct answer at;

	return TURN_UNTIL(ev, stored(&at).priority == priority);
}

static int64_t new_lease(void)
{
	return sync_grant(ev, etcd, 0, 60).lease_id;
}

static void test_claim_and_update(void)
{
	const int64_t lease = new_lease();
	struct record_node n;
	struct answer at;
	struct actor a;
	int64_t version;

	set_actor(&a, "one", 0);
	nodekey_update(a.key);
	CHECK(!sync_run(ev, 100, &a.n[NODEKEY_CLAIMING], 1));
	nodekey_set_lease(a.key, lease);
	CHECK_EQ_INT(nodekey_state(a.key), NODEKEY_CLAIMING);
	CHECK(comes_to(&a, NODEKEY_PRESENT, 1));
	n = stored(&at);
	CHECK_EQ_STR(n.instance, "one");
	CHECK_EQ_INT(n.priority, 100);
	CHECK_EQ_INT(at.kv_lease, lease);
	CHECK_EQ_INT(at.version, 1);
	CHECK(!nodekey_other_lives(a.key));
	/* Nothing new: nothing is written. */
	nodekey_update(a.key);
	(void) sync_run(ev, 100, NULL, 0);
	(void) stored(&at);
	CHECK_EQ_INT(at.version, 1);
	nodekey_set_lease(a.key, lease);
	CHECK_EQ_INT(a.n[NODEKEY_ABSENT], 0);
	/* Many changes at once: the first is under way, the last is written behind it. */
	for (int i = 0; i < 50; i++) {
		a.me.priority = 200 + i;
		nodekey_update(a.key);
	}
	CHECK(comes_to_priority(249));
	(void) sync_run(ev, 100, NULL, 0);
	(void) stored(&at);
	CHECK_EQ_INT(at.version, 3);
	/* Back to what was written before what is under way. */
	a.me.priority = 1;
	nodekey_update(a.key);
	a.me.priority = 249;
	nodekey_update(a.key);
	CHECK(TURN_UNTIL(ev, stored(&at).priority == 249 && at.version > 3));
	version = at.version;
	/* No lease, no key; and what `me` says then waits for the next one. */
	nodekey_set_lease(a.key, 0);
	CHECK_EQ_INT(nodekey_state(a.key), NODEKEY_ABSENT);
	a.me.priority = 7;
	nodekey_update(a.key);
	(void) sync_run(ev, 100, NULL, 0);
	(void) stored(&at);
	CHECK_EQ_INT(at.version, version);
	CHECK_EQ_INT(sync_revoke(ev, etcd, lease).r, 0);
	nodekey_set_lease(a.key, new_lease());
	CHECK(comes_to(&a, NODEKEY_PRESENT, 2));
	n = stored(&at);
	CHECK_EQ_INT(n.priority, 7);
	CHECK_EQ_INT(a.n[NODEKEY_TAKEN], 0);
	nodekey_free(a.key);
	CHECK_EQ_INT(sync_delete(ev, etcd, KEY, false).r, 0);
}

static void test_same_name(void)
{
	const int64_t lease_a = new_lease(), lease_b = new_lease();
	struct record_node n;
	struct actor a, b;
	struct answer at;

	set_actor(&a, "one", lease_a);
	CHECK(comes_to(&a, NODEKEY_PRESENT, 1));
	set_actor(&b, "two", lease_b);
	CHECK(comes_to(&b, NODEKEY_TAKEN, 1));
	CHECK_EQ_STR(nodekey_other_instance(b.key), "one");
	CHECK(nodekey_other_left_us(b.key) > 0);
	CHECK(nodekey_other_left_us(b.key) <= 61 * US_PER_S);
	/* It goes on trying, quietly, and never writes. */
	b.me.priority = 999;
	nodekey_update(b.key);
	(void) sync_run(ev, 1200, NULL, 0);
	n = stored(&at);
	CHECK_EQ_STR(n.instance, "one");
	CHECK_EQ_INT(at.version, 1);
	CHECK_EQ_INT(b.n[NODEKEY_TAKEN], 1);
	CHECK_EQ_INT(b.n[NODEKEY_PRESENT], 0);
	/* It has not renewed its lease, so it may be dead; nor does one renewal prove that it lives. */
	(void) sync_run(ev, 1500, NULL, 0);
	CHECK_EQ_INT(sync_keepalive(ev, etcd, lease_a).r, 0);
	(void) sync_run(ev, 1500, NULL, 0);
	CHECK(!nodekey_other_lives(b.key));
	/* Nor does a new term, in which every lease has its whole time again: vip_same_name.sh. */
	(void) sync_run(ev, 1000, NULL, 0);
	CHECK_EQ_INT(sync_keepalive(ev, etcd, lease_a).r, 0);
	CHECK(TURN_UNTIL(ev, nodekey_other_lives(b.key)));
	/* And the first does not notice. */
	a.me.priority = 50;
	nodekey_update(a.key);
	CHECK(comes_to_priority(50));
	CHECK_EQ_INT(a.n[NODEKEY_TAKEN], 0);
	/* The first has gone: within one try the name is free. */
	nodekey_free(a.key);
	CHECK_EQ_INT(sync_revoke(ev, etcd, lease_a).r, 0);
	CHECK(comes_to(&b, NODEKEY_PRESENT, 1));
	CHECK(!nodekey_other_lives(b.key));
	CHECK_EQ_INT(nodekey_other_left_us(b.key), 0);
	n = stored(&at);
	CHECK_EQ_STR(n.instance, "two");
	CHECK_EQ_INT(n.priority, 999);
	CHECK_EQ_INT(at.kv_lease, lease_b);
	nodekey_free(b.key);
	CHECK_EQ_INT(sync_revoke(ev, etcd, lease_b).r, 0);
}

/* A process that crashed comes back under its instance id: it need not wait for the old lease. */
static void test_own_leftover(void)
{
	const int64_t old = new_lease(), lease = new_lease();
	struct answer at;
	struct actor a;

	set_actor(&a, "one", old);
	CHECK(comes_to(&a, NODEKEY_PRESENT, 1));
	a.me.failed_epoch = 6;
	nodekey_update(a.key);
	CHECK(TURN_UNTIL(ev, stored(&at).failed_epoch == 6));
	nodekey_free(a.key);
	set_actor(&a, "one", lease);
	CHECK(comes_to(&a, NODEKEY_PRESENT, 1));
	CHECK_EQ_INT(a.n[NODEKEY_TAKEN], 0);
	/* It is known over the restart that it failed, also to others all the time. */
	CHECK_EQ_INT(a.me.failed_epoch, 6);
	CHECK_EQ_INT(stored(&at).failed_epoch, 6);
	CHECK_EQ_INT(at.kv_lease, lease);
	CHECK_EQ_INT(at.version, 3);
	/* And not again what this process has taken back, when its key has another lease. */
	a.me.failed_epoch = 0;
	nodekey_set_lease(a.key, old);
	CHECK(comes_to(&a, NODEKEY_PRESENT, 2));
	CHECK_EQ_INT(stored(&at).failed_epoch, 0);
	CHECK_EQ_INT(at.kv_lease, old);
	nodekey_set_lease(a.key, lease);
	CHECK(comes_to(&a, NODEKEY_PRESENT, 3));
	CHECK_EQ_INT(sync_revoke(ev, etcd, old).r, 0);
	(void) stored(&at);
	CHECK_EQ_INT(at.n_kvs, 1);
	/* Somebody wrote over it in our name: ours again at the next change. */
	CHECK_EQ_INT(sync_put(ev, etcd, KEY, at.value, 0).r, 0);
	a.me.priority = 3;
	nodekey_update(a.key);
	CHECK(comes_to_priority(3));
	(void) stored(&at);
	CHECK_EQ_INT(at.kv_lease, lease);
	CHECK_EQ_INT(a.n[NODEKEY_PRESENT], 3);
	nodekey_free(a.key);
	CHECK_EQ_INT(sync_revoke(ev, etcd, lease).r, 0);
}

static const char *const values[] = {
    "{\"instance\":\"two\",\"priority\":1,\"health\":\"good\",\"eligible\":true,"
    "\"etcdLeader\":false}",
    "rubbish",
};

/* A key that was copied without its lease never goes, so it is written over. */
static void test_copied(void)
{
	for (size_t i = 0; i < 2; i++) {
		const int64_t lease = new_lease();
		struct answer at;
		struct actor a;

		CHECK_EQ_INT(sync_put(ev, etcd, KEY, values[i], 0).r, 0);
		set_actor(&a, "one", lease);
		CHECK(comes_to(&a, NODEKEY_PRESENT, 1));
		CHECK_EQ_INT(a.n[NODEKEY_TAKEN], 0);
		CHECK_EQ_STR(stored(&at).instance, "one");
		CHECK_EQ_INT(at.kv_lease, lease);
		nodekey_free(a.key);
		CHECK_EQ_INT(sync_revoke(ev, etcd, lease).r, 0);
	}
}

/* Another puts its key where ours was, or something that is no key at all. */
static void test_overwritten(void)
{
	static const char *const others[] = {"two", "?"};

	for (size_t i = 0; i < 2; i++) {
		const int64_t lease = new_lease(), other = new_lease();
		struct answer at;
		struct actor a;

		set_actor(&a, "one", lease);
		CHECK(comes_to(&a, NODEKEY_PRESENT, 1));
		CHECK_EQ_INT(sync_put(ev, etcd, KEY, values[i], other).r, 0);
		a.me.priority = 5;
		nodekey_update(a.key);
		CHECK(comes_to(&a, NODEKEY_TAKEN, 1));
		CHECK_EQ_STR(nodekey_other_instance(a.key), others[i]);
		at = sync_get(ev, etcd, KEY);
		CHECK_EQ_STR(at.value, values[i]);
		CHECK_EQ_INT(sync_delete(ev, etcd, KEY, false).r, 0);
		/* Tried at its own pace, whatever else is asked for. */
		nodekey_update(a.key);
		CHECK(!sync_run(ev, 100, &a.n[NODEKEY_PRESENT], 2));
		CHECK(comes_to(&a, NODEKEY_PRESENT, 2));
		CHECK_EQ_INT(stored(&at).priority, 5);
		nodekey_free(a.key);
		CHECK_EQ_INT(sync_revoke(ev, etcd, lease).r, 0);
	}
}

static void test_lease_lost(void)
{
	int64_t first = new_lease(), second;
	struct answer at;
	struct actor a;

	set_actor(&a, "one", first);
	CHECK(comes_to(&a, NODEKEY_PRESENT, 1));
	CHECK_EQ_INT(sync_revoke(ev, etcd, first).r, 0);
	/* The watch sees it first: tried on the lease that is no more, until there is another. */
	nodekey_on_gone(a.key);
	CHECK_EQ_INT(a.n[NODEKEY_ABSENT], 1);
	CHECK_EQ_INT(nodekey_state(a.key), NODEKEY_CLAIMING);
	(void) sync_run(ev, 700, NULL, 0);
	CHECK_EQ_INT(nodekey_state(a.key), NODEKEY_CLAIMING);
	(void) stored(&at);
	CHECK_EQ_INT(at.n_kvs, 0);
	nodekey_set_lease(a.key, 0);
	CHECK_EQ_INT(nodekey_state(a.key), NODEKEY_ABSENT);
	second = new_lease();
	nodekey_set_lease(a.key, second);
	CHECK(comes_to(&a, NODEKEY_PRESENT, 2));
	(void) stored(&at);
	CHECK_EQ_INT(at.kv_lease, second);
	/* Only the key is deleted: claimed on the same lease. */
	CHECK_EQ_INT(sync_delete(ev, etcd, KEY, false).r, 0);
	nodekey_on_gone(a.key);
	CHECK(comes_to(&a, NODEKEY_PRESENT, 3));
	(void) stored(&at);
	CHECK_EQ_INT(at.kv_lease, second);
	/* News from before it was claimed does no harm. */
	a.n[NODEKEY_ABSENT] = 0;
	nodekey_on_gone(a.key);
	nodekey_on_gone(a.key);
	CHECK_EQ_INT(a.n[NODEKEY_ABSENT], 1);
	CHECK(comes_to(&a, NODEKEY_PRESENT, 4));
	CHECK_EQ_INT(a.n[NODEKEY_TAKEN], 0);
	/* Another lease while a request with the old one is under way. */
	first = second;
	second = new_lease();
	a.me.priority = 9;
	nodekey_update(a.key);
	nodekey_set_lease(a.key, second);
	CHECK(comes_to(&a, NODEKEY_PRESENT, 5));
	CHECK_EQ_INT(stored(&at).priority, 9);
	CHECK_EQ_INT(at.kv_lease, second);
	CHECK_EQ_INT(sync_revoke(ev, etcd, first).r, 0);
	(void) stored(&at);
	CHECK_EQ_INT(at.n_kvs, 1);
	nodekey_free(a.key);
	CHECK_EQ_INT(sync_revoke(ev, etcd, second).r, 0);
}

/* Told again and again that it is gone, it is put back once a second, however often it is asked. */
static void test_put_back(void)
{
	const int64_t lease = new_lease();
	int64_t version, began_us;
	struct answer at;
	struct actor a;

	set_actor(&a, "one", lease);
	a.touchy = true;
	CHECK(comes_to(&a, NODEKEY_PRESENT, 1));
	(void) stored(&at);
	version = at.version;
	began_us = mono_now_us();
	do {
		nodekey_on_gone(a.key);
		nodekey_update(a.key);
		(void) sync_run(ev, 5, NULL, 0);
	} while (mono_now_us() < began_us + 2300 * US_PER_MS);
	(void) stored(&at);
	CHECK(at.version >= version + 2);
	CHECK(at.version <= version + 1 + (mono_now_us() - began_us) / US_PER_S);
	CHECK(comes_to(&a, NODEKEY_PRESENT, a.n[NODEKEY_ABSENT] + 1));
	nodekey_free(a.key);
	CHECK_EQ_INT(sync_revoke(ev, etcd, lease).r, 0);
}

/* An answer without the read that was asked for is none. */
static void test_no_results(void)
{
	struct server *server = server_new(ev, 0, 0);
	const char *url = server_url(server);
	struct etcd_options options = {.endpoints = &url, .n_endpoints = 1};
	char error[ETCD_ERROR_TEXT_MAX];
	struct etcd *real = etcd;
	struct actor a;

	CHECK_EQ_INT(etcd_new(ev, &options, error, &etcd), 0);
	/* It says of every transaction that the guard failed, and nothing else. */
	set_actor(&a, "one", 7);
	(void) sync_run(ev, 1300, NULL, 0);
	CHECK_EQ_INT(nodekey_state(a.key), NODEKEY_CLAIMING);
	CHECK(server_calls(server, SERVER_TXN) <= 4);
	CHECK(TURN_UNTIL(ev, server_calls(server, SERVER_TXN) >= 2));
	nodekey_free(a.key);
	etcd_free(etcd);
	server_free(server);
	etcd = real;
}

/* No answer: nobody knows whether it was written, and trying again finds out. */
static void test_outage(struct cluster *cluster)
{
	const int64_t lease = new_lease();
	struct actor a;

	cluster_signal(cluster, 0, SIGSTOP);
	set_actor(&a, "one", lease);
	CHECK(!sync_run(ev, 1300, &a.n[NODEKEY_PRESENT], 1));
	CHECK_EQ_INT(nodekey_state(a.key), NODEKEY_CLAIMING);
	cluster_signal(cluster, 0, SIGCONT);
	CHECK(comes_to(&a, NODEKEY_PRESENT, 1));
	CHECK_EQ_INT(a.n[NODEKEY_TAKEN], 0);
	cluster_signal(cluster, 0, SIGSTOP);
	a.me.priority = 42;
	nodekey_update(a.key);
	(void) sync_run(ev, 1300, NULL, 0);
	cluster_signal(cluster, 0, SIGCONT);
	CHECK(comes_to_priority(42));
	CHECK(TURN_UNTIL(ev, nodekey_state(a.key) == NODEKEY_PRESENT));
	/* Freed with a request under way. */
	a.me.priority = 43;
	nodekey_update(a.key);
	nodekey_free(a.key);
	(void) sync_run(ev, 100, NULL, 0);
	CHECK_EQ_INT(sync_revoke(ev, etcd, lease).r, 0);
}

/* Whoever hears of a state may ask for an update at once. */
static void test_touchy(void)
{
	const int64_t lease_a = new_lease(), lease_b = new_lease();
	struct actor a, b;
	struct answer at;

	set_actor(&a, "one", 0);
	a.touchy = true;
	nodekey_set_lease(a.key, lease_a);
	CHECK(comes_to(&a, NODEKEY_PRESENT, 1));
	set_actor(&b, "two", 0);
	b.touchy = true;
	nodekey_set_lease(b.key, lease_b);
	CHECK(comes_to(&b, NODEKEY_TAKEN, 1));
	(void) sync_run(ev, 1200, NULL, 0);
	CHECK_EQ_INT(b.n[NODEKEY_TAKEN], 1);
	/* And it is written once. */
	(void) stored(&at);
	CHECK_EQ_INT(at.version, 1);
	nodekey_set_lease(b.key, 0);
	CHECK_EQ_INT(nodekey_state(b.key), NODEKEY_ABSENT);
	CHECK(!nodekey_other_lives(b.key));
	nodekey_free(a.key);
	nodekey_free(b.key);
	CHECK_EQ_INT(sync_revoke(ev, etcd, lease_a).r, 0);
	CHECK_EQ_INT(sync_revoke(ev, etcd, lease_b).r, 0);
}

static struct cluster *start(unsigned call_timeout_ms)
{
	struct cluster *cluster = cluster_new(1, 0);
	struct etcd_options options = {
	    .endpoints = cluster_urls(cluster), .n_endpoints = 1, .call_timeout_ms = call_timeout_ms};
	char error[ETCD_ERROR_TEXT_MAX];

	ev = ev_default_loop(EVFLAG_AUTO);
	CHECK_EQ_INT(etcd_new(ev, &options, error, &etcd), 0);
	return cluster;
}

static void test_one_key(void)
{
	struct cluster *cluster = start(SURE_MS);

	test_claim_and_update();
	test_own_leftover();
	test_copied();
	test_overwritten();
	test_lease_lost();
	etcd_free(etcd);
	cluster_free(cluster);
}

static void test_contended_key(void)
{
	struct cluster *cluster = start(SURE_MS);

	test_same_name();
	test_put_back();
	test_no_results();
	test_touchy();
	etcd_free(etcd);
	cluster_free(cluster);
}

static void test_silent_member(void)
{
	struct cluster *cluster = start(0);

	test_outage(cluster);
	etcd_free(etcd);
	cluster_free(cluster);
}

int main(void)
{
	static const patient_fn tests[] = {test_one_key, test_contended_key, test_silent_member};

	patiently(&(struct patient){0}, 2, tests, ARRAY_SIZE(tests));
	return check_result();
}
