/* SPDX-License-Identifier: Apache-2.0 */
/* Plans back to the network as it was, while others and time have gone on. */
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "check.h"
#include "plancase.h"

static void test_back_among_others(void)
{
	AUTO(model_free)
	struct model *have = plancase_have(
	    "nic eth0\naddress eth0 10.0.0.2/24\nroute 10.5.0.0/16 via 10.0.0.1 dev eth0\n"
	    "address eth0 10.0.0.4/24 secondary\n"
	    "address eth0 10.0.0.7/24 proto 99 secondary\n");
	AUTO(model_free)
	struct model *want =
	    plancase_want("address eth0 10.0.0.2/24\nroute 10.6.0.0/16 via 10.0.0.1 dev eth0\n");
	AUTO(model_free) struct model *now = NULL;
	AUTO(fakekernel_free) struct fakekernel *k = fakekernel_new(have);
	AUTO(plan_free) struct plan *plan = plancase_apply(k, want, NULL, "there");
	const struct plan_options undo = {.management_link = "", .undone = plan};
	AUTO(plan_free) struct plan *back = NULL;

	/* Meanwhile: a VIP comes, another's address changes, and another takes what we had. */
	now = plancase_have("nic eth0\naddress eth0 10.0.0.2/24\n"
	                    "address eth0 10.0.0.9/32 proto 241\n"
	                    "address eth0 10.0.0.8/24 proto 99 secondary\n"
	                    "address eth0 10.0.0.4/24 metric 9 proto 99 secondary\n"
	                    "route 10.6.0.0/16 via 10.0.0.1 dev eth0\n"
	                    "route 10.5.0.0/16 via 10.0.0.3 dev eth0 proto 99\n");
	back = plan_make(have, now, &undo);
	CHECK_EQ_STR(plancase_text(back),
	             "address-break delete route 10.6.0.0/16 via 10.0.0.1 dev eth0\n");
}

/* What a change makes the kernel drop, and cannot put back itself, its undoing does. */
static void test_back_with_what_was_dropped(void)
{
	static const struct {
		const char *change, *back;
	} cases[] = {
	    /* All routes go, and addresses of IPv6. */
	    {"nic eth0 down\naddress eth0 10.0.0.2/24\nroute 10.5.0.0/16 via 10.0.0.1 dev eth0\n",
	     "hitless set eth0 up\n"
	     "hitless put back address fd00::2/64 dev eth0\n"
	     "hitless put back route default via 10.0.0.1 dev eth0\n"
	     "hitless put back route 10.5.0.0/16 via 10.0.0.1 dev eth0\n"},
	    /* The last address of IPv4: all routes go that leave by the link. */
	    {"nic eth0\n", "hitless add address 10.0.0.2/24 dev eth0\n"
	                   "hitless add route 10.5.0.0/16 via 10.0.0.1 dev eth0\n"
	                   "hitless put back route default via 10.0.0.1 dev eth0\n"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		AUTO(model_free)
		struct model *have = plancase_have("nic eth0\naddress eth0 10.0.0.2/24\n"
		                                   "address eth0 fd00::2/64 proto 99\n"
		                                   "route 0.0.0.0/0 via 10.0.0.1 dev eth0 proto 99\n"
		                                   "route 10.5.0.0/16 via 10.0.0.1 dev eth0\n");
		AUTO(model_free) struct model *want = plancase_want(cases[i].change);
		AUTO(fakekernel_free) struct fakekernel *k = fakekernel_new(have);
		AUTO(plan_free) struct plan *plan = plancase_apply(k, want, NULL, "there");
		const struct plan_options undo = {.management_link = "", .undone = plan};
		AUTO(plan_free) struct plan *back = plan_make(have, fakekernel_observe(k), &undo);

		if (!CHECK_EQ_STR(plancase_text(back), cases[i].back))
			(void) fprintf(stderr, "case %zu\n", i);
		CHECK(plancase_carry_out(k, back, back->n_ops, "back"));
	}
}

/* What was put back and then taken away by its owner stays away. */
static void test_back_without_what_went(void)
{
	AUTO(model_free)
	struct model *have = plancase_have("nic eth0\naddress eth0 fd00::7/64 proto 99\n");
	AUTO(model_free)
	struct model *want = plancase_want("bond b mode 1 miimon 100\n"
	                                   "nic eth0 up master b\n");
	AUTO(fakekernel_free) struct fakekernel *k = fakekernel_new(have);
	AUTO(plan_free) struct plan *plan = plancase_apply(k, want, NULL, "there");
	AUTO(model_free) struct model *gone = model_copy(fakekernel_observe(k));
	const struct plan_options undo = {.management_link = "", .undone = plan};
	AUTO(plan_free) struct plan *unseen = NULL, *seen = NULL, *still = NULL;
	static const char back[] = "put back address fd00::7/64";

	CHECK(strstr(plancase_text(plan), back) != NULL);
	CHECK_EQ_INT(gone->n_addresses, 1);
	model_remove_address(gone, 0);
	unseen = plan_make(have, gone, &undo);
	CHECK(strstr(plancase_text(unseen), back) != NULL);
	CHECK(!plan_settle(plan, gone));
	CHECK(plan_settle(plan, fakekernel_observe(k)));
	CHECK(!plan_settle(plan, fakekernel_observe(k)));
	seen = plan_make(have, gone, &undo);
	CHECK(strstr(plancase_text(seen), back) == NULL);
	/* One that is there when undoing begins is lost to nobody but to that. */
	plan_unsettle(plan, fakekernel_observe(k));
	still = plan_make(have, gone, &undo);
	CHECK(strstr(plancase_text(still), back) != NULL);
}

/* A lease goes on to be renewed while a change is not confirmed: it is not set back to what was
 * left of it then. */
static void test_back_with_a_renewed_lease(void)
{
	AUTO(model_free)
	struct model *have = plancase_have("nic eth0\n"
	                                   "address eth0 10.0.0.2/24 valid 100\n"
	                                   "address eth0 10.0.0.3/24 valid 100\n");
	AUTO(model_free)
	struct model *want = plancase_want("nic eth0\n"
	                                   "address eth0 10.0.0.2/24 valid 3600\n"
	                                   "address eth0 10.0.0.3/24\n");
	AUTO(fakekernel_free) struct fakekernel *k = fakekernel_new(have);
	AUTO(plan_free) struct plan *plan = plancase_apply(k, want, NULL, "there");
	const struct plan_options undo = {.management_link = "", .undone = plan};
	AUTO(plan_free) struct plan *back = plan_make(have, fakekernel_observe(k), &undo);

	CHECK_EQ_STR(plancase_text(back), "hitless change address 10.0.0.3/24 dev eth0\n");
}

/* Half a minute was left of one, ten minutes of the others; a minute has gone by. */
static const char leased[] = "nic eth0\naddress eth0 10.0.0.2/24 valid 600\n"
                             "address eth0 10.1.0.2/24 valid 30\n"
                             "address eth0 fd00::7/64 valid 600 proto 99\n"
                             "address eth0 fd01::7/64 valid 30 proto 99\n";

static const struct op *find_step(const struct plan *plan, const char *text)
{
	struct prefix prefix;

	CHECK_EQ_INT(prefix_parse(text, &prefix), 0);
	for (size_t i = 0; i < plan->n_ops; i++) {
		if (plan->ops[i].kind == OP_ADDRESS_ADD &&
		    prefix_compare(&plan->ops[i].address.prefix, &prefix) == 0)
			return &plan->ops[i];
	}
	return NULL;
}

static void check_back_after(uint32_t age_s, const char *steps, uint32_t left_s)
{
	AUTO(model_free) struct model *have = plancase_have(leased);
	AUTO(model_free) struct model *want = plancase_want("nic eth0 down\n");
	AUTO(fakekernel_free) struct fakekernel *k = fakekernel_new(have);
	AUTO(plan_free) struct plan *plan = plancase_apply(k, want, NULL, "there");
	const struct plan_options undo = {.management_link = "", .undone = plan, .undone_age_s = age_s};
	AUTO(plan_free) struct plan *back = plan_make(have, fakekernel_observe(k), &undo);
	const struct op *ours, *theirs;

	CHECK_EQ_STR(plancase_text(back), steps);
	ours = find_step(back, "10.0.0.2/24");
	theirs = find_step(back, "fd00::7/64");
	if (!CHECK(ours != NULL && theirs != NULL))
		return;
	CHECK_EQ_INT(ours->address.valid_s, left_s);
	CHECK_EQ_INT(ours->address.preferred_s, left_s);
	CHECK_EQ_INT(theirs->address.valid_s, left_s);
}

/* What was leased is not for longer than its server said: it may be another host's then. */
static void test_back_after_a_while(void)
{
	check_back_after(0,
	                 "hitless set eth0 up\n"
	                 "hitless put back address fd00::7/64 dev eth0\n"
	                 "hitless put back address fd01::7/64 dev eth0\n"
	                 "hitless add address 10.0.0.2/24 dev eth0\n"
	                 "hitless add address 10.1.0.2/24 dev eth0\n",
	                 600);
	check_back_after(60,
	                 "hitless set eth0 up\n"
	                 "hitless put back address fd00::7/64 dev eth0\n"
	                 "hitless add address 10.0.0.2/24 dev eth0\n",
	                 540);
}

/* What one could put back itself was seen then, and not since. */
static void test_back_with_a_step_of_its_own(void)
{
	AUTO(model_free)
	struct model *have = plancase_have("nic eth0\naddress eth0 fd00::7/64 valid 30 proto 99\n");
	AUTO(model_free)
	struct model *want = plancase_want("bond b mode 1 miimon 100\n"
	                                   "nic eth0 up master b\n");
	AUTO(fakekernel_free) struct fakekernel *k = fakekernel_new(have);
	AUTO(plan_free) struct plan *plan = plancase_apply(k, want, NULL, "there");
	AUTO(model_free) struct model *gone = model_copy(fakekernel_observe(k));
	struct plan_options undo = {.management_link = "", .undone = plan};
	AUTO(plan_free) struct plan *soon = NULL, *late = NULL;
	static const char back[] = "put back address fd00::7/64";

	model_remove_address(gone, 0);
	soon = plan_make(have, gone, &undo);
	CHECK(strstr(plancase_text(soon), back) != NULL);
	undo.undone_age_s = 30;
	late = plan_make(have, gone, &undo);
	CHECK(strstr(plancase_text(late), back) == NULL);
}

/* Of a veth only one end is a step; what was on the other comes back as it was all the same. */
static void test_back_on_the_other_end(void)
{
	static const char *const changes[] = {
	    "bridge br0\n",
	    "bridge br0\nveth a0 peer a2\nveth a2 peer a0\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		AUTO(model_free)
		struct model *have = plancase_have("bridge br0\nveth a0 peer a1\nveth a1 peer a0\n"
		                                   "vlan v7 parent a1 id 7 mtu 1400 flags 3 master br0\n");
		AUTO(model_free) struct model *want = plancase_want(changes[i]);
		AUTO(fakekernel_free) struct fakekernel *k = fakekernel_new(have);
		AUTO(plan_free) struct plan *plan = plancase_apply(k, want, NULL, "there");
		const struct plan_options undo = {.management_link = "", .undone = plan};
		AUTO(plan_free) struct plan *back = plan_make(have, fakekernel_observe(k), &undo);
		const struct link *v7;

		CHECK(plancase_carry_out(k, back, back->n_ops, "back"));
		v7 = model_find_link(fakekernel_observe(k), "v7");
		if (!CHECK(v7 != NULL))
			continue;
		CHECK_EQ_STR(v7->master, "br0");
		CHECK_EQ_INT(v7->mtu, 1400);
		CHECK_EQ_INT(v7->vlan_flags, 3);
		CHECK(v7->up);
	}
}

int main(void)
{
	test_back_on_the_other_end();
	test_back_among_others();
	test_back_with_what_was_dropped();
	test_back_without_what_went();
	test_back_with_a_renewed_lease();
	test_back_after_a_while();
	test_back_with_a_step_of_its_own();
	return check_result();
}
