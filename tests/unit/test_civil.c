/* SPDX-License-Identifier: Apache-2.0 */
/* The calendar against the C library's, over centuries, and the texts of moments. */
#include "base/civil.h"

#include <errno.h>
#include <time.h>

#include "base/macro.h"
#include "tests/unit/check.h"

#define DAYS_EACH_SIDE 220000

static bool same_as_gmtime(int64_t s)
{
	struct civil c = civil_from_s(s);
	time_t t = (time_t) s;
	struct tm tm;

	return gmtime_r(&t, &tm) != NULL && c.year == tm.tm_year + 1900 &&
	       (int) c.month == tm.tm_mon + 1 && (int) c.day == tm.tm_mday &&
	       (int) c.hour == tm.tm_hour && (int) c.minute == tm.tm_min &&
	       (int) c.second == tm.tm_sec && civil_to_s(&c) == s &&
	       (int) civil_weekday(civil_floor_div(s, CIVIL_DAY_S)) == tm.tm_wday;
}

/* Every day of 1200 years around the epoch, each at another time of day. */
static void test_calendar(void)
{
	for (int64_t day = -DAYS_EACH_SIDE; day <= DAYS_EACH_SIDE; day++) {
		int64_t s = day * CIVIL_DAY_S + (day * 7919 % CIVIL_DAY_S + CIVIL_DAY_S) % CIVIL_DAY_S;

		if (!CHECK(same_as_gmtime(s))) {
			(void) fprintf(stderr, "  for %lld\n", (long long) s);
			return;
		}
	}
}

static void test_months(void)
{
	static const struct {
		int64_t year;
		unsigned month, days;
	} cases[] = {
	    {2023, 2, 28}, {2024, 2, 29}, {1900, 2, 28}, {2000, 2, 29},  {2100, 2, 28},
	    {2024, 1, 31}, {2024, 4, 30}, {2024, 9, 30}, {2024, 12, 31}, {0, 2, 29},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_EQ_INT(civil_days_in_month(cases[i].year, cases[i].month), cases[i].days);
	/* A day outside its month counts on. */
	CHECK_EQ_INT(civil_days(2023, 2, 29), civil_days(2023, 3, 1));
}

static void test_texts(void)
{
	static const struct {
		const char *text;
		int64_t s; /* -1: refused */
	} cases[] = {
	    {"1970-01-01T00:00:00Z", 0},
	    {"2026-11-21T20:30:00Z", 1795293000},
	    {"2026-11-21t20:30:00z", 1795293000},
	    {"2026-11-21T20:30:00.999Z", 1795293000},
	    {"2026-11-21T21:30:00+01:00", 1795293000},
	    {"2026-11-21T15:00:00-05:30", 1795293000},
	    {"2024-02-29T23:59:59Z", 1709251199},
	    {"2023-02-29T00:00:00Z", -1},
	    {"2026-00-21T20:30:00Z", -1},
	    {"2026-13-21T20:30:00Z", -1},
	    {"2026-11-00T20:30:00Z", -1},
	    {"2026-11-31T20:30:00Z", -1},
	    {"2026-11-21T24:00:00Z", -1},
	    {"2026-11-21T20:60:00Z", -1},
	    {"2026-11-21T20:30:60Z", -1},
	    {"2026-11-21T20:30:00", -1},
	    {"2026-11-21T20:30:00.Z", -1},
	    {"2026-11-21T20:30:00+24:00", -1},
	    {"2026-11-21T20:30:00+01:60", -1},
	    {"2026-11-21T20:30:00+0100", -1},
	    {"2026-11-21T20:30:00Z ", -1},
	    {"2026-11-21T20:30Z", -1},
	    {"2026-11-21 20:30:00Z", -1},
	    {" 2026-11-21T20:30:00Z", -1},
	    {"26-11-21T20:30:00Z", -1},
	    {"+026-11-21T20:30:00Z", -1},
	    {"2026-1a-21T20:30:00Z", -1},
	    {"2026", -1},
	    {"", -1},
	};
	char buf[CIVIL_TEXT_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t s = -1;
		int r = civil_parse(cases[i].text, &s);

		if (!CHECK_EQ_INT(r, cases[i].s < 0 ? -EINVAL : 0) || !CHECK_EQ_INT(s, cases[i].s))
			(void) fprintf(stderr, "  for '%s'\n", cases[i].text);
	}
	CHECK_EQ_STR(civil_format(1795293000, buf), "2026-11-21T20:30:00Z");
	CHECK_EQ_STR(civil_format_basic(1795293000, buf), "20261121T203000Z");
	CHECK_EQ_STR(civil_format(-1, buf), "1969-12-31T23:59:59Z");
	CHECK_EQ_STR(civil_format(INT64_MAX, buf), "9999-12-31T23:59:59Z");
	CHECK_EQ_STR(civil_format(INT64_MIN, buf), "0000-01-01T00:00:00Z");
}

int main(void)
{
	test_calendar();
	test_months();
	test_texts();
	return check_result();
}
