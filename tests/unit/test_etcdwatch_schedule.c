/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedules: what is read and what is refused; when they are due, by tables, and by a clock that
 * walks each minute of years in which clocks were changed.
 */
#include "etcdwatch/schedule/schedule.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/civil.h"
#include "base/mem.h"
#include "tests/unit/check.h"

/* --- reading --- */

#define ALL(first, last) ((UINT64_MAX >> (63 - (last))) & (UINT64_MAX << (first)))

static void test_fields(void)
{
	static const struct {
		const char *text;
		uint64_t minutes, hours, days, months, weekdays;
		bool either_day;
	} cases[] = {
	    {"* * * * *", ALL(0, 59), ALL(0, 23), ALL(1, 31), ALL(1, 12), ALL(0, 6), false},
	    {"0 0 * * *", 1, 1, ALL(1, 31), ALL(1, 12), ALL(0, 6), false},
	    {"5,10,5 1-3 * * *", 1 << 5 | 1 << 10, 0xe, ALL(1, 31), ALL(1, 12), ALL(0, 6), false},
	    {"*/20 */12 */30 */11 */6", 1 | 1 << 20 | UINT64_C(1) << 40, 1 | 1 << 12,
	     1u << 1 | 1u << 31, 1 << 1 | 1 << 12, 1 << 0 | 1 << 6, false},
	    {"1-10/4,59 22-23 1,31 1 *", 1 << 1 | 1 << 5 | 1 << 9 | UINT64_C(1) << 59, 3u << 22,
	     1u << 1 | 1u << 31, 1 << 1, ALL(0, 6), false},
	    {"\t0  3 \t* JAN-Mar,deC mon-FRI ", 1, 1 << 3, ALL(1, 31), 0xe | 1 << 12, ALL(1, 5), false},
	    {"0 3 * * 7", 1, 1 << 3, ALL(1, 31), ALL(1, 12), 1, false},
	    {"0 3 * * 5-7", 1, 1 << 3, ALL(1, 31), ALL(1, 12), 1 | 3 << 5, false},
	    {"0 3 * * fri-sun", 1, 1 << 3, ALL(1, 31), ALL(1, 12), 1 | 3 << 5, false},
	    {"0 3 * * sun-tue", 1, 1 << 3, ALL(1, 31), ALL(1, 12), 7, false},
	    {"0 3 13 * fri", 1, 1 << 3, 1 << 13, ALL(1, 12), 1 << 5, true},
	    {"0 3 */2 * fri", 1, 1 << 3, 0xaaaaaaaa, ALL(1, 12), 1 << 5, false},
	    {"0 3 1,*/10 * fri", 1, 1 << 3, 1 << 1 | 1 << 11 | 1 << 21 | 1u << 31, ALL(1, 12), 1 << 5,
	     true},
	    {"@hourly", 1, ALL(0, 23), ALL(1, 31), ALL(1, 12), ALL(0, 6), false},
	    {"@daily", 1, 1, ALL(1, 31), ALL(1, 12), ALL(0, 6), false},
	    {"@midnight", 1, 1, ALL(1, 31), ALL(1, 12), ALL(0, 6), false},
	    {"@weekly", 1, 1, ALL(1, 31), ALL(1, 12), 1, false},
	    {"@monthly", 1, 1, 2, ALL(1, 12), ALL(0, 6), false},
	    {"@yearly", 1, 1, 2, 2, ALL(0, 6), false},
	    {"@annually", 1, 1, 2, 2, ALL(0, 6), false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char error[SCHEDULE_ERROR_MAX] = "";
		struct schedule s;

		if (!CHECK_EQ_INT(schedule_parse(cases[i].text, &s, error), 0) ||
		    !CHECK(s.minutes == cases[i].minutes && s.hours == cases[i].hours &&
		           s.days == cases[i].days && s.months == cases[i].months &&
		           s.weekdays == cases[i].weekdays && s.either_day == cases[i].either_day))
			(void) fprintf(stderr, "  for '%s': %s\n", cases[i].text, error);
		else
			CHECK_EQ_STR(s.text, cases[i].text);
	}
}

static void test_refused(void)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
	    {"", "has 0 fields, not 5 (minute, hour, day of the month, month, day of the week)"},
	    {"0", "has 1 field, not 5 (minute, hour, day of the month, month, day of the week)"},
	    {"0 0 * *", "has 4 fields, not 5 (minute, hour, day of the month, month, day of the week)"},
	    {"0 0 0 * * *",
	     "has 6 fields, not 5 (minute, hour, day of the month, month, day of the week)"},
	    {"60 * * * *", "the minute 60 is not in 0 to 59"},
	    {"0 24 * * *", "the hour 24 is not in 0 to 23"},
	    {"0 0 0 * *", "the day of the month 0 is not in 1 to 31"},
	    {"0 0 32 * *", "the day of the month 32 is not in 1 to 31"},
	    {"0 0 * 13 *", "the month 13 is not in 1 to 12"},
	    {"0 0 * * 8", "the day of the week 8 is not in 0 to 7"},
	    {"-1 0 * * *", "the minute has a character that means nothing there"},
	    {"1.5 0 * * *", "the minute has a character that means nothing there"},
	    {"0 ? * * *", "the hour has a character that means nothing there"},
	    {"0 0 L * *", "the day of the month 'L' is no number"},
	    {"0 0 * * 5L", "the day of the week '5L' is no number and no name"},
	    {"0 0 * * fri#2", "the day of the week has a character that means nothing there"},
	    {"0 0 * january *", "the month 'january' is no number and no name"},
	    {"0 0 * mon *", "the month 'mon' is no number and no name"},
	    {"jan 0 * * *", "the minute 'jan' is no number"},
	    {"00000 0 * * *", "the minute '00000' is no number"},
	    {"5, 0 * * *", "the minute has an empty part"},
	    {",5 0 * * *", "the minute has an empty part"},
	    {"5,,6 0 * * *", "the minute has an empty part"},
	    {"5- 0 * * *", "the minute has an empty part"},
	    {"5-6-7 0 * * *", "the minute has a character that means nothing there"},
	    {"** 0 * * *", "the minute has a character that means nothing there"},
	    {"*-5 0 * * *", "the minute has a character that means nothing there"},
	    {"9-5 0 * * *", "the minute has a range that ends before it begins"},
	    {"0 22-2 * * *", "the hour has a range that ends before it begins"},
	    {"0 0 * * fri-mon", "the day of the week has a range that ends before it begins"},
	    {"0 0 * * 5-0", "the day of the week has a range that ends before it begins"},
	    {"5/10 0 * * *", "the minute has a step behind a single number: write a range, a-b/n"},
	    {"*/0 0 * * *", "the minute has a step that is not in 1 to 59"},
	    {"*/90 0 * * *", "the minute has a step that is not in 1 to 59"},
	    {"*/ 0 * * *", "the minute has a step that is not in 1 to 59"},
	    {"*/x 0 * * *", "the minute has a step that is not in 1 to 59"},
	    {"*/4294967301 0 * * *", "the minute has a step that is not in 1 to 59"},
	    {"0 */24 * * *", "the hour has a step that is not in 1 to 23"},
	    {"*/5/5 0 * * *", "the minute has a character that means nothing there"},
	    {"@reboot", "is none of @hourly, @daily, @weekly, @monthly and @yearly"},
	    {"@every 1h", "is none of @hourly, @daily, @weekly, @monthly and @yearly"},
	    {"@Daily", "is none of @hourly, @daily, @weekly, @monthly and @yearly"},
	    {"0 0 30 feb *", "names a day that never comes"},
	    {"0 0 31 4,6,9,11 *", "names a day that never comes"},
	    {"0 0 30,31 2 */7", "names a day that never comes"},
	};
	char longer[SCHEDULE_TEXT_MAX + 1], error[SCHEDULE_ERROR_MAX];
	struct schedule s;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		error[0] = '\0';
		if (!CHECK_EQ_INT(schedule_parse(cases[i].text, &s, error), -EINVAL) ||
		    !CHECK_EQ_STR(error, cases[i].error))
			(void) fprintf(stderr, "  for '%s'\n", cases[i].text);
	}
	memset(longer, ' ', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	memcpy(longer, "0 0 * * *", 9);
	CHECK_EQ_INT(schedule_parse(longer, &s, error), -EINVAL);
	longer[sizeof(longer) - 2] = '\0';
	CHECK_EQ_INT(schedule_parse(longer, &s, error), 0);
}

/* --- when --- */

static struct schedule parse(const char *text)
{
	char error[SCHEDULE_ERROR_MAX] = "";
	struct schedule s = {0};

	if (!CHECK_EQ_INT(schedule_parse(text, &s, error), 0)) {
		(void) fprintf(stderr, "  %s: %s\n", text, error);
		exit(1);
	}
	return s;
}

static struct zone *load(const char *name)
{
	struct zone *zone = NULL;

	if (!CHECK_EQ_INT(zone_load(NULL, name, &zone), 0))
		exit(1);
	return zone;
}

static int64_t moment(const char *text)
{
	int64_t s = 0;

	if (!CHECK_EQ_INT(civil_parse(text, &s), 0))
		(void) fprintf(stderr, "  %s\n", text);
	return s;
}

/* The moments at which it is due, each as it is told on the spot. */
static void test_moments(void)
{
	static const struct {
		const char *text, *zone, *after;
		const char *due[5];
	} cases[] = {
	    /* Behind `after`, not at it. */
	    {"0 * * * *",
	     "UTC",
	     "2026-11-21T20:30:00Z",
	     {"2026-11-21T21:00:00Z", "2026-11-21T22:00:00Z"}},
	    {"0 * * * *", "UTC", "2026-11-21T21:00:00Z", {"2026-11-21T22:00:00Z"}},
	    {"0 * * * *", "UTC", "2026-11-21T20:59:59Z", {"2026-11-21T21:00:00Z"}},
	    {"30 3 * * *",
	     "UTC",
	     "2026-12-31T12:00:00Z",
	     {"2027-01-01T03:30:00Z", "2027-01-02T03:30:00Z"}},
	    /* Leap days. */
	    {"0 0 29 2 *",
	     "UTC",
	     "2026-01-01T00:00:00Z",
	     {"2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"}},
	    {"0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", {"2104-02-29T00:00:00Z"}},
	    {"0 0 29 2 */5",
	     "UTC",
	     "2077-01-01T00:00:00Z",
	     {"2088-02-29T00:00:00Z", "2092-02-29T00:00:00Z", "2104-02-29T00:00:00Z"}},
	    {"0 0 29 2 */7",
	     "UTC",
	     "2077-01-01T00:00:00Z",
	     {"2088-02-29T00:00:00Z", "2128-02-29T00:00:00Z"}},
	    {"0 0 31 * *",
	     "UTC",
	     "2027-01-31T00:00:00Z",
	     {"2027-03-31T00:00:00Z", "2027-05-31T00:00:00Z"}},
	    {"0 0 28-31 2 *",
	     "UTC",
	     "2028-02-01T00:00:00Z",
	     {"2028-02-28T00:00:00Z", "2028-02-29T00:00:00Z", "2029-02-28T00:00:00Z"}},
	    /* Either day; both days. */
	    {"0 0 13 * fri",
	     "UTC",
	     "2026-11-01T00:00:00Z",
	     {"2026-11-06T00:00:00Z", "2026-11-13T00:00:00Z", "2026-11-20T00:00:00Z"}},
	    {"0 0 14 * fri",
	     "UTC",
	     "2026-11-12T00:00:00Z",
	     {"2026-11-13T00:00:00Z", "2026-11-14T00:00:00Z", "2026-11-20T00:00:00Z"}},
	    {"0 0 */2 * fri",
	     "UTC",
	     "2026-11-01T00:00:00Z",
	     {"2026-11-13T00:00:00Z", "2026-11-27T00:00:00Z"}},
	    /* Zones without changes of clocks. */
	    {"0 6 * * *",
	     "Asia/Kolkata",
	     "2026-11-21T00:00:00Z",
	     {"2026-11-21T06:00:00+05:30", "2026-11-22T06:00:00+05:30"}},
	    {"0 6 * * mon",
	     "Pacific/Kiritimati",
	     "2026-11-21T00:00:00Z",
	     {"2026-11-23T06:00:00+14:00"}},
	    /* Berlin's spring: 02:00 to 03:00 is left out on March 28, 2027. */
	    {"30 2 * * *",
	     "Europe/Berlin",
	     "2027-03-27T00:00:00Z",
	     {"2027-03-27T02:30:00+01:00", "2027-03-28T03:00:00+02:00", "2027-03-29T02:30:00+02:00"}},
	    {"*/15 2 * * *",
	     "Europe/Berlin",
	     "2027-03-27T02:45:00+01:00",
	     {"2027-03-28T03:00:00+02:00", "2027-03-29T02:00:00+02:00"}},
	    {"0 2,3 * * *",
	     "Europe/Berlin",
	     "2027-03-28T00:00:00Z",
	     {"2027-03-28T03:00:00+02:00", "2027-03-29T02:00:00+02:00"}},
	    {"30 2,3 * * *",
	     "Europe/Berlin",
	     "2027-03-28T00:00:00Z",
	     {"2027-03-28T03:00:00+02:00", "2027-03-28T03:30:00+02:00", "2027-03-29T02:30:00+02:00"}},
	    {"30 * * * *",
	     "Europe/Berlin",
	     "2027-03-28T00:00:00Z",
	     {"2027-03-28T01:30:00+01:00", "2027-03-28T03:30:00+02:00", "2027-03-28T04:30:00+02:00"}},
	    {"0 0 * * *",
	     "Europe/Berlin",
	     "2027-03-27T00:00:00Z",
	     {"2027-03-28T00:00:00+01:00", "2027-03-29T00:00:00+02:00"}},
	    /* Berlin's autumn: 02:00 to 03:00 comes twice on October 31, 2027. */
	    {"30 2 * * *",
	     "Europe/Berlin",
	     "2027-10-30T12:00:00Z",
	     {"2027-10-31T02:30:00+02:00", "2027-11-01T02:30:00+01:00"}},
	    {"0 3 * * *",
	     "Europe/Berlin",
	     "2027-10-30T12:00:00Z",
	     {"2027-10-31T03:00:00+01:00", "2027-11-01T03:00:00+01:00"}},
	    {"30 * * * *",
	     "Europe/Berlin",
	     "2027-10-31T02:00:00+02:00",
	     {"2027-10-31T02:30:00+02:00", "2027-10-31T02:30:00+01:00", "2027-10-31T03:30:00+01:00"}},
	    {"0 */2 * * *",
	     "Europe/Berlin",
	     "2027-10-31T00:00:00+02:00",
	     {"2027-10-31T02:00:00+02:00", "2027-10-31T04:00:00+01:00"}},
	    /* New York. */
	    {"30 2 * * *",
	     "America/New_York",
	     "2027-03-13T12:00:00Z",
	     {"2027-03-14T03:00:00-04:00", "2027-03-15T02:30:00-04:00"}},
	    {"30 1 * * *",
	     "America/New_York",
	     "2027-11-06T12:00:00Z",
	     {"2027-11-07T01:30:00-04:00", "2027-11-08T01:30:00-05:00"}},
	    /* Half an hour, in the south. */
	    {"15 2 * * *",
	     "Australia/Lord_Howe",
	     "2027-10-02T12:00:00Z",
	     {"2027-10-03T02:30:00+11:00", "2027-10-04T02:15:00+11:00"}},
	    {"45 1 * * *",
	     "Australia/Lord_Howe",
	     "2027-04-03T00:00:00Z",
	     {"2027-04-04T01:45:00+11:00", "2027-04-05T01:45:00+10:30"}},
	    /* A midnight that is left out, and one that comes twice. */
	    {"0 0 * * *",
	     "America/Sao_Paulo",
	     "2018-11-03T12:00:00Z",
	     {"2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"}},
	    {"0 0 4 11 *",
	     "America/Sao_Paulo",
	     "2018-11-03T12:00:00Z",
	     {"2018-11-04T01:00:00-02:00", "2019-11-04T00:00:00-03:00"}},
	    {"30 23 * * *",
	     "America/Sao_Paulo",
	     "2018-02-17T12:00:00Z",
	     {"2018-02-17T23:30:00-02:00", "2018-02-18T23:30:00-03:00"}},
	    /* A day that is left out. */
	    {"0 12 30 12 *",
	     "Pacific/Apia",
	     "2011-06-01T00:00:00Z",
	     {"2011-12-31T00:00:00+14:00", "2012-12-30T12:00:00+14:00"}},
	    {"0 12 * * *",
	     "Pacific/Apia",
	     "2011-12-29T00:00:00-10:00",
	     {"2011-12-29T12:00:00-10:00", "2011-12-31T00:00:00+14:00", "2011-12-31T12:00:00+14:00"}},
	    {"0 * * * *",
	     "Pacific/Apia",
	     "2011-12-29T22:30:00-10:00",
	     {"2011-12-29T23:00:00-10:00", "2011-12-31T00:00:00+14:00"}},
	    /* Behind the last change that is in the file. */
	    {"30 2 * * *",
	     "Europe/Berlin",
	     "2099-03-28T00:00:00Z",
	     {"2099-03-28T02:30:00+01:00", "2099-03-29T03:00:00+02:00"}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct schedule s = parse(cases[i].text);
		AUTO(zone_free) struct zone *zone = load(cases[i].zone);
		int64_t at_s = moment(cases[i].after);

		for (size_t k = 0; k < ARRAY_SIZE(cases[i].due) && cases[i].due[k] != NULL; k++) {
			char got[CIVIL_TEXT_MAX], want[CIVIL_TEXT_MAX];
			int64_t next_s = schedule_next(&s, zone, at_s);

			if (!CHECK_EQ_STR(civil_format(next_s, got),
			                  civil_format(moment(cases[i].due[k]), want)) ||
			    !CHECK_EQ_INT(schedule_previous(&s, zone, next_s), next_s) ||
			    !CHECK(schedule_previous(&s, zone, next_s - 1) <= at_s))
				(void) fprintf(stderr, "  '%s' in %s after %s\n", cases[i].text, cases[i].zone,
				               cases[i].after);
			at_s = next_s;
		}
	}
}

/* --- the clock --- */

#define MINUTES_OF_CLOCK (366 * 24 * 60)

static bool is_on(const struct schedule *s, int64_t local_minute)
{
	time_t t = (time_t) (local_minute * 60);
	struct tm tm;
	bool by_date, by_week;

	/* Most are not, and that is quickly seen. */
	if ((s->minutes >> (local_minute % 60) & 1) == 0)
		return false;
	(void) gmtime_r(&t, &tm);
	by_date = (s->days >> tm.tm_mday & 1) != 0;
	by_week = (s->weekdays >> tm.tm_wday & 1) != 0;
	return (s->hours >> tm.tm_hour & 1) != 0 && (s->months >> (tm.tm_mon + 1) & 1) != 0 &&
	       (s->either_day ? by_date || by_week : by_date && by_week);
}

/* Whether a clock that shows local[i] rings; `latest` is the latest that it ever showed before. */
static bool rings(const struct schedule *s, const int64_t *local, size_t i, int64_t latest)
{
	if (s->hours == 0xffffff)
		return is_on(s, local[i]);
	for (int64_t missing = local[i - 1] + 1; missing < local[i]; missing++) {
		if (is_on(s, missing))
			return true;
	}
	return local[i] > latest && is_on(s, local[i]);
}

static void check_against_clock(const char *text, const char *name, const struct zone *zone,
                                int64_t begin_s, const int64_t *local)
{
	struct schedule s = parse(text);
	int64_t next_s = schedule_next(&s, zone, begin_s), before_s = INT64_MIN, latest = local[0];
	unsigned n = 0;

	for (size_t i = 1; i < MINUTES_OF_CLOCK; i++) {
		int64_t now_s = begin_s + (int64_t) i * 60;
		bool due = next_s == now_s;

		if (!CHECK_EQ_INT(due, rings(&s, local, i, latest)) ||
		    (due && !CHECK_EQ_INT(schedule_previous(&s, zone, now_s), now_s)) ||
		    (due && n > 0 && !CHECK_EQ_INT(schedule_previous(&s, zone, now_s - 1), before_s))) {
			(void) fprintf(stderr, "  '%s' in %s at %lld\n", text, name, (long long) now_s);
			return;
		}
		if (due) {
			before_s = now_s;
			next_s = schedule_next(&s, zone, now_s);
			n++;
		}
		latest = local[i] > latest ? local[i] : latest;
	}
	CHECK(n > 0);
}

static void test_against_clock(void)
{
	static const struct {
		const char *zone, *begin;
	} clocks[] = {
	    {"UTC", "2027-01-01T00:00:00Z"},
	    {"Europe/Berlin", "2027-01-01T00:00:00Z"},
	    {"America/New_York", "2040-01-01T00:00:00Z"},
	    {"Australia/Lord_Howe", "2027-01-01T00:00:00Z"},
	    {"America/Sao_Paulo", "2018-01-01T00:00:00Z"},
	    {"Africa/Casablanca", "2027-01-01T00:00:00Z"},
	    {"Pacific/Apia", "2011-01-01T00:00:00Z"},
	    {"America/Nuuk", "2045-01-01T00:00:00Z"},
	};
	static const char *const texts[] = {
	    "*/7 * * * *",        "0 * * * *",       "30 * * * *",          "0 0 * * *",
	    "30 0 * * *",         "30 1 * * *",      "30 2 * * *",          "59 23 * * *",
	    "*/20 0-3 * * *",     "15,45 */2 * * *", "0 1-23 * * *",        "0 2 * * sun",
	    "30 1 28-31 * *",     "0 0 13 * fri",    "5 4 */3 3,10,11 sun", "0 12 30,31 12 *",
	    "17 3 * mar-nov 1-5", "*/15 2 * * sun",
	};
	AUTO(free) int64_t *local = xcalloc(MINUTES_OF_CLOCK, sizeof(*local));

	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
		AUTO(zone_free) struct zone *zone = load(clocks[i].zone);
		int64_t begin_s = moment(clocks[i].begin);

		(void) setenv("TZ", clocks[i].zone, 1);
		tzset();
		for (size_t m = 0; m < MINUTES_OF_CLOCK; m++) {
			time_t t = (time_t) (begin_s + (int64_t) m * 60);
			struct tm tm;

			(void) localtime_r(&t, &tm);
			local[m] = (t + tm.tm_gmtoff) / 60;
		}
		for (size_t k = 0; k < ARRAY_SIZE(texts); k++)
			check_against_clock(texts[k], clocks[i].zone, zone, begin_s, local);
	}
}

static void test_shortest_period(void)
{
	static const struct {
		const char *text;
		int64_t want_s;
	} cases[] = {
	    {"* * * * *", 60},      {"*/15 * * * *", 900},  {"0,50 * * * *", 600},
	    {"@hourly", 3600},      {"0 */6 * * *", 21600}, {"0 3 * * *", 86400},
	    {"0 0,23 * * *", 3600}, {"30 2 29 2 *", 86400}, {"0 1,5 * * *", 14400},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct schedule s = parse(cases[i].text);

		if (!CHECK_EQ_INT(schedule_shortest_period_s(&s), cases[i].want_s))
			(void) fprintf(stderr, "  for '%s'\n", cases[i].text);
	}
}

int main(void)
{
	test_fields();
	test_refused();
	test_moments();
	test_against_clock();
	test_shortest_period();
	return check_result();
}
