/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One VIP's keys in real etcd: that the three transactions do what they promise and nothing else,
 * what comes of them when nobody answers, that reads and the watch keep the facts up to date, also
 * over a compaction, and that nothing is believed of an etcd that was restored from a backup.
 */
#include "vipd/ledger.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "tests/unit/check.h"
#include "tests/unit/etcdtest/cluster.h"
#include "tests/unit/etcdtest/server.h"
#include "tests/unit/etcdtest/sync.h"
#include "tests/unit/patient.h"
#include "tests/unit/turn.h"

#define PREFIX "fairlead/v1/"
#define VIP "10.0.0.5"
#define UNDER PREFIX "vip/" VIP "/"
#define OWNER UNDER "owner"
#define BEAT UNDER "beat"
/* Within this a member answers, however slow the machine is. */
#define SURE_MS 20000

static struct ev_loop *ev;
static struct etcd *etcd;  /* the ledger's */
static struct etcd *other; /* somebody else's */

/* What was said of one kind of request: how often, and the last time. */
struct answers {
	unsigned n;
	enum election_verdict verdict;
	int64_t rev;
	int64_t sent_us;
	int64_t rtt_us;
};

struct said {
	unsigned n_changed;
	unsigned n_rewound;
	unsigned n_reads;
	bool read_ok;
	struct answers takes, confirms, releases;
};

struct desk {
	struct facts facts;
	struct ledger *ledger;
	struct said said;
};

static void rewound_cb(void *userdata)
{
	((struct desk *) userdata)->said.n_rewound++;
}

static void changed_cb(void *userdata)
{
	((struct desk *) userdata)->said.n_changed++;
}

static void on_read_cb(bool ok, void *userdata)
{
	struct said *s = &((struct desk *) userdata)->said;

	s->n_reads++;
	s->read_ok = ok;
}

static void on_take_cb(enum election_verdict verdict, int64_t rev, int64_t sent_us, void *userdata)
{
	struct answers *a = &((struct desk *) userdata)->said.takes;

	*a = (struct answers){.n = a->n + 1, .verdict = verdict, .rev = rev, .sent_us = sent_us};
}

static void on_confirm_cb(enum election_verdict verdict, int64_t rev, int64_t sent_us,
                          int64_t rtt_us, void *userdata)
{
	struct answers *a = &((struct desk *) userdata)->said.confirms;

	*a = (struct answers){
	    .n = a->n + 1, .verdict = verdict, .rev = rev, .sent_us = sent_us, .rtt_us = rtt_us};
}

static void on_release_cb(enum election_verdict verdict, int64_t rev, void *userdata)
{
	struct answers *a = &((struct desk *) userdata)->said.releases;

	*a = (struct answers){.n = a->n + 1, .verdict = verdict, .rev = rev};
}

static const struct ledger_callbacks callbacks = {
    .changed = changed_cb,
    .on_read = on_read_cb,
    .on_take = on_take_cb,
    .on_confirm = on_confirm_cb,
    .on_release = on_release_cb,
    .rewound = rewound_cb,
};

static void set_desk(struct desk *d)
{
	struct addr vip;

	memset(d, 0, sizeof(*d));
	facts_init(&d->facts);
	CHECK_EQ_INT(addr_parse(VIP, &vip), 0);
	d->ledger = ledger_new(ev, etcd, PREFIX, &vip, &d->facts, &callbacks, d);
}

static void clean_up(struct desk *d)
{
	ledger_free(d->ledger);
	CHECK_EQ_INT(sync_delete(ev, other, UNDER, true).r, 0);
}

static void read_keys(struct desk *d)
{
	unsigned before = d->said.n_reads;

	ledger_read(d->ledger);
	CHECK_EQ_INT(d->said.n_reads, before);
	CHECK(sync_until(ev, &d->said.n_reads, before + 1));
}

/* Whoever was away may take a moment to be connected again. */
static void read_surely(struct desk *d)
{
	const int64_t until_us = mono_now_us() + TURN_LIMIT_US;

	do
		read_keys(d);
	while (!d->said.read_ok && mono_now_us() < until_us);
	CHECK(d->said.read_ok);
}

static struct record_owner record(const char *node, int64_t epoch)
{
	struct record_owner o = {
	    .epoch = epoch, .window_us = 3 * US_PER_S, .late_us = 100 * US_PER_MS, .reason = "test"};

	(void) snprintf(o.node, sizeof(o.node), "%s", node);
	(void) snprintf(o.instance, sizeof(o.instance), "i-%s", node);
	return o;
}

static enum election_verdict take(struct desk *d, const char *node, int64_t epoch,
                                  int64_t owner_rev, int64_t beat_rev)
{
	const struct election_claim claim = {
	    .record = record(node, epoch), .owner_rev = owner_rev, .beat_rev = beat_rev};
	unsigned before = d->said.takes.n;

	ledger_take(d->ledger, &claim);
	CHECK_EQ_INT(d->said.takes.n, before);
	CHECK(sync_until(ev, &d->said.takes.n, before + 1));
	return d->said.takes.verdict;
}

static enum election_verdict confirm(struct desk *d, int64_t rev, int64_t epoch)
{
	const struct record_owner ours = record("n1", epoch);
	unsigned before = d->said.confirms.n;

	ledger_confirm(d->ledger, &ours, rev);
	CHECK_EQ_INT(d->said.confirms.n, before);
	CHECK(sync_until(ev, &d->said.confirms.n, before + 1));
	CHECK_EQ_INT(d->said.confirms.rev, rev);
	return d->said.confirms.verdict;
}

static enum election_verdict release(struct desk *d, const struct record_owner *o, int64_t rev)
{
	unsigned before = d->said.releases.n;

	ledger_release(d->ledger, o, rev);
	CHECK_EQ_INT(d->said.releases.n, before);
	CHECK(sync_until(ev, &d->said.releases.n, before + 1));
	CHECK_EQ_INT(d->said.releases.rev, rev);
	return d->said.releases.verdict;
}

/* The facts come to show the owner's epoch, or the beat. */
static bool sees(struct desk *d, int64_t owner_rev, int64_t beat_rev)
{
	return TURN_UNTIL(ev, d->facts.owner_rev == owner_rev && d->facts.beat_rev == beat_rev);
}

/* --- stories ------------------------------------------------------------------------------------
 */

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
	int64_t owner_rev, beat_rev, before_us;
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
	ledger_read(d.ledger);
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

/* Freed with everything under way: nothing is said any more. */
static void test_freed(void)
{
	struct record_owner o = record("n1", 1);
	struct desk d;

	set_desk(&d);
	read_keys(&d);
	memset(&d.said, 0, sizeof(d.said));
	for (int i = 0; i < 4; i++) {
		ledger_read(d.ledger);
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

/* --- what is not believed -----------------------------------------------------------------------
 */

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
	read_keys(&d);
	CHECK(ledger_trouble(d.ledger) == NULL);
	CHECK_EQ_INT(confirm(&d, 7, 1), ELECTION_UNKNOWN);
	server_set(server, SERVER_TXN, (struct server_rule){0});
	CHECK_EQ_INT(confirm(&d, 7, 1), ELECTION_LOST);
	CHECK(ledger_trouble(d.ledger) == NULL);

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

static void prepare(void)
{
	ev = ev_default_loop(EVFLAG_AUTO);
}

/* All that one member is enough for. */
static void test_one_member(void)
{
	struct cluster *cluster = cluster_new(1, 0);
	struct etcd_options sure = {
	    .endpoints = cluster_urls(cluster), .n_endpoints = 1, .call_timeout_ms = SURE_MS};
	struct etcd_options usual = {.endpoints = cluster_urls(cluster), .n_endpoints = 1};
	char error[ETCD_ERROR_TEXT_MAX];

	CHECK_EQ_INT(etcd_new(ev, &sure, error, &etcd), 0);
	CHECK_EQ_INT(etcd_new(ev, &sure, error, &other), 0);
	test_names();
	test_read(cluster_urls(cluster)[0]);
	test_take();
	test_confirm();
	test_release();
	test_watch();
	test_landed_twice();
	test_confirm_of_what();
	test_values_guard();
	test_freed();
	etcd_free(etcd);
	CHECK_EQ_INT(etcd_new(ev, &usual, error, &etcd), 0);
	test_unknown(cluster);
	etcd_free(etcd);
	etcd_free(other);
	cluster_free(cluster);
}

int main(void)
{
	static const patient_fn tests[] = {
	    test_follow_retries, test_one_member,      test_compaction,
	    test_rewound,        test_another_cluster, test_trouble,
	};

	patiently(&(struct patient){.prepare = prepare}, 2, tests, ARRAY_SIZE(tests));
	return check_result();
}
