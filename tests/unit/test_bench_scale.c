/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thousand nodes in front of three API servers, one of which restarts: what prism asks of it in
 * the busiest second is at most three times what it asks otherwise, whatever the outage; and where
 * all of them ask as if no other one served, it is not. No time passes, and chance is a seed.
 */
#include "bench/tools/scale/model.h"

#include "base/macro.h"
#include "base/mono.h"
#include "tests/unit/check.h"

static struct model_options options(void)
{
	return (struct model_options){
	    .nodes = 1000,
	    .servers = 3,
	    .rules = {.rise = 2, .interval_us = 10 * US_PER_S, .suspect_us = US_PER_S},
	    .begin_s = 20,
	    .warm_s = 60,
	    .steady_s = 60,
	    .after_s = 30,
	    .clients = 1,
	    .seed = 3,
	};
}

static void test_steady(void)
{
	struct model_options o = options();
	struct model_result r = model_run(&o);

	CHECK(r.steady_per_s > 1000 / 11.2 && r.steady_per_s < 1000 / 10.8);
	CHECK(r.steady_peak < 2 * r.steady_per_s);
}

static void test_no_stampede(void)
{
	static const struct {
		unsigned down_s, starts_s;
		double clients;
	} cases[] = {{2, 0, 1},   {5, 5, 1},     {10, 0, 1}, {10, 0, 0},
	             {30, 10, 1}, {30, 10, 0.3}, {90, 0, 1}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct model_options o = options();
		struct model_result r;

		o.down_s = cases[i].down_s;
		o.starts_s = cases[i].starts_s;
		o.clients = cases[i].clients;
		r = model_run(&o);
		if (!CHECK(MAX(r.starts_peak, r.after_peak) <= 3 * r.steady_per_s))
			(void) fprintf(stderr, "  down for %u s: %u and %u a second\n", o.down_s, r.starts_peak,
			               r.after_peak);
		CHECK(r.half_s >= 0 && r.half_s < 10);
		CHECK(r.all_s >= 0 && r.all_s < 16);
	}
}

static void test_hurry(void)
{
	struct model_options o = options();
	struct model_result r;

	o.down_s = 30;
	o.hurry = true;
	r = model_run(&o);
	CHECK(r.after_peak > 6 * r.steady_per_s);
	CHECK(r.all_s < 3);
	/* No other one serves. */
	o.hurry = false;
	o.all = true;
	r = model_run(&o);
	CHECK(r.after_peak > 6 * r.steady_per_s);
	CHECK(r.all_s < 3);
}

int main(void)
{
	test_steady();
	test_no_stampede();
	test_hurry();
	return check_result();
}
