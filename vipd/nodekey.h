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
DEFINE_AUTO(struct nodekey, nodekey_free);

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
