/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Dates and times of day in the Gregorian calendar, and the texts that stand for a moment. Pure:
 * what the C library has for this reads the environment. A moment is seconds since 1970-01-01 UTC,
 * without leap seconds; the same functions serve local time, when its offset has been added before.
 */

#include <stdbool.h>
#include <stdint.h>

#define CIVIL_DAY_S INT64_C(86400)

struct civil {
	int year;
	unsigned month; /* 1 to 12 */
	unsigned day;   /* 1 to 31 */
	unsigned hour, minute, second;
};

/* Days since 1970-01-01; the day may lie outside its month. */
int64_t civil_days(int64_t year, unsigned month, unsigned day);
unsigned civil_days_in_month(int64_t year, unsigned month);
unsigned civil_weekday(int64_t days); /* 0: Sunday */

/* The year is right for moments of the years -9999 to 9999. */
struct civil civil_from_s(int64_t s);
int64_t civil_to_s(const struct civil *civil);

/* Rounded down, as moments before 1970 need it. */
int64_t civil_floor_div(int64_t a, int64_t b);

#define CIVIL_TEXT_MAX 24
/* "2026-11-21T20:30:00Z" (RFC 3339). Moments before the year 0 and behind 9999 are cut to those. */
const char *civil_format(int64_t s, char buf[static CIVIL_TEXT_MAX]);
/* "20261121T203000Z" (ISO 8601, the basic format), for names of files. */
const char *civil_format_basic(int64_t s, char buf[static CIVIL_TEXT_MAX]);
/* RFC 3339 with any offset; a fraction of a second is cut off. 0, or -EINVAL. */
int civil_parse(const char *text, int64_t *ret_s);
