/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calendar. Years are counted from March here, so that the day that comes and goes is the last
 * of its year, and 400 of them are always 146097 days.
 */
#include "base/civil.h"

#include <errno.h>
#include <stdio.h>

#include "base/macro.h"

#define DAYS_PER_400_YEARS INT64_C(146097)
/* From 0000-03-01, where the count begins, to 1970-01-01. */
#define DAYS_TO_EPOCH INT64_C(719468)
#define YEAR_MAX 9999

int64_t civil_floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* --- days --- */

/* Days before the month, counted from March: 31, 30, 31, 30, 31 twice, then January. */
static int64_t days_before_month(unsigned from_march)
{
	return (153 * (int64_t) from_march + 2) / 5;
}

int64_t civil_days(int64_t year, unsigned month, unsigned day)
{
	unsigned from_march = (month + 9) % 12;
	int64_t y = year - (month <= 2);

	return y * 365 + civil_floor_div(y, 4) - civil_floor_div(y, 100) + civil_floor_div(y, 400) +
	       days_before_month(from_march) + (int64_t) day - 1 - DAYS_TO_EPOCH;
}

unsigned civil_days_in_month(int64_t year, unsigned month)
{
	int64_t next = month < 12 ? civil_days(year, month + 1, 1) : civil_days(year + 1, 1, 1);

	return (unsigned) (next - civil_days(year, month, 1));
}

unsigned civil_weekday(int64_t days)
{
	/* 1970-01-01 was a Thursday. */
	return (unsigned) (days + 4 - 7 * civil_floor_div(days + 4, 7));
}

static void date_of(int64_t days, struct civil *civil)
{
	int64_t count = days + DAYS_TO_EPOCH;
	int64_t cycle = civil_floor_div(count, DAYS_PER_400_YEARS);
	int64_t in_cycle = count - cycle * DAYS_PER_400_YEARS;
	/* Leaves out the leap days: one in 4 years, but not in 100, but in 400. */
	int64_t year = (in_cycle - in_cycle / 1460 + in_cycle / 36524 - in_cycle / 146096) / 365;
	int64_t in_year = in_cycle - (year * 365 + year / 4 - year / 100);
	unsigned from_march = (unsigned) ((5 * in_year + 2) / 153);

	civil->day = (unsigned) (in_year - days_before_month(from_march) + 1);
	civil->month = from_march < 10 ? from_march + 3 : from_march - 9;
	civil->year = (int) (cycle * 400 + year + (civil->month <= 2));
}

/* --- moments --- */

struct civil civil_from_s(int64_t s)
{
	int64_t days = civil_floor_div(s, CIVIL_DAY_S);
	unsigned in_day = (unsigned) (s - days * CIVIL_DAY_S);
	struct civil civil = {
	    .hour = in_day / 3600,
	    .minute = in_day / 60 % 60,
	    .second = in_day % 60,
	};

	date_of(days, &civil);
	return civil;
}

int64_t civil_to_s(const struct civil *civil)
{
	return civil_days(civil->year, civil->month, civil->day) * CIVIL_DAY_S +
	       (int64_t) civil->hour * 3600 + (int64_t) civil->minute * 60 + (int64_t) civil->second;
}

/* --- texts --- */

static struct civil printable(int64_t s)
{
	int64_t first = civil_days(0, 1, 1) * CIVIL_DAY_S;
	int64_t last = civil_days(YEAR_MAX + 1, 1, 1) * CIVIL_DAY_S - 1;

	return civil_from_s(MAX(first, MIN(s, last)));
}

const char *civil_format(int64_t s, char buf[static CIVIL_TEXT_MAX])
{
	struct civil c = printable(s);

	(void) snprintf(buf, CIVIL_TEXT_MAX, "%04d-%02u-%02uT%02u:%02u:%02uZ", c.year, c.month, c.day,
	                c.hour, c.minute, c.second);
	return buf;
}

const char *civil_format_basic(int64_t s, char buf[static CIVIL_TEXT_MAX])
{
	struct civil c = printable(s);

	(void) snprintf(buf, CIVIL_TEXT_MAX, "%04d%02u%02uT%02u%02u%02uZ", c.year, c.month, c.day,
	                c.hour, c.minute, c.second);
	return buf;
}

/* So many digits and then this character; '\0' stands for any. */
static bool take_number(const char **text, unsigned digits, char then, unsigned *ret_number)
{
	const char *p = *text;
	unsigned number = 0;

	for (; digits > 0; digits--, p++) {
		if (*p < '0' || *p > '9')
			return false;
		number = number * 10 + (unsigned) (*p - '0');
	}
	if (then != '\0' && *p++ != then)
		return false;
	*text = p;
	*ret_number = number;
	return true;
}

static bool take_offset(const char **text, int64_t *ret_offset_s)
{
	unsigned hours, minutes;
	char sign = **text;

	*ret_offset_s = 0;
	if (sign == '\0')
		return false;
	++*text;
	if (sign == 'Z' || sign == 'z')
		return true;
	if ((sign != '+' && sign != '-') || !take_number(text, 2, ':', &hours) ||
	    !take_number(text, 2, '\0', &minutes) || hours > 23 || minutes > 59)
		return false;
	*ret_offset_s = ((int64_t) hours * 3600 + (int64_t) minutes * 60) * (sign == '-' ? -1 : 1);
	return true;
}

static void skip_fraction(const char **text)
{
	const char *p = *text + 1;

	if (**text != '.' || *p < '0' || *p > '9')
		return;
	while (*p >= '0' && *p <= '9')
		p++;
	*text = p;
}

int civil_parse(const char *text, int64_t *ret_s)
{
	struct civil c = {0};
	int64_t offset_s;
	unsigned year;

	if (!take_number(&text, 4, '-', &year) || !take_number(&text, 2, '-', &c.month) ||
	    !take_number(&text, 2, '\0', &c.day) || (*text != 'T' && *text != 't'))
		return -EINVAL;
	text++;
	if (!take_number(&text, 2, ':', &c.hour) || !take_number(&text, 2, ':', &c.minute) ||
	    !take_number(&text, 2, '\0', &c.second))
		return -EINVAL;
	skip_fraction(&text);
	if (!take_offset(&text, &offset_s) || *text != '\0')
		return -EINVAL;
	if (c.month < 1 || c.month > 12 || c.day < 1 || c.day > civil_days_in_month(year, c.month) ||
	    c.hour > 23 || c.minute > 59 || c.second > 59)
		return -EINVAL;
	c.year = (int) year;
	*ret_s = civil_to_s(&c) - offset_s;
	return 0;
}
