/* SPDX-License-Identifier: Apache-2.0 */
/* Against the real kernel, in a namespace of its own: programs that pass everything are attached.
 */
#include "net/bypass.h"

#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/if_link.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "base/macro.h"
#include "net/attr.h"
#include "net/netlink.h"
#include "tests/unit/check.h"
#include "tests/unit/netns.h"

#define TCX_INGRESS 46
#define XDP_PASS_OR_TC_UNSPEC 2

static struct netlink *nl;

static int bpf(int command, union bpf_attr *attr)
{
	return (int) syscall(SYS_bpf, command, attr, sizeof(*attr));
}

/* return 2 */
static int load(uint32_t type)
{
	static const struct bpf_insn program[] = {
	    {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = XDP_PASS_OR_TC_UNSPEC},
	    {.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr attr = {0};

	attr.prog_type = type;
	attr.insns = (uintptr_t) program;
	attr.insn_cnt = ARRAY_SIZE(program);
	attr.license = (uintptr_t) "Apache-2.0";
	return bpf(BPF_PROG_LOAD, &attr);
}

static uint32_t id_of(int fd)
{
	struct bpf_prog_info info = {0};
	union bpf_attr attr = {0};

	attr.info.bpf_fd = (uint32_t) fd;
	attr.info.info_len = sizeof(info);
	attr.info.info = (uintptr_t) &info;
	CHECK_EQ_INT(bpf(BPF_OBJ_GET_INFO_BY_FD, &attr), 0);
	return info.id;
}

static void attach_xdp(const char *link, int fd)
{
	const struct ifinfomsg ifi = {.ifi_index = (int) if_nametoindex(link)};
	AUTO(message_free) struct message *m = message_new();
	struct nlattr *xdp;

	message_begin(m, RTM_SETLINK, NLM_F_ACK, &ifi, sizeof(ifi));
	xdp = message_nest(m, IFLA_XDP);
	message_u32(m, IFLA_XDP_FD, (uint32_t) fd);
	message_u32(m, IFLA_XDP_FLAGS, XDP_FLAGS_SKB_MODE);
	message_end(m, xdp);
	CHECK_EQ_INT(netlink_ask(nl, m, NULL, NULL), 0);
}

static void attach_tc(const char *link, int fd)
{
	const struct tcmsg tcm = {
	    .tcm_ifindex = (int) if_nametoindex(link),
	    .tcm_parent = TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS),
	    .tcm_info = TC_H_MAKE(1U << 16, 0x0300), /* priority 1, ETH_P_ALL in network order */
	};
	AUTO(message_free) struct message *m = message_new();
	struct nlattr *options;

	netns_run("tc qdisc add dev %s clsact", link);
	message_begin(m, RTM_NEWTFILTER, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, &tcm, sizeof(tcm));
	message_text(m, TCA_KIND, "bpf");
	options = message_nest(m, TCA_OPTIONS);
	message_u32(m, TCA_BPF_FD, (uint32_t) fd);
	message_text(m, TCA_BPF_NAME, "pass");
	message_u32(m, TCA_BPF_FLAGS, TCA_BPF_FLAG_ACT_DIRECT);
	message_end(m, options);
	CHECK_EQ_INT(netlink_ask(nl, m, NULL, NULL), 0);
}

static void check_says(const char *link, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void check_says(const char *link, const char *fmt, ...)
{
	char expected[256], buf[256];
	va_list ap;

	va_start(ap, fmt);
	(void) vsnprintf(expected, sizeof(expected), fmt, ap);
	va_end(ap);
	bypass_describe((int) if_nametoindex(link), buf, sizeof(buf));
	CHECK_EQ_STR(buf, expected);
}

static void test_programs(void)
{
	int xdp = load(BPF_PROG_TYPE_XDP), tc = load(BPF_PROG_TYPE_SCHED_CLS);
	uint32_t xdp_id, tc_id;
	char small[64], first[32];

	if (!CHECK(xdp >= 0) || !CHECK(tc >= 0))
		return;
	xdp_id = id_of(xdp);
	tc_id = id_of(tc);
	attach_xdp("v0", xdp);
	check_says("v0", "XDP program %u on v0", xdp_id);
	/* The other end of a veth in the same namespace is no link of its. */
	check_says("v1", "%s", "");
	attach_tc("v1", tc);
	check_says("v1", "tc program %u on v1", tc_id);
	check_says("v0", "XDP program %u on v0", xdp_id);
	/* A port's. */
	netns_run(
	    "ip link add br0 type bridge && ip link set v0 master br0 && ip link set v1 master br0");
	check_says("br0", "tc program %u on v1, XDP program %u on v0", tc_id, xdp_id);
	/* What does not fit is left out as a whole. */
	(void) snprintf(first, sizeof(first), "tc program %u on v1", tc_id);
	bypass_describe((int) if_nametoindex("br0"), small, strlen(first) + 8);
	CHECK_EQ_STR(small, first);
	if (system("ip link add link br0 name w0 type vlan id 5 2>/dev/null") == 0)
		check_says("w0", "tc program %u on v1, XDP program %u on v0", tc_id, xdp_id);
	else
		(void) printf("left out: no VLANs in this kernel\n");
	netns_run("ip link del br0 && ip link set dev v0 xdpgeneric off && tc qdisc del dev v1 clsact");
	/* Where there is nothing but a qdisc and a filter of another kind, nothing is said. */
	netns_run("tc qdisc add dev v1 ingress && tc filter add dev v1 parent ffff: protocol ip prio 1 "
	          "u32 match ip src 192.0.2.1 flowid :1");
	check_says("v1", "%s", "");
	netns_run("tc filter add dev v1 parent ffff: protocol all prio 2 bpf bytecode '1,6 0 0 0,' "
	          "flowid :1");
	check_says("v1", "tc program on v1");
	netns_run("tc qdisc del dev v1 ingress");
	(void) close(xdp);
	(void) close(tc);
}

/* As vipd has it of its unit. */
static void keep_net_admin_alone(struct __user_cap_data_struct ret_before[2])
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct now[2] = {0};

	CHECK_EQ_INT(syscall(SYS_capget, &header, ret_before), 0);
	now[0].permitted = ret_before[0].permitted;
	now[1].permitted = ret_before[1].permitted;
	now[0].effective = 1U << CAP_NET_ADMIN;
	CHECK_EQ_INT(syscall(SYS_capset, &header, now), 0);
}

static void test_tcx(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct before[2] = {0};
	int fd = load(BPF_PROG_TYPE_SCHED_CLS);
	union bpf_attr attr = {0};

	attr.target_fd = if_nametoindex("v0");
	attr.attach_bpf_fd = (uint32_t) fd;
	attr.attach_type = TCX_INGRESS;
	if (bpf(BPF_PROG_ATTACH, &attr) < 0) {
		(void) printf("left out: no tcx (kernel 6.6): %s\n", strerror(errno));
		return;
	}
	keep_net_admin_alone(before);
	check_says("v0", "tcx program %u on v0", id_of(fd));
	CHECK_EQ_INT(syscall(SYS_capset, &header, before), 0);
	CHECK_EQ_INT(bpf(BPF_PROG_DETACH, &attr), 0);
	check_says("v0", "%s", "");
	(void) close(fd);
}

static void test_flowtable(void)
{
	if (system("nft 'table ip t { flowtable ft { hook ingress priority 0; devices = { v0 }; }; }' "
	           "2>/dev/null") != 0) {
		(void) printf("left out: no flowtables in this kernel\n");
		return;
	}
	check_says("v0", "flowtable ft of table t on v0");
	check_says("v1", "%s", "");
	netns_run("nft delete table ip t");
	check_says("v0", "%s", "");
}

int main(void)
{
	(void) netns_enter_new();
	if (!CHECK_EQ_INT(netlink_new(NULL, NETLINK_ROUTE, &nl), 0))
		return check_result();
	netns_run("ip link add v0 type veth peer name v1");
	check_says("v0", "%s", "");
	check_says("lo", "%s", "");
	test_programs();
	test_tcx();
	test_flowtable();
	netlink_free(nl);
	return check_result();
}
