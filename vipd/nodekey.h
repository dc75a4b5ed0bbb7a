/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The key `node/<name>` of one VIP: puts this node into the race and keeps what it says of itself
 * up to date. The name is claimed by a transaction, so that of two nodes with the same name the
 * second finds out and stays away.
 *
 *   absent -> claiming -> present -> (lease lost, key gone) -> absent
 *   \-> taken (from claiming or present): the key belongs to another instance; tried again until it
 * is free
 */

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "etcd/etcd.h"
#include "vipd/record.h"

struct nodekey;

enum nodekey_state {
	NODEKEY_ABSENT,
	NODEKEY_CLAIMING,
	NODEKEY_PRESENT,
	NODEKEY_TAKEN,
	NODEKEY_STATES,
};

/* The state changed. */
typedef void (*nodekey_changed_fn)(enum nodekey_state state, void *userdata);

/* vip_prefix is "fairlead/v1/vip/10.0.0.5/". me is borrowed and read at each write. Its
 * failed_epoch is also set here, to what this instance wrote before a restart. */
struct nodekey *nodekey_new(struct ev_loop *ev, struct etcd *etcd, const char *vip_prefix,
                            struct record_node *me, nodekey_changed_fn changed, void *userdata);
void nodekey_free(struct nodekey *key);

/* The lease to hang on; 0: none, the key is gone or soon will be. */
void nodekey_set_lease(struct nodekey *key, int64_t lease);

/* What `me` says has changed: write it when it differs from what was written. */
void nodekey_update(struct nodekey *key);

/* The watch has seen the key vanish: claim it anew. */
void nodekey_on_gone(struct nodekey *key);

enum nodekey_state nodekey_state(const struct nodekey *key);

/* In NODEKEY_TAKEN: the other's instance, what is left of its lease (0 where that is not known),
 * and whether it was seen to renew it: another machine with this node's name does. */
const char *nodekey_other_instance(const struct nodekey *key);
int64_t nodekey_other_left_us(const struct nodekey *key);
bool nodekey_other_lives(const struct nodekey *key);

/*
 * The etcd lease that says that this node is there; the node keys of all VIPs hang on it. It is
 * renewed at a third of its time and granted anew when it is lost. It is no fence and no clock of
 * the election (a live lease can be deleted, and a dead one confirmed, by a deposed etcd leader):
 * it cleans up after a node that is gone.
 *
 * It also finds out etcd's election timeout, which the API does not tell: the server grants no TTL
 * below ceil(1.5 x election timeout), so a first lease asks for one second and looks at what it
 * gets.
 */

struct nodelease;

struct nodelease_callbacks {
	/* There is a lease (id), or none any more (0). */
	void (*changed)(int64_t id, void *userdata);
	/* Once, before the first `changed`. */
	void (*min_ttl)(int64_t min_ttl_s, void *userdata);
	/* A lease was refused, or no answer came (r < 0): it is tried again. Or granted (0). */
	void (*granted)(int r, void *userdata);
};

/* Asks for ttl_us, in whole seconds. adopt: the lease of the process before us, 0 for none; it is
 * used as long as etcd knows it. Callbacks and userdata are borrowed until nodelease_free(). */
struct nodelease *nodelease_new(struct ev_loop *ev, struct etcd *etcd, int64_t ttl_us,
                                int64_t adopt, const struct nodelease_callbacks *callbacks,
                                void *userdata);
void nodelease_free(struct nodelease *lease);

/* Revokes the lease, so that others need not wait to see that this node is gone, and calls done
 * once, never from inside; whether it worked is nobody's concern, for it ends by itself too. */
typedef void (*nodelease_done_fn)(void *userdata);
void nodelease_end(struct nodelease *lease, nodelease_done_fn done, void *userdata);

int64_t nodelease_id(const struct nodelease *lease);

/* What etcd granted; more than was asked for when its minimum is higher. 0 before. */
int64_t nodelease_granted_s(const struct nodelease *lease);
