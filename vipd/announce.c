/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timetable of announcements of one VIP, on a packet socket of its own. What is sent and how a
 * claim is recognised is lib/net/arpnd's business; whether we may speak is the election's.
 */
#include "vipd/announce.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

struct announcer {
	struct ev_loop *ev;
	struct addr vip;
	const struct announcer_callbacks *callbacks;
	void *userdata;
	struct arpnd *arpnd;
	int ifindex;
	ev_timer timer;
	unsigned sent; /* frames of this sequence so far */
	unsigned repeats;
	int64_t refresh_us;
};

/* How long to wait behind the n-th announcement of a sequence; 0: that was the last one. */
static int64_t delay_after(const struct announcer *a, unsigned n)
{
	static const int64_t first_us[] = {100 * US_PER_MS, 200 * US_PER_MS};

	if (n <= ARRAY_SIZE(first_us))
		return first_us[n - 1];
	if (n <= ARRAY_SIZE(first_us) + a->repeats)
		return US_PER_S;
	return a->refresh_us;
}

static void announce(struct announcer *a)
{
	int64_t delay_us;
	int r;

	if (a->arpnd == NULL || !a->callbacks->entitled(a->userdata))
		return;
	r = arpnd_announce(a->arpnd, &a->vip);
	if (r < 0) {
		char text[ADDR_TEXT_MAX];

		log_debug("announce_failed", "vip=%s r=%d", addr_format(&a->vip, text), r);
	}
	delay_us = delay_after(a, ++a->sent);
	if (delay_us == 0)
		return;
	ev_timer_set(&a->timer, mono_to_ev(delay_us), 0.);
	ev_timer_start(a->ev, &a->timer);
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	announce(CONTAINER_OF(w, struct announcer, timer));
}

static void heard_cb(enum arpnd_kind kind, const struct addr *addr UNUSED, const struct mac *from,
                     void *userdata)
{
	struct announcer *a = userdata;

	/* Who only probes backs off by itself when the kernel answers for the owner. */
	if (kind == ARPND_CLAIM)
		a->callbacks->claimed(from, a->userdata);
}

struct announcer *announcer_new(struct ev_loop *ev, const struct addr *vip,
                                const struct announcer_callbacks *callbacks, void *userdata)
{
	struct announcer *a = NEW0(struct announcer);

	a->ev = ev;
	a->vip = *vip;
	a->callbacks = callbacks;
	a->userdata = userdata;
	ev_timer_init(&a->timer, timer_cb, 0., 0.);
	return a;
}

void announcer_free(struct announcer *a)
{
	if (a == NULL)
		return;
	announcer_stop(a);
	arpnd_free(a->arpnd);
	free(a);
}

void announcer_configure(struct announcer *a, unsigned repeats, int64_t refresh_us)
{
	a->repeats = repeats;
	a->refresh_us = refresh_us;
}

int announcer_set_link(struct announcer *a, int ifindex, const struct mac *mac)
{
	int r;

	if (ifindex != 0 && ifindex == a->ifindex && a->arpnd != NULL) {
		arpnd_set_mac(a->arpnd, mac);
		return 0;
	}
	arpnd_free(TAKE_PTR(a->arpnd));
	a->ifindex = ifindex;
	if (ifindex == 0)
		return 0;
	r = arpnd_new(a->ev, ifindex, mac, heard_cb, a, &a->arpnd);
	if (r < 0)
		return r;
	return arpnd_watch(a->arpnd, &a->vip);
}

void announcer_start(struct announcer *a)
{
	announcer_stop(a);
	a->sent = 0;
	announce(a);
}

void announcer_stop(struct announcer *a)
{
	ev_timer_stop(a->ev, &a->timer);
}
