/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a change of each option of a bond costs, on a real kernel: the table of options holds what
 * the kernel demands, and a plan disturbs no more than that. Every option, on a bond that is up and
 * on one that is down, with ports and without, there and back. The ports are cables to a second
 * namespace; a kernel without bonds can only say so.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "check.h"
#include "net/attr.h"
#include "net/netlink.h"
#include "netconf/kernel/kernel.h"
#include "netns.h"
#include "plancase.h"

#define CARRIER_LIMIT_S 60
#define PORTS 2

/* The same option with two values; what else is needed for it is in both. What the kernel says to
 * one who changes it without more ado is by its constraint. */
struct row {
	enum bond_option option;
	const char *one, *other;
};

/* Nobody answers for ARP's targets, and none of these waits until that is noticed. */
static const struct row rows[] = {
    {BOND_MIIMON, "mode 1 miimon 100", "mode 1 miimon 200"},
    {BOND_UPDELAY, "mode 1 miimon 100 updelay 0", "mode 1 miimon 100 updelay 200"},
    {BOND_DOWNDELAY, "mode 1 miimon 100 downdelay 0", "mode 1 miimon 100 downdelay 300"},
    {BOND_PEER_NOTIF_DELAY, "mode 1 miimon 100 peer_notif_delay 0",
     "mode 1 miimon 100 peer_notif_delay 400"},
    {BOND_USE_CARRIER, "mode 1 miimon 100 use_carrier 1", "mode 1 miimon 100 use_carrier 0"},
    {BOND_PRIMARY_RESELECT, "mode 1 miimon 100 primary_reselect 0",
     "mode 1 miimon 100 primary_reselect 2"},
    {BOND_RESEND_IGMP, "mode 1 miimon 100 resend_igmp 1", "mode 1 miimon 100 resend_igmp 9"},
    {BOND_NUM_PEER_NOTIF, "mode 1 miimon 100 num_peer_notif 1",
     "mode 1 miimon 100 num_peer_notif 3"},
    {BOND_ALL_SLAVES_ACTIVE, "mode 1 miimon 100 all_slaves_active 0",
     "mode 1 miimon 100 all_slaves_active 1"},
    {BOND_MIN_LINKS, "mode 1 miimon 100 min_links 0", "mode 1 miimon 100 min_links 1"},
    {BOND_LP_INTERVAL, "mode 1 miimon 100 lp_interval 1", "mode 1 miimon 100 lp_interval 7"},
    {BOND_XMIT_HASH_POLICY, "mode 1 miimon 100 xmit_hash_policy 0",
     "mode 1 miimon 100 xmit_hash_policy 2"},
    {BOND_FAIL_OVER_MAC, "mode 1 miimon 100 fail_over_mac 0", "mode 1 miimon 100 fail_over_mac 1"},
    {BOND_ARP_INTERVAL, "mode 1 arp_interval 600000 arp_ip_target 10.0.0.1",
     "mode 1 arp_interval 900000 arp_ip_target 10.0.0.1"},
    {BOND_ARP_IP_TARGET, "mode 1 arp_interval 600000 arp_ip_target 10.0.0.1",
     "mode 1 arp_interval 600000 arp_ip_target 10.0.0.3"},
    {BOND_NS_IP6_TARGET, "mode 1 arp_interval 600000 ns_ip6_target fd00::1",
     "mode 1 arp_interval 600000 ns_ip6_target fd00::3"},
    {BOND_ARP_VALIDATE, "mode 1 arp_interval 600000 arp_ip_target 10.0.0.1 arp_validate 0",
     "mode 1 arp_interval 600000 arp_ip_target 10.0.0.1 arp_validate 3"},
    {BOND_ARP_ALL_TARGETS, "mode 1 arp_interval 600000 arp_ip_target 10.0.0.1 arp_all_targets 0",
     "mode 1 arp_interval 600000 arp_ip_target 10.0.0.1 arp_all_targets 1"},
    {BOND_MISSED_MAX, "mode 1 arp_interval 600000 arp_ip_target 10.0.0.1 missed_max 2",
     "mode 1 arp_interval 600000 arp_ip_target 10.0.0.1 missed_max 9"},
    {BOND_PRIMARY, "mode 1 miimon 100 primary p0", "mode 1 miimon 100 primary p1"},
    {BOND_MODE, "mode 1 miimon 100", "mode 5 miimon 100"},
    {BOND_TLB_DYNAMIC_LB, "mode 5 miimon 100 tlb_dynamic_lb 1",
     "mode 5 miimon 100 tlb_dynamic_lb 0"},
    {BOND_PACKETS_PER_SLAVE, "mode 0 miimon 100 packets_per_slave 1",
     "mode 0 miimon 100 packets_per_slave 5"},
    {BOND_AD_ACTOR_SYS_PRIO, "mode 4 miimon 100 ad_actor_sys_prio 65535",
     "mode 4 miimon 100 ad_actor_sys_prio 9"},
    {BOND_AD_ACTOR_SYSTEM, "mode 4 miimon 100 ad_actor_system 02:00:00:00:00:08",
     "mode 4 miimon 100 ad_actor_system 02:00:00:00:00:09"},
    {BOND_LACP_RATE, "mode 4 miimon 100 lacp_rate 0", "mode 4 miimon 100 lacp_rate 1"},
    {BOND_LACP_ACTIVE, "mode 4 miimon 100 lacp_active 1", "mode 4 miimon 100 lacp_active 0"},
    {BOND_AD_SELECT, "mode 4 miimon 100 ad_select 0", "mode 4 miimon 100 ad_select 2"},
    {BOND_AD_USER_PORT_KEY, "mode 4 miimon 100 ad_user_port_key 0",
     "mode 4 miimon 100 ad_user_port_key 9"},
};

struct state {
	bool up, has_ports;
};

/* --- what is seen of a change --- */

struct seen {
	unsigned shut;     /* messages of a bond that is not up */
	unsigned left;     /* messages of a port without a master */
	uint32_t carriers; /* of the bond and its ports: how often theirs came or went */
	bool has_lost;     /* messages */
};

static struct ev_loop *ev;
static struct kernel *kernel;
static struct netlink *monitor;
static struct seen seen;
static uint64_t known; /* options of this kernel's: BOND_BIT()s */

static bool is_port(const char *name)
{
	return name[0] == 'p';
}

static void on_message(const struct nlmsghdr *nlh, void *userdata UNUSED)
{
	const struct nlattr *table[IFLA_MAX + 1];
	struct ifinfomsg ifi;
	char name[IFNAMSIZ];

	if (nlh->nlmsg_type != RTM_NEWLINK || !attr_read(nlh, &ifi, sizeof(ifi), table, IFLA_MAX + 1))
		return;
	(void) attr_text(table[IFLA_IFNAME], name, sizeof(name));
	if (strcmp(name, "bond0") == 0 && (ifi.ifi_flags & IFF_UP) == 0)
		seen.shut++;
	if (is_port(name) && table[IFLA_MASTER] == NULL)
		seen.left++;
}

static void on_lost(void *userdata UNUSED)
{
	seen.has_lost = true;
}

static void on_link(const struct nlmsghdr *nlh, void *userdata)
{
	const struct nlattr *table[IFLA_MAX + 1];
	char name[IFNAMSIZ];

	if (nlh->nlmsg_type != RTM_NEWLINK ||
	    !attr_read(nlh, NULL, sizeof(struct ifinfomsg), table, IFLA_MAX + 1))
		return;
	(void) attr_text(table[IFLA_IFNAME], name, sizeof(name));
	if (is_port(name) || strcmp(name, "bond0") == 0)
		*(uint32_t *) userdata += attr_u32(table[IFLA_CARRIER_CHANGES], 0);
}

static uint32_t carriers(void)
{
	static const struct ifinfomsg ifi = {.ifi_family = AF_UNSPEC};
	uint32_t n = 0;
	AUTO(message_free) struct message *m = message_new();

	message_begin(m, RTM_GETLINK, NLM_F_DUMP, &ifi, sizeof(ifi));
	CHECK_EQ_INT(netlink_ask(monitor, m, on_link, &n), 0);
	return n;
}

/* The kernel tells of a change before the call that makes it returns. */
static void hear(void)
{
	for (int i = 0; i < 100; i++)
		ev_run(ev, EVRUN_NOWAIT);
}

/* --- making and changing --- */

static struct model *observe(void)
{
	struct model *model = NULL;

	CHECK_EQ_INT(kernel_observe(kernel, &model), 0);
	return model != NULL ? model : model_new();
}

/* What is wanted of all. */
static struct model *network(const char *options, struct state state)
{
	char text[512];

	(void) snprintf(
	    text, sizeof(text), "bond bond0 %s %s\n%s%s", state.up ? "up" : "down", options,
	    state.has_ports ? "nic p0 master bond0\nnic p1 master bond0\n" : "",
	    state.up ? "address bond0 10.0.0.2/24\nroute 10.9.0.0/16 via 10.0.0.1 dev bond0\n" : "");
	return plancase_want(text);
}

static void carry_out(const struct plan *plan)
{
	char text[OP_TEXT_MAX];

	for (size_t i = 0; i < plan->n_ops; i++) {
		const struct op *op = &plan->ops[i];

		if (op->kind != OP_WAIT_CARRIER && !CHECK_EQ_INT(kernel_carry_out(kernel, op), 0)) {
			(void) fprintf(stderr, "%s: %s\n", op_format(op, text), kernel_error_text(kernel));
			return;
		}
	}
}

/* The class that the plan had. */
static enum op_class apply(const struct model *want)
{
	AUTO(model_free) struct model *have = observe();
	AUTO(plan_free) struct plan *plan = plan_make(want, have, NULL);

	carry_out(plan);
	return plan->class;
}

static void check_nothing_left(const struct model *want)
{
	AUTO(model_free) struct model *have = observe();
	AUTO(plan_free) struct plan *plan = plan_make(want, have, NULL);

	if (!CHECK_EQ_INT(plan->n_ops, 0))
		(void) fprintf(stderr, "the second plan\n%s", plancase_text(plan));
}

/* Links come up in their own time: LACP alone thinks for seconds. */
static void wait_for_carriers(struct state state)
{
	static const char *const links[] = {"p0", "p1", "bond0"};
	time_t end = time(NULL) + CARRIER_LIMIT_S;

	if (!state.has_ports)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(links) - (state.up ? 0 : 1); i++) {
		while (kernel_carrier(kernel, links[i]) != 1 && time(NULL) < end)
			(void) nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
		CHECK_EQ_INT(kernel_carrier(kernel, links[i]), 1);
	}
}

/* --- the promises --- */

static bool needs_down(enum bond_option option)
{
	return bond_options[option].constraint == BOND_NEEDS_DOWN ||
	       bond_options[option].constraint == BOND_NEEDS_DOWN_EMPTY;
}

static bool needs_empty(enum bond_option option)
{
	return bond_options[option].constraint == BOND_NEEDS_EMPTY ||
	       bond_options[option].constraint == BOND_NEEDS_DOWN_EMPTY;
}

/* Live, but the switch takes the bond for another one. */
static bool agrees_anew(enum bond_option option)
{
	return option == BOND_AD_ACTOR_SYS_PRIO || option == BOND_AD_ACTOR_SYSTEM;
}

/* The table asks for no more than the kernel does. */
static void check_refusal(const struct model *want, enum bond_option option, struct state state)
{
	bool has_ports = needs_empty(option) && state.has_ports;
	bool is_up = needs_down(option) && state.up;
	struct op op = {.kind = OP_BOND_SET, .options = BOND_BIT(option), .link.name = "bond0"};

	if (!has_ports && !is_up)
		return;
	op.link.kind = LINK_BOND;
	op.link.bond = model_find_link(want, "bond0")->bond;
	CHECK_EQ_INT(kernel_carry_out(kernel, &op), has_ports ? -ENOTEMPTY : -EBUSY);
}

static void check_change(const struct model *want, enum bond_option option, struct state state)
{
	bool shut = needs_down(option) && state.up, clear = needs_empty(option) && state.has_ports;
	bool anew = agrees_anew(option) && state.up && state.has_ports;
	enum op_class class = shut ? OP_ADDRESS_BREAK : clear || anew ? OP_BLIP : OP_HITLESS;
	AUTO(model_free) struct model *after = NULL;
	const struct link *bond;

	check_refusal(want, option, state);
	hear();
	seen = (struct seen){.carriers = carriers()};
	CHECK_EQ_STR(op_class_name(apply(want)), op_class_name(class));
	check_nothing_left(want);
	hear();
	CHECK(!seen.has_lost);
	CHECK_EQ_INT(seen.shut > 0, state.up ? shut : seen.shut > 0);
	CHECK_EQ_INT(seen.left > 0, clear);
	if (class == OP_HITLESS)
		CHECK_EQ_INT(carriers(), seen.carriers);
	after = observe();
	bond = model_find_link(after, "bond0");
	CHECK(bond != NULL && bond->bond != NULL && bond->up == state.up &&
	      bond_option_equal(bond->bond, model_find_link(want, "bond0")->bond, option));
}

/* A kernel that has no such option does not tell it either. A list says nothing while it is empty:
 * the one that came last is known by an option that came with it. */
static bool is_known(enum bond_option option)
{
	AUTO(model_free) struct model *model = observe();
	const struct link *bond = model_find_link(model, "bond0");

	if (option == BOND_NS_IP6_TARGET)
		option = BOND_MISSED_MAX;
	return bond != NULL && bond->bond != NULL && bond_has(bond->bond, option);
}

static void test_row(const struct row *row, struct state state)
{
	AUTO(model_free) struct model *one = network(row->one, state);
	AUTO(model_free) struct model *other = network(row->other, state);

	/* Both are about ports. */
	if ((row->option == BOND_PRIMARY || row->option == BOND_MIN_LINKS) && !state.has_ports)
		return;
	(void) apply(one);
	if (!is_known(row->option)) {
		(void) fprintf(stderr, "no %s in this kernel\n", bond_options[row->option].name);
		return;
	}
	known |= BOND_BIT(row->option);
	wait_for_carriers(state);
	check_change(other, row->option, state);
	wait_for_carriers(state);
	check_change(one, row->option, state);
	if (check_failures > 0)
		(void) fprintf(stderr, "%s of a bond that is %s, %s ports\n",
		               bond_options[row->option].name, state.up ? "up" : "down",
		               state.has_ports ? "with" : "without");
}

/* --- options that do not go with others --- */

static int set_alone(enum bond_option option, const char *options)
{
	AUTO(model_free) struct model *want = network(options, (struct state){0});
	struct op op = {.kind = OP_BOND_SET, .options = BOND_BIT(option), .link.name = "bond0"};

	op.link.kind = LINK_BOND;
	op.link.bond = model_find_link(want, "bond0")->bond;
	return kernel_carry_out(kernel, &op);
}

/* Those that `is_out` picks, on a bond with these options. */
static void check_refused(const char *options, bool (*is_out)(enum bond_option, enum bond_mode),
                          enum bond_mode mode, int error)
{
	AUTO(model_free) struct model *want = network(options, (struct state){0});

	(void) apply(want);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		enum bond_option option = rows[i].option;

		if ((known & BOND_BIT(option)) != 0 && is_out(option, mode) &&
		    !CHECK_EQ_INT(set_alone(option, rows[i].other), error))
			(void) fprintf(stderr, "%s, %s\n", bond_options[option].name, options);
	}
}

static bool is_of_another_mode(enum bond_option option, enum bond_mode mode)
{
	/* The kernel keeps these for a mode that reads them. */
	if (option == BOND_ARP_IP_TARGET || option == BOND_NS_IP6_TARGET ||
	    option == BOND_ARP_ALL_TARGETS)
		return false;
	return !bond_mode_allows(mode, option);
}

static bool needs_miimon(enum bond_option option, enum bond_mode mode UNUSED)
{
	return bond_options[option].needs_miimon;
}

static void test_refused(void)
{
	for (enum bond_mode mode = 0; mode < BOND_MODES; mode++) {
		char options[32];

		(void) snprintf(options, sizeof(options), "mode %d miimon 100", (int) mode);
		check_refused(options, is_of_another_mode, mode, -EACCES);
	}
	check_refused("mode 1 arp_interval 600000 arp_ip_target 10.0.0.1", needs_miimon,
	              BOND_ACTIVE_BACKUP, -EPERM);
}

/* --- the world --- */

static bool make_world(void)
{
	int far = netns_enter_new();

	(void) netns_enter_new();
	if (system("ip link add bond0 type bond 2>/dev/null") != 0)
		return false;
	netns_run("ip link delete bond0");
	netns_run("sysctl -qw net.ipv6.conf.default.disable_ipv6=1");
	for (int i = 0; i < PORTS; i++) {
		char here[IFNAMSIZ], there[IFNAMSIZ], macs[2][18];

		(void) snprintf(here, sizeof(here), "p%d", i);
		(void) snprintf(there, sizeof(there), "q%d", i);
		for (int side = 0; side < 2; side++)
			(void) snprintf(macs[side], sizeof(macs[side]), "02:00:00:00:%02x:%02x",
			                (unsigned) side & 0xff, (unsigned) i & 0xff);
		netns_veth(here, macs[0], far, there, macs[1]);
	}
	return true;
}

int main(void)
{
	static const unsigned groups[] = {RTNLGRP_LINK};

	if (!make_world()) {
		(void) fprintf(stderr, "no bonds in this kernel: nothing was tested\n");
		return check_result();
	}
	ev = ev_default_loop(EVFLAG_AUTO);
	CHECK_EQ_INT(kernel_new(NULL, &kernel), 0);
	CHECK_EQ_INT(netlink_new(ev, NETLINK_ROUTE, &monitor), 0);
	CHECK_EQ_INT(netlink_monitor(monitor, groups, ARRAY_SIZE(groups), on_message, on_lost, NULL),
	             0);
	for (unsigned i = 0; i < 4; i++) {
		const struct state state = {.up = i < 2, .has_ports = i % 2 == 0};

		for (size_t at = 0; at < ARRAY_SIZE(rows) && check_failures == 0; at++)
			test_row(&rows[at], state);
		if (check_failures == 0)
			netns_run("ip link delete bond0");
	}
	test_refused();
	netlink_free(monitor);
	kernel_free(kernel);
	return check_result();
}
