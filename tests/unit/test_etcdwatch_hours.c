/* SPDX-License-Identifier: Apache-2.0 */
/* Times of the day: what is read and what is refused; when they come, also where clocks change. */
#include "etcdwatch/schedule/schedule.h"

#include <errno.h>

#include "base/civil.h"
#include "base/macro.h"
#include "tests/unit/check.h"

static void test_text(void)
{
	static const struct {
		const char *text;
		unsigned from_s, to_s;
	} good[] = {
	    {"01:00-05:00", 3600, 18000},
	    {"22:30-05:00", 81000, 18000},
	    {"00:00-24:00", 0, 86400},
	    {"23:59-00:00", 86340, 0},
	};
	static const char *const bad[] = {
	    "",           "1:00-5:00",   "01:00",        "01:00-",      "01:00-01:00",  "24:00-05:00",
	    "01:60-5:00", "01:00-24:01", "01:00 -05:00", "01:00-05:0a", "01:00-05:000", "-1:00-05:00",
	};
	struct hours hours = {1, 2};
	char text[HOURS_TEXT_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		if (!CHECK_EQ_INT(hours_parse(bad[i], &hours), -EINVAL) ||
		    !CHECK(hours.from_s == 1 && hours.to_s == 2))
			(void) fprintf(stderr, "  '%s'\n", bad[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		CHECK_EQ_INT(hours_parse(good[i].text, &hours), 0);
		CHECK(hours.from_s == good[i].from_s && hours.to_s == good[i].to_s);
		CHECK_EQ_STR(hours_format(&hours, text), good[i].text);
		CHECK(!hours_are_any(&hours));
	}
}

static int64_t moment(const char *text)
{
	int64_t s = 0;

	CHECK_EQ_INT(civil_parse(text, &s), 0);
	return s;
}

/* "": at any time. */
static struct hours read_hours(const char *text)
{
	struct hours hours = {0};

	if (text[0] != '\0')
		CHECK_EQ_INT(hours_parse(text, &hours), 0);
	return hours;
}

static void test_next(void)
{
	static const struct {
		const char *hours, *zone, *at, *next; /* NULL: now */
	} cases[] = {
	    {"", "UTC", "2026-11-22T13:00:00Z", NULL},
	    {"01:00-05:00", "UTC", "2026-11-22T00:59:59Z", "2026-11-22T01:00:00Z"},
	    {"01:00-05:00", "UTC", "2026-11-22T01:00:00Z", NULL},
	    {"01:00-05:00", "UTC", "2026-11-22T04:59:59Z", NULL},
	    {"01:00-05:00", "UTC", "2026-11-22T05:00:00Z", "2026-11-23T01:00:00Z"},
	    {"01:00-05:00", "UTC", "2026-12-31T23:00:00Z", "2027-01-01T01:00:00Z"},
	    {"22:00-05:00", "UTC", "2026-11-22T23:30:00Z", NULL},
	    {"22:00-05:00", "UTC", "2026-11-22T00:00:00Z", NULL},
	    {"22:00-05:00", "UTC", "2026-11-22T05:00:00Z", "2026-11-22T22:00:00Z"},
	    {"00:00-24:00", "UTC", "2026-11-22T23:59:59Z", NULL},
	    {"20:00-24:00", "UTC", "2026-11-22T23:59:59Z", NULL},
	    {"20:00-24:00", "UTC", "2026-11-23T00:00:00Z", "2026-11-23T20:00:00Z"},
	    /* By the wall's clock of the zone. */
	    {"01:00-05:00", "Europe/Berlin", "2027-01-10T00:00:00Z", NULL},
	    {"01:00-05:00", "Europe/Berlin", "2027-07-10T03:00:00Z", "2027-07-10T23:00:00Z"},
	    {"01:00-05:00", "Asia/Kolkata", "2027-07-10T12:00:00Z", "2027-07-10T19:30:00Z"},
	    /* Berlin's spring: 02:00 to 03:00 is left out on March 28, 2027. */
	    {"01:00-05:00", "Europe/Berlin", "2027-03-28T02:59:59Z", NULL},
	    {"01:00-05:00", "Europe/Berlin", "2027-03-28T03:00:00Z", "2027-03-28T23:00:00Z"},
	    {"02:30-05:00", "Europe/Berlin", "2027-03-28T00:00:00Z", "2027-03-28T01:00:00Z"},
	    {"03:30-05:00", "Europe/Berlin", "2027-03-28T00:00:00Z", "2027-03-28T01:30:00Z"},
	    {"02:00-03:00", "Europe/Berlin", "2027-03-28T00:00:00Z", "2027-03-29T00:00:00Z"},
	    {"22:00-02:30", "Europe/Berlin", "2027-03-28T01:00:00Z", "2027-03-28T20:00:00Z"},
	    /* Its autumn: 02:00 to 03:00 comes twice on October 31, 2027. */
	    {"02:00-03:00", "Europe/Berlin", "2027-10-31T00:59:59Z", NULL},
	    {"02:00-03:00", "Europe/Berlin", "2027-10-31T01:00:00Z", NULL},
	    {"02:00-03:00", "Europe/Berlin", "2027-10-31T02:00:00Z", "2027-11-01T01:00:00Z"},
	    {"02:15-02:30", "Europe/Berlin", "2027-10-31T00:45:00Z", "2027-10-31T01:15:00Z"},
	    {"01:00-02:30", "Europe/Berlin", "2027-10-31T00:45:00Z", "2027-10-31T01:00:00Z"},
	    {"03:00-05:00", "Europe/Berlin", "2027-10-31T00:45:00Z", "2027-10-31T02:00:00Z"},
	    /* Half an hour: Lord Howe's 02:00 to 02:30 is left out on October 3, 2027. */
	    {"02:15-04:00", "Australia/Lord_Howe", "2027-10-02T15:00:00Z", "2027-10-02T15:30:00Z"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct hours hours = read_hours(cases[i].hours);
		AUTO(zone_free) struct zone *zone = NULL;
		int64_t at_s = moment(cases[i].at), got;
		char text[CIVIL_TEXT_MAX];

		CHECK_EQ_INT(zone_load(NULL, cases[i].zone, &zone), 0);
		got = hours_next(&hours, zone, at_s);
		if (!CHECK_EQ_STR(civil_format(got, text),
		                  cases[i].next != NULL ? cases[i].next : cases[i].at))
			(void) fprintf(stderr, "  %s in %s at %s\n", cases[i].hours, cases[i].zone,
			               cases[i].at);
	}
}

static void test_spread(void)
{
	static const struct {
		const char *hours;
		unsigned spread;
		const char *want;
	} cases[] = {
	    {"01:00-05:00", 0, "01:00-05:00"},   {"01:00-05:00", 500, "01:30-05:00"},
	    {"22:00-06:00", 999, "23:59-06:00"}, {"23:00-07:00", 750, "00:30-07:00"},
	    {"00:00-24:00", 999, "00:00-24:00"}, {"16:00-24:00", 500, "17:00-24:00"},
	};
	char text[HOURS_TEXT_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct hours hours = read_hours(cases[i].hours);

		hours = hours_spread(&hours, cases[i].spread);
		CHECK_EQ_STR(hours_format(&hours, text), cases[i].want);
	}
	CHECK(hours_are_any(&(struct hours){0}));
}

int main(void)
{
	test_text();
	test_next();
	test_spread();
	return check_result();
}
