/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Has Hetzner Cloud send one VIP's packets to this server, while this node owns it.
 *
 *   idle --acquire--> asking --as it should be--> waiting (looks again from time to time)
 *    ^                 |  ^                          |
 *    |                 |  +----- time is up ---------+
 *    |                 +-- failed --> waiting (with `trouble`, and a pause that grows)
 *    +---release (from any)
 *
 * Nothing waits for it: the election and the fence go on whatever the cloud does. A request that
 * changes something is sent only while a confirmation of ours holds, and is given up when that
 * runs out, also if this process was stopped meanwhile; hcloud_release() gives up what is under
 * way. What was sent in time may still be carried out late, over the next owner's head; therefore
 * an owner looks again, soon at first. docs/architecture.md says what that is worth.
 *
 * The token is read anew for each pass, and is in no log and no report.
 */

#include <ev.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/cleanup.h"
#include "vipd/config.h"
#include "vipd/hcloud_plan.h"

/*
 * hcloud_queue: whose turn it is to set this server's alias IPs. A request for that replaces all of them, with
 * those that were read just before: two VIPs of one process that did so at a time would undo each
 * other's.
 */

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

struct hcloud;

/* Until when the present confirmation holds (mono.h), 0: we do not own it; and how long one holds
 * that has just come. */
struct hcloud_entitled {
	int64_t until_us;
	int64_t window_us;
};
typedef struct hcloud_entitled (*hcloud_entitled_fn)(void *userdata);

struct hcloud_report {
	const char *state;   /* "idle", "asking", "assigned" or "failed" */
	int64_t server;      /* this one's id; 0: not known yet */
	const char *trouble; /* what is wrong, and when it is tried again; "" */
	int64_t again_us;    /* with trouble: until the next try */
	uint64_t requests;   /* that were sent, to the API and for this server's id */
	uint64_t failures;   /* looks and changes that came to nothing */
};

/* queue, config and userdata are borrowed until hcloud_free(); 0 or -errno. */
int hcloud_new(struct ev_loop *ev, struct hcloud_queue *queue, const struct config_hcloud *config,
               const struct addr *vip, hcloud_entitled_fn entitled, void *userdata,
               struct hcloud **ret_hcloud);
void hcloud_free(struct hcloud *hcloud);
DEFINE_AUTO(struct hcloud, hcloud_free);

/* We own it. Nothing to do if that is known already. */
void hcloud_acquire(struct hcloud *hcloud);
/* Not any more. Nothing is unassigned: the next owner takes it. */
void hcloud_release(struct hcloud *hcloud);

/* Valid until the loop goes on. */
struct hcloud_report hcloud_report(const struct hcloud *hcloud);
