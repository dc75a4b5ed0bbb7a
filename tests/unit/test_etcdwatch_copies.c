/* SPDX-License-Identifier: Apache-2.0 */
/* Which snapshot goes to a target next, and in which timeline. */
#include "etcdwatch/target/inventory.h"

#include "base/macro.h"
#include "etcdwatch/catalog/catalog.h"
#include "tests/unit/check.h"
#include "tests/unit/entries.h"

#define MAX_ENTRIES 4
#define CLUSTER UINT64_C(7)

static char prefix[] = "";
static char target_name[] = "site";
static const struct config_target target = {.prefix = prefix, .name = target_name};

struct world {
	struct catalog_entry *here[MAX_ENTRIES];
	size_t n;
	struct inventory *there;
	struct names passed;
};

static struct catalog_entry *add(struct world *w, int64_t started_s, int64_t revision, bool copied)
{
	struct catalog_entry *e = entries_new("a", CLUSTER, started_s, revision);
	char key[] = "k";
	const struct catalog_copy copy = {
	    .target = target_name, .key = key, .sha256 = ENTRIES_SHA, .at_s = 1};

	if (copied)
		CHECK_EQ_INT(catalog_set_copy(e, &copy), 0);
	w->here[w->n++] = e;
	return e;
}

static struct copies_question question(const struct world *w)
{
	return (struct copies_question){
	    .entries = (const struct catalog_entry *const *) w->here,
	    .n = w->n,
	    .target = target_name,
	    .skipped = &w->passed,
	    .there = w->there,
	    .there_of = CLUSTER,
	};
}

static int64_t next(const struct world *w)
{
	const struct copies_question q = question(w);
	const struct catalog_entry *e = copies_next(&q);

	return e != NULL ? e->revision : 0;
}

static void end(struct world *w)
{
	for (size_t i = 0; i < w->n; i++)
		catalog_entry_free(w->here[i]);
	inventory_free(w->there);
	names_fini(&w->passed);
}

static void test_newest_first(void)
{
	struct world w = {0};
	struct copies_question q;

	CHECK_EQ_INT(next(&w), 0);
	(void) add(&w, 1000, 10, false);
	(void) add(&w, 2000, 20, false);
	(void) add(&w, 3000, 30, true);
	CHECK_EQ_INT(next(&w), 20);
	names_add(&w.passed, xstrdup(w.here[1]->id));
	CHECK_EQ_INT(next(&w), 10);
	w.here[0]->tree_verified = false; /* what is not good is not copied */
	CHECK_EQ_INT(next(&w), 0);
	q = question(&w);
	CHECK_EQ_INT(copies_count_lacking(&q), 0);
	w.here[0]->tree_verified = true;
	CHECK_EQ_INT(copies_count_lacking(&q), 1);
	end(&w);
}

static void test_lost(void)
{
	static const struct {
		int64_t there, timeline; /* of what the target has; 0: nothing */
		int64_t want;
	} cases[] = {
	    {0, 1, 20}, {10, 1, 20}, {20, 1, 0}, {25, 1, 0}, {5, 2, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct world w = {.there = inventory_new(&target, "a")};
		struct copies_question q;

		(void) add(&w, 1000, 10, true);
		(void) add(&w, 2000, 20, true);
		if (cases[i].there != 0) {
			AUTO(catalog_entry_free)
			struct catalog_entry *e = entries_new("a", CLUSTER, 3000, cases[i].there);

			e->timeline = cases[i].timeline;
			entries_store(w.there, &target, e);
		}
		inventory_finish(w.there);
		CHECK_EQ_INT(next(&w), cases[i].want);
		q = question(&w);
		q.there_of = CLUSTER + 1; /* says nothing of this one */
		CHECK(copies_next(&q) == NULL);
		end(&w);
	}
}

static void test_timeline(void)
{
	static const struct {
		int64_t started_s, revision; /* of ours, which is in timeline 1 by what is here */
		int64_t want;
	} cases[] = {
	    {5000, 600, 1}, /* goes on where the other node's ended */
	    {5000, 400, 2}, /* the cluster was restored, and this node took none since */
	    {3000, 400, 1}, /* from before, and stored late */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(inventory_free) struct inventory *there = inventory_new(&target, "a");
		AUTO(catalog_entry_free)
		struct catalog_entry *theirs = entries_new("a", CLUSTER, 4000, 500);
		AUTO(catalog_entry_free)
		struct catalog_entry *ours =
		    entries_new("a", CLUSTER, cases[i].started_s, cases[i].revision);

		entries_store(there, &target, theirs);
		inventory_finish(there);
		CHECK_EQ_INT(copies_timeline(there, ours), cases[i].want);
		ours->timeline = 5;
		CHECK(copies_timeline(there, ours) == 5);
	}
}

/* An entry that is not signed stands for no copy but its own, and makes no timeline. */
static void test_untrusted(void)
{
	const struct trust trust = {.n = 0};
	const struct config_target judged = {.prefix = prefix, .name = target_name, .trust = &trust};
	AUTO(catalog_entry_free) struct catalog_entry *liar = entries_new("a", CLUSTER, 1500, 900);
	struct world w = {.there = inventory_new(&judged, "a")};

	(void) add(&w, 1000, 10, true);
	(void) add(&w, 2000, 20, true);
	liar->timeline = 1000000000;
	entries_store(w.there, &judged, liar);
	inventory_finish(w.there);
	CHECK_EQ_INT(next(&w), 20);
	CHECK_EQ_INT(copies_timeline(w.there, w.here[1]), 1);
	inventory_free(w.there);
	/* Older versions did not sign. */
	w.there = inventory_new(&judged, "a");
	entries_store(w.there, &judged, w.here[1]);
	inventory_finish(w.there);
	CHECK_EQ_INT(next(&w), 0);
	end(&w);
}

int main(void)
{
	test_newest_first();
	test_lost();
	test_timeline();
	test_untrusted();
	return check_result();
}
