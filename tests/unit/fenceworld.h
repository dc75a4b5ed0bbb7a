/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One address on a real link, in a network of the test's own. clock_gettime() and sendto() are the
 * test's as well: between any two steps of the process that holds the address it can be stopped,
 * held up, or refused by its kernel.
 */

#include "vipd/fence.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
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

/* --- a process that stops itself --- */

static bool refuse_removal;          /* of addresses, as a kernel may */
static bool hold_up;                 /* a moment behind each reading of the clock */
static int stop_behind = -1;         /* so many readings of the clock and messages to the kernel */
static bool stop_each;               /* and behind every later one */
static volatile bool *behind_kernel; /* what it was */

static inline UNUSED void pass(bool kernel)
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

/* --- what the kernel shows --- */

static inline UNUSED struct addr addr_of(const char *text)
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

static inline UNUSED void seen_cb(const struct rtnl_addr *a, void *userdata)
{
	struct seen *s = userdata;

	if (a->ifindex != s->ifindex || !addr_equal(&a->prefix.addr, &s->addr))
		return;
	s->n++;
	s->last = *a;
}

static inline UNUSED struct seen look_at(int link, const struct addr *addr)
{
	struct seen s = {.addr = *addr, .ifindex = link};

	CHECK_EQ_INT(rtnl_addr_list(rtnl, seen_cb, &s), 0);
	return s;
}

static inline UNUSED struct seen look(const struct addr *addr)
{
	return look_at(ifindex, addr);
}

static inline UNUSED bool is_on_link(const struct addr *addr)
{
	return look(addr).n > 0;
}

static inline UNUSED int64_t live_us(const struct addr *addr)
{
	bool guarded = false;
	int64_t left_us = -1;

	CHECK_EQ_INT(nftgate_query(gate, addr, &guarded, &left_us), 0);
	return left_us;
}

static inline UNUSED bool is_guarded(const struct addr *addr)
{
	bool guarded = false;
	int64_t left_us;

	CHECK_EQ_INT(nftgate_query(gate, addr, &guarded, &left_us), 0);
	return guarded;
}

static unsigned n_removed;

static inline UNUSED void addr_cb(const struct rtnl_addr *a UNUSED, bool added,
                                  void *userdata UNUSED)
{
	n_removed += !added;
}

/* How many addresses have gone since this was asked last. */
static inline UNUSED unsigned removed(void)
{
	unsigned n;

	turn_for(ev, MS(20));
	n = n_removed;
	n_removed = 0;
	return n;
}

static inline UNUSED struct fence *new_fence(bool with_gate, const struct addr *vip)
{
	struct fence *f = fence_new(rtnl, with_gate ? gate : NULL, vip);

	fence_set_link(f, ifindex);
	return f;
}

static inline UNUSED void world_open(void)
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
