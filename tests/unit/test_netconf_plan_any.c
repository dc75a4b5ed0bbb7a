/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans, carried out on a kernel that is none: each leads to what was wanted, no step is refused or
 * dearer than it said, a second plan is empty, and from wherever it was broken off the way leads
 * back.
 */
#include "netconf/plan/plan.h"

#include <stdlib.h>

#include "check.h"
#include "plancase.h"
#include "planrandom.h"
#include "planwords.h"

#define SEEDS 200

static struct plan *apply(struct fakekernel *k, struct model *want, const char *what)
{
	model_normalise(want);
	return plancase_apply(k, want, NULL, what);
}

static void test_story(void)
{
	AUTO(model_free) struct model *start = model_new(), *want = model_new();
	AUTO(fakekernel_free) struct fakekernel *k = NULL;
	AUTO(plan_free) struct plan *made = NULL, *mode = NULL, *mtu = NULL, *moved = NULL;
	struct link *bond0;

	nic(start, "eth0", "");
	nic(start, "eth1", "");
	model_normalise(start);
	k = fakekernel_new(start);
	nic(want, "eth0", "bond0");
	nic(want, "eth1", "bond0");
	bond(want, "bond0", BOND_ACTIVE_BACKUP);
	vlan(want, "bond0.7", "bond0", 7);
	address(want, "bond0", "10.0.0.2/24");
	address(want, "bond0.7", "10.7.0.2/24");
	address(want, "bond0.7", "fd00:7::2/64");
	route(want, "0.0.0.0/0", "10.0.0.1", "bond0");
	route(want, "10.8.0.0/16", "10.7.0.1", "bond0.7");
	made = apply(k, want, "make");
	CHECK_EQ_INT(made->n_obstacles, 0);
	/* Another mode: nothing above the bond may be touched. */
	bond0 = model_find_link(want, "bond0");
	bond_set(bond0->bond, BOND_MODE, BOND_8023AD);
	mode = apply(k, want, "mode");
	for (size_t i = 0; i < mode->n_ops; i++) {
		CHECK(mode->ops[i].kind != OP_ADDRESS_ADD);
		CHECK(mode->ops[i].kind != OP_LINK_DELETE);
	}
	for (size_t i = 0; i < want->n_links; i++)
		want->links[i].mtu = 9000;
	mtu = apply(k, want, "mtu up");
	for (size_t i = 0; i < want->n_links; i++)
		want->links[i].mtu = 1500;
	plan_free(mtu);
	mtu = apply(k, want, "mtu down");
	model_find_link(want, "bond0.7")->vlan_id = 8;
	moved = apply(k, want, "vlan id");
}

/* --- any network to any other, and back --- */

static unsigned any(unsigned *seed, unsigned n)
{
	return (unsigned) rand_r(seed) % n;
}

static bool same_network(const struct model *a, const struct model *b)
{
	bool same = a->n_links == b->n_links && a->n_addresses == b->n_addresses &&
	            a->n_routes == b->n_routes && a->n_rules == b->n_rules;

	for (size_t i = 0; same && i < a->n_links; i++)
		same = strcmp(a->links[i].name, b->links[i].name) == 0 &&
		       link_differs(&a->links[i], &b->links[i]) == 0;
	for (size_t i = 0; same && i < a->n_addresses; i++)
		same = address_compare(&a->addresses[i], &b->addresses[i]) == 0 &&
		       a->addresses[i].protocol == b->addresses[i].protocol;
	for (size_t i = 0; same && i < a->n_routes; i++)
		same =
		    a->routes[i].owner == OWNER_KERNEL || route_compare(&a->routes[i], &b->routes[i]) == 0;
	return same;
}

static void print_network(const char *title, const struct model *m)
{
	char text[MODEL_TEXT_MAX];

	(void) fprintf(stderr, "%s\n", title);
	for (size_t i = 0; i < m->n_links; i++)
		(void) fprintf(stderr, "  %s master %s mtu %u %s vlan %u\n", m->links[i].name,
		               m->links[i].master, m->links[i].mtu, m->links[i].up ? "up" : "down",
		               m->links[i].vlan_id);
	for (size_t i = 0; i < m->n_addresses; i++)
		(void) fprintf(stderr, "  %s proto %u\n", address_format(&m->addresses[i], text),
		               m->addresses[i].protocol);
	for (size_t i = 0; i < m->n_routes; i++)
		(void) fprintf(stderr, "  %s proto %u\n", route_format(&m->routes[i], text),
		               m->routes[i].protocol);
}

static void check_way_back(const struct model *before, const struct plan *plan, size_t n)
{
	const struct plan_options options = {.management_link = "", .undone = plan};
	AUTO(fakekernel_free) struct fakekernel *k = fakekernel_new(before);
	AUTO(plan_free) struct plan *back = NULL;

	(void) plancase_carry_out(k, plan, n, "there");
	back = plan_make(before, fakekernel_observe(k), &options);
	(void) plancase_carry_out(k, back, back->n_ops, "back");
	if (!CHECK(same_network(before, fakekernel_observe(k)))) {
		(void) fprintf(stderr, "broken off after %zu of\n", n);
		(void) fputs(plancase_text(plan), stderr);
		(void) fprintf(stderr, "back\n");
		(void) fputs(plancase_text(back), stderr);
		print_network("before", before);
		print_network("after", fakekernel_observe(k));
	}
}

/* Others' on our bonds: a route, an address, and one of vipd's, with marks of their own. */
static void add_foreign(struct model *m, unsigned *seed)
{
	const struct prefix dst = prefix("172.16.0.0/16"), own = prefix("10.0.0.77/24"),
	                    shared = prefix("10.0.0.78/24");
	struct route *theirs;

	if (model_find_link(m, "bond0") == NULL || any(seed, 2) == 0)
		return;
	theirs = model_add_route(m, &dst);
	name(theirs->link, "bond0");
	theirs->gateway = prefix("10.0.0.200/32").addr;
	theirs->owner = OWNER_FOREIGN;
	theirs->protocol = 99;
	if (any(seed, 2)) {
		struct address *address = model_add_address(m, "bond0", &own);

		address->owner = OWNER_FOREIGN;
		address->protocol = 98;
		address->state = IFA_F_SECONDARY;
	}
	if (any(seed, 2)) {
		struct address *vip = model_add_address(m, "bond0", &shared);

		vip->owner = OWNER_FOREIGN;
		vip->protocol = 0xf1;
		vip->valid_s = vip->preferred_s = 3;
		vip->state = IFA_F_SECONDARY;
	}
	model_normalise(m);
}

/* Those of others are there afterwards, as they were; vipd's with its link. */
static bool kept_foreign(const struct model *before, const struct model *after)
{
	bool kept = true;

	for (size_t i = 0; i < before->n_addresses; i++) {
		const struct address *a = &before->addresses[i], *b;

		if (a->owner != OWNER_FOREIGN ||
		    (a->protocol == 0xf1 && model_find_link(after, a->link) == NULL))
			continue;
		b = model_find_address(after, a->link, &a->prefix);
		kept &= b != NULL && b->protocol == a->protocol && b->valid_s == a->valid_s;
	}
	for (size_t i = 0; i < before->n_routes; i++) {
		bool found = before->routes[i].owner != OWNER_FOREIGN;

		for (size_t j = 0; j < after->n_routes; j++)
			found |= route_compare(&before->routes[i], &after->routes[j]) == 0;
		kept &= found;
	}
	return kept;
}

/* A NIC goes, and comes back: what repairs drift makes all of it as it was, without loss. */
static void check_replug(struct fakekernel *k, const struct model *want, unsigned *seed)
{
	static const struct plan_options hitless = {.management_link = "", .only_hitless = true};
	AUTO(plan_free) struct plan *rest = NULL;
	char port[IFNAMSIZ];
	size_t n = 1;

	(void) snprintf(port, sizeof(port), "eth%u", any(seed, 4));
	fakekernel_replug(k, port);
	/* A bond needs more ports only when it has seen them. */
	for (int i = 0; i < 3 && n > 0; i++) {
		AUTO(plan_free) struct plan *plan = plan_make(want, fakekernel_observe(k), &hitless);

		n = plan->n_ops;
		(void) plancase_carry_out(k, plan, n, "late");
		fakekernel_rest(k);
	}
	rest = plan_make(want, fakekernel_observe(k), NULL);
	if (!CHECK_EQ_INT(n, 0) || !CHECK_EQ_INT(rest->n_ops, 0))
		(void) fprintf(stderr, "%s came late, and there is left\n%s", port, plancase_text(rest));
}

static void test_any(unsigned number)
{
	unsigned seed = number, failures = check_failures;
	AUTO(model_free)
	struct model *first = planrandom_model(&seed), *second = planrandom_model(&seed);
	AUTO(model_free) struct model *start = model_new(), *before = NULL;
	AUTO(fakekernel_free) struct fakekernel *k = NULL;
	AUTO(plan_free) struct plan *made = NULL, *plan = NULL;

	for (unsigned i = 0; i < 4; i++)
		nic(start, (const char *[]){"eth0", "eth1", "eth2", "eth3"}[i], "");
	model_normalise(start);
	k = fakekernel_new(start);
	fakekernel_promote(k, number % 2 == 1);
	made = apply(k, first, "first");
	before = model_copy(fakekernel_observe(k));
	add_foreign(before, &seed);
	fakekernel_free(k);
	k = fakekernel_new(before);
	fakekernel_promote(k, number % 2 == 1);
	plan = apply(k, second, "second");
	if (!CHECK(kept_foreign(before, fakekernel_observe(k))))
		(void) fputs(plancase_text(plan), stderr);
	for (size_t n = 0; n <= plan->n_ops && failures == check_failures; n++)
		check_way_back(before, plan, n);
	check_replug(k, second, &seed);
	if (failures != check_failures)
		(void) fprintf(stderr, "seed %u\n", number);
}

/* SEED=n: that one alone, in search of a fault; SEEDS=n: so many, for a longer run. */
static void test_seeds(void)
{
	const char *one = getenv("SEED"), *many = getenv("SEEDS");
	unsigned first = one != NULL ? (unsigned) strtoul(one, NULL, 10) : 0;
	unsigned n = many != NULL ? (unsigned) strtoul(many, NULL, 10) : one != NULL ? 1 : SEEDS;

	for (unsigned i = first; i < first + n && check_failures == 0; i++)
		test_any(i);
}

int main(void)
{
	test_story();
	test_seeds();
	return check_result();
}
