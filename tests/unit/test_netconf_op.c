/* SPDX-License-Identifier: Apache-2.0 */
/* How steps read, for people and for logs; and that what is too long is cut, not overrun. */
#include "netconf/plan/plan.h"

#include "base/mem.h"
#include "check.h"

static void test_classes(void)
{
	CHECK_EQ_STR(op_class_name(OP_HITLESS), "hitless");
	CHECK_EQ_STR(op_class_name(OP_BLIP), "blip");
	CHECK_EQ_STR(op_class_name(OP_ADDRESS_BREAK), "address-break");
	CHECK_EQ_STR(op_class_name(OP_MANAGEMENT_PATH), "management-path");
}

static void test_links(void)
{
	struct op op = {.kind = OP_LINK_SET, .attributes = LINK_HAS_UP | LINK_HAS_MTU};
	char text[OP_TEXT_MAX];

	op.link = (struct link){.name = "eth0", .up = true, .mtu = 9000};
	CHECK_EQ_STR(op_format(&op, text), "set eth0 up mtu 9000");
	op.attributes = LINK_HAS_MASTER;
	CHECK_EQ_STR(op_format(&op, text), "set eth0 master none");
	op.link = (struct link){.name = "v", .vlan_flags = 5};
	op.attributes = LINK_HAS_VLAN_FLAGS;
	CHECK_EQ_STR(op_format(&op, text), "set v vlan_flags reorder_hdr,loose_binding");
	op.link = (struct link){.name = "bond0.7", .kind = LINK_VLAN, .parent = "bond0", .vlan_id = 7};
	op.link.has = LINK_HAS_PARENT | LINK_HAS_VLAN_ID;
	op.kind = OP_LINK_CREATE;
	CHECK_EQ_STR(op_format(&op, text), "create vlan bond0.7 parent bond0 vlan_id 7");
	op.kind = OP_LINK_DELETE;
	CHECK_EQ_STR(op_format(&op, text), "delete vlan bond0.7");
	op.kind = OP_WAIT_CARRIER;
	op.wait_ms = 3000;
	CHECK_EQ_STR(op_format(&op, text), "wait for the carrier of bond0.7, at most 3000 ms");
}

static void test_bonds(void)
{
	struct op op = {.kind = OP_BOND_SET,
	                .options =
	                    BOND_BIT(BOND_MIIMON) | BOND_BIT(BOND_LACP_RATE) | BOND_BIT(BOND_PRIMARY)};
	char text[OP_TEXT_MAX];

	op.link = (struct link){.name = "bond0", .kind = LINK_BOND, .bond = NEW0(struct bond)};
	bond_set(op.link.bond, BOND_MIIMON, 100);
	bond_set(op.link.bond, BOND_LACP_RATE, 1);
	CHECK_EQ_STR(op_format(&op, text), "set bond0 miimon 100 primary none lacp_rate fast");
	/* All there is in a text of a fixed length. */
	op.options = UINT64_MAX;
	op.link.bond->n_ns_targets = op.link.bond->n_arp_targets = BOND_TARGETS_MAX;
	for (size_t i = 0; i < BOND_TARGETS_MAX; i++) {
		op.link.bond->arp_targets[i] = (struct addr){AF_INET, {255, 255, 255, 255}};
		op.link.bond->ns_targets[i] = (struct addr){AF_INET6, {0x20, [3 ... 15] = 0xff}};
	}
	(void) op_format(&op, text);
	CHECK(strlen(text) < OP_TEXT_MAX);
	CHECK(strncmp(text, "set bond0 mode ", 15) == 0);
	op_fini(&op);
	CHECK(op.link.bond == NULL);
}

static void test_objects(void)
{
	struct op op = {.kind = OP_ROUTE_ADD};
	char text[OP_TEXT_MAX];

	op.route = (struct route){.dst = {.addr = {.family = AF_INET}},
	                          .table = RT_TABLE_MAIN,
	                          .type = RTN_UNICAST,
	                          .gateway = {AF_INET, {10, 0, 0, 1}},
	                          .link = "bond0"};
	CHECK_EQ_STR(op_format(&op, text), "add route default via 10.0.0.1 dev bond0");
	op.is_restoring = true;
	CHECK_EQ_STR(op_format(&op, text), "put back route default via 10.0.0.1 dev bond0");
	op.kind = OP_ROUTE_REPLACE;
	CHECK_EQ_STR(op_format(&op, text), "replace route default via 10.0.0.1 dev bond0");
	op.address = (struct address){.link = "bond0", .prefix = {{AF_INET, {10, 0, 0, 2}}, 24}};
	op.kind = OP_ADDRESS_DELETE;
	CHECK_EQ_STR(op_format(&op, text), "delete address 10.0.0.2/24 dev bond0");
}

/* A key must reach no log by way of a plan. */
static void test_secrets(void)
{
	struct op op = {.kind = OP_WIREGUARD_SET};
	char text[OP_TEXT_MAX];

	op.link = (struct link){.name = "wg0", .kind = LINK_WIREGUARD, .wireguard = wireguard_new()};
	op.link.wireguard->has = WIREGUARD_PRIVATE_KEY | WIREGUARD_LISTEN_PORT;
	op.link.wireguard->listen_port = 51820;
	memset(op.link.wireguard->private_key.bytes, 'k', WIREGUARD_KEY_BYTES);
	CHECK_EQ_STR(op_format(&op, text), "set wg0 private-key (hidden) listen-port 51820");
	op_fini(&op);
}

int main(void)
{
	test_classes();
	test_links();
	test_bonds();
	test_objects();
	test_secrets();
	return check_result();
}
