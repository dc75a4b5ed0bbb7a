/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans for what ethtool sets, and its messages to and fro, also those about rings and Wake-on-LAN,
 * which no device of a network namespace has. No kernel.
 */
#include <errno.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <stdlib.h>

#include "check.h"
#include "netconf/ethtool/ethplan.h"

#define FAMILY 21

static void add_feature(struct ethstate *state, const char *name, bool active, bool asked,
                        bool changeable)
{
	state->features = realloc(state->features, (state->n_features + 1) * sizeof(*state->features));
	state->features[state->n_features++] =
	    (struct ethstate_feature){strdup(name), active, asked, changeable};
}

/* An ordinary network card. */
static struct ethstate card(void)
{
	struct ethstate state = {
	    .has = 1u << ETHERNET_RING_RX | 1u << ETHERNET_RING_TX | 1u << ETHERNET_CHANNELS_COMBINED,
	    .has_wake = true,
	    .wake = 1u << 5,
	    .wake_possible = 1u << 5 | 1u << 1,
	};

	state.values[ETHERNET_RING_RX] = 256;
	state.values[ETHERNET_RING_TX] = 256;
	state.values[ETHERNET_CHANNELS_COMBINED] = 4;
	state.max[ETHERNET_RING_RX] = 4096;
	state.max[ETHERNET_RING_TX] = 4096;
	state.max[ETHERNET_CHANNELS_COMBINED] = 8;
	add_feature(&state, "rx-gro", true, true, true);
	add_feature(&state, "rx-lro", false, false, false);
	add_feature(&state, "tx-tcp-segmentation", false, true, true);
	add_feature(&state, "highdma", true, true, false);
	return state;
}

static void want_setting(struct ethernet *want, enum ethernet_setting setting, uint32_t value)
{
	want->has |= 1u << setting;
	want->values[setting] = value;
}

/* The plan and the problems, each a line. Ends what is wanted. */
static void check_plan(struct ethernet *want, const char *plan_text, const char *problem_text)
{
	struct ethstate have = card();
	struct ethplan plan = {0};
	struct conf_strings problems = {0};
	char text[2048] = "", said[2048] = "", line[ETHSTEP_TEXT_MAX];

	ethplan_add(&plan, "eth0", want, &have, &problems);
	for (size_t i = 0; i < plan.n; i++)
		(void) snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s: %s\n",
		                op_class_name(plan.steps[i].class), ethstep_format(&plan.steps[i], line));
	for (size_t i = 0; i < problems.n; i++)
		(void) snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s\n",
		                problems.items[i]);
	CHECK_EQ_STR(text, plan_text);
	CHECK_EQ_STR(said, problem_text);
	ethplan_fini(&plan);
	conf_strings_fini(&problems);
	ethstate_fini(&have);
	ethernet_fini(want);
}

static void test_plans(void)
{
	struct ethernet want = {0};

	check_plan(&want, "", "");
	want_setting(&want, ETHERNET_RING_RX, 512);
	want_setting(&want, ETHERNET_RING_TX, 512);
	want_setting(&want, ETHERNET_CHANNELS_COMBINED, 2);
	ethernet_add_feature(&want, "rx-gro", false);
	ethernet_add_feature(&want, "highdma", true);
	want.has_wake = true;
	check_plan(&want,
	           "blip: set eth0 features rx-gro off\n"
	           "blip: set eth0 rings rx 512 tx 512\n"
	           "blip: set eth0 channels combined 2\n"
	           "hitless: set eth0 wake-on-lan off\n",
	           "");

	/* What is so already is not set again. */
	want_setting(&want, ETHERNET_RING_RX, 256);
	want_setting(&want, ETHERNET_RING_TX, 128);
	ethernet_add_feature(&want, "rx-gro", true);
	want.has_wake = true;
	want.wake = 1u << 5;
	check_plan(&want, "blip: set eth0 rings tx 128\n", "");
	want.has_wake = true;
	want.wake = 1u << 1 | 1u << 5;
	check_plan(&want, "hitless: set eth0 wake-on-lan unicast magic\n", "");
}

static void test_problems(void)
{
	struct ethernet want = {0};

	want_setting(&want, ETHERNET_RING_RX, 8192);
	want_setting(&want, ETHERNET_RING_RX_MINI, 1);
	want_setting(&want, ETHERNET_CHANNELS_COMBINED, 9);
	ethernet_add_feature(&want, "rx-lro", true);
	ethernet_add_feature(&want, "highdma", false);
	ethernet_add_feature(&want, "tx-tcp-segmentation", true);
	ethernet_add_feature(&want, "tx-teleport", false);
	want.has_wake = true;
	want.wake = 1u << 0 | 1u << 5;
	check_plan(&want, "",
	           "eth0: the feature 'rx-lro' is off, and its driver cannot change that\n"
	           "eth0: the feature 'highdma' is on, and its driver cannot change that\n"
	           "eth0: the feature 'tx-tcp-segmentation' was turned on and is not: another that it "
	           "depends on is missing\n"
	           "eth0: the kernel knows no feature 'tx-teleport'\n"
	           "eth0: rings.rx can be 4096 at most, and 8192 is wanted\n"
	           "eth0: its driver has no rings.rx-mini\n"
	           "eth0: channels.combined can be 8 at most, and 9 is wanted\n"
	           "eth0: its driver cannot be woken by 'phy'\n");
}

/* To undo is to want what was there, of what was changed and of nothing else; also when it comes
 * from a file. */
static void test_back(void)
{
	struct ethernet want = {.has_wake = true}, back = {0}, copy = {0};
	struct ethstate before = card();
	json_t *json;

	want_setting(&want, ETHERNET_RING_RX, 512);
	ethernet_add_feature(&want, "rx-gro", false);
	ethplan_back(&want, &before, &back);
	json = ethernet_to_json(&back);
	CHECK_EQ_INT(ethernet_from_json(json, &copy), 0);
	CHECK_EQ_INT(copy.has, 1u << ETHERNET_RING_RX);
	CHECK_EQ_INT(copy.values[ETHERNET_RING_RX], 256);
	CHECK(copy.has_wake);
	CHECK_EQ_INT(copy.wake, 1u << 5);
	CHECK_EQ_INT(copy.n_features, 1);
	CHECK_EQ_STR(copy.features[0].name, "rx-gro");
	CHECK(copy.features[0].on);
	(void) json_object_del(json, "wake");
	ethernet_fini(&copy);
	CHECK_EQ_INT(ethernet_from_json(json, &copy), -EBADMSG);
	json_decref(json);
	ethernet_fini(&want);
	ethernet_fini(&back);
	ethstate_fini(&before);
}

/* --- messages --- */

static void test_read_rings(void)
{
	struct ethstate state = {0};
	AUTO(message_free) struct message *m = message_new();

	message_begin_generic(m, FAMILY, 0, ETHTOOL_MSG_RINGS_GET_REPLY, 1);
	message_u32(m, ETHTOOL_A_RINGS_RX_MAX, 4096);
	message_u32(m, ETHTOOL_A_RINGS_RX, 512);
	message_u32(m, ETHTOOL_A_RINGS_CQE_SIZE, 64);
	message_u8(m, ETHTOOL_A_RINGS_TCP_DATA_SPLIT, ETHTOOL_TCP_DATA_SPLIT_ENABLED);
	message_u8(m, ETHTOOL_A_RINGS_TX_PUSH, 1);
	message_u32(m, 31, 7); /* from a kernel of the future */
	message_u32(m, 99, 7);
	ethcode_take(message_header(m), ETHSTEP_RINGS, &state);
	CHECK_EQ_INT(state.has, 1u << ETHERNET_RING_RX | 1u << ETHERNET_RING_CQE_SIZE |
	                            1u << ETHERNET_RING_TCP_DATA_SPLIT | 1u << ETHERNET_RING_TX_PUSH);
	CHECK_EQ_INT(state.values[ETHERNET_RING_RX], 512);
	CHECK_EQ_INT(state.max[ETHERNET_RING_RX], 4096);
	CHECK_EQ_INT(state.values[ETHERNET_RING_CQE_SIZE], 64);
	CHECK_EQ_INT(state.values[ETHERNET_RING_TCP_DATA_SPLIT], 1);
	CHECK_EQ_INT(state.values[ETHERNET_RING_TX_PUSH], 1);

	/* Whether it splits may be known to nobody. */
	state = (struct ethstate){0};
	message_begin_generic(m, FAMILY, 0, ETHTOOL_MSG_RINGS_GET_REPLY, 1);
	message_u8(m, ETHTOOL_A_RINGS_TCP_DATA_SPLIT, ETHTOOL_TCP_DATA_SPLIT_UNKNOWN);
	ethcode_take(message_header(m), ETHSTEP_RINGS, &state);
	CHECK_EQ_INT(state.has, 0);

	/* Another's answer, and one that is cut. */
	message_begin_generic(m, FAMILY, 0, ETHTOOL_MSG_CHANNELS_GET_REPLY, 1);
	message_u32(m, ETHTOOL_A_RINGS_RX, 512);
	ethcode_take(message_header(m), ETHSTEP_RINGS, &state);
	message_header(m)->nlmsg_len = NLMSG_LENGTH(2);
	ethcode_take(message_header(m), ETHSTEP_CHANNELS, &state);
	CHECK_EQ_INT(state.has, 0);
}

static void put_bit(struct message *m, uint32_t index, bool value)
{
	struct nlattr *bit = message_nest(m, ETHTOOL_A_BITSET_BITS_BIT);

	message_u32(m, ETHTOOL_A_BITSET_BIT_INDEX, index);
	if (value)
		message_bytes(m, ETHTOOL_A_BITSET_BIT_VALUE, NULL, 0);
	message_end(m, bit);
}

static void test_read_wake(void)
{
	struct ethstate state = {0};
	struct nlattr *modes, *bits;
	AUTO(message_free) struct message *m = message_new();

	message_begin_generic(m, FAMILY, 0, ETHTOOL_MSG_WOL_GET_REPLY, 1);
	modes = message_nest(m, ETHTOOL_A_WOL_MODES);
	bits = message_nest(m, ETHTOOL_A_BITSET_BITS);
	put_bit(m, 0, false);
	put_bit(m, 5, true);
	put_bit(m, 4000, true);
	message_end(m, bits);
	message_end(m, modes);
	ethcode_take(message_header(m), ETHSTEP_WAKE, &state);
	CHECK(state.has_wake);
	CHECK_EQ_INT(state.wake_possible, 1u << 0 | 1u << 5);
	CHECK_EQ_INT(state.wake, 1u << 5);
}

/* What is written is what the attributes say, to a byte. */
static void test_write(void)
{
	struct ethstep step = {.link = "eth0", .section = ETHSTEP_RINGS};
	const struct nlattr *table[32], *set[ETHTOOL_A_BITSET_MAX + 1];
	AUTO(message_free) struct message *m = message_new();
	char name[16];

	want_setting(&step.set, ETHERNET_RING_TX, 512);
	want_setting(&step.set, ETHERNET_RING_TCP_DATA_SPLIT, 0);
	want_setting(&step.set, ETHERNET_RING_RX_PUSH, 1);
	CHECK_EQ_INT(ethcode_set(FAMILY, &step, m), 0);
	CHECK_EQ_INT(message_header(m)->nlmsg_type, FAMILY);
	CHECK(attr_read(message_header(m), NULL, sizeof(struct genlmsghdr), table, 32));
	CHECK_EQ_INT(attr_u32(table[ETHTOOL_A_RINGS_TX], 0), 512);
	CHECK(table[ETHTOOL_A_RINGS_RX] == NULL);
	CHECK_EQ_INT(attr_len(table[ETHTOOL_A_RINGS_TCP_DATA_SPLIT]), 1);
	CHECK_EQ_INT(attr_u8(table[ETHTOOL_A_RINGS_TCP_DATA_SPLIT], 0),
	             ETHTOOL_TCP_DATA_SPLIT_DISABLED);
	CHECK_EQ_INT(attr_u8(table[ETHTOOL_A_RINGS_TX_PUSH + 1], 0), 1);
	attr_read_nested(table[ETHTOOL_A_RINGS_HEADER], set, ETHTOOL_A_HEADER_MAX + 1);
	CHECK_EQ_STR(attr_text(set[ETHTOOL_A_HEADER_DEV_NAME], name, sizeof(name)), "eth0");

	/* Off: a set with no bits, and nothing else is meant by it. */
	step = (struct ethstep){.link = "eth0", .section = ETHSTEP_WAKE, .set = {.has_wake = true}};
	CHECK_EQ_INT(ethcode_set(FAMILY, &step, m), 0);
	CHECK(attr_read(message_header(m), NULL, sizeof(struct genlmsghdr), table, 32));
	attr_read_nested(table[ETHTOOL_A_WOL_MODES], set, ETHTOOL_A_BITSET_MAX + 1);
	CHECK(set[ETHTOOL_A_BITSET_NOMASK] != NULL && set[ETHTOOL_A_BITSET_BITS] != NULL);
	CHECK_EQ_INT(attr_len(set[ETHTOOL_A_BITSET_BITS]), 0);

	/* More than fits into a message. */
	step = (struct ethstep){.link = "eth0", .section = ETHSTEP_FEATURES};
	for (int i = 0; i < 1000; i++)
		ethernet_add_feature(&step.set, "tx-tcp-segmentation", true);
	CHECK_EQ_INT(ethcode_set(FAMILY, &step, m), -EMSGSIZE);
	ethernet_fini(&step.set);
}

int main(void)
{
	test_plans();
	test_problems();
	test_back();
	test_read_rings();
	test_read_wake();
	test_write();
	return check_result();
}
