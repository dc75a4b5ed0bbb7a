/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * When which upstream is probed: one timer, which runs for the one that is due first. One probe at
 * a time for each, and never more than one an interval. What an answer means is others' business.
 */

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/cleanup.h"
#include "prism/balance.h"
#include "prism/checker.h"
#include "prism/judge.h"

struct probing;

/* One to be probed; embedded, and probing.c's own from probing_add() to probing_remove(). */
struct probing_slot {
	TAILQ_ENTRY(probing_slot) entry;
	const struct endpoint *endpoint; /* borrowed */
	uint64_t id;                     /* 0: none is under way */
	int64_t sent_us; /* when the last one was, or was to be sent; MONO_NEVER: none yet */
	int64_t due_us;
	const int64_t *heard_us; /* borrowed: when it last sent a client something */
	int64_t wait_us;         /* since then, before it is due after all; 0: it is due */
	int64_t latest_us;       /* the end of that waiting */
	bool begins_anew;        /* the next one makes a connection of its own */
	bool is_late;            /* and that was said */
};

struct probing_callbacks {
	/* A probe was sent. */
	void (*sent)(struct probing_slot *slot, void *userdata);
	/* It has had no answer for half a timeout. It may hasten others, and neither add nor remove. */
	void (*late)(struct probing_slot *slot, void *userdata);
};

/* config is borrowed for the call, callbacks until probing_free(). seed: of the jitter, not 0. */
struct probing *probing_new(struct ev_loop *ev, const struct config_health *config, uint64_t seed,
                            const struct probing_callbacks *callbacks, void *userdata);
void probing_free(struct probing *probing);
DEFINE_AUTO(struct probing, probing_free);

/* Whom to ask; NULL: nobody, and what was asked is forgotten. */
void probing_set_checker(struct probing *probing, struct checker *checker);

/* endpoint, heard_us: borrowed until probing_remove(). */
void probing_add(struct probing *probing, struct probing_slot *slot,
                 const struct endpoint *endpoint, const int64_t *heard_us);
void probing_remove(struct probing *probing, struct probing_slot *slot);

/* The next one is to be sent so long after the last one. */
void probing_schedule(struct probing *probing, struct probing_slot *slot, struct judge_pause pause);
/* The same, but never later than it is due already; cheap when it is not sooner. */
void probing_hasten(struct probing *probing, struct probing_slot *slot, struct judge_pause pause);
/* How long that is: drawn evenly. Pure. */
int64_t probing_draw_us(struct balance_random *random, struct judge_pause pause);

/*
 * The next probe makes a connection of its own. The probe process keeps one from probe to probe,
 * and an answer over that says nothing against a client that could not make one.
 */
void probing_begin_anew(struct probing *probing, struct probing_slot *slot);

/* The answer to one came; it has to be scheduled again. NULL: nobody waits for it. */
struct probing_slot *probing_answer(struct probing *probing, uint64_t id);
/* What was asked will not be answered. */
void probing_lose(struct probing *probing);
