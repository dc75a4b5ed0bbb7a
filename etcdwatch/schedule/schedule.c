/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a schedule is due. Time is walked span by span, a span being a time in which the zone's
 * offset stays the same (zone.h). Within a span local time runs evenly and is searched like a
 * calendar without a zone; what a change of clocks means is decided where one span meets the next.
 */
#include "etcdwatch/schedule/schedule.h"

#include "base/civil.h"
#include "base/macro.h"

#define EVERY_HOUR 0xffffffu
#define DAY_MINUTES (24 * 60)

/* A February 29 on a certain day of the week comes after 40 years at the latest: that is around a
 * century that is no leap year. */
#define HORIZON_S (50 * 366 * CIVIL_DAY_S)

/* --- the calendar, without a zone: local seconds are counted as if they were UTC --- */

static bool day_fits(const struct schedule *s, int64_t day, const struct civil *date)
{
	bool by_date = (s->days >> date->day & 1) != 0;
	bool by_week = (s->weekdays >> civil_weekday(day) & 1) != 0;

	if ((s->months >> date->month & 1) == 0)
		return false;
	return s->either_day ? by_date || by_week : by_date && by_week;
}

static bool minute_fits(const struct schedule *s, int minute)
{
	return (s->hours >> (minute / 60) & 1) != 0 && (s->minutes >> (minute % 60) & 1) != 0;
}

/* The nearest minute of a day from this one on, upwards or downwards, or -1. */
static int first_minute(const struct schedule *s, int from)
{
	while (from < DAY_MINUTES && !minute_fits(s, from))
		from++;
	return from < DAY_MINUTES ? from : -1;
}

static int last_minute(const struct schedule *s, int from)
{
	while (from >= 0 && !minute_fits(s, from))
		from--;
	return from;
}

/* The first time in begin <= local < end. */
static bool search_up(const struct schedule *s, int64_t begin, int64_t end, int64_t *ret_local)
{
	int64_t from = civil_floor_div(begin, 60) * 60;

	if (from < begin)
		from += 60;
	while (from < end) {
		int64_t day = civil_floor_div(from, CIVIL_DAY_S);
		struct civil date = civil_from_s(from);
		int minute = -1;

		if (day_fits(s, day, &date))
			minute = first_minute(s, (int) (date.hour * 60 + date.minute));
		if (minute >= 0) {
			*ret_local = day * CIVIL_DAY_S + (int64_t) minute * 60;
			return *ret_local < end;
		}
		/* The next day, or the next month. */
		if ((s->months >> date.month & 1) == 0)
			day = civil_days(date.year, date.month, civil_days_in_month(date.year, date.month));
		from = (day + 1) * CIVIL_DAY_S;
	}
	return false;
}

/* The last one. */
static bool search_down(const struct schedule *s, int64_t begin, int64_t end, int64_t *ret_local)
{
	int64_t from = civil_floor_div(end - 1, 60) * 60;

	while (from >= begin) {
		int64_t day = civil_floor_div(from, CIVIL_DAY_S);
		struct civil date = civil_from_s(from);
		int minute = -1;

		if (day_fits(s, day, &date))
			minute = last_minute(s, (int) (date.hour * 60 + date.minute));
		if (minute >= 0) {
			*ret_local = day * CIVIL_DAY_S + (int64_t) minute * 60;
			return *ret_local >= begin;
		}
		if ((s->months >> date.month & 1) == 0)
			day = civil_days(date.year, date.month, 1);
		from = day * CIVIL_DAY_S - 60;
	}
	return false;
}

int64_t schedule_shortest_period_s(const struct schedule *schedule)
{
	int first = first_minute(schedule, 0), before = first, shortest = DAY_MINUTES;

	for (int minute = first_minute(schedule, first + 1); minute >= 0;
	     minute = first_minute(schedule, minute + 1)) {
		shortest = MIN(shortest, minute - before);
		before = minute;
	}
	/* Over midnight. */
	return MIN(shortest, first + DAY_MINUTES - before) * INT64_C(60);
}

/* --- spans and what lies between them --- */

static bool is_rhythm(const struct schedule *s)
{
	return s->hours == EVERY_HOUR;
}

/* Where local time ended in the span before, and where it goes on in this one. */
struct seam {
	int64_t left, entered;
};

static struct seam seam_of(const struct zone *zone, const struct zone_span *span)
{
	int64_t offset_before_s;

	if (span->begin_s == INT64_MIN)
		return (struct seam){INT64_MIN, INT64_MIN};
	offset_before_s = zone_span_at(zone, span->begin_s - 1).offset_s;
	return (struct seam){span->begin_s + offset_before_s, span->begin_s + span->offset_s};
}

/* An appointment was in the local times that were left out. */
static bool is_due_at_seam(const struct schedule *s, const struct seam *seam)
{
	int64_t ignored;

	return !is_rhythm(s) && search_up(s, seam->left, seam->entered, &ignored);
}

/* From where on the local times of a span count: those that were there before do not count again.
 */
static int64_t first_local(const struct schedule *s, const struct zone_span *span,
                           const struct seam *seam, int64_t from_s)
{
	int64_t first = MAX(from_s, span->begin_s) + span->offset_s;

	return is_rhythm(s) ? first : MAX(first, seam->left);
}

/* In from_s <= t < limit_s, as far as that is in the span. */
static bool next_in_span(const struct schedule *s, const struct zone *zone,
                         const struct zone_span *span, int64_t from_s, int64_t limit_s,
                         int64_t *ret_s)
{
	struct seam seam = seam_of(zone, span);
	int64_t end_s = MIN(span->end_s, limit_s), local;

	if (from_s <= span->begin_s && is_due_at_seam(s, &seam)) {
		*ret_s = span->begin_s;
		return true;
	}
	if (!search_up(s, first_local(s, span, &seam, from_s), end_s + span->offset_s, &local))
		return false;
	*ret_s = local - span->offset_s;
	return true;
}

int64_t schedule_next(const struct schedule *schedule, const struct zone *zone, int64_t t_s)
{
	int64_t limit_s = t_s + HORIZON_S, from_s = t_s + 1, found_s;

	while (from_s < limit_s) {
		struct zone_span span = zone_span_at(zone, from_s);

		if (next_in_span(schedule, zone, &span, from_s, limit_s, &found_s))
			return found_s;
		from_s = span.end_s;
	}
	return INT64_MAX;
}

/* In limit_s <= t < to_s, as far as that is in the span, in which to_s - 1 is. */
static bool previous_in_span(const struct schedule *s, const struct zone *zone,
                             const struct zone_span *span, int64_t limit_s, int64_t to_s,
                             int64_t *ret_s)
{
	struct seam seam = seam_of(zone, span);
	int64_t local;

	if (search_down(s, first_local(s, span, &seam, limit_s), to_s + span->offset_s, &local)) {
		*ret_s = local - span->offset_s;
		return true;
	}
	if (!is_due_at_seam(s, &seam))
		return false;
	*ret_s = span->begin_s;
	return true;
}

int64_t schedule_previous(const struct schedule *schedule, const struct zone *zone, int64_t t_s)
{
	int64_t limit_s = t_s - HORIZON_S, to_s = t_s + 1, found_s;

	while (to_s > limit_s) {
		struct zone_span span = zone_span_at(zone, to_s - 1);

		if (previous_in_span(schedule, zone, &span, limit_s, to_s, &found_s))
			return found_s;
		to_s = span.begin_s;
	}
	return INT64_MIN;
}
