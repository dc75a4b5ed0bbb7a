/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The phases of a node in a restore of the whole cluster, and what comes next, given the phases of
 * all nodes. Pure.
 *
 *   none -> prepared -> stopping -> stopped -> exchanged -> started -> done
 *              |            |          |           |
 *              +------------+----------+-----------+--> returning -> returned -> none
 *
 * The new etcd may run from "started" on, and that is written before it is started. The old etcd
 * may run in "none" and "prepared", and until "stopped" is written. Each step is for all nodes that
 * are behind, so no node is started before all are exchanged, and none is exchanged before all are
 * stopped. After "returning" there is no way forward, after "started" no way back.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/common/texts.h"

/*
 * What an owner of a VIP in the old cluster may still do, from what `vip status` says on the nodes.
 * Pure.
 */

/*
 * How long after the last old member of etcd stopped every owner has certainly given its address
 * up, also on a node that is not reached: docs/architecture.md, "Why there are never two", with the
 * last confirmation not later than that stop. `vips` are the objects of `vip status`; for no VIP it
 * is the wait for the longest window that vipd chooses by itself.
 */
int64_t restorefence_wait_us(const json_t *vips);

/* Adds a sentence for each VIP that this node still holds. */
void restorefence_look(const char *node, const json_t *vips, struct texts *holders);

enum restore_phase {
	RESTORE_NONE,
	RESTORE_PREPARED,  /* the new data directory is made, synced and read back */
	RESTORE_STOPPING,  /* what is to be stopped is noted */
	RESTORE_STOPPED,   /* etcd does not run, and does not start by itself */
	RESTORE_EXCHANGED, /* the new data directory is in place */
	RESTORE_STARTED,   /* the new etcd may run */
	RESTORE_DONE,      /* all members were seen healthy; API servers may run */
	RESTORE_RETURNING, /* the old data directory is being put back */
	RESTORE_RETURNED,  /* the old data directory is in place, etcd does not start by itself */
	RESTORE_N_PHASES,
};

/* As the state file has them. */
const char *restorephase_name(enum restore_phase phase);
bool restorephase_parse(const char *name, enum restore_phase *ret_phase);
/* Whether a node may go from one to the other. */
bool restorephase_allows(enum restore_phase from, enum restore_phase to);

enum restore_step {
	RESTORE_PREPARE,
	RESTORE_STOP,
	RESTORE_EXCHANGE,
	RESTORE_START,
	RESTORE_FINISH, /* once all members are seen healthy */
	RESTORE_RETURN,
	RESTORE_REVIVE,  /* the old etcd */
	RESTORE_NOTHING, /* it is done, or there is nothing to go back from */
	/* It cannot go on; `who` says because of which nodes. */
	RESTORE_UNREACHED,
	RESTORE_NO_MAJORITY, /* too few members take part */
	RESTORE_GOING_BACK,  /* they are on the way back */
	RESTORE_TOO_LATE,    /* they may have run the new etcd: there is no way back */
	RESTORE_FORGOTTEN,   /* they know of no restore, and others may have run the new etcd */
};

#define RESTORE_NODES_MAX 64

/* One for each member of the plan. */
struct restoredecide_node {
	bool excused; /* by --without: it takes no part */
	bool reached;
	enum restore_phase phase; /* of one that is reached */
};

struct restoredecide {
	enum restore_step step;
	uint64_t who; /* bit i: nodes[i] */
};

/* At most RESTORE_NODES_MAX nodes. */
struct restoredecide restoredecide_next(const struct restoredecide_node *nodes, size_t n,
                                        bool go_back);
