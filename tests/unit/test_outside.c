/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts, verdicts and counts, and when a move is due. */
#include "vipd/outside.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "tests/unit/check.h"
#include "vipd/policy.h"

/* A letter an attempt: + reached, - not; n: a new owner. Behind each what is told: "." nothing,
 * "+" or "-" of the present owner, "o" of a former one. A capital: it has changed (R, U). */
static void test_look(void)
{
	static const struct {
		const char *attempts;
		const char *told;
	} cases[] = {
	    {"+++", ".R+"},
	    /* It has never got there. */
	    {"------", "......"},
	    {"-----++-----", "......R++++U"},
	    {"++----+-----++", ".R+++++++++U-R"},
	    /* Of the next owner nothing is told before there is a verdict. */
	    {"++n++", ".RooR"},
	    {"++n-----", ".RoooooU"},
	    {"++----n-+----", ".R++++ooooooo"},
	    {"++n+n-----", ".RoooooooU"},
	    {"++n-----n++", ".RoooooUooR"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct outside_view view = {0};
		struct record_node me = {0};
		int64_t epoch = 7;
		char told[16] = "";

		for (size_t k = 0; cases[i].attempts[k] != '\0'; k++) {
			char c = cases[i].attempts[k];
			bool changed = false;

			if (c == 'n')
				epoch++;
			else
				changed = outside_on_look(&view, &me, epoch, c == '+');
			if (me.looked_epoch == 0)
				told[k] = '.';
			else if (me.looked_epoch != epoch)
				told[k] = 'o';
			else if (changed)
				told[k] = me.reached ? 'R' : 'U';
			else
				told[k] = me.reached ? '+' : '-';
			CHECK(!changed || told[k] == 'R' || told[k] == 'U');
		}
		CHECK_EQ_STR(told, cases[i].told);
	}
}

static struct facts facts_of(const char *owner, int64_t epoch)
{
	struct facts f;

	facts_init(&f);
	f.known = true;
	f.has_owner = true;
	f.owner_rev = 100 + epoch;
	f.owner.epoch = epoch;
	(void) strcpy(f.owner.node, owner);
	return f;
}

/* One node a letter: + it reaches the owner, - it does not, ? says nothing, o speaks of a former
 * owner, O is the owner. */
static void add_nodes(struct facts *f, const char *nodes)
{
	for (size_t i = 0; nodes[i] != '\0'; i++) {
		struct record_node *n = &f->nodes[f->n_nodes++];

		*n = (struct record_node){.reached = nodes[i] == '+' || nodes[i] == 'O'};
		(void) snprintf(n->node, sizeof(n->node), "n%zu", i);
		if (nodes[i] == 'O')
			(void) strcpy(f->owner.node, n->node);
		if (nodes[i] == 'o')
			n->looked_epoch = f->owner.epoch - 1;
		else if (nodes[i] != '?')
			n->looked_epoch = f->owner.epoch;
	}
}

static void test_count(void)
{
	static const struct {
		const char *nodes;
		unsigned others, reached, unreached;
		bool cut_off, is_reached;
	} cases[] = {
	    {"O", 0, 0, 0, false, false},
	    {"O-", 1, 0, 1, true, false},
	    {"O+", 1, 1, 0, false, true},
	    {"O?", 1, 0, 0, false, false},
	    {"O--", 2, 0, 2, true, false},
	    {"-O-", 2, 0, 2, true, false},
	    {"O-+", 2, 1, 1, false, false},
	    {"O++", 2, 2, 0, false, true},
	    /* One of an older version, or that is not to look, is no vote for a move. */
	    {"O-?", 2, 0, 1, false, false},
	    {"O-o", 2, 0, 1, false, false},
	    {"Ooo", 2, 0, 0, false, false},
	    {"O--+", 3, 1, 2, true, false},
	    {"O--?", 3, 0, 2, true, false},
	    {"O-??", 3, 0, 1, false, false},
	    {"O--++", 4, 2, 2, false, false},
	    {"O---+", 4, 1, 3, true, false},
	    /* The owner's record is in force, its node key has gone. */
	    {"--", 2, 0, 2, true, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct facts f = facts_of("gone", 7);
		struct outside_count count;

		add_nodes(&f, cases[i].nodes);
		count = outside_count(&f);
		if (!CHECK_EQ_INT(count.others, cases[i].others) ||
		    !CHECK_EQ_INT(count.reached, cases[i].reached) ||
		    !CHECK_EQ_INT(count.unreached, cases[i].unreached) ||
		    !CHECK_EQ_INT(outside_is_cut_off(&count), cases[i].cut_off) ||
		    !CHECK_EQ_INT(outside_is_reached(&count), cases[i].is_reached))
			(void) fprintf(stderr, "case: %s\n", cases[i].nodes);
		f.owner.released = true;
		CHECK_EQ_INT(outside_count(&f).others, 0);
		f.owner.released = false;
		f.has_owner = false;
		CHECK_EQ_INT(outside_count(&f).unreached, 0);
	}
}

/* The record of the owner of this epoch, or its release, comes to be known. */
static void record_is(struct facts *f, int64_t epoch, bool released, const char *reason)
{
	f->owner_rev++;
	f->owner.epoch = epoch;
	f->owner.released = released;
	(void) strcpy(f->owner.reason, reason);
}

#define REST OUTSIDE_REST_US

static void test_rest(void)
{
	struct outside_moves m = {0};
	struct facts f = facts_of("n0", 7);
	int64_t now_us = 1000 * US_PER_S;

	outside_on_facts(&m, &f, now_us);
	CHECK_EQ_INT(outside_rest_us(&m, now_us), 0);
	/* The last word of one owner and the first of the next are one move. */
	record_is(&f, 7, true, POLICY_REASON_OUTSIDE);
	outside_on_facts(&m, &f, now_us);
	CHECK_EQ_INT(outside_rest_us(&m, now_us), REST);
	record_is(&f, 8, false, POLICY_REASON_OUTSIDE);
	outside_on_facts(&m, &f, now_us + US_PER_S);
	CHECK_EQ_INT(outside_rest_us(&m, now_us + US_PER_S), REST - US_PER_S);
	CHECK_EQ_INT(m.in_row, 1);
	/* Any other move ends no rest. */
	record_is(&f, 9, false, "owner silent");
	outside_on_facts(&m, &f, now_us + 2 * US_PER_S);
	CHECK_EQ_INT(outside_rest_us(&m, now_us + REST - 1), 1);
	CHECK_EQ_INT(outside_rest_us(&m, now_us + REST), 0);
	/* The release was not seen, and no owner was reached since: twice as long, and so on. */
	for (unsigned i = 1; i < 10; i++) {
		now_us += 1000 * REST;
		record_is(&f, 10 + i, false, POLICY_REASON_OUTSIDE);
		outside_on_facts(&m, &f, now_us);
		outside_on_facts(&m, &f, now_us + US_PER_S);
		CHECK_EQ_INT(outside_rest_us(&m, now_us), REST << MIN(i, (unsigned) OUTSIDE_DOUBLINGS_MAX));
	}
	/* It helped: the rest of now stays the least. */
	add_nodes(&f, "O++");
	outside_on_facts(&m, &f, now_us);
	CHECK_EQ_INT(outside_rest_us(&m, now_us), REST);
	CHECK_EQ_INT(outside_rest_us(&m, now_us + REST), 0);
}

/* A vipd that starts after such a move does not know when it was made. */
static void test_rest_after_start(void)
{
	struct outside_moves m = {0};
	struct facts f = facts_of("n0", 7);

	(void) strcpy(f.owner.reason, POLICY_REASON_OUTSIDE);
	outside_on_facts(&m, &f, 5);
	CHECK_EQ_INT(outside_rest_us(&m, 5), REST);
}

static void test_mark(void)
{
	static const struct outside_count all = {.others = 2, .reached = 2};
	static const struct outside_count half = {.others = 2, .reached = 1, .unreached = 1};
	struct record_node me = {.failed_epoch = 7};
	int64_t marked_us = 0;

	outside_review_mark(&me, &marked_us, true, 7, &all, 100);
	CHECK_EQ_INT(marked_us, 100);
	CHECK_EQ_INT(me.failed_epoch, 7);
	/* Another owner is reached: that says nothing of this node. */
	outside_review_mark(&me, &marked_us, false, 8, &all, 200);
	outside_review_mark(&me, &marked_us, true, 9, &half, 200);
	outside_review_mark(&me, &marked_us, false, 9, &half, 99 + OUTSIDE_MARK_US);
	CHECK_EQ_INT(me.failed_epoch, 7);
	CHECK_EQ_INT(marked_us, 100);
	outside_review_mark(&me, &marked_us, false, 9, &half, 100 + OUTSIDE_MARK_US);
	CHECK_EQ_INT(me.failed_epoch, 0);
	CHECK_EQ_INT(marked_us, 0);
	/* Its next tenure is well. */
	me.failed_epoch = 11;
	outside_review_mark(&me, &marked_us, true, 12, &half, 300);
	CHECK_EQ_INT(me.failed_epoch, 11);
	outside_review_mark(&me, &marked_us, true, 12, &all, 301);
	CHECK_EQ_INT(me.failed_epoch, 0);
	CHECK_EQ_INT(marked_us, 0);
}

static void test_stays(void)
{
	static const struct record_node good = {.health = HEALTH_GOOD};
	static const struct record_node bad = {.health = HEALTH_BAD};
	static const struct record_node failed = {.health = HEALTH_GOOD, .failed_epoch = 3};
	static const struct outside_moves none = {0}, just = {.last_us = 1, .in_row = 1};

	const int64_t well_us = OUTSIDE_WELL_US;

	CHECK_EQ_STR(outside_stays(&none, well_us, &good, 2), NULL);
	CHECK_EQ_STR(outside_stays(&none, well_us - 1, &good, 2),
	             "its own API server was not healthy a moment ago");
	CHECK_EQ_STR(outside_stays(&none, well_us, NULL, 2), "no other node is healthy");
	CHECK_EQ_STR(outside_stays(&none, well_us, &bad, 2), "no other node is healthy");
	CHECK_EQ_STR(outside_stays(&none, well_us, &failed, 2),
	             "no healthy node is left that was reached when it had it");
	CHECK_EQ_STR(outside_stays(&just, well_us, &good, 2), "it has moved for this a short time ago");
	CHECK_EQ_STR(outside_stays(&just, well_us, &good, 1 + REST), NULL);
}

/* What is written is what a vipd reads that knows these members, and one that does not reads the
 * rest (test_record.c); the key of one that does not know them is no verdict. */
static void test_mixed_versions(void)
{
	static const char older[] =
	    "{\"instance\":\"i\",\"priority\":100,\"health\":\"good\","
	    "\"eligible\":true,\"etcdLeader\":false,\"owned\":0,\"answered\":4}";
	struct record_node me = {.instance = "j", .health = HEALTH_GOOD, .eligible = true};
	struct outside_view view = {.has_reached = true};
	struct facts f = facts_of("n0", 7);
	struct outside_count count;

	for (int i = 0; i < OUTSIDE_FALL; i++)
		(void) outside_on_look(&view, &me, 7, false);
	for (size_t i = 1; i <= 3; i++) {
		AUTO(free) char *newer = record_node_format(&me);
		const char *text = i == 1 ? older : newer;
		char name[] = "node/n?";
		struct facts_key key = {.name = name,
		                        .name_len = strlen(name),
		                        .value = text,
		                        .value_len = strlen(text),
		                        .mod_revision = 200 + (int64_t) i};

		name[6] = (char) ('0' + i);
		facts_on_event(&f, &key, (struct mono_moment){0});
		count = outside_count(&f);
		CHECK_EQ_INT(count.others, i);
		CHECK_EQ_INT(count.unreached, i - 1);
		CHECK_EQ_INT(outside_is_cut_off(&count), i == 3);
	}
}

int main(void)
{
	test_look();
	test_count();
	test_rest();
	test_rest_after_start();
	test_mark();
	test_stays();
	test_mixed_versions();
	return check_result();
}
