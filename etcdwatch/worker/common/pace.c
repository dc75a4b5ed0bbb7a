/* SPDX-License-Identifier: Apache-2.0 */
/* A clock between the lines. */
#include "etcdwatch/worker/common/pace.h"

#include "base/mono.h"
#include "etcdwatch/worker/common/result.h"

#define EVERY_US (200 * US_PER_MS)

void pace_begin(struct pace *pace, const char *step, uint64_t of_bytes)
{
	*pace = (struct pace){.step = step, .of_bytes = of_bytes, .told_us = mono_now_us()};
}

void pace_tell(struct pace *pace, uint64_t bytes)
{
	int64_t now_us = mono_now_us();

	if (now_us - pace->told_us < EVERY_US)
		return;
	pace->told_us = now_us;
	pace->most_bytes = bytes;
	result_line(json_pack("{s:s, s:I, s:I}", "doing", pace->step, "bytes", (json_int_t) bytes,
	                      "of_bytes", (json_int_t) pace->of_bytes));
}

void pace_pass_cb(const char *pass, uint64_t bytes, uint64_t of_bytes, void *userdata)
{
	struct pace *pace = userdata;

	if (bytes == 0)
		pace_begin(pace, pass, of_bytes);
	else
		pace_tell(pace, bytes);
}

void pace_sent_cb(uint64_t bytes, void *userdata)
{
	struct pace *pace = userdata;

	if (pace->before_bytes + bytes > pace->most_bytes)
		pace_tell(pace, pace->before_bytes + bytes);
}
