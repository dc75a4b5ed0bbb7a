/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From cron's five fields to sets of bits. Stricter than crons are: a step behind a single number,
 * one that is larger than its field and a day that never comes are refused, since whoever wrote
 * them expects something that does not happen.
 */
#include "etcdwatch/schedule/schedule.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"

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
