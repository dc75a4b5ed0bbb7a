/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whose turn it is to set this server's alias IPs. A request for that replaces all of them, with
 * those that were read just before: two VIPs of one process that did so at a time would undo each
 * other's.
 */

#include <ev.h>

struct hcloud_queue;

/* Its turn has come, and lasts until hcloud_queue_leave(). From the loop, once for each enter. */
typedef void (*hcloud_turn_fn)(void *userdata);

/* Embedded in whoever queues; zeroed, then `granted` and `userdata` set. */
struct hcloud_turn {
	hcloud_turn_fn granted;
	void *userdata;
	struct hcloud_turn *next;
};

/* The loop is borrowed until hcloud_queue_free(), before which all must have left. */
struct hcloud_queue *hcloud_queue_new(struct ev_loop *ev);
void hcloud_queue_free(struct hcloud_queue *queue); /* NULL is fine */

/* First come, first served. Not while it is in the queue. */
void hcloud_queue_enter(struct hcloud_queue *queue, struct hcloud_turn *turn);
/* At any time, also by one who is not in it. */
void hcloud_queue_leave(struct hcloud_queue *queue, struct hcloud_turn *turn);
