/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/restore/restorefence.h"

#include <string.h>

#include "base/macro.h"
#include "base/mono.h"

/* As in vipd/timing.h, which gives the sources. */
#define SLEW_PPM INT64_C(101000)
#define HARDWARE_PPM INT64_C(1000)
#define MILLION INT64_C(1000000)
#define MARGIN_MS 10
/* Where no vipd answers: 5 s with the address lifetime as the only fence, which is 1.25 s late. */
#define UNKNOWN_MS 6250

static int64_t stretched_ms(int64_t ms)
{
	/* Rounded up twice. */
	int64_t raw = ms * (MILLION + HARDWARE_PPM) / (MILLION - HARDWARE_PPM) + 1;

	return raw * MILLION / (MILLION - SLEW_PPM) + 1;
}

int64_t restorefence_wait_us(const json_t *vips)
{
	int64_t longest_ms = 0;

	for (size_t i = 0; i < json_array_size(vips); i++) {
		const json_t *vip = json_array_get(vips, i);
		int64_t fence_ms = json_integer_value(json_object_get(vip, "fence_window_ms")) +
		                   json_integer_value(json_object_get(vip, "fence_late_ms"));

		longest_ms = MAX(longest_ms, fence_ms);
	}
	if (longest_ms == 0)
		longest_ms = UNKNOWN_MS;
	return (stretched_ms(longest_ms) + MARGIN_MS) * US_PER_MS;
}

void restorefence_look(const char *node, const json_t *vips, struct texts *holders)
{
	for (size_t i = 0; i < json_array_size(vips); i++) {
		const json_t *vip = json_array_get(vips, i);
		const char *state = json_string_value(json_object_get(vip, "state"));
		const char *name = json_string_value(json_object_get(vip, "vip"));

		if (json_is_integer(json_object_get(vip, "fence_left_ms")) ||
		    (state != NULL && strcmp(state, "owner") == 0))
			texts_add(holders, "%s holds %s", node, name != NULL ? name : "a VIP");
	}
}
