/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a rule, character by character, and turning it into the moments of a year. The signs are
 * POSIX's: west is positive there, and is turned around here once.
 */
#include "etcdwatch/schedule/zonerule.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/civil.h"

#define HOUR_S INT64_C(3600)
#define OFFSET_HOURS_MAX 24
#define TIME_HOURS_MAX 167

/* What is left of the text. */
struct rest {
	const char *p, *end;
};

static bool take_char(struct rest *rest, char c)
{
	if (rest->p == rest->end || *rest->p != c)
		return false;
	rest->p++;
	return true;
}

static bool take_number(struct rest *rest, unsigned min, unsigned max, unsigned *ret_number)
{
	const char *begin = rest->p;
	unsigned number = 0;

	for (; rest->p < rest->end && *rest->p >= '0' && *rest->p <= '9'; rest->p++) {
		number = number * 10 + (unsigned) (*rest->p - '0');
		if (number > max)
			return false;
	}
	if (rest->p == begin || number < min)
		return false;
	*ret_number = number;
	return true;
}

/* CET, or <-03>. The name itself is of no use here. */
static bool take_name(struct rest *rest)
{
	bool quoted = take_char(rest, '<');
	const char *begin = rest->p;

	for (; rest->p < rest->end; rest->p++) {
		char c = *rest->p;

		if (!isalpha((unsigned char) c) &&
		    !(quoted && (isdigit((unsigned char) c) || c == '+' || c == '-')))
			break;
	}
	return rest->p - begin >= 3 && (!quoted || take_char(rest, '>'));
}

/* [+-]hh[:mm[:ss]] */
static bool take_time(struct rest *rest, unsigned hours_max, int64_t *ret_s)
{
	unsigned hours, minutes = 0, seconds = 0;
	bool negative = take_char(rest, '-');

	if (!negative)
		(void) take_char(rest, '+');
	if (!take_number(rest, 0, hours_max, &hours))
		return false;
	if (take_char(rest, ':')) {
		if (!take_number(rest, 0, 59, &minutes))
			return false;
		if (take_char(rest, ':') && !take_number(rest, 0, 59, &seconds))
			return false;
	}
	*ret_s = (int64_t) hours * HOUR_S + (int64_t) minutes * 60 + (int64_t) seconds;
	if (negative)
		*ret_s = -*ret_s;
	return true;
}

static bool take_date(struct rest *rest, struct zonerule_date *ret_date)
{
	struct zonerule_date date = {.time_s = 2 * HOUR_S};
	bool good;

	if (!take_char(rest, ','))
		return false;
	if (take_char(rest, 'M')) {
		date.sort = ZONERULE_WEEK;
		good = take_number(rest, 1, 12, &date.month) && take_char(rest, '.') &&
		       take_number(rest, 1, 5, &date.week) && take_char(rest, '.') &&
		       take_number(rest, 0, 6, &date.weekday);
	} else if (take_char(rest, 'J')) {
		date.sort = ZONERULE_JULIAN;
		good = take_number(rest, 1, 365, &date.day);
	} else {
		date.sort = ZONERULE_ZERO_BASE;
		good = take_number(rest, 0, 365, &date.day);
	}
	if (!good || (take_char(rest, '/') && !take_time(rest, TIME_HOURS_MAX, &date.time_s)))
		return false;
	*ret_date = date;
	return true;
}

int zonerule_parse(const char *text, size_t len, struct zonerule *ret_rule)
{
	struct rest rest = {text, text + len};
	struct zonerule rule = {0};
	int64_t west_s;

	if (!take_name(&rest) || !take_time(&rest, OFFSET_HOURS_MAX, &west_s))
		return -EBADMSG;
	rule.offset_s = -west_s;
	if (rest.p < rest.end) {
		rule.has_dst = true;
		rule.dst_offset_s = rule.offset_s + HOUR_S;
		if (!take_name(&rest))
			return -EBADMSG;
		if (rest.p < rest.end && *rest.p != ',') {
			if (!take_time(&rest, OFFSET_HOURS_MAX, &west_s))
				return -EBADMSG;
			rule.dst_offset_s = -west_s;
		}
		/* Without dates the rule would be whatever the system thinks. */
		if (!take_date(&rest, &rule.dst_begin) || !take_date(&rest, &rule.dst_end))
			return -EBADMSG;
	}
	if (rest.p != rest.end)
		return -EBADMSG;
	*ret_rule = rule;
	return 0;
}

/* Days since 1970-01-01. */
static int64_t day_of(const struct zonerule_date *date, int64_t year)
{
	int64_t first = civil_days(year, date->sort == ZONERULE_WEEK ? date->month : 1, 1);
	unsigned ahead, month_days;
	bool leap;

	switch (date->sort) {
	case ZONERULE_WEEK:
		ahead = (date->weekday + 7 - civil_weekday(first)) % 7 + 7 * (date->week - 1);
		month_days = civil_days_in_month(year, date->month);
		return first + (ahead < month_days ? ahead : ahead - 7);
	case ZONERULE_JULIAN:
		leap = civil_days_in_month(year, 2) == 29;
		return first + date->day - 1 + (leap && date->day >= 60);
	case ZONERULE_ZERO_BASE:
		break;
	}
	return first + date->day;
}

void zonerule_changes(const struct zonerule *rule, int64_t year,
                      struct zonerule_change ret_changes[static 2])
{
	struct zonerule_change begin = {
	    day_of(&rule->dst_begin, year) * CIVIL_DAY_S + rule->dst_begin.time_s - rule->offset_s,
	    rule->dst_offset_s,
	};
	struct zonerule_change end = {
	    day_of(&rule->dst_end, year) * CIVIL_DAY_S + rule->dst_end.time_s - rule->dst_offset_s,
	    rule->offset_s,
	};

	ret_changes[0] = begin.at_s <= end.at_s ? begin : end;
	ret_changes[1] = begin.at_s <= end.at_s ? end : begin;
}
