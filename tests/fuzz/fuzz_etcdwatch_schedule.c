/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for schedules and hours, asked in a zone that changes its clocks. Eight
 * bytes choose a moment, a NUL stands between the two texts. For every moment t, previous(t) <= t <
 * next(t), nothing is due between the two, and the one leads to the other.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "etcdwatch/schedule/schedule.h"
#include "tests/fuzz/zonefile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The next century. */
#define MOMENTS_S INT64_C(3155760000)

static const struct zone *zone_of(void)
{
	static struct zone *zone; /* for as long as the process lives */
	uint8_t file[ZONEFILE_BYTES_MAX];

	if (zone == NULL &&
	    zone_parse(file, zonefile_make("CET-1CEST,M3.5.0,M10.5.0/3", file), &zone) < 0)
		abort();
	return zone;
}

static void try_schedule(const char *text, int64_t t_s)
{
	char error[SCHEDULE_ERROR_MAX] = "";
	const struct zone *zone = zone_of();
	struct schedule s, again;
	int64_t next_s, previous_s;
	int r = schedule_parse(text, &s, error);

	if ((r < 0) != (error[0] != '\0'))
		abort();
	if (r < 0)
		return;
	if (schedule_parse(s.text, &again, error) < 0 || s.minutes != again.minutes ||
	    s.hours != again.hours || s.days != again.days || s.months != again.months ||
	    s.weekdays != again.weekdays || s.either_day != again.either_day)
		abort();
	next_s = schedule_next(&s, zone, t_s);
	previous_s = schedule_previous(&s, zone, t_s);
	if (previous_s > t_s || next_s <= t_s || next_s == INT64_MAX || previous_s == INT64_MIN)
		abort();
	if (schedule_previous(&s, zone, next_s) != next_s ||
	    schedule_previous(&s, zone, next_s - 1) != previous_s ||
	    schedule_next(&s, zone, previous_s) != next_s)
		abort();
}

static void try_hours(const char *text, int64_t t_s)
{
	char printed[HOURS_TEXT_MAX];
	struct hours hours, again;
	int64_t next_s;

	if (hours_parse(text, &hours) < 0)
		return;
	if (strcmp(hours_format(&hours, printed), text) != 0 || hours_parse(printed, &again) < 0 ||
	    hours.from_s != again.from_s || hours.to_s != again.to_s || hours_are_any(&hours))
		abort();
	hours = hours_spread(&hours, (unsigned) t_s % 1000);
	next_s = hours_next(&hours, zone_of(), t_s);
	/* What falls into the hour that a spring leaves out comes a day later. */
	if (next_s < t_s || next_s > t_s + 2 * 86400 || hours_next(&hours, zone_of(), next_s) != next_s)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(free) char *text = NULL;
	uint64_t moment;

	if (size < sizeof(moment))
		return 0;
	memcpy(&moment, data, sizeof(moment));
	text = xcalloc(1, size - sizeof(moment) + 2);
	memcpy(text, data + sizeof(moment), size - sizeof(moment));
	try_schedule(text, (int64_t) (moment % MOMENTS_S));
	if (strlen(text) < size - sizeof(moment))
		try_hours(text + strlen(text) + 1, (int64_t) (moment % MOMENTS_S));
	return 0;
}
