/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans on a real kernel: no step is refused, a second plan is empty, the kernel that is none has
 * come to the same, and going back leaves all as it was, other programs' objects included. In
 * network namespaces; a kernel without bonds or dummies can only say so.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "check.h"
#include "netconf/kernel/kernel.h"
#include "netns.h"
#include "plancase.h"
#include "planrandom.h"

#define SEEDS 3

static struct model *observe(struct kernel *kernel)
{
	struct model *model = NULL;

	CHECK_EQ_INT(kernel_observe(kernel, &model), 0);
	return model != NULL ? model : model_new();
}

/* --- comparing --- */

/* What plans are about: without what the kernel itself makes, and takes from a port or by chance.
 */
static struct model *essence(const struct model *model)
{
	struct model *copy = model_copy(model);

	for (size_t i = 0; i < copy->n_links; i++) {
		struct link *link = &copy->links[i];

		link->has &= ~(unsigned) LINK_HAS_MAC;
		if (link->bond != NULL)
			link->bond->has &= ~(BOND_BIT(BOND_ACTIVE_SLAVE) | BOND_BIT(BOND_AD_ACTOR_SYSTEM));
	}
	for (size_t i = copy->n_addresses; i-- > 0;) {
		if (copy->addresses[i].owner == OWNER_KERNEL)
			model_remove_address(copy, i);
	}
	for (size_t i = copy->n_routes; i-- > 0;) {
		if (copy->routes[i].owner == OWNER_KERNEL)
			model_remove_route(copy, i);
	}
	return copy;
}

static void print(FILE *out, const struct model *m)
{
	char text[MODEL_TEXT_MAX];

	for (size_t i = 0; i < m->n_links; i++) {
		const struct link *link = &m->links[i];

		(void) fprintf(out, "%s %s master %s mtu %u %s vlan %u flags %#x\n",
		               link_kind_name(link->kind), link->name, link->master, link->mtu,
		               link->up ? "up" : "down", link->vlan_id,
		               link->kind == LINK_VLAN ? link->vlan_flags : 0);
		for (enum bond_option o = 0; o < BOND_OPTIONS && link->bond != NULL; o++) {
			char value[BOND_VALUE_TEXT_MAX];

			if (bond_has(link->bond, o))
				(void) fprintf(out, " %s %s", bond_options[o].name,
				               bond_format_value(link->bond, o, value));
		}
		(void) fputs(link->bond != NULL ? "\n" : "", out);
	}
	for (size_t i = 0; i < m->n_addresses; i++)
		(void) fprintf(out, "address %s proto %u\n", address_format(&m->addresses[i], text),
		               m->addresses[i].protocol);
	for (size_t i = 0; i < m->n_routes; i++)
		(void) fprintf(out, "route %s proto %u\n", route_format(&m->routes[i], text),
		               m->routes[i].protocol);
}

static char *text_of(const struct model *model)
{
	AUTO(model_free) struct model *copy = essence(model);
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	print(out, copy);
	(void) fclose(out);
	return text;
}

/* The first line in which they are not the same. */
static bool check_same(const struct model *got, const struct model *want, const char *what)
{
	AUTO(free) char *a = text_of(got);
	AUTO(free) char *b = text_of(want);
	char *rest_a = NULL, *rest_b = NULL;
	const char *line_a = strtok_r(a, "\n", &rest_a), *line_b = strtok_r(b, "\n", &rest_b);

	while (line_a != NULL && line_b != NULL && strcmp(line_a, line_b) == 0) {
		line_a = strtok_r(NULL, "\n", &rest_a);
		line_b = strtok_r(NULL, "\n", &rest_b);
	}
	if (CHECK_EQ_STR(line_a, line_b))
		return true;
	(void) fprintf(stderr, "%s\n", what);
	return false;
}

/* --- carrying out --- */

/* Also on the kernel that is none, unless it is NULL. */
static bool carry_out(struct kernel *kernel, struct fakekernel *fake, const struct plan *plan,
                      size_t n, const char *what)
{
	char text[OP_TEXT_MAX];

	for (size_t i = 0; i < n; i++) {
		const struct op *op = &plan->ops[i];
		enum op_class cost;

		if (op->kind != OP_WAIT_CARRIER && !CHECK_EQ_INT(kernel_carry_out(kernel, op), 0)) {
			(void) fprintf(stderr, "%s: %s: %s, in\n%s", what, op_format(op, text),
			               kernel_error_text(kernel), plancase_text(plan));
			return false;
		}
		if (fake != NULL)
			(void) fakekernel_carry_out(fake, op, &cost);
	}
	return true;
}

static struct plan *apply(struct kernel *kernel, const struct model *want, const char *what)
{
	AUTO(model_free) struct model *have = observe(kernel), *after = NULL;
	AUTO(fakekernel_free) struct fakekernel *fake = fakekernel_new(have);
	AUTO(plan_free) struct plan *plan = plan_make(want, have, NULL), *again = NULL;

	if (!carry_out(kernel, fake, plan, plan->n_ops, what))
		return TAKE_PTR(plan);
	after = observe(kernel);
	again = plan_make(want, after, NULL);
	if (!CHECK_EQ_INT(again->n_ops, 0)) {
		(void) fprintf(stderr, "%s: the second plan\n%s", what, plancase_text(again));
		(void) fprintf(stderr, "%s: the first\n%s", what, plancase_text(plan));
	} else if (!check_same(fakekernel_observe(fake), after, "the kernel that is none, and this")) {
		(void) fprintf(stderr, "%s: after\n%s", what, plancase_text(plan));
	}
	return TAKE_PTR(plan);
}

static void go_and_return(struct kernel *kernel, const struct model *before,
                          const struct model *want, unsigned *seed, unsigned number)
{
	AUTO(plan_free) struct plan *plan = plan_make(want, before, NULL), *back = NULL;
	const struct plan_options undo = {.management_link = "", .undone = plan};
	AUTO(model_free) struct model *there = NULL, *after = NULL;
	size_t n = number == 0 ? plan->n_ops : (size_t) rand_r(seed) % (plan->n_ops + 1);

	if (!carry_out(kernel, NULL, plan, n, "there"))
		return;
	there = observe(kernel);
	back = plan_make(before, there, &undo);
	if (!carry_out(kernel, NULL, back, back->n_ops, "back"))
		return;
	after = observe(kernel);
	if (check_same(after, before, "there and back, and before"))
		return;
	(void) fprintf(stderr, "broken off after %zu of\n%s", n, plancase_text(plan));
	(void) fprintf(stderr, "back\n%s", plancase_text(back));
}

/* --- one seed --- */

/* False: this kernel cannot make what is needed. */
static bool make_world(bool promote)
{
	(void) netns_enter_new();
	if (system("ip link add eth0 type dummy 2>/dev/null && ip link add x type bond 2>/dev/null") !=
	    0)
		return false;
	netns_run("ip link delete x");
	for (int i = 1; i < 4; i++)
		netns_run("ip link add eth%d type dummy", i);
	netns_run("sysctl -qw net.ipv6.conf.default.accept_dad=0 net.ipv6.conf.all.accept_dad=0 "
	          "net.ipv6.conf.default.router_solicitations=0");
	netns_run("sysctl -qw net.ipv4.conf.all.promote_secondaries=%d "
	          "net.ipv4.conf.default.promote_secondaries=%d",
	          promote, promote);
	for (int i = 0; i < 4; i++)
		netns_run("ip link set eth%d up", i);
	return true;
}

static void add_foreign(const struct model *m)
{
	if (model_find_link(m, "bond0") == NULL)
		return;
	netns_run("ip route add 172.16.0.0/16 via 10.0.0.200 dev bond0 proto 99 metric 7 initcwnd 20");
	netns_run("ip address add 10.0.0.77/24 dev bond0");
	netns_run("ip rule add priority 5000 from 10.0.0.0/24 table 77 protocol 99");
}

static bool test_seed(unsigned number)
{
	unsigned seed = number;
	AUTO(model_free) struct model *first = planrandom_model(&seed);
	AUTO(model_free) struct model *second = planrandom_model(&seed), *before = NULL;
	AUTO(kernel_free) struct kernel *kernel = NULL;
	AUTO(plan_free) struct plan *made = NULL;

	if (!make_world(number % 2 == 1))
		return false;
	CHECK_EQ_INT(kernel_new(NULL, &kernel), 0);
	made = apply(kernel, first, "first");
	if (check_failures != 0)
		return true;
	add_foreign(first);
	before = observe(kernel);
	for (unsigned i = 0; i < 3 && check_failures == 0; i++)
		go_and_return(kernel, before, second, &seed, i);
	plan_free(made);
	made = check_failures == 0 ? apply(kernel, second, "second") : NULL;
	return true;
}

/* --- objects of every kind, from one network to the next --- */

static const char *const networks[] = {
    "nic eth0 mtu 9000 up\nvlan v7 parent eth0 id 7 mtu 9000 up\nvlan v77 parent v7 id 77 up\n"
    "address v77 10.77.0.2/24\naddress v7 fd07::2/64\n"
    "route 10.78.0.0/16 via 10.77.0.1 dev v77\n",
    /* Another number, QinQ, and a lower MTU. */
    "nic eth0 mtu 1500 up\nvlan v7 parent eth0 id 8 protocol 0x88a8 up\n"
    "vlan v77 parent v7 id 77 mtu 1400 up\naddress v77 10.77.0.2/24\naddress v7 fd07::2/64\n",
    "nic eth0 master br0\nnic eth1 master br0\nbridge br0 stp 0 filtering 1 up\n"
    "address br0 10.0.0.2/24\naddress br0 fd00::2/64\nroute 0.0.0.0/0 via 10.0.0.1 dev br0\n",
    "nic eth0 master \nnic eth1 master br0\nnic eth2 master br0\n"
    "bridge br0 stp 1 filtering 0 up\naddress br0 10.0.0.3/24\naddress br0 fd00::2/80\n"
    "route 0.0.0.0/0 via 10.0.0.254 dev br0 mtu 1400\n",
    "nic eth0 master red\nvrf red table 10 up\naddress eth0 10.0.0.2/24\n"
    "address eth0 fd00::2/64\nroute 0.0.0.0/0 via 10.0.0.1 dev eth0 table 10\n"
    "route fd01::/32 via fd00::1 dev eth0 table 10 metric 5\n",
    "nic eth0 master \naddress eth0 10.0.0.2/24 metric 7\naddress eth0 fd00::2/64 noprefixroute\n"
    "route 0.0.0.0/0 via 10.0.0.1 dev eth0 src 10.0.0.2\nroute fd00::/64 dev eth0 metric 9\n"
    "route fd01::/32 via fd00::1 dev eth0 metric 5\n",
    "veth b0 peer b1 up\nveth b1 peer b0 up\naddress b0 10.5.0.2/24\ndummy d0 up\n"
    "wireguard wg0 port 51820 up\naddress d0 10.6.0.2/32\naddress wg0 10.8.0.2/24\n"
    "route 10.9.0.0/16 dev wg0\nroute 10.10.0.0/16 blackhole\n"
    "route 10.11.0.0/16 via 10.99.0.1 dev b0 onlink\nrule 100 from 10.6.0.0/24 table 7\n",
    "veth b0 peer b2 up\nveth b2 peer b0 up\naddress b0 10.5.0.2/24\n"
    "dummy d0 up mac 02:00:00:00:00:07 multicast 0\nwireguard wg0 port 51821 up\n"
    "address wg0 10.8.0.2/16\nroute 10.9.0.0/16 via 10.8.0.9 dev wg0\n"
    "rule 100 from 10.6.0.0/24 table 8\nrule 101 fwmark 7 table 8\n",
    "nic eth0 master bond0\nnic eth1 master bond0\nvlan v7 parent bond0 id 7 up\n"
    "bond bond0 up mode 1 arp_interval 1000 arp_ip_target 10.0.0.9 arp_validate 1 primary eth1\n"
    "address bond0 10.0.0.2/24\naddress v7 fd07::2/64\nroute fd01::/32 via fd07::1 dev v7\n",
    "nic eth0 master bond0\nnic eth2 master bond0\nvlan v7 parent bond0 id 7 up flags 3\n"
    "bond bond0 up mode 1 miimon 100 updelay 200 downdelay 400 primary eth0 fail_over_mac 1\n"
    "address bond0 10.0.0.2/24\naddress v7 fd07::2/64\nroute fd01::/32 via fd07::1 dev v7\n",
    "nic eth0 master bond0\nnic eth2 master bond0\nvlan v7 parent bond0 id 7 up flags 1\n"
    "bond bond0 up mode 1 miimon 200 updelay 200 downdelay 400 primary eth2 fail_over_mac 0\n"
    "address bond0 10.0.0.2/24\naddress v7 fd07::2/64\nroute fd01::/32 via fd07::1 dev v7\n",
    "nic eth0 master bond0\nnic eth2 master bond0\nvlan v7 parent bond0 id 7 up\n"
    "bond bond0 up mode 5 tlb_dynamic_lb 0\naddress v7 fd07::2/64\n"
    "route fd01::/32 via fd07::1 dev v7\n",
    "nic eth0 master \nnic eth1 master \nnic eth2 master \n",
};

static void test_kinds(void)
{
	AUTO(kernel_free) struct kernel *kernel = NULL;
	unsigned seed = 1;

	CHECK_EQ_INT(kernel_new(NULL, &kernel), 0);
	for (size_t i = 0; i < ARRAY_SIZE(networks) && check_failures == 0; i++) {
		AUTO(model_free) struct model *want = plancase_want(networks[i]);
		AUTO(model_free) struct model *before = observe(kernel);

		for (unsigned n = 0; n < 2 && check_failures == 0; n++)
			go_and_return(kernel, before, want, &seed, n);
		if (check_failures == 0)
			plan_free(apply(kernel, want, "kinds"));
		if (check_failures != 0)
			(void) fprintf(stderr, "network %zu:\n%s", i, networks[i]);
	}
}

int main(void)
{
	const char *one = getenv("SEED"), *many = getenv("SEEDS");
	unsigned first = one != NULL ? (unsigned) strtoul(one, NULL, 10) : 0;
	unsigned n = many != NULL ? (unsigned) strtoul(many, NULL, 10) : one != NULL ? 1 : SEEDS;

	if (make_world(true))
		test_kinds();
	for (unsigned i = first; i < first + n && check_failures == 0; i++) {
		if (!test_seed(i)) {
			(void) fprintf(stderr, "no bonds or dummies in this kernel: nothing was tested\n");
			break;
		}
		if (check_failures != 0)
			(void) fprintf(stderr, "seed %u\n", i);
	}
	return check_result();
}
