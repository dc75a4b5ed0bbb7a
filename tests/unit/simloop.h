/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Time that passes when a test says so. Included by a test, this stands in for lib/base/mono and
 * for the timers of libev: nothing waits, an hour is over at once, and every run is the same. Each
 * node of a test has an ev_loop of its own, which can be stopped like its process (SIGSTOP): its
 * timers fire when it goes on. Only timers are there; what else libev has is not for such a test.
 */

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/macro.h"
#include "base/mono.h"

#define SIM_TIMERS_MAX 512
/* 2026-11-21 20:30:00 UTC */
#define SIM_EPOCH_S INT64_C(1795293000)

/* libev's is opaque: this one is in its place. */
struct ev_loop {
	bool stopped;
	bool backwards;        /* of what is overdue, the latest comes first */
	int64_t wall_ahead_us; /* how wrong its wall clock is */
};

struct sim_timer {
	struct ev_loop *ev;
	ev_timer *w;
	int64_t at_us;
	uint64_t number; /* of two of one time, the one that was started first */
};

static int64_t sim_now_us = INT64_C(1000000000);
static struct sim_timer sim_timers[SIM_TIMERS_MAX];
static size_t sim_n_timers;
static uint64_t sim_number;
static const struct ev_loop *sim_running; /* whose timer is firing */

int64_t mono_now_us(void)
{
	return sim_now_us;
}

int64_t wall_now_us(void)
{
	return SIM_EPOCH_S * US_PER_S + sim_now_us - INT64_C(1000000000) +
	       (sim_running != NULL ? sim_running->wall_ahead_us : 0);
}

double mono_to_ev(int64_t us)
{
	return us > 0 ? (double) us / 1e6 : 0;
}

static int64_t sim_us(double ev)
{
	return (int64_t) (ev * 1e6 + 0.5);
}

static void sim_add(struct ev_loop *ev, ev_timer *w, int64_t at_us)
{
	if (sim_n_timers == SIM_TIMERS_MAX)
		abort();
	sim_timers[sim_n_timers++] = (struct sim_timer){ev, w, at_us, sim_number++};
}

void ev_timer_start(struct ev_loop *ev, ev_timer *w)
{
	if (w->active)
		return;
	w->active = 1;
	sim_add(ev, w, sim_now_us + sim_us(w->at));
}

static void sim_remove(size_t i)
{
	sim_timers[i] = sim_timers[--sim_n_timers];
}

void ev_timer_stop(struct ev_loop *ev UNUSED, ev_timer *w)
{
	for (size_t i = 0; i < sim_n_timers; i++) {
		if (sim_timers[i].w == w)
			sim_remove(i--);
	}
	w->active = 0;
}

static bool sim_is_before(const struct sim_timer *a, const struct sim_timer *b)
{
	if (a->at_us == b->at_us)
		return a->number < b->number;
	if (a->ev == b->ev && a->ev->backwards && a->at_us < sim_now_us && b->at_us < sim_now_us)
		return a->at_us > b->at_us;
	return a->at_us < b->at_us;
}

/* The next of those that are not stopped; -1: none. */
static ptrdiff_t sim_next(void)
{
	ptrdiff_t next = -1;

	for (size_t i = 0; i < sim_n_timers; i++) {
		if (sim_timers[i].ev->stopped)
			continue;
		if (next < 0 || sim_is_before(&sim_timers[i], &sim_timers[next]))
			next = (ptrdiff_t) i;
	}
	return next;
}

static void sim_fire(size_t i)
{
	struct sim_timer t = sim_timers[i];

	if (t.at_us > sim_now_us)
		sim_now_us = t.at_us;
	sim_remove(i);
	t.w->active = 0;
	if (t.w->repeat > 0) {
		t.w->active = 1;
		sim_add(t.ev, t.w, sim_now_us + sim_us(t.w->repeat));
	}
	sim_running = t.ev;
	t.w->cb(t.ev, t.w, EV_TIMER);
	sim_running = NULL;
}

/* Whatever is to happen until then happens, and it is then. */
static inline UNUSED void sim_until(int64_t at_us)
{
	ptrdiff_t next = sim_next();

	while (next >= 0 && sim_timers[next].at_us <= at_us) {
		sim_fire((size_t) next);
		next = sim_next();
	}
	if (sim_now_us < at_us)
		sim_now_us = at_us;
}

static inline UNUSED void sim_for(int64_t us)
{
	sim_until(sim_now_us + us);
}

/* Goes on until it holds, for so long at most; whether it does. */
static inline UNUSED bool sim_wait(bool (*holds)(const void *), const void *what, int64_t us)
{
	int64_t end_us = sim_now_us + us;
	ptrdiff_t next = sim_next();

	while (!holds(what) && next >= 0 && sim_timers[next].at_us <= end_us) {
		sim_fire((size_t) next);
		next = sim_next();
	}
	return holds(what);
}
