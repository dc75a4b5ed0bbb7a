/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The rule by which a time zone goes on behind its last recorded transition, as the end of a zone
 * file has it: "CET-1CEST,M3.5.0,M10.5.0/3" (RFC 8536, section 3.3.1; POSIX.1, environment variable
 * TZ). Pure values.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* When in a year. */
struct zonerule_date {
	enum {
		ZONERULE_WEEK,      /* Mm.w.d: the w-th weekday d of month m, the last if w is 5 */
		ZONERULE_JULIAN,    /* Jn: day 1 to 365; February 29 is not counted */
		ZONERULE_ZERO_BASE, /* n: day 0 to 365; it is */
	} sort;
	unsigned month, week, weekday;
	unsigned day;
	int64_t time_s; /* local, -167 to 167 hours */
};

struct zonerule {
	int64_t offset_s; /* of standard time, from UTC, eastwards */
	bool has_dst;
	int64_t dst_offset_s;
	struct zonerule_date dst_begin, dst_end; /* in the local time before each */
};

/* A moment at which an offset begins. */
struct zonerule_change {
	int64_t at_s;
	int64_t offset_s;
};

/* 0, or -EBADMSG. */
int zonerule_parse(const char *text, size_t len, struct zonerule *ret_rule);

/* The two changes of a year; only with has_dst. The earlier one comes first. */
void zonerule_changes(const struct zonerule *rule, int64_t year,
                      struct zonerule_change ret_changes[static 2]);
