/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A change of the network on the disk, before and while it is made: all that whoever comes after a
 * crash needs to undo it, or to go on. In one directory, for root alone:
 *
 *	before.json  the network as it was, whole
 *	plan.json    every step that was or will be carried out, and what was seen to be back of that
 *	             which they dropped
 *	settled      empty: what the plan says to have settled, has
 *	beside.json  what there was beside the network (beside.h)
 *	config.yaml  the configuration that is to be confirmed
 *	state.json   who began it, on which kernel, how far it is
 *
 * state.json is written last and removed first: without it there is no change. Everything is on the
 * disk (synced) when a function returns; only of two phases that a loss of power makes void alike
 * (phase_find()) it may be the earlier one that is there afterwards. One process writes at a time,
 * the one that has the lock of the state directory. Blocking.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netconf/model/model.h"
#include "netconf/change/phase.h"
#include "netconf/plan/plan.h"

#define CHECKPOINT_ID_MAX 40
#define CHECKPOINT_KERNEL_MAX 80
#define CHECKPOINT_REASON_MAX 1280

struct checkpoint_state {
	char id[CHECKPOINT_ID_MAX];
	char kernel[CHECKPOINT_KERNEL_MAX]; /* checkpoint_kernel() of when it began */
	enum phase phase;
	int64_t deadline_us; /* of this phase, CLOCK_BOOTTIME */
	int64_t confirm_us;  /* how long the operator has */
	int64_t began_wall_us;
	int64_t began_us; /* CLOCK_BOOTTIME: `before` was observed; 0: older than this */
	char reason[CHECKPOINT_REASON_MAX]; /* why it is being undone; "" */
	char left[CHECKPOINT_REASON_MAX];   /* what could not be undone so far; "" */
};

/* Which network of which boot this process is in: it changes with the boot id, and with the network
 * namespace. 0, or -errno: it cannot be told now, which says nothing about any change. */
int checkpoint_kernel(char ret_kernel[static CHECKPOINT_KERNEL_MAX]);
/* Whether the change began on this one. 0 or -errno. */
int checkpoint_same_kernel(const struct checkpoint_state *state, bool *ret_is_same);

/* A new one; what an earlier one left is removed. beside: NULL is nothing. 0 or -errno, then there
 * is none. */
int checkpoint_make(const char *dir, const struct checkpoint_state *state,
                    const struct model *before, const struct plan *plan, const json_t *beside,
                    const char *config);
/* More steps than were planned at first, or what has settled of them. Nothing is written if they
 * are there already. */
int checkpoint_write_plan(const char *dir, const struct plan *plan);
/* What the plan says to be settled is not so any more, and cannot be written; it needs no room. */
int checkpoint_forget_settled(const char *dir);
/* Leases have changed what there is beside. */
int checkpoint_write_beside(const char *dir, const json_t *beside);
int checkpoint_write_state(const char *dir, const struct checkpoint_state *state);

/* 0, -ENOENT: there is none, -EBADMSG: it is damaged, or -errno. */
int checkpoint_read_state(const char *dir, struct checkpoint_state *ret_state);
int checkpoint_read(const char *dir, struct model **ret_before, struct plan **ret_plan);
/* A new reference; -ENOENT: there was nothing. */
int checkpoint_read_beside(const char *dir, json_t **ret_beside);
/* The caller frees it. */
int checkpoint_read_config(const char *dir, char **ret_config);

int checkpoint_remove(const char *dir);
