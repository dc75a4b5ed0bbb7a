/* SPDX-License-Identifier: Apache-2.0 */
/*
 * News about a VIP's keys in every order in which it may come: reads, watch events and own writes,
 * late ones and doubled ones.
 */
#include "vipd/facts.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "tests/unit/check.h"
#include "vipd/timing.h"

#define CLUSTER UINT64_C(0xabc)

/* The other clock was begun at another time. */
#define RAW_BEHIND_US 700
#define AT(us_) ((struct mono_moment){.us = (us_), .raw_us = (us_) -RAW_BEHIND_US})

#define NODE_VALUE                                                                               \
	"{\"instance\":\"i\",\"priority\":100,\"health\":\"good\",\"eligible\":true,\"etcdLeader\":" \
	"false}"

static struct record_owner owner_of(const char *node, int64_t epoch)
{
	struct record_owner o = {
	    .epoch = epoch, .window_us = 3 * US_PER_S, .late_us = 100 * US_PER_MS, .instance = "i"};

	(void) snprintf(o.node, sizeof(o.node), "%s", node);
	return o;
}

/* The value lives for as long as the test. */
static struct facts_key key(const char *name, const char *value, int64_t rev)
{
	return (struct facts_key){.name = name,
	                          .name_len = strlen(name),
	                          .value = value,
	                          .value_len = value != NULL ? strlen(value) : 0,
	                          .mod_revision = rev};
}

static struct facts_key owner_key(const char *node, int64_t epoch, int64_t rev)
{
	static char *values[16];
	static size_t next;
	struct record_owner o = owner_of(node, epoch);
	char **value = &values[next++ % ARRAY_SIZE(values)];

	free(*value);
	*value = record_owner_format(&o);
	return key("owner", *value, rev);
}

static struct facts_key beat_key(int64_t rev)
{
	return key("beat", "{}", rev);
}

static enum facts_answer read_at(struct facts *f, struct facts_mark mark, int64_t revision,
                                 int64_t now_us, size_t n, va_list ap)
{
	struct facts_key keys[8];

	for (size_t i = 0; i < n; i++)
		keys[i] = va_arg(ap, struct facts_key);
	return facts_on_read(f, mark, CLUSTER, revision, keys, n, now_us - 5, AT(now_us));
}

/* A read that overtakes nothing. */
static enum facts_answer read_all(struct facts *f, int64_t revision, int64_t now_us, size_t n, ...)
{
	enum facts_answer answer;
	va_list ap;

	va_start(ap, n);
	answer = read_at(f, facts_mark(f), revision, now_us, n, ap);
	va_end(ap);
	return answer;
}

/* A read that was sent when no more than revision `known` was heard of. */
static enum facts_answer read_late(struct facts *f, int64_t known, int64_t revision, int64_t now_us,
                                   size_t n, ...)
{
	struct facts_mark mark = {.timeline = f->timeline, .revision = known};
	enum facts_answer answer;
	va_list ap;

	va_start(ap, n);
	answer = read_at(f, mark, revision, now_us, n, ap);
	va_end(ap);
	return answer;
}

static void event(struct facts *f, struct facts_key k, int64_t now_us)
{
	facts_on_event(f, &k, AT(now_us));
}

static void check_keys(const struct facts *f, const char *story, const char *owner,
                       int64_t owner_rev, int64_t beat_rev, int64_t life_us)
{
	bool ok = CHECK_EQ_STR(f->has_owner ? f->owner.node : "", owner);

	ok = CHECK_EQ_INT(f->owner_rev, owner_rev) && ok;
	ok = CHECK_EQ_INT(f->beat_rev, beat_rev) && ok;
	ok = CHECK_EQ_INT(f->life.us, life_us) && ok;
	ok = CHECK_EQ_INT(f->life.raw_us, life_us - RAW_BEHIND_US) && ok;
	if (!ok)
		(void) fprintf(stderr, "story: %s\n", story);
}

static void test_first_read(void)
{
	struct facts f;

	facts_init(&f);
	CHECK(!f.known && f.quorum_since_us == MONO_NEVER);
	(void) read_all(&f, 50, 1000, 0);
	CHECK(f.known);
	check_keys(&f, "no key at all: whoever came just now waits all the same", "", 0, 0, 1000);

	facts_init(&f);
	(void) read_all(&f, 50, 1000, 2, owner_key("n1", 3, 40), beat_key(45));
	check_keys(&f, "an owner, of whose silence nothing is known", "n1", 40, 45, 1000);
	CHECK_EQ_INT(f.owner.epoch, 3);
	CHECK_EQ_INT(f.owner.window_us, 3 * US_PER_S);
}

static void test_signs_of_life(void)
{
	struct facts f;

	facts_init(&f);
	(void) read_all(&f, 50, 1000, 2, owner_key("n1", 3, 40), beat_key(45));
	(void) read_all(&f, 60, 2000, 2, owner_key("n1", 3, 40), beat_key(45));
	check_keys(&f, "a read that shows nothing new is no sign of life", "n1", 40, 45, 1000);
	event(&f, beat_key(61), 3000);
	check_keys(&f, "a beat is", "n1", 40, 61, 3000);
	event(&f, beat_key(61), 4000);
	check_keys(&f, "the same beat again is not", "n1", 40, 61, 3000);
	(void) read_all(&f, 62, 5000, 2, owner_key("n1", 3, 40), beat_key(61));
	check_keys(&f, "nor when a read shows it", "n1", 40, 61, 3000);
	event(&f, key("node/n1", NODE_VALUE, 63), 6000);
	check_keys(&f, "nor is a node key", "n1", 40, 61, 3000);
	event(&f, key("colour", "{}", 64), 6500);
	check_keys(&f, "nor what we do not know", "n1", 40, 61, 3000);
	event(&f, owner_key("n2", 4, 65), 7000);
	check_keys(&f, "a new record is", "n2", 65, 61, 7000);
	event(&f, beat_key(70), 8000);
	event(&f, beat_key(69), 9000);
	check_keys(&f, "an older beat that comes late is ignored", "n2", 65, 70, 8000);
	event(&f, owner_key("n1", 3, 64), 9000);
	check_keys(&f, "and an older record", "n2", 65, 70, 8000);
}

/* Reads and the watch overtake each other. */
static void test_late_read(void)
{
	struct facts f;

	facts_init(&f);
	(void) read_all(&f, 50, 1000, 2, owner_key("n1", 3, 40), beat_key(45));
	event(&f, beat_key(58), 2000);
	event(&f, owner_key("n2", 4, 60), 2500);
	event(&f, key("node/n2", NODE_VALUE, 62), 2600);
	(void) read_late(&f, 50, 55, 3000, 3, owner_key("n1", 3, 40), beat_key(51),
	                 key("node/n9", NODE_VALUE, 9));
	check_keys(&f, "a read from before does not bring the old owner back", "n2", 60, 58, 2500);
	CHECK(facts_node(&f, "n2") != NULL && facts_node(&f, "n9") == NULL);
	(void) read_late(&f, 50, 59, 3000, 2, owner_key("n1", 3, 40), beat_key(59));
	check_keys(&f, "one from between brings the beat but not the owner", "n2", 60, 59, 3000);
	CHECK(f.known);
}

static void test_deleted(void)
{
	struct facts f;

	facts_init(&f);
	(void) read_all(&f, 50, 1000, 2, owner_key("n1", 3, 40), beat_key(45));
	event(&f, key("owner", NULL, 55), 2000);
	check_keys(&f, "a record that is deleted", "", 0, 45, 2000);
	CHECK_EQ_INT(f.owner.window_us, 3 * US_PER_S);
	CHECK_EQ_INT(f.owner.epoch, 3);
	event(&f, key("beat", NULL, 56), 3000);
	check_keys(&f, "a beat that is deleted", "", 0, 0, 3000);

	facts_init(&f);
	(void) read_all(&f, 50, 1000, 2, owner_key("n1", 3, 40), beat_key(45));
	(void) read_all(&f, 60, 2000, 0);
	check_keys(&f, "a read no longer shows either", "", 0, 0, 2000);
	CHECK_EQ_INT(f.owner.window_us, 3 * US_PER_S);
	event(&f, owner_key("n1", 3, 40), 3000);
	check_keys(&f, "their old events come late", "", 0, 0, 2000);
}

static void test_unreadable(void)
{
	struct facts f;

	facts_init(&f);
	(void) read_all(&f, 50, 1000, 1, key("owner", "not ours", 40));
	check_keys(&f, "a record that cannot be read is one all the same", "?", 40, 0, 1000);
	CHECK_EQ_INT(f.owner.window_us, FACTS_UNREADABLE_WINDOW_US);
	CHECK(!f.owner.released);
	event(&f, owner_key("n1", 1, 60), 2000);
	event(&f, key("owner", "{\"released\":true}", 61), 3000);
	check_keys(&f, "and takes nothing over from the one before", "?", 61, 0, 3000);
	CHECK_EQ_STR(f.owner.instance, "");
	CHECK_EQ_INT(f.owner.window_us, FACTS_UNREADABLE_WINDOW_US);
}

static void test_own_write(void)
{
	struct record_owner mine = owner_of("me", 4);
	struct facts f;

	facts_init(&f);
	(void) read_all(&f, 50, 1000, 2, owner_key("n1", 3, 40), beat_key(45));
	facts_on_owner_written(&f, &mine, 70, AT(2000));
	check_keys(&f, "our swap", "me", 70, 45, 2000);
	event(&f, owner_key("me", 4, 70), 3000);
	check_keys(&f, "its echo from the watch", "me", 70, 45, 2000);
	event(&f, owner_key("n1", 3, 66), 3000);
	(void) read_late(&f, 50, 69, 3000, 2, owner_key("n1", 3, 66), beat_key(45));
	check_keys(&f, "what was before it comes late", "me", 70, 45, 2000);
	event(&f, owner_key("n3", 5, 80), 4000);
	facts_on_owner_written(&f, &mine, 70, AT(5000));
	check_keys(&f, "the answer to it comes after its successor", "n3", 80, 45, 4000);
}

static void test_quorum_streak(void)
{
	struct facts f;

	facts_init(&f);
	facts_on_read_failed(&f, 100);
	CHECK_EQ_INT(f.quorum_since_us, MONO_NEVER);
	(void) facts_on_read(&f, facts_mark(&f), CLUSTER, 1, NULL, 0, 1000, AT(1100));
	CHECK_EQ_INT(f.quorum_since_us, 1000);
	CHECK_EQ_INT(f.quorum_last_us, 1000);
	(void) facts_on_read(&f, facts_mark(&f), CLUSTER, 1, NULL, 0, 2000, AT(2100));
	CHECK_EQ_INT(f.quorum_since_us, 1000);
	CHECK_EQ_INT(f.quorum_last_us, 2000);
	/* Overtaken: neither its answer nor its failure says anything. */
	(void) facts_on_read(&f, facts_mark(&f), CLUSTER, 1, NULL, 0, 1500, AT(2200));
	CHECK_EQ_INT(f.quorum_last_us, 2000);
	facts_on_read_failed(&f, 1900);
	CHECK_EQ_INT(f.quorum_since_us, 1000);
	facts_on_read_failed(&f, 2500);
	CHECK_EQ_INT(f.quorum_since_us, MONO_NEVER);
	(void) facts_on_read(&f, facts_mark(&f), CLUSTER, 1, NULL, 0, 3000, AT(3100));
	CHECK_EQ_INT(f.quorum_since_us, 3000);
	/* A watch event is no quorum read. */
	event(&f, beat_key(9), 9000);
	CHECK_EQ_INT(f.quorum_last_us, 3000);
}

static void test_other_cluster(void)
{
	struct facts f;

	facts_init(&f);
	(void) read_all(&f, 5000, 1000, 3, owner_key("n1", 3, 4000), beat_key(4500),
	                key("node/n1", NODE_VALUE, 9));
	(void) facts_on_read(&f, facts_mark(&f), CLUSTER + 1, 20, NULL, 0, 1995, AT(2000));
	check_keys(&f, "a restored etcd has smaller revisions and is believed", "", 0, 0, 2000);
	CHECK_EQ_INT(f.n_nodes, 0);
	CHECK_EQ_INT(f.quorum_since_us, 1995);
	CHECK_EQ_INT(f.cluster_id, CLUSTER + 1);
	event(&f, owner_key("n2", 1, 21), 3000);
	check_keys(&f, "and goes on from there", "n2", 21, 0, 3000);
}

/* A record that another cluster wrote came by a restore: even `released` is waited for. */
static void test_record_of_another_cluster(void)
{
	static const uint64_t written_in[] = {0, CLUSTER, CLUSTER + 1};

	for (size_t i = 0; i < ARRAY_SIZE(written_in); i++) {
		struct mono_moment until = {0};
		struct record_owner o = owner_of("n1", 3);
		AUTO(free) char *value = NULL;
		struct facts f;

		o.released = true;
		o.cluster_id = written_in[i];
		value = record_owner_format(&o);
		if (o.cluster_id == CLUSTER + 1)
			until = timing_take_at(AT(1000), 3 * US_PER_S, 100 * US_PER_MS);
		facts_init(&f);
		(void) read_all(&f, 50, 1000, 1, key("owner", value, 40));
		CHECK_EQ_INT(f.former_until.us, until.us);
		CHECK_EQ_INT(f.former_until.raw_us, until.raw_us);
		/* It is the same record. */
		(void) read_all(&f, 51, 2000, 1, key("owner", value, 40));
		CHECK_EQ_INT(f.former_until.us, until.us);
	}
}

/* Etcd was restored from a backup: revisions go back, and come again. */
static void test_rewound(void)
{
	static const struct facts_mark nothing;
	struct facts_mark before;
	struct facts f;

	facts_init(&f);
	(void) read_all(&f, 5000, 1000, 2, owner_key("n1", 3, 4000), beat_key(4500));
	CHECK_EQ_INT(facts_judge(&f, nothing, CLUSTER, 4990), FACTS_CURRENT);
	CHECK_EQ_INT(read_late(&f, 4900, 4990, 1100, 2, owner_key("n1", 3, 4000), beat_key(4500)),
	             FACTS_CURRENT);
	check_keys(&f, "an answer that was overtaken proves nothing", "n1", 4000, 4500, 1000);
	before = facts_mark(&f);
	CHECK_EQ_INT(facts_judge(&f, before, CLUSTER, 4999), FACTS_REWOUND);
	CHECK_EQ_INT(facts_judge(&f, before, CLUSTER + 1, 6000), FACTS_REWOUND);
	check_keys(&f, "judging changes nothing yet", "n1", 4000, 4500, 1000);

	CHECK_EQ_INT(read_all(&f, 4999, 9000, 2, owner_key("n1", 2, 3000), beat_key(4500)),
	             FACTS_REWOUND);
	check_keys(&f, "the one that proves it is believed", "n1", 3000, 4500, 9000);
	CHECK_EQ_INT(f.timeline, 1);
	CHECK_EQ_INT(f.revision, 4999);
	CHECK_EQ_INT(f.quorum_since_us, 9000 - 5);
	CHECK_EQ_INT(f.former_until.us, timing_take_at(AT(9000), 3 * US_PER_S, 100 * US_PER_MS).us);
	CHECK_EQ_INT(f.former_until.raw_us, f.former_until.us - RAW_BEHIND_US);
	CHECK_EQ_INT(facts_judge(&f, before, CLUSTER, 6000), FACTS_STALE);
	CHECK_EQ_INT(facts_on_read(&f, before, CLUSTER, 6000, NULL, 0, 9000, AT(9100)), FACTS_STALE);
	check_keys(&f, "what was asked before it is not", "n1", 3000, 4500, 9000);
	event(&f, beat_key(5001), 9500);
	CHECK_EQ_INT(facts_judge(&f, facts_mark(&f), CLUSTER, 5000), FACTS_REWOUND);
}

/* The store has grown past what was known before anybody looked: the keys give it away. */
static void test_rewound_and_grown(void)
{
	static const struct {
		const char *story;
		int64_t revision, owner_rev, beat_rev;
		const char *beat;
		enum facts_answer answer;
	} cases[] = {
	    {"as it was", 5000, 4000, 4500, "{}", FACTS_CURRENT},
	    {"no news", 6000, 4000, 4500, "{}", FACTS_CURRENT},
	    {"a beat", 6000, 4000, 5001, "{2}", FACTS_CURRENT},
	    {"all deleted", 6000, 0, 0, "", FACTS_CURRENT},
	    {"an older record", 6000, 3000, 4500, "{}", FACTS_REWOUND},
	    {"an older beat", 6000, 4000, 4400, "{}", FACTS_REWOUND},
	    {"a beat that we should have seen", 6000, 4000, 4999, "{2}", FACTS_REWOUND},
	    {"another beat at the same revision", 6000, 4000, 4500, "{2}", FACTS_REWOUND},
	    {"all gone at the same revision", 5000, 0, 0, "", FACTS_REWOUND},
	    {"a new beat at the same revision of all", 5000, 4000, 5000, "{2}", FACTS_REWOUND},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct facts_key owner = owner_key("n1", 3, cases[i].owner_rev);
		struct facts_key beat = key("beat", cases[i].beat, cases[i].beat_rev);
		size_t n = cases[i].owner_rev != 0 ? 2 : 0;
		struct facts f;

		facts_init(&f);
		(void) read_all(&f, 5000, 1000, 2, owner_key("n1", 3, 4000), beat_key(4500));
		if (!CHECK_EQ_INT(read_all(&f, cases[i].revision, 2000, n, owner, beat), cases[i].answer))
			(void) fprintf(stderr, "story: %s\n", cases[i].story);
	}
}

static void check_nodes(const struct facts *f, const char *story, const char *want)
{
	char names[512] = "";

	for (size_t i = 0; i < f->n_nodes; i++) {
		(void) strcat(names, f->nodes[i].node);
		(void) strcat(names, " ");
	}
	if (!CHECK_EQ_STR(names, want))
		(void) fprintf(stderr, "story: %s\n", story);
}

static void test_nodes(void)
{
	static const char better[] = "{\"instance\":\"j\",\"priority\":200,\"health\":\"bad\","
	                             "\"eligible\":false,\"etcdLeader\":true}";
	struct facts_key odd = key("node/n\0x", NODE_VALUE, 70);
	const struct record_node *n;
	struct facts f;

	odd.name_len = strlen("node/") + 3;
	facts_init(&f);
	(void) read_all(&f, 50, 1000, 3, key("node/n2", NODE_VALUE, 30), key("node/n3", NODE_VALUE, 31),
	                key("node/n1", NODE_VALUE, 32));
	check_nodes(&f, "sorted by name", "n1 n2 n3 ");
	CHECK(facts_node(&f, "n2") == &f.nodes[1]);
	CHECK(facts_node(&f, "n") == NULL && facts_node(&f, "n4") == NULL);
	event(&f, key("node/n2", better, 51), 2000);
	n = facts_node(&f, "n2");
	CHECK(n != NULL && n->priority == 200 && n->health == HEALTH_BAD && !n->eligible &&
	      n->etcd_leader);
	CHECK_EQ_STR(n->instance, "j");
	/* One revision deletes two: both keys hung on one lease. */
	event(&f, key("node/n1", NULL, 60), 2000);
	event(&f, key("node/n3", NULL, 60), 2000);
	check_nodes(&f, "a lease ended", "n2 ");
	event(&f, key("node/n3", NULL, 61), 2000);
	check_nodes(&f, "gone already", "n2 ");
	event(&f, key("node/n1", NODE_VALUE, 59), 2000);
	check_nodes(&f, "an event from before", "n2 ");
	event(&f, key("node/n2", "rubbish", 62), 2000);
	check_nodes(&f, "one that cannot be read is not in the race", "");
	event(&f, key("node/", NODE_VALUE, 63), 2000);
	event(&f, key("node/\xff", NODE_VALUE, 64), 2000);
	event(&f, odd, 2000);
	check_nodes(&f, "names that are none", "");
	(void) read_all(&f, 80, 3000, 1, key("node/n5", NODE_VALUE, 75));
	check_nodes(&f, "a read replaces them all", "n5 ");
	(void) read_late(&f, 50, 79, 3000, 1, key("node/n6", NODE_VALUE, 75));
	check_nodes(&f, "an older one does not", "n5 ");
}

#define NODE_OF(mac)                                                            \
	"{\"instance\":\"i\",\"priority\":1,\"health\":\"good\",\"eligible\":true," \
	"\"etcdLeader\":false,\"mac\":\"" mac "\"}"

/* An answer is foreign only where it can be no node's that may hold the address. */
static void test_macs(void)
{
	static const struct mac n1 = {{2, 0, 0, 0, 0, 1}}, other = {{2, 0, 0, 0, 0, 9}};
	static const char of_n1[] = NODE_OF("02:00:00:00:00:01"),
	                  of_n2[] = NODE_OF("02:00:00:00:00:02");
	struct facts f;

	facts_init(&f);
	CHECK(!facts_is_foreign_mac(&f, &other));
	(void) read_all(&f, 50, 1000, 1, key("node/n1", of_n1, 30));
	CHECK_EQ_STR(facts_node_of_mac(&f, &n1), "n1");
	CHECK(facts_node_of_mac(&f, &other) == NULL);
	CHECK(facts_is_foreign_mac(&f, &other) && !facts_is_foreign_mac(&f, &n1));
	/* One of a version that does not say its MAC. */
	event(&f, key("node/n2", NODE_VALUE, 51), 2000);
	CHECK(!facts_is_foreign_mac(&f, &other));
	event(&f, key("node/n2", of_n2, 52), 2000);
	CHECK(facts_is_foreign_mac(&f, &other));
	/* The owner by the record is not in the race: nobody knows its MAC. */
	event(&f, owner_key("n3", 1, 53), 2000);
	CHECK(!facts_is_foreign_mac(&f, &other));
	event(&f, owner_key("n2", 2, 54), 2000);
	CHECK(facts_is_foreign_mac(&f, &other));
}

static void test_ask(void)
{
	struct facts f;

	facts_init(&f);
	f.turn = 3;
	(void) read_all(&f, 50, 1000, 0);
	CHECK_EQ_INT(f.ask_rev, 0);
	(void) read_all(&f, 55, 1000, 1, key("ask", "{}", 52));
	CHECK_EQ_INT(f.ask_rev, 52);
	event(&f, key("ask", "{}", 57), 2000);
	CHECK_EQ_INT(f.ask_rev, 57);
	CHECK_EQ_INT(f.revision, 57);
	event(&f, key("ask", "{}", 56), 2000);
	CHECK_EQ_INT(f.ask_rev, 57);
	/* A version that answers none is remembered when its key is gone. */
	CHECK(!f.older_seen);
	event(&f, key("node/n9", NODE_VALUE, 58), 2000);
	event(&f, key("node/n9", NULL, 59), 2000);
	CHECK(f.older_seen && facts_node(&f, "n9") == NULL);
	/* Revisions come again in another timeline; the turn is the caller's. */
	facts_rewind(&f, (struct mono_moment){0});
	CHECK_EQ_INT(f.ask_rev, 0);
	CHECK_EQ_INT(f.turn, 3);
	CHECK(f.older_seen);
}

static void test_too_many_nodes(void)
{
	struct facts f;

	facts_init(&f);
	for (int i = 0; i < FACTS_NODES_MAX + 10; i++) {
		AUTO(free) char *name = xasprintf("node/n%03d", 500 - i);

		event(&f, key(name, NODE_VALUE, 10 + i), 1000);
	}
	CHECK_EQ_INT(f.n_nodes, FACTS_NODES_MAX);
	CHECK(facts_node(&f, "n500") != NULL && facts_node(&f, "n430") == NULL);
	event(&f, key("node/n500", NULL, 1000), 1000);
	event(&f, key("node/n001", NODE_VALUE, 1001), 1000);
	CHECK_EQ_INT(f.n_nodes, FACTS_NODES_MAX);
	CHECK(facts_node(&f, "n001") == &f.nodes[0]);
}

int main(void)
{
	test_first_read();
	test_signs_of_life();
	test_late_read();
	test_deleted();
	test_unreadable();
	test_own_write();
	test_quorum_streak();
	test_other_cluster();
	test_record_of_another_cluster();
	test_rewound();
	test_rewound_and_grown();
	test_nodes();
	test_macs();
	test_ask();
	test_too_many_nodes();
	return check_result();
}
