/* SPDX-License-Identifier: Apache-2.0 */
/* From the catalogue of a directory or a target to what goes; and what the operator's word is. */
#include "etcdwatch/catalog/retain.h"

#include <string.h>

#include "base/macro.h"
#include "etcdwatch/store/accepted.h"
#include "tests/unit/check.h"
#include "tests/unit/entries.h"

#define N 4

static const struct retain_rules last_one = {.last = 1};

/* Revisions 10, 20, ... with so many keys, by nodes in turn: n1, n2, n1, n2. */
static void make(struct catalog_entry *entries[N], const int64_t keys[N])
{
	for (size_t i = 0; i < N; i++) {
		entries[i] = entries_new("a", 7, 1000 * ((int64_t) i + 1), 10 * ((int64_t) i + 1));
		entries_set(&entries[i]->node, i % 2 == 0 ? "n1" : "n2");
		entries[i]->live_keys = keys[i];
	}
}

static void check_going(const struct prune_question *question, const char *want)
{
	char got[N + 1] = "";
	struct prune_plan plan;
	size_t n_going = 0;

	prune_plan(question, &plan);
	CHECK_EQ_INT(plan.n, N);
	for (size_t i = 0; i < plan.n; i++) {
		got[i] = plan.items[i].kept == 0 ? '-' : '+';
		n_going += plan.items[i].kept == 0;
	}
	CHECK_EQ_STR(got, want);
	CHECK_EQ_INT(plan.n_going, n_going);
	prune_plan_fini(&plan);
}

static void test_whose(void)
{
	static const int64_t keys[N] = {100, 100, 100, 100};
	struct catalog_entry *entries[N];
	struct prune_question q = {
	    .entries = (const struct catalog_entry *const *) entries, .n = N, .rules = &last_one};

	make(entries, keys);
	check_going(&q, "---+");
	q.only_node = "n1";
	check_going(&q, "-+-+");
	q.only_node = "n2";
	check_going(&q, "+-++");
	q.only_node = NULL;
	q.untrusted = (const bool[N]){false, false, false, true};
	check_going(&q, "--++");
	q.untrusted = NULL;
	q.only_node = "n2";
	/* Of old entries nobody knows whose they are. */
	free(entries[1]->node);
	entries[1]->node = NULL;
	check_going(&q, "++++");
	q.only_node = NULL;
	q.corrupt = true;
	check_going(&q, "++++");
	for (size_t i = 0; i < N; i++)
		catalog_entry_free(entries[i]);
}

static const char *const targets[] = {"site", "far"};

static void copy_to(struct catalog_entry *entry, const char *target)
{
	const struct catalog_copy copy = {.target = (char *) (uintptr_t) target, .key = (char[]){"k"}};

	CHECK_EQ_INT(catalog_set_copy(entry, &copy), 0);
}

/* What a target lacks stays, also if another target has it. */
static void test_waiting(void)
{
	static const int64_t keys[N] = {100, 100, 100, 100};
	struct catalog_entry *entries[N];
	struct prune_question q = {.entries = (const struct catalog_entry *const *) entries,
	                           .n = N,
	                           .rules = &last_one,
	                           .targets = targets,
	                           .n_targets = 2};
	struct prune_plan plan;

	make(entries, keys);
	check_going(&q, "++++");
	copy_to(entries[0], "site");
	check_going(&q, "++++");
	copy_to(entries[0], "far");
	check_going(&q, "-+++");
	prune_plan(&q, &plan);
	CHECK_EQ_INT(plan.items[1].kept, RETAIN_WAITING);
	CHECK_EQ_INT(plan.n_waiting, 2);
	CHECK_EQ_INT(plan.n_unsent, 0);
	prune_plan_fini(&plan);
	/* A disk without room: what goes anyway counts, then the oldest that wait. */
	q.lacking_bytes = ENTRIES_BYTES;
	check_going(&q, "-+++");
	q.lacking_bytes = ENTRIES_BYTES + 1;
	check_going(&q, "--++");
	q.lacking_bytes = 1000 * ENTRIES_BYTES;
	check_going(&q, "---+");
	prune_plan(&q, &plan);
	CHECK_EQ_INT(plan.n_waiting, 0);
	CHECK_EQ_INT(plan.n_unsent, 2);
	prune_plan_fini(&plan);
	q.lacking_bytes = 0;
	q.one_more = true;
	check_going(&q, "--++");
	/* What is kept for another reason does not wait. */
	q.corrupt = true;
	check_going(&q, "++++");
	q.corrupt = q.one_more = false;
	q.n_targets = 0;
	check_going(&q, "---+");
	for (size_t i = 0; i < N; i++)
		catalog_entry_free(entries[i]);
}

/* Of more the newest. */
static void test_waiting_limit(void)
{
	enum { MANY = PRUNE_WAITING_MAX + 10 };
	struct catalog_entry *entries[MANY];
	const struct prune_question q = {.entries = (const struct catalog_entry *const *) entries,
	                                 .n = MANY,
	                                 .rules = &last_one,
	                                 .targets = targets,
	                                 .n_targets = 1};
	struct prune_plan plan;

	for (size_t i = 0; i < MANY; i++)
		entries[i] = entries_new("a", 7, 1000 * ((int64_t) i + 1), 10 * ((int64_t) i + 1));
	prune_plan(&q, &plan);
	CHECK_EQ_INT(plan.n_waiting, PRUNE_WAITING_MAX);
	CHECK_EQ_INT(plan.n_unsent, 9);
	CHECK_EQ_INT(plan.n_going, 9);
	for (size_t i = 0; i < MANY; i++)
		CHECK_EQ_INT(plan.items[i].kept == 0, i < 9);
	prune_plan_fini(&plan);
	for (size_t i = 0; i < MANY; i++)
		catalog_entry_free(entries[i]);
}

static void test_word(void)
{
	static const int64_t keys[N] = {100, 100, 60, 60};
	struct catalog_entry *entries[N];
	struct prune_question q = {
	    .entries = (const struct catalog_entry *const *) entries, .n = N, .rules = &last_one};
	struct prune_plan plan;
	struct retain_accepted word;

	make(entries, keys);
	check_going(&q, "++++");
	prune_plan(&q, &plan);
	CHECK(plan.shrank && strstr(plan.frozen, entries[2]->id) != NULL);
	CHECK(plan.word.cluster_id == 7 && plan.word.timeline == 1 && plan.word.revision == 30);
	word = plan.word;
	prune_plan_fini(&plan);
	q.accepted = &word;
	q.n_accepted = 1;
	check_going(&q, "---+");
	word.timeline = 2; /* was said of another line */
	check_going(&q, "++++");
	for (size_t i = 0; i < N; i++)
		catalog_entry_free(entries[i]);
}

/* What stands in etcd, where others write too. */
static void test_accepted(void)
{
	static const struct {
		const char *name, *value;
		int64_t revision; /* 0: it is none */
	} cases[] = {
	    {"cdf818194e3a8c32-2", "{\"revision\":30,\"node\":\"n1\",\"at\":1}", 30},
	    {"cdf818194e3a8c32-2", "{\"revision\":0}", 0},
	    {"cdf818194e3a8c32-2", "{\"revision\":\"30\"}", 0},
	    {"cdf818194e3a8c32-2", "{}", 0},
	    {"cdf818194e3a8c32-2", "30", 0},
	    {"cdf818194e3a8c32-2", "", 0},
	    {"cdf818194e3a8c32-2x", "{\"revision\":30}", 0},
	    {"cdf818194e3a8c32-0", "{\"revision\":30}", 0},
	    {"cdf818194e3a8c32-", "{\"revision\":30}", 0},
	    {"cdf818194e3a8c32", "{\"revision\":30}", 0},
	    {"", "{\"revision\":30}", 0},
	    {"00000000000000000000000000000000000000000000000000000000000000000000000000000000-2",
	     "{\"revision\":30}", 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct retain_accepted word = {0};
		bool ok = accepted_parse(cases[i].name, strlen(cases[i].name), cases[i].value,
		                         strlen(cases[i].value), &word);

		CHECK_EQ_INT(ok, cases[i].revision != 0);
		CHECK_EQ_INT(word.revision, cases[i].revision);
		if (ok)
			CHECK(word.cluster_id == 0xcdf818194e3a8c32 && word.timeline == 2);
	}
}

int main(void)
{
	test_whose();
	test_waiting();
	test_waiting_limit();
	test_word();
	test_accepted();
	return check_result();
}
