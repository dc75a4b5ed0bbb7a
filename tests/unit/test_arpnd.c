/* SPDX-License-Identifier: Apache-2.0 */
/* Frames as tables, then two namespaces with a veth pair: the other kernel is the judge. */
#include "net/arpnd.h"

#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "net/arpnd_frame.h"
#include "tests/unit/check.h"
#include "tests/unit/netns.h"

#define MAC_A "02:00:00:00:00:0a"
#define MAC_B "02:00:00:00:00:0b"
#define VIP4 "10.9.0.5"
#define VIP6 "fd00::5"

static struct addr addr_of(const char *text)
{
	struct addr a = {0};

	CHECK_EQ_INT(addr_parse(text, &a), 0);
	return a;
}

static struct mac mac_of(const char *text)
{
	struct mac m = {{0}};

	CHECK_EQ_INT(mac_parse(text, &m), 0);
	return m;
}

/* --- frames --- */

static void test_golden(void)
{
	static const uint8_t arp_reply[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,  0, 0, 0, 0,
	                                    0x0a, 0x08, 0x06, 0,    1,    0x08, 0,  6, 4, 0, 2,
	                                    2,    0,    0,    0,    0,    0x0a, 10, 9, 0, 5, 2,
	                                    0,    0,    0,    0,    0x0a, 10,   9,  0, 5};
	static const uint8_t na[] = {
	    0x33, 0x33, 0,    0,    0,    1, 2, 0, 0,    0, 0, 0x0a, 0x86, 0xdd, 0x60, 0, 0, 0,
	    0,    32,   58,   255,  0xfd, 0, 0, 0, 0,    0, 0, 0,    0,    0,    0,    0, 0, 0,
	    0,    5,    0xff, 2,    0,    0, 0, 0, 0,    0, 0, 0,    0,    0,    0,    0, 0, 1,
	    136,  0,    0x5e, 0x7e, 0x20, 0, 0, 0, 0xfd, 0, 0, 0,    0,    0,    0,    0, 0, 0,
	    0,    0,    0,    0,    0,    5, 2, 1, 2,    0, 0, 0,    0,    0x0a};
	const struct mac a = mac_of(MAC_A);
	const struct addr v4 = addr_of(VIP4), v6 = addr_of(VIP6);
	struct arpnd_frame f;
	uint8_t buf[ARPND_FRAME_MAX];

	arpnd_frame_announcement(&v4, &a, ARPND_FRAME_ARP_REPLY, &f);
	CHECK_EQ_INT(arpnd_frame_build(&f, buf), sizeof(arp_reply));
	CHECK_EQ_INT(memcmp(buf, arp_reply, sizeof(arp_reply)), 0);
	arpnd_frame_announcement(&v6, &a, ARPND_FRAME_ADVERTISE, &f);
	CHECK_EQ_INT(arpnd_frame_build(&f, buf), sizeof(na));
	/* The checksum is judged by a kernel below. */
	memcpy(buf + 56, na + 56, 2);
	CHECK_EQ_INT(memcmp(buf, na, sizeof(na)), 0);
}

static bool frames_equal(const struct arpnd_frame *x, const struct arpnd_frame *y)
{
	return x->kind == y->kind && mac_equal(&x->eth_from, &y->eth_from) &&
	       mac_equal(&x->eth_to, &y->eth_to) && addr_equal(&x->sender, &y->sender) &&
	       addr_equal(&x->target, &y->target) && addr_equal(&x->to, &y->to) &&
	       mac_equal(&x->link, &y->link) && x->has_link == y->has_link &&
	       mac_equal(&x->target_link, &y->target_link) && x->override == y->override &&
	       x->solicited == y->solicited;
}

static void test_round_trip(void)
{
	static const struct {
		const char *target, *sender; /* sender NULL: an announcement */
		enum arpnd_frame_kind kind;
	} cases[] = {
	    {VIP4, NULL, ARPND_FRAME_ARP_REQUEST},      {VIP4, NULL, ARPND_FRAME_ARP_REPLY},
	    {VIP6, NULL, ARPND_FRAME_ADVERTISE},        {VIP4, "10.9.0.2", ARPND_FRAME_ARP_REQUEST},
	    {VIP4, "0.0.0.0", ARPND_FRAME_ARP_REQUEST}, {VIP6, "fd00::2", ARPND_FRAME_SOLICIT},
	    {VIP6, "::", ARPND_FRAME_SOLICIT},
	};
	const struct mac a = mac_of(MAC_A);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct addr target = addr_of(cases[i].target);
		struct arpnd_frame f, got = {0};
		uint8_t buf[ARPND_FRAME_MAX];
		size_t len;

		if (cases[i].sender != NULL) {
			const struct addr sender = addr_of(cases[i].sender);

			arpnd_frame_question(&target, &sender, &a, &f);
		} else {
			arpnd_frame_announcement(&target, &a, cases[i].kind, &f);
		}
		len = arpnd_frame_build(&f, buf);
		CHECK_EQ_INT(f.kind, cases[i].kind);
		CHECK_EQ_INT(arpnd_frame_parse(buf, len, &got), 0);
		CHECK(frames_equal(&f, &got));
		/* No beginning of it is a frame, and no bit may be wrong in what counts. */
		for (size_t n = 0; n < len; n++) {
			AUTO(free) uint8_t *cut = xmemdup(buf, n);

			if (!CHECK(arpnd_frame_parse(cut, n, &got) < 0))
				break;
		}
	}
}

/* The sum, by another way than the code's: modulo 65535. */
static void test_checksum(void)
{
	const struct mac a = mac_of(MAC_A);

	for (uint32_t i = 0; i < 5000; i++) {
		struct addr target = addr_of(VIP6);
		struct arpnd_frame f;
		uint8_t buf[ARPND_FRAME_MAX];
		uint64_t sum = 58 + 32;

		for (size_t k = 1; k < sizeof(target.bytes); k++)
			target.bytes[k] = (uint8_t) ((i * 2654435761U + k * 40503U) >> (k % 3 * 8));
		arpnd_frame_announcement(&target, &a, ARPND_FRAME_ADVERTISE, &f);
		CHECK_EQ_INT(arpnd_frame_build(&f, buf), ARPND_FRAME_MAX);
		for (size_t k = 22; k < ARPND_FRAME_MAX; k += 2)
			sum += (uint64_t) buf[k] << 8 | buf[k + 1];
		if (!CHECK_EQ_INT(sum % 65535, 0))
			break;
	}
}

static void test_malformed(void)
{
	static const struct {
		const char *what;
		bool v6;
		size_t at;
		uint8_t value;
		int want;
	} cases[] = {
	    {"other protocol", false, 13, 0x07, -EPROTO},
	    {"ARP: hardware type", false, 15, 6, -EBADMSG},
	    {"ARP: protocol type", false, 16, 0x86, -EBADMSG},
	    {"ARP: hardware length", false, 18, 8, -EBADMSG},
	    {"ARP: protocol length", false, 19, 16, -EBADMSG},
	    {"ARP: operation", false, 21, 3, -EPROTO},
	    {"IPv6: version", true, 14, 0x40, -EBADMSG},
	    {"IPv6: payload too long", true, 19, 33, -EBADMSG},
	    {"IPv6: payload too short", true, 19, 23, -EBADMSG},
	    {"IPv6: payload of 0", true, 19, 0, -EBADMSG},
	    {"IPv6: next header", true, 20, 6, -EPROTO},
	    {"IPv6: hop limit", true, 21, 254, -EBADMSG},
	    {"ND: type", true, 54, 134, -EPROTO},
	    {"ND: code", true, 55, 1, -EBADMSG},
	    {"ND: checksum", true, 57, 0, -EBADMSG},
	    {"ND: target", true, 77, 6, -EBADMSG},
	    {"ND: option of length 0", true, 79, 0, -EBADMSG},
	    {"ND: option too long", true, 79, 2, -EBADMSG},
	};
	const struct mac a = mac_of(MAC_A);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct addr addr = addr_of(cases[i].v6 ? VIP6 : VIP4);
		struct arpnd_frame f, got;
		uint8_t buf[ARPND_FRAME_MAX];
		size_t len;

		arpnd_frame_announcement(&addr, &a, ARPND_FRAME_ARP_REQUEST, &f);
		len = arpnd_frame_build(&f, buf);
		if (!CHECK(buf[cases[i].at] != cases[i].value))
			(void) fprintf(stderr, "in the case \"%s\"\n", cases[i].what);
		buf[cases[i].at] = cases[i].value;
		if (!CHECK_EQ_INT(arpnd_frame_parse(buf, len, &got), cases[i].want))
			(void) fprintf(stderr, "in the case \"%s\"\n", cases[i].what);
	}
}

/* Well-formed by its lengths and sum, and still not to be believed (RFC 4861 section 7.1). */
static void test_forbidden(void)
{
	const struct mac a = mac_of(MAC_A);
	const struct addr v6 = addr_of(VIP6), none = addr_of("::");
	struct arpnd_frame f, got;
	uint8_t buf[ARPND_FRAME_MAX];

	arpnd_frame_question(&v6, &none, &a, &f);
	f.has_link = true;
	CHECK_EQ_INT(arpnd_frame_parse(buf, arpnd_frame_build(&f, buf), &got), -EBADMSG);
	arpnd_frame_question(&v6, &none, &a, &f);
	f.to = v6;
	CHECK_EQ_INT(arpnd_frame_parse(buf, arpnd_frame_build(&f, buf), &got), -EBADMSG);
	arpnd_frame_announcement(&v6, &a, ARPND_FRAME_ADVERTISE, &f);
	f.solicited = true;
	CHECK_EQ_INT(arpnd_frame_parse(buf, arpnd_frame_build(&f, buf), &got), -EBADMSG);
	arpnd_frame_announcement(&v6, &a, ARPND_FRAME_ADVERTISE, &f);
	f.target = arpnd_frame_all_nodes;
	CHECK_EQ_INT(arpnd_frame_parse(buf, arpnd_frame_build(&f, buf), &got), -EBADMSG);
}

/* --- on the wire --- */

static struct ev_loop *ev;
static int ns_a, ns_b;
static int raw_b; /* a raw socket on vb */

struct heard {
	unsigned claims, probes;
	struct addr addr;
	struct mac from;
	struct arpnd *free_this;
};

static void heard_cb(enum arpnd_kind kind, const struct addr *addr, const struct mac *from,
                     void *userdata)
{
	struct heard *h = userdata;

	if (kind == ARPND_CLAIM)
		h->claims++;
	else
		h->probes++;
	h->addr = *addr;
	h->from = *from;
	if (h->free_this != NULL)
		arpnd_free(TAKE_PTR(h->free_this));
}

static struct arpnd *open_on(int ns, const char *ifname, const char *mac, struct heard *h)
{
	const struct mac own = mac_of(mac);
	struct arpnd *a = NULL;

	netns_switch(ns);
	CHECK_EQ_INT(arpnd_new(ev, (int) if_nametoindex(ifname), &own, heard_cb, h, &a), 0);
	netns_switch(ns_a);
	return a;
}

static void listen_a_while(void)
{
	bool never = false;

	(void) netns_run_until(ev, &never, 0.06);
}

static int open_raw(const char *ifname)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_ifindex = (int) if_nametoindex(ifname)};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	CHECK_EQ_INT(bind(fd, (struct sockaddr *) &at, sizeof(at)), 0);
	return fd;
}

/* What the watcher on va makes of each frame that the other host sends. */
static void test_hearing(void)
{
	static const struct {
		const char *what;
		const char *target, *sender;
		enum arpnd_frame_kind kind;
		bool announcement;
		const char *eth_from, *link;
		unsigned claims, probes;
		int vlan; /* -1: no tag */
	} cases[] = {
	    {"gratuitous request", VIP4, NULL, ARPND_FRAME_ARP_REQUEST, true, MAC_B, MAC_B, 1, 0, -1},
	    {"gratuitous reply", VIP4, NULL, ARPND_FRAME_ARP_REPLY, true, MAC_B, MAC_B, 1, 0, -1},
	    {"question in its name", "10.9.0.1", VIP4, 0, false, MAC_B, MAC_B, 1, 0, -1},
	    {"ARP probe", VIP4, "0.0.0.0", 0, false, MAC_B, MAC_B, 0, 1, -1},
	    {"question for it", VIP4, "10.9.0.2", 0, false, MAC_B, MAC_B, 0, 0, -1},
	    {"of another address", "10.9.0.6", NULL, ARPND_FRAME_ARP_REQUEST, true, MAC_B, MAC_B, 0, 0,
	     -1},
	    {"probe of another", "10.9.0.6", "0.0.0.0", 0, false, MAC_B, MAC_B, 0, 0, -1},
	    {"our own, reflected", VIP4, NULL, ARPND_FRAME_ARP_REQUEST, true, MAC_A, MAC_A, 0, 0, -1},
	    {"our own sent on by another", VIP4, NULL, ARPND_FRAME_ARP_REQUEST, true, MAC_B, MAC_A, 0,
	     0, -1},
	    {"sent by us about another", VIP4, NULL, ARPND_FRAME_ARP_REQUEST, true, MAC_A, MAC_B, 0, 0,
	     -1},
	    {"in another VLAN", VIP4, NULL, ARPND_FRAME_ARP_REQUEST, true, MAC_B, MAC_B, 0, 0, 10},
	    {"priority tag", VIP4, NULL, ARPND_FRAME_ARP_REQUEST, true, MAC_B, MAC_B, 1, 0, 0},
	    {"NA", VIP6, NULL, ARPND_FRAME_ADVERTISE, true, MAC_B, MAC_B, 1, 0, -1},
	    {"NS in its name", "fd00::1", VIP6, 0, false, MAC_B, MAC_B, 1, 0, -1},
	    {"DAD", VIP6, "::", 0, false, MAC_B, MAC_B, 0, 1, -1},
	    {"NS for it", VIP6, "fd00::2", 0, false, MAC_B, MAC_B, 0, 0, -1},
	    {"NA of one that ends alike", "fd00:1::5", NULL, ARPND_FRAME_ADVERTISE, true, MAC_B, MAC_B,
	     0, 0, -1},
	    {"NA, reflected", VIP6, NULL, ARPND_FRAME_ADVERTISE, true, MAC_A, MAC_A, 0, 0, -1},
	};
	struct heard h = {0};
	AUTO(arpnd_free) struct arpnd *a = open_on(ns_a, "va", MAC_A, &h);
	const struct addr v4 = addr_of(VIP4), v6 = addr_of(VIP6);

	CHECK_EQ_INT(arpnd_watch(a, &v4), 0);
	CHECK_EQ_INT(arpnd_watch(a, &v6), 0);
	CHECK_EQ_INT(arpnd_watch(a, &v6), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct addr target = addr_of(cases[i].target);
		const struct mac link = mac_of(cases[i].link);
		struct arpnd_frame f;
		uint8_t buf[ARPND_FRAME_MAX + 4];
		size_t len;

		if (cases[i].announcement) {
			arpnd_frame_announcement(&target, &link, cases[i].kind, &f);
		} else {
			const struct addr sender = addr_of(cases[i].sender);

			arpnd_frame_question(&target, &sender, &link, &f);
		}
		f.eth_from = mac_of(cases[i].eth_from);
		len = arpnd_frame_build(&f, buf);
		if (cases[i].vlan >= 0) {
			const uint8_t tag[4] = {0x81, 0, 0x20, (uint8_t) cases[i].vlan};

			memmove(buf + 16, buf + 12, len - 12);
			memcpy(buf + 12, tag, sizeof(tag));
			len += sizeof(tag);
		}
		h = (struct heard){0};
		CHECK_EQ_INT(send(raw_b, buf, len, 0), len);
		listen_a_while();
		if (!CHECK_EQ_INT(h.claims, cases[i].claims) || !CHECK_EQ_INT(h.probes, cases[i].probes))
			(void) fprintf(stderr, "in the case \"%s\"\n", cases[i].what);
		if (h.claims + h.probes == 1) {
			const struct mac b = mac_of(MAC_B);

			CHECK(addr_equal(&h.addr, target.family == AF_INET6 ? &v6 : &v4));
			CHECK(mac_equal(&h.from, &b));
		}
	}
	/* Not watched any more: not heard. */
	arpnd_unwatch(a, &v4);
	arpnd_unwatch(a, &v4);
	netns_switch(ns_b);
	h = (struct heard){0};
	{
		const struct mac b = mac_of(MAC_B);
		struct arpnd_frame f;
		uint8_t buf[ARPND_FRAME_MAX];

		arpnd_frame_announcement(&v4, &b, ARPND_FRAME_ARP_REQUEST, &f);
		CHECK(send(raw_b, buf, arpnd_frame_build(&f, buf), 0) > 0);
		arpnd_frame_announcement(&v6, &b, ARPND_FRAME_ADVERTISE, &f);
		CHECK(send(raw_b, buf, arpnd_frame_build(&f, buf), 0) > 0);
	}
	netns_switch(ns_a);
	listen_a_while();
	CHECK_EQ_INT(h.claims, 1);
	CHECK(addr_equal(&h.addr, &v6));
}

/* The other kernel believes us: its entry changes to our MAC. Our own watcher hears nothing. */
static void test_announcing(void)
{
	struct heard at_a = {0}, at_b = {0};
	AUTO(arpnd_free) struct arpnd *a = open_on(ns_a, "va", MAC_A, &at_a);
	AUTO(arpnd_free) struct arpnd *b = open_on(ns_b, "vb", MAC_B, &at_b);
	const struct addr v4 = addr_of(VIP4), v6 = addr_of(VIP6);
	const struct mac mac_a = mac_of(MAC_A);

	CHECK_EQ_INT(arpnd_watch(a, &v4) + arpnd_watch(a, &v6), 0);
	CHECK_EQ_INT(arpnd_watch(b, &v4) + arpnd_watch(b, &v6), 0);
	netns_switch(ns_b);
	/* An entry that was changed less than a second ago (net.ipv4.neigh.*.locktime) is not changed.
	 */
	netns_sysctl("/proc/sys/net/ipv4/neigh/vb/locktime", "0");
	netns_run("ip neigh replace " VIP4 " lladdr 02:00:00:00:00:99 dev vb nud stale");
	netns_run("ip neigh replace " VIP6 " lladdr 02:00:00:00:00:99 dev vb nud stale");
	netns_switch(ns_a);
	CHECK_EQ_INT(arpnd_announce(a, &v4), 0);
	listen_a_while();
	CHECK_EQ_INT(at_b.claims, 2);
	CHECK(addr_equal(&at_b.addr, &v4) && mac_equal(&at_b.from, &mac_a));
	CHECK_EQ_INT(arpnd_announce(a, &v6), 0);
	listen_a_while();
	CHECK_EQ_INT(at_b.claims, 3);
	CHECK(addr_equal(&at_b.addr, &v6) && mac_equal(&at_b.from, &mac_a));
	CHECK_EQ_INT(at_a.claims + at_a.probes, 0);
	netns_switch(ns_b);
	netns_run("ip neigh show " VIP4 " dev vb | grep -q " MAC_A);
	netns_run("ip neigh show " VIP6 " dev vb | grep -q " MAC_A);
	netns_switch(ns_a);

	/* After a change of the MAC the frames carry the new one. */
	{
		const struct mac other = mac_of("02:00:00:00:00:cc");

		arpnd_set_mac(a, &other);
		CHECK_EQ_INT(arpnd_announce(a, &v4), 0);
		listen_a_while();
		CHECK(mac_equal(&at_b.from, &other));
	}
}

/* The other kernel answers for what it has, whoever has it there, and for nothing else; and it
 * learns nothing of us. */
static void test_probing(void)
{
	struct heard h = {0};
	AUTO(arpnd_free) struct arpnd *a = open_on(ns_a, "va", MAC_A, &h);
	const struct addr addrs[] = {addr_of(VIP4), addr_of(VIP6)};
	const struct mac mac_b = mac_of(MAC_B);

	netns_switch(ns_b);
	netns_run("ip neigh flush dev vb");
	netns_switch(ns_a);
	for (size_t i = 0; i < ARRAY_SIZE(addrs); i++) {
		CHECK_EQ_INT(arpnd_watch(a, &addrs[i]), 0);
		CHECK_EQ_INT(arpnd_probe(a, &addrs[i]), 0);
		listen_a_while();
		CHECK_EQ_INT(h.claims, 0);
		netns_switch(ns_b);
		netns_run("ip address add %s dev vb nodad", i == 0 ? VIP4 : VIP6);
		netns_switch(ns_a);
		CHECK_EQ_INT(arpnd_probe(a, &addrs[i]), 0);
		listen_a_while();
		CHECK_EQ_INT(h.claims, 1);
		CHECK(addr_equal(&h.addr, &addrs[i]) && mac_equal(&h.from, &mac_b));
		h = (struct heard){0};
		netns_switch(ns_b);
		netns_run("ip address del %s dev vb; ! ip neigh show dev vb | grep " MAC_A,
		          i == 0 ? VIP4 "/32" : VIP6 "/128");
		netns_switch(ns_a);
	}
}

/* A link that is down, comes up, and goes away. */
static void test_link_down(void)
{
	struct heard at_a = {0};
	const struct addr v4 = addr_of(VIP4);
	const struct mac b = mac_of(MAC_B);
	struct arpnd *none = NULL;
	AUTO(arpnd_free) struct arpnd *a = NULL;
	struct arpnd_frame f;
	uint8_t buf[ARPND_FRAME_MAX];
	size_t len;

	CHECK_EQ_INT(arpnd_new(ev, 4711, &b, heard_cb, &at_a, &none), -ENODEV);
	netns_run("ip link set va down");
	a = open_on(ns_a, "va", MAC_A, &at_a);
	CHECK_EQ_INT(arpnd_watch(a, &v4), 0);
	CHECK_EQ_INT(arpnd_announce(a, &v4), -ENETDOWN);
	netns_run("ip link set va up");
	CHECK_EQ_INT(arpnd_announce(a, &v4), 0);
	arpnd_frame_announcement(&v4, &b, ARPND_FRAME_ARP_REQUEST, &f);
	len = arpnd_frame_build(&f, buf);
	CHECK_EQ_INT(send(raw_b, buf, len, 0), len);
	listen_a_while();
	CHECK_EQ_INT(at_a.claims, 1);
	netns_run("ip link set va down; ip link set va up");
	listen_a_while();
	CHECK_EQ_INT(send(raw_b, buf, len, 0), len);
	listen_a_while();
	CHECK_EQ_INT(at_a.claims, 2);

	/* The listener frees us with more frames waiting. */
	at_a.free_this = TAKE_PTR(a);
	CHECK_EQ_INT(send(raw_b, buf, len, 0), len);
	CHECK_EQ_INT(send(raw_b, buf, len, 0), len);
	listen_a_while();
	CHECK_EQ_INT(at_a.claims, 3);
	CHECK(at_a.free_this == NULL);
}

/* As many addresses as are allowed: the last one's jump is the longest in the filter. */
static void test_many_watched(void)
{
	struct heard at_a = {0};
	AUTO(arpnd_free) struct arpnd *a = open_on(ns_a, "va", MAC_A, &at_a);
	const struct mac b = mac_of(MAC_B);

	for (int i = 0; i < ARPND_WATCH_MAX; i++) {
		struct addr addr = addr_of("10.9.1.0");
		struct arpnd_frame f;
		uint8_t buf[ARPND_FRAME_MAX];

		addr.bytes[3] = (uint8_t) i;
		CHECK_EQ_INT(arpnd_watch(a, &addr), 0);
		arpnd_frame_announcement(&addr, &b, ARPND_FRAME_ARP_REQUEST, &f);
		CHECK(send(raw_b, buf, arpnd_frame_build(&f, buf), 0) > 0);
	}
	listen_a_while();
	CHECK_EQ_INT(at_a.claims, ARPND_WATCH_MAX);
	{
		const struct addr one_more = addr_of("10.9.2.0");

		CHECK_EQ_INT(arpnd_watch(a, &one_more), -ENOSPC);
	}
}

int main(void)
{
	test_golden();
	test_round_trip();
	test_checksum();
	test_malformed();
	test_forbidden();

	ev = ev_default_loop(EVFLAG_AUTO);
	ns_b = netns_enter_new();
	ns_a = netns_enter_new();
	netns_veth("va", MAC_A, ns_b, "vb", MAC_B);
	netns_switch(ns_b);
	raw_b = open_raw("vb");
	netns_run("ip addr add 10.9.0.2/24 dev vb; ip addr add fd00::2/64 dev vb nodad");
	netns_switch(ns_a);
	test_hearing();
	test_probing();
	test_announcing();
	test_link_down();
	test_many_watched();
	return check_result();
}
