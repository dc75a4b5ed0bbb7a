/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Retention: what is kept and for what, by tables; then that over years of snapshots, with each
 * deletion carried out, no rule ever loses what it promises.
 */
#include "etcdwatch/catalog/retain.h"

#include <stdlib.h>

#include "base/civil.h"
#include "base/mem.h"
#include "tests/unit/check.h"

#define ITEMS_MAX 24
#define BAD 'b'
#define PINNED 'p'

/* One snapshot of a table. */
struct row {
	const char *started; /* NULL ends the list */
	int64_t revision;
	int64_t keys;
	char line;        /* 0 and 'a': the first; 't': another timeline, 'c' cluster, 'j' job */
	char note;        /* BAD, PINNED or 0 */
	const char *kept; /* "": it goes */
};

struct table {
	const char *name;
	struct retain_rules rules;
	const char *zone; /* NULL: UTC */
	bool corrupt;
	struct retain_accepted accepted; /* of the first line; revision 0: none */
	struct row rows[ITEMS_MAX];
	const char *explained; /* how the explanation begins; NULL: there is none */
};

static const struct table tables[] = {
    {.name = "nothing there", .rules = {.last = 3}},
    {.name = "the last three",
     .rules = {.last = 3},
     .rows = {{"2026-11-21T20:00:00Z", 10, 100, 0, 0, ""},
              {"2026-11-21T21:00:00Z", 11, 100, 0, 0, "last"},
              {"2026-11-21T22:00:00Z", 12, 100, 0, 0, "last"},
              {"2026-11-21T23:00:00Z", 13, 100, 0, 0, "last newest"}}},
    {.name = "fewer than the rule wants",
     .rules = {.last = 3},
     .rows = {{"2026-11-21T22:00:00Z", 12, 100, 0, 0, "last"},
              {"2026-11-21T23:00:00Z", 13, 100, 0, 0, "last newest"}}},
    {.name = "the newest stays without any rule",
     .rows = {{"2026-11-21T22:00:00Z", 12, 100, 0, 0, ""},
              {"2026-11-21T23:00:00Z", 13, 100, 0, 0, "newest"}}},
    {.name = "the order of the list is of no matter",
     .rules = {.last = 1},
     .rows = {{"2026-11-21T23:00:00Z", 13, 100, 0, 0, "last newest"},
              {"2026-11-21T21:00:00Z", 11, 100, 0, 0, ""},
              {"2026-11-21T22:00:00Z", 12, 100, 0, 0, ""}}},
    {.name = "newer is the higher revision, whatever the clocks said",
     .rules = {.last = 1, .daily = 2},
     .rows = {{"2040-01-01T00:00:00Z", 11, 100, 0, 0, ""},
              {"2026-11-21T22:00:00Z", 12, 100, 0, 0, "daily"},
              {"2026-11-20T23:00:00Z", 13, 100, 0, 0, "last daily newest"}}},
    {.name = "a clock that was wrong for an hour makes no day twice",
     .rules = {.daily = 3},
     .rows = {{"2026-11-20T20:00:00Z", 10, 100, 0, 0, ""},
              {"2040-01-01T00:00:00Z", 11, 100, 0, 0, "daily"},
              {"2026-11-20T22:00:00Z", 12, 100, 0, 0, "daily newest"}}},
    {.name = "of one revision the later one is newer",
     .rules = {.last = 1},
     .rows = {{"2026-11-21T22:00:00Z", 12, 100, 0, 0, ""},
              {"2026-11-21T23:00:00Z", 12, 100, 0, 0, "last newest"}}},
    {.name = "the newest of each hour that has any",
     .rules = {.hourly = 3},
     .rows = {{"2026-11-21T13:00:00Z", 10, 100, 0, 0, ""},
              {"2026-11-21T13:59:59Z", 11, 100, 0, 0, "hourly"},
              {"2026-11-21T20:00:00Z", 12, 100, 0, 0, ""},
              {"2026-11-21T20:30:00Z", 13, 100, 0, 0, "hourly"},
              {"2026-11-21T21:10:00Z", 14, 100, 0, 0, "hourly newest"}}},
    {.name = "hours of a zone that is half an hour off",
     .rules = {.hourly = 9},
     .zone = "Asia/Kolkata",
     .rows = {{"2026-11-21T20:20:00Z", 12, 100, 0, 0, "hourly"},
              {"2026-11-21T20:40:00Z", 13, 100, 0, 0, ""},
              {"2026-11-21T21:20:00Z", 14, 100, 0, 0, "hourly newest"}}},
    {.name = "an hour that comes twice is two",
     .rules = {.hourly = 9},
     .zone = "Europe/Berlin",
     .rows = {{"2027-10-31T02:30:00+02:00", 12, 100, 0, 0, "hourly"},
              {"2027-10-31T02:30:00+01:00", 13, 100, 0, 0, "hourly newest"}}},
    {.name = "days in UTC",
     .rules = {.daily = 2},
     .rows = {{"2026-11-19T23:00:00Z", 10, 100, 0, 0, ""},
              {"2026-11-20T22:00:00Z", 11, 100, 0, 0, ""},
              {"2026-11-20T23:30:00Z", 12, 100, 0, 0, "daily"},
              {"2026-11-21T00:30:00Z", 13, 100, 0, 0, "daily newest"}}},
    {.name = "days in Berlin",
     .rules = {.daily = 2},
     .zone = "Europe/Berlin",
     .rows = {{"2026-11-19T22:30:00Z", 10, 100, 0, 0, ""},
              {"2026-11-20T22:00:00Z", 11, 100, 0, 0, "daily"},
              {"2026-11-20T23:30:00Z", 12, 100, 0, 0, ""},
              {"2026-11-21T00:30:00Z", 13, 100, 0, 0, "daily newest"}}},
    {.name = "weeks begin on Monday",
     .rules = {.weekly = 2},
     .rows = {{"2026-11-15T23:59:00Z", 10, 100, 0, 0, ""},
              {"2026-11-16T00:00:00Z", 11, 100, 0, 0, ""},
              {"2026-11-22T23:59:00Z", 12, 100, 0, 0, "weekly"},
              {"2026-11-23T00:00:00Z", 13, 100, 0, 0, "weekly newest"}}},
    {.name = "months, over a year's end and a gap",
     .rules = {.monthly = 3},
     .rows = {{"2026-06-30T12:00:00Z", 9, 100, 0, 0, ""},
              {"2026-07-15T12:00:00Z", 10, 100, 0, 0, "monthly"},
              {"2026-12-31T12:00:00Z", 11, 100, 0, 0, "monthly"},
              {"2027-01-01T12:00:00Z", 12, 100, 0, 0, ""},
              {"2027-01-31T12:00:00Z", 13, 100, 0, 0, "monthly newest"}}},
    {.name = "all rules together",
     .rules = {2, 2, 2, 2, 2},
     .rows = {{"2026-09-10T03:00:00Z", 1, 100, 0, 0, ""},
              {"2026-10-31T03:00:00Z", 2, 100, 0, 0, "monthly"},
              {"2026-11-15T03:00:00Z", 3, 100, 0, 0, "weekly"},
              {"2026-11-19T03:00:00Z", 4, 100, 0, 0, ""},
              {"2026-11-20T03:00:00Z", 5, 100, 0, 0, "daily"},
              {"2026-11-21T19:00:00Z", 6, 100, 0, 0, ""},
              {"2026-11-21T20:00:00Z", 7, 100, 0, 0, "hourly"},
              {"2026-11-21T21:00:00Z", 8, 100, 0, 0, "last"},
              {"2026-11-21T21:30:00Z", 9, 100, 0, 0, "last hourly daily weekly monthly newest"}}},
    {.name = "what is not good neither counts nor goes",
     .rules = {.last = 1, .daily = 1},
     .rows = {{"2026-11-20T20:00:00Z", 10, 100, 0, 0, ""},
              {"2026-11-20T21:00:00Z", 11, 100, 0, BAD, "not-good"},
              {"2026-11-21T22:00:00Z", 12, 100, 0, 0, "last daily newest"},
              {"2026-11-22T23:00:00Z", 13, 100, 0, BAD, "not-good"}}},
    {.name = "only what is not good is there",
     .rules = {.last = 1},
     .rows = {{"2026-11-20T21:00:00Z", 11, 100, 0, BAD, "not-good"},
              {"2026-11-22T23:00:00Z", 13, 100, 0, BAD, "not-good"}}},
    {.name = "one that is in use stays, and counts",
     .rules = {.last = 1},
     .rows = {{"2026-11-20T20:00:00Z", 10, 100, 0, PINNED, "in-use"},
              {"2026-11-20T21:00:00Z", 11, 100, 0, 0, ""},
              {"2026-11-21T22:00:00Z", 12, 100, 0, PINNED, "last newest in-use"}}},
    {.name = "timelines, clusters and jobs are for themselves",
     .rules = {.last = 1},
     .rows = {{"2026-11-20T20:00:00Z", 10, 100, 0, 0, ""},
              {"2026-11-20T21:00:00Z", 11, 100, 0, 0, "last newest"},
              {"2026-11-20T22:00:00Z", 5, 100, 't', 0, ""},
              {"2026-11-20T23:00:00Z", 6, 100, 't', 0, "last newest"},
              {"2026-11-21T22:00:00Z", 2, 100, 'c', 0, ""},
              {"2026-11-21T23:00:00Z", 3, 100, 'c', 0, "last newest"},
              {"2026-11-21T22:00:00Z", 90, 100, 'j', 0, ""},
              {"2026-11-21T23:00:00Z", 91, 100, 'j', 0, "last newest"}}},
    {.name = "nothing goes while CORRUPT stands",
     .rules = {.last = 1},
     .corrupt = true,
     .rows = {{"2026-11-20T20:00:00Z", 10, 100, 0, 0, "frozen"},
              {"2026-11-20T21:00:00Z", 11, 100, 'c', 0, "frozen"},
              {"2026-11-20T22:00:00Z", 12, 100, 'c', 0, "last newest frozen"},
              {"2026-11-21T22:00:00Z", 12, 100, 0, 0, "last newest frozen"}},
     .explained = "nothing is deleted while the alarm CORRUPT stands"},
    {.name = "30 % fewer keys freeze",
     .rules = {.last = 1},
     .rows = {{"2026-11-20T20:00:00Z", 10, 1000, 0, 0, "frozen"},
              {"2026-11-20T21:00:00Z", 11, 1000, 0, 0, "frozen"},
              {"2026-11-21T22:00:00Z", 12, 700, 0, 0, "last newest frozen"}},
     .explained = "nothing is deleted, because id-2 has 700 keys and id-1 before it has 1000:"},
    {.name = "29.9 % do not",
     .rules = {.last = 1},
     .rows = {{"2026-11-20T21:00:00Z", 11, 1000, 0, 0, ""},
              {"2026-11-21T22:00:00Z", 12, 701, 0, 0, "last newest"}}},
    {.name = "losing everything freezes",
     .rules = {.last = 1},
     .rows = {{"2026-11-20T21:00:00Z", 11, 1, 0, 0, "frozen"},
              {"2026-11-21T22:00:00Z", 12, 0, 0, 0, "last newest frozen"}},
     .explained = "nothing is deleted, because id-1 has 0 keys"},
    {.name = "having nothing does not",
     .rules = {.last = 1},
     .rows = {{"2026-11-20T21:00:00Z", 11, 0, 0, 0, ""},
              {"2026-11-21T22:00:00Z", 12, 0, 0, 0, "last newest"}}},
    {.name = "more of what is left does not thaw",
     .rules = {.last = 1},
     .rows = {{"2026-11-20T21:00:00Z", 11, 1000, 0, 0, "frozen"},
              {"2026-11-21T22:00:00Z", 12, 100, 0, 0, "frozen"},
              {"2026-11-21T23:00:00Z", 13, 120, 0, 0, "frozen"},
              {"2026-11-22T00:00:00Z", 14, 130, 0, 0, "last newest frozen"}},
     .explained = "nothing is deleted, because id-1 has 100 keys"},
    {.name = "slow shrinking is life",
     .rules = {.last = 1},
     .rows = {{"2026-11-20T21:00:00Z", 11, 1000, 0, 0, ""},
              {"2026-11-21T22:00:00Z", 12, 800, 0, 0, ""},
              {"2026-11-21T23:00:00Z", 13, 600, 0, 0, ""},
              {"2026-11-22T00:00:00Z", 14, 450, 0, 0, "last newest"}}},
    {.name = "growing is too",
     .rules = {.last = 1},
     .rows = {{"2026-11-20T21:00:00Z", 11, 10, 0, 0, ""},
              {"2026-11-21T22:00:00Z", 12, 900, 0, 0, "last newest"}}},
    {.name = "what is not good is no measure",
     .rules = {.last = 1},
     .rows = {{"2026-11-20T21:00:00Z", 11, 1000, 0, 0, ""},
              {"2026-11-21T21:00:00Z", 12, 10, 0, BAD, "not-good"},
              {"2026-11-21T22:00:00Z", 13, 1000, 0, 0, "last newest"}}},
    {.name = "another line that is small is another line",
     .rules = {.last = 1},
     .rows = {{"2026-11-20T20:00:00Z", 10, 1000, 0, 0, ""},
              {"2026-11-20T21:00:00Z", 11, 1000, 0, 0, "last newest"},
              {"2026-11-21T22:00:00Z", 5, 10, 't', 0, "last newest"}}},
    {.name = "only the line that shrank is frozen",
     .rules = {.last = 1},
     .rows = {{"2026-11-20T20:00:00Z", 10, 1000, 0, 0, "frozen"},
              {"2026-11-20T21:00:00Z", 11, 100, 0, 0, "last newest frozen"},
              {"2026-11-21T22:00:00Z", 5, 10, 't', 0, ""},
              {"2026-11-21T23:00:00Z", 6, 10, 't', 0, "last newest"}},
     .explained = "nothing is deleted, because id-1 has 100 keys"},
    {.name = "the latest of two is told",
     .rules = {.last = 1},
     .rows = {{"2026-11-20T20:00:00Z", 10, 1000, 0, 0, "frozen"},
              {"2026-11-20T21:00:00Z", 11, 500, 0, 0, "frozen"},
              {"2026-11-21T22:00:00Z", 12, 200, 0, 0, "last newest frozen"}},
     .explained = "nothing is deleted, because id-2 has 200 keys and id-1 before it has 500:"},
    {.name = "the operator's word",
     .rules = {.last = 1},
     .accepted = {.revision = 12},
     .rows = {{"2026-11-20T21:00:00Z", 11, 1000, 0, 0, ""},
              {"2026-11-21T22:00:00Z", 12, 100, 0, 0, ""},
              {"2026-11-21T23:00:00Z", 13, 110, 0, 0, "last newest"}}},
    {.name = "the word outlives the snapshot that it was for",
     .rules = {.last = 1},
     .accepted = {.revision = 12},
     .rows = {{"2026-11-20T21:00:00Z", 11, 1000, 0, 0, ""},
              {"2026-11-21T23:00:00Z", 13, 110, 0, 0, "last newest"}}},
    {.name = "it is not for what shrinks later",
     .rules = {.last = 1},
     .accepted = {.revision = 12},
     .rows = {{"2026-11-20T21:00:00Z", 11, 1000, 0, 0, "frozen"},
              {"2026-11-21T22:00:00Z", 12, 100, 0, 0, "frozen"},
              {"2026-11-21T23:00:00Z", 13, 10, 0, 0, "last newest frozen"}},
     .explained = "nothing is deleted, because id-2 has 10 keys"},
    {.name = "nor for another line",
     .rules = {.last = 1},
     .accepted = {.revision = 12},
     .rows = {{"2026-11-20T21:00:00Z", 11, 1000, 't', 0, "frozen"},
              {"2026-11-21T22:00:00Z", 12, 100, 't', 0, "last newest frozen"}},
     .explained = "nothing is deleted, because id-1 has 100 keys"},
};

static struct catalog_entry *make_entry(const struct row *row, size_t i)
{
	struct catalog_entry *e = catalog_entry_new();

	free(e->id);
	free(e->job);
	e->id = xasprintf("id-%zu", i);
	e->job = xstrdup(row->line == 'j' ? "other" : "hourly");
	e->cluster_id = row->line == 'c' ? 2 : 1;
	e->timeline = row->line == 't' ? 2 : 1;
	e->revision = row->revision;
	e->live_keys = row->keys;
	e->db_bytes = 1;
	e->digest_verified = true;
	e->tree_verified = row->note != BAD;
	CHECK_EQ_INT(civil_parse(row->started, &e->started_s), 0);
	return e;
}

static void run_table(const struct table *t)
{
	struct catalog_entry *entries[ITEMS_MAX] = {0};
	struct retain_item items[ITEMS_MAX] = {0};
	const struct retain_accepted accepted = {1, 1, t->accepted.revision};
	const struct retain_facts facts = {t->corrupt, &accepted, accepted.revision > 0};
	AUTO(zone_free) struct zone *zone = NULL;
	struct retain_result result;
	char text[RETAIN_TEXT_MAX];
	size_t n = 0, n_going = 0;

	CHECK_EQ_INT(zone_load(NULL, t->zone != NULL ? t->zone : "UTC", &zone), 0);
	for (; t->rows[n].started != NULL; n++) {
		entries[n] = make_entry(&t->rows[n], n);
		items[n] = (struct retain_item){
		    .entry = entries[n], .pinned = t->rows[n].note == PINNED, .kept = ~0u};
	}
	retain_decide(&t->rules, zone, &facts, items, n, &result);
	for (size_t i = 0; i < n; i++) {
		if (!CHECK_EQ_STR(retain_describe(items[i].kept, text), t->rows[i].kept))
			(void) fprintf(stderr, "  '%s', row %zu\n", t->name, i);
		n_going += t->rows[i].kept[0] == '\0';
	}
	CHECK_EQ_INT(result.n_going, n_going);
	(void) retain_explain(&result, text);
	if (t->explained == NULL ? !CHECK_EQ_STR(text, "")
	                         : !CHECK(strncmp(text, t->explained, strlen(t->explained)) == 0))
		(void) fprintf(stderr, "  '%s': %s\n", t->name, text);
	for (size_t i = 0; i < n; i++)
		catalog_entry_free(entries[i]);
}

/* --- years --- */

#define STEPS 6000
#define STEP_S (5 * 3600 + 1000) /* three and a half years */

/* Takes and deletes as time goes. */
struct world {
	struct catalog_entry *entries[STEPS];
	size_t n;
};

static void prune(struct world *w, const struct retain_rules *rules, const struct zone *zone)
{
	const struct retain_facts facts = {0};
	AUTO(free) struct retain_item *items = xcalloc(w->n, sizeof(*items));
	struct retain_result result;
	size_t kept = 0;

	for (size_t i = 0; i < w->n; i++)
		items[i].entry = w->entries[i];
	retain_decide(rules, zone, &facts, items, w->n, &result);
	for (size_t i = 0; i < w->n; i++) {
		if (items[i].kept != 0)
			w->entries[kept++] = w->entries[i];
		else
			catalog_entry_free(w->entries[i]);
	}
	CHECK_EQ_INT(kept + result.n_going, w->n);
	w->n = kept;
}

/* There is a snapshot in the last so many hours. */
static bool covers(const struct world *w, int64_t now_s, int64_t oldest_hours, int64_t newest_hours)
{
	for (size_t i = 0; i < w->n; i++) {
		int64_t age_s = now_s - w->entries[i]->started_s;

		if (age_s <= oldest_hours * 3600 && age_s >= newest_hours * 3600)
			return true;
	}
	return false;
}

static void test_years(void)
{
	static const struct retain_rules rules = {
	    .last = 4, .hourly = 8, .daily = 7, .weekly = 5, .monthly = 12};
	struct world w = {.n = 0};
	AUTO(zone_free) struct zone *zone = NULL;
	int64_t first_s = 1700000000;

	CHECK_EQ_INT(zone_load(NULL, "America/New_York", &zone), 0);
	for (int64_t step = 0; step < STEPS; step++) {
		const struct row row = {"2026-11-21T20:00:00Z", step + 1, 100, 0, 0, NULL};
		int64_t now_s = first_s + step * STEP_S, age_h = step * STEP_S / 3600;
		bool good = true;

		w.entries[w.n] = make_entry(&row, (size_t) step);
		w.entries[w.n++]->started_s = now_s;
		prune(&w, &rules, zone);
		/* Never more than all rules together, and none of what they promise is missing. */
		good &= CHECK(w.n <= 4 + 8 + 7 + 5 + 12);
		for (int64_t day = 1; day < 7 && age_h > (day + 1) * 24; day++)
			good &= CHECK(covers(&w, now_s, (day + 1) * 24, (day - 1) * 24));
		for (int64_t week = 1; week < 5 && age_h > (week + 1) * 168; week++)
			good &= CHECK(covers(&w, now_s, (week + 1) * 168, (week - 1) * 168));
		for (int64_t month = 1; month < 12 && age_h > (month + 1) * 744; month++)
			good &= CHECK(covers(&w, now_s, (month + 1) * 744, (month - 1) * 672));
		if (!good) {
			(void) fprintf(stderr, "  at step %lld\n", (long long) step);
			break;
		}
	}
	for (size_t i = 0; i < w.n; i++)
		catalog_entry_free(w.entries[i]);
}

/* Numbers that a hostile catalogue may hold. */
static void test_bounds(void)
{
	static const struct row rows[] = {
	    {"0000-01-01T00:00:00Z", 1, INT64_MAX, 0, 0, NULL},
	    {"9999-12-31T23:59:59Z", INT64_MAX, INT64_MAX / 2, 0, 0, NULL}};
	const struct retain_rules rules = {1, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
	const struct retain_facts facts = {0};
	struct retain_item items[ARRAY_SIZE(rows)] = {0};
	struct catalog_entry *entries[ARRAY_SIZE(rows)];
	AUTO(zone_free) struct zone *zone = NULL;
	struct retain_result result;

	CHECK_EQ_INT(zone_load(NULL, "Europe/Berlin", &zone), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		items[i].entry = entries[i] = make_entry(&rows[i], i);
	retain_decide(&rules, zone, &facts, items, ARRAY_SIZE(rows), &result);
	CHECK(result.after == entries[1] && result.n_going == 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		catalog_entry_free(entries[i]);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		run_table(&tables[i]);
	test_years();
	test_bounds();
	return check_result();
}
