/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a ledger does not believe: what is said of another record than its own, by an etcd that was
 * restored from a backup, by another cluster; and what it goes on with when nothing works.
 */
#include "tests/unit/etcdtest/server.h"
#include "tests/unit/ledgerdesk.h"

/* A record may stand at the revision of ours and be another's, or another one of ours: revisions
 * come again after a restore. */
static void test_confirm_of_what(void)
{
	struct record_owner stored[] = {record("n1", 5), record("n2", 5), record("n1", 6),
	                                record("n1", 5), record("n1", 5)};
	static const enum election_verdict verdicts[] = {ELECTION_DONE, ELECTION_LOST, ELECTION_LOST,
	                                                 ELECTION_LOST, ELECTION_LOST};

	stored[3].window_us = 2 * US_PER_S;
	stored[4].released = true;
	for (size_t i = 0; i < ARRAY_SIZE(stored); i++) {
		AUTO(free) char *value = record_owner_format(&stored[i]);
		struct desk d;

		set_desk(&d);
		CHECK_EQ_INT(sync_delete(ev, other, OWNER, false).r, 0);
		/* An adopted owner confirms before it has read anything. */
		if (!CHECK_EQ_INT(confirm(&d, sync_put(ev, other, OWNER, value, 0).revision, 5),
		                  verdicts[i]))
			(void) fprintf(stderr, "record %zu\n", i);
		clean_up(&d);
	}
}

/* The revisions fit and the values do not. */
static void test_values_guard(void)
{
	struct record_owner o = record("n1", 1);
	int64_t rev, beat;
	struct desk d;

	set_desk(&d);
	CHECK_EQ_INT(take(&d, "n1", 1, 0, 0), ELECTION_DONE);
	rev = d.said.takes.rev;
	CHECK_EQ_INT(confirm(&d, rev, 1), ELECTION_DONE);
	read_keys(&d);
	beat = d.facts.beat_rev;
	CHECK(d.facts.owner_text.len > 0 && d.facts.beat_text.len > 0);
	d.facts.beat_text.data[0]++;
	CHECK_EQ_INT(take(&d, "n2", 2, rev, beat), ELECTION_LOST);
	d.facts.beat_text.data[0]--;
	d.facts.owner_text.data[0]++;
	CHECK_EQ_INT(take(&d, "n2", 2, rev, beat), ELECTION_LOST);
	CHECK_EQ_INT(release(&d, &o, rev), ELECTION_LOST);
	CHECK_EQ_INT(confirm(&d, rev, 1), ELECTION_LOST);
	d.facts.owner_text.data[0]--;
	CHECK_EQ_INT(take(&d, "n2", 2, rev, beat), ELECTION_DONE);
	clean_up(&d);
}

static void restore(struct cluster *cluster, const char *snapshot)
{
	AUTO(free) char *command = NULL;

	cluster_kill(cluster, 0);
	command =
	    xasprintf("rm -rf m0 && ETCDCTL_API=3 etcdctl snapshot restore %s --data-dir m0", snapshot);
	CHECK(cluster_run(cluster, command));
	cluster_restart(cluster, 0);
	CHECK(TURN_UNTIL(ev, sync_get(ev, other, OWNER).r == 0));
}

/* Restored from a backup, with the same cluster id and a lower revision. */
static void test_rewound(void)
{
	struct cluster *cluster = cluster_new(1, 0);
	struct etcd_options options = {
	    .endpoints = cluster_urls(cluster), .n_endpoints = 1, .call_timeout_ms = SURE_MS};
	char error[ETCD_ERROR_TEXT_MAX];
	int64_t rev, old_rev, beat_rev, until_us;
	unsigned n_reads;
	struct desk d;

	CHECK_EQ_INT(etcd_new(ev, &options, error, &etcd), 0);
	CHECK_EQ_INT(etcd_new(ev, &options, error, &other), 0);
	set_desk(&d);
	CHECK_EQ_INT(take(&d, "n1", 1, 0, 0), ELECTION_DONE);
	old_rev = d.said.takes.rev;
	/* The first restore gives the cluster another id, the ones that follow always the same. */
	CHECK(cluster_ctl(cluster, "snapshot save first"));
	restore(cluster, "first");
	read_surely(&d);
	CHECK_EQ_INT(d.said.n_rewound, 1);
	CHECK(cluster_ctl(cluster, "snapshot save second"));
	CHECK_EQ_INT(take(&d, "n1", 2, old_rev, 0), ELECTION_DONE);
	rev = d.said.takes.rev;
	CHECK_EQ_INT(confirm(&d, rev, 2), ELECTION_DONE);
	CHECK_EQ_INT(confirm(&d, rev, 2), ELECTION_DONE);
	CHECK_EQ_INT(d.said.n_rewound, 1);
	restore(cluster, "second");

	/* The owner hears of it by its confirmation, which is not believed, whatever it says. */
	CHECK_EQ_INT(d.facts.owner_rev, rev);
	n_reads = d.said.n_reads;
	until_us = mono_now_us() + TURN_LIMIT_US;
	do
		CHECK_EQ_INT(confirm(&d, rev, 2), ELECTION_UNKNOWN);
	while (d.said.n_rewound < 2 && mono_now_us() < until_us);
	CHECK_EQ_INT(d.said.n_rewound, 2);
	/* And it reads and watches by itself, from there. */
	CHECK(sees(&d, old_rev, 0));
	CHECK_EQ_INT(d.facts.owner.epoch, 1);
	CHECK_EQ_INT(d.facts.timeline, 2);
	(void) sync_run(ev, 300, NULL, 0);
	beat_rev = sync_put(ev, other, BEAT, "{}", 0).revision;
	CHECK(sees(&d, old_rev, beat_rev));
	CHECK_EQ_INT(d.said.n_reads, n_reads);

	/* A standby hears of it by its reads. */
	CHECK_EQ_INT(sync_put(ev, other, BEAT, "{2}", 0).r, 0);
	read_keys(&d);
	restore(cluster, "second");
	read_surely(&d);
	CHECK_EQ_INT(d.said.n_rewound, 3);
	CHECK_EQ_INT(d.facts.beat_rev, 0);
	ledger_free(d.ledger);
	etcd_free(etcd);
	etcd_free(other);
	cluster_free(cluster);
}

static struct server *scripted_server(void)
{
	struct server *server = server_new(ev, 0, 0);
	const char *url = server_url(server);
	struct etcd_options options = {.endpoints = &url, .n_endpoints = 1, .call_timeout_ms = SURE_MS};
	char error[ETCD_ERROR_TEXT_MAX];

	CHECK_EQ_INT(etcd_new(ev, &options, error, &etcd), 0);
	return server;
}

static void test_another_cluster(void)
{
	struct server *server = scripted_server();
	struct desk d;

	set_desk(&d);
	read_keys(&d);
	CHECK_EQ_INT(confirm(&d, 7, 1), ELECTION_LOST);
	(void) server_cluster_id(server, 4711);
	CHECK_EQ_INT(confirm(&d, 7, 1), ELECTION_UNKNOWN);
	CHECK_EQ_INT(d.said.n_rewound, 1);
	CHECK(TURN_UNTIL(ev, d.facts.known && d.facts.cluster_id == 4711));
	CHECK_EQ_INT(confirm(&d, 7, 1), ELECTION_LOST);
	ledger_free(d.ledger);
	etcd_free(etcd);
	server_free(server);
}

static void test_trouble(void)
{
	static const struct server_rule full = {.code = GRPC_STATUS_RESOURCE_EXHAUSTED,
	                                        .text = "etcdserver: mvcc: database space exceeded"};
	static const struct server_rule odd = {.code = GRPC_STATUS_PERMISSION_DENIED,
	                                       .text = "say \"please\"\x01"};
	struct server *server = scripted_server();
	struct desk d;
	int64_t since_us;

	set_desk(&d);
	read_keys(&d);
	CHECK(ledger_trouble(d.ledger) == NULL);
	server_set(server, SERVER_TXN, full);
	CHECK_EQ_INT(confirm(&d, 7, 1), ELECTION_UNKNOWN);
	read_keys(&d);
	/* That it reads does not mean that it writes. */
	CHECK(ledger_trouble(d.ledger) != NULL && ledger_trouble(d.ledger)->r == -ENOSPC);
	CHECK_EQ_STR(ledger_trouble(d.ledger)->text, full.text);
	since_us = ledger_trouble(d.ledger)->since_us;
	CHECK_EQ_INT(confirm(&d, 7, 1), ELECTION_UNKNOWN);
	CHECK_EQ_INT(ledger_trouble(d.ledger)->since_us, since_us);
	/* Another one could write. */
	d.facts.life = mono_moment_now();
	d.facts.beat_rev = 1;
	d.facts.beat_as_of = 0;
	read_keys(&d);
	CHECK(ledger_trouble(d.ledger) == NULL);
	CHECK(TURN_UNTIL(ev, confirm(&d, 7, 1) == ELECTION_UNKNOWN && ledger_trouble(d.ledger) != NULL));
	/* That a deletion is carried out does not mean that it takes puts: the next put tells. */
	server_set(server, SERVER_TXN, (struct server_rule){0});
	CHECK(TURN_UNTIL(ev, confirm(&d, 7, 1) == ELECTION_LOST && ledger_trouble(d.ledger) == NULL));

	server_set(server, SERVER_RANGE, odd);
	read_keys(&d);
	CHECK(ledger_trouble(d.ledger) != NULL && ledger_trouble(d.ledger)->r == -EACCES);
	CHECK_EQ_STR(ledger_trouble(d.ledger)->text, "say 'please''");
	server_set(server, SERVER_RANGE, (struct server_rule){0});
	read_keys(&d);
	CHECK(ledger_trouble(d.ledger) == NULL);
	ledger_free(d.ledger);
	etcd_free(etcd);
	server_free(server);
}

/* A read that nobody waits for is tried again at an even pace, and one is enough. */
static void test_follow_retries(void)
{
	static const struct server_rule refuses = {.code = GRPC_STATUS_PERMISSION_DENIED, .text = ""};
	struct server *server = scripted_server();
	unsigned calls;
	struct desk d;

	set_desk(&d);
	server_set(server, SERVER_RANGE, refuses);
	for (int i = 0; i < 3; i++)
		ledger_follow(d.ledger);
	(void) sync_run(ev, 1100, NULL, 0);
	CHECK(server_calls(server, SERVER_RANGE) <= 6);
	CHECK(TURN_UNTIL(ev, server_calls(server, SERVER_RANGE) >= 2));
	CHECK_EQ_INT(d.said.n_changed, 0);
	server_set(server, SERVER_RANGE, (struct server_rule){0});
	CHECK(sync_until(ev, &d.said.n_changed, 1));
	/* Then it waits until there has been no answer for ten seconds. */
	calls = server_calls(server, SERVER_RANGE);
	(void) sync_run(ev, 8000, NULL, 0);
	CHECK_EQ_INT(server_calls(server, SERVER_RANGE), calls);
	CHECK(TURN_UNTIL(ev, server_calls(server, SERVER_RANGE) == calls + 1));
	ledger_free(d.ledger);
	etcd_free(etcd);
	server_free(server);
}

/* All that one member is enough for. */
static void test_one_member(void)
{
	struct cluster *cluster = one_member(0);

	test_confirm_of_what();
	test_values_guard();
	etcd_free(etcd);
	etcd_free(other);
	cluster_free(cluster);
}

int main(void)
{
	static const patient_fn tests[] = {test_follow_retries, test_one_member, test_rewound,
	                                   test_another_cluster, test_trouble};

	patiently(&(struct patient){.prepare = prepare}, 2, tests, ARRAY_SIZE(tests));
	return check_result();
}
