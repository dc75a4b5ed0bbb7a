/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate in one namespace and a host that asks from another. Both of the gate's links are ports
 * of one LAN (a bridge over there), and the kernel's default is to answer ARP for an address on any
 * link, so the gate alone is what keeps an address silent.
 */
#include "net/nftgate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>

#include "base/mem.h"
#include "base/mono.h"
#include "net/arpnd_frame.h"
#include "net/sockdestroy.h"
#include "tests/unit/check.h"
#include "tests/unit/netns.h"
#include "tests/unit/oldnft.h"
#include "tests/unit/patient.h"

static int open_for(struct nftgate *gate, const struct addr *addr, int64_t timeout_us)
{
	return nftgate_open_until(gate, addr, mono_now_us() + timeout_us);
}

#define TABLE "fairlead_test"
#define MAC_A "02:00:00:00:00:0a" /* the link that has the addresses */
#define MAC_C "02:00:00:00:00:0c" /* the second link in the same LAN */
#define MAC_B "02:00:00:00:00:0b" /* the one who asks */
#define VIP4 "10.9.0.5"
#define VIP6 "fd00::5"
#define ANSWER_WAIT_MS 40

/* As many rules as before, and one of them another. */
#define REPLACE_RULE                                                               \
	"nft replace rule inet " TABLE " input handle $(nft -a list chain inet " TABLE \
	" input | sed -n 's/.* ip daddr .* handle //p') ip daddr @guarded4 accept"

static struct ev_loop *ev;
static int ns_a, ns_b, ns_d;
static int ask_fd; /* packet socket on the asker's bridge */
static struct mac mac_a, mac_b, mac_c;

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

/*
 * The clock of this program: when told to, it stalls after it was read, as if the process had been
 * stopped at the worst moment.
 */
static int stall_ms;
static unsigned stalls_left;

int clock_gettime(clockid_t id, struct timespec *ts)
{
	int r = (int) syscall(SYS_clock_gettime, id, ts);

	if (id == CLOCK_BOOTTIME && stalls_left > 0) {
		stalls_left--;
		(void) usleep((useconds_t) stall_ms * 1000);
	}
	return r;
}

static bool kernel_has_persist(void)
{
	struct utsname name;
	int major = 0, minor = 0;

	CHECK_EQ_INT(uname(&name), 0);
	CHECK_EQ_INT(sscanf(name.release, "%d.%d", &major, &minor), 2);
	return major > 6 || (major == 6 && minor >= 9);
}

/* --- asking --- */

enum { ANSWERED_A = 1, ANSWERED_C = 2 };

/* Every question comes from another sender, so that no late answer is taken for a new one's. */
static struct addr next_sender(sa_family_t family)
{
	static uint8_t n;

	n = (uint8_t) (n % 100 + 1);
	if (family == AF_INET)
		return (struct addr){AF_INET, {10, 9, 0, (uint8_t) (100 + n)}};
	return (struct addr){AF_INET6, {0xfd, [14] = 1, [15] = n}};
}

static bool is_answer(const struct arpnd_frame *f, const struct addr *target,
                      const struct addr *sender)
{
	if (target->family == AF_INET)
		return f->kind == ARPND_FRAME_ARP_REPLY && addr_equal(&f->sender, target) &&
		       addr_equal(&f->target, sender);
	return f->kind == ARPND_FRAME_ADVERTISE && addr_equal(&f->target, target) &&
	       addr_equal(&f->to, sender);
}

/* Reads what has come, until somebody answers for target or time is up. */
static unsigned wait_answer(const struct addr *target, const struct addr *sender, int wait_ms)
{
	const int64_t end = mono_now_us() + wait_ms * US_PER_MS;
	struct pollfd pfd = {.fd = ask_fd, .events = POLLIN};

	for (;;) {
		uint8_t buf[ARPND_FRAME_PARSE_MAX];
		struct arpnd_frame f;
		ssize_t n = recv(ask_fd, buf, sizeof(buf), MSG_DONTWAIT);
		int64_t left_us = end - mono_now_us();

		if (n >= 0) {
			if (arpnd_frame_parse(buf, (size_t) n, &f) >= 0 && is_answer(&f, target, sender))
				return mac_equal(&f.link, &mac_c) ? ANSWERED_C : ANSWERED_A;
			continue;
		}
		if (left_us <= 0)
			return 0;
		(void) poll(&pfd, 1, (int) (left_us / US_PER_MS) + 1);
	}
}

static void send_question(const struct addr *target, const struct addr *sender)
{
	struct arpnd_frame f;
	uint8_t buf[ARPND_FRAME_MAX];
	size_t len;

	arpnd_frame_question(target, sender, &mac_b, &f);
	len = arpnd_frame_build(&f, buf);
	CHECK_EQ_INT(send(ask_fd, buf, len, 0), len);
}

/* Everybody who answers; sender NULL for any. */
static unsigned ask(const struct addr *target, const char *sender)
{
	const struct addr from = sender != NULL ? addr_of(sender) : next_sender(target->family);
	unsigned who = 0, more;

	send_question(target, &from);
	while ((more = wait_answer(target, &from, ANSWER_WAIT_MS)) != 0)
		who |= more;
	return who;
}

static bool answers_within(const struct addr *target, int wait_ms)
{
	const struct addr from = next_sender(target->family);

	send_question(target, &from);
	return wait_answer(target, &from, wait_ms) != 0;
}

static bool answers(const struct addr *target)
{
	return answers_within(target, ANSWER_WAIT_MS);
}

static socklen_t fill(struct sockaddr_storage *ss, const struct addr *addr, uint16_t port)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *) (void *) ss;
	struct sockaddr_in *in = (struct sockaddr_in *) (void *) ss;

	memset(ss, 0, sizeof(*ss));
	ss->ss_family = addr->family;
	if (addr->family == AF_INET6) {
		in6->sin6_port = htons(port);
		memcpy(&in6->sin6_addr, addr->bytes, 16);
		return sizeof(*in6);
	}
	in->sin_port = htons(port);
	memcpy(&in->sin_addr, addr->bytes, 4);
	return sizeof(*in);
}

/* From the asker's host, to a port where nobody listens: the refusal tells that the packet came in
 * and the answer went out. */
static bool is_reached(const struct addr *target)
{
	struct sockaddr_storage ss;
	socklen_t len = fill(&ss, target, 9);
	struct pollfd pfd = {.events = POLLIN};
	char c = 0;
	bool reached;

	netns_switch(ns_b);
	pfd.fd = socket(target->family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	CHECK_EQ_INT(connect(pfd.fd, (struct sockaddr *) &ss, len), 0);
	(void) send(pfd.fd, &c, 1, 0);
	reached = poll(&pfd, 1, ANSWER_WAIT_MS) == 1 && recv(pfd.fd, &c, 1, MSG_DONTWAIT) < 0 &&
	          errno == ECONNREFUSED;
	(void) close(pfd.fd);
	netns_switch(ns_a);
	return reached;
}

/* From this host to the asker's, with the address as its source. */
static bool can_speak(const struct addr *source)
{
	const struct addr to = addr_of(source->family == AF_INET ? "10.9.0.2" : "fd00::2");
	struct sockaddr_storage ss;
	socklen_t len = fill(&ss, &to, 5000);
	struct pollfd pfd = {.events = POLLIN};
	char c = 0;
	int fd;
	bool heard;

	netns_switch(ns_b);
	pfd.fd = socket(to.family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	CHECK_EQ_INT(bind(pfd.fd, (struct sockaddr *) &ss, len), 0);
	netns_switch(ns_a);
	fd = socket(to.family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	len = fill(&ss, source, 0);
	CHECK_EQ_INT(bind(fd, (struct sockaddr *) &ss, len), 0);
	len = fill(&ss, &to, 5000);
	(void) sendto(fd, &c, 1, 0, (struct sockaddr *) &ss, len);
	heard = poll(&pfd, 1, ANSWER_WAIT_MS) == 1;
	(void) close(fd);
	(void) close(pfd.fd);
	return heard;
}

static struct nftgate *new_gate(void)
{
	struct nftgate *gate = NULL;

	if (!CHECK_EQ_INT(nftgate_new(ev, TABLE, &gate), 0))
		exit(check_result());
	return gate;
}

static int64_t left_us(struct nftgate *gate, const struct addr *addr)
{
	bool guarded = false;
	int64_t left = -1;

	CHECK_EQ_INT(nftgate_query(gate, addr, &guarded, &left), 0);
	return left;
}

static bool is_guarded(struct nftgate *gate, const struct addr *addr)
{
	bool guarded = false;
	int64_t left;

	CHECK_EQ_INT(nftgate_query(gate, addr, &guarded, &left), 0);
	return guarded;
}

/* --- stories --- */

static void check_voice(const struct addr *addr, bool want, const char *when)
{
	bool ok = CHECK_EQ_INT(ask(addr, NULL) != 0, want);

	ok = CHECK_EQ_INT(is_reached(addr), want) && ok;
	ok = CHECK_EQ_INT(can_speak(addr), want) && ok;
	if (!ok)
		(void) fprintf(stderr, "%s, %s\n", addr->family == AF_INET ? VIP4 : VIP6, when);
}

static void test_open_and_shut(void)
{
	static const char *const vips[] = {VIP4, VIP6};
	AUTO(nftgate_free) struct nftgate *gate = new_gate();

	for (size_t i = 0; i < ARRAY_SIZE(vips); i++) {
		const struct addr vip = addr_of(vips[i]);

		check_voice(&vip, true, "not guarded");
		CHECK(!is_guarded(gate, &vip));
		CHECK_EQ_INT(nftgate_guard(gate, &vip), 0);
		CHECK_EQ_INT(nftgate_guard(gate, &vip), 0);
		CHECK(is_guarded(gate, &vip));
		CHECK_EQ_INT(left_us(gate, &vip), 0);
		check_voice(&vip, false, "guarded");
		CHECK_EQ_INT(open_for(gate, &vip, 30 * US_PER_S), 0);
		CHECK(left_us(gate, &vip) > 29 * US_PER_S && left_us(gate, &vip) <= 30 * US_PER_S);
		check_voice(&vip, true, "open");
		CHECK_EQ_INT(nftgate_shut(gate, &vip), 0);
		CHECK_EQ_INT(nftgate_shut(gate, &vip), 0);
		CHECK_EQ_INT(left_us(gate, &vip), 0);
		check_voice(&vip, false, "shut");
		CHECK_EQ_INT(nftgate_unguard(gate, &vip), 0);
		CHECK_EQ_INT(nftgate_unguard(gate, &vip), 0);
		check_voice(&vip, true, "not guarded any more");
	}
	/* The node's own address was never touched. */
	{
		const struct addr node = addr_of("10.9.0.1");

		CHECK(answers(&node));
	}
	CHECK_EQ_INT(nftgate_destroy(gate), 0);
}

/* Both links answer for an address of either, so both must be silent. */
static void test_second_link(void)
{
	AUTO(nftgate_free) struct nftgate *gate = new_gate();
	const struct addr vip = addr_of(VIP4), other = addr_of("10.9.0.6");

	CHECK_EQ_INT(ask(&vip, NULL), ANSWERED_A | ANSWERED_C);
	CHECK_EQ_INT(nftgate_guard(gate, &vip), 0);
	CHECK_EQ_INT(ask(&vip, NULL), 0);
	/* A probe (RFC 5227), and a question in the name of another guarded address: the first is
	 * stopped on its way in, the answer to the second on its way out. */
	CHECK_EQ_INT(ask(&vip, "0.0.0.0"), 0);
	CHECK_EQ_INT(nftgate_guard(gate, &other), 0);
	CHECK_EQ_INT(ask(&vip, "10.9.0.6"), 0);
	CHECK_EQ_INT(open_for(gate, &vip, US_PER_S), 0);
	CHECK_EQ_INT(ask(&vip, "10.9.0.6"), ANSWERED_A | ANSWERED_C);
	CHECK_EQ_INT(nftgate_destroy(gate), 0);
}

/* A standby hears the new owner's announcement although it guards the address. */
static void test_announcement_passes(void)
{
	AUTO(nftgate_free) struct nftgate *gate = new_gate();
	const struct addr away4 = addr_of("10.9.0.20"), away6 = addr_of("fd00::20");
	static const enum arpnd_frame_kind kinds[] = {ARPND_FRAME_ARP_REQUEST, ARPND_FRAME_ARP_REPLY,
	                                              ARPND_FRAME_ADVERTISE};

	CHECK_EQ_INT(nftgate_guard(gate, &away4), 0);
	CHECK_EQ_INT(nftgate_guard(gate, &away6), 0);
	netns_sysctl("/proc/sys/net/ipv4/neigh/va/locktime", "0");
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct addr *away = kinds[i] == ARPND_FRAME_ADVERTISE ? &away6 : &away4;
		const char *text = kinds[i] == ARPND_FRAME_ADVERTISE ? "fd00::20" : "10.9.0.20";
		struct arpnd_frame f;
		uint8_t buf[ARPND_FRAME_MAX];

		netns_run("ip neigh replace %s lladdr 02:00:00:00:00:99 dev va nud stale", text);
		arpnd_frame_announcement(away, &mac_b, kinds[i], &f);
		CHECK(send(ask_fd, buf, arpnd_frame_build(&f, buf), 0) > 0);
		(void) usleep(20000);
		netns_run("ip neigh show %s dev va | grep -q " MAC_B, text);
	}
	CHECK_EQ_INT(nftgate_destroy(gate), 0);
}

/* It shuts by itself, not before its time (but for two ticks) and not after. */
static void test_timeout(void)
{
	AUTO(nftgate_free) struct nftgate *gate = new_gate();
	static const int64_t timeouts_ms[] = {60, 200, 350};
	static const char *const vips[] = {VIP4, VIP6};

	for (size_t v = 0; v < ARRAY_SIZE(vips); v++) {
		const struct addr vip = addr_of(vips[v]);

		CHECK_EQ_INT(nftgate_guard(gate, &vip), 0);
		for (size_t i = 0; i < ARRAY_SIZE(timeouts_ms); i++) {
			const int64_t timeout_us = timeouts_ms[i] * US_PER_MS;
			int64_t before = mono_now_us(), after, asked, last_answered = 0;

			CHECK_EQ_INT(open_for(gate, &vip, timeout_us), 0);
			after = mono_now_us();
			for (;;) {
				asked = mono_now_us();
				if (!answers(&vip))
					break;
				last_answered = asked;
				(void) usleep(1000);
			}
			CHECK(last_answered <= after + timeout_us);
			/* Ticks of 10 ms at the slowest, and this machine may be busy. */
			CHECK(asked >= before + timeout_us - 30 * US_PER_MS);
		}
	}
	CHECK_EQ_INT(nftgate_destroy(gate), 0);
}

/* The new time counts, longer or shorter, and an element that has timed out is no obstacle whether
 * or not the kernel has collected it (it does so every second). */
static void test_replace(void)
{
	AUTO(nftgate_free) struct nftgate *gate = new_gate();
	static const char *const vips[] = {VIP4, VIP6};

	for (size_t v = 0; v < ARRAY_SIZE(vips); v++) {
		const struct addr vip = addr_of(vips[v]);

		CHECK_EQ_INT(nftgate_guard(gate, &vip), 0);
		CHECK_EQ_INT(open_for(gate, &vip, 5 * US_PER_S), 0);
		CHECK_EQ_INT(open_for(gate, &vip, 100 * US_PER_MS), 0);
		CHECK(left_us(gate, &vip) <= 100 * US_PER_MS);
		(void) usleep(110000);
		CHECK(!answers(&vip));
		CHECK_EQ_INT(open_for(gate, &vip, 50 * US_PER_MS), 0);
		CHECK_EQ_INT(open_for(gate, &vip, 5 * US_PER_S), 0);
		(void) usleep(80000);
		CHECK(answers(&vip));
		CHECK(left_us(gate, &vip) > 4 * US_PER_S);
		for (int i = 0; i < 60; i++) {
			int r = open_for(gate, &vip, 12 * US_PER_MS);

			/* A machine with much to do is too late for it. */
			CHECK(r == 0 || r == -ETIME);
			(void) usleep(i % 3 == 0 ? 11000 : 14000);
			CHECK_EQ_INT(nftgate_shut(gate, &vip), 0);
		}
		CHECK_EQ_INT(left_us(gate, &vip), 0);
	}
	CHECK_EQ_INT(nftgate_destroy(gate), 0);
}

/* Asks as fast as answers come, while the gate is opened as fast as it can be. */
static void test_no_gap(void)
{
	AUTO(nftgate_free) struct nftgate *gate = new_gate();
	const struct addr vip = addr_of(VIP4);
	unsigned opened = 0;
	pid_t child;
	int status = -1;

	CHECK_EQ_INT(nftgate_guard(gate, &vip), 0);
	CHECK_EQ_INT(open_for(gate, &vip, US_PER_S), 0);
	child = fork();
	if (child == 0) {
		const int64_t end = mono_now_us() + US_PER_S;
		unsigned asked = 0, silent = 0;

		while (mono_now_us() < end) {
			asked++;
			silent += !answers_within(&vip, 200);
		}
		_exit(silent > 0 || asked < 30 ? 1 : 0);
	}
	while (waitpid(child, &status, WNOHANG) == 0) {
		CHECK_EQ_INT(open_for(gate, &vip, opened % 2 == 0 ? US_PER_S : 30 * US_PER_S), 0);
		opened++;
	}
	CHECK_EQ_INT(status, 0);
	CHECK(opened > 30);
	CHECK_EQ_INT(nftgate_destroy(gate), 0);
}

/* What an earlier process left. */
static void test_adoption(void)
{
	const struct addr vip = addr_of(VIP4), vip6 = addr_of(VIP6);
	static const char *const damages[] = {
	    "nft flush chain arp " TABLE " input",
	    "nft flush chain inet " TABLE " output",
	    "nft insert rule inet " TABLE " input accept",
	    "nft add rule arp " TABLE " output accept",
	    REPLACE_RULE,
	    "nft delete table arp " TABLE,
	    "nft delete table inet " TABLE,
	    "nft 'add table inet " TABLE " { flags dormant; }'",
	    "nft 'chain arp " TABLE " input { policy drop; }'",
	    "nft add element inet " TABLE " live4 '{ 10.9.0.5 }'",
	    "nft flush chain arp " TABLE " input; nft delete chain arp " TABLE " input",
	    "nft delete table arp " TABLE "; nft add table arp " TABLE "; nft add set arp " TABLE
	    " guarded4 '{ type ipv4_addr; }'; nft add element arp " TABLE " guarded4 '{ 10.9.0.5 }'",
	};
	struct nftgate *gate;

	oldnft = true;
	gate = new_gate();
	CHECK_EQ_INT(nftgate_guard(gate, &vip), 0);
	CHECK_EQ_INT(open_for(gate, &vip, 20 * US_PER_S), 0);
	nftgate_free(gate);
	CHECK(answers(&vip));

	gate = new_gate();
	CHECK(left_us(gate, &vip) > 18 * US_PER_S && left_us(gate, &vip) <= 20 * US_PER_S);
	CHECK(is_guarded(gate, &vip));
	CHECK(answers(&vip));
	CHECK_EQ_INT(nftgate_shut(gate, &vip), 0);
	nftgate_free(gate);

	for (size_t i = 0; i < ARRAY_SIZE(damages); i++) {
		bool ok;

		gate = new_gate();
		CHECK_EQ_INT(nftgate_guard(gate, &vip), 0);
		CHECK_EQ_INT(nftgate_guard(gate, &vip6), 0);
		CHECK_EQ_INT(open_for(gate, &vip, 20 * US_PER_S), 0);
		CHECK_EQ_INT(open_for(gate, &vip6, 20 * US_PER_S), 0);
		nftgate_free(gate);
		if (strstr(damages[i], "add element") != NULL && strstr(damages[i], "live4") != NULL)
			netns_run("nft delete element inet " TABLE " live4 '{ 10.9.0.5 }'");
		netns_run("%s", damages[i]);
		gate = new_gate();
		/* Made anew: guarded still, and nothing live. */
		ok = CHECK_EQ_INT(left_us(gate, &vip), 0);
		ok = CHECK(is_guarded(gate, &vip)) && ok;
		ok = CHECK(!answers(&vip) && !is_reached(&vip)) && ok;
		ok = CHECK(!can_speak(&vip)) && ok;
		CHECK_EQ_INT(open_for(gate, &vip, US_PER_S), 0);
		ok = CHECK(answers(&vip) && is_reached(&vip)) && ok;
		if (!ok)
			(void) fprintf(stderr, "after: %s\n", damages[i]);
		CHECK_EQ_INT(nftgate_destroy(gate), 0);
		nftgate_free(gate);
	}
	/* Nothing is left. */
	netns_run("test -z \"$(nft list ruleset)\"");
}

struct lost {
	struct nftgate *gate;
	unsigned n;
	bool any;
	bool restore;
};

static void lost_cb(void *userdata)
{
	struct lost *l = userdata;

	l->n++;
	l->any = true;
	if (l->restore)
		CHECK_EQ_INT(nftgate_restore(l->gate), 0);
}

static void test_lost(void)
{
	static const struct {
		const char *command;
		bool want;
	} cases[] = {
	    {"nft flush ruleset", true},
	    {"nft delete table arp " TABLE, true},
	    {"nft flush chain inet " TABLE " input", true},
	    {REPLACE_RULE, true},
	    {"nft flush set arp " TABLE " guarded4", true},
	    {"nft delete element inet " TABLE " guarded6 '{ " VIP6 " }'", true},
	    {"nft 'add table inet " TABLE " { flags dormant; }'", true},
	    {"nft insert rule inet " TABLE " output accept", true},
	    {"nft add table inet other; nft add chain inet other c; nft delete table inet other",
	     false},
	    {"nft add element arp " TABLE " live4 '{ 10.9.0.9 timeout 1s }'", false},
	    {"nft add table ip " TABLE "; nft delete table ip " TABLE, false},
	};
	const struct addr vip = addr_of(VIP4), vip6 = addr_of(VIP6);
	AUTO(nftgate_free) struct nftgate *gate = NULL;
	struct lost lost = {.restore = true};

	oldnft = true;
	lost.gate = gate = new_gate();
	nftgate_on_lost(gate, lost_cb, &lost);
	CHECK_EQ_INT(nftgate_guard(gate, &vip), 0);
	CHECK_EQ_INT(nftgate_guard(gate, &vip6), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool ok;

		CHECK_EQ_INT(open_for(gate, &vip, 10 * US_PER_S), 0);
		(void) netns_run_until(ev, &lost.any, 0.05);
		ok = CHECK_EQ_INT(lost.n, 0);
		netns_run("%s", cases[i].command);
		if (i == 0) {
			CHECK_EQ_INT(open_for(gate, &vip, US_PER_S), -ENOENT);
			CHECK_EQ_INT(nftgate_open_until(gate, &vip, mono_now_us() + US_PER_S), -ENOENT);
			CHECK_EQ_INT(nftgate_shut(gate, &vip), -ENOENT);
		}
		(void) netns_run_until(ev, &lost.any, cases[i].want ? 20 : 0.1);
		ok = CHECK_EQ_INT(lost.n > 0, cases[i].want) && ok;
		/* What the restoring notifies is ours. */
		lost.any = false;
		(void) netns_run_until(ev, &lost.any, 0.1);
		ok = CHECK_EQ_INT(lost.any, false) && ok;
		ok = CHECK(is_guarded(gate, &vip) && is_guarded(gate, &vip6)) && ok;
		ok = CHECK_EQ_INT(left_us(gate, &vip) > 0, !cases[i].want) && ok;
		CHECK_EQ_INT(nftgate_shut(gate, &vip), 0);
		ok = CHECK(!answers(&vip) && !is_reached(&vip)) && ok;
		if (!ok)
			(void) fprintf(stderr, "after: %s\n", cases[i].command);
		lost.n = 0;
		lost.any = false;
	}
	/* Its own going is no loss. */
	CHECK_EQ_INT(nftgate_unguard(gate, &vip6), 0);
	CHECK_EQ_INT(nftgate_destroy(gate), 0);
	(void) netns_run_until(ev, &lost.any, 0.1);
	CHECK_EQ_INT(lost.n, 0);
}

#define OWNED                                                                            \
	"nft list table inet " TABLE " | grep -q 'flags owner' && nft list table arp " TABLE \
	" | grep -q 'flags owner'"

/* A process that made the gate, opened it for so long, and was stopped; nothing of it runs on. */
static pid_t stopped_owner(const struct addr *vip, int64_t timeout_us)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		struct nftgate *gate = new_gate();

		CHECK_EQ_INT(nftgate_guard(gate, vip), 0);
		CHECK_EQ_INT(open_for(gate, vip, timeout_us), 0);
		(void) raise(SIGSTOP);
		_exit(1);
	}
	CHECK_EQ_INT(waitpid(pid, &status, WUNTRACED), pid);
	CHECK(WIFSTOPPED(status));
	return pid;
}

/* Another program's flush leaves the gate of a process that runs or is stopped, and takes that of
 * a dead one, whose successor owns it again with what was live. */
static void test_owned(void)
{
	const struct addr vip = addr_of(VIP4);
	struct nftgate *gate;
	int64_t end_us;
	pid_t pid;

	if (!kernel_has_persist()) {
		(void) fprintf(stderr, "tables have no owner before kernel 6.9: not tried\n");
		gate = new_gate();
		netns_run("! { " OWNED "; }");
		CHECK_EQ_INT(nftgate_destroy(gate), 0);
		nftgate_free(gate);
		return;
	}
	pid = stopped_owner(&vip, 700 * US_PER_MS);
	end_us = mono_now_us() + 700 * US_PER_MS;
	netns_run("nft flush ruleset");
	netns_run(OWNED);
	netns_run("! nft delete table inet " TABLE " 2>&1");
	netns_run("! nft flush set arp " TABLE " live4 2>&1");
	CHECK(answers(&vip) || mono_now_us() > end_us);
	while (mono_now_us() < end_us)
		(void) usleep(1000);
	CHECK(!answers(&vip));
	CHECK(!is_reached(&vip));
	(void) kill(pid, SIGKILL);
	CHECK_EQ_INT(waitpid(pid, NULL, 0), pid);
	netns_run("! { " OWNED "; }");
	CHECK(!answers(&vip));

	/* Restarts, with what is live untouched; the last flush finds it without an owner. */
	gate = new_gate();
	netns_run(OWNED);
	CHECK(is_guarded(gate, &vip));
	CHECK_EQ_INT(open_for(gate, &vip, 20 * US_PER_S), 0);
	nftgate_free(gate);
	gate = new_gate();
	CHECK(left_us(gate, &vip) > 10 * US_PER_S);
	netns_run(OWNED);
	CHECK_EQ_INT(nftgate_restore(gate), 0);
	netns_run(OWNED);
	CHECK(is_guarded(gate, &vip));
	CHECK_EQ_INT(left_us(gate, &vip), 0);
	nftgate_free(gate);
	netns_run("nft flush ruleset");
	CHECK(answers(&vip));

	/* Tables of a version that did not ask for an owner are made anew. */
	oldnft = true;
	gate = new_gate();
	CHECK_EQ_INT(nftgate_guard(gate, &vip), 0);
	nftgate_free(gate);
	netns_run("! { " OWNED "; }");
	oldnft = false;
	gate = new_gate();
	netns_run(OWNED);
	CHECK(is_guarded(gate, &vip));
	CHECK(!answers(&vip));
	CHECK_EQ_INT(nftgate_destroy(gate), 0);
	nftgate_free(gate);
	netns_run("test -z \"$(nft list ruleset)\"");
}

/* A node that does not hold the address passes packets on to the one that does. */
static void test_forwarding(void)
{
	AUTO(nftgate_free) struct nftgate *gate = new_gate();
	const struct addr beyond = addr_of("10.9.9.5");

	CHECK(is_reached(&beyond));
	CHECK_EQ_INT(nftgate_guard(gate, &beyond), 0);
	CHECK(is_reached(&beyond));
	CHECK_EQ_INT(nftgate_destroy(gate), 0);
}

/* The clients of an address that was shut hear a reset while it is still configured. */
static void test_reset_gets_out(void)
{
	AUTO(nftgate_free) struct nftgate *gate = new_gate();
	const struct addr vip = addr_of(VIP4);
	struct sockaddr_storage ss;
	socklen_t len = fill(&ss, &vip, 7000);
	int listener, client, server;
	struct pollfd pfd = {.events = POLLIN};
	char c;

	CHECK_EQ_INT(nftgate_guard(gate, &vip), 0);
	CHECK_EQ_INT(open_for(gate, &vip, 10 * US_PER_S), 0);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_EQ_INT(bind(listener, (struct sockaddr *) &ss, len), 0);
	CHECK_EQ_INT(listen(listener, 1), 0);
	netns_switch(ns_b);
	client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	netns_switch(ns_a);
	CHECK_EQ_INT(connect(client, (struct sockaddr *) &ss, len), 0);
	server = accept(listener, NULL, NULL);
	CHECK_EQ_INT(nftgate_shut(gate, &vip), 0);
	CHECK_EQ_INT(sockdestroy_by_local_addr(&vip), 1);
	pfd.fd = client;
	CHECK_EQ_INT(poll(&pfd, 1, 20000), 1);
	CHECK(recv(client, &c, 1, MSG_DONTWAIT) < 0 && errno == ECONNRESET);
	(void) close(client);
	(void) close(server);
	(void) close(listener);
	CHECK_EQ_INT(nftgate_destroy(gate), 0);
}

static void test_open_until(void)
{
	AUTO(nftgate_free) struct nftgate *gate = new_gate();
	const struct addr vip = addr_of(VIP4);
	const int64_t deadline = mono_now_us() + 500 * US_PER_MS;

	CHECK_EQ_INT(nftgate_guard(gate, &vip), 0);
	CHECK_EQ_INT(nftgate_open_until(gate, &vip, mono_now_us()), -ETIME);
	CHECK_EQ_INT(nftgate_open_until(gate, &vip, deadline), 0);
	CHECK(left_us(gate, &vip) > 400 * US_PER_MS);
	CHECK(left_us(gate, &vip) <= deadline - mono_now_us() + 8 * US_PER_MS);
	/* What was live stays so when there is nothing left to grant. */
	CHECK_EQ_INT(nftgate_open_until(gate, &vip, mono_now_us() - 1), -ETIME);
	CHECK(left_us(gate, &vip) > 0);
	CHECK_EQ_INT(nftgate_destroy(gate), 0);
}

/*
 * The process is held up between the clock and the kernel. For less than a ticket's life the
 * address is live by so much longer; for more, nothing is granted from the old reading.
 */
static void test_held_up(void)
{
	static const struct {
		int stall_ms;
		unsigned times;
		int want;
		int64_t late_ms;
	} cases[] = {
	    {20, 1, 0, NFTGATE_TICKET_MS},
	    {NFTGATE_TICKET_MS + 30, 1, 0, 0},
	    {NFTGATE_TICKET_MS + 30, 2, 0, 0},
	    {NFTGATE_TICKET_MS + 30, 100, -EAGAIN, 0},
	};
	AUTO(nftgate_free) struct nftgate *gate = new_gate();
	const struct addr vip = addr_of(VIP4);

	CHECK_EQ_INT(nftgate_guard(gate, &vip), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const int64_t deadline = mono_now_us() + US_PER_S;
		int64_t left;
		int r;

		stall_ms = cases[i].stall_ms;
		stalls_left = cases[i].times;
		r = nftgate_open_until(gate, &vip, deadline);
		stalls_left = 0;
		CHECK_EQ_INT(r, cases[i].want);
		left = left_us(gate, &vip);
		CHECK_EQ_INT(left > 0, cases[i].want == 0);
		/* The kernel tells what is left to a tick. */
		CHECK(left <= deadline - mono_now_us() + (cases[i].late_ms + 12) * US_PER_MS || left == 0);
		CHECK_EQ_INT(nftgate_shut(gate, &vip), 0);
	}
	CHECK_EQ_INT(nftgate_destroy(gate), 0);
}

/* --- the LAN --- */

static void build_lan(void)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};

	ns_d = netns_enter_new();
	ns_b = netns_enter_new();
	netns_run("ip link add br0 address " MAC_B " type bridge mcast_snooping 0 forward_delay 0;"
	          "ip link set br0 up; ip addr add 10.9.0.2/24 dev br0;"
	          "ip addr add fd00::2/64 dev br0 nodad; ip route add 10.9.9.5 via 10.9.0.1");
	ns_a = netns_enter_new();
	netns_veth("va", MAC_A, ns_b, "pa", "02:00:00:00:01:0a");
	netns_veth("vc", MAC_C, ns_b, "pc", "02:00:00:00:01:0c");
	netns_veth("ve", "02:00:00:00:00:0e", ns_d, "vg", "02:00:00:00:00:0f");
	netns_sysctl("/proc/sys/net/ipv4/ip_forward", "1");
	netns_sysctl("/proc/sys/net/ipv4/icmp_ratelimit", "0");
	netns_sysctl("/proc/sys/net/ipv6/icmp/ratelimit", "0");
	netns_run("ip addr add 10.9.0.1/24 dev va; ip addr add fd00::1/64 dev va nodad;"
	          "ip addr add " VIP4 "/32 dev va; ip addr add " VIP6 "/128 dev va nodad;"
	          "ip addr add 10.9.9.1/24 dev ve");
	netns_switch(ns_d);
	netns_run("ip addr add 10.9.9.5/24 dev vg; ip route add default via 10.9.9.1");
	netns_switch(ns_b);
	netns_run("ip link set pa master br0; ip link set pc master br0");
	ask_fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));
	at.sll_ifindex = (int) if_nametoindex("br0");
	CHECK_EQ_INT(bind(ask_fd, (struct sockaddr *) &at, sizeof(at)), 0);
	netns_switch(ns_a);
}

/* A LAN of its own for each test. */
static void prepare(void)
{
	const struct addr vip = addr_of(VIP4), vip6 = addr_of(VIP6);

	ev = ev_default_loop(EVFLAG_AUTO);
	mac_a = mac_of(MAC_A);
	mac_b = mac_of(MAC_B);
	mac_c = mac_of(MAC_C);
	build_lan();
	for (int i = 0; i < 500 && !(answers(&vip) && answers(&vip6)); i++)
		(void) usleep(20000);
}

int main(void)
{
	static const patient_fn tests[] = {
	    test_open_and_shut, test_second_link,    test_announcement_passes,
	    test_timeout,       test_replace,        test_no_gap,
	    test_adoption,      test_lost,           test_owned,
	    test_forwarding,    test_reset_gets_out, test_open_until,
	    test_held_up,
	};

	patiently(&(struct patient){.prepare = prepare}, 2, tests, ARRAY_SIZE(tests));
	return check_result();
}
