/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps one lease alive. A cycle of three steps, each tried again a second after it failed:
 * probe the minimum TTL (once) -> grant -> renew for ever; a renewal that says the lease is gone
 * leads back to grant. When the daemon stops, the lease is revoked.
 */
#include "vipd/nodelease.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/fsm.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

#define RETRY_US US_PER_S
#define PROBE_TTL_S 1

enum lease_state {
	LEASE_PROBING,
	LEASE_GRANTING,
	LEASE_ALIVE,
	LEASE_ENDING,
	LEASE_STATES,
};

static const struct fsm_state states[LEASE_STATES] = {
    [LEASE_PROBING] = {"probing",
                       FSM_TO(LEASE_GRANTING) | FSM_TO(LEASE_ALIVE) | FSM_TO(LEASE_ENDING)},
    [LEASE_GRANTING] = {"granting", FSM_TO(LEASE_ALIVE) | FSM_TO(LEASE_ENDING)},
    [LEASE_ALIVE] = {"alive", FSM_TO(LEASE_GRANTING) | FSM_TO(LEASE_ENDING)},
    [LEASE_ENDING] = {"ending", 0},
};

struct nodelease {
	struct ev_loop *ev;
	struct etcd *etcd;
	const struct nodelease_callbacks *callbacks;
	void *userdata;
	enum lease_state state;
	int64_t ttl_s;
	int64_t granted_s;
	int64_t id; /* alive: the lease; probing: the one to be adopted, or 0 */
	ev_timer timer;
	struct etcd_call *call;
	nodelease_done_fn ended;
	void *ended_userdata;
};

static void set_timer(struct nodelease *l, int64_t delay_us)
{
	ev_timer_stop(l->ev, &l->timer);
	ev_timer_set(&l->timer, mono_to_ev(delay_us), 0.);
	ev_timer_start(l->ev, &l->timer);
}

static void set_state(struct nodelease *l, enum lease_state to)
{
	fsm_check(states, ARRAY_SIZE(states), l->state, to);
	l->state = to;
	log_debug("node_lease", "state=%s lease=%llx", states[to].name, (unsigned long long) l->id);
	/* Renew soon when it is alive, grant at once when it is not. */
	set_timer(l, to == LEASE_ALIVE && l->granted_s > 0 ? l->granted_s * US_PER_S / 3 : 0);
	l->callbacks->changed(to == LEASE_ALIVE ? l->id : 0, l->userdata);
}

static void revoked_cb(const struct etcd_outcome *outcome, void *userdata)
{
	struct nodelease *l = userdata;

	/* It ends by itself soon if this failed. */
	(void) outcome;
	l->call = NULL;
	if (l->id != 0)
		set_state(l, LEASE_ALIVE);
	else
		set_state(l, LEASE_GRANTING);
}

static void probed_cb(const struct etcd_outcome *outcome, const struct etcd_lease_result *result,
                      void *userdata)
{
	struct nodelease *l = userdata;
	int r;

	l->call = NULL;
	l->callbacks->granted(outcome->r, l->userdata);
	if (outcome->r < 0) {
		set_timer(l, RETRY_US);
		return;
	}
	l->callbacks->min_ttl(result->ttl_s, l->userdata);
	r = etcd_lease_revoke(l->etcd, result->id, revoked_cb, l, &l->call);
	assert(r >= 0);
}

static void granted_cb(const struct etcd_outcome *outcome, const struct etcd_lease_result *result,
                       void *userdata)
{
	struct nodelease *l = userdata;

	l->call = NULL;
	l->callbacks->granted(outcome->r, l->userdata);
	if (outcome->r < 0) {
		/* If it was granted all the same, it hangs on nothing and ends by itself. */
		set_timer(l, RETRY_US);
		return;
	}
	l->id = result->id;
	l->granted_s = result->ttl_s;
	if (l->granted_s > l->ttl_s)
		log_info("node_lease_raised", "asked_s=%lld granted_s=%lld", (long long) l->ttl_s,
		         (long long) l->granted_s);
	set_state(l, LEASE_ALIVE);
}

static void renewed_cb(const struct etcd_outcome *outcome, const struct etcd_lease_result *result,
                       void *userdata)
{
	struct nodelease *l = userdata;

	l->call = NULL;
	if (outcome->r == -ENOENT || (outcome->r == 0 && result->ttl_s <= 0)) {
		log_info("node_lease_lost", "lease=%llx", (unsigned long long) l->id);
		l->id = 0;
		set_state(l, LEASE_GRANTING);
		return;
	}
	if (outcome->r < 0) {
		set_timer(l, RETRY_US);
		return;
	}
	l->granted_s = result->ttl_s;
	set_timer(l, l->granted_s * US_PER_S / 3);
}

static void ended_cb(const struct etcd_outcome *outcome UNUSED, void *userdata)
{
	struct nodelease *l = userdata;

	l->call = NULL;
	l->ended(l->ended_userdata);
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct nodelease *l = CONTAINER_OF(w, struct nodelease, timer);
	int r = 0;

	switch (l->state) {
	case LEASE_PROBING:
		r = etcd_lease_grant(l->etcd, 0, PROBE_TTL_S, probed_cb, l, &l->call);
		break;
	case LEASE_GRANTING:
		r = etcd_lease_grant(l->etcd, 0, l->ttl_s, granted_cb, l, &l->call);
		break;
	case LEASE_ALIVE:
		r = etcd_lease_keepalive(l->etcd, l->id, renewed_cb, l, &l->call);
		break;
	case LEASE_ENDING:
		if (l->id == 0)
			l->ended(l->ended_userdata);
		else
			r = etcd_lease_revoke(l->etcd, l->id, ended_cb, l, &l->call);
		break;
	case LEASE_STATES:
		break;
	}
	assert(r >= 0);
}

void nodelease_end(struct nodelease *l, nodelease_done_fn done, void *userdata)
{
	etcd_call_cancel(TAKE_PTR(l->call));
	l->ended = done;
	l->ended_userdata = userdata;
	set_state(l, LEASE_ENDING);
}

struct nodelease *nodelease_new(struct ev_loop *ev, struct etcd *etcd, int64_t ttl_us,
                                int64_t adopt, const struct nodelease_callbacks *callbacks,
                                void *userdata)
{
	struct nodelease *l = NEW0(struct nodelease);

	l->ev = ev;
	l->etcd = etcd;
	l->callbacks = callbacks;
	l->userdata = userdata;
	l->ttl_s = (ttl_us + US_PER_S - 1) / US_PER_S;
	l->id = adopt;
	ev_timer_init(&l->timer, timer_cb, 0., 0.);
	set_timer(l, 0);
	return l;
}

void nodelease_free(struct nodelease *l)
{
	if (l == NULL)
		return;
	ev_timer_stop(l->ev, &l->timer);
	etcd_call_cancel(l->call);
	free(l);
}

int64_t nodelease_id(const struct nodelease *l)
{
	return l->state == LEASE_ALIVE ? l->id : 0;
}

int64_t nodelease_granted_s(const struct nodelease *l)
{
	return l->granted_s;
}
