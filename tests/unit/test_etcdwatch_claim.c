/* SPDX-License-Identifier: Apache-2.0 */
/* Who may take a period's snapshot: against an etcd in memory, which loses questions and answers,
 * forgets leases and is held up as the cases say. */
#include "etcdwatch/take/claim.h"

#include <stdlib.h>

#include "tests/unit/fakeetcd.h"

#define PERIOD 1795293000
#define CLAIM_KEY "p/etcdwatch/j/claim/1795293000"
#define DONE_KEY "p/etcdwatch/j/done/1795293000"
#define DONE_PREFIX "p/etcdwatch/j/done/"
#define TTL_US (CLAIM_TTL_S * US_PER_S)

/* A node, and all that its claim has said. */
struct node {
	struct ev_loop ev;
	struct etcd etcd;
	const char *name;
	struct claim *claim;
	unsigned n_answered, n_lost, n_ended;
	size_t n_done; /* keys that it was told of */
	enum claim_answer answer;
	enum claim_end end;
	char text[128];
	char done_id[CLAIM_ID_MAX];
	bool frees;         /* the claim, in whatever callback comes */
	bool frees_refused; /* only if it is not ours */
};

static struct node nodes[3];

static void free_claim(struct node *n)
{
	claim_free(TAKE_PTR(n->claim));
}

static void answered_cb(enum claim_answer answer, const char *text, void *userdata)
{
	struct node *n = userdata;

	n->n_answered++;
	n->answer = answer;
	(void) snprintf(n->text, sizeof(n->text), "%s", text);
	(void) snprintf(n->done_id, sizeof(n->done_id), "%s", claim_done_id(n->claim));
	if (n->frees || (n->frees_refused && answer != CLAIM_OURS))
		free_claim(n);
}

static void lost_cb(void *userdata)
{
	struct node *n = userdata;

	n->n_lost++;
	if (n->frees)
		free_claim(n);
}

static void ended_cb(enum claim_end end, const char *text, void *userdata)
{
	struct node *n = userdata;

	n->n_ended++;
	n->end = end;
	(void) snprintf(n->text, sizeof(n->text), "%s", text);
	if (n->frees)
		free_claim(n);
}

static void read_cb(const struct etcd_range_result *done, void *userdata)
{
	((struct node *) userdata)->n_done = done->n_kvs;
}

static const struct claim_callbacks callbacks = {answered_cb, lost_cb, ended_cb, read_cb};

static void begin(void)
{
	fake_reset();
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		static const char *const names[] = {"n1", "n2", "n3"};

		nodes[i] = (struct node){.name = names[i]};
		nodes[i].etcd.ev = &nodes[i].ev;
	}
}

static void claim(struct node *n)
{
	const struct claim_options options = {
	    .prefix = "p/",
	    .job = "j",
	    .period_s = PERIOD,
	    .node = n->name,
	    .instance = n->name,
	};

	n->claim = claim_new(&n->ev, &n->etcd, &options, &callbacks, n);
}

static bool is_answered(const void *what)
{
	return ((const struct node *) what)->n_answered > 0;
}

static bool is_lost(const void *what)
{
	return ((const struct node *) what)->n_lost > 0;
}

static bool is_ended(const void *what)
{
	return ((const struct node *) what)->n_ended > 0;
}

/* A node that has claimed the period. */
static struct node *claimed(void)
{
	struct node *n = &nodes[0];

	begin();
	claim(n);
	CHECK(sim_wait(is_answered, n, US_PER_S));
	CHECK_EQ_INT(n->answer, CLAIM_OURS);
	CHECK(fake_get(CLAIM_KEY) != NULL);
	return n;
}

static void record(struct node *n, const char *id)
{
	claim_record(n->claim, json_pack("{s:s, s:s}", "node", n->name, "id", id));
}

/* Nothing is left under way, and nothing stands on a lease. */
static void end(struct node *n)
{
	free_claim(n);
	sim_for(US_PER_S);
	CHECK_EQ_INT(n->etcd.n_open, 0);
	CHECK_EQ_INT(sim_n_timers, 0);
	CHECK_EQ_INT(fake_n_leases(), 0);
	CHECK(fake_get(CLAIM_KEY) == NULL);
}

/* --- claiming --- */

static void test_alone(void)
{
	struct node *n = claimed();

	record(n, "the-id");
	CHECK(sim_wait(is_ended, n, US_PER_S));
	CHECK_EQ_INT(n->end, CLAIM_RECORDED);
	CHECK_EQ_STR(fake_get(DONE_KEY), "{\"node\":\"n1\",\"id\":\"the-id\"}");
	end(n);
	CHECK_EQ_INT(n->n_answered, 1);
	CHECK_EQ_INT(n->n_lost, 0);
	CHECK_EQ_INT(n->n_ended, 1);
	CHECK(fake_get(DONE_KEY) != NULL);
}

/* What is found there. */
static void test_found(void)
{
	static const struct {
		const char *claim, *done;
		enum claim_answer answer;
		const char *text, *id;
	} cases[] = {
	    {NULL, NULL, CLAIM_OURS, "", ""},
	    {"{\"node\":\"n2\"}", NULL, CLAIM_OTHERS, "n2", ""},
	    {NULL, "{\"node\":\"n3\",\"id\":\"x\"}", CLAIM_DONE, "n3", "x"},
	    {"{\"node\":\"n2\"}", "{\"node\":\"n3\",\"id\":\"x\"}", CLAIM_DONE, "n3", "x"},
	    {"no JSON", NULL, CLAIM_OTHERS, "?", ""},
	    {"{\"node\":5}", NULL, CLAIM_OTHERS, "?", ""},
	    {"", NULL, CLAIM_OTHERS, "?", ""},
	    {NULL, "[]", CLAIM_DONE, "?", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct node *n = &nodes[0];

		begin();
		if (cases[i].claim != NULL)
			fake_set(CLAIM_KEY, cases[i].claim);
		if (cases[i].done != NULL)
			fake_set(DONE_KEY, cases[i].done);
		/* Of other periods and other jobs. */
		fake_set("p/etcdwatch/j/claim/179529300", "{\"node\":\"other\"}");
		fake_set("p/etcdwatch/j/done/17952930000", "{\"node\":\"other\"}");
		fake_set("p/etcdwatch/j/done/179529300", "{\"node\":\"other\"}");
		fake_set("p/etcdwatch/jj/done/1795293000", "{\"node\":\"other\"}");
		claim(n);
		CHECK(sim_wait(is_answered, n, US_PER_S));
		CHECK_EQ_INT(n->answer, cases[i].answer);
		CHECK_EQ_STR(n->text, cases[i].text);
		CHECK_EQ_STR(n->done_id, cases[i].id);
		CHECK_EQ_INT(n->n_done, cases[i].done != NULL ? 3 : 2);
		/* Who has nothing to claim asks for no lease. */
		CHECK_EQ_INT(fake_n_leases(), cases[i].answer == CLAIM_OURS ? 1 : 0);
		fake_unset(CLAIM_KEY);
		end(n);
	}
}

/* Each question fails, unheard or half heard: said once, and nothing stays claimed. */
static void test_failures(void)
{
	static const struct {
		enum fake_method method;
		bool second; /* of its kind: reading is a transaction too */
		struct fake_rule rule;
	} cases[] = {
	    {FAKE_TXN, false, {.lost_there = true}},
	    {FAKE_TXN, false, {.lost_back = true}},
	    {FAKE_TXN, false, {.r = -EACCES}},
	    {FAKE_GRANT, false, {.lost_there = true}},
	    {FAKE_GRANT, false, {.r = -EACCES}},
	    {FAKE_TXN, true, {.lost_there = true}},
	    {FAKE_TXN, true, {.lost_back = true}},
	    {FAKE_TXN, true, {.r = -EPROTO}},
	    {FAKE_TXN, true, {.there_us = 3 * US_PER_S}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct node *n = &nodes[0];

		begin();
		n->frees = i % 2 == 0;
		claim(n);
		if (cases[i].second)
			sim_for(3 * US_PER_MS); /* reading has come, its answer has not */
		fake_rule(&n->etcd, cases[i].method, cases[i].rule);
		CHECK(sim_wait(is_answered, n, 5 * US_PER_S));
		CHECK_EQ_INT(n->answer, CLAIM_FAILED);
		CHECK(n->text[0] != '\0');
		fake_rule(&n->etcd, cases[i].method, (struct fake_rule){0});
		sim_for(10 * US_PER_S);
		end(n);
		CHECK_EQ_INT(n->n_answered, 1);
	}
}

/* etcd has no room, from the first or only when the lease is there already; or it has so little
 * that it refuses what only reads, as it does up to 3.5.6; or it is corrupt. */
static void test_alarms(void)
{
	for (unsigned i = 0; i < 4; i++) {
		struct node *n = &nodes[0];

		begin();
		fake.no_space = i == 0;
		fake.corrupt = i == 3;
		if (i == 2)
			fake_rule(&n->etcd, FAKE_TXN, (struct fake_rule){.r = -ENOSPC});
		claim(n);
		if (i == 1) {
			sim_for(3 * US_PER_MS);
			fake_rule(&n->etcd, FAKE_TXN, (struct fake_rule){.r = -ENOSPC});
		}
		CHECK(sim_wait(is_answered, n, US_PER_S));
		CHECK_EQ_INT(n->answer, i == 3 ? CLAIM_CORRUPT : CLAIM_NO_SPACE);
		CHECK(n->text[0] != '\0');
		end(n);
		CHECK_EQ_INT(n->n_answered, 1);
	}
}

/* A grant of which nobody has heard ends by itself. */
static void test_lost_grant(void)
{
	struct node *n = &nodes[0];

	begin();
	fake_rule(&n->etcd, FAKE_GRANT, (struct fake_rule){.lost_back = true});
	claim(n);
	CHECK(sim_wait(is_answered, n, 5 * US_PER_S));
	CHECK_EQ_INT(n->answer, CLAIM_FAILED);
	free_claim(n);
	sim_for(TTL_US);
	end(n);
}

/* All at once, and in every order in which their questions can come: one of them has it. */
static void test_race(void)
{
	for (unsigned i = 0; i < 6 * 6 * 6; i++) {
		const unsigned late[] = {i % 6, i / 6 % 6, i / 36};
		unsigned n_ours = 0;

		begin();
		for (size_t k = 0; k < ARRAY_SIZE(nodes); k++) {
			struct node *n = &nodes[k];

			fake_rule(&n->etcd, FAKE_TXN, (struct fake_rule){.there_us = 2000 + 900 * late[k]});
			fake_rule(&n->etcd, FAKE_GRANT, (struct fake_rule){.there_us = 7000 - 900 * late[k]});
			claim(n);
		}
		for (size_t k = 0; k < ARRAY_SIZE(nodes); k++) {
			CHECK(sim_wait(is_answered, &nodes[k], US_PER_S));
			n_ours += nodes[k].answer == CLAIM_OURS;
			CHECK(nodes[k].answer == CLAIM_OURS || nodes[k].answer == CLAIM_OTHERS);
		}
		CHECK_EQ_INT(n_ours, 1);
		for (size_t k = 0; k < ARRAY_SIZE(nodes); k++)
			free_claim(&nodes[k]);
	}
}

/* Between reading and claiming another one has done it all. */
static void test_overtaken(void)
{
	struct node *n = &nodes[0];

	begin();
	fake_rule(&n->etcd, FAKE_GRANT, (struct fake_rule){.there_us = 100 * US_PER_MS});
	claim(n);
	sim_for(50 * US_PER_MS);
	fake_set(DONE_KEY, "{\"node\":\"n2\"}");
	CHECK(sim_wait(is_answered, n, US_PER_S));
	CHECK_EQ_INT(n->answer, CLAIM_OTHERS);
	end(n);
}

/* --- holding --- */

static void test_renewed(void)
{
	struct node *n = claimed();

	for (unsigned i = 0; i < 60; i++) {
		/* Some are lost, never all for as long as the lease lasts. */
		fake_rule(&n->etcd, FAKE_KEEPALIVE,
		          (struct fake_rule){.lost_there = i % 3 == 0, .lost_back = i % 3 == 1});
		sim_for(5 * US_PER_S);
		CHECK(fake_get(CLAIM_KEY) != NULL);
	}
	CHECK_EQ_INT(n->n_lost, 0);
	end(n);
}

static void test_lost(void)
{
	static const struct {
		struct fake_rule rule;
		bool unset, cut;
		int64_t by_us; /* after the last that was heard of it */
	} cases[] = {
	    {.rule = {.r = -ENOENT}, .by_us = TTL_US / 4 + US_PER_S},
	    {.unset = true, .by_us = TTL_US / 4 + US_PER_S},
	    {.cut = true, .by_us = TTL_US + TTL_US / 4},
	    {.rule = {.lost_back = true}, .by_us = TTL_US + TTL_US / 4},
	    {.rule = {.r = -EHOSTUNREACH}, .by_us = TTL_US + TTL_US / 4},
	};

	for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		struct node *n = claimed();
		int64_t began_us;

		n->frees = i % 2 == 0;
		sim_for(TTL_US);
		began_us = sim_now_us;
		fake_rule(&n->etcd, FAKE_KEEPALIVE, cases[i / 2].rule);
		n->etcd.cut = cases[i / 2].cut;
		if (cases[i / 2].unset) {
			for (size_t k = 0; k < FAKE_LEASES_MAX; k++)
				fake.leases[k].until_us = 0;
		}
		CHECK(sim_wait(is_lost, n, 60 * US_PER_S));
		CHECK(sim_now_us - began_us <= cases[i / 2].by_us);
		sim_for(60 * US_PER_S);
		CHECK_EQ_INT(n->n_lost, 1);
		n->etcd.cut = false;
		end(n);
		CHECK_EQ_INT(n->n_lost + n->n_ended, 1);
	}
}

/* The process is stopped in each of its states, for longer than the lease lasts. It notices, says
 * so once, and neither holds nor records anything afterwards. */
static void test_stopped(void)
{
	for (int64_t at_us = 0; at_us < 40 * US_PER_MS; at_us += 500) {
		struct node *n = &nodes[0], *other = &nodes[1];

		begin();
		/* Whether it hears its timers first or what came meanwhile is left to chance. */
		n->ev.backwards = at_us >= 20 * US_PER_MS;
		n->frees_refused = true;
		claim(n);
		sim_for(at_us % (20 * US_PER_MS));
		n->ev.stopped = true;
		sim_for(TTL_US + US_PER_S);
		claim(other);
		CHECK(sim_wait(is_answered, other, US_PER_S));
		CHECK_EQ_INT(other->answer, CLAIM_OURS);
		n->ev.stopped = false;
		sim_for(TTL_US);
		CHECK_EQ_INT(n->n_answered, 1);
		CHECK(n->answer != CLAIM_OURS || n->n_lost == 1);
		CHECK_EQ_STR(fake_get(CLAIM_KEY) != NULL ? "there" : "gone", "there");
		CHECK_EQ_INT(fake_n_leases(), 1);
		free_claim(n);
		end(other);
	}
}

/* Given up in each of its states: not a word, and nothing stays claimed. */
static void test_freed(void)
{
	for (int64_t at_us = 0; at_us < 20 * US_PER_MS; at_us += 500) {
		struct node *n = &nodes[0];
		unsigned n_answered;

		begin();
		claim(n);
		sim_for(at_us);
		n_answered = n->n_answered;
		free_claim(n);
		/* A grant that is under way cannot be taken back. */
		sim_for(TTL_US + US_PER_S);
		CHECK_EQ_INT(n->n_answered, n_answered);
		CHECK_EQ_INT(n->n_lost + n->n_ended, 0);
		end(n);
	}
}

/* --- recording --- */

static void test_record_failures(void)
{
	static const struct {
		struct fake_rule rule;
		enum claim_end end;
		int64_t at_least_us;
	} cases[] = {
	    {{.lost_there = true, .times = 3}, CLAIM_RECORDED, 3 * US_PER_S},
	    {{.lost_back = true, .times = 3}, CLAIM_RECORDED, 3 * US_PER_S},
	    {{.r = -EHOSTUNREACH, .times = 1}, CLAIM_RECORDED, 1 * US_PER_S},
	    {{.there_us = 900 * US_PER_MS, .times = 1}, CLAIM_RECORDED, 0},
	};

	for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		struct node *n = claimed();
		int64_t began_us = sim_now_us;

		n->frees = i % 2 == 0;
		fake_rule(&n->etcd, FAKE_TXN, cases[i / 2].rule);
		record(n, "x");
		CHECK(sim_wait(is_ended, n, 60 * US_PER_S));
		CHECK_EQ_INT(n->end, cases[i / 2].end);
		CHECK(sim_now_us - began_us >= cases[i / 2].at_least_us);
		CHECK(fake_get(DONE_KEY) != NULL);
		end(n);
		CHECK_EQ_INT(n->n_ended, 1);
	}
}

/* No waiting helps: it is said at once, and nobody is kept from the period. */
static void test_record_refused(void)
{
	for (int i = 0; i < 4; i++) {
		struct node *n = claimed();

		n->frees = i % 2 != 0;
		fake_rule(&n->etcd, FAKE_TXN, (struct fake_rule){.r = i < 2 ? -ENOSPC : -EUCLEAN});
		record(n, "x");
		CHECK(sim_wait(is_ended, n, 500 * US_PER_MS));
		CHECK_EQ_INT(n->end, CLAIM_UNRECORDED);
		CHECK(n->text[0] != '\0');
		CHECK(fake_get(DONE_KEY) == NULL);
		end(n);
		CHECK_EQ_INT(n->n_ended, 1);
	}
}

/* The claim stands no more when it is recorded: what is there then decides. */
static void test_fenced(void)
{
	static const struct {
		const char *claim, *done;
		enum claim_end end;
	} cases[] = {
	    {NULL, NULL, CLAIM_UNRECORDED},
	    {"{\"node\":\"n2\"}", NULL, CLAIM_UNRECORDED},
	    {NULL, "{\"node\":\"n2\",\"id\":\"y\"}", CLAIM_FENCED},
	    {"{\"node\":\"n2\"}", "{\"node\":\"n2\",\"id\":\"y\"}", CLAIM_FENCED},
	    /* Of the same node, but of another process. */
	    {NULL, "{\"node\":\"n1\",\"id\":\"y\"}", CLAIM_FENCED},
	    {NULL, "?", CLAIM_FENCED},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct node *n = claimed();

		fake_unset(CLAIM_KEY);
		if (cases[i].claim != NULL)
			fake_set(CLAIM_KEY, cases[i].claim);
		if (cases[i].done != NULL)
			fake_set(DONE_KEY, cases[i].done);
		record(n, "x");
		CHECK(sim_wait(is_ended, n, US_PER_S));
		CHECK_EQ_INT(n->end, cases[i].end);
		CHECK(n->text[0] != '\0');
		CHECK_EQ_STR(fake_get(DONE_KEY), cases[i].done);
		fake_unset(CLAIM_KEY);
		end(n);
	}
}

/* It was recorded, nobody heard of it, and when it is tried again the claim is gone: that is no
 * fence, but our own record. */
static void test_recorded_unheard(void)
{
	struct node *n = claimed();

	fake_rule(&n->etcd, FAKE_TXN, (struct fake_rule){.lost_back = true, .times = 1});
	record(n, "x");
	sim_for(500 * US_PER_MS);
	CHECK(fake_get(DONE_KEY) != NULL);
	fake_unset(CLAIM_KEY);
	CHECK(sim_wait(is_ended, n, 5 * US_PER_S));
	CHECK_EQ_INT(n->end, CLAIM_RECORDED);
	end(n);
}

/* Another claim stands that is like ours: of the same words, as our own next one of the same second
 * has them; or of the same revision, as a restored cluster gives it again. */
static void test_alike(void)
{
	for (unsigned i = 0; i < 2; i++) {
		struct node *n = claimed();
		struct fake_key *k = fake_find(ETCD_STR(CLAIM_KEY));
		AUTO(free) char *value = xstrdup(k->value);
		int64_t created = k->created;

		fake_unset(CLAIM_KEY);
		fake_set(CLAIM_KEY, i == 0 ? value : "{\"node\":\"n2\"}");
		if (i == 1)
			fake_find(ETCD_STR(CLAIM_KEY))->created = created;
		record(n, "x");
		CHECK(sim_wait(is_ended, n, US_PER_S));
		CHECK_EQ_INT(n->end, CLAIM_UNRECORDED);
		CHECK(fake_get(DONE_KEY) == NULL);
		fake_unset(CLAIM_KEY);
		end(n);
	}
}

/* etcd is away for longer than the lease lasts, and so is nothing recorded afterwards. */
static void test_record_cut(void)
{
	for (unsigned i = 0; i < 2; i++) {
		struct node *n = claimed();

		n->frees = i == 0;
		n->etcd.cut = true;
		record(n, "x");
		CHECK(sim_wait(is_ended, n, TTL_US + TTL_US / 4));
		CHECK_EQ_INT(n->end, CLAIM_UNRECORDED);
		n->etcd.cut = false;
		sim_for(60 * US_PER_S);
		CHECK_EQ_INT(n->n_ended, 1);
		CHECK(fake_get(DONE_KEY) == NULL);
		end(n);
	}
}

/* Two take the same period, one after the other; the first was only held up. */
static void test_held_up(void)
{
	struct node *first = claimed(), *second = &nodes[1];

	first->ev.stopped = true;
	sim_for(TTL_US + US_PER_S);
	claim(second);
	CHECK(sim_wait(is_answered, second, US_PER_S));
	CHECK_EQ_INT(second->answer, CLAIM_OURS);
	record(second, "second");
	CHECK(sim_wait(is_ended, second, US_PER_S));
	/* Its timers have not been heard yet when it records. */
	record(first, "first");
	first->ev.stopped = false;
	CHECK(sim_wait(is_ended, first, 2 * TTL_US));
	CHECK(first->end == CLAIM_FENCED || first->end == CLAIM_UNRECORDED);
	CHECK_EQ_STR(fake_get(DONE_KEY), "{\"node\":\"n2\",\"id\":\"second\"}");
	free_claim(first);
	end(second);
}

/* Old records go, the newest stay, and those of other jobs. */
static void test_forgets(void)
{
	struct node *n = &nodes[0];

	begin();
	for (int i = 0; i < 40; i++) {
		AUTO(free) char *key = xasprintf(DONE_PREFIX "%d", PERIOD - 60 * (i + 1));

		fake_set(key, "{}");
	}
	fake_set("p/etcdwatch/jj/done/1", "{}");
	for (int i = 0; i < 3; i++) {
		claim(n);
		n->n_answered = n->n_ended = 0;
		CHECK(sim_wait(is_answered, n, US_PER_S));
		record(n, "x");
		CHECK(sim_wait(is_ended, n, US_PER_S));
		CHECK_EQ_INT(n->end, CLAIM_RECORDED);
		end(n);
		CHECK(fake_get(DONE_KEY) != NULL);
		CHECK(fake_get(DONE_PREFIX "1795292940") != NULL);
		fake_unset(DONE_KEY);
	}
	CHECK_EQ_INT(fake_count(DONE_PREFIX), 8);
	CHECK_EQ_INT(fake_count("p/etcdwatch/jj/"), 1);
}

/* A clock was ahead and has recorded what is to come: that goes, or nobody would take it then. */
static void test_forgets_future(void)
{
	struct node *n = &nodes[0];

	begin();
	for (int i = 1; i <= 10; i++) {
		AUTO(free) char *key = xasprintf(DONE_PREFIX "%d", PERIOD + 60 * i);

		fake_set(key, "{}");
	}
	for (int i = 1; i <= 5; i++) {
		AUTO(free) char *key = xasprintf(DONE_PREFIX "%d", PERIOD - 60 * i);

		fake_set(key, "{}");
	}
	claim(n);
	CHECK(sim_wait(is_answered, n, US_PER_S));
	record(n, "x");
	CHECK(sim_wait(is_ended, n, US_PER_S));
	CHECK_EQ_INT(fake_count(DONE_PREFIX), 6);
	CHECK(fake_get(DONE_KEY) != NULL);
	end(n);
}

int main(void)
{
	test_alarms();
	test_forgets_future();
	test_alone();
	test_found();
	test_failures();
	test_lost_grant();
	test_race();
	test_overtaken();
	test_renewed();
	test_lost();
	test_stopped();
	test_freed();
	test_record_failures();
	test_record_refused();
	test_fenced();
	test_recorded_unheard();
	test_alike();
	test_record_cut();
	test_held_up();
	test_forgets();
	fake_reset();
	return check_result();
}
