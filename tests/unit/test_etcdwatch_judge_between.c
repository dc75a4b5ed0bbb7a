/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is between good and bad: what is not known, interrupted, weaker than another finding or set
 * otherwise; what a sentence says more where that is known. And what holds for any observations:
 * nothing flaps, and the same observations give the same findings.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/rules/trend.h"
#include "tests/unit/check.h"
#include "tests/unit/judgeworld.h"

/* --- what fills it --- */

/* Those that say that etcd is full name what fills it, as far as it is known and worth a word. */
static void test_filled(void)
{
	static const struct {
		int percents[2];
		size_t n;
		const char *more;
	} cases[] = {
	    {{0}, 0, ""},
	    {{4, 4}, 2, ""},
	    {{97, 2}, 2, "; in the newest snapshot 97 % is '/registry/events'"},
	    {{60, 31}, 2, "; in the newest snapshot 60 % is '/registry/events', 31 % '/registry/pods'"},
	};
	AUTO(free) struct rules_hits *hits = NEW0(struct rules_hits);
	AUTO(free) struct world *w = NEW0(struct world);
	AUTO(trend_free) struct trend *trend = trend_new();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		unsigned n = 0;

		make_well(w, 1000);
		full(w, 0);
		no_space(w, 0);
		w->o.n_parts = cases[i].n;
		for (size_t k = 0; k < cases[i].n; k++) {
			w->o.parts[k].percent = cases[i].percents[k];
			(void) snprintf(w->o.parts[k].prefix, sizeof(w->o.parts[k].prefix), "%s",
			                k == 0 ? "/registry/events" : "/registry/pods");
		}
		rules_look(&w->o, trend, hits);
		for (size_t k = 0; k < hits->n; k++) {
			const struct rules_hit *hit = &hits->items[k];
			const char *more = strchr(hit->sentence, ';');

			if (hit->unknown || (hit->rule != RULE_NO_SPACE && hit->rule != RULE_QUOTA_LOW))
				continue;
			CHECK_EQ_STR(more != NULL ? more : "", cases[i].more);
			n++;
		}
		CHECK_EQ_INT(n, 2);
	}
}

/* The runway too. */
static void grows_filled(struct world *w, int64_t s)
{
	grows(w, s);
	w->o.n_parts = 1;
	w->o.parts[0].percent = 90;
	(void) snprintf(w->o.parts[0].prefix, sizeof(w->o.parts[0].prefix), "/registry/x");
}

static void test_interrupted(void)
{
	struct judge_settings settings;
	AUTO(judge_free) struct judge *j = NULL;
	AUTO(free) struct world *w = NEW0(struct world);

	judge_default_settings(&settings);
	j = judge_new(&settings);
	/* 20 s, then well for one round, then 20 s again. */
	look(j, w, 10, one_down);
	look(j, w, 30, one_down);
	look(j, w, 40, NULL);
	look(j, w, 50, one_down);
	look(j, w, 70, one_down);
	CHECK(find(j, RULE_MEMBER_DOWN, "n2") == NULL);
	look(j, w, 80, one_down);
	CHECK(find(j, RULE_MEMBER_DOWN, "n2") != NULL);
	/* It comes back for 20 s: that is still the same. */
	look(j, w, 90, NULL);
	look(j, w, 110, NULL);
	look(j, w, 115, one_down);
	CHECK_EQ_INT(find(j, RULE_MEMBER_DOWN, "n2")->since_us, 50 * US_PER_S);
	look(j, w, 120, NULL);
	look(j, w, 149, NULL);
	CHECK(find(j, RULE_MEMBER_DOWN, "n2") != NULL);
	look(j, w, 150, NULL);
	CHECK(find(j, RULE_MEMBER_DOWN, "n2") == NULL);
	/* Nobody looked for a long time. */
	look(j, w, 160, one_down);
	look(j, w, 1160, one_down);
	CHECK(find(j, RULE_MEMBER_DOWN, "n2") == NULL);
	look(j, w, 1190, one_down);
	CHECK(find(j, RULE_MEMBER_DOWN, "n2") != NULL);
}

static void not_asked(struct world *w, int64_t s UNUSED)
{
	no_answer(&w->o.members[1]);
	w->o.members[1].answer = OBSERVED_NOTHING;
}

static void not_compared(struct world *w, int64_t s UNUSED)
{
	w->o.data = OBSERVED_NOTHING;
	for (size_t i = 0; i < w->o.n_members; i++)
		w->o.members[i].data = OBSERVED_NOTHING;
}

static void gone(struct world *w, int64_t s UNUSED)
{
	w->o.members[1] = w->o.members[2];
	w->o.n_members = 2;
	w->o.n_expected = 0;
}

static void test_unknown(void)
{
	struct judge_settings settings;
	AUTO(judge_free) struct judge *j = NULL;
	AUTO(free) struct world *w = NEW0(struct world);

	judge_default_settings(&settings);
	j = judge_new(&settings);
	look(j, w, 10, not_asked);
	look(j, w, 100, not_asked);
	CHECK_EQ_INT(count(j), 0);
	look(j, w, 110, one_down);
	look(j, w, 140, one_down);
	CHECK(find(j, RULE_MEMBER_DOWN, "n2") != NULL);
	look(j, w, 1000, not_asked);
	look(j, w, 2000, not_asked);
	CHECK(find(j, RULE_MEMBER_DOWN, "n2") != NULL);
	/* A member that is no longer one is not down. */
	look(j, w, 2010, gone);
	look(j, w, 2040, gone);
	CHECK(find(j, RULE_MEMBER_DOWN, "n2") == NULL);
}

/* What nobody compared is neither the same nor different. */
static void test_not_compared(void)
{
	struct judge_settings settings;
	AUTO(judge_free) struct judge *j = NULL;
	AUTO(free) struct world *w = NEW0(struct world);

	judge_default_settings(&settings);
	j = judge_new(&settings);
	look(j, w, 10, not_compared);
	CHECK_EQ_INT(count(j), 0);
	look(j, w, 20, other_data);
	look(j, w, 30, not_compared);
	CHECK(find(j, RULE_DATA_DIFFERS, "n2") != NULL);
	CHECK_EQ_INT(count(j), 1);
	look(j, w, 40, NULL);
	CHECK_EQ_INT(count(j), 0);
}

static void test_stronger(void)
{
	struct judge_settings settings;
	AUTO(judge_free) struct judge *j = NULL;
	AUTO(free) struct world *w = NEW0(struct world);

	judge_default_settings(&settings);
	j = judge_new(&settings);
	look(j, w, 10, file_14_days);
	CHECK(find(j, RULE_CERTIFICATE_EXPIRES, "/etc/peer.crt") != NULL);
	look(j, w, 20, file_7_days);
	CHECK(find(j, RULE_CERTIFICATE_EXPIRES, "/etc/peer.crt") == NULL);
	CHECK(find(j, RULE_CERTIFICATE_EXPIRES_SOON, "/etc/peer.crt") != NULL);
	CHECK_EQ_INT(count(j), 1);
}

/* A record that is switched off, and one of which nothing is known yet. */
static void test_record(void)
{
	struct judge_settings settings;
	AUTO(judge_free) struct judge *j = NULL;
	AUTO(free) struct world *w = NEW0(struct world);
	const struct judge_finding *found;

	judge_default_settings(&settings);
	j = judge_new(&settings);
	look(j, w, 10, gap);
	look(j, w, 70, gap);
	found = find(j, RULE_RECORD_GAP, "");
	if (CHECK(found != NULL))
		CHECK_EQ_STR(found->sentence,
		             "revisions 499 to 499 are lost to the record (compacted), and no proven "
		             "snapshot is of the last of them or a later one");
	/* It stays while there is no chain, and goes with the snapshot. */
	look(j, w, 80, no_chain);
	CHECK(find(j, RULE_RECORD_GAP, "") != NULL);
	look(j, w, 90, NULL);
	CHECK_EQ_INT(count(j), 0);
	look(j, w, 100, record_off);
	look(j, w, 200, record_off);
	CHECK_EQ_INT(count(j), 0);
}

static void test_settings(void)
{
	struct judge_settings settings;
	AUTO(judge_free) struct judge *j = NULL;
	AUTO(free) struct world *w = NEW0(struct world);

	judge_default_settings(&settings);
	settings.of[RULE_CORRUPT].off = true;
	settings.of[RULE_MEMBER_DOWN].after_us = 0;
	settings.of[RULE_MEMBER_DOWN].hold_us = 0;
	j = judge_new(&settings);
	look(j, w, 10, corrupt);
	CHECK_EQ_INT(count(j), 0);
	look(j, w, 20, one_down);
	CHECK_EQ_INT(count(j), 1);
	look(j, w, 30, NULL);
	CHECK_EQ_INT(count(j), 0);
}

/* --- anything --- */

#define ROUNDS 4000
#define CHANGES_MAX 20000

struct changes {
	struct change {
		enum rules_id rule;
		uint64_t number;
		bool raised;
		int64_t at_s;
	} items[CHANGES_MAX];
	size_t n;
	int64_t now_s;
};

static void note(const struct judge_finding *finding, bool raised, void *userdata)
{
	struct changes *c = userdata;

	if (c->n == CHANGES_MAX)
		return;
	c->items[c->n++] =
	    (struct change){(enum rules_id)(finding->rule - rules), finding->number, raised, c->now_s};
}

/* Several rows at once, for one round or for many, and rounds at odd intervals. */
static void live(unsigned seed, struct changes *ret)
{
	struct judge_settings settings;
	AUTO(judge_free) struct judge *j = NULL;
	AUTO(free) struct world *w = NEW0(struct world);
	bool worse[ARRAY_SIZE(rows)] = {false};
	int64_t at_s = 1000;

	judge_default_settings(&settings);
	j = judge_new(&settings);
	ret->n = 0;
	for (unsigned round = 0; round < ROUNDS; round++) {
		at_s += 1 + rand_r(&seed) % 30;
		make_well(w, at_s);
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			if (rand_r(&seed) % (worse[i] ? 20 : 200) == 0)
				worse[i] = !worse[i];
			if (worse[i])
				rows[i].worsen(w, rand_r(&seed) % 3000);
		}
		if (rand_r(&seed) % 10 == 0)
			w->o.list_known = w->o.alarms_known = w->o.disk_known = false;
		ret->now_s = at_s;
		judge_look(j, &w->o, note, ret);
	}
}

static void check_changes(const struct changes *c)
{
	CHECK(c->n > 100 && c->n < CHANGES_MAX);
	for (size_t i = 0; i < c->n; i++) {
		const struct change *change = &c->items[i], *last = NULL;

		for (size_t k = i; k-- > 0 && last == NULL;) {
			if (c->items[k].rule == change->rule && c->items[k].number == change->number)
				last = &c->items[k];
		}
		if (last == NULL) {
			CHECK(change->raised);
			continue;
		}
		CHECK(last->raised != change->raised);
		CHECK(change->at_s - last->at_s >= (int64_t) (change->raised ? rules[change->rule].after_s
		                                                             : rules[change->rule].hold_s));
	}
}

static void test_any(void)
{
	AUTO(free) struct changes *first = NEW0(struct changes);
	AUTO(free) struct changes *again = NEW0(struct changes);

	for (unsigned seed = 1; seed <= 3; seed++) {
		live(seed, first);
		check_changes(first);
		live(seed, again);
		CHECK_EQ_INT(first->n, again->n);
		CHECK(memcmp(first->items, again->items, first->n * sizeof(first->items[0])) == 0);
	}
}

/* One that was cut off raises the term by what it tried meanwhile: one election. */
static void test_elections(void)
{
	static const struct {
		int64_t s;
		uint64_t term, n;
	} cases[] = {
	    {0, 5, 0},    {10, 5, 0},   {20, 47, 1},   {30, 47, 1},   {60, 48, 2},  {120, 50, 3},
	    {919, 50, 3}, {920, 50, 2}, {1020, 50, 0}, {1030, 51, 1}, {1040, 3, 0}, {1050, 4, 1},
	};
	AUTO(trend_free) struct trend *trend = trend_new();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct world w = {0};
		uint64_t n = 77;

		make_well(&w, cases[i].s);
		w.o.now_us = cases[i].s * US_PER_S;
		for (size_t k = 0; k < 3; k++)
			w.o.members[k].raft_term = cases[i].term;
		trend_add(trend, &w.o);
		if (!CHECK(trend_elections(trend, &n)) || !CHECK_EQ_INT(n, cases[i].n))
			(void) fprintf(stderr, "  at %lld s\n", (long long) cases[i].s);
	}
}

/* What a defragmented database grows by until it is as large as before is no forecast. */
static void test_refill(void)
{
	struct judge_settings settings;
	AUTO(judge_free) struct judge *j = NULL;
	AUTO(free) struct world *w = NEW0(struct world);

	judge_default_settings(&settings);
	j = judge_new(&settings);
	for (int64_t s = 0; s <= 5 * 3600; s += STEP_S) {
		make_well(w, 1000 + s);
		w->o.members[1].db_bytes = 600 * MIB + MIN(s, 900) * 400 * MIB / 900;
		judge_look(j, &w->o, ignore, NULL);
		if (!CHECK(find(j, RULE_QUOTA_RUNWAY, "n2") == NULL)) {
			(void) fprintf(stderr, "  after %d s\n", (int) s);
			return;
		}
	}
}

static void test_runway_filled(void)
{
	const struct row row = {RULE_QUOTA_RUNWAY, grows_filled, "n2", 0, 0};
	struct judge_settings settings;
	AUTO(judge_free) struct judge *j = NULL;
	AUTO(free) struct world *w = NEW0(struct world);
	const struct judge_finding *f;

	judge_default_settings(&settings);
	j = judge_new(&settings);
	CHECK(until(j, w, &row, true, 1000, 3 * HALF_HOUR) > 0);
	f = find(j, RULE_QUOTA_RUNWAY, "n2");
	CHECK(f != NULL &&
	      strstr(f->sentence, "; in the newest snapshot 90 % is '/registry/x'") != NULL);
}

int main(void)
{
	test_filled();
	test_runway_filled();
	test_elections();
	test_refill();
	test_interrupted();
	test_unknown();
	test_not_compared();
	test_stronger();
	test_record();
	test_settings();
	test_any();
	return check_result();
}
