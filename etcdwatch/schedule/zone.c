/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A zone file (RFC 8536) is a header, a table of transitions in 32 bits that programs of old read,
 * the same again in 64 bits, and the rule for the time behind the table. Only the 64-bit table and
 * the rule are used. A file is data from outside: every count and index is checked before use.
 */
#include "etcdwatch/schedule/zone.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/civil.h"
#include "base/fileio.h"
#include "base/mem.h"

#define FILE_BYTES_MAX 65536 /* tzdata's largest has 4 KiB */
#define HEADER_BYTES 44
#define TYPE_BYTES 6
#define OFFSET_S_MAX \
	(26 * 3600 - 1) /* section 3.2: utoff should be more than -25 and less than 26 h */

struct zone {
	int64_t first_offset_s;          /* before the first change */
	struct zonerule_change *changes; /* ascending */
	size_t n_changes;
	bool has_rule; /* for the time behind them */
	struct zonerule rule;
};

void zone_free(struct zone *zone)
{
	if (zone == NULL)
		return;
	free(zone->changes);
	free(zone);
}

/* --- reading --- */

struct header {
	size_t n_isut, n_isstd, n_leap, n_times, n_types, n_chars;
};

static uint64_t read_be(const uint8_t *p, size_t bytes)
{
	uint64_t value = 0;

	for (size_t i = 0; i < bytes; i++)
		value = value << 8 | p[i];
	return value;
}

static bool read_header(const uint8_t *p, size_t len, struct header *ret_header)
{
	size_t counts[6];

	/* Version 1 is what ends in 2038. */
	if (len < HEADER_BYTES || memcmp(p, "TZif", 4) != 0 || p[4] < '2')
		return false;
	for (size_t i = 0; i < 6; i++) {
		counts[i] = (size_t) read_be(p + 20 + 4 * i, 4);
		if (counts[i] > FILE_BYTES_MAX)
			return false;
	}
	*ret_header = (struct header){counts[0], counts[1], counts[2], counts[3], counts[4], counts[5]};
	return true;
}

/* Behind a header; moments have 4 bytes in the first block and 8 in the second. */
static size_t block_bytes(const struct header *h, size_t moment_bytes)
{
	return h->n_times * (moment_bytes + 1) + h->n_types * TYPE_BYTES + h->n_chars +
	       h->n_leap * (moment_bytes + 4) + h->n_isstd + h->n_isut;
}

static bool read_offset(const uint8_t *types, const struct header *h, size_t type,
                        int64_t *ret_offset_s)
{
	int64_t offset_s;

	if (type >= h->n_types)
		return false;
	offset_s = (int32_t) read_be(types + type * TYPE_BYTES, 4);
	if (offset_s < -OFFSET_S_MAX || offset_s > OFFSET_S_MAX)
		return false;
	*ret_offset_s = offset_s;
	return true;
}

static bool read_changes(struct zone *zone, const uint8_t *block, const struct header *h)
{
	const uint8_t *indices = block + h->n_times * 8;
	const uint8_t *types = indices + h->n_times;

	/* The type of before the first change is the first one (section 3.2). */
	if (!read_offset(types, h, 0, &zone->first_offset_s))
		return false;
	zone->changes = xcalloc(h->n_times, sizeof(*zone->changes));
	for (size_t i = 0; i < h->n_times; i++) {
		struct zonerule_change *change = &zone->changes[i];

		change->at_s = (int64_t) read_be(block + i * 8, 8);
		if ((i > 0 && change->at_s <= change[-1].at_s) ||
		    !read_offset(types, h, indices[i], &change->offset_s))
			return false;
	}
	zone->n_changes = h->n_times;
	return true;
}

/* Between two newlines; empty: nothing is known of the time behind the table. */
static bool read_footer(struct zone *zone, const uint8_t *p, size_t len)
{
	const uint8_t *end;

	if (len < 2 || *p != '\n')
		return false;
	end = memchr(p + 1, '\n', len - 1);
	if (end == NULL)
		return false;
	zone->has_rule = end > p + 1;
	return !zone->has_rule ||
	       zonerule_parse((const char *) p + 1, (size_t) (end - p - 1), &zone->rule) >= 0;
}

static bool read_zone(struct zone *zone, const uint8_t *p, size_t len)
{
	struct header h;
	size_t skip;

	if (!read_header(p, len, &h))
		return false;
	skip = HEADER_BYTES + block_bytes(&h, 4);
	if (skip > len || !read_header(p + skip, len - skip, &h))
		return false;
	p += skip + HEADER_BYTES;
	len -= skip + HEADER_BYTES;
	if (block_bytes(&h, 8) > len || h.n_leap > 0 || !read_changes(zone, p, &h))
		return false;
	return read_footer(zone, p + block_bytes(&h, 8), len - block_bytes(&h, 8));
}

int zone_parse(const void *data, size_t len, struct zone **ret_zone)
{
	AUTO(zone_free) struct zone *zone = NEW0(struct zone);

	if (!read_zone(zone, data, len))
		return -EBADMSG;
	*ret_zone = TAKE_PTR(zone);
	return 0;
}

/* As tzdata names them, Etc/GMT+5 and America/Port-au-Prince: nothing that leads out of the
 * directory. */
static bool name_is_good(const char *name)
{
	size_t len = strlen(name);

	if (len == 0 || len > ZONE_NAME_MAX || !isalnum((unsigned char) name[0]))
		return false;
	for (const char *p = name; *p != '\0'; p++) {
		if (!isalnum((unsigned char) *p) && strchr("+-_/", *p) == NULL)
			return false;
	}
	return true;
}

int zone_load(const char *directory, const char *name, struct zone **ret_zone)
{
	AUTO(free) char *path = NULL;
	AUTO(free) char *data = NULL;
	size_t len;
	int r;

	if (!name_is_good(name))
		return -EINVAL;
	if (strcmp(name, "UTC") == 0) {
		*ret_zone = NEW0(struct zone);
		return 0;
	}
	path = xasprintf("%s/%s", directory != NULL ? directory : ZONE_DIRECTORY, name);
	r = file_read(path, FILE_BYTES_MAX, &data, &len);
	if (r == -ENOTDIR)
		return -ENOENT;
	if (r == -EISDIR || r == -EFBIG)
		return -EBADMSG;
	return r < 0 ? r : zone_parse(data, len, ret_zone);
}

/* --- asking --- */

/* The changes of the rule around t, and the last of the table, which the rule follows. */
static struct zone_span rule_span(const struct zone *zone, int64_t t_s)
{
	int64_t year = civil_from_s(t_s).year;
	struct zone_span span = {INT64_MIN, INT64_MAX, zone->rule.offset_s};

	if (zone->n_changes > 0)
		span.begin_s = zone->changes[zone->n_changes - 1].at_s;
	if (!zone->rule.has_dst)
		return span;
	/* The latest change that is not behind t is in force. Two years back there always is one. */
	for (int64_t y = year - 2; y <= year + 2; y++) {
		struct zonerule_change changes[2];

		zonerule_changes(&zone->rule, y, changes);
		for (size_t i = 0; i < 2; i++) {
			if (changes[i].at_s > t_s) {
				span.end_s = changes[i].at_s;
				return span;
			}
			span.offset_s = changes[i].offset_s;
			if (changes[i].at_s > span.begin_s)
				span.begin_s = changes[i].at_s;
		}
	}
	return span;
}

struct zone_span zone_span_at(const struct zone *zone, int64_t t_s)
{
	size_t low = 0, high = zone->n_changes; /* changes[low - 1].at_s <= t < changes[high].at_s */

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (zone->changes[middle].at_s <= t_s)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == zone->n_changes && zone->has_rule)
		return rule_span(zone, t_s);
	return (struct zone_span){
	    .begin_s = low > 0 ? zone->changes[low - 1].at_s : INT64_MIN,
	    .end_s = low < zone->n_changes ? zone->changes[low].at_s : INT64_MAX,
	    .offset_s = low > 0 ? zone->changes[low - 1].offset_s : zone->first_offset_s,
	};
}

/* --- zonerule --- */

/*
 * Reading a rule, character by character, and turning it into the moments of a year. The signs are
 * POSIX's: west is positive there, and is turned around here once.
 */

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
