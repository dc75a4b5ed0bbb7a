/* SPDX-License-Identifier: Apache-2.0 */
/* Whom a control-plane node talks to, read from what kubeadm's nodes have. */
#include <linux/if_addr.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
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

/* --- who is told --- */

static enum probe_verdict never(struct probe *probe UNUSED, int64_t now_us UNUSED)
{
	return PROBE_RUNNING;
}

static enum probe_verdict good(struct probe *probe UNUSED, int64_t now_us UNUSED)
{
	return PROBE_GOOD;
}

/* Before the change it is good, and after it lost. */
static enum probe_verdict lost_later(struct probe *probe, int64_t now_us UNUSED)
{
	return probe->worked ? PROBE_LOST : PROBE_GOOD;
}

/* Good before, and never heard of again. */
static enum probe_verdict silent_later(struct probe *probe, int64_t now_us UNUSED)
{
	return probe->worked ? PROBE_RUNNING : PROBE_GOOD;
}

static void no_fini(struct probe *probe UNUSED)
{
}

static const struct probe_kind kinds[] = {
    {NULL, silent_later, never, no_fini},
    {NULL, never, lost_later, no_fini},
    {NULL, good, good, no_fini},
};

/* In place of the one that asks this machine. */
void probe_make_list(const struct probe_host *host UNUSED, const struct config *config UNUSED,
                     struct probe **ret_list, size_t *ret_n)
{
	static const char *const names[] = {"silent", "lost", "good"};

	*ret_n = ARRAY_SIZE(kinds);
	*ret_list = xcalloc(*ret_n, sizeof(**ret_list));
	for (size_t i = 0; i < *ret_n; i++) {
		(*ret_list)[i].kind = &kinds[i];
		(*ret_list)[i].name = xstrdup(names[i]);
	}
}

static void on_known(size_t n_good, size_t n_all, void *userdata)
{
	CHECK_EQ_INT(n_good, 3);
	CHECK_EQ_INT(n_all, 3);
	ev_break(userdata, EVBREAK_ALL);
}

static void on_judged(const char *lost, void *userdata)
{
	CHECK_EQ_STR(lost, "lost no longer answers");
	ev_break(userdata, EVBREAK_ALL);
}

/* One that is lost for good ends the pass: those that had no time to answer are not to blame. */
static void test_blame(void)
{
	struct config config = {.policy.probe_timeout_us = 3600 * US_PER_S};
	struct ev_loop *ev = ev_loop_new(EVFLAG_AUTO);
	struct probes *probes;

	CHECK_EQ_INT(probes_new(&(struct probe_host){.ev = ev}, &config, &probes), 0);
	probes_learn(probes, NULL, on_known, ev);
	(void) ev_run(ev, 0);
	probes_judge(probes, NULL, on_judged, ev);
	(void) ev_run(ev, 0);
	probes_free(probes);
	ev_loop_destroy(ev);
}

int main(void)
{
	test_blame();
	test_peers();
	test_address_flags();
	test_api_server();
	return check_result();
}
