/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a change of a bond costs: every row of the table of options, with the bond open or closed,
 * with ports or without, and not a step more than the row needs. What is on the bond and on its
 * VLANs is there afterwards, whoever put it there.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "check.h"
#include "plancase.h"

struct row {
	enum bond_option option;
	const char *mode;
	const char *others; /* on both sides */
	const char *from, *to;
};

#define ARP "arp_interval 1000 arp_ip_target 10.0.0.1"

static const struct row rows[] = {
    {BOND_MODE, "", "miimon 100", "1", "4"},
    {BOND_MODE, "", "miimon 100", "4", "0"},
    {BOND_MIIMON, "1", "", "100", "200"},
    {BOND_MIIMON, "1", "updelay 400 downdelay 200", "100", "200"},
    {BOND_UPDELAY, "1", "miimon 100", "200", "400"},
    {BOND_DOWNDELAY, "4", "miimon 100", "200", "400"},
    {BOND_PEER_NOTIF_DELAY, "1", "miimon 100", "200", "400"},
    {BOND_USE_CARRIER, "1", "miimon 100", "1", "0"},
    {BOND_ARP_INTERVAL, "1", "arp_ip_target 10.0.0.1", "1000", "2000"},
    {BOND_ARP_INTERVAL, "1", "arp_ip_target 10.0.0.1", "1000", "0 miimon 100 updelay 200"},
    {BOND_ARP_VALIDATE, "1", ARP, "0", "1"},
    {BOND_ARP_ALL_TARGETS, "1", ARP, "0", "1"},
    {BOND_MISSED_MAX, "1", ARP, "2", "3"},
    {BOND_PRIMARY_RESELECT, "1", "miimon 100", "0", "1"},
    {BOND_FAIL_OVER_MAC, "1", "miimon 100", "0", "1"},
    {BOND_FAIL_OVER_MAC, "1", "miimon 100", "2", "0"},
    {BOND_XMIT_HASH_POLICY, "4", "miimon 100", "0", "1"},
    {BOND_RESEND_IGMP, "1", "miimon 100", "1", "2"},
    {BOND_NUM_PEER_NOTIF, "1", "miimon 100", "1", "2"},
    {BOND_ALL_SLAVES_ACTIVE, "0", "miimon 100", "0", "1"},
    {BOND_MIN_LINKS, "4", "miimon 100", "2", "1"},
    {BOND_LP_INTERVAL, "5", "miimon 100", "1", "2"},
    {BOND_PACKETS_PER_SLAVE, "0", "miimon 100", "1", "2"},
    {BOND_LACP_RATE, "4", "miimon 100", "0", "1"},
    {BOND_LACP_ACTIVE, "4", "miimon 100", "1", "0"},
    {BOND_AD_SELECT, "4", "miimon 100", "0", "1"},
    {BOND_AD_ACTOR_SYS_PRIO, "4", "miimon 100", "65535", "5"},
    {BOND_AD_USER_PORT_KEY, "4", "miimon 100", "0", "5"},
    {BOND_TLB_DYNAMIC_LB, "5", "miimon 100", "1", "0"},
};

/* --- how the bond stands --- */

static char *network(const struct row *row, const char *value, bool up, bool ports)
{
	const char *master = ports ? "master bond0" : "";
	const char *objects = !up ? ""
	                          : "address bond0 fd00::2/64\naddress v7 fd07::2/64\n"
	                            "route 0.0.0.0/0 via 10.0.0.1 dev bond0\n"
	                            "route 172.15.0.0/16 via 10.0.0.9 dev bond0 proto 98\n"
	                            "route fd01::/32 via fd07::1 dev v7 metric 9\n"
	                            "route 172.16.0.0/12 via 10.7.0.9 dev v7 proto 99\n";

	return xasprintf("nic eth0 %s\nnic eth1 %s\n"
	                 "bond bond0 %s %s%s %s %s %s\n"
	                 "vlan v7 parent bond0 id 7 %s\n"
	                 "address bond0 10.0.0.2/24\naddress v7 10.7.0.2/24\n%s",
	                 master, master, up ? "up" : "down", row->mode[0] != '\0' ? "mode " : "",
	                 row->mode, row->others, bond_options[row->option].name, value,
	                 up ? "up" : "down", objects);
}

/* What is wanted says nothing of other programs. */
static char *without_foreign(const char *text)
{
	AUTO(free) char *copy = xstrdup(text);
	char *rest = NULL, *kept = xstrdup("");

	for (char *line = strtok_r(copy, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest)) {
		AUTO(free) char *old = kept;

		kept = strstr(line, "proto ") != NULL ? xstrdup(old) : xasprintf("%s%s\n", old, line);
	}
	return kept;
}

struct count {
	unsigned closed, released, vlan;
};

static struct count count(const struct plan *plan)
{
	struct count n = {0};

	for (size_t i = 0; i < plan->n_ops; i++) {
		const struct op *op = &plan->ops[i];
		bool sets = op->kind == OP_LINK_SET;

		n.closed += sets && (op->attributes & LINK_HAS_UP) != 0 && !op->link.up;
		n.released += sets && (op->attributes & LINK_HAS_MASTER) != 0 && op->link.master[0] == '\0';
		n.vlan += op->kind >= OP_ADDRESS_ADD &&
		          (strcmp(op->address.link, "v7") == 0 || strcmp(op->route.link, "v7") == 0);
	}
	return n;
}

static bool has_foreign(const struct model *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n_routes; i++)
		n += m->routes[i].owner == OWNER_FOREIGN;
	return n == 2;
}

static void check_row(const struct row *row, bool up, bool ports)
{
	const enum bond_constraint c = bond_options[row->option].constraint;
	AUTO(free) char *before = network(row, row->from, up, ports);
	AUTO(free) char *whole = network(row, row->to, up, ports);
	AUTO(free) char *after = without_foreign(whole);
	AUTO(model_free) struct model *have = plancase_have(before), *want = plancase_want(after);
	AUTO(fakekernel_free) struct fakekernel *k = fakekernel_new(have);
	AUTO(plan_free)
	struct plan *plan = plancase_apply(k, want, NULL, bond_options[row->option].name);
	const struct count n = count(plan);
	bool down = c == BOND_NEEDS_DOWN || c == BOND_NEEDS_DOWN_EMPTY;
	bool empty = c == BOND_NEEDS_EMPTY || c == BOND_NEEDS_DOWN_EMPTY;
	unsigned failures = check_failures;

	CHECK_EQ_INT(plan->n_obstacles, 0);
	CHECK(plan->n_ops > 0);
	CHECK_EQ_INT(n.closed, up && down);
	CHECK_EQ_INT(n.released, ports && empty ? 2 : 0);
	CHECK_EQ_INT(n.vlan, 0);
	CHECK(!up || has_foreign(fakekernel_observe(k)));
	if (c == BOND_LIVE)
		CHECK_EQ_INT(plan->n_ops, 1);
	/* The switch has to agree anew. */
	if (c == BOND_LIVE && ports)
		CHECK_EQ_INT(plan->class,
		             up && row->option == BOND_AD_ACTOR_SYS_PRIO ? OP_BLIP : OP_HITLESS);
	if (failures != check_failures)
		(void) fprintf(stderr, "%s %s -> %s, bond %s, ports %d:\n%s",
		               bond_options[row->option].name, row->from, row->to, up ? "up" : "down",
		               ports, plancase_text(plan));
}

static void test_rows(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		check_row(&rows[i], true, true);
		check_row(&rows[i], true, false);
		check_row(&rows[i], false, true);
		check_row(&rows[i], false, false);
	}
}

/* Every option has its row, but for those that need one of their own. */
static void test_rows_are_all(void)
{
	uint64_t seen = BOND_BIT(BOND_PRIMARY) | BOND_BIT(BOND_ACTIVE_SLAVE) |
	                BOND_BIT(BOND_ARP_IP_TARGET) | BOND_BIT(BOND_NS_IP6_TARGET) |
	                BOND_BIT(BOND_AD_ACTOR_SYSTEM);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		seen |= BOND_BIT(rows[i].option);
	CHECK_EQ_INT(seen, BOND_BIT(BOND_OPTIONS) - 1);
}

/* --- the very steps, where their order is the point --- */

struct golden {
	const char *have, *want, *plan;
};

#define PORTS "nic eth0 master bond0\nnic eth1 master bond0\n"
#define ABOVE                                            \
	"vlan v7 parent bond0 id 7\naddress v7 fd07::2/64\n" \
	"address bond0 10.0.0.2/24\nroute 0.0.0.0/0 via 10.0.0.1 dev bond0\n"

static const struct golden goldens[] = {
    {PORTS "bond bond0 mode 4 miimon 100 lacp_rate 0\n" ABOVE,
     PORTS "bond bond0 mode 4 miimon 100 lacp_rate 1\n" ABOVE,
     "hitless set v7 vlan_flags reorder_hdr,loose_binding\n"
     "address-break set bond0 down\n"
     "hitless set bond0 lacp_rate fast\n"
     "hitless set bond0 up\n"
     "hitless set v7 vlan_flags reorder_hdr\n"
     "hitless put back route default via 10.0.0.1 dev bond0\n"
     "hitless wait for the carrier of bond0, at most 10000 ms\n"},
    {PORTS "bond bond0 mode 1 miimon 100 fail_over_mac 0\n" ABOVE,
     PORTS "bond bond0 mode 1 miimon 100 fail_over_mac 1\n" ABOVE,
     "blip set eth0 master none\n"
     "blip set eth1 master none\n"
     "hitless set bond0 fail_over_mac active\n"
     "blip set eth0 master bond0\n"
     "blip set eth1 master bond0\n"
     "hitless wait for the carrier of bond0, at most 10000 ms\n"},
    {PORTS "bond bond0 mode 1 miimon 100\n" ABOVE, PORTS "bond bond0 mode 4 miimon 100\n" ABOVE,
     "hitless set v7 vlan_flags reorder_hdr,loose_binding\n"
     "address-break set bond0 down\n"
     "blip set eth0 master none\n"
     "blip set eth1 master none\n"
     "hitless set bond0 mode 802.3ad\n"
     "blip set eth0 master bond0\n"
     "blip set eth1 master bond0\n"
     "hitless set bond0 up\n"
     "hitless set v7 vlan_flags reorder_hdr\n"
     "hitless put back route default via 10.0.0.1 dev bond0\n"
     "hitless wait for the carrier of bond0, at most 10000 ms\n"},
    /* Ports that may have been quiet for long are judged by ARP from one moment to the next. */
    {PORTS "bond bond0 mode 1 miimon 100\n" ABOVE,
     PORTS "bond bond0 mode 1 arp_interval 1000 arp_ip_target 10.0.0.1\n" ABOVE,
     "blip set bond0 miimon 0 arp_interval 1000 arp_ip_target 10.0.0.1\n"},
    {PORTS "bond bond0 mode 1 arp_interval 1000 arp_ip_target 10.0.0.1\n" ABOVE,
     PORTS "bond bond0 mode 1 arp_interval 400 arp_ip_target 10.0.0.1\n" ABOVE,
     "blip set bond0 arp_interval 400\n"},
    {PORTS "bond bond0 mode 1 arp_interval 1000 arp_ip_target 10.0.0.1\n" ABOVE,
     PORTS "bond bond0 mode 1 arp_interval 500 arp_ip_target 10.0.0.1\n" ABOVE,
     "hitless set bond0 arp_interval 500\n"},
    {"nic eth0\nnic eth1\nbond bond0 mode 1 miimon 100\n",
     "bond bond0 mode 1 arp_interval 1000 arp_ip_target 10.0.0.1\n",
     "hitless set bond0 miimon 0 arp_interval 1000 arp_ip_target 10.0.0.1\n"},
    /* A primary that is not there yet. */
    {PORTS "bond bond0 mode 1 miimon 100 primary eth0\n" ABOVE,
     PORTS "bond bond0 mode 1 miimon 100 primary eth9\n" ABOVE,
     "! the primary port of 'bond0', 'eth9', is not there\n"},
    {PORTS "bond bond0 mode 1 miimon 100 primary eth0\n" ABOVE,
     PORTS "bond bond0 mode 1 miimon 100 primary eth1\n" ABOVE, "hitless set bond0 primary eth1\n"},
    {PORTS "nic eth2\nbond bond0 mode 1 miimon 100\n" ABOVE,
     PORTS "nic eth2 master bond0\nbond bond0 mode 1 miimon 100 primary eth2\n" ABOVE,
     "hitless set eth2 down\n"
     "hitless set eth2 master bond0\n"
     "hitless wait for the carrier of eth2, at most 10000 ms\n"
     "hitless set bond0 primary eth2\n"},
    /* Lists and addresses change live, too. */
    {PORTS "bond bond0 mode 1 arp_interval 1000 arp_ip_target 10.0.0.1\n" ABOVE,
     PORTS "bond bond0 mode 1 arp_interval 1000 arp_ip_target 10.0.0.9\n" ABOVE,
     "hitless set bond0 arp_ip_target 10.0.0.9\n"},
    {PORTS "bond bond0 mode 1 arp_interval 1000 ns_ip6_target fd00::1\n" ABOVE,
     PORTS "bond bond0 mode 1 arp_interval 1000 ns_ip6_target fd00::9\n" ABOVE,
     "hitless set bond0 ns_ip6_target fd00::9\n"},
    {PORTS "bond bond0 mode 4 miimon 100 ad_actor_system 02:00:00:00:00:08\n" ABOVE,
     PORTS "bond bond0 mode 4 miimon 100 ad_actor_system 02:00:00:00:00:09\n" ABOVE,
     "blip set bond0 ad_actor_system 02:00:00:00:00:09\n"},
    /* More ports are needed from now on: first the ports. */
    {PORTS "nic eth2\nbond bond0 mode 4 miimon 100 min_links 1\n",
     PORTS "nic eth2 master bond0\nbond bond0 mode 4 miimon 100 min_links 3\n",
     "hitless set eth2 down\n"
     "hitless set eth2 master bond0\n"
     "hitless wait for the carrier of eth2, at most 10000 ms\n"
     "hitless set bond0 min_links 3\n"},
};

static void test_goldens(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(goldens); i++) {
		AUTO(model_free) struct model *have = plancase_have(goldens[i].have);
		AUTO(model_free) struct model *want = plancase_want(goldens[i].want);
		AUTO(fakekernel_free) struct fakekernel *k = fakekernel_new(have);
		AUTO(plan_free) struct plan *plan = plancase_apply(k, want, NULL, goldens[i].want);

		if (!CHECK_EQ_STR(plancase_text(plan), goldens[i].plan))
			(void) fprintf(stderr, "of\n%s", goldens[i].want);
	}
}

/* --- members: the bond never lacks its carrier --- */

struct exchange {
	const char *have, *want;
};

static const struct exchange exchanges[] = {
    {"nic eth0 master bond0\nnic eth1 master bond0\nnic eth2\nnic eth3\n"
     "bond bond0 mode 4 miimon 100 min_links 2\n",
     "nic eth0 master \nnic eth1 master \nnic eth2 master bond0\nnic eth3 master bond0\n"
     "bond bond0 mode 4 miimon 100 min_links 2\n"},
    {"nic eth0 master bond0\nnic eth1 master bond0\nnic eth2\n"
     "bond bond0 mode 4 miimon 100 min_links 2\n",
     "nic eth0 master \nnic eth1 master bond0\nnic eth2 master bond0\n"
     "bond bond0 mode 4 miimon 100 min_links 2\n"},
    {"nic eth0 master bond0\nnic eth1 master bond0\nbond bond0 mode 4 miimon 100 min_links 2\n",
     "nic eth0 master bond0\nnic eth1 master \nbond bond0 mode 4 miimon 100 min_links 1\n"},
    {"nic eth0 master bond0\nnic eth1 master bond0\nnic eth2 master bond1\nnic eth3 master bond1\n"
     "bond bond0 mode 4 miimon 100 min_links 1\nbond bond1 mode 1 miimon 100\n",
     "nic eth0 master bond1\nnic eth1 master bond0\nnic eth2 master bond0\nnic eth3 master bond1\n"
     "bond bond0 mode 4 miimon 100 min_links 1\nbond bond1 mode 1 miimon 100\n"},
    {"nic eth0 master bond0\nnic eth1 master bond0\nnic eth2 master bond1\nnic eth3 master bond1\n"
     "bond bond0 mode 4 miimon 100 min_links 2\nbond bond1 mode 4 miimon 100 min_links 2\n",
     "nic eth0 master bond1\nnic eth1 master bond1\nnic eth2 master bond0\nnic eth3 master bond0\n"
     "bond bond0 mode 4 miimon 100 min_links 2\nbond bond1 mode 4 miimon 100 min_links 2\n"},
};

static void test_members(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(exchanges); i++) {
		AUTO(model_free) struct model *have = plancase_have(exchanges[i].have);
		AUTO(model_free) struct model *want = plancase_want(exchanges[i].want);
		AUTO(fakekernel_free) struct fakekernel *k = fakekernel_new(have);
		AUTO(plan_free) struct plan *plan = plan_make(want, fakekernel_observe(k), NULL);
		AUTO(plan_free) struct plan *again = NULL;
		bool fell = false;

		for (size_t n = 0; n < plan->n_ops; n++) {
			enum op_class cost;

			CHECK_EQ_INT(fakekernel_carry_out(k, &plan->ops[n], &cost), 0);
			for (size_t j = 0; j < fakekernel_observe(k)->n_links; j++) {
				const struct link *link = &fakekernel_observe(k)->links[j];

				fell |= link->kind == LINK_BOND && !link->carrier;
			}
		}
		again = plan_make(want, fakekernel_observe(k), NULL);
		if (!CHECK(!fell) || !CHECK_EQ_INT(again->n_ops, 0))
			(void) fprintf(stderr, "%s->\n%s", exchanges[i].want, plancase_text(plan));
	}
}

int main(void)
{
	test_rows();
	test_rows_are_all();
	test_goldens();
	test_members();
	return check_result();
}
