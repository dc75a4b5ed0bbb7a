/* SPDX-License-Identifier: Apache-2.0 */
/* A list of what is to be probed and a timer; the list is short, so it is simply gone over. */
#include "prism/probing.h"

#include <stdlib.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

#define WAIT_SPREAD_DIVISOR 5

struct probing {
	struct ev_loop *ev;
	struct checker *checker;
	const struct probing_callbacks *callbacks;
	void *userdata;
	TAILQ_HEAD(, probing_slot) slots;
	struct balance_random random;
	uint64_t last_id;
	int64_t late_us;
	int64_t retry_us;    /* after one that could not be sent, or was lost */
	int64_t interval_us; /* how long what an upstream sends to clients may replace a probe */
	ev_timer timer;
};

static void arm(struct probing *p)
{
	int64_t first_us = MONO_NEVER;
	const struct probing_slot *slot;

	ev_timer_stop(p->ev, &p->timer);
	if (p->checker == NULL)
		return;
	TAILQ_FOREACH (slot, &p->slots, entry) {
		if (slot->id == 0)
			first_us = MIN(first_us, slot->due_us);
		else if (!slot->is_late)
			first_us = MIN(first_us, slot->sent_us + p->late_us);
	}
	if (first_us == MONO_NEVER)
		return;
	ev_timer_set(&p->timer, mono_to_ev(first_us - mono_now_us()), 0.);
	ev_timer_start(p->ev, &p->timer);
}

static void send_probe(struct probing *p, struct probing_slot *slot, int64_t now)
{
	slot->begins_anew = false;
	slot->is_late = false;
	slot->sent_us = now;
	if (!checker_probe(p->checker, ++p->last_id, slot->endpoint)) {
		slot->due_us = now + p->retry_us;
		return;
	}
	slot->id = p->last_id;
	p->callbacks->sent(slot, p->userdata);
}

/* It is due, but was heard lately: traffic shows that it lives. */
static bool put_off(struct probing_slot *slot, int64_t now)
{
	int64_t until_us = MIN(*slot->heard_us + slot->wait_us, slot->latest_us);

	if (slot->wait_us == 0 || until_us <= now)
		return false;
	slot->due_us = until_us;
	return true;
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct probing *p = CONTAINER_OF(w, struct probing, timer);
	int64_t now = mono_now_us();
	struct probing_slot *slot;

	TAILQ_FOREACH (slot, &p->slots, entry) {
		if (slot->id == 0 || slot->is_late || slot->sent_us + p->late_us > now)
			continue;
		slot->is_late = true;
		p->callbacks->late(slot, p->userdata);
	}
	TAILQ_FOREACH (slot, &p->slots, entry) {
		if (slot->id == 0 && slot->due_us <= now && !put_off(slot, now))
			send_probe(p, slot, now);
	}
	arm(p);
}

/* --- outside --- */

void probing_add(struct probing *p, struct probing_slot *slot, const struct endpoint *endpoint,
                 const int64_t *heard_us)
{
	*slot = (struct probing_slot){
	    .endpoint = endpoint, .heard_us = heard_us, .sent_us = MONO_NEVER, .due_us = mono_now_us()};
	TAILQ_INSERT_TAIL(&p->slots, slot, entry);
	arm(p);
}

void probing_remove(struct probing *p, struct probing_slot *slot)
{
	TAILQ_REMOVE(&p->slots, slot, entry);
	if (p->checker != NULL)
		checker_forget(p->checker, slot->endpoint);
	arm(p);
}

int64_t probing_draw_us(struct balance_random *random, struct judge_pause pause)
{
	double share = (double) (balance_next(random) >> 11) / (double) (UINT64_C(1) << 53);

	return pause.least_us + (int64_t) ((double) pause.spread_us * share);
}

void probing_schedule(struct probing *p, struct probing_slot *slot, struct judge_pause pause)
{
	slot->due_us = slot->sent_us + probing_draw_us(&p->random, pause);
	slot->wait_us = pause.heard_us;
	/* Nodes that were heard all the time must not probe together either. */
	pause.spread_us = p->interval_us / WAIT_SPREAD_DIVISOR;
	pause.least_us = p->interval_us - pause.spread_us;
	slot->latest_us = slot->sent_us + probing_draw_us(&p->random, pause);
	arm(p);
}

void probing_hasten(struct probing *p, struct probing_slot *slot, struct judge_pause pause)
{
	int64_t due_us = slot->sent_us + probing_draw_us(&p->random, pause);

	if (pause.heard_us == 0)
		slot->wait_us = 0;
	if (due_us >= slot->due_us)
		return;
	slot->due_us = due_us;
	arm(p);
}

void probing_begin_anew(struct probing *p, struct probing_slot *slot)
{
	if (p->checker == NULL || slot->begins_anew)
		return;
	checker_forget(p->checker, slot->endpoint);
	slot->begins_anew = true;
}

struct probing_slot *probing_answer(struct probing *p, uint64_t id)
{
	struct probing_slot *slot;

	TAILQ_FOREACH (slot, &p->slots, entry) {
		if (slot->id == 0 || slot->id != id)
			continue;
		slot->id = 0;
		return slot;
	}
	return NULL;
}

void probing_lose(struct probing *p)
{
	int64_t now = mono_now_us();
	struct probing_slot *slot;

	TAILQ_FOREACH (slot, &p->slots, entry) {
		if (slot->id == 0)
			continue;
		slot->id = 0;
		slot->due_us = now + p->retry_us;
	}
	arm(p);
}

void probing_set_checker(struct probing *p, struct checker *checker)
{
	p->checker = checker;
	probing_lose(p);
}

struct probing *probing_new(struct ev_loop *ev, const struct config_health *config, uint64_t seed,
                            const struct probing_callbacks *callbacks, void *userdata)
{
	struct probing *p = NEW0(struct probing);

	p->ev = ev;
	p->callbacks = callbacks;
	p->late_us = config->timeout_us / 2;
	p->userdata = userdata;
	TAILQ_INIT(&p->slots);
	p->random.state = seed;
	p->retry_us = config->suspect_us;
	p->interval_us = config->interval_us;
	ev_init(&p->timer, timer_cb);
	return p;
}

void probing_free(struct probing *p)
{
	if (p == NULL)
		return;
	ev_timer_stop(p->ev, &p->timer);
	free(p);
}
