/* SPDX-License-Identifier: Apache-2.0 */
/* When a settling gives up: what cannot be observed now may be observable in a moment. */
#include "netconf/change/settle.h"

#include <errno.h>
#include <ev.h>

#include "base/macro.h"
#include "base/mem.h"
#include "check.h"

struct looks {
	unsigned n_failing; /* so many of the first looks fail */
	unsigned n;
	int r; /* of the end */
	unsigned n_ends;
};

static int plan_cb(struct plan **ret_plan, struct model **ret_have, void *userdata)
{
	struct looks *looks = userdata;

	if (looks->n++ < looks->n_failing)
		return -EAGAIN;
	*ret_plan = NEW0(struct plan);
	*ret_have = model_new();
	return 0;
}

static void on_settled(const struct settle_result *result, void *userdata)
{
	struct looks *looks = userdata;

	looks->r = result->r;
	looks->n_ends++;
	/* What cannot be observed is not there. */
	CHECK((result->r == 0) == (result->have != NULL));
	CHECK((result->r == 0) == (result->reason[0] == '\0'));
}

static void test_looks_that_fail(void)
{
	static const struct settle_ops ops = {.plan = plan_cb};
	static const struct {
		const char *what;
		unsigned n_failing;
		bool go_on;
		int r;
		unsigned n; /* looks */
	} cases[] = {
	    {"a change: none fails", 0, false, 0, 1},
	    {"a change: the first one ends it", 1, false, -EAGAIN, 1},
	    {"its undoing: the next one is good", 1, true, 0, 2},
	    {"its undoing: all fail", 1000, true, -EAGAIN, SETTLE_ROUNDS_MAX + 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(kernel_free) struct kernel *kernel = NULL;
		struct looks looks = {.n_failing = cases[i].n_failing};

		if (!CHECK_EQ_INT(kernel_new(NULL, &kernel), 0))
			return;
		(void) settle_start(EV_DEFAULT, kernel, &ops, cases[i].go_on, on_settled, &looks);
		(void) ev_run(EV_DEFAULT, 0);
		if (!CHECK_EQ_INT(looks.n_ends, 1) || !CHECK_EQ_INT(looks.r, cases[i].r) ||
		    !CHECK_EQ_INT(looks.n, cases[i].n))
			(void) fprintf(stderr, "in: %s\n", cases[i].what);
	}
}

int main(void)
{
	test_looks_that_fail();
	return check_result();
}
