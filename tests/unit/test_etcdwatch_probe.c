/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A round of questions to three real members: all that a well one tells, what is left of it when
 * one is stopped or dead, and what is known of those that answer no more at all.
 */
#include "etcdwatch/health/probe.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcd/connect.h"
#include "tests/unit/check.h"
#include "tests/unit/etcdtest/cluster.h"
#include "tests/unit/turn.h"

#define MEMBERS 3
#define WAIT_US (60 * US_PER_S)

static struct ev_loop *ev;
static struct cluster *cluster;
static struct etcdconf config;
static struct etcd *etcd;
static struct probe *probe;
static struct observation seen;

static void done_cb(void *userdata)
{
	*(bool *) userdata = true;
}

static void look(bool with_pages)
{
	int64_t deadline_us = mono_now_us() + WAIT_US;
	bool done = false;

	probe_start(probe, with_pages, &seen, done_cb, &done);
	CHECK(!done);
	while (!done && mono_now_us() < deadline_us)
		turn_once(ev);
	if (!CHECK(done))
		_exit(1);
}

static size_t count(enum observed answer)
{
	size_t n = 0;

	for (size_t i = 0; i < seen.n_members; i++)
		n += seen.members[i].answer == answer ? 1 : 0;
	return n;
}

static size_t count_serving(void)
{
	size_t n = 0;

	for (size_t i = 0; i < seen.n_members; i++)
		n += seen.members[i].linearizable == OBSERVED_GOOD ? 1 : 0;
	return n;
}

/* Looks again and again until so many answer, and so many of them reads that take a quorum. */
static void look_until(size_t answer, size_t serve)
{
	int64_t deadline_us = mono_now_us() + WAIT_US;

	do
		look(true);
	while ((count(OBSERVED_GOOD) != answer || count_serving() != serve || seen.n_members != 3) &&
	       mono_now_us() < deadline_us);
	CHECK_EQ_INT(seen.n_members, 3);
	CHECK_EQ_INT(count(OBSERVED_GOOD), answer);
	CHECK_EQ_INT(count_serving(), serve);
}

static const struct observation_member *find(size_t member)
{
	char name[16];

	(void) snprintf(name, sizeof(name), "m%zu", member);
	for (size_t i = 0; i < seen.n_members; i++) {
		if (strcmp(seen.members[i].name, name) == 0)
			return &seen.members[i];
	}
	(void) fprintf(stderr, "no member %s: %s, %s, %s\n", name, seen.members[0].name,
	               seen.members[1].name, seen.members[2].name);
	_exit(1);
}

static void check_well(const struct observation_member *m)
{
	CHECK(m->id != 0 && m->listed && !m->learner);
	CHECK_EQ_INT(m->answer, OBSERVED_GOOD);
	CHECK(m->latency_us > 0);
	CHECK(m->cluster_id != 0 && m->cluster_id == seen.members[0].cluster_id);
	CHECK(m->version[0] == '3');
	CHECK(m->leader_id != 0 && m->raft_term > 0 && m->committed > 0 && m->applied > 0);
	CHECK(m->db_bytes > 0 && m->in_use_bytes > 0 && m->quota_bytes > m->db_bytes);
	CHECK_EQ_INT(m->linearizable, OBSERVED_GOOD);
	CHECK_EQ_INT(m->serializable, OBSERVED_GOOD);
	CHECK(m->linearizable_us > 0 && m->serializable_us > 0);
	CHECK(!m->no_space && !m->corrupt);
	CHECK(m->list_known && m->n_list == 3 && m->list_digest == seen.members[0].list_digest);
	CHECK(m->page_known && m->page.fsync.n > 10 && m->page.commit.n > 10);
	CHECK(m->page.has_failed && m->page.started_s > 0);
	CHECK(m->not_after_s > wall_now_us() / US_PER_S);
	/* It is this machine's own clock. */
	CHECK(m->clock_known && m->ahead_least_us <= 0 && m->ahead_most_us >= 0);
}

static void test_well(void)
{
	look_until(3, 3);
	CHECK(seen.list_known && seen.alarms_known);
	for (size_t i = 0; i < seen.n_members; i++)
		check_well(&seen.members[i]);
	look(false);
	CHECK(!seen.members[0].page_known && !seen.members[0].clock_known);
	CHECK_EQ_INT(seen.members[0].answer, OBSERVED_GOOD);
	/* What a page once told does not change. */
	CHECK(seen.members[0].quota_bytes > seen.members[0].db_bytes);
}

/* The others tell as much as ever. */
static void test_stopped(void)
{
	cluster_signal(cluster, 1, SIGSTOP);
	look_until(2, 2);
	CHECK(seen.list_known && seen.alarms_known);
	check_well(find(0));
	check_well(find(2));
	CHECK_EQ_INT(find(1)->answer, OBSERVED_BAD);
	CHECK(find(1)->listed && find(1)->error[0] != '\0' && !find(1)->list_known);
	CHECK_EQ_INT(find(1)->linearizable, OBSERVED_NOTHING);
	cluster_signal(cluster, 1, SIGCONT);
	look_until(3, 3);
}

static void change_alarm(const char *action, const char *alarm, unsigned member)
{
	AUTO(free)
	char *command = xasprintf("curl -sf --cacert ca.pem --cert client.pem --key client-key.pem -d "
	                          "'{\"action\": \"%s\", \"alarm\": \"%s\", \"memberID\": \"%u\"}' "
	                          "%s/v3/maintenance/alarm >alarm.txt",
	                          action, alarm, member, cluster_urls(cluster)[0]);

	CHECK(cluster_run(cluster, command));
}

static void look_until_alarms(bool no_space, bool corrupt)
{
	int64_t deadline_us = mono_now_us() + WAIT_US;

	do
		look(false);
	while ((seen.other_no_space != no_space || seen.other_corrupt != corrupt) &&
	       mono_now_us() < deadline_us);
	CHECK(seen.other_no_space == no_space && seen.other_corrupt == corrupt);
	for (size_t i = 0; i < seen.n_members; i++)
		CHECK(!seen.members[i].no_space && !seen.members[i].corrupt);
}

/* Of the cluster, and of a member that is gone. */
static void test_alarms_of_others(void)
{
	look_until_alarms(false, false);
	change_alarm("ACTIVATE", "CORRUPT", 0);
	look_until_alarms(false, true);
	change_alarm("ACTIVATE", "NOSPACE", 77);
	look_until_alarms(true, true);
	change_alarm("DEACTIVATE", "CORRUPT", 0);
	look_until_alarms(true, false);
	change_alarm("DEACTIVATE", "NOSPACE", 77);
	look_until_alarms(false, false);
}

static void test_dead(void)
{
	cluster_kill(cluster, 0);
	cluster_kill(cluster, 1);
	look_until(1, 0);
	CHECK(seen.list_known && seen.alarms_known);
	CHECK_EQ_INT(find(2)->serializable, OBSERVED_GOOD);
	CHECK(find(2)->read_error[0] != '\0');
	cluster_kill(cluster, 2);
	look_until(0, 0);
	CHECK(!seen.list_known && !seen.alarms_known);
	for (size_t i = 0; i < MEMBERS; i++)
		CHECK(find(i)->answer == OBSERVED_BAD && find(i)->listed && find(i)->error[0] != '\0');
}

static void start(void)
{
	struct probe_options options = {.ev = ev, .config = &config};

	if (!CHECK_EQ_INT(connect_etcd(ev, &config, 0, &etcd), 0))
		_exit(1);
	options.etcd = etcd;
	CHECK_EQ_INT(probe_new(&options, &probe), 0);
}

static void stop(void)
{
	probe_free(probe);
	etcd_free(etcd);
}

/* Nobody was ever heard: the endpoints stand for themselves. */
static void test_never_heard(void)
{
	stop();
	start();
	look(true);
	CHECK(!seen.list_known);
	CHECK_EQ_INT(seen.n_members, 3);
	CHECK_EQ_INT(count(OBSERVED_BAD), 3);
	CHECK_EQ_STR(seen.members[0].name, config.endpoints[0]);
}

/* In the middle of a round. */
static void test_given_up(void)
{
	bool done = false;

	probe_start(probe, true, &seen, done_cb, &done);
	turn_once(ev);
	stop();
	turn_for(ev, 20 * US_PER_MS);
	CHECK(!done);
}

int main(void)
{
	AUTO(free) char *ca = NULL;
	AUTO(free) char *cert = NULL;
	AUTO(free) char *key = NULL;
	char *endpoints[MEMBERS], prefix[] = "fairlead/v1/";

	(void) signal(SIGPIPE, SIG_IGN);
	ev = ev_loop_new(EVFLAG_AUTO);
	cluster = cluster_new(MEMBERS, CLUSTER_TLS | CLUSTER_FAST);
	ca = xstrdup(cluster_file(cluster, "ca.pem"));
	cert = xstrdup(cluster_file(cluster, "client.pem"));
	key = xstrdup(cluster_file(cluster, "client-key.pem"));
	for (size_t i = 0; i < MEMBERS; i++)
		endpoints[i] = xstrdup(cluster_urls(cluster)[i]);
	config = (struct etcdconf){
	    .endpoints = endpoints,
	    .n_endpoints = MEMBERS,
	    .ca_file = ca,
	    .cert_file = cert,
	    .key_file = key,
	    .prefix = prefix,
	    .call_timeout_us = 2 * US_PER_S,
	    .hedge_us = 300 * US_PER_MS,
	};
	start();
	test_well();
	test_stopped();
	test_alarms_of_others();
	test_dead();
	test_never_heard();
	test_given_up();
	cluster_free(cluster);
	ev_loop_destroy(ev);
	for (size_t i = 0; i < MEMBERS; i++)
		free(endpoints[i]);
	return check_result();
}
