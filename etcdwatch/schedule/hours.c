/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time is walked span by span, as in schedule.c: within one the clock on the wall runs evenly, and
 * each next one is asked anew at its first moment.
 */
#include "etcdwatch/schedule/hours.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>

#include "base/civil.h"
#include "base/macro.h"

#define HOUR_S 3600u
#define DAY_S ((unsigned) CIVIL_DAY_S)

/* "01:00": moves on behind it. */
static bool read_time(const char **text, unsigned *ret_s)
{
	const char *at = *text;
	unsigned hour, minute;

	for (int i = 0; i < 5; i++) {
		if (i == 2 ? at[i] != ':' : !isdigit((unsigned char) at[i]))
			return false;
	}
	hour = (unsigned) (at[0] - '0') * 10 + (unsigned) (at[1] - '0');
	minute = (unsigned) (at[3] - '0') * 10 + (unsigned) (at[4] - '0');
	*ret_s = hour * HOUR_S + minute * 60;
	*text = at + 5;
	return minute < 60 && *ret_s <= DAY_S;
}

int hours_parse(const char *text, struct hours *ret_hours)
{
	struct hours hours;

	if (!read_time(&text, &hours.from_s) || *text++ != '-' || !read_time(&text, &hours.to_s) ||
	    *text != '\0' || hours.from_s == hours.to_s || hours.from_s == DAY_S)
		return -EINVAL;
	*ret_hours = hours;
	return 0;
}

const char *hours_format(const struct hours *hours, char buf[static HOURS_TEXT_MAX])
{
	unsigned from = MIN(hours->from_s, DAY_S) / 60, to = MIN(hours->to_s, DAY_S) / 60;

	(void) snprintf(buf, HOURS_TEXT_MAX, "%02u:%02u-%02u:%02u", from / 60, from % 60, to / 60,
	                to % 60);
	return buf;
}

bool hours_are_any(const struct hours *hours)
{
	return hours->from_s == hours->to_s;
}

struct hours hours_spread(const struct hours *hours, unsigned spread)
{
	unsigned len_s = (hours->to_s + DAY_S - hours->from_s) % DAY_S;
	struct hours later = *hours;

	if (hours_are_any(hours))
		return later;
	/* The whole day has length 0 here, and no beginning that anybody waits for. */
	later.from_s = (hours->from_s + len_s / 4 * spread / 1000) % DAY_S;
	return later;
}

static bool contain(const struct hours *hours, unsigned day_s)
{
	if (hours->from_s < hours->to_s)
		return hours->from_s <= day_s && day_s < hours->to_s;
	return hours->from_s <= day_s || day_s < hours->to_s;
}

int64_t hours_next(const struct hours *hours, const struct zone *zone, int64_t t_s)
{
	if (hours_are_any(hours))
		return t_s;
	for (;;) {
		struct zone_span span = zone_span_at(zone, t_s);
		int64_t local_s = t_s + span.offset_s, wait_s;
		unsigned day_s = (unsigned) (local_s - civil_floor_div(local_s, CIVIL_DAY_S) * CIVIL_DAY_S);

		if (contain(hours, day_s))
			return t_s;
		wait_s = (hours->from_s + DAY_S - day_s) % DAY_S;
		if (wait_s < span.end_s - t_s)
			return t_s + wait_s;
		t_s = span.end_s;
	}
}
