/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A time zone: which offset from UTC was, is and will be in force when. Read once from the system's
 * compiled time zones (tzdata, RFC 8536), then immutable and without a lock.
 *
 * The C library knows one zone at a time, through the environment of the whole process: setenv()
 * and tzset() would race with the threads of gRPC, which read both, and every job may name another
 * zone. So the files are read here.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

#define ZONE_DIRECTORY "/usr/share/zoneinfo"
#define ZONE_NAME_MAX 64

struct zone;

/*
 * "UTC" needs no file. `directory` NULL: the system's. 0, or: -EINVAL the text is no zone's name;
 * -ENOENT there is none of that name; -EBADMSG the file is not a time zone's, or one with leap
 * seconds, which Unix time has none of; or what reading it said.
 */
int zone_load(const char *directory, const char *name, struct zone **ret_zone);
/* The same from the bytes of a file. 0, or -EBADMSG. */
int zone_parse(const void *data, size_t len, struct zone **ret_zone);
void zone_free(struct zone *zone);
DEFINE_AUTO(struct zone, zone_free);

/* A time in which the offset does not change: begin_s <= t < end_s. Ends that there are none are
 * INT64_MIN and INT64_MAX. Neighbours may have the same offset. */
struct zone_span {
	int64_t begin_s, end_s;
	int64_t offset_s; /* local time is UTC and this; less than 26 hours either way */
};

struct zone_span zone_span_at(const struct zone *zone, int64_t t_s);

/* --- zonerule --- */

/*
 * The rule by which a time zone goes on behind its last recorded transition, as the end of a zone
 * file has it: "CET-1CEST,M3.5.0,M10.5.0/3" (RFC 8536, section 3.3.1; POSIX.1, environment variable
 * TZ). Pure values.
 */

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
