/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of an upload: how far it is, how fast, and how long it still takes by that. */
#include "cli/common/fields.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "tests/unit/check.h"

static void test_text(void)
{
	static const struct {
		json_int_t sent, of, rate;
		const char *want;
	} cases[] = {
	    {0, 0, 0, NULL},
	    {0, 100, 0, "0%"},
	    {45, 100, 0, "45%"},
	    {45, 100, 5, "45%, 5 B/s, 11s left"},
	    {0, 6900, 100, "0%, 100 B/s, 1m09s left"},
	    {0, 750000, 100, "0%, 100 B/s, 2h05m left"},
	    {100, 100, 5, "100%"},
	    /* It has grown since it was looked at. */
	    {120, 100, 5, "100%"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		json_t *target = json_pack("{s:I, s:I, s:I}", "sent_bytes", cases[i].sent, "sent_of_bytes",
		                           cases[i].of, "sent_bytes_per_s", cases[i].rate);
		AUTO(free) char *text = sent_text(target);

		CHECK_EQ_STR(text, cases[i].want);
		json_decref(target);
	}
}

static void test_part(void)
{
	json_t *none = json_object(),
	       *half = json_pack("{s:i, s:i}", "sent_bytes", 50, "sent_of_bytes", 100);

	CHECK(sent_part(none) < 0);
	CHECK_EQ_INT((int) (sent_part(half) * 1000), 500);
	json_decref(none);
	json_decref(half);
}

int main(void)
{
	test_text();
	test_part();
	return check_result();
}
