/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a schedule is due. Time is walked span by span, a span being a time in which the zone's
 * offset stays the same (zone.h). Within a span local time runs evenly and is searched like a
 * calendar without a zone; what a change of clocks means is decided where one span meets the next.
 */
#include "etcdwatch/schedule/schedule.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

/* --- schedule_read --- */

/*
 * From cron's five fields to sets of bits. Stricter than crons are: a step behind a single number,
 * one that is larger than its field and a day that never comes are refused, since whoever wrote
 * them expects something that does not happen.
 */

#define N_FIELDS 5

static const char *const month_names[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul",
                                          "aug", "sep", "oct", "nov", "dec", NULL};
static const char *const weekday_names[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL};

struct kind {
	const char *name;
	unsigned min, max;
	const char *const *names; /* of min and what follows; NULL: only numbers */
};

static const struct kind kinds[N_FIELDS] = {
    {"minute", 0, 59, NULL},
    {"hour", 0, 23, NULL},
    {"day of the month", 1, 31, NULL},
    {"month", 1, 12, month_names},
    {"day of the week", 0, 7, weekday_names},
};

static const struct {
	const char *name, *fields;
} shorthands[] = {
    {"@hourly", "0 * * * *"},   {"@daily", "0 0 * * *"},   {"@midnight", "0 0 * * *"},
    {"@weekly", "0 0 * * 0"},   {"@monthly", "0 0 1 * *"}, {"@yearly", "0 0 1 1 *"},
    {"@annually", "0 0 1 1 *"},
};

struct reading {
	const struct kind *kind;
	const char *p; /* what is left */
	char *error;
};

static int PRINTF_LIKE(2, 3) fail(struct reading *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void) vsnprintf(r->error, SCHEDULE_ERROR_MAX, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* At a character that cannot stand there. */
static int fail_at(struct reading *r)
{
	if (*r->p == '\0' || *r->p == ',')
		return fail(r, "the %s has an empty part", r->kind->name);
	return fail(r, "the %s has a character that means nothing there", r->kind->name);
}

/* Digits or letters, as many as stand together. */
static size_t word_length(const char *p)
{
	size_t len = 0;

	while (isalnum((unsigned char) p[len]))
		len++;
	return len;
}

static int find_name(const struct kind *kind, const char *word, size_t len, unsigned *ret_value)
{
	for (unsigned i = 0; kind->names != NULL && kind->names[i] != NULL; i++) {
		if (strlen(kind->names[i]) == len && strncasecmp(kind->names[i], word, len) == 0) {
			*ret_value = kind->min + i;
			return 0;
		}
	}
	return -ENOENT;
}

static int take_value(struct reading *r, unsigned *ret_value)
{
	size_t len = word_length(r->p);
	unsigned value = 0;

	if (find_name(r->kind, r->p, len, ret_value) >= 0) {
		r->p += len;
		return 0;
	}
	if (len == 0)
		return fail_at(r);
	for (size_t i = 0; i < len; i++) {
		if (r->p[i] < '0' || r->p[i] > '9' || i > 3)
			return fail(r, "the %s '%.*s' is no number%s", r->kind->name, (int) MIN(len, 16), r->p,
			            r->kind->names != NULL ? " and no name" : "");
		value = value * 10 + (unsigned) (r->p[i] - '0');
	}
	if (value < r->kind->min || value > r->kind->max)
		return fail(r, "the %s %u is not in %u to %u", r->kind->name, value, r->kind->min,
		            r->kind->max);
	r->p += len;
	*ret_value = value;
	return 0;
}

static int take_step(struct reading *r, bool is_range, unsigned *ret_step)
{
	size_t len;
	unsigned step = 0;

	*ret_step = 1;
	if (*r->p != '/')
		return 0;
	if (!is_range)
		return fail(r, "the %s has a step behind a single number: write a range, a-b/n",
		            r->kind->name);
	r->p++;
	len = strspn(r->p, "0123456789");
	for (size_t i = 0; i < len && i < 4; i++)
		step = step * 10 + (unsigned) (r->p[i] - '0');
	/* Not what was meant: cron starts anew with each hour, day and so on. */
	if (len == 0 || step == 0 || step > r->kind->max - r->kind->min)
		return fail(r, "the %s has a step that is not in 1 to %u", r->kind->name,
		            r->kind->max - r->kind->min);
	r->p += len;
	*ret_step = step;
	return 0;
}

/* "*", "a", "a-b", with a step */
static int take_item(struct reading *r, uint64_t *bits)
{
	unsigned first = r->kind->min, last = r->kind->max, step;
	bool is_range = true;
	const char *end;
	int error;

	if (*r->p == '*') {
		r->p++;
	} else {
		error = take_value(r, &first);
		if (error < 0)
			return error;
		last = first;
		is_range = *r->p == '-';
		if (is_range) {
			r->p++;
			end = r->p;
			error = take_value(r, &last);
			if (error < 0)
				return error;
			/* A week may end with its Sunday. */
			if (last == 0 && first > 0 && isalpha((unsigned char) *end))
				last = 7;
			if (last < first)
				return fail(r, "the %s has a range that ends before it begins", r->kind->name);
		}
	}
	error = take_step(r, is_range, &step);
	if (error < 0)
		return error;
	for (unsigned i = first; i <= last; i += step)
		*bits |= UINT64_C(1) << i;
	return 0;
}

static int read_field(struct reading *r, uint64_t *ret_bits)
{
	uint64_t bits = 0;
	int error;

	for (;;) {
		error = take_item(r, &bits);
		if (error < 0)
			return error;
		if (*r->p == '\0')
			break;
		if (*r->p != ',')
			return fail_at(r);
		r->p++;
	}
	*ret_bits = bits;
	return 0;
}

/* Cuts the text at blanks; more than N_FIELDS are counted and not kept. */
static size_t split(char *text, char *ret_fields[static N_FIELDS])
{
	char *rest = NULL;
	size_t n = 0;

	for (char *f = strtok_r(text, " \t", &rest); f != NULL; f = strtok_r(NULL, " \t", &rest)) {
		if (n < N_FIELDS)
			ret_fields[n] = f;
		n++;
	}
	return n;
}

static int read_fields(struct schedule *s, const char *text, char *error)
{
	char copy[SCHEDULE_TEXT_MAX], *fields[N_FIELDS];
	struct reading r = {.error = error};
	uint64_t bits[N_FIELDS];
	size_t n;
	int e;

	(void) snprintf(copy, sizeof(copy), "%s", text);
	n = split(copy, fields);
	if (n != N_FIELDS)
		return fail(
		    &r, "has %zu field%s, not 5 (minute, hour, day of the month, month, day of the week)",
		    n, n == 1 ? "" : "s");
	for (size_t i = 0; i < N_FIELDS; i++) {
		r.kind = &kinds[i];
		r.p = fields[i];
		e = read_field(&r, &bits[i]);
		if (e < 0)
			return e;
	}
	s->minutes = bits[0];
	s->hours = (uint32_t) bits[1];
	s->days = (uint32_t) bits[2];
	s->months = (uint16_t) bits[3];
	s->weekdays = (uint8_t) ((bits[4] | bits[4] >> 7) & 0x7f);
	s->either_day = *fields[2] != '*' && *fields[4] != '*';
	return 0;
}

int schedule_parse(const char *text, struct schedule *ret_schedule,
                   char ret_error[static SCHEDULE_ERROR_MAX])
{
	struct reading r = {.error = ret_error};
	AUTO(zone_free) struct zone *utc = NULL;
	struct schedule s = {0};
	const char *fields = text;
	int e;

	if (strlen(text) >= sizeof(s.text))
		return fail(&r, "is longer than %zu characters", sizeof(s.text) - 1);
	for (size_t i = 0; i < ARRAY_SIZE(shorthands); i++) {
		if (strcmp(text, shorthands[i].name) == 0)
			fields = shorthands[i].fields;
	}
	if (fields[0] == '@')
		return fail(&r, "is none of @hourly, @daily, @weekly, @monthly and @yearly");
	e = read_fields(&s, fields, ret_error);
	if (e < 0)
		return e;
	(void) zone_load(NULL, "UTC", &utc);
	if (schedule_next(&s, utc, 0) == INT64_MAX)
		return fail(&r, "names a day that never comes");
	(void) snprintf(s.text, sizeof(s.text), "%s", text);
	*ret_schedule = s;
	return 0;
}

/* --- hours --- */

/*
 * Time is walked span by span, as in schedule.c: within one the clock on the wall runs evenly, and
 * each next one is asked anew at its first moment.
 */

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
