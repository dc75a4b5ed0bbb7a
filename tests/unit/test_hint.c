/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hint.h"

#include "base/macro.h"
#include "tests/unit/check.h"

int main(void)
{
	static const char *const words[] = {"vip status", "vip move", "vip hold", "vip unhold",
	                                    "metrics",    "to",       "ab"};
	static const char long_word[] =
	    "vip status vip status vip status vip status vip status vip status";
	static const struct {
		const char *word;
		const char *nearest;
	} cases[] = {
	    {"vip statsu", "vip status"}, /* swapped */
	    {"vip stats", "vip status"},  /* one missing */
	    {"vipp  status", "vip status"},
	    {"VIP STATUS", "vip status"},
	    {"vip unhodl", "vip unhold"},
	    {"metric", "metrics"},
	    {"emtrics", "metrics"},
	    {"tp", "to"},
	    {"ba", "ab"},
	    {"xy", NULL},
	    {"reboot", NULL},
	    {"v", NULL},
	    {"", NULL},
	    {long_word, NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_EQ_STR(hint_nearest(cases[i].word, words, ARRAY_SIZE(words)), cases[i].nearest);
	CHECK_EQ_STR(hint_nearest("vip", NULL, 0), NULL);
	/* The first of equals, and a candidate that is too long is passed over. */
	CHECK_EQ_STR(hint_nearest("abd", (const char *const[]){long_word, "abc", "abe"}, 3), "abc");
	return check_result();
}
