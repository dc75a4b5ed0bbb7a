/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links of the kinds that not every kernel has: what is encoded for creating one, decoded again as
 * if the kernel had dumped it, is the same link. What kernels make of it, the stories in a virtual
 * machine show.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <malloc.h>

#include "netconf/kernel/decode.h"
#include "netconf/kernel/encode.h"
#include "tests/unit/check.h"

#include <linux/if.h> /* behind net/if.h only */

static int ifindex(const char *name, void *userdata UNUSED)
{
	return strncmp(name, "eth", 3) == 0 ? 10 + atoi(name + 3) : 0;
}

static const struct encode_names names = {ifindex, NULL};

/* A dump has a number. */
static int to_and_fro(const struct link *link, struct link *ret_link,
                      struct decode_link_refs *ret_refs)
{
	struct op op = {.kind = OP_LINK_CREATE, .link = *link};
	struct ifinfomsg ifi = {.ifi_index = 7};
	const char *missing;
	AUTO(message_free) struct message *m = message_new();

	CHECK_EQ_INT(encode_op(&op, &names, m, &missing), 0);
	CHECK_EQ_INT(message_header(m)->nlmsg_type, RTM_NEWLINK);
	memcpy(NLMSG_DATA(message_header(m)), &ifi, sizeof(ifi));
	return decode_link(message_header(m), ret_link, ret_refs);
}

/* Each option has a value of its own, so that no two can be mixed up. */
static void fill_bond(struct bond *bond)
{
	for (unsigned i = 0; i < BOND_OPTIONS; i++) {
		if (bond_options[i].type <= BOND_U32)
			bond_set(bond, (enum bond_option) i, i + 1);
	}
	bond->has |= BOND_BIT(BOND_ARP_IP_TARGET) | BOND_BIT(BOND_NS_IP6_TARGET) |
	             BOND_BIT(BOND_AD_ACTOR_SYSTEM);
	bond->n_arp_targets = 2;
	CHECK_EQ_INT(addr_parse("10.0.0.1", &bond->arp_targets[0]), 0);
	CHECK_EQ_INT(addr_parse("10.0.0.2", &bond->arp_targets[1]), 0);
	bond->n_ns_targets = 1;
	CHECK_EQ_INT(addr_parse("fd00::1", &bond->ns_targets[0]), 0);
	CHECK_EQ_INT(mac_parse("02:00:00:00:00:0a", &bond->ad_actor_system), 0);
}

static void test_bond(void)
{
	struct bond bond = {0};
	struct link want = {.name = "bond0", .kind = LINK_BOND, .bond = &bond}, have;
	struct decode_link_refs refs;

	fill_bond(&bond);
	CHECK_EQ_INT(to_and_fro(&want, &have, &refs), 0);
	CHECK(have.kind == LINK_BOND && have.owner == OWNER_OURS && have.bond != NULL);
	for (unsigned i = 0; i < BOND_OPTIONS; i++) {
		enum bond_option option = (enum bond_option) i;
		char a[BOND_VALUE_TEXT_MAX], b[BOND_VALUE_TEXT_MAX];

		if (!bond_has(&bond, option))
			continue;
		CHECK(bond_has(have.bond, option));
		CHECK(bond_option_equal(&bond, have.bond, option));
		CHECK_EQ_STR(bond_format_value(have.bond, option, a), bond_format_value(&bond, option, b));
	}
	link_fini(&have);
}

/* A port of a bond in mode 802.3ad carries frames when both ends say so, and not a moment before.
 */
static void test_lacp(void)
{
	static const struct {
		uint8_t actor;
		uint16_t partner;
		bool lower_up, carries;
	} cases[] = {
	    {0x3d, 0x3d, true, true}, /* both: in sync, collecting, distributing */
	    {0x3d, 0x1d, true, true}, /* the other end does not send on it yet */
	    {0x3d, 0x3d, false, false},
	    {0x3d, 0x0d, true, false}, /* the other end does not take frames */
	    {0x1d, 0x3d, true, false}, /* we do not send */
	    {0x45, 0x01, true, false}, /* defaulted: nobody there speaks it */
	    {0xbd, 0x3d, true, false}, /* expired */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ifinfomsg ifi = {.ifi_index = 7, .ifi_flags = IFF_UP};
		struct nlattr *info, *data;
		struct decode_link_refs refs;
		struct link link;
		AUTO(message_free) struct message *m = message_new();

		ifi.ifi_flags |= cases[i].lower_up ? IFF_LOWER_UP : 0;
		message_begin(m, RTM_NEWLINK, 0, &ifi, sizeof(ifi));
		message_text(m, IFLA_IFNAME, "eth1");
		info = message_nest(m, IFLA_LINKINFO);
		message_text(m, IFLA_INFO_SLAVE_KIND, "bond");
		data = message_nest(m, IFLA_INFO_SLAVE_DATA);
		message_u8(m, IFLA_BOND_SLAVE_AD_ACTOR_OPER_PORT_STATE, cases[i].actor);
		message_u16(m, IFLA_BOND_SLAVE_AD_PARTNER_OPER_PORT_STATE, cases[i].partner);
		message_end(m, data);
		message_end(m, info);
		CHECK_EQ_INT(decode_link(message_header(m), &link, &refs), 0);
		CHECK(link.lacp.is_known);
		CHECK_EQ_INT(link_carries(&link), cases[i].carries);
		link_fini(&link);
	}
}

/* Options one by one: nothing else is in the message, and ports are numbers. */
static void test_bond_set(void)
{
	struct bond bond = {.primary = "eth3"};
	struct op op = {.kind = OP_BOND_SET,
	                .options = BOND_BIT(BOND_PRIMARY) | BOND_BIT(BOND_MIIMON),
	                .link = {.name = "eth0", .kind = LINK_BOND, .bond = &bond}};
	struct decode_link_refs refs;
	const char *missing;
	AUTO(message_free) struct message *m = message_new();
	struct link have;

	bond_set(&bond, BOND_MIIMON, 250);
	bond_set(&bond, BOND_UPDELAY, 500);
	CHECK_EQ_INT(encode_op(&op, &names, m, &missing), 0);
	message_text(m, IFLA_IFNAME, "eth0");
	CHECK_EQ_INT(decode_link(message_header(m), &have, &refs), 0);
	CHECK_EQ_INT(have.ifindex, 10);
	CHECK_EQ_INT(refs.primary, 13);
	CHECK_EQ_INT(have.bond->values[BOND_MIIMON], 250);
	CHECK(!bond_has(have.bond, BOND_UPDELAY));
	link_fini(&have);

	(void) snprintf(bond.primary, sizeof(bond.primary), "none");
	CHECK_EQ_INT(encode_op(&op, &names, m, &missing), -ENODEV);
	CHECK_EQ_STR(missing, "none");
}

static void test_vlan(void)
{
	struct link want = {.name = "eth0.4094",
	                    .kind = LINK_VLAN,
	                    .has = LINK_HAS_VLAN_PROTOCOL | LINK_HAS_VLAN_FLAGS | LINK_HAS_MTU,
	                    .mtu = 1400,
	                    .parent = "eth5",
	                    .vlan_id = 4094,
	                    .vlan_protocol = LINK_VLAN_8021AD,
	                    .vlan_flags = LINK_VLAN_REORDER_HDR | LINK_VLAN_LOOSE_BINDING};
	struct decode_link_refs refs;
	struct link have;

	CHECK_EQ_INT(to_and_fro(&want, &have, &refs), 0);
	CHECK(have.kind == LINK_VLAN && have.owner == OWNER_OURS);
	CHECK_EQ_INT(have.vlan_id, 4094);
	CHECK_EQ_INT(have.vlan_protocol, LINK_VLAN_8021AD);
	CHECK_EQ_INT(have.vlan_flags, want.vlan_flags);
	CHECK_EQ_INT(have.mtu, 1400);
	CHECK_EQ_INT(refs.lower, 15);
	link_fini(&have);
}

static void test_vrf_bridge(void)
{
	struct link want = {.name = "red", .kind = LINK_VRF, .table = 100000}, have;
	struct decode_link_refs refs;

	CHECK_EQ_INT(to_and_fro(&want, &have, &refs), 0);
	CHECK(have.kind == LINK_VRF && have.table == 100000);
	link_fini(&have);
	want = (struct link){
	    .name = "br0", .kind = LINK_BRIDGE, .has = LINK_HAS_VLAN_FILTERING, .vlan_filtering = true};
	CHECK_EQ_INT(to_and_fro(&want, &have, &refs), 0);
	CHECK(have.kind == LINK_BRIDGE && have.vlan_filtering && !have.stp);
	link_fini(&have);
}

/* Every shorter message: refused or read, never beyond its end (the sanitizers look on). */
static void test_cut(void)
{
	struct bond bond = {0};
	struct op op = {.kind = OP_LINK_CREATE,
	                .link = {.name = "bond0", .kind = LINK_BOND, .bond = &bond}};
	struct ifinfomsg ifi = {.ifi_index = 7};
	size_t refused = 0, whole;
	const char *missing;
	AUTO(message_free) struct message *m = message_new();

	fill_bond(&bond);
	CHECK_EQ_INT(encode_op(&op, &names, m, &missing), 0);
	memcpy(NLMSG_DATA(message_header(m)), &ifi, sizeof(ifi));
	whole = message_header(m)->nlmsg_len;
	for (size_t len = sizeof(struct nlmsghdr); len < whole; len++) {
		AUTO(free) struct nlmsghdr *cut = malloc(len);
		struct decode_link_refs refs;
		struct link link;

		memcpy(cut, message_header(m), len);
		cut->nlmsg_len = (uint32_t) len;
		if (decode_link(cut, &link, &refs) < 0)
			refused++;
		else
			link_fini(&link);
	}
	CHECK(refused > 0);
}

static void test_too_long(void)
{
	char text[ATTR_MESSAGE_BYTES];
	struct ifinfomsg ifi = {0};
	struct nlattr *nest;
	AUTO(message_free) struct message *m = message_new();

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	message_begin(m, RTM_NEWLINK, 0, &ifi, sizeof(ifi));
	CHECK_EQ_INT(message_check(m), 0);
	nest = message_nest(m, IFLA_LINKINFO);
	message_text(m, IFLA_IFNAME, text);
	CHECK_EQ_INT(message_check(m), -EMSGSIZE);
	/* What would fit does not make it whole again. */
	message_u8(m, IFLA_INFO_KIND, 1);
	message_end(m, nest);
	CHECK_EQ_INT(message_check(m), -EMSGSIZE);
}

/* Nothing of what was in the memory before goes to the kernel, not even between attributes. */
static struct message *padded(int filling)
{
	struct ifinfomsg ifi = {0};
	struct message *m;

	(void) mallopt(M_PERTURB, filling);
	m = message_new();
	message_begin(m, RTM_NEWLINK, 0, &ifi, sizeof(ifi));
	message_u8(m, IFLA_OPERSTATE, 1);
	message_text(m, IFLA_IFNAME, "eth10");
	message_u16(m, IFLA_GROUP, 1);
	(void) mallopt(M_PERTURB, 0);
	return m;
}

static void test_padding(void)
{
	AUTO(message_free) struct message *a = padded(0x55), *b = padded(0xaa);
	uint32_t len = message_header(a)->nlmsg_len;

	CHECK_EQ_INT(message_header(b)->nlmsg_len, len);
	CHECK_EQ_INT(memcmp(message_header(a), message_header(b), len), 0);
}

int main(void)
{
	test_bond();
	test_lacp();
	test_bond_set();
	test_vlan();
	test_vrf_bridge();
	test_cut();
	test_too_long();
	test_padding();
	return check_result();
}
