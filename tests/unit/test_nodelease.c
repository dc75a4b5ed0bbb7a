/* SPDX-License-Identifier: Apache-2.0 */
/* The node's lease against real etcd, with election timeouts of one and of five seconds. */
#include "vipd/nodekey.h"

#include <signal.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/mono.h"
#include "tests/unit/check.h"
#include "tests/unit/etcdtest/cluster.h"
#include "tests/unit/etcdtest/sync.h"
#include "tests/unit/patient.h"

/* Within this a member answers, however slow the machine is. */
#define SURE_MS 20000

static struct ev_loop *ev;

/* What the owner of the lease was told. */
struct told {
	unsigned n_changed;
	unsigned n_alive; /* of those, with a lease */
	int64_t id;       /* the last */
	unsigned n_min_ttl;
	int grant_error;
	int64_t min_ttl_s;
	unsigned n_changed_before_min_ttl;
	unsigned n_ended;
};

static void changed_cb(int64_t id, void *userdata)
{
	struct told *t = userdata;

	t->n_changed++;
	t->n_alive += id != 0;
	t->id = id;
}

static void min_ttl_cb(int64_t min_ttl_s, void *userdata)
{
	struct told *t = userdata;

	t->n_min_ttl++;
	t->min_ttl_s = min_ttl_s;
	t->n_changed_before_min_ttl = t->n_changed;
}

static void ended_cb(void *userdata)
{
	((struct told *) userdata)->n_ended++;
}

static void granted_cb(int r, void *userdata)
{
	((struct told *) userdata)->grant_error = r;
}

static const struct nodelease_callbacks callbacks = {
    .changed = changed_cb, .min_ttl = min_ttl_cb, .granted = granted_cb};

static struct etcd *client_new(const struct cluster *cluster, unsigned call_timeout_ms)
{
	struct etcd_options options = {
	    .endpoints = cluster_urls(cluster), .n_endpoints = 1, .call_timeout_ms = call_timeout_ms};
	char error[ETCD_ERROR_TEXT_MAX];
	struct etcd *etcd = NULL;

	CHECK_EQ_INT(etcd_new(ev, &options, error, &etcd), 0);
	return etcd;
}

static bool lives(struct etcd *etcd, int64_t id)
{
	return sync_ttl(ev, etcd, id).ttl_s > 0;
}

static bool there_are(const struct cluster *cluster, unsigned leases)
{
	AUTO(free)
	char *command =
	    xasprintf("ETCDCTL_API=3 etcdctl --endpoints %s lease list | grep -q 'found %u leases'",
	              cluster_urls(cluster)[0], leases);

	return cluster_run(cluster, command);
}

static void end(struct nodelease *lease, struct told *t)
{
	nodelease_end(lease, ended_cb, t);
	CHECK_EQ_INT(t->n_ended, 0);
	CHECK_EQ_INT(nodelease_id(lease), 0);
	CHECK(sync_until(ev, &t->n_ended, 1));
	CHECK_EQ_INT(t->id, 0);
	/* Nothing stirs any more. */
	CHECK(!sync_run(ev, 100, &t->n_ended, 2));
	nodelease_free(lease);
}

static void test_granted_and_ended(const struct cluster *cluster, struct etcd *etcd)
{
	struct told t = {0};
	struct nodelease *lease = nodelease_new(ev, etcd, 10 * US_PER_S, 0, &callbacks, &t);
	int64_t id;

	CHECK_EQ_INT(t.n_changed + t.n_min_ttl, 0);
	CHECK_EQ_INT(nodelease_id(lease), 0);
	CHECK_EQ_INT(nodelease_granted_s(lease), 0);
	CHECK(sync_until(ev, &t.n_alive, 1));
	id = t.id;
	CHECK(id != 0);
	CHECK_EQ_INT(nodelease_id(lease), id);
	CHECK_EQ_INT(nodelease_granted_s(lease), 10);
	CHECK_EQ_INT(sync_ttl(ev, etcd, id).granted_ttl_s, 10);
	CHECK_EQ_INT(t.n_min_ttl, 1);
	CHECK_EQ_INT(t.min_ttl_s, 2);
	CHECK_EQ_INT(t.n_changed_before_min_ttl, 0);
	/* The one that asked for the minimum is gone. */
	CHECK(there_are(cluster, 1));
	end(lease, &t);
	CHECK(!lives(etcd, id));
	CHECK(there_are(cluster, 0));
}

/* For longer than it would live by itself. */
static void test_renewed_and_lost(struct etcd *etcd)
{
	struct told t = {0};
	struct nodelease *lease = nodelease_new(ev, etcd, US_PER_S, 0, &callbacks, &t);
	int64_t id;

	CHECK(sync_until(ev, &t.n_alive, 1));
	id = t.id;
	CHECK_EQ_INT(nodelease_granted_s(lease), 2);
	CHECK(!sync_run(ev, 4000, &t.n_alive, 2));
	CHECK(lives(etcd, id));
	CHECK_EQ_INT(t.id, id);
	/* Somebody deletes it: granted anew, and both said. */
	t.n_changed = 0;
	CHECK_EQ_INT(sync_revoke(ev, etcd, id).r, 0);
	CHECK(sync_until(ev, &t.n_changed, 1));
	CHECK_EQ_INT(t.id, 0);
	CHECK_EQ_INT(nodelease_id(lease), 0);
	CHECK(sync_until(ev, &t.n_alive, 2));
	CHECK(t.id != id && lives(etcd, t.id));
	CHECK_EQ_INT(t.n_changed, 2);
	CHECK_EQ_INT(t.n_min_ttl, 1);
	/* Freed, not ended: it stays for the next process. */
	id = t.id;
	nodelease_free(lease);
	CHECK(lives(etcd, id));
	CHECK_EQ_INT(sync_revoke(ev, etcd, id).r, 0);
}

static void test_adopted(const struct cluster *cluster, struct etcd *etcd)
{
	struct told t = {0};
	struct nodelease *lease;

	CHECK_EQ_INT(sync_grant(ev, etcd, 4711, 60).r, 0);
	lease = nodelease_new(ev, etcd, 10 * US_PER_S, 4711, &callbacks, &t);
	CHECK_EQ_INT(nodelease_id(lease), 0);
	CHECK(sync_until(ev, &t.n_alive, 1));
	CHECK_EQ_INT(t.id, 4711);
	CHECK_EQ_INT(t.n_min_ttl, 1);
	CHECK_EQ_INT(t.n_changed_before_min_ttl, 0);
	CHECK(!sync_run(ev, 300, &t.n_changed, 2));
	/* Renewed at once, and its own time is told. */
	CHECK_EQ_INT(nodelease_granted_s(lease), 60);
	CHECK(there_are(cluster, 1));
	end(lease, &t);
	CHECK(there_are(cluster, 0));

	/* One that etcd does not know any more. */
	t = (struct told){0};
	lease = nodelease_new(ev, etcd, 10 * US_PER_S, 4712, &callbacks, &t);
	CHECK(sync_until(ev, &t.n_alive, 2));
	CHECK(t.id != 4712 && lives(etcd, t.id));
	CHECK_EQ_INT(t.n_changed, 3);
	end(lease, &t);

	/* Ended before anybody asked whether it lives: it goes too. */
	CHECK_EQ_INT(sync_grant(ev, etcd, 4713, 60).r, 0);
	t = (struct told){0};
	lease = nodelease_new(ev, etcd, 10 * US_PER_S, 4713, &callbacks, &t);
	end(lease, &t);
	CHECK(!lives(etcd, 4713));
}

/* Ended with a request under way, whose answer nobody must hear any more. */
static void test_ended_early(struct etcd *etcd)
{
	for (int turns = 1; turns <= 4; turns++) {
		struct told t = {0};
		struct nodelease *lease = nodelease_new(ev, etcd, 10 * US_PER_S, 0, &callbacks, &t);

		for (int i = 0; i < turns; i++)
			ev_run(ev, EVRUN_ONCE);
		end(lease, &t);
	}
}

/* etcd does not answer at first, and not at the end. */
static void test_outage(struct cluster *cluster, struct etcd *etcd)
{
	struct told t = {0};
	struct nodelease *lease;

	cluster_signal(cluster, 0, SIGSTOP);
	lease = nodelease_new(ev, etcd, 10 * US_PER_S, 0, &callbacks, &t);
	CHECK(!sync_run(ev, 1500, &t.n_changed, 1));
	cluster_signal(cluster, 0, SIGCONT);
	CHECK(sync_until(ev, &t.n_alive, 1));
	CHECK_EQ_INT(t.n_min_ttl, 1);
	CHECK_EQ_INT(t.min_ttl_s, 2);
	CHECK(lives(etcd, t.id));
	cluster_signal(cluster, 0, SIGSTOP);
	end(lease, &t);
	/* Before anything has come of it. */
	t = (struct told){0};
	lease = nodelease_new(ev, etcd, 10 * US_PER_S, 0, &callbacks, &t);
	CHECK(!sync_run(ev, 50, &t.n_changed, 1));
	end(lease, &t);
	CHECK_EQ_INT(t.n_alive, 0);
	cluster_signal(cluster, 0, SIGCONT);
}

/* The server grants no less than eight seconds. */
static void test_slow_cluster(void)
{
	struct cluster *cluster = cluster_new(1, CLUSTER_SLOW);
	struct etcd *etcd = client_new(cluster, SURE_MS);
	struct told t = {0};
	struct nodelease *lease = nodelease_new(ev, etcd, US_PER_S * 3 / 2, 0, &callbacks, &t);

	CHECK(sync_until(ev, &t.n_alive, 1));
	CHECK_EQ_INT(t.min_ttl_s, 8);
	CHECK_EQ_INT(nodelease_granted_s(lease), 8);
	end(lease, &t);
	/* What is asked for is rounded up to whole seconds. */
	t = (struct told){0};
	lease = nodelease_new(ev, etcd, 8 * US_PER_S + 1, 0, &callbacks, &t);
	CHECK(sync_until(ev, &t.n_alive, 1));
	CHECK_EQ_INT(nodelease_granted_s(lease), 9);
	end(lease, &t);
	etcd_free(etcd);
	cluster_free(cluster);
}

static void test_one_member(void)
{
	struct cluster *cluster = cluster_new(1, 0);
	struct etcd *etcd = client_new(cluster, SURE_MS);

	test_granted_and_ended(cluster, etcd);
	test_renewed_and_lost(etcd);
	test_adopted(cluster, etcd);
	test_ended_early(etcd);
	etcd_free(etcd);
	etcd = client_new(cluster, 0);
	test_outage(cluster, etcd);
	etcd_free(etcd);
	cluster_free(cluster);
}

static void prepare(void)
{
	ev = ev_default_loop(EVFLAG_AUTO);
}

int main(void)
{
	static const patient_fn tests[] = {test_one_member, test_slow_cluster};

	patiently(&(struct patient){.prepare = prepare}, 2, tests, ARRAY_SIZE(tests));
	return check_result();
}
