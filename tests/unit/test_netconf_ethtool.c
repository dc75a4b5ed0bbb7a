/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Features and channels of a veth pair, in a network namespace of its own, against the real kernel;
 * ethtool(8) is the other opinion. Rings and Wake-on-LAN, which a veth pair lacks, are refused here
 * and go to and fro as messages in test_netconf_ethplan.c.
 */
#include <errno.h>

#include "netconf/ethtool/ethtool.h"
#include "tests/unit/check.h"
#include "tests/unit/netns.h"

static struct ethtool *ethtool;

static void world(void)
{
	(void) netns_enter_new();
	netns_run("ip link add v0 numrxqueues 4 numtxqueues 4 type veth peer name v1 numrxqueues 4 "
	          "numtxqueues 4");
	netns_run("ip link set v0 up");
	netns_run("ip link set v1 up");
	CHECK_EQ_INT(ethtool_new(&ethtool), 0);
}

static struct ethstate observe(const char *link)
{
	struct ethstate state = {0};

	CHECK_EQ_INT(ethtool_observe(ethtool, link, &state), 0);
	return state;
}

/* Plans for v0, and carries it out if there is no problem. How many steps; the problem, if any, is
 * compared. */
static size_t apply(const struct ethernet *want, const char *problem)
{
	struct ethstate have = observe("v0");
	struct ethplan plan = {0};
	struct conf_strings problems = {0};
	size_t n;

	ethplan_add(&plan, "v0", want, &have, &problems);
	CHECK_EQ_STR(problems.n > 0 ? problems.items[0] : NULL, problem);
	for (size_t i = 0; i < plan.n && problems.n == 0; i++) {
		if (!CHECK_EQ_INT(ethtool_carry_out(ethtool, &plan.steps[i]), 0))
			(void) fprintf(stderr, "refused: %s\n", ethtool_error_text(ethtool));
	}
	n = plan.n;
	ethplan_fini(&plan);
	conf_strings_fini(&problems);
	ethstate_fini(&have);
	return n;
}

static void test_observed(void)
{
	struct ethstate state = observe("v0");
	const struct ethstate_feature *tso = ethstate_find_feature(&state, "tx-tcp-segmentation");
	const struct ethstate_feature *lro = ethstate_find_feature(&state, "rx-lro");

	CHECK(tso != NULL && tso->active && tso->asked && tso->changeable);
	CHECK(lro != NULL && !lro->active && !lro->changeable);
	CHECK(ethstate_find_feature(&state, "tx-teleport") == NULL);
	CHECK_EQ_INT(state.has, 1u << ETHERNET_CHANNELS_RX | 1u << ETHERNET_CHANNELS_TX);
	CHECK_EQ_INT(state.values[ETHERNET_CHANNELS_RX], 4);
	CHECK_EQ_INT(state.max[ETHERNET_CHANNELS_TX], 4);
	CHECK(!state.has_wake);
	ethstate_fini(&state);
	CHECK_EQ_INT(ethtool_observe(ethtool, "nowhere", &state), -ENODEV);
}

/* There, nothing more to do, and back. */
static void test_there_and_back(void)
{
	struct ethernet want = {.has = 1u << ETHERNET_CHANNELS_RX | 1u << ETHERNET_CHANNELS_TX};
	struct ethstate before = observe("v0");
	struct ethernet back;

	want.values[ETHERNET_CHANNELS_RX] = 2;
	want.values[ETHERNET_CHANNELS_TX] = 3;
	ethernet_add_feature(&want, "tx-tcp-segmentation", false);
	ethernet_add_feature(&want, "rx-gro", true);
	ethplan_back(&want, &before, &back);
	CHECK_EQ_INT(apply(&want, NULL), 2);
	netns_run("ethtool -k v0 | grep -q 'tx-tcp-segmentation: off'");
	netns_run("ethtool -k v0 | grep -q 'tx-tcp6-segmentation: on'");
	netns_run("ethtool -k v0 | grep -q 'generic-receive-offload: on'");
	netns_run("ethtool -l v0 | grep -A9 Current | grep -qP '^RX:\\s+2$'");
	netns_run("ethtool -l v0 | grep -A9 Current | grep -qP '^TX:\\s+3$'");
	CHECK_EQ_INT(apply(&want, NULL), 0);

	CHECK_EQ_INT(apply(&back, NULL), 2);
	netns_run("ethtool -k v0 | grep -q 'tx-tcp-segmentation: on'");
	netns_run("ethtool -k v0 | grep -q 'generic-receive-offload: off'");
	netns_run("ethtool -l v0 | grep -A9 Current | grep -qP '^RX:\\s+4$'");
	CHECK_EQ_INT(apply(&back, NULL), 0);
	ethernet_fini(&want);
	ethernet_fini(&back);
	ethstate_fini(&before);
}

static void test_cannot(void)
{
	struct ethernet want = {.has = 1u << ETHERNET_RING_RX};

	want.values[ETHERNET_RING_RX] = 512;
	(void) apply(&want, "v0: its driver has no rings.rx");
	want = (struct ethernet){.has = 1u << ETHERNET_CHANNELS_RX};
	want.values[ETHERNET_CHANNELS_RX] = 5;
	(void) apply(&want, "v0: channels.rx can be 4 at most, and 5 is wanted");
	want = (struct ethernet){.has_wake = true, .wake = 1u << 5};
	(void) apply(&want, "v0: its driver has no Wake-on-LAN");
	/* It is off, and cannot be on. */
	want = (struct ethernet){.has_wake = true};
	CHECK_EQ_INT(apply(&want, NULL), 0);
}

/* Without checksums there is no segmentation, and asking again and again would not help. */
static void test_dependence(void)
{
	struct ethernet want = {0};

	netns_run("ethtool -K v0 tx-checksum-ip-generic off >/dev/null");
	ethernet_add_feature(&want, "tx-tcp-segmentation", true);
	(void) apply(&want, "v0: the feature 'tx-tcp-segmentation' was turned on and is not: another "
	                    "that it depends on is missing");
	ethernet_add_feature(&want, "tx-checksum-ip-generic", true);
	netns_run("ethtool -K v0 tx-checksum-ip-generic on >/dev/null");
	CHECK_EQ_INT(apply(&want, NULL), 0);
	ethernet_fini(&want);
}

/* What the planner would not ask for: the kernel says why. */
static void test_kernels_words(void)
{
	struct ethstep step = {.link = "v0", .section = ETHSTEP_CHANNELS};

	step.set.has = 1u << ETHERNET_CHANNELS_RX;
	step.set.values[ETHERNET_CHANNELS_RX] = 5;
	CHECK_EQ_INT(ethtool_carry_out(ethtool, &step), -EINVAL);
	CHECK_EQ_STR(ethtool_error_text(ethtool), "requested channel count exceeds maximum");
	step = (struct ethstep){.link = "v0", .section = ETHSTEP_FEATURES};
	ethernet_add_feature(&step.set, "tx-teleport", true);
	CHECK(ethtool_carry_out(ethtool, &step) < 0);
	CHECK_EQ_STR(ethtool_error_text(ethtool), "bit name not found");
	ethernet_fini(&step.set);
}

int main(void)
{
	world();
	test_observed();
	test_there_and_back();
	test_cannot();
	test_dependence();
	test_kernels_words();
	ethtool_free(ethtool);
	return check_result();
}
