/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The messages that a receiver has yet to get, in their order, of each finding only the latest:
 * what was raised and is over before anybody could be told is told once, as cleared. It holds a
 * bounded number; the oldest ones go when it is full. Pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

#define NOTIFYQUEUE_MAX 256
#define NOTIFYQUEUE_ID_MAX 48

struct notifyqueue;

struct notifyqueue_item {
	char id[NOTIFYQUEUE_ID_MAX]; /* of the message, in each attempt at it */
	char *body;
	int64_t added_us;
	int64_t since_us; /* when the first one was added whose place it has, or that one's */
	/* What it is about; a later one about the same takes its place. "": all that follow. */
	char *about;
};

struct notifyqueue_counts {
	uint64_t superseded; /* a later message took their place */
	uint64_t overflowed;
};

struct notifyqueue *notifyqueue_new(void);
void notifyqueue_free(struct notifyqueue *queue);
DEFINE_AUTO(struct notifyqueue, notifyqueue_free);

/* Texts are copied. */
void notifyqueue_add(struct notifyqueue *queue, const char *id, const char *about, const char *body,
                     int64_t now_us);

/* The first, which is under way from now on; NULL: there is none. Borrowed, until one of the two
 * that follow, one of which must come before the next is taken. */
const struct notifyqueue_item *notifyqueue_take(struct notifyqueue *queue);
/* It has arrived, or is given up. */
void notifyqueue_drop(struct notifyqueue *queue);
/* It has not arrived: it goes behind the others, so that one over which the receiver stumbles holds
 * up none, or stays the first if it is about "". Unless a later one has taken its place. */
void notifyqueue_put_back(struct notifyqueue *queue);

/* The one that is under way included. */
size_t notifyqueue_length(const struct notifyqueue *queue);
/* When the oldest one was added, or whose place it has taken; there is one. */
int64_t notifyqueue_oldest_us(const struct notifyqueue *queue);
struct notifyqueue_counts notifyqueue_counts(const struct notifyqueue *queue);
