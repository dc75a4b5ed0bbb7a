/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What earlier processes have left in the state directory: first their lock, which a guard that
 * undoes a change or a boot that waits for links may have for a while, then the files of a change.
 * Until both are dealt with nothing may be changed. Files that cannot be used are looked at again
 * and again, and the network is left alone but for leases: to go on past them would be to forget a
 * change that nobody has undone, and to set right what it has made of the network.
 */

#include <ev.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "netconf/change/checkpoint.h"

struct left;

struct left_blocked {
	char id[CHECKPOINT_ID_MAX]; /* by which left_discard() knows it; "": it ends by itself */
	char reason[CHECKPOINT_REASON_MAX]; /* "": nothing is in the way */
};

struct left_ops {
	void (*blocked)(void *userdata); /* something is in the way */
	void (*locked)(void *userdata);  /* the lock is ours; once */
	/* A change goes on: it may be confirmed, or is to be undone; at most once, before clear(). */
	void (*resume)(const struct checkpoint_state *state, void *userdata);
	void (*clear)(void *userdata); /* nothing is in the way any more; once */
};

/* Calls nothing before it returns. ops and state_dir are borrowed. */
struct left *left_start(struct ev_loop *ev, const char *state_dir, const struct left_ops *ops,
                        void *userdata);
/* The lock goes with it. */
void left_free(struct left *left);
DEFINE_AUTO(struct left, left_free);

const struct left_blocked *left_blocked(const struct left *left);
bool left_is_blocked(const struct left *left);
bool left_has_lock(const struct left *left);
/* Another process does, and may be at work on the network. */
bool left_other_has_lock(const struct left *left);

/* The operator gives up what is in the way: the files go, and the network stays as it is. -EUCLEAN:
 * that is not his to give up; -ESTALE: it is another one; or -errno. */
int left_discard(struct left *left, const char *id);
