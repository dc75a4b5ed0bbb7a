/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * When a job is due: cron's five fields, read and asked. Pure; the caller brings the time and the
 * time zone.
 *
 *	minute hour day-of-month month day-of-week
 *
 * A field is `*`, a number, a range `a-b`, either with a step behind it (`*` and `a-b` only), or a
 * list of those with commas. Months and days of the week also go by the first three letters of
 * their English names, in any case; Sunday is 0 and 7. If both day fields are restricted, a day
 * that fits either is a day (as Vixie cron has it); restricted is a field that does not begin with
 * `*`. In place of the fields: @hourly, @daily (@midnight), @weekly, @monthly, @yearly (@annually).
 *
 * When clocks are changed, it matters whether the hour field holds every hour.
 *  - Every hour: a rhythm. Local times that are left out in spring do not come; those that come
 *    twice in autumn come twice. So it goes on each hour, as the sun does.
 *  - Certain hours: an appointment, once a day. If its local time is left out in spring, it is due
 *    at the moment of the change, once, however many of them are left out; if its local time comes
 *    twice, the first counts. So none is lost, and none happens twice.
 */

#include <stdbool.h>
#include <stdint.h>

#include "etcdwatch/schedule/zone.h"

#define SCHEDULE_TEXT_MAX 256
#define SCHEDULE_ERROR_MAX 128

struct schedule {
	char text[SCHEDULE_TEXT_MAX]; /* as it was written */
	/* Bit n: n is in the field. */
	uint64_t minutes;
	uint32_t hours;
	uint32_t days;    /* 1 to 31 */
	uint16_t months;  /* 1 to 12 */
	uint8_t weekdays; /* 0 to 6 */
	bool either_day;
};

/* 0, or -EINVAL with what is wrong in ret_error: "has 6 fields, not 5". A schedule that no day ever
 * fits, such as February 30, is wrong too. */
int schedule_parse(const char *text, struct schedule *ret_schedule,
                   char ret_error[static SCHEDULE_ERROR_MAX]);

/* The first moment behind t, and the last that is not behind t, at which it is due: for every t,
 * previous(t) <= t < next(t). In seconds since 1970-01-01 UTC. */
int64_t schedule_next(const struct schedule *schedule, const struct zone *zone, int64_t t_s);
int64_t schedule_previous(const struct schedule *schedule, const struct zone *zone, int64_t t_s);

/* The least time between two that follow each other, as far as the clock is not changed. */
int64_t schedule_shortest_period_s(const struct schedule *schedule);

/* --- hours --- */

/*
 * A time of the day, such as "01:00-05:00" or, over midnight, "22:00-05:00": from its beginning
 * until just before its end, by the clock on the wall. Pure; the caller brings the time and the
 * zone.
 *
 * When clocks are changed, it is the wall's clock that counts: what it leaves out in spring is
 * missing, so that a time within the hour left out does not come on that day, and what it shows
 * twice in autumn comes twice.
 */

#define HOURS_TEXT_MAX 12 /* "01:00-05:00" */

/* Seconds of the day, 0 to 86400; from_s > to_s: over midnight. Zeroed: always. */
struct hours {
	unsigned from_s, to_s;
};

/* 0, or -EINVAL: no two times of the day, or twice the same. The end may be "24:00". */
int hours_parse(const char *text, struct hours *ret_hours);
const char *hours_format(const struct hours *hours, char buf[static HOURS_TEXT_MAX]);

bool hours_are_any(const struct hours *hours);

/* The same, but it begins later by as much as a quarter of it; `spread` is 0 to 999, by chance. So
 * not all nodes begin at once what each does then. */
struct hours hours_spread(const struct hours *hours, unsigned spread);

/* The first moment at or behind t that is in it; t itself: it is now. */
int64_t hours_next(const struct hours *hours, const struct zone *zone, int64_t t_s);
