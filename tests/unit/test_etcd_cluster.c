/* SPDX-License-Identifier: Apache-2.0 */
/* The client against three real members, some of which are killed, stopped and started again. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "check.h"
#include "etcdtest/cluster.h"
#include "etcd/etcd.h"
#include "etcdtest/sync.h"

#define MEMBERS 3
/* Far longer than anything takes on a machine that is slow; no test waits for it to pass. */
#define LIMIT_MS 30000

static struct ev_loop *ev;
static struct cluster *cluster;
static struct etcd *etcd;

static int64_t limit_us(void)
{
	return mono_now_us() + LIMIT_MS * US_PER_MS;
}

/* first is asked first. */
static void client_start(size_t first, size_t n_endpoints, bool discover)
{
	const char *urls[MEMBERS];
	struct etcd_options options = {
	    .endpoints = urls, .n_endpoints = n_endpoints, .discover_members = discover};
	char error[ETCD_ERROR_TEXT_MAX];

	for (size_t i = 0; i < MEMBERS; i++)
		urls[i] = cluster_urls(cluster)[(first + i) % MEMBERS];
	CHECK_EQ_INT(etcd_new(ev, &options, error, &etcd), 0);
	(void) sync_run(ev, 200, NULL, 0);
}

static void client_end(void)
{
	etcd_free(TAKE_PTR(etcd));
}

static bool leads(size_t member)
{
	struct answer a = sync_status(ev, etcd, cluster_urls(cluster)[member]);

	return a.r == 0 && a.leader == a.member_id;
}

/* MEMBERS if there is none for long. */
static size_t find_leader(void)
{
	int64_t until_us = limit_us();
	size_t i;

	do {
		for (i = 0; i < MEMBERS && !leads(i); i++)
			;
	} while (i == MEMBERS && mono_now_us() < until_us);
	return i;
}

/* Asks until a linearizable read succeeds. */
static void wait_until_healthy(void)
{
	int64_t until_us = limit_us();
	struct answer a = sync_get(ev, etcd, "k");

	while (a.r < 0 && mono_now_us() < until_us) {
		(void) sync_run(ev, 50, NULL, 0);
		a = sync_get(ev, etcd, "k");
	}
	CHECK_EQ_INT(a.r, 0);
}

/* Until it succeeds; returns its revision. */
static int64_t put_surely(const char *key, const char *value)
{
	int64_t until_us = limit_us();
	struct answer a = sync_put(ev, etcd, key, value, 0);

	while (a.r < 0 && mono_now_us() < until_us) {
		(void) sync_run(ev, 50, NULL, 0);
		a = sync_put(ev, etcd, key, value, 0);
	}
	CHECK_EQ_INT(a.r, 0);
	return a.revision;
}

/* --- confirmations --- */

/* A guarded put each 50 ms, as an owner makes it; the longest time between two successes, counted
 * from the sending, is what the owner's fence has to outlast. */
struct confirmations {
	int64_t guard_revision;
	int64_t last_sent_us;
	int64_t longest_gap_us;
	unsigned n_good;
	unsigned n_bad;
	unsigned n_lost_guard;
};

static void confirm(struct confirmations *c)
{
	struct etcd_compare compare = {.key = ETCD_STR("owner"),
	                               .target = ETCD_COMPARE_MOD,
	                               .result = ETCD_EQUAL,
	                               .number = c->guard_revision};
	struct etcd_op put = {.kind = ETCD_OP_PUT, .key = ETCD_STR("beat"), .value = ETCD_STR("b")};
	struct etcd_txn txn = {
	    .compares = &compare, .n_compares = 1, .success = &put, .n_success = 1, .hedge = true};
	struct answer a = sync_txn(ev, etcd, &txn);

	CHECK_EQ_INT(a.n_callbacks, 1);
	if (a.r < 0) {
		c->n_bad++;
		return;
	}
	c->n_good++;
	c->n_lost_guard += !a.succeeded;
	if (c->last_sent_us != 0)
		c->longest_gap_us = MAX(c->longest_gap_us, a.sent_us - c->last_sent_us);
	c->last_sent_us = a.sent_us;
}

static void confirm_for(struct confirmations *c, int ms)
{
	int64_t until_us = mono_now_us() + ms * US_PER_MS;

	while (mono_now_us() < until_us) {
		confirm(c);
		(void) sync_run(ev, 50, NULL, 0);
	}
}

/* A machine that holds up a member, or us, makes one round late; what is slow itself is so in every
 * round. */
#define ROUNDS 10

static bool round_is_good(const struct confirmations *c, int most_ms, unsigned most_bad,
                          const char *story)
{
	int gap_ms = (int) (c->longest_gap_us / US_PER_MS);

	(void) printf("%s: longest gap %d ms, %u good, %u bad\n", story, gap_ms, c->n_good, c->n_bad);
	CHECK_EQ_INT(c->n_lost_guard, 0);
	return gap_ms <= most_ms && c->n_bad <= most_bad && c->n_good > 5;
}

static struct confirmations confirm_while_failing(size_t member, int signo, int ms)
{
	struct confirmations c = {.guard_revision = put_surely("owner", "me")};

	confirm_for(&c, 300);
	if (signo == SIGKILL)
		cluster_kill(cluster, member);
	else
		cluster_signal(cluster, member, signo);
	confirm_for(&c, ms);
	if (signo == SIGKILL)
		cluster_restart(cluster, member);
	else
		cluster_signal(cluster, member, SIGCONT);
	wait_until_healthy();
	return c;
}

/* A follower that is asked first is stopped, or killed: one hedge, no more. */
static void test_follower_fails(int signo, const char *story)
{
	bool good = false;

	for (int i = 0; i < ROUNDS && !good; i++) {
		size_t follower = (find_leader() + 1) % MEMBERS;
		struct confirmations c;

		client_end();
		client_start(follower, MEMBERS, false);
		c = confirm_while_failing(follower, signo, 1000);
		good = round_is_good(&c, 300 + 50 + 250, 0, story);
	}
	CHECK(good);
}

/* The leader: an election comes on top. */
static void test_leader_fails(int signo, const char *story)
{
	bool good = false;

	for (int i = 0; i < ROUNDS && !good; i++) {
		size_t leader = find_leader();
		struct confirmations c;

		if (!CHECK(leader < MEMBERS))
			return;
		c = confirm_while_failing(leader, signo, 2200);
		/* Election timeout 500..1000 ms, one deadline of 1 s may end in between. */
		good = round_is_good(&c, 2800, UINT_MAX, story);
	}
	CHECK(good);
}

/* --- a watch through all of it --- */

struct writer {
	int written;
	int seen; /* the next value that must come */
	unsigned n_wrong;
	unsigned n_live;
	unsigned n_lost;
	unsigned n_compacted;
};

static void writer_on_events(const struct etcd_event *events, size_t n_events,
                             int64_t revision UNUSED, void *userdata)
{
	struct writer *writer = userdata;

	for (size_t i = 0; i < n_events; i++) {
		char text[32] = "";

		memcpy(text, events[i].kv.value.data, MIN(events[i].kv.value.len, sizeof(text) - 1));
		/* An ambiguous put may have landed, or not; it is repeated with the same number. */
		if (atoi(text) != writer->seen && atoi(text) != writer->seen - 1)
			writer->n_wrong++;
		writer->seen = atoi(text) + 1;
	}
}

static void writer_on_compacted(int64_t revision UNUSED, void *userdata)
{
	((struct writer *) userdata)->n_compacted++;
}

static void writer_on_live(bool live, void *userdata)
{
	struct writer *writer = userdata;

	writer->n_live += live;
	writer->n_lost += !live;
}

/* So many that were surely written. */
static void write_more(struct writer *writer, int n)
{
	int most = writer->written + n;
	int64_t until_us = limit_us();

	while (writer->written < most && mono_now_us() < until_us) {
		char text[16];

		(void) snprintf(text, sizeof(text), "%d", writer->written);
		if (sync_put(ev, etcd, "w", text, 0).r == 0)
			writer->written++;
		(void) sync_run(ev, 10, NULL, 0);
	}
	CHECK_EQ_INT(writer->written, most);
}

static void test_watch_survives(void)
{
	static const struct etcd_watch_callbacks callbacks = {
	    .events = writer_on_events, .compacted = writer_on_compacted, .live = writer_on_live};
	struct writer writer = {0};
	struct etcd_watch *watch;
	int64_t start = put_surely("k", "v") + 1;

	CHECK_EQ_INT(etcd_watch_new(etcd, ETCD_STR("w"), false, start, &callbacks, &writer, &watch), 0);
	CHECK(sync_until(ev, &writer.n_live, 1));
	/* Each member is killed once; the watch is on one of them. */
	for (size_t i = 0; i < MEMBERS; i++) {
		write_more(&writer, 5);
		cluster_kill(cluster, i);
		write_more(&writer, 5);
		cluster_restart(cluster, i);
		wait_until_healthy();
		(void) sync_run(ev, 200, NULL, 0);
	}
	CHECK(sync_until(ev, &writer.n_lost, 1));
	CHECK(cluster_ctl(cluster, "compact 2"));
	write_more(&writer, 5);
	CHECK(sync_until(ev, &writer.n_live, writer.n_lost + 1));
	for (int64_t until_us = limit_us(); writer.seen < writer.written && mono_now_us() < until_us;)
		(void) sync_run(ev, 10, NULL, 0);
	CHECK_EQ_INT(writer.seen, writer.written);
	CHECK_EQ_INT(writer.n_wrong, 0);
	CHECK_EQ_INT(writer.n_compacted, 0);
	etcd_watch_free(watch);
}

/* History goes while the member that the watch is on is away: it must be told, not skipped. */
static void test_watch_compacted_while_away(void)
{
	AUTO(free) char *compact = NULL;
	struct etcd_watch *watch;
	struct watched w = {0};
	int64_t start = put_surely("c", "v") + 1;

	client_end();
	client_start(0, 1, false);
	CHECK_EQ_INT(etcd_watch_new(etcd, ETCD_STR("c"), false, start, &watched_callbacks, &w, &watch),
	             0);
	CHECK(sync_until(ev, &w.n_live, 1));
	cluster_kill(cluster, 0);
	CHECK(sync_until(ev, &w.n_lost, 1));
	compact = xasprintf("put c 1 --endpoints %s && ETCDCTL_API=3 etcdctl --endpoints %s del c && "
	                    "ETCDCTL_API=3 etcdctl --endpoints %s compact %lld",
	                    cluster_urls(cluster)[1], cluster_urls(cluster)[1],
	                    cluster_urls(cluster)[1], (long long) start + 1);
	/* The new leader may take a moment. */
	for (int i = 0; i < 100 && !cluster_ctl(cluster, compact); i++)
		(void) sync_run(ev, 100, NULL, 0);
	cluster_restart(cluster, 0);
	CHECK(sync_until(ev, &w.n_compacted, 1));
	CHECK_EQ_INT(w.n_events, 0);
	etcd_watch_free(watch);
	client_end();
	client_start(0, MEMBERS, false);
	wait_until_healthy();
}

/* --- without quorum --- */

static bool knows_no_leader(size_t member)
{
	struct answer a = sync_status(ev, etcd, cluster_urls(cluster)[member]);

	return a.r == 0 && a.leader == 0;
}

/* A call that nobody can answer ends by its deadline; a machine that holds us up makes one late. */
static void test_write_without_quorum(void)
{
	int64_t took_ms = INT64_MAX;

	for (int i = 0; i < ROUNDS && took_ms > 1200; i++) {
		struct answer a = sync_swap(ev, etcd, "k", 0, "v", true);

		CHECK(a.r == -EHOSTUNREACH || a.r == -ETIMEDOUT);
		took_ms = (a.done_us - a.asked_us) / US_PER_MS;
	}
	CHECK(took_ms <= 1200);
}

/* Whose port refuses is not waited for. */
static void test_status_of_killed(size_t member)
{
	int64_t took_ms = INT64_MAX;

	for (int i = 0; i < ROUNDS && took_ms >= 500; i++) {
		struct answer a = sync_status(ev, etcd, cluster_urls(cluster)[member]);

		CHECK_EQ_INT(a.r, -EHOSTUNREACH);
		took_ms = (a.done_us - a.asked_us) / US_PER_MS;
	}
	CHECK(took_ms < 500);
}

static void test_quorum_lost(void)
{
	int64_t until_us;

	cluster_kill(cluster, 1);
	cluster_kill(cluster, 2);
	until_us = limit_us();
	while (!knows_no_leader(0) && mono_now_us() < until_us)
		(void) sync_run(ev, 50, NULL, 0);
	test_write_without_quorum();
	/* What one member knows by itself is to be had all the same. */
	CHECK(knows_no_leader(0));
	CHECK_EQ_INT(sync_members(ev, etcd).n_members, MEMBERS);
	test_status_of_killed(1);
	cluster_restart(cluster, 1);
	cluster_restart(cluster, 2);
	wait_until_healthy();
}

static void test_discovery(void)
{
	const char *const *urls;
	int64_t until_us = limit_us();

	client_end();
	client_start(0, 1, true);
	while (etcd_endpoints(etcd, &urls) < MEMBERS && mono_now_us() < until_us)
		(void) sync_run(ev, 10, NULL, 0);
	CHECK_EQ_INT(etcd_endpoints(etcd, &urls), MEMBERS);
}

int main(void)
{
	ev = ev_default_loop(0);
	cluster = cluster_new(MEMBERS, CLUSTER_FAST);
	client_start(0, MEMBERS, false);
	wait_until_healthy();
	test_follower_fails(SIGSTOP, "follower stopped");
	test_follower_fails(SIGKILL, "follower killed");
	test_leader_fails(SIGSTOP, "leader stopped");
	test_leader_fails(SIGKILL, "leader killed");
	test_watch_survives();
	test_watch_compacted_while_away();
	test_quorum_lost();
	test_discovery();
	client_end();
	cluster_free(cluster);
	ev_loop_destroy(ev);
	return check_result();
}
