/* SPDX-License-Identifier: Apache-2.0 */
/* Whom a control-plane node talks to, read from what kubeadm's nodes have. */
#include <linux/if_addr.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "check.h"
#include "netconf/probe/probe_priv.h"

static void test_peers(void)
{
	static const char v4[] =
	    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
	    "   0: 0100007F:094B 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0\n"
	    /* to 10.86.0.12 */
	    "   1: 0B00560A:8D3A 0C00560A:094C 01 00000000:00000000 02:00000000 00000000     0\n"
	    "   2: 0B00560A:8D3C 0C00560A:094C 01 00000000:00000000 02:00000000 00000000     0\n"
	    /* to itself; being opened; from a peer to us */
	    "   3: 0B00560A:8D3E 0B00560A:094C 01 00000000:00000000 02:00000000 00000000     0\n"
	    "   4: 0B00560A:8D40 0D00560A:094C 02 00000000:00000000 02:00000000 00000000     0\n"
	    "   5: 0B00560A:094C 0D00560A:9999 01 00000000:00000000 02:00000000 00000000     0\n"
	    "   6: 0100007F:8D42 0100007F:094C 01 00000000:00000000 02:00000000 00000000     0\n"
	    /* to 10.86.0.13, and the list is cut */
	    "   7: 0B00560A:8D44 0D00560A:094C 01";
	static const char v6[] =
	    "   0: 0000000000000000FFFF00000B00560A:8D3A 0000000000000000FFFF00000C00560A:094C 01 0\n"
	    "   1: 000086FD000000000000000011000000:8D3A 000086FD000000000000000012000000:094C 01 0\n";
	struct endpoint peers[PROBE_PEERS_MAX];
	char text[ENDPOINT_TEXT_MAX];

	CHECK_EQ_INT(probe_etcd_peers(v4, peers), 2);
	CHECK_EQ_STR(endpoint_format(&peers[0], text), "10.86.0.12:2380");
	CHECK_EQ_STR(endpoint_format(&peers[1], text), "10.86.0.13:2380");
	CHECK_EQ_INT(probe_etcd_peers(v6, peers), 2);
	CHECK_EQ_STR(endpoint_format(&peers[0], text), "10.86.0.12:2380");
	CHECK_EQ_STR(endpoint_format(&peers[1], text), "[fd86::12]:2380");
	CHECK_EQ_INT(probe_etcd_peers("", peers), 0);
	CHECK_EQ_INT(probe_etcd_peers("\n\n  1: x", peers), 0);
}

static void test_address_flags(void)
{
	static const char text[] = "00000000000000000000000000000001 01 80 10 80       lo\n"
	                           "fd020000000000000000000000000007 1f 40 00 48   eth1\n"
	                           "fd020000000000000000000000000007 20 40 00 80 eth1.5\n"
	                           "fe800000000000000000000000000001 20 40 20 c0 eth1.5\n"
	                           "fd02";
	static const struct {
		const char *link, *addr;
		unsigned flags;
	} cases[] = {
	    {"eth1", "fd02::7", IFA_F_DADFAILED | IFA_F_TENTATIVE},
	    {"eth1.5", "fd02::7", IFA_F_PERMANENT},
	    {"eth1.5", "fe80::1", IFA_F_PERMANENT | IFA_F_TENTATIVE},
	    {"eth1", "fe80::1", 0},
	    {"eth2", "fd02::7", 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct addr addr;

		CHECK_EQ_INT(addr_parse(cases[i].addr, &addr), 0);
		CHECK_EQ_INT(probe_address_flags(text, cases[i].link, &addr), cases[i].flags);
		CHECK_EQ_INT(probe_address_flags("", cases[i].link, &addr), 0);
	}
}

static void test_api_server(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
	    {"clusters:\n- cluster:\n    server: https://10.0.0.5:6443\n  name: x\n", "10.0.0.5:6443"},
	    {"    server: \"https://cp.example:6443/\"\n", "cp.example:6443"},
	    {"    server: https://[fd00::5]:6443\n", "[fd00::5]:6443"},
	    {"    server: https://cp.example", "cp.example"},
	    /* prism, and others on this machine */
	    {"    server: https://127.0.0.1:7445\n", NULL},
	    {"    server: https://[::1]:7445\n", NULL},
	    {"    server: https://localhost:7445\n", NULL},
	    {"    server: http://10.0.0.5:8080\n", NULL},
	    {"server", NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		AUTO(free) char *got = probe_api_server(cases[i].text);

		CHECK_EQ_STR(got, cases[i].want);
	}
}

int main(void)
{
	test_peers();
	test_address_flags();
	test_api_server();
	return check_result();
}
