/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timetable of announcements of one VIP, on a packet socket of its own. What is sent and how a
 * claim is recognised is lib/net/arpnd's business; whether we may speak is the election's.
 *
 * A socket that cannot be opened (no descriptors left, a link that is just going) is tried again
 * every second, and then the sequence that found none begins.
 */
#include "vipd/announce.h"

#include <stdlib.h>
#include <sys/random.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

#define RETRY_US US_PER_S

struct announcer {
	struct ev_loop *ev;
	struct addr vip;
	const struct announcer_callbacks *callbacks;
	void *userdata;
	struct arpnd *arpnd;
	int ifindex;
	struct mac mac;
	int error;      /* why there is no socket on the link */
	ev_timer retry; /* of opening it */
	bool stalled;   /* a sequence was begun and found no socket */
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

	if (a->arpnd == NULL)
		a->stalled = true;
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
	loop_timer_in(a->ev, &a->timer, delay_us);
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	announce(CONTAINER_OF(w, struct announcer, timer));
}

static void heard_cb(enum arpnd_kind kind, const struct addr *addr, const struct mac *from,
                     void *userdata)
{
	struct announcer *a = userdata;

	/* Who only probes backs off by itself when the kernel answers for the owner. */
	if (kind == ARPND_CLAIM)
		a->callbacks->claimed(addr, from, a->userdata);
}

static int open_socket(struct announcer *a)
{
	int r;

	r = arpnd_new(a->ev, a->ifindex, &a->mac, heard_cb, a, &a->arpnd);
	if (r == 0) {
		r = arpnd_watch(a->arpnd, &a->vip);
		if (r < 0)
			arpnd_free(TAKE_PTR(a->arpnd));
	}
	a->error = r;
	if (r < 0) {
		loop_timer_in(a->ev, &a->retry, RETRY_US);
	} else if (a->stalled) {
		announcer_start(a);
	}
	return r;
}

static void retry_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct announcer *a = CONTAINER_OF(w, struct announcer, retry);
	char text[ADDR_TEXT_MAX];
	int r;

	r = open_socket(a);
	if (r == 0)
		log_info("announcer_ready", "vip=%s ifindex=%d", addr_format(&a->vip, text), a->ifindex);
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
	ev_timer_init(&a->retry, retry_cb, 0., 0.);
	return a;
}

void announcer_free(struct announcer *a)
{
	if (a == NULL)
		return;
	announcer_stop(a);
	ev_timer_stop(a->ev, &a->retry);
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
	if (ifindex != 0 && ifindex == a->ifindex && a->arpnd != NULL) {
		arpnd_set_mac(a->arpnd, mac);
		return 0;
	}
	arpnd_free(TAKE_PTR(a->arpnd));
	ev_timer_stop(a->ev, &a->retry);
	a->ifindex = ifindex;
	a->error = 0;
	if (ifindex == 0)
		return 0;
	a->mac = *mac;
	return open_socket(a);
}

int announcer_error(const struct announcer *a)
{
	return a->error;
}

void announcer_start(struct announcer *a)
{
	announcer_stop(a);
	a->sent = 0;
	announce(a);
}

void announcer_stop(struct announcer *a)
{
	a->stalled = false;
	ev_timer_stop(a->ev, &a->timer);
}

void announcer_probe(struct announcer *a, const struct addr *addr)
{
	if (a->arpnd != NULL && arpnd_watch(a->arpnd, addr) == 0)
		(void) arpnd_probe(a->arpnd, addr);
}

void announcer_forget(struct announcer *a, const struct addr *addr)
{
	if (a->arpnd != NULL)
		arpnd_unwatch(a->arpnd, addr);
}

/* --- whether another host has it --- */

/*
 * One timer paces the probes, another ends the check of one MAC. While a MAC is being checked,
 * other MACs wait for the next round.
 */

#define CONTROLS_MAX 2

struct asker {
	struct ev_loop *ev;
	struct addr vip;
	const struct asker_callbacks *callbacks;
	void *userdata;
	int64_t interval_us;
	unsigned rounds; /* asked, of the sequence */
	int64_t done_us;
	ev_timer next;
	ev_timer check; /* active: `suspect` is being checked */
	struct mac suspect;
	uint8_t subnet_len;
	struct addr controls[CONTROLS_MAX];
	bool claimed[CONTROLS_MAX]; /* by the suspect */
	size_t n_controls;
};

static void next_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct asker *a = CONTAINER_OF(w, struct asker, next);

	a->callbacks->probe(&a->vip, a->userdata);
	a->rounds += a->rounds < ASKER_ROUNDS ? 1 : 0;
	loop_timer_in(a->ev, &a->next, a->rounds < ASKER_ROUNDS ? ASKER_PAUSE_US : a->interval_us);
}

/* Other hosts of the VIP's subnet, which differ from it in their last byte: from a random one on,
 * past the first and the last address of the subnet, which no host has. */
static void choose_controls(struct asker *a)
{
	const size_t last = addr_len_bytes(&a->vip) - 1;
	const unsigned host_bits = MIN((unsigned) addr_len_bytes(&a->vip) * 8 - a->subnet_len, 8U);
	const uint8_t mask = (uint8_t) ((1U << host_bits) - 1);
	uint8_t at = 0;

	/* Should it fail, the addresses are the same each time, which does as well. */
	if (getrandom(&at, sizeof(at), GRND_NONBLOCK) < 0)
		at = a->vip.bytes[last];
	a->n_controls = 0;
	for (unsigned i = 0; i <= mask && a->n_controls < CONTROLS_MAX; i++, at++) {
		const uint8_t host = at & mask;

		if (host == 0 || host == mask || host == (a->vip.bytes[last] & mask))
			continue;
		a->controls[a->n_controls] = a->vip;
		a->controls[a->n_controls].bytes[last] = (uint8_t) ((a->vip.bytes[last] & ~mask) | host);
		a->claimed[a->n_controls++] = false;
	}
}

static bool end_check(struct asker *a)
{
	size_t n_claimed = 0;

	ev_timer_stop(a->ev, &a->check);
	for (size_t i = 0; i < a->n_controls; i++) {
		n_claimed += a->claimed[i] ? 1 : 0;
		a->callbacks->forget(&a->controls[i], a->userdata);
	}
	return a->n_controls > 0 && n_claimed == a->n_controls;
}

static void check_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct asker *a = CONTAINER_OF(w, struct asker, check);
	bool is_proxy = end_check(a);

	if (!is_proxy)
		a->callbacks->claimed(&a->suspect, a->userdata);
}

void asker_on_claim(struct asker *a, const struct addr *addr, const struct mac *from)
{
	for (size_t i = 0; i < a->n_controls && ev_is_active(&a->check); i++) {
		if (addr_equal(addr, &a->controls[i]) && mac_equal(from, &a->suspect))
			a->claimed[i] = true;
	}
	if (!addr_equal(addr, &a->vip) || ev_is_active(&a->check))
		return;
	a->suspect = *from;
	choose_controls(a);
	a->done_us = MAX(a->done_us, mono_now_us() + ASKER_CHECK_US);
	ev_now_update(a->ev);
	loop_timer_in(a->ev, &a->check, ASKER_CHECK_US);
	for (size_t i = 0; i < a->n_controls; i++)
		a->callbacks->probe(&a->controls[i], a->userdata);
}

void asker_set_subnet(struct asker *a, uint8_t len)
{
	a->subnet_len = len;
}

void asker_set_interval(struct asker *a, int64_t interval_us)
{
	if (interval_us == a->interval_us)
		return;
	a->interval_us = interval_us;
	ev_timer_stop(a->ev, &a->next);
	if (interval_us == 0) {
		if (ev_is_active(&a->check))
			(void) end_check(a);
		return;
	}
	a->rounds = 0;
	a->done_us = mono_now_us() + ASKER_ROUND_US;
	next_cb(a->ev, &a->next, 0);
}

int64_t asker_done_us(const struct asker *a)
{
	return a->done_us;
}

struct asker *asker_new(struct ev_loop *ev, const struct addr *vip,
                        const struct asker_callbacks *callbacks, void *userdata)
{
	struct asker *a = NEW0(struct asker);

	a->ev = ev;
	a->vip = *vip;
	a->callbacks = callbacks;
	a->userdata = userdata;
	a->subnet_len = (uint8_t) (addr_len_bytes(vip) * 8 - 8);
	ev_timer_init(&a->next, next_cb, 0., 0.);
	ev_timer_init(&a->check, check_cb, 0., 0.);
	return a;
}

void asker_free(struct asker *a)
{
	if (a == NULL)
		return;
	ev_timer_stop(a->ev, &a->next);
	ev_timer_stop(a->ev, &a->check);
	free(a);
}
