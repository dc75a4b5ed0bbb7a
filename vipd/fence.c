/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds and drops one address. All that is decided here is in what order the kernel hears of it,
 * and what to do when time has passed in between; deadlines come from election.c.
 */
#include "vipd/fence.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/mono.h"

/* With the lifetime alone: a renewal that took longer than this may have entered the kernel too
 * late for its slack. */
#define TRANSIT_MAX_US TIMING_LATE_US

_Static_assert(NFTGATE_TICKET_MS *US_PER_MS < TIMING_LATE_US,
               "the gate keeps the lateness that is promised");

struct fence {
	struct rtnl *rtnl;
	struct nftgate *gate;
	struct prefix vip;
	bool routed;      /* others look for it among the connected routes */
	int ifindex;      /* where it belongs */
	int at_ifindex;   /* where it may be: 0 once the kernel has said that it is off */
	bool on_link;     /* as far as we know: decides between adding and renewing */
	int64_t until_us; /* the deadline that the kernel has; 0: none, or not known */
	const char *error_text;
};

struct fence *fence_new(struct rtnl *rtnl, struct nftgate *gate, const struct addr *vip)
{
	struct fence *f = NEW0(struct fence);

	f->rtnl = rtnl;
	f->gate = gate;
	/* Always a host route: with a wider prefix it might become the link's primary address and take
	 * the node's own along when it goes. */
	f->vip.addr = *vip;
	f->vip.len = (uint8_t) (addr_len_bytes(vip) * 8);
	f->error_text = "";
	return f;
}

void fence_free(struct fence *f)
{
	free(f);
}

void fence_set_gate(struct fence *f, struct nftgate *gate)
{
	assert(!f->on_link);
	f->gate = gate;
}

enum fence_kind fence_kind(const struct fence *f)
{
	return f->gate != NULL ? FENCE_NFTABLES : FENCE_LIFETIME;
}

void fence_set_routed(struct fence *f)
{
	f->routed = true;
}

void fence_set_link(struct fence *f, int ifindex)
{
	if (f->ifindex == ifindex)
		return;
	/* The one before need not be gone: links are renamed. Where it cannot be taken off now,
	 * at_ifindex remembers it for the next fence_drop(). */
	if (f->at_ifindex != 0)
		(void) fence_drop(f);
	f->ifindex = ifindex;
	/* fence_arm() tries again before the address is added. */
	if (f->gate != NULL && ifindex != 0)
		(void) nftgate_add_link(f->gate, ifindex);
}

static struct rtnl_addr describe(const struct fence *f, uint32_t lifetime_s)
{
	return (struct rtnl_addr){
	    .prefix = f->vip,
	    .ifindex = f->ifindex,
	    .proto = FENCE_ADDR_PROTO,
	    .valid_s = lifetime_s,
	    /* Deprecated from the start, so that IPv6 never chooses it as a source. */
	    .preferred_s = f->vip.addr.family == AF_INET6 ? 0 : lifetime_s,
	    /* FRR takes no connected route from an address that was to have none in the kernel. */
	    .no_prefix_route = !f->routed,
	    .no_dad = f->vip.addr.family == AF_INET6,
	};
}

static int put_address(struct fence *f, int64_t deadline_us)
{
	uint32_t lifetime_s = timing_lifetime_s(fence_kind(f), deadline_us, mono_now_us());
	struct rtnl_addr a = describe(f, lifetime_s);
	int r;

	if (lifetime_s == 0)
		return -ETIME;
	if (f->gate == NULL)
		/* From here on what was in force is not any more. */
		f->until_us = 0;
	f->at_ifindex = f->ifindex;
	if (f->on_link) {
		r = rtnl_addr_replace(f->rtnl, &a);
	} else {
		r = rtnl_addr_add(f->rtnl, &a);
		if (r == -EEXIST) {
			/* A leftover of ours, or somebody put it there by hand: ours it is from now on, with
			 * our lifetime and mark. */
			(void) rtnl_addr_del(f->rtnl, f->ifindex, &f->vip);
			r = rtnl_addr_add(f->rtnl, &a);
		}
	}
	if (r < 0)
		f->error_text = rtnl_error_text(f->rtnl);
	f->on_link = r == 0;
	return r;
}

int fence_arm(struct fence *f)
{
	int r;

	if (f->gate == NULL)
		return 0;
	r = nftgate_guard(f->gate, &f->vip.addr);
	if (r == 0 && f->ifindex != 0)
		r = nftgate_add_link(f->gate, f->ifindex);
	if (r == -ENOENT)
		/* Somebody flushed the ruleset. The gate remembers what is to be guarded. */
		r = nftgate_restore(f->gate);
	if (r < 0)
		f->error_text = nftgate_error_text(f->gate);
	return r;
}

static int open_gate(struct fence *f, int64_t deadline_us)
{
	int r;

	r = nftgate_open_until(f->gate, &f->vip.addr, deadline_us);
	if (r == -ENOENT) {
		/* Somebody flushed the ruleset, and what was live with it. */
		f->until_us = 0;
		r = nftgate_restore(f->gate);
		if (r == 0)
			r = nftgate_open_until(f->gate, &f->vip.addr, deadline_us);
	}
	if (r < 0)
		f->error_text = nftgate_error_text(f->gate);
	return r;
}

static int hold(struct fence *f, int64_t deadline_us)
{
	int64_t before_us = mono_now_us();
	int r = 0;

	if (!f->on_link)
		r = fence_arm(f);
	if (r == 0)
		r = put_address(f, deadline_us);
	if (r == 0 && f->gate != NULL)
		return open_gate(f, deadline_us);
	if (r == 0 && mono_now_us() - before_us > TRANSIT_MAX_US)
		r = -ETIME;
	return r;
}

/* Nothing was changed by a renewal that failed like this, and what it was to replace still runs. */
static bool is_kept(const struct fence *f, int r, int64_t deadline_us)
{
	bool refused_early = r == -EAGAIN || r == -ETIME || r == -ERANGE;

	/* One that was to shorten it must not leave the longer one. */
	return refused_early && f->on_link && deadline_us >= f->until_us && mono_now_us() < f->until_us;
}

int fence_hold(struct fence *f, int64_t deadline_us)
{
	int r;

	f->error_text = "";
	if (f->ifindex == 0)
		return -ENODEV;
	if (f->at_ifindex != 0 && f->at_ifindex != f->ifindex) {
		r = fence_drop(f);
		if (r < 0)
			return r;
	}
	r = hold(f, deadline_us);
	/* Whoever was stopped on the way finds the deadline behind it. */
	if (r == 0 && mono_now_us() >= deadline_us)
		r = -ETIME;
	if (r == 0) {
		f->until_us = deadline_us;
		return 0;
	}
	if (is_kept(f, r, deadline_us))
		return FENCE_KEPT;
	(void) fence_drop(f);
	return r;
}

int fence_silence(struct fence *f)
{
	int r;

	if (f->gate == NULL)
		return 0;
	f->until_us = 0;
	r = nftgate_shut(f->gate, &f->vip.addr);
	return r == -ENOENT ? 0 : r;
}

int fence_drop(struct fence *f)
{
	const int at = f->at_ifindex != 0 ? f->at_ifindex : f->ifindex;
	int r;

	/* Where this fails, the address still goes. */
	(void) fence_silence(f);
	f->on_link = false;
	f->until_us = 0;
	if (at == 0)
		return 0;
	r = rtnl_addr_del(f->rtnl, at, &f->vip);
	if (r == -EADDRNOTAVAIL)
		r = 0;
	if (r == 0 && f->routed && f->vip.addr.family == AF_INET6)
		/* Else this node's own packets to the next owner would go into its own link for as long as
		 * the lifetime was. */
		(void) rtnl_connected_route_del(f->rtnl, at, &f->vip);
	if (r < 0)
		f->error_text = rtnl_error_text(f->rtnl);
	f->at_ifindex = r < 0 ? at : 0;
	return r;
}

struct lookup {
	const struct fence *fence;
	int ifindex;
	bool found;
	bool no_prefix_route; /* what was found */
};

static void look_cb(const struct rtnl_addr *a, void *userdata)
{
	struct lookup *l = userdata;

	if (a->ifindex == l->ifindex && addr_equal(&a->prefix.addr, &l->fence->vip.addr) &&
	    (a->proto == FENCE_ADDR_PROTO || a->proto == 0)) {
		l->found = true;
		l->no_prefix_route = a->no_prefix_route;
	}
}

static bool find(struct fence *f, struct lookup *l)
{
	if (f->ifindex == 0 || rtnl_addr_list(f->rtnl, look_cb, l) < 0)
		return false;
	f->on_link = l->found;
	if (l->found)
		f->at_ifindex = f->ifindex;
	return l->found;
}

bool fence_is_held(struct fence *f)
{
	struct lookup l = {.fence = f, .ifindex = f->ifindex};

	return find(f, &l);
}

bool fence_adopt(struct fence *f, int64_t deadline_us)
{
	struct lookup l = {.fence = f, .ifindex = f->ifindex};

	/* Renewals do not change what the kernel and routing daemons made of it when it came. */
	if (!find(f, &l) || l.no_prefix_route == f->routed)
		return false;
	f->until_us = deadline_us;
	return true;
}

bool fence_is_off(struct fence *f)
{
	struct lookup l = {.fence = f, .ifindex = f->at_ifindex};

	if (f->at_ifindex == 0)
		return true;
	/* Its lifetime may have ended it. */
	if (rtnl_addr_list(f->rtnl, look_cb, &l) < 0 || l.found)
		return false;
	f->at_ifindex = 0;
	return true;
}

const char *fence_error_text(const struct fence *f)
{
	return f->error_text;
}
