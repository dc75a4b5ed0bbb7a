/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The values of vipd's keys in etcd: small JSON objects that an operator can read with etcdctl.
 * Unknown members are ignored, so that a newer version may add some; a missing or ill-typed one is
 * an error.
 *
 * Keys, under <prefix>vip/<address>/:
 *   owner        who owns the address. Written only when that changes, never deleted, on no lease.
 *   beat         the owner's sign of life, on no lease.
 *   node/<name>  who is in the race, on the node's lease.
 *   ask          written by an owner that wants to hand over; each node answers in its own key.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vipd/config.h"
#include "vipd/health.h"

#define RECORD_INSTANCE_LEN 32 /* hexadecimal digits */
#define RECORD_REASON_MAX 63
#define RECORD_VALUE_MAX 4096 /* longer values are refused unread */

struct record_owner {
	char node[NODECONF_NAME_MAX + 1];
	char instance[RECORD_INSTANCE_LEN + 1]; /* one life of one machine's vipd, restarts included */
	int64_t epoch;                          /* one more with each new owner */
	int64_t window_us;                      /* T_f and e of this owner, for whoever waits for it */
	int64_t late_us;
	bool released; /* the address is off this node's link: no need to wait */
	char successor[NODECONF_NAME_MAX + 1]; /* with released: who goes first; "" for anybody */
	char reason[RECORD_REASON_MAX + 1];    /* why this record was written */
	/* The writer's own clock: with `instance` it makes every record unlike all others, in whatever
	 * copy of the store it stands. */
	int64_t stamp_us;
	int64_t wall_us; /* when, for people */
	/* The etcd cluster in which it was written; 0: not said. Another one than it stands in: it came
	 * there by a restore. */
	uint64_t cluster_id;
};

struct record_node {
	char node[NODECONF_NAME_MAX + 1]; /* from the key */
	char instance[RECORD_INSTANCE_LEN + 1];
	int priority;
	enum health_state health;
	bool ready;    /* its API server says so; false in the keys of older versions */
	bool eligible; /* link up, not on hold */
	bool etcd_leader;
	/* Of the VIP's link, all zero without one; has_mac is false in the keys of older versions. */
	bool has_mac;
	struct mac mac;
	unsigned owned;   /* VIPs, this one included */
	int64_t answered; /* ModRevision of the last `ask` that it saw; -1: its version answers none */
	/* What it sees of the VIP at the owner of this epoch (outside.h); 0: nothing. */
	int64_t looked_epoch;
	bool reached;
	/* The epoch in which it owned the VIP and the others did not reach it, and it let go for that;
	 * 0: none, or too long ago. */
	int64_t failed_epoch;
};

/* The text, to be freed by the caller. */
char *record_owner_format(const struct record_owner *owner);
char *record_node_format(const struct record_node *node);
/* sequence never comes again from one instance, so that no two beats are alike. */
char *record_beat_format(int64_t epoch, int64_t sequence);

/* 0, or -EINVAL; the result is untouched on failure. */
int record_owner_parse(const void *value, size_t len, struct record_owner *ret_owner);
/* Fills everything but the name. */
int record_node_parse(const void *value, size_t len, struct record_node *ret_node);
/* Fills the name, from what follows "node/" in the key. */
int record_node_name_parse(const char *text, size_t len, struct record_node *ret_node);

/* An id of etcd's, as etcdctl prints it: hexadecimal. The text is valid until the next call. */
const char *record_id_format(uint64_t id);
/* 0, or -EINVAL. */
int record_id_parse(const char *text, uint64_t *ret_id);

/* A new instance id from the kernel's random numbers. */
void record_new_instance(char ret_instance[static RECORD_INSTANCE_LEN + 1]);
