/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One VIP's keys in real etcd: that the three transactions do what they promise and nothing else,
 * what comes of them when nobody answers, that reads and the watch keep the facts up to date, also
 * over a compaction.
 */
#include "tests/unit/ledgerdesk.h"

static void test_names(void)
{
	static const struct {
		const char *vip, *want;
	} cases[] = {{"10.0.0.5", "fairlead/v1/vip/10.0.0.5/"},
	             {"fd00::5", "fairlead/v1/vip/fd00::5/"}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(ledger_free) struct ledger *l = NULL;
		struct facts facts;
		struct addr vip;

		facts_init(&facts);
		CHECK_EQ_INT(addr_parse(cases[i].vip, &vip), 0);
		l = ledger_new(ev, etcd, PREFIX, &vip, &facts, &callbacks, NULL);
		CHECK_EQ_STR(ledger_prefix(l), cases[i].want);
		CHECK_EQ_STR(ledger_endpoint(l), "");
	}
}

static void test_read(const char *endpoint)
{
	struct record_owner o = record("n1", 7);
	AUTO(free) char *value = record_owner_format(&o);
	int64_t owner_rev, beat_rev, before_us;
	struct desk d;

	set_desk(&d);
	before_us = mono_now_us();
	read_keys(&d);
	CHECK(d.said.read_ok && d.facts.known && !d.facts.has_owner);
	CHECK(d.facts.quorum_last_us >= before_us && d.facts.life.us > d.facts.quorum_last_us);
	CHECK(d.facts.cluster_id != 0);
	CHECK_EQ_STR(ledger_endpoint(d.ledger), endpoint);
	ledger_free(d.ledger);

	owner_rev = sync_put(ev, other, OWNER, value, 0).revision;
	beat_rev = sync_put(ev, other, BEAT, "{}", 0).revision;
	/* A longer address, of which ours is the beginning, is another VIP. */
	CHECK_EQ_INT(sync_put(ev, other, PREFIX "vip/10.0.0.50/owner", "not ours", 0).r, 0);
	set_desk(&d);
	read_keys(&d);
	CHECK_EQ_STR(d.facts.owner.node, "n1");
	CHECK_EQ_INT(d.facts.owner.epoch, 7);
	CHECK_EQ_INT(d.facts.owner_rev, owner_rev);
	CHECK_EQ_INT(d.facts.beat_rev, beat_rev);
	clean_up(&d);
}

static void test_take(void)
{
	int64_t first, beat, before_us = mono_now_us();
	struct answer stored;
	struct record_owner o;
	struct desk d;

	set_desk(&d);
	/* Nobody has it: both keys are absent. */
	CHECK_EQ_INT(take(&d, "n1", 1, 0, 0), ELECTION_DONE);
	first = d.said.takes.rev;
	CHECK(d.said.takes.sent_us >= before_us && d.said.takes.sent_us < mono_now_us());
	CHECK_EQ_STR(d.facts.owner.node, "n1");
	CHECK_EQ_INT(d.facts.owner_rev, first);
	stored = sync_get(ev, other, OWNER);
	CHECK_EQ_INT(stored.mod_revision, first);
	CHECK_EQ_INT(stored.kv_lease, 0);
	CHECK_EQ_INT(record_owner_parse(stored.value, strlen(stored.value), &o), 0);
	CHECK_EQ_STR(o.node, "n1");
	CHECK_EQ_STR(o.instance, "i-n1");
	CHECK_EQ_INT(o.window_us, 3 * US_PER_S);
	/* Absent it is no more. */
	CHECK_EQ_INT(take(&d, "n2", 2, 0, 0), ELECTION_LOST);
	CHECK_EQ_STR(d.facts.owner.node, "n1");
	CHECK_EQ_INT(sync_get(ev, other, OWNER).mod_revision, first);
	/* The owner is alive: it wrote a beat that we have not seen. */
	beat = sync_put(ev, other, BEAT, "{}", 0).revision;
	CHECK_EQ_INT(take(&d, "n2", 2, first, 0), ELECTION_LOST);
	CHECK_EQ_INT(take(&d, "n2", 2, first, beat - 1), ELECTION_LOST);
	/* The beat is the last, but the record is not. */
	CHECK_EQ_INT(take(&d, "n2", 2, first - 1, beat), ELECTION_LOST);
	CHECK_EQ_INT(sync_get(ev, other, OWNER).mod_revision, first);
	/* Both are. */
	CHECK_EQ_INT(take(&d, "n2", 2, first, beat), ELECTION_DONE);
	CHECK(d.said.takes.rev > beat);
	CHECK_EQ_STR(d.facts.owner.node, "n2");
	CHECK_EQ_INT(sync_get(ev, other, BEAT).mod_revision, beat);
	clean_up(&d);
}

static void test_confirm(void)
{
	struct answer stored;
	int64_t rev, before_us;
	long long seq = 0;
	char beat[64];
	struct desk d;

	set_desk(&d);
	CHECK_EQ_INT(take(&d, "n1", 9, 0, 0), ELECTION_DONE);
	rev = d.said.takes.rev;
	before_us = mono_now_us();
	CHECK_EQ_INT(confirm(&d, rev, 9), ELECTION_DONE);
	CHECK(d.said.confirms.sent_us >= before_us);
	CHECK(d.said.confirms.rtt_us > 0 &&
	      d.said.confirms.sent_us + d.said.confirms.rtt_us <= mono_now_us());
	stored = sync_get(ev, other, BEAT);
	CHECK_EQ_INT(sscanf(stored.value, "{\"epoch\":9,\"seq\":%lld}", &seq), 1);
	/* Where one that is restarted goes on, and not from 1 again. */
	CHECK(seq > 0 && seq <= mono_now_us() && seq > mono_now_us() - 60 * US_PER_S);
	CHECK_EQ_INT(stored.kv_lease, 0);
	CHECK_EQ_INT(confirm(&d, rev, 9), ELECTION_DONE);
	(void) snprintf(beat, sizeof(beat), "{\"epoch\":9,\"seq\":%lld}", seq + 1);
	CHECK_EQ_STR(sync_get(ev, other, BEAT).value, beat);
	/* Another has taken the record: we hear of it, and write nothing. */
	CHECK_EQ_INT(sync_put(ev, other, OWNER, "another's", 0).r, 0);
	CHECK_EQ_INT(confirm(&d, rev, 9), ELECTION_LOST);
	CHECK_EQ_STR(sync_get(ev, other, BEAT).value, beat);
	CHECK_EQ_INT(sync_delete(ev, other, OWNER, false).r, 0);
	CHECK_EQ_INT(confirm(&d, rev, 9), ELECTION_LOST);
	clean_up(&d);
}

static void test_release(void)
{
	struct record_owner o = record("n1", 3);
	struct answer stored;
	int64_t rev;
	struct desk d;

	set_desk(&d);
	CHECK_EQ_INT(take(&d, "n1", 3, 0, 0), ELECTION_DONE);
	rev = d.said.takes.rev;
	o.released = true;
	(void) strcpy(o.successor, "n2");
	CHECK_EQ_INT(release(&d, &o, rev - 1), ELECTION_LOST);
	CHECK(!d.facts.owner.released);
	CHECK_EQ_INT(sync_get(ev, other, OWNER).mod_revision, rev);
	/* A beat does not stand in its way. */
	CHECK_EQ_INT(confirm(&d, rev, 3), ELECTION_DONE);
	CHECK_EQ_INT(release(&d, &o, rev), ELECTION_DONE);
	CHECK(d.facts.owner.released);
	CHECK_EQ_STR(d.facts.owner.successor, "n2");
	CHECK(d.facts.owner_rev > rev);
	stored = sync_get(ev, other, OWNER);
	CHECK_EQ_INT(stored.mod_revision, d.facts.owner_rev);
	CHECK_EQ_INT(record_owner_parse(stored.value, strlen(stored.value), &o), 0);
	CHECK(o.released);
	/* Landed twice: the second finds that it is done. */
	CHECK_EQ_INT(release(&d, &o, rev), ELECTION_LOST);
	CHECK_EQ_INT(confirm(&d, rev, 3), ELECTION_LOST);
	clean_up(&d);
}

static void test_watch(void)
{
	struct record_owner o = record("n9", 5);
	AUTO(free) char *value = record_owner_format(&o);
	int64_t owner_rev, beat_rev, asked_rev, before_us;
	struct desk d;

	set_desk(&d);
	/* Before any read there is nothing to watch from. */
	(void) sync_put(ev, other, BEAT, "{}", 0);
	(void) sync_run(ev, 100, NULL, 0);
	CHECK_EQ_INT(d.said.n_changed, 0);
	ledger_follow(d.ledger);
	CHECK(sync_until(ev, &d.said.n_changed, 1));
	CHECK_EQ_INT(d.said.n_reads, 0);
	CHECK(d.facts.known && d.facts.beat_rev != 0);
	before_us = mono_now_us();
	owner_rev = sync_put(ev, other, OWNER, value, 0).revision;
	beat_rev = sync_put(ev, other, BEAT, "{}", 0).revision;
	CHECK(sees(&d, owner_rev, beat_rev));
	CHECK_EQ_STR(d.facts.owner.node, "n9");
	CHECK(d.facts.life.us >= before_us);
	CHECK_EQ_INT(sync_put(ev, other, UNDER "node/n9",
	                      "{\"instance\":\"x\",\"priority\":1,\"health\":\"good\","
	                      "\"eligible\":true,\"etcdLeader\":false}",
	                      0)
	                 .r,
	             0);
	CHECK(TURN_UNTIL(ev, facts_node(&d.facts, "n9") != NULL));
	CHECK_EQ_INT(d.facts.ask_rev, 0);
	ledger_ask(d.ledger);
	CHECK(TURN_UNTIL(ev, d.facts.ask_rev > beat_rev));
	asked_rev = d.facts.ask_rev;
	ledger_ask(d.ledger);
	CHECK(TURN_UNTIL(ev, d.facts.ask_rev > asked_rev));
	/* An empty value is no deletion. */
	beat_rev = sync_put(ev, other, BEAT, "", 0).revision;
	CHECK(sees(&d, owner_rev, beat_rev));
	/* Another VIP's keys are no news. */
	d.said.n_changed = 0;
	CHECK_EQ_INT(sync_put(ev, other, PREFIX "vip/10.0.0.50/owner", value, 0).r, 0);
	(void) sync_run(ev, 100, NULL, 0);
	CHECK_EQ_INT(d.said.n_changed, 0);
	CHECK_EQ_INT(sync_delete(ev, other, UNDER, true).r, 0);
	CHECK(sees(&d, 0, 0));
	CHECK(!d.facts.has_owner && facts_node(&d.facts, "n9") == NULL);
	CHECK_EQ_INT(d.facts.owner.window_us, 3 * US_PER_S);
	clean_up(&d);
}

/* An answer that says LOST although it was our own swap that landed: the read shows it. */
static void test_landed_twice(void)
{
	struct record_owner mine = record("n1", 1);
	AUTO(free) char *value = record_owner_format(&mine);
	struct desk d;
	int64_t rev;

	set_desk(&d);
	rev = sync_put(ev, other, OWNER, value, 0).revision;
	CHECK_EQ_INT(take(&d, "n1", 1, 0, 0), ELECTION_LOST);
	read_keys(&d);
	CHECK_EQ_STR(d.facts.owner.instance, "i-n1");
	CHECK_EQ_INT(d.facts.owner_rev, rev);
	CHECK_EQ_INT(confirm(&d, rev, 1), ELECTION_DONE);
	clean_up(&d);
}

/* Nobody answers. What was sent may land or not; in both cases the next read tells, and the guards
 * hold. */
static void test_unknown(struct cluster *cluster)
{
	struct record_owner o = record("n1", 1);
	int64_t rev, before_us;
	struct desk d;

	set_desk(&d);
	CHECK_EQ_INT(take(&d, "n1", 1, 0, 0), ELECTION_DONE);
	rev = d.said.takes.rev;
	read_keys(&d);
	cluster_signal(cluster, 0, SIGSTOP);
	before_us = mono_now_us();
	ledger_read(d.ledger, 0);
	ledger_take(d.ledger, &(struct election_claim){.record = record("n1", 2), .owner_rev = rev});
	CHECK_EQ_INT(confirm(&d, rev, 1), ELECTION_UNKNOWN);
	/* When it was sent, not when it was given up. */
	CHECK(d.said.confirms.sent_us >= before_us &&
	      d.said.confirms.sent_us < mono_now_us() - US_PER_S / 2);
	CHECK(sync_until(ev, &d.said.takes.n, 2));
	CHECK_EQ_INT(d.said.takes.verdict, ELECTION_UNKNOWN);
	CHECK(sync_until(ev, &d.said.n_reads, 2));
	CHECK(!d.said.read_ok);
	CHECK_EQ_INT(d.facts.quorum_since_us, MONO_NEVER);
	/* Nothing is believed to have happened. */
	CHECK_EQ_INT(d.facts.owner_rev, rev);
	CHECK_EQ_INT(release(&d, &o, rev), ELECTION_UNKNOWN);
	CHECK_EQ_INT(d.facts.owner_rev, rev);
	cluster_signal(cluster, 0, SIGCONT);
	read_surely(&d);
	CHECK(d.facts.quorum_since_us > before_us);
	CHECK_EQ_INT(d.facts.owner_rev, sync_get(ev, other, OWNER).mod_revision);
	CHECK_EQ_INT(take(&d, "n1", 3, d.facts.owner_rev, d.facts.beat_rev), ELECTION_DONE);
	clean_up(&d);
}

/* Who does not answer is not waited for longer than an answer is of use, and never for longer than
 * the client waits for anybody. */
static void test_useful(struct cluster *cluster)
{
	static const int64_t SOON = 200 * US_PER_MS, CLIENTS = US_PER_S, LATE = 300 * US_PER_MS;
	static const struct {
		int64_t useful_us, want_us;
	} cases[] = {{SOON, SOON}, {60 * US_PER_S, CLIENTS}};

	cluster_signal(cluster, 0, SIGSTOP);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct record_owner o = record("n1", 1);
		int64_t began_us, read_us, confirm_us;
		struct desk d;

		set_desk(&d);
		o.window_us = cases[i].useful_us;
		began_us = mono_now_us();
		ledger_read(d.ledger, cases[i].useful_us);
		CHECK(sync_until(ev, &d.said.n_reads, 1));
		read_us = mono_now_us() - began_us;
		began_us = mono_now_us();
		ledger_confirm(d.ledger, &o, 1);
		CHECK(sync_until(ev, &d.said.confirms.n, 1));
		confirm_us = mono_now_us() - began_us;
		CHECK(!d.said.read_ok);
		CHECK_EQ_INT(d.said.confirms.verdict, ELECTION_UNKNOWN);
		CHECK(read_us >= cases[i].want_us && read_us < cases[i].want_us + LATE);
		CHECK(confirm_us >= cases[i].want_us && confirm_us < cases[i].want_us + LATE);
		ledger_free(d.ledger);
	}
	cluster_signal(cluster, 0, SIGCONT);
}

/* Freed with everything under way: nothing is said any more. */
static void test_freed(void)
{
	struct record_owner o = record("n1", 1);
	struct desk d;

	set_desk(&d);
	read_keys(&d);
	memset(&d.said, 0, sizeof(d.said));
	for (int i = 0; i < 4; i++) {
		ledger_read(d.ledger, 0);
		ledger_follow(d.ledger);
		ledger_confirm(d.ledger, &o, 1);
		ledger_release(d.ledger, &o, 1);
		ledger_take(d.ledger, &(struct election_claim){.record = o, .owner_rev = 1});
	}
	ledger_free(d.ledger);
	(void) sync_run(ev, 200, NULL, 0);
	CHECK_EQ_INT(d.said.n_changed + d.said.n_reads + d.said.takes.n + d.said.confirms.n +
	                 d.said.releases.n,
	             0);
}

/*
 * The only member that we talk to is gone for a while, and when it is back what the watch was to
 * bring next is compacted away.
 */
static void test_compaction(void)
{
	struct cluster *cluster = cluster_new(3, CLUSTER_FAST);
	struct etcd_options first = {
	    .endpoints = cluster_urls(cluster), .n_endpoints = 1, .call_timeout_ms = SURE_MS};
	struct etcd_options second = {
	    .endpoints = cluster_urls(cluster) + 1, .n_endpoints = 1, .call_timeout_ms = SURE_MS};
	struct record_owner o = record("n2", 2);
	AUTO(free) char *value = record_owner_format(&o);
	AUTO(free) char *compact = NULL;
	char error[ETCD_ERROR_TEXT_MAX];
	struct answer a = {.r = -1};
	int64_t owner_rev, beat_rev;
	struct desk d;

	CHECK_EQ_INT(etcd_new(ev, &first, error, &etcd), 0);
	CHECK_EQ_INT(etcd_new(ev, &second, error, &other), 0);
	set_desk(&d);
	CHECK_EQ_INT(take(&d, "n1", 1, 0, 0), ELECTION_DONE);
	read_keys(&d);
	beat_rev = sync_put(ev, other, BEAT, "{}", 0).revision;
	CHECK(sees(&d, d.facts.owner_rev, beat_rev));
	cluster_kill(cluster, 0);
	/* The others may have to elect a leader first. */
	for (int i = 0; i < 100 && a.r != 0; i++)
		a = sync_put(ev, other, OWNER, value, 0);
	CHECK_EQ_INT(a.r, 0);
	CHECK_EQ_INT(sync_delete(ev, other, BEAT, false).r, 0);
	owner_rev = sync_get(ev, other, OWNER).mod_revision;
	CHECK_EQ_INT(sync_put(ev, other, PREFIX "noise", "", 0).r, 0);
	compact = xasprintf("ETCDCTL_API=3 etcdctl --endpoints %s compact %lld",
	                    cluster_urls(cluster)[1], (long long) owner_rev + 2);
	CHECK(cluster_run(cluster, compact));
	cluster_restart(cluster, 0);
	CHECK(sees(&d, owner_rev, 0));
	CHECK_EQ_STR(d.facts.owner.node, "n2");
	/* And the watch goes on behind it. */
	beat_rev = sync_put(ev, other, BEAT, "{}", 0).revision;
	CHECK(sees(&d, owner_rev, beat_rev));
	CHECK_EQ_INT(d.said.n_reads, 1);
	ledger_free(d.ledger);
	etcd_free(etcd);
	etcd_free(other);
	cluster_free(cluster);
}

/* All that one member is enough for. */
static void test_one_member(void)
{
	struct cluster *cluster = one_member(0);
	struct etcd_options usual = {.endpoints = cluster_urls(cluster), .n_endpoints = 1};
	char error[ETCD_ERROR_TEXT_MAX];

	test_names();
	test_read(cluster_urls(cluster)[0]);
	test_take();
	test_confirm();
	test_release();
	test_watch();
	test_landed_twice();
	test_freed();
	etcd_free(etcd);
	CHECK_EQ_INT(etcd_new(ev, &usual, error, &etcd), 0);
	test_unknown(cluster);
	test_useful(cluster);
	etcd_free(etcd);
	etcd_free(other);
	cluster_free(cluster);
}

/* Without a beat, and under the alarm NOSPACE. */
static void test_full(void)
{
	struct cluster *cluster = one_member(CLUSTER_SMALL);
	AUTO(free) char *large = xcalloc(1, 400001);
	struct desk d;
	int64_t rev;

	memset(large, 'x', 400000);
	set_desk(&d);
	ledger_follow(d.ledger);
	CHECK_EQ_INT(take(&d, "n1", 9, 0, 0), ELECTION_DONE);
	rev = d.said.takes.rev;
	/* A standby puts one where there is none, and no second one. */
	for (int i = 0; i < 2; i++) {
		CHECK(TURN_UNTIL(ev, d.facts.owner_rev == rev));
		ledger_beat(d.ledger);
		CHECK(TURN_UNTIL(ev, d.facts.beat_rev > rev));
	}
	CHECK_EQ_INT(release(&d, &(struct record_owner){.epoch = 9}, rev + 1), ELECTION_LOST);
	CHECK_EQ_INT(sync_get(ev, other, BEAT).version, 1);
	CHECK_EQ_INT(confirm(&d, rev, 9), ELECTION_DONE);
	CHECK(TURN_UNTIL(ev, sync_put(ev, other, "large", large, 0).r == -ENOSPC));
	/* Refused as a put and carried out as a deletion, which has nothing to delete the second time.
	 */
	for (int i = 0; i < 2; i++) {
		CHECK_EQ_INT(confirm(&d, rev, 9), ELECTION_DONE);
		CHECK_EQ_INT(sync_get(ev, other, BEAT).n_kvs, 0);
		CHECK(TURN_UNTIL(ev, d.facts.beat_rev == 0));
		CHECK(ledger_trouble(d.ledger) != NULL && ledger_trouble(d.ledger)->r == -ENOSPC);
	}
	ledger_beat(d.ledger);
	CHECK_EQ_INT(take(&d, "n1", 10, rev, 0), ELECTION_UNKNOWN);
	CHECK_EQ_INT(confirm(&d, rev, 8), ELECTION_LOST);
	CHECK_EQ_INT(confirm(&d, rev + 1, 9), ELECTION_LOST);
	CHECK_EQ_INT(sync_get(ev, other, BEAT).n_kvs, 0);
	ledger_free(d.ledger);
	etcd_free(etcd);
	etcd_free(other);
	cluster_free(cluster);
}

int main(void)
{
	static const patient_fn tests[] = {test_one_member, test_compaction, test_full};

	patiently(&(struct patient){.prepare = prepare}, 2, tests, ARRAY_SIZE(tests));
	return check_result();
}
