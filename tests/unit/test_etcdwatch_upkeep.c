/* SPDX-License-Identifier: Apache-2.0 */
/* What is due by itself, and when. */
#include "etcdwatch/steer/tally.h"

#include "base/cleanup.h"
#include "base/macro.h"
#include "check.h"
#include "clustercase.h"

/* 2026-01-02 00:00 UTC */
#define MIDNIGHT INT64_C(1767312000)
#define H(n) (MIDNIGHT + (n) *3600)

/* While it goes on, its steps move the leadership and silence one member after the other. */
static void test_whose(void)
{
	static const struct {
		const char *cluster;
		const char *defrag, *recover; /* "": nobody's */
	} cases[] = {
	    {"a* b c", "a", "a"},  {"a b* c", "b", "a"}, {"a- b* c", "b", "a"},
	    {"al b c*", "c", "b"}, {"a b c", "", "a"},   {"", "", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) struct survey *s = clustercase(cases[i].cluster);
		const struct survey_member *defrag = upkeepdue_whose(UPKEEP_DEFRAG, s);
		const struct survey_member *recover = upkeepdue_whose(UPKEEP_RECOVER, s);

		if (!CHECK_EQ_STR(defrag != NULL ? defrag->name : "", cases[i].defrag) ||
		    !CHECK_EQ_STR(recover != NULL ? recover->name : "", cases[i].recover))
			(void) fprintf(stderr, "  %s\n", cases[i].cluster);
	}
}

int main(void)
{
	static const struct {
		bool defrag, recover;
		struct upkeep_past past;
		bool no_space;
		int64_t now_s;
		enum upkeep_what want;
	} cases[] = {
	    /* At 03:30, once; not what was missed before the daemon began. */
	    {true, false, {H(1), 0}, false, H(3), UPKEEP_NOTHING},
	    {true, false, {H(1), 0}, false, H(3) + 1799, UPKEEP_NOTHING},
	    {true, false, {H(1), 0}, false, H(3) + 1800, UPKEEP_DEFRAG},
	    {true, false, {H(3) + 1800, 0}, false, H(3) + 1802, UPKEEP_NOTHING},
	    {true, false, {H(3) + 1801, 0}, false, H(20), UPKEEP_NOTHING},
	    {true, false, {H(3) + 1801, 0}, false, H(27) + 1800, UPKEEP_DEFRAG},
	    {true, false, {H(4), 0}, false, H(9), UPKEEP_NOTHING},
	    {false, false, {H(1), 0}, false, H(4), UPKEEP_NOTHING},
	    /* Without room nothing is defragmented on schedule. */
	    {true, false, {H(1), 0}, true, H(4), UPKEEP_NOTHING},
	    {true, true, {H(1), 0}, true, H(4), UPKEEP_RECOVER},
	    {false, true, {H(1), 0}, false, H(4), UPKEEP_NOTHING},
	    {false, false, {H(1), 0}, true, H(4), UPKEEP_NOTHING},
	    {false, true, {H(1), H(4) + 600}, true, H(4), UPKEEP_NOTHING},
	    {false, true, {H(1), H(4) + 600}, true, H(4) + 599, UPKEEP_NOTHING},
	    {false, true, {H(1), H(4) + 600}, true, H(4) + 600, UPKEEP_RECOVER},
	    /* The clock was set back. */
	    {false, true, {H(1), H(9)}, true, H(4), UPKEEP_RECOVER},
	};
	struct config_watch watch = {0};
	char error[SCHEDULE_ERROR_MAX];

	CHECK_EQ_INT(zone_load(NULL, "UTC", &watch.zone), 0);
	CHECK_EQ_INT(schedule_parse("30 3 * * *", &watch.defrag.schedule, error), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		watch.defrag.enabled = cases[i].defrag;
		watch.recover_space = cases[i].recover;
		if (!CHECK_EQ_INT(upkeepdue_look(&watch, &cases[i].past, cases[i].no_space, cases[i].now_s),
		                  cases[i].want))
			(void) fprintf(stderr, "  case %zu\n", i);
	}
	/* It is the configured zone's 03:30. */
	zone_free(watch.zone);
	CHECK_EQ_INT(zone_load(NULL, "Europe/Berlin", &watch.zone), 0);
	watch.defrag.enabled = true;
	CHECK_EQ_INT(upkeepdue_look(&watch, &(struct upkeep_past){H(1), 0}, false, H(2) + 1800),
	             UPKEEP_DEFRAG);
	zone_free(watch.zone);
	test_whose();
	return check_result();
}
