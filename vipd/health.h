/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Is the API server of this node fit to receive what the VIP attracts? Probes /readyz and turns the
 * answers into a state with rise and fall. Several VIPs share one prober. What an answer means is
 * readyz.h's; ready is good, and so are alive and busy, because whoever takes them for down takes
 * the whole cluster out; all the others are bad.
 *
 * Two answers count for more than one in a row. A connection that this very machine refuses is
 * certain: no process listens, and every connection to the API server has ended; bad at once. The
 * prober sees that when it comes, as its kept connection ends with the process. And an API server
 * that starts refuses anonymous questions (403) until it has read its RBAC rules: one that has
 * ended here and merely lives again is not good while another node's API server says that it is
 * ready.
 */

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "vipd/config.h"
#include "web/readyz.h"

struct health;

enum health_state {
	HEALTH_UNKNOWN,   /* no verdict yet; zero, so that a zeroed fold begins here */
	HEALTH_GOOD,      /* `rise` good answers in a row */
	HEALTH_BAD,       /* `fall` bad ones in a row */
	HEALTH_UNCHECKED, /* the check is off, or waits for the CA's file */
	HEALTH_STATES,
};

/* Good is what lives and can take connections; whether it is ready may be unknown. With
 * `others_are_ready`, one that has ended (health_view) has to be ready itself. */
bool health_accepts(enum readyz_verdict verdict, bool is_gone, bool others_are_ready);

/* When the answers began that leave readiness unknown; 0: the last one that told of it told it. An
 * answer that does not come tells nothing of it. */
int64_t health_unknown_since(int64_t since_us, enum readyz_verdict verdict, int64_t now_us);

/* The state to show and to act on. Where readiness is unknown, an API server passes for good only
 * while this node's etcd member answers: it is the one that it works with. */
enum health_state health_second_hand(enum health_state state, bool is_unknown, bool member_silent);

/* Good and bad answers in a row. Begins zeroed. */
struct health_fold {
	enum health_state state;
	unsigned good_row;
	unsigned bad_row;
};

/* Counts one answer; true when the state is another one now. */
bool health_fold(struct health_fold *fold, bool good, unsigned rise, unsigned fall);

/* What is known of the API server. */
struct health_view {
	enum health_state state;
	bool is_ready;   /* good, and its last answer but 429 said that it is ready */
	bool is_gone;    /* bad: since it was last good, this machine refused a connection to it */
	bool is_unknown; /* whether it is ready: for READYZ_UNKNOWN_US it only told that it lives */
	/* Why it is in this state, by the last answer that agrees with it: "readyz 500: etcd failed",
	 * "connection refused", ... */
	const char *reason;
};

struct health_callbacks {
	/* Any of it changed; once for each change, and never from inside health_new(). It may free the
	 * prober. */
	void (*changed)(const struct health_view *view, void *userdata);
	/* Does another node say that its API server is ready? */
	bool (*others_are_ready)(void *userdata);
	/* An answer was bad; each time, in every state, before `changed`. */
	void (*failed)(const char *reason, void *userdata);
};

/* config is borrowed until health_free(), and enabled. */
int health_new(struct ev_loop *ev, const struct config_health *config,
               const struct health_callbacks *callbacks, void *userdata,
               struct health **ret_health);
void health_free(struct health *health);
DEFINE_AUTO(struct health, health_free);

enum health_state health_state(const struct health *health);
const char *health_state_name(enum health_state state); /* "unknown", "good", "bad", "unchecked" */
/* 0 or -EINVAL. */
int health_state_parse(const char *name, enum health_state *ret_state);
