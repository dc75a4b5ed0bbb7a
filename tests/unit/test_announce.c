/* SPDX-License-Identifier: Apache-2.0 */
/* The announcer on one end of a veth pair, and on the other a packet socket that writes down what
 * came when. */
#include "vipd/announce.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/macro.h"
#include "base/mono.h"
#include "net/arpnd_frame.h"
#include "tests/unit/check.h"
#include "tests/unit/netns.h"
#include "tests/unit/patient.h"
#include "tests/unit/stolen.h"
#include "tests/unit/turn.h"

#define MS(n) ((n) *US_PER_MS)
#define MAC_US "02:00:00:00:00:0a"
#define MAC_NEW "02:00:00:00:00:0c"
#define MAC_THEM "02:00:00:00:00:0b"
/* How late a timer may be, besides what the machine steals. */
#define LATE_US MS(90)
#define FRAMES_MAX 64

static struct ev_loop *ev;
static int ears; /* packet socket at the other end */
static int ifindex;

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

/* --- the announcer and those who own it --- */

struct stage {
	struct announcer *announcer;
	struct addr vip;
	bool entitled;
	unsigned n_asked;
	unsigned n_claims;
	struct mac claimed_by;
};

static bool entitled_cb(void *userdata)
{
	struct stage *s = userdata;

	s->n_asked++;
	return s->entitled;
}

static void claimed_cb(const struct addr *addr UNUSED, const struct mac *from, void *userdata)
{
	struct stage *s = userdata;

	s->n_claims++;
	s->claimed_by = *from;
}

static const struct announcer_callbacks callbacks = {.entitled = entitled_cb,
                                                     .claimed = claimed_cb};

static void set_stage(struct stage *s, const char *vip, unsigned repeats, int64_t refresh_us)
{
	const struct mac mac = mac_of(MAC_US);

	*s = (struct stage){.vip = addr_of(vip), .entitled = true};
	s->announcer = announcer_new(ev, &s->vip, &callbacks, s);
	announcer_configure(s->announcer, repeats, refresh_us);
	CHECK_EQ_INT(announcer_set_link(s->announcer, ifindex, &mac), 0);
}

static void start(struct stage *s)
{
	ev_now_update(ev);
	announcer_start(s->announcer);
}

/* --- what was heard --- */

static struct {
	size_t n;
	struct {
		struct arpnd_frame frame;
		int64_t at_us;
	} entries[FRAMES_MAX];
	int64_t stolen_before_us;
} heard;

static void listen_once(void)
{
	uint8_t buf[ARPND_FRAME_PARSE_MAX];
	ssize_t n;

	while ((n = recv(ears, buf, sizeof(buf), MSG_DONTWAIT)) >= 0) {
		if (heard.n == FRAMES_MAX ||
		    arpnd_frame_parse(buf, (size_t) n, &heard.entries[heard.n].frame) < 0)
			continue;
		heard.entries[heard.n++].at_us = mono_now_us();
	}
}

static void listen_for(int64_t us)
{
	const int64_t end_us = mono_now_us() + us;

	do {
		turn_once(ev);
		listen_once();
	} while (mono_now_us() < end_us);
}

static void forget(void)
{
	listen_once();
	heard.n = 0;
	heard.stolen_before_us = stolen_us();
}

/* A whole announcement, in order: what is wrong with the i-th frame of it, or NULL. */
static const char *fault_of(const struct arpnd_frame *f, const struct addr *vip, size_t i)
{
	if (!mac_equal(&f->eth_from, &f->link))
		return "from another MAC than it names";
	if (vip->family == AF_INET6) {
		if (f->kind != ARPND_FRAME_ADVERTISE || !f->override || f->solicited || !f->has_link)
			return "no unsolicited advertisement that overrides";
		return mac_equal(&f->eth_to, &arpnd_frame_all_nodes_mac) ? NULL : "not to all nodes";
	}
	if (!addr_equal(&f->sender, &f->target))
		return "not gratuitous";
	if (f->kind != (i % 2 == 0 ? ARPND_FRAME_ARP_REQUEST : ARPND_FRAME_ARP_REPLY))
		return "not a request and then a reply";
	return mac_equal(&f->eth_to, &arpnd_frame_broadcast) ? NULL : "not to everybody";
}

/* Times in milliseconds from began_us on; at each of them one announcement of vip by `from`. */
static bool check_timetable(const char *story, const char *vip, const char *from, int64_t began_us,
                            const int *want_ms, size_t n_want)
{
	const struct addr addr = addr_of(vip);
	const struct mac mac = mac_of(from);
	const size_t each = addr.family == AF_INET6 ? 1 : 2;
	const int64_t late_us = LATE_US + stolen_since_us(heard.stolen_before_us);
	size_t n = 0;
	bool ok = true;

	for (size_t i = 0; i < heard.n; i++) {
		const struct arpnd_frame *f = &heard.entries[i].frame;
		int64_t at_us = heard.entries[i].at_us - began_us;

		if (!addr_equal(&f->sender, &addr))
			continue;
		if (n < n_want * each) {
			ok = CHECK_EQ_STR(fault_of(f, &addr, n), NULL) && ok;
			ok = CHECK(mac_equal(&f->link, &mac)) && ok;
			ok = CHECK(at_us > MS(want_ms[n / each] - 5)) && ok;
			ok = CHECK(at_us < MS(want_ms[n / each]) + late_us) && ok;
		}
		n++;
	}
	ok = CHECK_EQ_INT(n, n_want * each) && ok;
	if (ok)
		return true;
	(void) fprintf(stderr, "story: %s; heard at", story);
	for (size_t i = 0; i < heard.n; i++)
		(void) fprintf(stderr, " %lld",
		               (long long) ((heard.entries[i].at_us - began_us) / US_PER_MS));
	(void) fprintf(stderr, " ms\n");
	return false;
}

static void check_silence(const char *story, const char *vip)
{
	(void) check_timetable(story, vip, MAC_US, 0, NULL, 0);
}

static void claim(enum arpnd_frame_kind kind, const char *vip, const char *from)
{
	const struct addr addr = addr_of(vip);
	const struct mac mac = mac_of(from);
	struct arpnd_frame f;
	uint8_t buf[ARPND_FRAME_MAX];
	size_t len;

	arpnd_frame_announcement(&addr, &mac, kind, &f);
	len = arpnd_frame_build(&f, buf);
	CHECK_EQ_INT(send(ears, buf, len, 0), len);
}

static void probe(const char *vip)
{
	const struct addr addr = addr_of(vip), nobody = addr_of("0.0.0.0");
	const struct mac mac = mac_of(MAC_THEM);
	struct arpnd_frame f;
	uint8_t buf[ARPND_FRAME_MAX];
	size_t len;

	arpnd_frame_question(&addr, &nobody, &mac, &f);
	len = arpnd_frame_build(&f, buf);
	CHECK_EQ_INT(send(ears, buf, len, 0), len);
}

/* --- stories --- */

static const int first_ms[] = {0, 100, 300};

/* Three at once, because it takes seconds. */
static void test_timetable(void)
{
	static const int refreshed_ms[] = {0, 100, 300, 1300, 1700, 2100, 2500};
	static const int repeated_ms[] = {0, 100, 300, 1300, 2300};
	struct stage refreshed, repeated, bare;
	int64_t began_us;

	set_stage(&refreshed, "10.9.0.5", 1, MS(400));
	set_stage(&repeated, "fd00::5", 2, 0);
	set_stage(&bare, "10.9.0.6", 0, 0);
	forget();
	began_us = mono_now_us();
	start(&refreshed);
	start(&repeated);
	start(&bare);
	listen_for(MS(2750));
	(void) check_timetable("one repeat, then refreshed", "10.9.0.5", MAC_US, began_us, refreshed_ms,
	                       ARRAY_SIZE(refreshed_ms));
	(void) check_timetable("two repeats, never refreshed", "fd00::5", MAC_US, began_us, repeated_ms,
	                       ARRAY_SIZE(repeated_ms));
	(void) check_timetable("no repeats, never refreshed", "10.9.0.6", MAC_US, began_us, first_ms,
	                       ARRAY_SIZE(first_ms));
	announcer_free(refreshed.announcer);
	announcer_free(repeated.announcer);
	announcer_free(bare.announcer);
}

static void test_begun_again(void)
{
	static const int want_ms[] = {0, 100, 300, 350, 450, 650};
	struct stage s;
	int64_t began_us;

	set_stage(&s, "10.9.0.5", 1, 0);
	forget();
	began_us = mono_now_us();
	start(&s);
	listen_for(MS(350));
	start(&s);
	listen_for(MS(500));
	(void) check_timetable("begun again, all over", "10.9.0.5", MAC_US, began_us, want_ms,
	                       ARRAY_SIZE(want_ms));
	announcer_free(s.announcer);
}

/* It is asked before each frame. */
static void test_not_entitled(void)
{
	struct stage s;
	int64_t began_us;

	set_stage(&s, "10.9.0.5", 3, MS(100));
	s.entitled = false;
	forget();
	start(&s);
	listen_for(MS(400));
	CHECK(s.n_asked > 0);
	check_silence("never entitled", "10.9.0.5");

	s.entitled = true;
	began_us = mono_now_us();
	start(&s);
	listen_for(MS(50));
	s.entitled = false;
	listen_for(MS(450));
	(void) check_timetable("not any more", "10.9.0.5", MAC_US, began_us, first_ms, 1);

	/* Nor does the old sequence go on by itself. */
	s.entitled = true;
	forget();
	listen_for(MS(300));
	check_silence("entitled again, but not begun", "10.9.0.5");
	began_us = mono_now_us();
	start(&s);
	listen_for(MS(50));
	(void) check_timetable("begun", "10.9.0.5", MAC_US, began_us, first_ms, 1);
	announcer_free(s.announcer);
}

static void test_stopped(void)
{
	struct stage s;
	int64_t began_us;

	set_stage(&s, "fd00::5", 3, MS(100));
	forget();
	began_us = mono_now_us();
	start(&s);
	listen_for(MS(150));
	announcer_stop(s.announcer);
	listen_for(MS(400));
	(void) check_timetable("stopped", "fd00::5", MAC_US, began_us, first_ms, 2);
	announcer_free(s.announcer);
	listen_for(MS(50));
}

static void test_link(void)
{
	static const int second_ms[] = {100};
	const struct mac mac = mac_of(MAC_US), mac_new = mac_of(MAC_NEW);
	struct stage s;
	int64_t began_us;

	set_stage(&s, "10.9.0.5", 0, 0);
	/* The MAC changes between two frames: bonds do that. */
	forget();
	began_us = mono_now_us();
	start(&s);
	listen_for(MS(50));
	(void) check_timetable("by the first MAC", "10.9.0.5", MAC_US, began_us, first_ms, 1);
	CHECK_EQ_INT(announcer_set_link(s.announcer, ifindex, &mac_new), 0);
	forget();
	listen_for(MS(100));
	(void) check_timetable("by the new MAC", "10.9.0.5", MAC_NEW, began_us, second_ms, 1);
	/* No link: nothing is said, nothing breaks. */
	CHECK_EQ_INT(announcer_set_link(s.announcer, 0, NULL), 0);
	forget();
	start(&s);
	listen_for(MS(400));
	check_silence("no link", "10.9.0.5");
	CHECK_EQ_INT(announcer_set_link(s.announcer, 99999, &mac), -ENODEV);
	CHECK_EQ_INT(announcer_error(s.announcer), -ENODEV);
	start(&s);
	listen_for(MS(50));
	/* What was begun meanwhile begins now. */
	began_us = mono_now_us();
	CHECK_EQ_INT(announcer_set_link(s.announcer, ifindex, &mac), 0);
	CHECK_EQ_INT(announcer_error(s.announcer), 0);
	listen_for(MS(50));
	(void) check_timetable("back", "10.9.0.5", MAC_US, began_us, first_ms, 1);
	/* A link that is down costs frames, not the sequence. */
	netns_run("ip link set va down");
	start(&s);
	listen_for(MS(150));
	netns_run("ip link set va up");
	forget();
	listen_for(MS(350));
	CHECK(heard.n >= 2);
	announcer_free(s.announcer);
}

/* No descriptors are left when the socket is to be opened; then there are some again. */
static void test_opened_again(void)
{
	const struct mac mac = mac_of(MAC_US);
	struct rlimit all, none;
	struct stage s;
	int64_t began_us;

	CHECK_EQ_INT(getrlimit(RLIMIT_NOFILE, &all), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = all.rlim_max};
	set_stage(&s, "10.9.0.5", 0, 0);
	CHECK_EQ_INT(announcer_set_link(s.announcer, 0, NULL), 0);
	CHECK_EQ_INT(setrlimit(RLIMIT_NOFILE, &none), 0);
	/* The second try, a second after the first, which is a second after this. */
	began_us = mono_now_us() + MS(2000);
	ev_now_update(ev);
	CHECK_EQ_INT(announcer_set_link(s.announcer, ifindex, &mac), -EMFILE);
	forget();
	start(&s);
	listen_for(MS(1200));
	CHECK_EQ_INT(announcer_error(s.announcer), -EMFILE);
	check_silence("no descriptors", "10.9.0.5");
	CHECK_EQ_INT(setrlimit(RLIMIT_NOFILE, &all), 0);
	listen_for(MS(1350));
	CHECK_EQ_INT(announcer_error(s.announcer), 0);
	(void) check_timetable("descriptors again", "10.9.0.5", MAC_US, began_us, first_ms,
	                       ARRAY_SIZE(first_ms));
	claim(ARPND_FRAME_ARP_REPLY, "10.9.0.5", MAC_THEM);
	listen_for(MS(30));
	CHECK_EQ_INT(s.n_claims, 1);
	/* It was stopped while it could not speak: nothing begins by itself. */
	CHECK_EQ_INT(announcer_set_link(s.announcer, 99999, &mac), -ENODEV);
	start(&s);
	announcer_stop(s.announcer);
	CHECK_EQ_INT(announcer_set_link(s.announcer, ifindex, &mac), 0);
	forget();
	listen_for(MS(50));
	check_silence("stopped meanwhile", "10.9.0.5");
	announcer_free(s.announcer);
}

static void test_claims(void)
{
	static const struct {
		const char *vip;
		enum arpnd_frame_kind kind;
		const char *from;
		bool want;
	} cases[] = {
	    {"10.9.0.5", ARPND_FRAME_ARP_REQUEST, MAC_THEM, true},
	    {"10.9.0.5", ARPND_FRAME_ARP_REPLY, MAC_THEM, true},
	    {"fd00::5", ARPND_FRAME_ADVERTISE, MAC_THEM, true},
	    /* A switch hands us our own back. */
	    {"10.9.0.5", ARPND_FRAME_ARP_REPLY, MAC_US, false},
	    {"fd00::5", ARPND_FRAME_ADVERTISE, MAC_US, false},
	    {"10.9.0.77", ARPND_FRAME_ARP_REPLY, MAC_THEM, false},
	};
	const struct mac them = mac_of(MAC_THEM);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct stage s;

		set_stage(&s, cases[i].kind == ARPND_FRAME_ADVERTISE ? "fd00::5" : "10.9.0.5", 0, 0);
		claim(cases[i].kind, cases[i].vip, cases[i].from);
		listen_for(MS(30));
		if (!CHECK_EQ_INT(s.n_claims, cases[i].want) ||
		    (cases[i].want && !CHECK(mac_equal(&s.claimed_by, &them))))
			(void) fprintf(stderr, "case: %s, kind %d, by %s\n", cases[i].vip, cases[i].kind,
			               cases[i].from);
		announcer_free(s.announcer);
	}
	/* One who only asks whether it is free. */
	{
		struct stage s;

		set_stage(&s, "10.9.0.5", 0, 0);
		probe("10.9.0.5");
		listen_for(MS(30));
		CHECK_EQ_INT(s.n_claims, 0);
		announcer_free(s.announcer);
	}
}

/* A LAN of its own for each test. */
static void prepare(void)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	int there = netns_enter_new();

	(void) netns_enter_new();
	netns_veth("va", MAC_US, there, "vb", MAC_THEM);
	ifindex = (int) if_nametoindex("va");
	{
		int here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

		netns_switch(there);
		ears = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));
		at.sll_ifindex = (int) if_nametoindex("vb");
		CHECK_EQ_INT(bind(ears, (struct sockaddr *) &at, sizeof(at)), 0);
		netns_switch(here);
		(void) close(here);
	}
	ev = ev_default_loop(EVFLAG_AUTO);
	turn_for(ev, MS(50));
}

int main(void)
{
	static const patient_fn tests[] = {
	    test_timetable, test_begun_again,  test_not_entitled, test_stopped,
	    test_link,      test_opened_again, test_claims,
	};

	patiently(&(struct patient){.prepare = prepare}, 3, tests, ARRAY_SIZE(tests));
	return check_result();
}
