/* SPDX-License-Identifier: Apache-2.0 */
/* How often a thing is set right before it is a fight. */
#include "netconf/fight.h"

#include "base/mono.h"
#include "check.h"

#define WINDOW_US (60 * US_PER_S)

static bool may(struct fight *fight, const char *what, int64_t at_s)
{
	return fight_may(fight, what, 3, WINDOW_US, at_s * US_PER_S);
}

int main(void)
{
	AUTO(fight_free) struct fight *fight = fight_new();

	CHECK(may(fight, "address", 100));
	CHECK(may(fight, "address", 110));
	CHECK(may(fight, "route", 115));
	CHECK(may(fight, "address", 120));
	/* The fourth within a minute; the other one has two left. */
	CHECK(!may(fight, "address", 159));
	CHECK(may(fight, "route", 159));
	/* The first of the three is a minute old; refusals are not counted. */
	CHECK(may(fight, "address", 160));
	CHECK(!may(fight, "address", 160));
	CHECK(may(fight, "address", 170));
	/* After a long peace. */
	CHECK(may(fight, "address", 1000));
	CHECK(may(fight, "address", 1000));
	CHECK(may(fight, "address", 1000));
	CHECK(!may(fight, "address", 1000));
	/* What the kernel refused is no rewrite; what was set right before it is one still. */
	CHECK(may(fight, "rule", 2000));
	CHECK(may(fight, "rule", 2010));
	CHECK(may(fight, "rule", 2020));
	fight_take_back(fight, 2010 * US_PER_S);
	CHECK(may(fight, "rule", 2030));
	CHECK(may(fight, "rule", 2031));
	CHECK(!may(fight, "rule", 2032));
	return check_result();
}
