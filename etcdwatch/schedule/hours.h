/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A time of the day, such as "01:00-05:00" or, over midnight, "22:00-05:00": from its beginning
 * until just before its end, by the clock on the wall. Pure; the caller brings the time and the
 * zone.
 *
 * When clocks are changed, it is the wall's clock that counts: what it leaves out in spring is
 * missing, so that a time within the hour left out does not come on that day, and what it shows
 * twice in autumn comes twice.
 */

#include <stdbool.h>
#include <stdint.h>

#include "etcdwatch/schedule/zone.h"

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
