/* SPDX-License-Identifier: Apache-2.0 */
/* Which addresses are new to their neighbours by a change, and where these can be asked before. */
#include "netconf/model/segment.h"

#include "base/macro.h"
#include "check.h"
#include "plancase.h"

#define CARDS "nic eth0\nnic eth1\n"
#define ON_BOND "nic eth0 master bond0\nnic eth1\nbond bond0 mode 1 miimon 100\n"
#define ON_BOTH "nic eth0 master bond0\nnic eth1 master bond0\nbond bond0 mode 1 miimon 100\n"
#define ON_OTHER                                                                          \
	"nic eth0 up master br9\nnic eth1 up master bond0\nbond bond0 mode 1 miimon 100 up\n" \
	"bridge br9 up\n"
#define ON_BRIDGE "nic eth0 master br0\nnic eth1\nbridge br0\n"
#define BRIDGE_BOTH "nic eth0 master br0\nnic eth1 master br0\nbridge br0\n"
#define BRIDGE_LESS "nic eth0 master br0\nnic eth1 up master br9\nbridge br0\nbridge br9 up\n"
#define QINQ "vlan v7 parent eth0 id 7 protocol 0x88a8\nvlan v77 parent v7 id 77\n"
#define IS(link) "address " link " 10.0.0.2/24\n"

/* Of the address 10.0.0.2 after the change. */
static const struct {
	const char *what, *have, *want, *link;
	bool is_known, is_open;
} cases[] = {
    {"it stays", CARDS IS("eth0"), CARDS IS("eth0"), "eth0", true, true},
    {"it comes", CARDS, CARDS IS("eth0"), "eth0", false, true},
    {"on a link that is closed", "nic eth0 down\n", "nic eth0 up\n" IS("eth0"), "eth0", false,
     false},
    {"it goes to another card", CARDS IS("eth0"), CARDS IS("eth1"), "eth1", false, true},
    {"onto a VLAN of the card", CARDS IS("eth0"), CARDS "vlan v7 parent eth0 id 7 up\n" IS("v7"),
     "v7", false, false},

    {"a VLAN has another id", CARDS "vlan v7 parent eth0 id 7\n" IS("v7"),
     CARDS "vlan v7 parent eth0 id 8 up\n" IS("v7"), "v7", false, false},
    {"and a new address, too", CARDS "vlan v7 parent eth0 id 7\n",
     CARDS "vlan v7 parent eth0 id 8 up\n" IS("v7"), "v7", false, false},
    {"a VLAN has another protocol", CARDS "vlan v7 parent eth0 id 7\n" IS("v7"),
     CARDS "vlan v7 parent eth0 id 7 protocol 0x88a8 up\n" IS("v7"), "v7", false, false},
    {"a VLAN goes to another card", CARDS "vlan v7 parent eth0 id 7\n" IS("v7"),
     CARDS "vlan v7 parent eth1 id 7 up\n" IS("v7"), "v7", false, false},
    {"a VLAN with another name", CARDS "vlan v7 parent eth0 id 7\n" IS("v7"),
     CARDS "vlan w7 parent eth0 id 7 up\n" IS("w7"), "w7", true, false},
    {"the outer one has another id", CARDS QINQ IS("v77"),
     CARDS "vlan v7 parent eth0 id 8 protocol 0x88a8 up\nvlan v77 parent v7 id 77 up\n" IS("v77"),
     "v77", false, false},
    {"neither of two VLANs has", CARDS QINQ, CARDS QINQ IS("v77"), "v77", false, true},

    {"the card is taken over by a bond", CARDS IS("eth0"),
     "nic eth0 up master bond0\nnic eth1\nbond bond0 up mode 1 miimon 100\n" IS("bond0"), "bond0",
     true, false},
    {"and its VLAN is", CARDS "vlan v7 parent eth0 id 7\n" IS("v7"),
     "nic eth0 up master bond0\nnic eth1\nbond bond0 up mode 1 miimon 100\n"
     "vlan v7 parent bond0 id 7 up\n" IS("v7"),
     "v7", true, true},
    {"a bond gets one more", ON_BOND, ON_BOTH IS("bond0"), "bond0", false, true},
    {"a bond gets another instead", ON_BOND IS("bond0"), ON_OTHER IS("bond0"), "bond0", false,
     false},
    {"and below a VLAN", ON_BOND "vlan v7 parent bond0 id 7\n" IS("v7"),
     ON_OTHER "vlan v7 parent bond0 id 7 up\n" IS("v7"), "v7", false, false},
    {"a bond has another mode", ON_BOND,
     "nic eth0 master bond0\nnic eth1\n"
     "bond bond0 up mode 4 miimon 100\n" IS("bond0"),
     "bond0", false, true},

    {"a bridge gets one more", ON_BRIDGE IS("br0"), BRIDGE_BOTH IS("br0"), "br0", false, false},
    {"a bridge loses one", BRIDGE_BOTH IS("br0"), BRIDGE_LESS IS("br0"), "br0", true, true},
    {"a bridge is let go", ON_BRIDGE IS("br0"), CARDS IS("eth0"), "eth0", true, true},
};

/* Those that are there have a number, those that are made have none yet. */
static void number_links(struct model *model)
{
	for (size_t i = 0; i < model->n_links; i++) {
		model->links[i].ifindex = (int) i + 1;
		model->links[i].carrier = model->links[i].up;
	}
}

static void test_changes(void)
{
	static const struct plan_options options = {.management_link = ""};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(model_free) struct model *have = plancase_have(cases[i].have);
		AUTO(model_free) struct model *want = plancase_want(cases[i].want);
		AUTO(model_free) struct model *after = NULL;
		AUTO(plan_free) struct plan *plan = NULL;
		struct prefix prefix;
		const struct address *address;

		number_links(have);
		plan = plan_make(want, have, &options);
		after = plan_foresee(plan, have);
		CHECK_EQ_INT(prefix_parse("10.0.0.2/24", &prefix), 0);
		address = model_find_address(after, cases[i].link, &prefix);
		if (!CHECK(address != NULL) ||
		    !CHECK_EQ_INT(segment_had_address(have, after, address), cases[i].is_known) ||
		    !CHECK_EQ_INT(segment_is_open(have, after, cases[i].link), cases[i].is_open))
			(void) fprintf(stderr, "%s:\n%s", cases[i].what, plancase_text(plan));
	}
}

/* A card that was pulled and plugged in again may hang on another switch. */
static void test_another_card(void)
{
	AUTO(model_free) struct model *before = plancase_have("nic eth0\n");
	AUTO(model_free) struct model *after = plancase_have("nic eth0\n");

	number_links(before);
	number_links(after);
	CHECK(segment_is_same(before, "eth0", after, "eth0"));
	CHECK(!segment_is_same(before, "eth0", after, "eth1"));
	after->links[0].ifindex = 9;
	CHECK(!segment_is_same(before, "eth0", after, "eth0"));
}

/* Read in the middle of a change, it looks as if each were on the other. */
static void test_circle(void)
{
	AUTO(model_free)
	struct model *model =
	    plancase_have("nic eth0\nvlan v7 parent eth0 id 7\nvlan v8 parent v7 id 7\n");

	number_links(model);
	CHECK(segment_is_same(model, "v8", model, "v8"));
	(void) snprintf(model_find_link(model, "v7")->parent, IFNAMSIZ, "v8");
	CHECK(!segment_is_same(model, "v8", model, "v8"));
}

int main(void)
{
	test_changes();
	test_another_card();
	test_circle();
	return check_result();
}
