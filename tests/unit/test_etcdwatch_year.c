/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A year of a job in simulated time: a daemon that sleeps until the next snapshot is due, is woken
 * in between, late, and is started anew now and then, takes exactly one for each time that the
 * schedule names, and retention keeps what it promises, at every take. What is right is reckoned by
 * the C library's clock on the wall, minute by minute, with nothing of ours.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/schedule/schedule.h"
#include "etcdwatch/take/due.h"
#include "tests/unit/check.h"

#define MINUTES (365 * 24 * 60)
#define BEGIN_S INT64_C(1798761600) /* 2027-01-01T00:00:00Z */
#define END_S (BEGIN_S + (int64_t) MINUTES * 60)
#define KEPT_MAX 64

/* The wall's clock, of each minute; its zone is the test's for the time being. */
static struct tm *walls;

static void look_at_walls(const char *zone)
{
	(void) setenv("TZ", zone, 1);
	tzset();
	for (int64_t i = 0; i < MINUTES; i++) {
		time_t t = (time_t) (BEGIN_S + i * 60);

		(void) localtime_r(&t, &walls[i]);
	}
}

/* --- what is due, without cron --- */

struct plan {
	const char *text;
	unsigned every; /* minutes of an hour; 0: once a day, or a week */
	int at;         /* minute of the day */
	int weekday;    /* -1: any */
	int64_t jitter_us;
};

/* In a day whose clock leaves the time out it is due when the clock has passed it, and in one that
 * shows it twice the first time. */
static size_t reckon(const struct plan *plan, int64_t *ret_times)
{
	int last_day = -1;
	size_t n = 0;

	for (int64_t i = 0; i < MINUTES; i++) {
		const struct tm *wall = &walls[i];
		int minute = wall->tm_hour * 60 + wall->tm_min;
		/* The first day may have begun before this year did in UTC, and its time have passed. */
		bool is_begun = i > 0 || minute <= plan->at;

		if (plan->every != 0) {
			if (wall->tm_min % (int) plan->every == 0)
				ret_times[n++] = BEGIN_S + i * 60;
			continue;
		}
		if (minute < plan->at || wall->tm_yday == last_day)
			continue;
		last_day = wall->tm_yday;
		if (is_begun && (plan->weekday < 0 || wall->tm_wday == plan->weekday))
			ret_times[n++] = BEGIN_S + i * 60;
	}
	return n;
}

/* --- retention, without our calendar --- */

static const struct retain_rules rules = {
    .last = 3, .hourly = 6, .daily = 7, .weekly = 4, .monthly = 12};

static const unsigned marks[] = {RETAIN_HOURLY, RETAIN_DAILY, RETAIN_WEEKLY, RETAIN_MONTHLY};
static const unsigned counts[] = {6, 7, 4, 12};

struct snapshot {
	struct catalog_entry *entry;
	char periods[ARRAY_SIZE(marks)][32]; /* which hour it was, which day, and so on */
};

struct kept {
	struct snapshot items[KEPT_MAX]; /* from old to new */
	size_t n;
};

/* An hour that comes twice is two. */
static void name_periods(struct snapshot *snapshot)
{
	char names[128];
	time_t t = (time_t) snapshot->entry->started_s;
	struct tm wall;
	char *rest = names;

	(void) localtime_r(&t, &wall);
	(void) strftime(names, sizeof(names), "%F %H %z|%F|%G %V|%Y %m", &wall);
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		(void) snprintf(snapshot->periods[i], sizeof(snapshot->periods[i]), "%s",
		                strsep(&rest, "|"));
}

static void expect_periods(const struct kept *kept, size_t rule, unsigned *wanted)
{
	const char *last = "";
	unsigned n = 0;

	for (size_t i = kept->n; i > 0; i--) {
		const char *period = kept->items[i - 1].periods[rule];

		if (strcmp(period, last) == 0)
			continue;
		last = period;
		if (n++ < counts[rule])
			wanted[i - 1] |= marks[rule];
	}
}

static bool prune(struct kept *kept, const struct zone *zone)
{
	const struct retain_facts facts = {0};
	struct retain_item items[KEPT_MAX] = {0};
	unsigned wanted[KEPT_MAX] = {0};
	struct retain_result result;
	bool good = true;
	size_t n = 0;

	for (size_t i = 0; i < kept->n; i++) {
		items[i].entry = kept->items[i].entry;
		wanted[i] = kept->n - i <= rules.last ? RETAIN_LAST : 0;
	}
	wanted[kept->n - 1] |= RETAIN_NEWEST;
	for (size_t rule = 0; rule < ARRAY_SIZE(marks); rule++)
		expect_periods(kept, rule, wanted);
	retain_decide(&rules, zone, &facts, items, kept->n, &result);
	for (size_t i = 0; i < kept->n; i++) {
		good &= CHECK_EQ_INT(items[i].kept, wanted[i]);
		if (items[i].kept != 0)
			kept->items[n++] = kept->items[i];
		else
			catalog_entry_free(kept->items[i].entry);
	}
	kept->n = n;
	return good;
}

static void add(struct kept *kept, int64_t at_s)
{
	struct catalog_entry *e = catalog_entry_new();

	free(e->job);
	e->job = xstrdup("job");
	e->cluster_id = 1;
	e->timeline = 1;
	e->revision = at_s;
	e->live_keys = 100;
	e->db_bytes = 1;
	e->digest_verified = e->tree_verified = true;
	e->started_s = at_s;
	kept->items[kept->n].entry = e;
	name_periods(&kept->items[kept->n++]);
}

/* --- the daemon --- */

/* The same each time. */
static unsigned chance(unsigned below)
{
	static uint64_t state = 1;

	state = state * UINT64_C(6364136223846793005) + 1;
	return (unsigned) (state >> 33) % below;
}

/* When it looks again: when one is due or up to two minutes later, or before that for any reason.
 */
static int64_t sleep_until(int64_t now_s, int64_t next_s)
{
	int64_t left_s = next_s - now_s;

	if (left_s > 1 && chance(3) == 0)
		return now_s + 1 + chance((unsigned) left_s - 1);
	return (left_s > 0 ? next_s : now_s) + chance(120);
}

struct year {
	const struct plan *plan;
	struct config_job job;
	const int64_t *times; /* when it is due */
	size_t n_times, n_taken;
	struct kept kept;
};

static bool take(struct year *year, int64_t now_s)
{
	int64_t jitter_s = year->plan->jitter_us / US_PER_S, due_s;

	if (!CHECK(year->n_taken < year->n_times))
		return false;
	due_s = year->times[year->n_taken++];
	add(&year->kept, now_s);
	return CHECK(now_s >= due_s && now_s <= due_s + jitter_s + 120) &&
	       prune(&year->kept, year->job.zone);
}

static void live(struct year *year)
{
	/* What was due before this year has been done. */
	int64_t now_s = BEGIN_S - 1, last_s = now_s;
	struct due due = {0};
	bool good = true;

	due_done_at(&due, &year->job, last_s);
	while (good) {
		if (chance(10) == 0) {
			/* The next one knows only when the last snapshot was begun. */
			due = (struct due){0};
			due_done_at(&due, &year->job, last_s);
		}
		good = CHECK(due_look(&due, &year->job, now_s) != DUE_NEW_MISSED);
		if (!due_is_done(&due) && now_s >= due.next_s) {
			good = good && take(year, now_s);
			due_done(&due);
			last_s = now_s;
			(void) due_look(&due, &year->job, now_s);
		}
		if (due_is_done(&due) && year->n_taken == year->n_times)
			break;
		now_s = sleep_until(now_s, due.next_s);
	}
	if (!good)
		(void) fprintf(stderr, "  '%s' in %s at %lld\n", year->plan->text, getenv("TZ"),
		               (long long) now_s);
}

static void test_plan(const struct plan *plan, const char *zone)
{
	AUTO(free) int64_t *times = xcalloc(MINUTES, sizeof(*times));
	AUTO(free) char *name = xstrdup("job");
	struct year year = {.plan = plan, .times = times, .n_times = reckon(plan, times)};
	char error[SCHEDULE_ERROR_MAX];

	year.job.name = name;
	year.job.jitter_us = plan->jitter_us;
	CHECK_EQ_INT(schedule_parse(plan->text, &year.job.schedule, error), 0);
	CHECK_EQ_INT(zone_load(NULL, zone, &year.job.zone), 0);
	CHECK(year.n_times >= 52);
	live(&year);
	/* And nothing more before the year is over. */
	CHECK(schedule_next(&year.job.schedule, year.job.zone, times[year.n_times - 1]) >= END_S);
	for (size_t i = 0; i < year.kept.n; i++)
		catalog_entry_free(year.kept.items[i].entry);
	zone_free(year.job.zone);
}

/* --- hours --- */

static void test_hours(const char *text, const char *zone_name)
{
	AUTO(zone_free) struct zone *zone = NULL;
	struct hours hours;
	int64_t next = -1;

	CHECK_EQ_INT(zone_load(NULL, zone_name, &zone), 0);
	CHECK_EQ_INT(hours_parse(text, &hours), 0);
	for (int64_t i = MINUTES - 1; i >= 0; i--) {
		int64_t at_s = (int64_t) walls[i].tm_hour * 3600 + walls[i].tm_min * 60;
		bool over_midnight = hours.from_s > hours.to_s;
		bool begun = at_s >= hours.from_s, ended = at_s >= hours.to_s;

		if (over_midnight ? begun || !ended : begun && !ended)
			next = BEGIN_S + i * 60;
		/* Each minute where clocks may be changed, and some others. */
		if (next >= 0 && (i % 11 == 0 || walls[i].tm_hour < 4) &&
		    !CHECK_EQ_INT(hours_next(&hours, zone, BEGIN_S + i * 60), next)) {
			(void) fprintf(stderr, "  '%s' in %s\n", text, zone_name);
			return;
		}
	}
}

int main(void)
{
	static const char *const zones[] = {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe",
	                                    "Asia/Kolkata", "Africa/Casablanca"};
	static const struct plan plans[] = {
	    {"30 2 * * *", 0, 150, -1, 0},
	    {"10 1 * * *", 0, 70, -1, 900 * US_PER_S},
	    {"0 3 * * sun", 0, 180, 0, 3600 * US_PER_S},
	    {"*/20 * * * *", 20, 0, -1, 300 * US_PER_S},
	};

	walls = xcalloc(MINUTES, sizeof(*walls));
	for (size_t i = 0; i < ARRAY_SIZE(zones); i++) {
		look_at_walls(zones[i]);
		for (size_t k = 0; k < ARRAY_SIZE(plans); k++)
			test_plan(&plans[k], zones[i]);
		test_hours("01:00-05:00", zones[i]);
		test_hours("22:30-02:10", zones[i]);
		test_hours("02:15-02:45", zones[i]);
	}
	free(walls);
	return check_result();
}
