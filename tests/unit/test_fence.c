/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One address on a real link, with the gate and with the lifetime alone. The process that holds it
 * is stopped behind each of its readings of the clock in turn and goes on when the deadline is
 * past: clock_gettime() is the test's own, so that this is no matter of luck.
 */
#include "vipd/fence.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/macro.h"
#include "base/mono.h"
#include "tests/unit/check.h"
#include "tests/unit/netns.h"
#include "tests/unit/patient.h"
#include "tests/unit/turn.h"

#define TABLE "fairlead_test"
#define MS(n) (INT64_C(n) * US_PER_MS)
#define FAR_US (20 * US_PER_S)

static struct ev_loop *ev;
static struct rtnl *rtnl;
static struct nftgate *gate;
static int ifindex;

/* --- a process that stops itself ---------------------------------------------------------------
 */

static bool refuse_removal;          /* of addresses, as a kernel may */
static bool hold_up;                 /* a moment behind each reading of the clock */
static int stop_behind = -1;         /* so many readings of the clock and messages to the kernel */
static bool stop_each;               /* and behind every later one */
static volatile bool *behind_kernel; /* what it was */

static void pass(bool kernel)
{
	if (stop_behind < 0)
		return;
	if (stop_behind == 0) {
		*behind_kernel = kernel;
		(void) raise(SIGSTOP);
	}
	if (stop_behind > 0 || !stop_each)
		stop_behind--;
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	int r = (int) syscall(SYS_clock_gettime, id, ts);

	if (id == CLOCK_BOOTTIME)
		pass(false);
	if (id == CLOCK_BOOTTIME && hold_up)
		(void) usleep((NFTGATE_TICKET_MS + 15) * 1000);
	return r;
}

ssize_t sendto(int fd, const void *buf, size_t len, int flags, const struct sockaddr *to,
               socklen_t to_len)
{
	const struct nlmsghdr *nlh = buf;
	ssize_t n;

	if (refuse_removal && nlh->nlmsg_type == RTM_DELADDR) {
		errno = EPERM;
		return -1;
	}
	n = syscall(SYS_sendto, fd, buf, len, flags, to, to_len);

	pass(true);
	return n;
}

/* --- what the kernel shows -------------------------------------------------------------------- */

static struct addr addr_of(const char *text)
{
	struct addr a = {0};

	CHECK_EQ_INT(addr_parse(text, &a), 0);
	return a;
}

struct seen {
	struct addr addr;
	int ifindex;
	unsigned n;
	struct rtnl_addr last;
};

static void seen_cb(const struct rtnl_addr *a, void *userdata)
{
	struct seen *s = userdata;

	if (a->ifindex != s->ifindex || !addr_equal(&a->prefix.addr, &s->addr))
		return;
	s->n++;
	s->last = *a;
}

static struct seen look_at(int link, const struct addr *addr)
{
	struct seen s = {.addr = *addr, .ifindex = link};

	CHECK_EQ_INT(rtnl_addr_list(rtnl, seen_cb, &s), 0);
	return s;
}

static struct seen look(const struct addr *addr)
{
	return look_at(ifindex, addr);
}

static bool is_on_link(const struct addr *addr)
{
	return look(addr).n > 0;
}

static int64_t live_us(const struct addr *addr)
{
	bool guarded = false;
	int64_t left_us = -1;

	CHECK_EQ_INT(nftgate_query(gate, addr, &guarded, &left_us), 0);
	return left_us;
}

static bool is_guarded(const struct addr *addr)
{
	bool guarded = false;
	int64_t left_us;

	CHECK_EQ_INT(nftgate_query(gate, addr, &guarded, &left_us), 0);
	return guarded;
}

static unsigned n_removed;

static void addr_cb(const struct rtnl_addr *a UNUSED, bool added, void *userdata UNUSED)
{
	n_removed += !added;
}

/* How many addresses have gone since this was asked last. */
static unsigned removed(void)
{
	unsigned n;

	turn_for(ev, MS(20));
	n = n_removed;
	n_removed = 0;
	return n;
}

static struct fence *new_fence(bool with_gate, const struct addr *vip)
{
	struct fence *f = fence_new(rtnl, with_gate ? gate : NULL, vip);

	fence_set_link(f, ifindex);
	return f;
}

/* --- holding and dropping --------------------------------------------------------------------- */

static const struct kind_case {
	const char *name;
	bool with_gate;
	const char *vip;
	uint32_t valid_s; /* for a deadline in FAR_US */
	uint32_t preferred_s;
} kinds[] = {
    {"gate, IPv4", true, "10.9.0.5", 21, 21},
    {"gate, IPv6", true, "fd00::5", 21, 0},
    {"lifetime, IPv4", false, "10.9.1.5", 18, 18},
    {"lifetime, IPv6", false, "fd01::5", 18, 0},
};

static void test_hold_and_drop(const struct kind_case *k)
{
	const struct addr vip = addr_of(k->vip);
	AUTO(fence_free) struct fence *f = new_fence(k->with_gate, &vip);
	const bool ipv6 = vip.family == AF_INET6;
	struct seen s;

	CHECK_EQ_INT(fence_kind(f), k->with_gate ? FENCE_NFTABLES : FENCE_LIFETIME);
	CHECK_EQ_INT(fence_arm(f), 0);
	CHECK(!fence_is_held(f));
	if (k->with_gate)
		CHECK(is_guarded(&vip) && live_us(&vip) == 0);
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
	s = look(&vip);
	CHECK_EQ_INT(s.n, 1);
	CHECK_EQ_INT(s.last.prefix.len, ipv6 ? 128 : 32);
	CHECK_EQ_INT(s.last.proto, FENCE_ADDR_PROTO);
	/* The kernel may have begun to count. */
	CHECK(s.last.valid_s == k->valid_s || s.last.valid_s == k->valid_s - 1);
	CHECK(s.last.preferred_s == k->preferred_s || s.last.preferred_s + 1 == k->preferred_s);
	CHECK(s.last.no_prefix_route);
	CHECK_EQ_INT(s.last.no_dad, ipv6);
	CHECK(fence_is_held(f));
	if (k->with_gate)
		CHECK(live_us(&vip) > FAR_US - US_PER_S && live_us(&vip) <= FAR_US);
	/* Renewed: the later deadline counts, and the address never goes. */
	(void) removed();
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + 2 * FAR_US), 0);
	s = look(&vip);
	CHECK_EQ_INT(s.n, 1);
	CHECK(s.last.valid_s >= k->valid_s + FAR_US / US_PER_S - 1);
	if (k->with_gate)
		CHECK(live_us(&vip) > 2 * FAR_US - US_PER_S);
	/* Silent, but there. */
	CHECK_EQ_INT(fence_silence(f), 0);
	CHECK_EQ_INT(removed(), 0);
	CHECK(is_on_link(&vip));
	if (k->with_gate)
		CHECK_EQ_INT(live_us(&vip), 0);
	CHECK_EQ_INT(fence_drop(f), 0);
	CHECK(!is_on_link(&vip) && !fence_is_held(f));
	CHECK_EQ_INT(fence_drop(f), 0);
	if (k->with_gate)
		CHECK_EQ_INT(live_us(&vip), 0);
	/* And once more. */
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
	CHECK(is_on_link(&vip));
	CHECK_EQ_INT(fence_drop(f), 0);
	CHECK_EQ_STR(fence_error_text(f), "");
}

static void test_too_late(const struct kind_case *k)
{
	const struct addr vip = addr_of(k->vip);
	AUTO(fence_free) struct fence *f = new_fence(k->with_gate, &vip);
	const int64_t late_us[] = {0, MS(-1), -FAR_US, k->with_gate ? MS(3) : MS(2200)};

	for (size_t i = 0; i < ARRAY_SIZE(late_us); i++) {
		CHECK_EQ_INT(fence_hold(f, mono_now_us() + late_us[i]), -ETIME);
		CHECK(!is_on_link(&vip));
		/* Also where it is held already. */
		CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
		CHECK_EQ_INT(fence_hold(f, mono_now_us() + late_us[i]), -ETIME);
		CHECK(!is_on_link(&vip) && !fence_is_held(f));
		if (k->with_gate)
			CHECK_EQ_INT(live_us(&vip), 0);
	}
}

/* A renewal that comes to nothing leaves what is there, until the deadline that it had. */
static void test_renewed_in_vain(void)
{
	const struct addr vip = addr_of("10.9.1.6");
	struct fence *f = new_fence(false, &vip);
	int64_t until_us = mono_now_us() + MS(2000);

	/* Nothing is there yet: too late is too late. */
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + MS(2200)), -ETIME);
	until_us = mono_now_us() + MS(2900);
	CHECK_EQ_INT(fence_hold(f, until_us), 0);
	(void) removed();
	(void) usleep(750000);
	/* Too little for a whole second with its slack, but later than the one that runs. */
	CHECK_EQ_INT(fence_hold(f, until_us), FENCE_KEPT);
	CHECK_EQ_INT(fence_hold(f, until_us + MS(50)), FENCE_KEPT);
	CHECK(fence_is_held(f));
	CHECK_EQ_INT(removed(), 0);
	/* It is not made longer by being asked for less. */
	CHECK_EQ_INT(fence_hold(f, until_us - MS(100)), -ETIME);
	CHECK(!is_on_link(&vip));
	/* The gate refuses who is held up. */
	fence_free(f);
	f = new_fence(true, &vip);
	hold_up = true;
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), -EAGAIN);
	CHECK(!is_on_link(&vip));
	hold_up = false;
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
	(void) removed();
	hold_up = true;
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + 2 * FAR_US), FENCE_KEPT);
	hold_up = false;
	CHECK(is_on_link(&vip) && removed() == 0);
	CHECK(live_us(&vip) > FAR_US - 5 * US_PER_S && live_us(&vip) < FAR_US);
	/* With the tables gone nothing is in force that could be kept. */
	netns_run("nft flush ruleset");
	hold_up = true;
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + 2 * FAR_US), -EAGAIN);
	hold_up = false;
	CHECK(!is_on_link(&vip));
	fence_free(f);
	f = new_fence(false, &vip);
	/* One that the kernel was told, and may have been told too late, leaves nothing. */
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
	hold_up = true;
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + 2 * FAR_US), -ETIME);
	hold_up = false;
	CHECK(!is_on_link(&vip));
	/* A process that goes on where another one was. */
	until_us = mono_now_us() + MS(2900);
	CHECK_EQ_INT(fence_hold(f, until_us), 0);
	fence_free(f);
	f = new_fence(false, &vip);
	CHECK(fence_adopt(f, until_us));
	(void) usleep(750000);
	CHECK_EQ_INT(fence_hold(f, until_us), FENCE_KEPT);
	CHECK(is_on_link(&vip));
	CHECK_EQ_INT(fence_drop(f), 0);
	CHECK(!fence_adopt(f, until_us));
	fence_free(f);
}

/* Left to themselves. */
static void test_kernel_ends_it(void)
{
	struct fence *fences[ARRAY_SIZE(kinds)];
	/* Silent and gone: known when we had looked. Live and there: when we began to look. */
	int64_t deadline_us[ARRAY_SIZE(kinds)], silent_us[ARRAY_SIZE(kinds)] = {0};
	int64_t gone_us[ARRAY_SIZE(kinds)] = {0}, live_still_us[ARRAY_SIZE(kinds)] = {0};
	int64_t there_still_us[ARRAY_SIZE(kinds)] = {0};
	const int64_t end_us = mono_now_us() + MS(5000);
	size_t waiting = ARRAY_SIZE(kinds);

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct addr vip = addr_of(kinds[i].vip);

		fences[i] = new_fence(kinds[i].with_gate, &vip);
		deadline_us[i] = mono_now_us() + (kinds[i].with_gate ? MS(300) : MS(2300));
		CHECK_EQ_INT(fence_hold(fences[i], deadline_us[i]), 0);
	}
	while (waiting > 0 && mono_now_us() < end_us) {
		(void) usleep(5000);
		for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
			const struct addr vip = addr_of(kinds[i].vip);
			int64_t look_us;

			if (gone_us[i] != 0)
				continue;
			look_us = mono_now_us();
			if (kinds[i].with_gate && silent_us[i] == 0) {
				if (live_us(&vip) == 0)
					silent_us[i] = mono_now_us();
				else
					live_still_us[i] = look_us;
			}
			look_us = mono_now_us();
			if (is_on_link(&vip)) {
				there_still_us[i] = look_us;
				continue;
			}
			gone_us[i] = mono_now_us();
			waiting--;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		bool ok = CHECK(gone_us[i] != 0);

		if (kinds[i].with_gate) {
			/* To the millisecond, but for ticks and for how often we look; then cleaned away. */
			ok = CHECK(silent_us[i] > deadline_us[i] - MS(40)) && ok;
			ok = CHECK(live_still_us[i] < deadline_us[i] + TIMING_LATE_US) && ok;
			ok = CHECK(gone_us[i] > deadline_us[i]) && ok;
		} else {
			ok = CHECK(there_still_us[i] < deadline_us[i] + TIMING_LATE_US) && ok;
		}
		if (!ok)
			(void) fprintf(stderr, "case: %s\n", kinds[i].name);
		CHECK(!fence_is_held(fences[i]));
		/* It is made anew where it was to be renewed. */
		CHECK_EQ_INT(fence_hold(fences[i], mono_now_us() + FAR_US), 0);
		CHECK(fence_is_held(fences[i]));
		CHECK_EQ_INT(fence_drop(fences[i]), 0);
		fence_free(fences[i]);
	}
}

/* An address that is there already becomes ours, with our lifetime and mark. */
static void test_leftovers(const struct kind_case *k)
{
	static const char *const how[] = {"", "valid_lft 900 preferred_lft 800"};
	const struct addr vip = addr_of(k->vip);
	AUTO(fence_free) struct fence *f = new_fence(k->with_gate, &vip);

	for (size_t i = 0; i < ARRAY_SIZE(how); i++) {
		struct seen s;

		netns_run("ip addr add %s/%d dev v0 %s", k->vip, vip.family == AF_INET6 ? 128 : 32, how[i]);
		CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
		s = look(&vip);
		CHECK_EQ_INT(s.n, 1);
		CHECK_EQ_INT(s.last.proto, FENCE_ADDR_PROTO);
		CHECK(s.last.valid_s <= k->valid_s);
		CHECK(s.last.no_prefix_route);
		CHECK_EQ_INT(fence_drop(f), 0);
		CHECK(!is_on_link(&vip));
	}
}

/* What the process before us left is recognised, renewed without a gap, and dropped. */
static void test_adopt(const struct kind_case *k)
{
	const struct addr vip = addr_of(k->vip);
	struct fence *before = new_fence(k->with_gate, &vip);
	AUTO(fence_free) struct fence *f = NULL;
	struct rtnl_addr foreign = {
	    .ifindex = ifindex, .proto = 0x55, .valid_s = 90, .preferred_s = 90, .no_dad = true};
	struct seen s;

	CHECK_EQ_INT(fence_hold(before, mono_now_us() + FAR_US), 0);
	fence_free(before);
	CHECK(is_on_link(&vip));
	(void) removed();
	f = new_fence(k->with_gate, &vip);
	CHECK(fence_is_held(f));
	CHECK_EQ_INT(fence_arm(f), 0);
	if (k->with_gate)
		CHECK(live_us(&vip) > FAR_US - US_PER_S);
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + 2 * FAR_US), 0);
	s = look(&vip);
	CHECK_EQ_INT(s.n, 1);
	CHECK_EQ_INT(removed(), 0);
	CHECK_EQ_INT(fence_drop(f), 0);
	CHECK(!is_on_link(&vip));
	/* One that is to be exported was not added as such before. */
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
	fence_free(f);
	f = new_fence(k->with_gate, &vip);
	fence_set_routed(f);
	CHECK(!fence_adopt(f, mono_now_us() + FAR_US));
	CHECK_EQ_INT(fence_drop(f), 0);
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
	CHECK(fence_adopt(f, mono_now_us() + FAR_US));
	CHECK_EQ_INT(fence_drop(f), 0);
	CHECK(!is_on_link(&vip));
	/* A mark that is another program's is no address of ours. */
	foreign.prefix = s.last.prefix;
	CHECK_EQ_INT(rtnl_addr_add(rtnl, &foreign), 0);
	CHECK(!fence_is_held(f));
	CHECK_EQ_INT(rtnl_addr_del(rtnl, ifindex, &foreign.prefix), 0);
}

/* Somebody takes the address away under us: the next renewal brings it back while it is ours. */
static void test_deleted_by_others(const struct kind_case *k)
{
	const struct addr vip = addr_of(k->vip);
	AUTO(fence_free) struct fence *f = new_fence(k->with_gate, &vip);

	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
	netns_run("ip addr flush dev v0");
	CHECK(!fence_is_held(f));
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
	CHECK(fence_is_held(f));
	netns_run("ip addr flush dev v0");
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
	CHECK(fence_is_held(f));
	netns_run("ip addr flush dev v0");
	CHECK_EQ_INT(fence_drop(f), 0);
}

static void test_ruleset_flushed(const struct kind_case *k)
{
	const struct addr vip = addr_of(k->vip);
	AUTO(fence_free) struct fence *f = new_fence(true, &vip);

	CHECK_EQ_INT(fence_arm(f), 0);
	netns_run("nft flush ruleset");
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
	CHECK(live_us(&vip) > FAR_US - US_PER_S);
	CHECK(is_on_link(&vip));
	netns_run("nft flush ruleset");
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + 2 * FAR_US), 0);
	CHECK(live_us(&vip) > FAR_US);
	netns_run("nft flush ruleset");
	CHECK_EQ_INT(fence_drop(f), 0);
	CHECK(!is_on_link(&vip));
	CHECK_EQ_INT(fence_arm(f), 0);
	CHECK(is_guarded(&vip) && live_us(&vip) == 0);
	/* Nothing is live where there is no gate. */
	netns_run("nft flush ruleset");
	fence_set_link(f, 0);
	CHECK_EQ_INT(fence_drop(f), 0);
	CHECK_EQ_INT(fence_arm(f), 0);
}

static void test_links(const struct kind_case *k)
{
	const struct addr vip = addr_of(k->vip);
	AUTO(fence_free) struct fence *f = new_fence(k->with_gate, &vip);
	AUTO(fence_free) struct fence *elsewhere = new_fence(k->with_gate, &vip);
	int other;

	fence_set_link(f, 0);
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), -ENODEV);
	CHECK(!fence_is_held(f));
	CHECK_EQ_INT(fence_drop(f), 0);
	netns_run("ip link add o0 type veth peer name o1; ip link set o0 up");
	other = (int) if_nametoindex("o0");
	/* What is held on one link is held on no other, and goes with it. */
	fence_set_link(f, other);
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
	CHECK(fence_is_held(f) && !fence_is_held(elsewhere));
	netns_run("ip addr add %s/%d dev v0", k->vip, vip.family == AF_INET6 ? 128 : 32);
	fence_set_link(f, ifindex);
	CHECK_EQ_INT(look_at(other, &vip).n, 0);
	if (k->with_gate)
		CHECK_EQ_INT(live_us(&vip), 0);
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
	CHECK(look(&vip).last.no_prefix_route);
	fence_set_link(f, 0);
	CHECK(!is_on_link(&vip));
	/* One that has gone and of which we have not heard. */
	fence_set_link(f, other);
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
	netns_run("ip link del o0");
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), -ENODEV);
	CHECK_EQ_INT(fence_drop(f), 0);
	if (k->with_gate)
		CHECK_EQ_INT(live_us(&vip), 0);
	fence_set_link(f, ifindex);
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
	CHECK(is_on_link(&vip));
	CHECK_EQ_INT(fence_drop(f), 0);
}

/* The kernel refuses to remove it: whoever writes `released` must hear of that, also when its link
 * is not the one that it belongs on any more. */
static void test_refused(const struct kind_case *k)
{
	const struct addr vip = addr_of(k->vip);
	AUTO(fence_free) struct fence *f = new_fence(k->with_gate, &vip);
	int other;

	CHECK(fence_is_off(f));
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
	CHECK(!fence_is_off(f));
	refuse_removal = true;
	CHECK_EQ_INT(fence_drop(f), -EPERM);
	CHECK(!fence_is_off(f) && is_on_link(&vip));
	if (k->with_gate)
		CHECK_EQ_INT(live_us(&vip), 0);
	fence_set_link(f, 0);
	CHECK_EQ_INT(fence_drop(f), -EPERM);
	/* Not on two links at once. */
	netns_run("ip link add r0 type veth peer name r1; ip link set r0 up");
	other = (int) if_nametoindex("r0");
	fence_set_link(f, other);
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), -EPERM);
	CHECK_EQ_INT(look_at(other, &vip).n, 0);
	fence_set_link(f, 0);
	CHECK(!fence_is_off(f) && is_on_link(&vip));
	refuse_removal = false;
	CHECK_EQ_INT(fence_drop(f), 0);
	CHECK(fence_is_off(f) && !is_on_link(&vip));
	/* Gone by itself. */
	fence_set_link(f, other);
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
	refuse_removal = true;
	CHECK_EQ_INT(fence_drop(f), -EPERM);
	CHECK(!fence_is_off(f));
	netns_run("ip link del r0");
	CHECK(fence_is_off(f));
	refuse_removal = false;
	CHECK_EQ_INT(fence_drop(f), 0);
}

/* --- stopped on the way ------------------------------------------------------------------------
 */

#define STOPS_MAX 20

struct trial {
	const char *name;
	bool with_gate;
	bool renew;       /* it is held already, else it is to be added */
	int64_t left_us;  /* until the deadline, when it begins */
	int64_t pause_us; /* how long it is stopped */
};

static const struct trial trials[] = {
    {"gate, added beyond the deadline", true, false, MS(1000), MS(1200)},
    {"gate, renewed beyond the deadline", true, true, MS(1000), MS(1200)},
    {"gate, added, held up", true, false, MS(8000), MS(800)},
    {"gate, renewed, held up", true, true, MS(8000), MS(800)},
    {"lifetime, added beyond the deadline", false, false, MS(2400), MS(2600)},
    {"lifetime, renewed beyond the deadline", false, true, MS(2400), MS(2600)},
    {"lifetime, added, held up", false, false, MS(2400), MS(400)},
    {"lifetime, renewed, held up", false, true, MS(2400), MS(400)},
};

struct runner {
	const struct trial *trial;
	int tries;
	int stop; /* the number of the clock reading or message behind which it is stopped */
	struct addr vip;
	pid_t pid;
	int64_t deadline_us;
	int64_t resume_us;
	int64_t held_up_us; /* by the machine, besides that */
	bool behind_kernel;
	bool granted; /* when it was stopped, the kernel had what it was to have */
	bool ended;
	int status;
};

/* In the child. It stops itself when it is ready. */
static int run_child(struct runner *r)
{
	static const struct rtnl_events none;
	struct rtnl *own_rtnl = NULL;
	struct nftgate *own_gate = NULL;
	const int64_t stolen_before_us = stolen_us();
	struct fence *f;
	int result;

	if (rtnl_new(ev, &none, NULL, &own_rtnl) < 0 || nftgate_new(ev, TABLE, &own_gate) < 0)
		return 3;
	f = fence_new(own_rtnl, r->trial->with_gate ? own_gate : NULL, &r->vip);
	fence_set_link(f, ifindex);
	/* For another time than the one that is tried, so that they can be told apart. */
	if (r->trial->renew &&
	    fence_hold(f, mono_now_us() + (r->trial->with_gate ? MS(900) : MS(3400))) < 0) {
		r->held_up_us = stolen_since_us(stolen_before_us);
		return 5;
	}
	(void) raise(SIGSTOP);
	r->deadline_us = mono_now_us() + r->trial->left_us;
	behind_kernel = &r->behind_kernel;
	stop_behind = r->stop;
	stop_each = r->trial->with_gate;
	result = fence_hold(f, r->deadline_us);
	stop_behind = -1;
	r->held_up_us += stolen_since_us(stolen_before_us);
	return result == 0 || result == -ETIME ? -result : 2;
}

/* Until it stops or ends. */
static bool wait_stopped(struct runner *r)
{
	CHECK_EQ_INT(waitpid(r->pid, &r->status, WUNTRACED), r->pid);
	r->ended = !WIFSTOPPED(r->status);
	return !r->ended;
}

static bool is_granted(const struct runner *r)
{
	struct seen s = look(&r->vip);

	if (r->trial->with_gate)
		return mono_now_us() + live_us(&r->vip) > r->deadline_us - MS(50);
	return s.n == 1 && s.last.valid_s <= 1;
}

static void come_to_the_stop(struct runner *r)
{
	const pid_t pid = fork();

	if (pid == 0)
		_exit(run_child(r));
	r->pid = pid;
	if (!CHECK(wait_stopped(r)))
		return;
	CHECK_EQ_INT(kill(r->pid, SIGCONT), 0);
	if (!wait_stopped(r)) {
		CHECK(WIFEXITED(r->status));
		CHECK_EQ_INT(WEXITSTATUS(r->status), 0);
		return;
	}
	r->granted = is_granted(r);
	/* Never on the link before it is guarded. */
	if (r->trial->with_gate && is_on_link(&r->vip))
		CHECK(is_guarded(&r->vip));
	r->resume_us = mono_now_us() + r->trial->pause_us;
}

static void finish(struct runner *r)
{
	const bool beyond = mono_now_us() >= r->deadline_us;
	int code;

	while (!r->ended) {
		/* With the gate it is stopped again and again, and in bounds each time. */
		CHECK_EQ_INT(kill(r->pid, SIGCONT), 0);
		(void) wait_stopped(r);
		if (r->trial->with_gate && live_us(&r->vip) > 0)
			CHECK(mono_now_us() + live_us(&r->vip) <= r->deadline_us + TIMING_LATE_US);
	}
	code = WIFEXITED(r->status) ? WEXITSTATUS(r->status) : -1;
	if (beyond && r->trial->with_gate)
		CHECK_EQ_INT(live_us(&r->vip), 0);
	if (code == ETIME || (beyond && !r->trial->with_gate))
		CHECK(!is_on_link(&r->vip));
	if (beyond)
		/* Too late; only behind its last look at the clock it has no means to know. */
		CHECK(code == ETIME || (code == 0 && r->granted && !r->behind_kernel));
	else if (r->trial->with_gate)
		CHECK(code == 0 && is_on_link(&r->vip) && is_granted(r));
	else
		/* What is left now is too little for a lifetime, so the one that is set must be known to be
		 * from before. */
		CHECK_EQ_INT(code, r->granted && !r->behind_kernel ? 0 : ETIME);
}

/* One step of it. False: it failed, and the machine was to blame. */
static bool succeeds(struct runner *r, void (*step)(struct runner *))
{
	const int64_t stolen_before_us = stolen_us();
	const unsigned failures = check_failures;

	step(r);
	r->held_up_us += stolen_since_us(stolen_before_us);
	if (check_failures == failures)
		return true;
	(void) fprintf(stderr, "case: %s, stop %d; held up for %lld us\n", r->trial->name, r->stop,
	               (long long) r->held_up_us);
	if (r->held_up_us < PATIENT_HELD_UP_US || r->tries == PATIENT_TRIES)
		return true;
	check_failures = failures;
	return false;
}

/* With an address that nobody has used before. False if it does not come so far. */
static bool start(struct runner *r)
{
	static unsigned serial;

	do {
		char text[ADDR_TEXT_MAX];

		if (r->pid != 0 && !r->ended) {
			(void) kill(r->pid, SIGKILL);
			(void) waitpid(r->pid, NULL, 0);
		}
		serial++;
		(void) snprintf(text, sizeof(text), r->stop % 2 == 0 ? "10.10.%u.%u" : "fd09::%x:%x",
		                serial / 200, serial % 200 + 1);
		*r = (struct runner){
		    .trial = r->trial, .stop = r->stop, .tries = r->tries + 1, .vip = addr_of(text)};
	} while (!succeeds(r, come_to_the_stop));
	return !r->ended;
}

static struct runner *next_to_resume(struct runner *runners, size_t n)
{
	struct runner *next = NULL;

	for (size_t i = 0; i < n; i++) {
		if (!runners[i].ended && (next == NULL || runners[i].resume_us < next->resume_us))
			next = &runners[i];
	}
	return next;
}

/* All at once: most of the time they wait. */
static void test_stopped(void)
{
	const size_t size = ARRAY_SIZE(trials) * STOPS_MAX * sizeof(struct runner);
	struct runner *runners =
	    mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct runner *r;
	size_t n = 0;

	for (size_t t = 0; t < ARRAY_SIZE(trials); t++) {
		const size_t first = n;
		bool stopped = true;

		for (int stop = 0; stopped && stop < STOPS_MAX; stop++) {
			r = &runners[n++];
			*r = (struct runner){.trial = &trials[t], .stop = stop};
			stopped = start(r);
		}
		if (!CHECK(!stopped && n - first > 3))
			(void) fprintf(stderr, "case: %s: %zu runs\n", trials[t].name, n - first);
	}
	for (r = next_to_resume(runners, n); r != NULL; r = next_to_resume(runners, n)) {
		while (mono_now_us() < r->resume_us)
			(void) usleep(2000);
		if (!succeeds(r, finish))
			(void) start(r);
	}
}

/* --- each in a world of its own ----------------------------------------------------------------
 */

static void world_open(void)
{
	static const struct rtnl_events events = {.addr = addr_cb};

	(void) netns_enter_new();
	netns_run("ip link add v0 type veth peer name v1; ip link set v1 up; ip link set v0 up");
	ifindex = (int) if_nametoindex("v0");
	ev = ev_default_loop(EVFLAG_AUTO);
	if (!CHECK_EQ_INT(rtnl_new(ev, &events, NULL, &rtnl), 0) ||
	    !CHECK_EQ_INT(nftgate_new(ev, TABLE, &gate), 0))
		exit(check_result());
}

static const struct kind_case *kind; /* that is tried */

/* A routing daemon finds the route, and renewing does not lose it; with the address it goes. */
static void test_routed(const struct kind_case *k)
{
	const struct addr vip = addr_of(k->vip);
	AUTO(fence_free) struct fence *f = new_fence(k->with_gate, &vip);
	const bool ipv6 = vip.family == AF_INET6;

	fence_set_routed(f);
	for (int i = 1; i <= 2; i++) {
		CHECK_EQ_INT(fence_hold(f, mono_now_us() + i * FAR_US), 0);
		CHECK(!look(&vip).last.no_prefix_route);
		if (ipv6)
			netns_run("ip -6 route show table main | grep -q '^%s dev '", k->vip);
	}
	CHECK_EQ_INT(fence_drop(f), 0);
	if (ipv6)
		netns_run("! ip -6 route show table main | grep -q '^%s dev '", k->vip);
}

static void test_one_kind(void)
{
	test_hold_and_drop(kind);
	test_routed(kind);
	test_too_late(kind);
	test_leftovers(kind);
	test_adopt(kind);
	test_deleted_by_others(kind);
	if (kind->with_gate)
		test_ruleset_flushed(kind);
	test_links(kind);
	test_refused(kind);
	if (check_failures > 0)
		(void) fprintf(stderr, "with: %s\n", kind->name);
}

int main(void)
{
	struct patient one_kind = {.prepare = world_open, .test = test_one_kind};
	struct patient in_vain = {.prepare = world_open, .test = test_renewed_in_vain};
	struct patient ends = {.prepare = world_open, .test = test_kernel_ends_it};
	struct patient stopped = {.prepare = world_open, .test = test_stopped};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		kind = &kinds[i];
		patient_begin(&one_kind);
		patient_end(&one_kind);
	}
	/* These take seconds in which little happens. */
	patient_begin(&in_vain);
	patient_begin(&ends);
	patient_begin(&stopped);
	patient_end(&stopped);
	patient_end(&in_vain);
	patient_end(&ends);
	return check_result();
}
