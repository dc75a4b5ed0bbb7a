/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for files of time zones: as the first byte chooses, the bytes are the
 * file, or the rule in one. Whatever they are, each moment lies in one span, spans follow each
 * other without a gap, and a schedule that is asked in them ends.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "etcdwatch/schedule/schedule.h"
#include "tests/fuzz/zonefile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SPANS 64
/* Nobody asks about what is before: the year -9999. */
#define FARTHEST_S INT64_C(-377705116800)
/* 1901, when many tables begin, and the next century. */
static const int64_t moments_s[] = {-2177452800, 0, 1767225600, 4102444800};

static void walk(const struct zone *zone, int64_t t_s)
{
	for (int i = 0; i < SPANS; i++) {
		struct zone_span span = zone_span_at(zone, t_s);

		if (t_s < span.begin_s || t_s >= span.end_s || llabs(span.offset_s) >= 26 * 3600)
			abort();
		if (span.begin_s > FARTHEST_S && zone_span_at(zone, span.begin_s).offset_s != span.offset_s)
			abort();
		if (span.end_s == INT64_MAX)
			return;
		if (zone_span_at(zone, span.end_s - 1).offset_s != span.offset_s)
			abort();
		t_s = span.end_s;
	}
}

static void try_zone(const struct zone *zone)
{
	static const char *const texts[] = {"30 2 * * *", "*/10 * * * *", "0 0 29 2 *"};
	char error[SCHEDULE_ERROR_MAX];

	for (size_t i = 0; i < sizeof(moments_s) / sizeof(moments_s[0]); i++) {
		walk(zone, moments_s[i]);
		for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
			struct schedule s;

			if (schedule_parse(texts[k], &s, error) < 0 ||
			    schedule_next(&s, zone, moments_s[i]) <= moments_s[i] ||
			    schedule_previous(&s, zone, moments_s[i]) > moments_s[i])
				abort();
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(zone_free) struct zone *zone = NULL;
	AUTO(free) char *rule = NULL;
	uint8_t file[ZONEFILE_BYTES_MAX];
	int r;

	if (size == 0)
		return 0;
	if (data[0] % 2 == 0) {
		AUTO(free) uint8_t *copy = xmemdup(data + 1, size - 1);

		r = zone_parse(copy, size - 1, &zone);
	} else {
		if (size - 1 > 64)
			return 0;
		rule = xstrndup((const char *) data + 1, size - 1);
		r = zone_parse(file, zonefile_make(rule, file), &zone);
	}
	if (r == 0)
		try_zone(zone);
	return 0;
}
